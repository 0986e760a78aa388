"""The loops of an agent that learns from rollouts."""

import gymnasium as gym
import jax
import numpy as np
import pytest

from rillax.agents import PPO
from rillax.cells import RTU
from rillax.envs import MemoryChain
from rillax.loops import BadInput, make_loop
from rillax.loops.host_rollouts import HostRollouts
from rillax.loops.rollouts import CompiledRollouts, memory_needed, update
from rillax.networks import Architecture
from tests.loops.test_host import Stream

pytestmark = pytest.mark.slow

AGENT = PPO(
    network=Architecture(cell=RTU(5), width=6),
    environments=2,
    rollout=8,
    epochs=2,
    minibatches=2,
    step_size=0.01,
)
KINDS = {"jax": MemoryChain(3), "host": lambda: gym.make("CartPole-v1")}


def saved(loop):
    return {name: np.array(value) for name, value in loop.save().items()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_continues_to_the_bit_however_it_is_cut(kind):
    """In one call and in many; frames that do not fill a step of all environments are not lost."""
    loop = make_loop(AGENT, KINDS[kind], [3, 4])
    assert isinstance(loop, CompiledRollouts if kind == "jax" else HostRollouts)
    beginning = saved(loop)
    whole = loop.run(2 * 8 * 2 + 10)  # two updates, and five steps of the next rollout
    expected = saved(loop)
    loop.restore(beginning, "x")
    for frames in (0, 1, 2, 18):
        loop.run(frames)
    middle = saved(loop)
    loop.run(3)
    loop.restore(middle, "x")
    for frames in (11, 10):
        cut = loop.run(frames)
    actual = loop.save()
    assert actual.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(actual[name], expected[name], err_msg=name)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(cut), strict=True):
        np.testing.assert_array_equal(a, b)
    assert np.all(whole.frames == 42)
    assert np.all(whole.episodes > 0)
    assert np.all(np.array(loop.agent_state().updates) == 2)
    assert not np.any(whole.diverged)


def test_the_rollout_holds_what_was_played():
    """The host's rollout is what act and record give, one after the other, in each environment."""
    loop = HostRollouts(AGENT, Stream, [7])
    loop.run(2 * 7)
    envs, seeds = [Stream(), Stream()], [loop.envs.env_seed(i) for i in range(2)]
    assert seeds[0] == 7
    assert seeds[1] != 7
    observation = np.stack([e.reset(seed=s)[0] for e, s in zip(envs, seeds, strict=True)])
    space = envs[0].observation_space, envs[0].action_space
    state = jax.jit(lambda key: AGENT.init(key, *space))(jax.random.key(7))
    act, record = jax.jit(AGENT.act), jax.jit(AGENT.record)
    samples = []
    for _ in range(6):  # the seventh is still pending
        state, action = act(state, observation)
        steps = [e.step(int(a)) for e, a in zip(envs, action, strict=True)]
        final, reward, terminated, truncated = map(np.array, list(zip(*steps, strict=True))[:4])
        state, sample, _ = record(state, reward.astype(np.float32), final, terminated, truncated)
        samples.append(sample)
        observation = np.stack(
            [e.reset()[0] if t else o for e, t, o in zip(envs, terminated, final, strict=True)]
        )
    expected = jax.tree.map(lambda *x: np.stack(x), *samples)
    assert np.any(expected.done)
    played = jax.vmap(loop._programs.samples.unpack)(loop._rollout)
    for a, b in zip(jax.tree.leaves(played), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.array(a)[:6, 0], b, rtol=1e-4, atol=1e-5)


def test_bad_input_is_skipped_or_named():
    worlds = iter([Stream(), Stream(bad_observation=[6, 12])])
    loop = HostRollouts(AGENT, lambda: next(worlds), [0], on_bad_input="skip")
    statistics = loop.run(2 * 8)
    # It spoils the transition that ends in it and the one that begins with it.
    np.testing.assert_array_equal(statistics.metrics["skipped"], [2])
    state = loop.agent_state()
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((state.actor, state.critic)))
    assert state.updates[0] == 1
    loop.envs.on_bad_input = "raise"
    with pytest.raises(BadInput, match="seed 0, environment 1, frame 24: the observation is nan"):
        loop.run(2 * 4)


def test_the_memory_is_known_before_and_bounded():
    """What the shapes promise is what the compiled update takes, whatever the number of seeds."""
    agent = PPO(network=Architecture(cell=RTU(32), width=16), rollout=64, epochs=1, minibatches=8)
    spaces = gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(2)
    states = jax.eval_shape(
        jax.vmap(lambda key: agent.init(key, *spaces)), jax.random.split(jax.random.key(0), 3)
    )
    room = jax.tree.map(lambda x: jax.ShapeDtypeStruct((64, *x.shape), x.dtype), states.sample)
    compiled = jax.jit(update, static_argnums=0).lower(agent, states, room).compile()
    taken = compiled.memory_analysis()
    if taken is None:
        pytest.skip("this backend does not tell")
    needed = memory_needed(agent, *spaces, seeds=3)
    sensitivities = 64 * 2 * 4 * (2 * 16 * 32 + 6 * 32)
    assert needed > sensitivities
    assert taken.argument_size_in_bytes + taken.temp_size_in_bytes < 1.3 * needed
    assert needed < sensitivities + 3 * (needed - memory_needed(agent, *spaces, seeds=2)) + 10**5
