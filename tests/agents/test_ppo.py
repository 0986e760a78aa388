"""PPO against its second implementation, and its gradients against plain autodiff."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.agents import PPO
from rillax.agents.advantages import generalised_advantage, policy_loss, value_loss
from rillax.agents.ppo import Parameters
from rillax.cells import CELLS, RTU
from rillax.envs import spaces
from rillax.networks import Architecture, split
from tests.agents.reference import leaves
from tests.agents.reference_ppo import ReferencePPO, advantages

BOX = spaces.Box(-1.0, 1.0, (3,))
SPACES = [spaces.Discrete(3), spaces.Box(-0.5, 0.5, (2,))]
SMALL = Architecture(cell=RTU(5), width=6, sparsity=0.5)
STEPS = 8
ENDS = {(2, 0): "terminated", (4, 1): "truncated", (5, 0): "truncated"}
"""(step, environment) at which an episode ends."""


AGENT = PPO(
    network=SMALL,
    discount=0.9,
    trace_decay=0.7,
    environments=2,
    rollout=STEPS,
    epochs=3,
    minibatches=1,
    clip=0.02,
    entropy=0.1,
    step_size=0.02,
    anneal_frames=5 * STEPS,
    max_gradient_norm=0.3,
)


def make_reference(state, value_clip):
    return ReferencePPO(
        leaves(state.actor),
        leaves(state.critic),
        (3,),
        state.log_deviation,
        environments=2,
        gamma=0.9,
        lam=0.7,
        clip=0.02,
        value_clip=value_clip,
        entropy=0.1,
        value_coefficient=0.5,
        lr=0.02,
        anneal=5 * STEPS,
        max_norm=0.3,
    )


def start(agent, space=SPACES[0]):
    # The state depends on few of the settings, and compiling it takes longer than most tests.
    return _start(agent.network, agent.environments, SPACES.index(space), jnp.result_type(float))


@functools.cache
def _start(network, environments, space, precision):
    agent = PPO(network=network, environments=environments, minibatches=1)
    return jax.jit(lambda key: agent.init(key, BOX, SPACES[space]))(jax.random.key(3))


@functools.cache
def _jitted(agent):
    return jax.jit(agent.act), jax.jit(agent.record)


def play(agent, state, rng, observation, reference=None):
    """One rollout; where there is a reference, it plays along."""
    act, record = _jitted(agent)
    count, samples = agent.environments, []
    for t in range(agent.rollout):
        state, action = act(state, observation)
        sample = np.array(state.sample.action)
        if state.bounds is not None:
            np.testing.assert_array_equal(action, np.clip(sample, -0.5, 0.5))
        reward, final = rng.normal(size=count), rng.normal(size=(count, 3))
        kinds = [ENDS.get((t, i)) for i in range(count)]
        terminated = np.array([kind == "terminated" for kind in kinds])
        truncated = np.array([kind == "truncated" for kind in kinds])
        if reference is not None:
            reference.observe(observation)
            reference.record(sample, reward, final, terminated, truncated)
        state, kept, _ = record(state, reward, final, terminated, truncated)
        samples.append(kept)
        done = (terminated | truncated)[:, None]
        observation = np.where(done, rng.normal(size=(count, 3)), final)
    return state, jax.tree.map(lambda *x: jnp.stack(x), *samples), observation


def changed(learns, seed=1, scale=0.05):
    """Other parameters, not far away."""
    leaves, tree = jax.tree.flatten(learns)
    rng = np.random.default_rng(seed)
    return jax.tree.unflatten(tree, [x + scale * rng.normal(size=x.shape) for x in leaves])


def parts(state):
    (actor, frozen_actor), (critic, frozen_critic) = split(state.actor), split(state.critic)
    learns = Parameters(actor, state.log_deviation, critic)
    return learns, Parameters(frozen_actor, None, frozen_critic)


@pytest.mark.parametrize(("space", "value_clip"), [(SPACES[0], True), (SPACES[1], False)], ids=str)
def test_rollouts_and_updates_equal_an_independent_implementation(space, value_clip, x64):
    agent = dataclasses.replace(AGENT, value_clip=value_clip)
    state = start(agent, space)
    reference = make_reference(state, value_clip)
    rng = np.random.default_rng(0)
    observation = rng.normal(size=(2, 3))
    update = jax.jit(agent.update)
    for _ in range(3):  # the second begins with memories of the first
        state, rollout, observation = play(agent, state, rng, observation, reference)
        for name, key in [("value", "v"), ("next_value", "v2"), ("reward", "r")]:
            expected = np.array([[x[key] for x in r] for r in reference.rollouts]).T
            np.testing.assert_allclose(getattr(rollout, name), expected, 1e-8, 1e-10, err_msg=name)
        expected = np.array([[x["log_p"] for x in r] for r in reference.rollouts]).T
        np.testing.assert_allclose(rollout.log_probability, expected, 1e-8, 1e-10)
        state = update(state, rollout)
        reference.update(epochs=3)
        for ours, theirs in [(state.actor, reference.actors), (state.critic, reference.critics)]:
            for name, leaf in leaves(ours).items():
                np.testing.assert_allclose(leaf, theirs[0].p[name], 1e-6, 1e-9, err_msg=name)
        if state.log_deviation is not None:
            np.testing.assert_allclose(state.log_deviation, reference.log_std, 1e-7)
    assert float(state.losses["clipped"]) > 0.1  # the clipped branches were taken
    assert state.updates == 3


def test_gae_is_its_definition(x64):
    rng = np.random.default_rng(0)
    steps, count = 40, 3
    template = start(PPO(network=SMALL)).sample
    rollout = jax.tree.map(lambda x: jnp.zeros((steps, count), x.dtype), template)
    reward, value, next_value = rng.normal(size=(3, steps, count))
    terminated, truncated, unusable = rng.random((3, steps, count)) < 0.1
    rollout = rollout._replace(
        reward=jnp.array(reward),
        value=jnp.array(value),
        next_value=jnp.array(next_value),
        terminated=jnp.array(terminated),
        done=jnp.array(terminated | truncated),
        usable=jnp.array(~unusable),
    )
    ours = generalised_advantage(rollout, 0.9, 0.8)
    columns = (reward, value, next_value, terminated, truncated, ~unusable)
    for i in range(count):
        expected = advantages(list(zip(*(c[:, i] for c in columns), strict=True)), 0.9, 0.8)
        np.testing.assert_allclose(ours[:, i], expected, 1e-12, 1e-12)


def test_the_clipped_losses_are_what_they_say(x64):
    # ratio, advantage -> loss and its derivative by the ratio, for a clip of 0.2
    table = [
        (1.0, 2.0, -2.0, -2.0),
        (1.3, 2.0, -2.4, 0.0),  # good, and already far enough
        (0.7, 2.0, -1.4, -2.0),  # good, and on the wrong side
        (1.3, -2.0, 2.6, 2.0),
        (0.7, -2.0, 1.6, 0.0),
    ]
    for ratio, advantage, loss, slope in table:
        got = jax.value_and_grad(policy_loss)(ratio, advantage, 0.2)
        np.testing.assert_allclose(got, (loss, slope), 1e-12, 1e-12)
    # value, target, old -> loss and its derivative by the value
    table = [
        (1.1, 2.0, 1.0, 0.405, -0.9),
        (1.5, 2.0, 1.0, 0.32, 0.0),  # the value near the old one is the worse
        (0.5, 2.0, 1.0, 1.125, -1.5),
    ]
    for value, target, old, loss, slope in table:
        got = jax.value_and_grad(value_loss)(value, target, old, 0.2)
        np.testing.assert_allclose(got, (loss, slope), 1e-12, 1e-12)
        free = jax.value_and_grad(value_loss)(value, target, old, None)
        np.testing.assert_allclose(free, ((value - target) ** 2 / 2, value - target), 1e-12)


def test_a_minibatch_after_a_change_is_the_stale_rtrl_gradient(x64):
    """Stored (h, S) of the old parameters, one step with the new ones, by hand in NumPy."""
    agent = dataclasses.replace(AGENT, value_clip=False)
    state = start(agent, SPACES[1])
    reference = make_reference(state, value_clip=False)
    rng = np.random.default_rng(0)
    after, rollout, _ = play(agent, state, rng, rng.normal(size=(2, 3)), reference)
    batch, _ = jax.jit(agent.batch)(after._replace(start=state.start), rollout)
    learns, frozen = parts(state)
    learns = changed(learns)
    chosen = np.array([3, 0, 11, 14, 6])  # sequences in order (step, environment)
    gradient = jax.jit(jax.grad(lambda *x: agent.loss(*x)[0]))(learns, frozen, batch, chosen)

    reference.prepare()
    reference.log_std = learns.log_deviation
    for nets, network in [(reference.actors, learns.actor), (reference.critics, learns.critic)]:
        nets[0].p = {k: np.array(v) for k, v in leaves(network).items()}
    samples = [reference.rollouts[i % 2][i // 2] for i in chosen]
    expected = reference.gradient(samples)
    for kind, network in [("actor", gradient.actor), ("critic", gradient.critic)]:
        for name, leaf in leaves(network).items():
            np.testing.assert_allclose(leaf, expected[f"{kind}/{name}"], 1e-7, 1e-11, err_msg=name)
    np.testing.assert_allclose(gradient.log_deviation, expected["log_std"], 1e-8)


def some_rollout(agent, state, rng):
    """What an agent might have seen; where episodes end does not matter to its networks."""
    shape = (agent.rollout, agent.environments)
    fresh = np.zeros(shape, bool)
    for (t, i), _ in ENDS.items():
        fresh[t + 1, i] = True
    yes, no = np.ones(shape, bool), np.zeros(shape, bool)
    numbers = {name: 0.1 * rng.normal(size=shape) for name in ("value", "next_value", "reward")}
    return state.sample._replace(
        observation=rng.normal(size=(*shape, 3)),
        action=rng.integers(3, size=shape),
        log_probability=-1.1 + 0.1 * rng.normal(size=shape),
        **numbers,
        fresh=fresh,
        seen=yes,
        terminated=no,
        done=no,
        usable=yes,
    )


def through_time(agent, learns, frozen, rollout, cut):
    """The loss of a rollout by plain autodiff through its time, which is cut every so often."""
    advantage = generalised_advantage(rollout, agent.discount, agent.trace_decay)
    cuts = np.arange(agent.rollout) % cut == 0

    def outputs(network, observation, fresh):
        (cell,) = network.layers

        def step(hidden, x):
            observation, fresh, is_cut = x
            blank = cell.initial_hidden()
            hidden = jax.tree.map(
                lambda h, b: jnp.where(fresh, b, jnp.where(is_cut, jax.lax.stop_gradient(h), h)),
                hidden,
                blank,
            )
            hidden = cell.step(hidden, network.encoder(observation))
            return hidden, network.head(cell.read(hidden), observation)

        return jax.lax.scan(step, cell.initial_hidden(), (observation, fresh, cuts))[1]

    along = jax.vmap(outputs, (None, 1, 1), 1)
    actor, critic = (eqx.combine(*x) for x in zip(learns[::2], frozen[::2], strict=True))
    logits = along(actor, rollout.observation, rollout.fresh)
    value = along(critic, rollout.observation, rollout.fresh)[..., 0]
    log_p = jnp.take_along_axis(jax.nn.log_softmax(logits), rollout.action[..., None], -1)[..., 0]
    scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    ratio = jnp.exp(log_p - rollout.log_probability)
    surrogate = jnp.minimum(ratio * scaled, jnp.clip(ratio, 0.8, 1.2) * scaled)
    error = (value - rollout.value - advantage) ** 2
    return -surrogate.mean() + 0.25 * error.mean()


@pytest.mark.parametrize(
    ("cell", "gradient", "length"),
    [
        ("rtu", "rtrl", 1),
        pytest.param("rtu", "rtrl", 4, marks=pytest.mark.slow),
        pytest.param("rtu", "tbptt", 4, marks=pytest.mark.slow),
        pytest.param("rtu_nonlinear", "rtrl", 1, marks=pytest.mark.slow),
        pytest.param("gru", "rtrl", 1, marks=pytest.mark.slow),
        pytest.param("gru", "tbptt", 4, marks=pytest.mark.slow),
    ],
)
def test_with_unchanged_parameters_the_gradient_is_that_of_bptt(cell, gradient, length, x64):
    """Through all of time for cell and head under RTRL; through each sequence for the encoder."""
    network = dataclasses.replace(SMALL, cell=CELLS[cell](3, gradient=gradient), direct=True)
    agent = PPO(
        network=network, rollout=STEPS, minibatches=1, sequence_length=length, environments=2
    )
    state = start(agent)
    rollout = some_rollout(agent, state, np.random.default_rng(0))
    learns, frozen = parts(state)

    @jax.jit
    def gradients(state, rollout, learns):
        batch, _ = agent.batch(state, rollout)
        everything = jnp.arange(agent.sequences)
        ours = jax.grad(lambda x: agent.loss(x, frozen, batch, everything)[0])(learns)
        cut = STEPS if gradient == "rtrl" else length
        full = jax.grad(lambda x: through_time(agent, x, frozen, rollout, cut))(learns)
        if cut == length:
            return ours, full, full
        near = jax.grad(lambda x: through_time(agent, x, frozen, rollout, length))(learns)
        return ours, full, near

    ours, full, near = gradients(state, rollout, learns)
    for a, b, c in zip(ours[::2], full[::2], near[::2], strict=True):
        for x, y in [(a.layers, b.layers), (a.head, b.head), (a.encoder, c.encoder)]:
            for leaf, expected in zip(jax.tree.leaves(x), jax.tree.leaves(y), strict=True):
                np.testing.assert_allclose(leaf, expected, 1e-9, 1e-12)
    if gradient == "rtrl":  # and it matters
        pairs = zip(
            jax.tree.leaves(full.actor.layers), jax.tree.leaves(near.actor.layers), strict=True
        )
        assert not all(np.allclose(x, y) for x, y in pairs)


def test_an_epoch_sees_every_sample_once():
    seen = []

    class Watched(PPO):
        def loss(self, learns, frozen, batch, indices):
            jax.debug.callback(lambda i: seen.extend(i.tolist()), indices)
            return jnp.sum(learns.critic.head.linear.bias), dict(state.losses)

    agent = Watched(network=SMALL, rollout=STEPS, epochs=1, minibatches=4, environments=2)
    state = start(agent)
    rollout = some_rollout(agent, state, np.random.default_rng(0))
    jax.block_until_ready(jax.jit(agent.update)(state, rollout))
    jax.effects_barrier()
    assert sorted(seen) == list(range(2 * STEPS))
    assert seen != sorted(seen)


def test_what_was_not_seen_changes_nothing():
    """Two rollouts that differ only in a bad step end in the same parameters."""
    agent = PPO(network=SMALL, rollout=4, epochs=1, minibatches=1, sequence_length=2)
    rng = np.random.default_rng(0)
    observations = rng.normal(size=(5, 1, 3)).astype(np.float32)
    outcomes = []
    act, record, update = jax.jit(agent.act), jax.jit(agent.record), jax.jit(agent.update)
    for bad in (0.0, 7.0):
        state, samples = start(agent), []
        for t in range(4):
            ok = np.array([t != 2])
            before = state.now
            o = observations[t] if ok[0] else np.full((1, 3), bad, np.float32)
            last = state.sample.action
            state, action = act(state, o, ok)
            if not ok[0]:
                assert action == last
                for a, b in zip(*map(jax.tree.leaves, (before, state.now)), strict=True):
                    np.testing.assert_array_equal(a, b)
            no = np.zeros(1, bool)
            final = observations[t + 1] if t != 1 else np.full((1, 3), bad, np.float32)
            reward = np.array([1.0 if ok[0] else bad], np.float32)
            state, sample, _ = record(state, reward, final, no, no, ok & (t != 1))
            samples.append(sample)
        rollout = jax.tree.map(lambda *x: jnp.stack(x), *samples)
        np.testing.assert_array_equal(rollout.usable[:, 0], [True, False, False, True])
        outcomes.append(update(state, rollout))
    for a, b in zip(*(jax.tree.leaves((s.actor, s.critic)) for s in outcomes), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rollout": 0}, "rollout must be at least 1"),
        ({"environments": 0}, "environments must be at least 1"),
        ({"rollout": 10, "sequence_length": 4}, "does not divide into sequences of 4"),
        ({"rollout": 10, "minibatches": 4}, "do not divide into 4 minibatches"),
        ({"anneal_frames": 0}, "anneal_frames must be at least 1"),
        ({"network": Architecture(cell_step=0.1)}, "cell_step is for the streaming agents"),
        ({"network": Architecture(cell=RTU(correction="exact"))}, "must be 'none', got 'exact'"),
    ],
)
def test_settings_that_do_not_fit(settings, words):
    with pytest.raises(ValueError, match=words):
        PPO(**settings)
