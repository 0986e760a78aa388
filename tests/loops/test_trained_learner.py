"""What people do with a learner that has learned: load it from a run, be greedy, freeze it."""

import gymnasium as gym
import jax
import numpy as np
import pytest

from rillax import Learner
from rillax.agents import StreamAC
from rillax.cells import RTU
from rillax.experiments import Run, train
from rillax.experiments.evaluation import of_seed, trained
from rillax.networks import Architecture
from tests.loops.test_learner import assert_same, bits, stream

SMALL = Architecture(cell=RTU(5), width=6)
AGENT = StreamAC(network=SMALL, previous_action=True)
BOX, ACTIONS = gym.spaces.Box(-1, 1, (3,)), gym.spaces.Box(-1, 1, (2,))


def kept(learner):
    """Parameters, traces and statistics."""
    state = learner.state
    named = state.actor.network, state.critic.network, state.actor_optimiser, state.observations
    leaves = jax.tree.leaves((named, state.rewards, state.step))
    return [np.array(leaf) for leaf in leaves if leaf.dtype != bool]


def test_a_seed_of_a_run_goes_on_in_a_loop(tmp_path):
    run = Run(AGENT, "MemoryChain", {"length": 3}, frames=210, seeds=2, seed=4)
    train(run, tmp_path)
    learner = Learner.from_run(tmp_path, seed=5)
    (_, states) = trained(tmp_path)
    expected = of_seed(states, 1)
    assert_same(*map(jax.tree.leaves, (learner.state.actor.network, expected.actor.network)))
    assert learner.step == expected.step == 210
    assert learner.state.fresh  # of a new episode
    before = kept(learner)
    seen = np.zeros(learner.observation_space.shape)
    assert int(learner.act(seen)) in (0, 1)
    learner.learn(1.0, seen)
    assert learner.step == 211
    assert not all(np.array_equal(a, b) for a, b in zip(before, kept(learner), strict=True))
    assert Learner.from_run(tmp_path).step == 210  # the first seed; the run is as it was
    with pytest.raises(ValueError, match="has no seed 9; it has 4 to 5"):
        Learner.from_run(tmp_path, seed=9)
    with pytest.raises(Exception, match="holds no run"):
        Learner.from_run(tmp_path / "none")


def test_freeze_thaw_and_greedy(tmp_path):
    learner = Learner(AGENT, BOX, ACTIONS, seed=1)
    stream(learner, 12)
    learner.freeze()
    assert learner.frozen
    before, memory = kept(learner), learner.state.actor.memory
    metrics = learner.metrics
    stream(learner, 7)
    assert_same(kept(learner), before)
    assert learner.metrics == metrics
    assert (learner.step, learner.skipped) == (19, 0)
    moved = zip(jax.tree.leaves(memory), jax.tree.leaves(learner.state.actor.memory), strict=True)
    assert not all(np.array_equal(a, b) for a, b in moved)  # memory works as ever
    with pytest.raises(ValueError, match="learn was called twice"):
        learner.learn(0.0, np.zeros(3))

    learner.save(tmp_path / "x")
    loaded = Learner.load(tmp_path / "x")
    assert loaded.frozen
    assert_same(stream(loaded, 5, seed=3), stream(learner, 5, seed=3))
    assert_same(bits(loaded), bits(learner))

    loaded.save(tmp_path / "y")
    same = [Learner.load(tmp_path / name) for name in "xy"[1:] * 2]
    greedy = [one.act(np.ones(3), explore=False) for one in same]
    assert_same(greedy[:1], greedy[1:])
    mean = same[0].state.action  # the mean of the policy, not a sample of it
    np.testing.assert_allclose(greedy[0], np.clip(mean, -1, 1))
    assert not np.array_equal(loaded.act(np.ones(3)), greedy[0])
    loaded.learn(0.0, np.ones(3))
    loaded.thaw()
    stream(loaded, 2)
    assert not all(np.array_equal(a, b) for a, b in zip(before, kept(loaded), strict=True))


@pytest.mark.slow
def test_after_warm_up_nothing_compiles(tmp_path):
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event) if "backend_compile" in event else None
    )
    learner = Learner(AGENT, BOX, ACTIONS, on_bad_input="skip")
    before = bits(learner)
    learner.warm_up()
    assert_same(bits(learner), before)
    assert learner.step == 0
    assert compiled
    compiled.clear()
    stream(learner, 6)
    learner.act(np.zeros(3), explore=False)
    learner.learn(np.nan, np.zeros(3))
    learner.freeze()
    stream(learner, 3)
    learner.act(np.zeros(3), explore=False)
    learner.save(tmp_path / "x")
    assert learner.skipped == 1
    assert compiled == []
