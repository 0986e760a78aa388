"""A trained run is evaluated as a user would: by the command, greedily or as trained."""

import json

import gymnasium as gym
import jax
import numpy as np
import pytest

from rillax.agents import PPO, QRC, Rill, StreamAC, StreamQ
from rillax.agents.frozen import Frozen
from rillax.cells import RTU
from rillax.cli.main import main
from rillax.experiments import Run, evaluation, train
from rillax.networks import Architecture
from rillax.updates import SGD

SMALL = Architecture(cell=RTU(16), width=16, sparsity=0.0)
BOX = gym.spaces.Box(-1, 1, (2,))


def run_of(agent, env="MemoryChain", frames=200, **settings):
    return Run(agent, env, settings, frames=frames, seeds=2)


def parameters(state):
    """All of a state but memory, statistics of the step under way and random numbers."""
    changes = {
        "fresh",
        "observation",
        "added",
        "action",
        "greedy",
        "key",
        "sample",
        "entropy",
        "now",
    }
    kept = {name: part for name, part in state._asdict().items() if name not in changes}
    return {n: getattr(part, "network", part) for n, part in kept.items()}


def same(a, b):
    leaves = (jax.tree.leaves(tree, is_leaf=lambda x: x is None) for tree in (a, b))
    # All but the flag that says that the next trace starts anew, as an episode has ended.
    return all(
        np.array_equal(x, y)
        for x, y in zip(*leaves, strict=True)
        if x is not None and x.dtype != bool
    )


def test_a_trained_run_is_played_by_the_command(tmp_path, capsys):
    """MemoryChain 2: trained, the greedy agent is right in every episode of both seeds."""
    agent = QRC(network=SMALL, q=SGD(1e-3), epsilon_frames=2_000)
    train(run_of(agent, frames=6_000, length=2), tmp_path)
    capsys.readouterr()
    main(["evaluate", str(tmp_path), "--episodes", "15", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [seed["seed"] for seed in found["seeds"]] == [0, 1]
    assert found["mean_return_iqm"] == 1.0
    assert [len(seed["returns"]) for seed in found["seeds"]] == [15, 15]
    assert {length for seed in found["seeds"] for length in seed["lengths"]} == {3}
    main(["evaluate", str(tmp_path), "--episodes", "15", "--json"])
    assert json.loads(capsys.readouterr().out) == found  # to the bit
    main(["evaluate", str(tmp_path), "--episodes", "3", "--explore"])
    assert "acting as in training, nothing learned" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", str(tmp_path), "--video", str(tmp_path / "x.gif")])
    assert "has no pictures" in capsys.readouterr().err


@pytest.mark.parametrize(
    "agent", [QRC, pytest.param(StreamQ, marks=pytest.mark.slow), Rill, StreamAC, PPO]
)
def test_nothing_is_learned(agent):
    small = {"rollout": 8, "minibatches": 2, "environments": 2} if agent is PPO else {}
    agent = agent(network=SMALL, previous_action=True, previous_reward=True, **small)
    frozen = Frozen(agent)
    before = jax.jit(lambda key: agent.init(key, BOX, gym.spaces.Discrete(3)))(jax.random.key(0))
    act, watch = jax.jit(frozen.act), jax.jit(frozen.watch)
    state = frozen.begin(before)
    for t in range(6):
        seen = np.full(2, 0.1 * t)
        state, action = act(state, seen)
        assert action.shape == ()
        state = watch(state, 1.0, seen, t == 3)
        assert bool(np.all(state.fresh)) == (t == 3)
        nothing = np.all(np.asarray(state.added) == 0)
        assert nothing == (t == 3)  # the last action and reward are seen, until the episode ends
    assert same(parameters(before), parameters(state))


def test_greedy_is_the_likeliest_action():
    agent = StreamAC(network=SMALL)
    box = gym.spaces.Box(-2, 2, (3,))
    state = jax.jit(lambda key: agent.init(key, BOX, box))(jax.random.key(0))
    chosen = [Frozen(agent, explore).act(state, np.ones(2))[1] for explore in (False, False, True)]
    np.testing.assert_array_equal(chosen[0], chosen[1])
    assert not np.array_equal(chosen[0], chosen[2])


def test_beside_gymnasium_with_a_video(tmp_path, capsys):
    pytest.importorskip("pygame")
    train(run_of(StreamAC(network=SMALL), "gymnasium:CartPole-v1", frames=60), tmp_path)
    video = tmp_path / "play" / "cart.gif"
    main(["evaluate", str(tmp_path), "--episodes", "2", "--video", str(video)])
    said = capsys.readouterr().out
    assert "acting greedily, nothing learned" in said
    assert video.read_bytes()[:6] == b"GIF89a"


def test_an_agent_that_cannot_be_greedy_says_so(tmp_path):
    class Stubborn:
        def init(self, key, observation_space, action_space):
            raise NotImplementedError

        def act(self, state, observation):
            raise NotImplementedError

    with pytest.raises(ValueError, match="cannot be greedy: evaluate it as it was trained"):
        evaluation.evaluate(run_of(Stubborn()), None, 1)
    with pytest.raises(ValueError, match="episodes must be at least 1, got 0"):
        evaluation.evaluate(run_of(QRC()), None, 0)
