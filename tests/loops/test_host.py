"""The loop beside Gymnasium environments."""

import gymnasium as gym
import jax
import numpy as np
import pytest

from rillax.agents import QRC, StreamAC
from rillax.cells import RTU
from rillax.loops.host import HostLoop
from rillax.loops.inputs import BadInput
from rillax.networks import Architecture
from tests.forms import needs_fast_forms

SMALL = Architecture(cell=RTU(5), width=6)


class Stream(gym.Env):
    """Random numbers; at chosen steps, something that is not a number."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,))
    action_space = gym.spaces.Discrete(2)

    def __init__(self, bad_observation=(), bad_reward=(), length=4):
        self.t, self.length = 0, length
        self.bad_observation, self.bad_reward = tuple(bad_observation), tuple(bad_reward)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.in_episode = 0
        return self.np_random.normal(size=2).astype(np.float32), {}

    def step(self, action):
        self.t += 1
        self.in_episode += 1
        observation = self.np_random.normal(size=2).astype(np.float32)
        if self.t in self.bad_observation:
            observation[1] = np.nan
        reward = np.inf if self.t in self.bad_reward else float(action)
        return observation, reward, self.in_episode == self.length, False, {}


def bits(loop, i=0):
    state = loop.agent_state()
    state = state._replace(key=jax.random.key_data(state.key))
    return [np.array(leaf)[i] for leaf in jax.tree.leaves(state)]


def test_the_host_loop_does_what_the_agent_says():
    """One fused call a frame equals act and learn one after the other."""
    agent, env = QRC(network=SMALL, epsilon_start=0.5), Stream()
    loop = HostLoop(agent, [Stream()], [7])
    statistics = loop.run(11)
    state = jax.jit(lambda k: agent.init(k, env.observation_space, env.action_space))(
        jax.random.key(7)
    )
    act, learn = jax.jit(agent.act), jax.jit(agent.learn)
    observation, _ = env.reset(seed=7)
    total = 0.0
    for t in range(11):
        state, action = act(state, observation)
        final, reward, terminated, truncated, _ = env.step(int(action))
        total += reward if t < 8 else 0.0
        if t < 10:  # the last transition is still pending
            state, _ = learn(state, np.float32(reward), final, terminated, truncated)
        observation = env.reset()[0] if terminated else final
    assert statistics.episodes[0] == 2
    assert statistics.returns[0] == total
    expected = [np.array(leaf) for leaf in jax.tree.leaves(state.q)]
    actual = [np.array(leaf)[0] for leaf in jax.tree.leaves(loop.agent_state().q)]
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_bad_input_is_named_and_nothing_is_learned_from_it():
    loop = HostLoop(StreamAC(network=SMALL), [Stream(), Stream(bad_observation=[6])], [0, 1])
    loop.run(6)
    before = bits(loop, 1)
    with pytest.raises(BadInput, match="seed 1, frame 6: the observation is nan at feature 1"):
        loop.run(1)
    for a, b in zip(bits(loop, 1), before, strict=True):
        np.testing.assert_array_equal(a, b)


def test_skipping_counts_and_leaves_the_other_seeds_alone():
    envs = [Stream(), Stream(bad_observation=[6], bad_reward=[9])]
    loop = HostLoop(StreamAC(network=SMALL), envs, [0, 1], on_bad_input="skip")
    statistics = loop.run(15)
    # A bad observation spoils the transition that ends in it and the one that begins with it.
    np.testing.assert_array_equal(statistics.metrics["skipped"], [0, 3])
    assert all(np.isfinite(leaf).all() for i in range(2) for leaf in bits(loop, i))
    alone = HostLoop(StreamAC(network=SMALL), [Stream()], [0])
    alone.run(15)
    for a, b in zip(bits(loop), bits(alone), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_no_recompilation_and_no_growth():
    loop = HostLoop(StreamAC(network=SMALL), [Stream()], [0])
    loop.run(3)
    compiled = loop._frames.compilations()
    shapes = [leaf.shape for leaf in bits(loop)]
    loop.run(40)
    assert loop._frames.compilations() == compiled == 1
    assert [leaf.shape for leaf in bits(loop)] == shapes


def test_a_restored_loop_continues_to_the_bit():
    def new():
        envs = [gym.make("CartPole-v1") for _ in range(2)]
        return HostLoop(StreamAC(network=SMALL), envs, [3, 4])

    whole, first = new(), new()
    whole.run(60)
    first.run(37)
    second = new()
    second.restore(first.save(), "x")
    second.run(23)
    for i in range(2):
        for a, b in zip(bits(second, i), bits(whole, i), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(second.envs.episode_return, whole.envs.episode_return)


def test_an_error_of_the_environment_comes_out_as_it_is():
    class Broken(Stream):
        def step(self, action):
            if self.t == 5:
                raise RuntimeError("the robot fell off the table")
            return super().step(action)

    loop = HostLoop(StreamAC(network=SMALL), [Broken()], [0])
    with pytest.raises(RuntimeError, match="fell off the table"):
        loop.run(10)
    assert loop.envs.frame == 5
    assert all(np.isfinite(leaf).all() for leaf in bits(loop))


def test_an_environment_may_keep_the_action_it_was_given():
    class Keeps(Stream):
        action_space = gym.spaces.Box(-1, 1, (64,))

        def __init__(self):
            super().__init__()
            self.kept, self.copies = [], []

        def step(self, action):
            self.kept.append(action)
            self.copies.append(action.copy())
            return super().step(0)

    env = Keeps()
    HostLoop(StreamAC(network=SMALL), [env], [0]).run(20)
    np.testing.assert_array_equal(env.kept, env.copies)


@needs_fast_forms
def test_the_loop_beside_an_environment_has_few_tasks():
    """XLA goes through up to eight tasks in order, and hands more of them to its threads."""
    loop = HostLoop(StreamAC(), [gym.make("CartPole-v1")], [0])
    loop.run(2)
    words = loop.envs.buffer.words
    program = loop._frames._forms[0].lower(loop._state, loop._sums, words, 1).compile().as_text()
    (body,) = (part for part in program.split("\n\n") if "xla_ffi_python_cpu_callback" in part)
    free = ("parameter", "constant", "get-tuple-element", "tuple", "bitcast")
    tasks = [line for line in body.splitlines() if " = " in line]
    tasks = [line for line in tasks if not any(f" {name}(" in line for name in free)]
    assert sum(" call(" in line for line in tasks) == 1
    assert len(tasks) <= 8
