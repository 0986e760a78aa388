"""``rillax.train`` from Python, with callbacks and own metrics; ``rillax train --config``."""

import json

import gymnasium as gym
import numpy as np
import pyarrow.parquet as pq
import pytest

import rillax
from rillax.agents import QRC, StreamAC
from rillax.cells import RTU
from rillax.cli import main as cli
from rillax.cli.train import parse
from rillax.experiments.training import read_config
from rillax.networks import Architecture
from rillax.utils.files import OutputError

SMALL = Architecture(cell=RTU(4), width=4)
AGENT = QRC(network=SMALL, epsilon_frames=40)


def test_results_are_arrays_and_metrics_can_be_ones_own(tmp_path):
    seen = []

    def norm(snapshot):
        weights = snapshot.state.q.network.head.linear.weight
        return np.linalg.norm(np.asarray(weights).reshape(2, -1), axis=1)

    results = rillax.train(
        AGENT,
        "MemoryChain",
        400,
        seeds=[3, 8],
        env_settings={"length": 3},
        callbacks=seen.append,
        metrics={"norm": norm, "at": lambda snapshot: snapshot.frame},
    )
    assert results.complete
    assert results.seeds == (3, 8)
    assert results.frames.tolist() == list(range(4, 404, 4))
    assert results.returns.shape == results.metrics["td_error"].shape == (100, 2)
    np.testing.assert_array_equal(results.metrics["at"][:, 1], results.frames)
    assert (results.metrics["norm"] > 0).all()
    assert len(seen) == 100
    assert seen[-1].frame == 400
    np.testing.assert_array_equal(seen[-1].metrics["norm"], norm(results))
    assert results.final_returns.shape == (2,)
    assert np.isfinite(results.final_return)

    learner = results.learner(seed=8)
    before = learner.state.q.network.head.linear.weight
    np.testing.assert_array_equal(before, results.state.q.network.head.linear.weight[1])
    learner.act(np.zeros(learner.observation_space.shape))
    learner.learn(1.0, np.zeros(learner.observation_space.shape))
    assert learner.step == 401
    with pytest.raises(ValueError, match=r"no seed 5; there are \[3, 8\]"):
        results.learner(seed=5)

    # Written down, a run is what the command would have made.
    out = tmp_path / "x"
    stopped = rillax.train(
        AGENT,
        "MemoryChain",
        400,
        seeds=[3],
        env_settings={"length": 3},
        callbacks=[lambda snapshot: snapshot.frame == 200],
        metrics={"at": lambda snapshot: snapshot.frame},
        out=out,
    )
    assert not stopped.complete
    assert stopped.frames[-1] == 200
    np.testing.assert_array_equal(stopped.returns[:, 0], results.returns[:50, 0])
    assert pq.read_table(out / "metrics.parquet")["frame"].to_pylist()[-1] == 200
    assert not json.loads((out / "summary.json").read_text())["complete"]
    again = {"env_settings": {"length": 3}, "out": out, "resume": True}
    longer = rillax.train(AGENT, "MemoryChain", 400, seeds=[3], **again)  # without the metric
    assert longer.complete
    np.testing.assert_array_equal(longer.returns[:, 0], results.returns[:, 0])
    with pytest.raises(OutputError, match="holds another run, or a longer one"):
        rillax.train(AGENT, "MemoryChain", 300, seeds=[3], **again)
    table = pq.read_table(out / "metrics.parquet")
    assert table["frame"].to_pylist()[-1] == 400
    assert json.loads((out / "summary.json").read_text())["complete"]


class Hidden(gym.Env):
    observation_space, action_space = gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 5
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.left -= 1
        return np.full(2, self.left / 5, np.float32), float(action), self.left == 0, False, {}


@pytest.mark.slow
def test_an_environment_of_ones_own_is_given_as_it_is():
    agent = StreamAC(network=SMALL)
    results = rillax.train(agent, Hidden, 50, seeds=2)
    assert results.metrics["length"][-1].tolist() == [5, 5]
    assert 0 <= results.final_return <= 5
    with pytest.raises(ValueError, match="there is a metric 'return' already"):
        rillax.train(agent, Hidden, 50, metrics={"return": lambda snapshot: 0})


def test_what_cannot_be_trained_is_named(tmp_path):
    agent = StreamAC(network=SMALL)
    with pytest.raises(ValueError, match="2 seeds need an environment each: give a function"):
        rillax.train(agent, Hidden(), 50, seeds=2)
    with pytest.raises(ValueError, match="with out=, the environment is given by its name"):
        rillax.train(agent, Hidden, 50, out=tmp_path)
    with pytest.raises(ValueError, match="seeds must follow one another, got"):
        rillax.train(agent, "MemoryChain", 50, seeds=[1, 5], out=tmp_path)


def test_a_config_is_changed_by_flags(tmp_path, capsys):
    flags = ["--agent", "qrc", "--length", "3", "--width", "8", "--units", "6", "--seeds", "2"]
    flags += ["--discount", "0.9"]
    written = parse([*flags, "--frames", "1e3", "--checkpoint-seconds", "5"])
    from rillax.experiments.training import write_config

    write_config(written.run, tmp_path, written.options)
    path = str(tmp_path / "config.json")
    for place in (path, str(tmp_path)):
        same = parse(["--config", place, "--out", "y"])
        assert (same.run, same.options) == (written.run, written.options)
    other = parse(["--config", path, "--units", "9", "--frames", "100_000", "--cell", "gru"]).run
    assert (other.frames, other.agent.discount, other.seeds) == (100_000, 0.9, 2)
    assert type(other.agent.network.layers[0]).__name__ == "GRU"
    assert other.agent.network.layers[0].units == 9
    assert other.env_settings == {"length": 3}
    assert parse(["--config", path, "--env", "RepeatFirstEasy"]).run.env_settings == {}
    assert isinstance(parse(["--config", path, "--agent", "stream_ac"]).run.agent, StreamAC)

    # The run alone will do, and what is not one is named.
    (tmp_path / "run.json").write_text(
        json.dumps({"run": json.loads((tmp_path / "config.json").read_text())["run"]})
    )
    assert parse(["--config", str(tmp_path / "run.json")]).run == written.run
    (tmp_path / "bad.json").write_text("{}")
    for name, words in (("bad.json", "is not the config of a run"), ("none.json", "cannot read")):
        with pytest.raises(SystemExit, match="2"):
            cli.main(["train", "--config", str(tmp_path / name)])
        assert words in capsys.readouterr().err
    out = tmp_path / "x"
    cli.main(["train", "--config", path, "--frames", "60", "--seeds", "1", "--out", str(out)])
    assert read_config(out)[0].frames == 60
