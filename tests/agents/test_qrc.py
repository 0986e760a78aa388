"""QRC(lambda) against its second implementation, and what an agent must be."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.agents import QRC
from rillax.cells import CELLS, RTU
from rillax.envs import MemoryChain, spaces
from rillax.loops import begin, run
from rillax.networks import Architecture, hiddens
from rillax.updates import SGD, ObGD
from tests.agents.reference import leaves
from tests.agents.reference_qrc import ReferenceQRC

BOX = spaces.Box(-1.0, 1.0, (3,))
ACTIONS = spaces.Discrete(3)
SMALL = Architecture(cell=RTU(5), width=6, sparsity=0.5)


STREAM = [
    # greedy?, reward, terminated, truncated
    (True, 0.5, False, False),
    (True, -1.0, False, False),
    (True, 0.25, False, False),
    (False, 2.0, False, False),
    (True, 1.0, False, False),
    (True, -0.5, True, False),
    (True, 0.3, False, False),
    (True, 0.7, False, True),
    (True, 1.5, False, False),
    (False, -0.2, False, False),
    (True, 0.1, False, False),
]


@pytest.mark.parametrize(
    ("clip_at", "kappa"),
    [
        ("none", None),
        pytest.param("update", None, marks=pytest.mark.slow),
        ("gradient", None),
        pytest.param("none", 2.0, marks=pytest.mark.slow),
    ],
)
def test_updates_equal_an_independent_implementation(clip_at, kappa, x64):
    """Greedy and non-greedy steps, a termination and a truncation, with large step sizes."""
    clip = 0.7 if clip_at == "update" else None
    q, h = (SGD(size, clip) if kappa is None else ObGD(size, kappa) for size in (0.03, 0.02))
    agent = QRC(
        network=SMALL,
        discount=0.9,
        trace_decay=0.8,
        q=q,
        h=h,
        regularisation=0.5,
        clip_gradients=0.7 if clip_at == "gradient" else None,
        epsilon_start=0.0,
        epsilon_end=0.0,
    )
    state = jax.jit(lambda key: agent.init(key, BOX, ACTIONS))(jax.random.key(3))
    reference = ReferenceQRC(
        leaves(state.q.network),
        leaves(state.h.network),
        (3,),
        gamma=0.9,
        lam=0.8,
        alpha_q=0.03,
        alpha_h=0.02,
        beta=0.5,
        clip=0.7,
        clip_at=clip_at,
        kappa=kappa,
    )
    rng = np.random.default_rng(0)
    act, learn = jax.jit(agent.act), jax.jit(agent.learn)
    observation = rng.normal(size=3)
    for want_greedy, reward, terminated, truncated in STREAM:
        state, action = act(state, observation)
        values = reference.observe(observation)
        assert int(action) == int(np.argmax(values))
        if not want_greedy:  # the world forces a hand: another action than the best
            action = (action + 1) % 3
            state = state._replace(action=action, greedy=jnp.bool_(False))
        final = rng.normal(size=3)
        state, metrics = learn(state, reward, final, terminated, truncated)
        td_error, greedy = reference.learn(int(action), reward, final, terminated, truncated)
        assert greedy == want_greedy
        np.testing.assert_allclose(metrics["td_error"], td_error, rtol=1e-9)
        for ours, theirs in ((state.q, reference.q), (state.h, reference.h)):
            for name, leaf in leaves(ours.network).items():
                np.testing.assert_allclose(leaf, theirs.p[name], 1e-9, 1e-12, err_msg=name)
        observation = rng.normal(size=3) if terminated or truncated else final


def start(agent, env, seeds=1):
    keys = jax.random.split(jax.random.key(0), seeds)
    return jax.jit(jax.vmap(lambda key: begin(agent, env, key)))(keys)


def size(tree):
    return [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(tree)]


RECURRENT = [(name, gradient) for name in CELLS for gradient in ("rtrl", "tbptt")]


QUICK = (("rtu", "rtrl"),)


@pytest.mark.parametrize(
    ("cell", "gradient"),
    [
        pair if pair in QUICK else pytest.param(*pair, marks=pytest.mark.slow)
        for pair in RECURRENT
        if pair != ("feedforward", "tbptt")
    ],
)
def test_the_size_of_the_state_does_not_change(cell, gradient):
    how = {} if cell == "feedforward" else {"gradient": gradient}
    agent = QRC(network=Architecture(cell=CELLS[cell](3, **how), width=4))
    env = MemoryChain(3)
    state = start(agent, env)
    before = size(state)
    state, statistics = run(agent, env, state, 10_000)
    assert int(statistics.frames[0]) == 10_000
    assert size(state) == before
    assert all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in jax.tree.leaves(state.agent.q))


def test_epsilon_falls_in_a_straight_line():
    agent = QRC(epsilon_start=1.0, epsilon_end=0.2, epsilon_frames=100)
    epsilons = [agent.epsilon(t) for t in (0, 50, 100, 500)]
    np.testing.assert_allclose(epsilons, [1, 0.6, 0.2, 0.2], 1e-6)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_actions_are_epsilon_greedy(epsilon):
    agent = QRC(network=SMALL, epsilon_start=epsilon, epsilon_end=epsilon)
    state = jax.jit(lambda key: agent.init(key, BOX, ACTIONS))(jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 3000)
    act = jax.jit(jax.vmap(lambda key: agent.act(state._replace(key=key), jnp.ones(3))))
    states, actions = act(keys)
    q = state.q.network
    blank = q.initial_memory()
    values = jax.jit(lambda x: q(x, hiddens(blank), q.advance(blank, x)))(jnp.ones(3))
    best = jnp.argmax(values)
    shares = np.bincount(np.array(actions), minlength=3) / 3000
    expected = np.where(np.arange(3) == best, 1 - epsilon + epsilon / 3, epsilon / 3)
    np.testing.assert_allclose(shares, expected, atol=0.04 if epsilon else 0)
    np.testing.assert_array_equal(states.greedy, actions == best)


def test_a_frozen_encoder_stays_and_has_no_trace():
    agent = QRC(network=Architecture(cell=RTU(3), width=4, learn_encoder=False), q=SGD(0.1))
    env = MemoryChain(3)
    state = start(agent, env)
    before = jax.tree.map(np.array, state.agent.q.network)
    assert jax.tree.leaves(state.agent.traces.trace.q.encoder) == []
    state, _ = run(agent, env, state, 50)
    after = state.agent.q.network
    np.testing.assert_array_equal(before.encoder.linear.weight, after.encoder.linear.weight)
    assert not np.array_equal(before.layers[0].B_real, after.layers[0].B_real)


def test_an_action_space_that_is_not_discrete_is_refused():
    with pytest.raises(ValueError, match="Discrete action space"):
        QRC().init(jax.random.key(0), BOX, BOX)


def test_an_observation_of_the_wrong_shape_is_refused():
    agent = QRC(network=SMALL)
    state = jax.eval_shape(lambda key: agent.init(key, BOX, ACTIONS), jax.random.key(0))
    with pytest.raises(ValueError, match=r"expected an observation of shape \(3,\), got \(4,\)"):
        jax.eval_shape(agent.act, state, jnp.ones(4))
