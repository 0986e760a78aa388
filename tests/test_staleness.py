"""Measuring staleness while an agent runs, and the bounds."""

import dataclasses

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.agents import PPO, QRC, StreamAC, StreamQ
from rillax.cells import RTU, Defaults, FeedForward, MinGRU, NonlinearRTU
from rillax.envs import KMemoryChain
from rillax.networks import Architecture, learn, split, start
from rillax.staleness import (
    Constants,
    MeasuredLoop,
    bound,
    distance,
    estimate,
    norm,
    of_layer,
    recursion,
    replay,
    unit_norms,
)
from rillax.updates import SGD
from rillax.utils import settings

pytestmark = pytest.mark.slow

SMALL = Architecture(cell=RTU(4), width=5, sparsity=0.5)
AGENT = QRC(network=SMALL, q=SGD(1e-2), h=SGD(1e-2), epsilon_frames=50)
ENV = KMemoryChain(2, episode_length=12)


def sensitivity(cell, xs):
    """S of a linear RTU after the inputs, in NumPy: dh/d(nu_log, theta_log, B_real, B_imag)."""
    nu, omega = np.exp(np.asarray(cell.nu_log)), np.exp(np.asarray(cell.theta_log))
    lam, gamma = np.exp(-nu + 1j * omega), np.sqrt(1 - np.exp(-2 * nu))
    B = np.asarray(cell.B_real) + 1j * np.asarray(cell.B_imag)
    h, s_nu, s_theta, E = np.zeros(4) * 1j, np.zeros(4) * 1j, np.zeros(4) * 1j, np.zeros(B.shape)
    for x in xs:
        u = B @ x
        s_nu = lam * s_nu - nu * lam * h + nu * np.exp(-2 * nu) / gamma * u
        s_theta = lam * s_theta + 1j * omega * lam * h
        E = lam[:, None] * E + gamma[:, None] * x
        h = lam * h + gamma * u
    return np.concatenate([s_nu, s_theta, E.ravel(), 1j * E.ravel()])


def seed_of(tree, i):
    return jax.tree.map(lambda leaf: leaf[i], tree)


def live_sensitivity(stream, i):
    s = jax.tree.map(np.asarray, seed_of(stream.memory[0].sensitivity, i))
    nu, theta, E, turn = (real + 1j * imag for real, imag in s)
    E = turn[:, None] * E
    return np.concatenate([nu, theta, E.ravel(), 1j * E.ravel()])


@pytest.mark.parametrize("mode", ["inputs", "observations"])
def test_what_is_measured_is_the_distance_from_a_replay(mode, x64):
    """By hand: every frame on its own, the inputs kept as they come, the replay in NumPy."""
    loop = MeasuredLoop(AGENT, ENV, [0, 1], interval=19, mode=mode)
    by_hand = MeasuredLoop(AGENT, ENV, [0, 1], interval=10**6)
    observations, xs = [], []
    for frame in range(19):
        if frame % 12 == 0:
            observations, xs = [], []
        # The encoder that sees this frame's observation is the one learned up to here.
        encoder = jax.tree.map(jnp.copy, by_hand.agent_state().q.network.encoder)
        by_hand.run(1)
        seen = by_hand.agent_state().observation
        observations.append(np.asarray(seen))
        xs.append(np.asarray(jax.vmap(lambda e, o: e(o))(encoder, seen)))
    measured = loop.run(19).metrics["staleness_q"] / 19
    q = by_hand.agent_state().q
    for i in range(2):
        network = seed_of(q.network, i)
        inputs = [x[i] for x in xs]
        if mode == "observations":
            inputs = [np.asarray(network.encoder(o[i])) for o in observations]
        reference = sensitivity(network.layers[0], inputs)
        expected = np.linalg.norm(live_sensitivity(q, i) - reference) / np.linalg.norm(reference)
        assert expected > 1e-4
        np.testing.assert_allclose(measured[i], expected, rtol=1e-8)


def test_a_mingru_is_measured_and_grows_stale(x64):
    """By hand: its two matrices' sensitivities after an episode, replayed in NumPy."""
    agent = StreamQ(network=Architecture(cell=MinGRU(4), width=5, sparsity=0.5))
    loop = MeasuredLoop(agent, ENV, [0], interval=11)
    measured = loop.run(11).metrics["staleness_q"][0] / 11
    state = seed_of(loop.loop.agent_state(), 0)
    cell, live = state.agent.q.network.layers[0], state.agent.q.memory[0].sensitivity
    U, W, c, b = (np.asarray(leaf) for leaf in (cell.U, cell.W, cell.c, cell.b))
    h, S_U, S_W, S_c, S_b = np.zeros(4), 0 * U, 0 * W, 0 * c, 0 * b
    for x in np.asarray(state.episode.inputs["q"])[:11]:
        u, v = 1 / (1 + np.exp(-(U @ x + c))), W @ x + b
        slope = (v - h) * u * (1 - u)
        S_U, S_c = (1 - u)[:, None] * S_U + np.outer(slope, x), (1 - u) * S_c + slope
        S_W, S_b = (1 - u)[:, None] * S_W + np.outer(u, x), (1 - u) * S_b + u
        h = (1 - u) * h + u * v
    true = np.concatenate([S.ravel() for S in (S_U, S_W, S_c, S_b)])
    carried = np.concatenate([np.asarray(S).ravel() for S in (live.U, live.W, live.c, live.b)])
    expected = np.linalg.norm(carried - true) / np.linalg.norm(true)
    assert expected > 1e-4
    np.testing.assert_allclose(measured, expected, rtol=1e-8)


def test_measuring_changes_nothing_and_may_be_cut_anywhere():
    def new():
        return MeasuredLoop(AGENT, ENV, [3], interval=7)

    whole, first, second = new(), new(), new()
    expected = whole.run(40)
    first.run(17)
    second.restore(first.save(), "x")
    actual = second.run(23)
    for a, b in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b)
    second.clear()
    assert np.isnan(second.run(1).metrics["staleness_q"]).all()  # not measured in this frame


def test_an_episode_that_was_not_kept_from_its_start_is_not_measured():
    loop = MeasuredLoop(AGENT, ENV, [0], interval=10**6)
    loop.run(5)
    loop._keep(True)
    for frames, known in ((2, False), (8, True)):  # an episode has 12 steps
        loop.loop.run(frames)
        measured = loop._measure(loop.loop.agent_state())
        assert bool(np.isfinite(measured["staleness_q"]).all()) == known


@pytest.mark.parametrize(("kind", "correction"), [(QRC, "exact"), (StreamAC, "diagonal")])
def test_a_correction_works_in_an_agent_that_knows_nothing_of_it(kind, correction):
    """The same steps, less stale; with a step size for which the guard has no work."""
    steps = (
        {"q_step_size": 1e-4}
        if kind is QRC
        else {"actor_step_size": 1e-3, "critic_step_size": 1e-3}
    )
    network = settings.change(SMALL, units=16, r_min=0.5, r_max=0.9)
    found = {}
    for name in ("none", correction):
        agent = settings.change(kind(network=network), correction=name, **steps)
        metrics = MeasuredLoop(agent, ENV, [0, 1, 2], interval=5).run(60).metrics
        found[name] = np.stack([v for k, v in metrics.items() if k.startswith("staleness")])
    better = {"diagonal": 0.95, "exact": 0.1}[correction]
    assert np.all(np.median(found[correction] / found["none"], axis=1) < better)


def test_a_gymnasium_environment_is_measured_too():
    loop = MeasuredLoop(StreamAC(network=SMALL), lambda: gym.make("CartPole-v1"), [0], interval=10)
    metrics = loop.run(30).metrics
    assert np.isfinite(metrics["staleness_actor"]).all()
    assert np.all(metrics["staleness_actor"] <= metrics["bound_actor"])


@pytest.mark.parametrize(
    ("network", "env", "words"),
    [
        ({"cell": FeedForward(4)}, ENV, "carries none"),
        ({"cell": RTU(4, gradient="tbptt")}, ENV, "carries none"),
        ({}, gym.make("CartPole-v1").unwrapped.__class__, "how long"),
    ],
)
def test_what_cannot_be_measured_is_refused(network, env, words):
    agent = StreamAC(network=dataclasses.replace(SMALL, **network))
    with pytest.raises(ValueError, match=words):
        MeasuredLoop(agent, env, [0], interval=10)


def test_an_agent_of_rollouts_cannot_be_measured():
    with pytest.raises(ValueError, match=r"PPO learns from rollouts.* streaming agents"):
        MeasuredLoop(PPO(network=SMALL), ENV, [0], interval=10)


# ---- bounds


@pytest.mark.parametrize("rho", [0.5, 0.9, 0.99])
def test_the_recursion_leads_to_the_bound(rho):
    constants, error = Constants(rho, 3.0, 1e-2), 0.0
    for step in range(1, 4000):
        error = recursion(error, constants)
        if step == 5:
            np.testing.assert_allclose(bound(constants, steps=5), error, rtol=1e-9)
    np.testing.assert_allclose(bound(constants), error, rtol=1e-9)
    np.testing.assert_allclose(bound(constants), rho * 3e-2 / (1 - rho) ** 2, rtol=1e-9)


def test_rare_updates_tighten_the_bound():
    constants = Constants(0.9, 3.0, 1e-2)
    bounds = [bound(constants, every=m) for m in (1, 2, 10, 1000)]
    assert bounds == sorted(bounds, reverse=True)
    np.testing.assert_allclose(bounds[-1], 0.9 * 3e-2 / 0.1, rtol=1e-9)


@pytest.mark.parametrize("kind", [RTU, NonlinearRTU])
@pytest.mark.parametrize("every", [1, 5])
def test_measured_staleness_lies_under_its_bound(kind, every, x64):
    """Constants estimated from every update on the way, as a run does; both forms of the bound."""
    key_cell, key_x, key_walk = jax.random.split(jax.random.key(0), 3)
    cell = kind(6, r_min=0.5, r_max=0.9).build(key_cell, 3, Defaults(activation="tanh"))
    xs = jax.random.normal(key_x, (40, 3))
    again = jax.jit(replay)
    memory, constants = cell.initial_memory(), Constants(jnp.zeros(6), jnp.zeros(6), jnp.zeros(6))
    for t, x in enumerate(xs):
        memory = cell.advance(memory, x)
        if t % every == every - 1:
            leaves, tree = jax.tree.flatten(cell)
            keys = jax.random.split(jax.random.fold_in(key_walk, t), len(leaves))
            noise = [jax.random.normal(k, p.shape) for k, p in zip(keys, leaves, strict=True)]
            after = jax.tree.unflatten(
                tree, [p + 1e-3 * n for p, n in zip(leaves, noise, strict=True)]
            )
            then, now = (again(c, xs, t + 1) for c in (cell, after))
            new = estimate(cell, after, then, now)
            constants = Constants(*map(jnp.maximum, constants, new))
            cell = after
            live, true = (cell.jacobian(m.sensitivity) for m in (memory, now))
            error = jax.tree.map(jnp.subtract, live, true)
            assert np.all(unit_norms(error) <= bound(constants, every) / constants.rho)
            assert norm(error) <= bound(of_layer(constants), every) / constants.rho.max()
    assert distance(cell, memory, now) > 1e-4


def test_the_recurrent_parameters_change_at_every_mth_update_only():
    network = dataclasses.replace(SMALL, update_every=3).build(jax.random.key(0), (2,), 1)
    stream = start(network)
    changed = []
    for _ in range(7):
        update = jax.tree.map(jnp.ones_like, split(stream.network)[0])
        before, stream = stream, learn(stream, update)
        cell = np.asarray(stream.network.layers[0].B_real - before.network.layers[0].B_real)
        head = np.asarray(stream.network.head.linear.bias - before.network.head.linear.bias)
        assert np.all(head == 1)
        changed.append(bool(cell.any()))
    assert changed == [False, False, True, False, False, True, False]
    assert start(SMALL.build(jax.random.key(0), (2,), 1)).clock is None
