"""A grid of jobs is run: resumed, estimated, and not stopped by a job that fails."""

import dataclasses
import threading

import pytest

from rillax.agents import QRC
from rillax.cells import GRU, RTU, FeedForward
from rillax.experiments import Job, Options, Run, cost, engines, runner, store, training
from rillax.experiments.worker import Spent, work
from rillax.networks import Architecture
from rillax.utils import checkpoint, files
from tests.experiments.made_up import prepare

MEMORIES = {
    "feedforward": FeedForward(8),
    "gru-tbptt": GRU(8, gradient="tbptt"),
    "rtu-tbptt": RTU(8, gradient="tbptt"),
    "rtu-rtrl": RTU(8),
}


def chain(length, memory="feedforward", seeds=2, frames=300):
    """A small job."""
    agent = QRC(network=Architecture(cell=MEMORIES[memory], width=8))
    run = Run(agent, "MemoryChain", {"length": length}, frames=frames, seeds=seeds)
    return Job(f"chain/L{length}-{memory}", f"{length}", memory, "here", run)


@pytest.mark.slow
def test_a_resumed_job_redoes_only_what_was_not_checkpointed(tmp_path, monkeypatch):
    """Jobs that are cut by a stop go on from the very frame of their checkpoint."""
    root = store.Root(tmp_path)
    job = chain(2, seeds=1, frames=3000)
    prepare(root)
    directory = root.enter(job)
    stop, seen = threading.Event(), []

    def spy(self, statistics):
        seen.append(self.frame)
        if self.frame > 500:
            stop.set()
        return {}

    monkeypatch.setattr(training.Training, "_newly_diverged", spy)
    assert work(directory, Options(), stop)["state"] == "stopped"
    reached = checkpoint.load(directory / "checkpoint.rillax")[1]["frame"]
    assert 500 < reached == seen[-1] < 3000
    assert root.done(job) is None
    seen.clear()
    assert work(directory, Options(), threading.Event())["state"] == "done"
    assert reached < seen[0]
    assert seen[-1] == 3000
    done = root.done(job)
    assert done["summary"]["frames"] == 3000
    assert done["sittings"] == 2


def test_what_a_job_costs_is_counted_over_all_its_sittings(tmp_path):
    first = Spent(tmp_path)
    while first.so_far()["seconds"] < 0.02:
        pass
    first.write()  # and then it is killed
    before = first.so_far()["seconds"]
    second = Spent(tmp_path).so_far()
    assert second["sittings"] == 2
    assert 0.02 <= second["seconds"] < before + 0.5
    path = tmp_path / store.SPENT
    path.write_text(path.read_text().replace("0.0", "9.0"))
    assert Spent(tmp_path).so_far()["sittings"] == 1  # a damaged note is not believed


def test_a_job_that_fails_does_not_stop_the_others(tmp_path):
    """One job cannot be built, one's process is killed at once; the third is done."""
    good, bad, killed = chain(2), chain(4), chain(8)
    bad = dataclasses.replace(bad, work=dataclasses.replace(bad.work, env_settings={"no_such": 1}))

    class Engine(engines.Local):
        def start(self, name, directory, *, alone=False):
            super().start(name, directory, alone=alone)
            if name == killed.name:
                self._running[name][0].kill()

    board = runner.run(
        store.Root(tmp_path),
        [good, bad, killed],
        "paper",
        lambda: Engine(Options(), 2),
        cost.Costs(40.0),
    )
    assert {n: s.state for n, s in board.jobs.items()} == {
        good.name: "done",
        bad.name: "failed",
        killed.name: "failed",
    }
    failures = {status.job.name: status for status in board.failed()}
    assert "MemoryChain has no setting 'no_such'" in failures[bad.name].error
    assert "killed by signal 9" in failures[killed.name].error
    assert "Traceback" in failures[bad.name].log.read_text()
    assert board.jobs[good.name].value is not None


def test_a_job_with_a_setting_that_is_not_there_fails_and_names_it(tmp_path):
    root = store.Root(tmp_path)
    path = root.enter(chain(2)) / store.JOB
    described = files.read_json(path)
    described["work"]["agent"]["no_such"] = 1
    files.write_json(path, described)
    outcome = work(path.parent, Options())
    assert outcome["state"] == "failed"
    assert f"{path} does not describe a job" in outcome["error"]
    assert "unknown setting of QRC 'no_such'" in outcome["error"]
    assert "Traceback" in (path.parent / store.LOG).read_text()


def test_cost_is_the_rate_times_the_frames_and_learns_from_finished_jobs():
    jobs = [chain(2, memory, seeds=5, frames=500_000) for memory in MEMORIES]
    kind = cost.kind(jobs[3].work)
    costs = cost.Costs(40.0, {"seconds_to_start": 10.0, "floors": {kind: 5.0}})
    # 500,000 frames of 5 seeds at 5 x 40 us, and ten seconds.
    assert costs.seconds(jobs[3]) == pytest.approx(510)
    assert costs.seconds(jobs[0]) is None
    assert costs.total(jobs) == (pytest.approx(510), 3)
    costs.observe(jobs[3], {"summary": {"frames_per_second": 1e4}})
    assert costs.seconds(jobs[3]) == pytest.approx(260)


def test_seconds_left_by_rates_and_slots():
    jobs = [chain(2, memory, seeds=1, frames=1000) for memory in MEMORIES]
    kinds = {cost.kind(job.work): 1.0 for job in jobs}
    costs = cost.Costs(1000.0, {"seconds_to_start": 0.0, "floors": kinds})
    board = runner.Board({job.name: runner.Status(job) for job in jobs}, costs, slots=2)
    assert board.seconds_left() == pytest.approx(2)  # four jobs of a second, two at a time
    status = board.jobs[jobs[0].name]
    status.state, status.frame, status.frames_per_second = "running", 500, 50.0
    assert board.seconds_left() == pytest.approx(10)  # the longest one decides
