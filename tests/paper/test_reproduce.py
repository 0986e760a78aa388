"""``rillax reproduce`` from end to end: killed, out of space, in the wrong place, side by side."""

import contextlib
import functools
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from rillax.cli import main as cli
from rillax.experiments import store
from rillax.paper import figures
from rillax.utils import checkpoint, files
from tests.experiments.made_up import finish, prepare

JOBS = ["fig1b/L2-feedforward", "fig1b/L4-feedforward"]
FRAMES = "3000"
TINY = ["fig1b", "--only", *JOBS, "--seeds", "2", "--frames", FRAMES, "--checkpoint-seconds", "0"]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """The metrics of a job that one process ran from beginning to end, without any runner."""
    root = store.Root(tmp_path_factory.mktemp("undisturbed"))

    @functools.cache
    def run(name):
        (job,) = figures.jobs_of(figures.select("fig1b", only=[name], seeds=2, frames=int(FRAMES)))
        command = [sys.executable, "-m", "rillax.experiments.worker", str(root.enter(job))]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert json.loads(answer)["state"] == "done"
        return pq.read_table(root.directory(job) / "metrics.parquet")

    return run


def start(out, *flags):
    return subprocess.Popen(
        [sys.executable, "-m", "rillax", "reproduce", *flags, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for(process, condition, timeout=240):
    end = time.monotonic() + timeout
    while not condition():
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def collected(out, job):
    """The rows of a job in the collected file, as its worker wrote them."""
    table = pq.read_table(out / "results" / "fig1b.parquet").replace_schema_metadata(None)
    return table.filter(pc.equal(table["job"], job)).drop_columns("job")


def same(out, job, metrics):
    """Whether what was collected is what an undisturbed run wrote, bit for bit."""
    rows = collected(out, job)
    assert len(rows) == len(metrics) > 0
    for name in rows.column_names:
        assert rows[name].equals(metrics[name].cast(rows[name].type)), name
    return True


def processes_of(out):
    """The workers that are alive."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{entry}/cmdline").read_text()
                if "rillax.experiments.worker" in line and str(out) in line:
                    found.append(int(entry))
    return found


@pytest.mark.slow
def test_sigkill_in_the_middle_costs_time_and_no_results(tmp_path, undisturbed, capsys):
    process = start(tmp_path, *TINY)
    wait_for(process, lambda: list(tmp_path.glob("fig1b/*/checkpoint.rillax")))
    process.send_signal(signal.SIGKILL)
    process.wait()
    end = time.monotonic() + 20
    while processes_of(tmp_path):
        assert time.monotonic() < end, "a worker outlived its runner"
        time.sleep(0.05)
    reached = {
        job: checkpoint.load(path)[1]["frame"]
        for job in JOBS
        if (path := tmp_path / job / "checkpoint.rillax").exists()
    }
    assert 0 < min(reached.values()) < int(FRAMES)

    cli.main(["reproduce", *TINY, "--out", str(tmp_path)])
    assert all(same(tmp_path, job, undisturbed(job)) for job in JOBS)

    # Once more: nothing is left to do, and nothing is done again.
    ends = {job: (tmp_path / job / "done.json").stat().st_mtime_ns for job in JOBS}
    cli.main(["reproduce", *TINY, "--out", str(tmp_path)])
    assert "2 of 2 jobs done (2 had been done before)" in capsys.readouterr().out
    assert ends == {job: (tmp_path / job / "done.json").stat().st_mtime_ns for job in JOBS}


@pytest.fixture
def small_disk(tmp_path):
    """A file system that is almost full; where mounting is not allowed, files that cannot grow."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(path)]
    if os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0:
        more = ["mount", "-o", "remount,size=64m", str(path)]
        yield path, "No space left on device", lambda: subprocess.run(more, check=True)
        subprocess.run(["umount", "-l", str(path)], check=True)
        return
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, limits[1]))
    yield path, "File too large", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.slow
def test_a_full_disk_is_a_clear_error_and_nothing_is_lost(small_disk, undisturbed, capsys):
    disk, words, make_room = small_disk
    flags = ["reproduce", *TINY, "--only", JOBS[0], "--out", str(disk / "x")]
    with pytest.raises(SystemExit, match="1"):
        cli.main(flags)
    printed = capsys.readouterr().out
    line = next(line for line in printed.splitlines() if line.startswith("failed:"))
    assert JOBS[0] in line
    assert "cannot write" in line
    assert words in line
    assert "Traceback" not in printed
    # What is there is whole, and there are no leftovers.
    directory = disk / "x" / JOBS[0]
    assert json.loads((directory / "config.json").read_text())["run"]["frames"] == int(FRAMES)
    assert not [
        p for p in directory.iterdir() if p.name.startswith(".") and not p.name.endswith("lock")
    ]
    assert not (directory / "done.json").exists()

    make_room()
    cli.main(flags)
    assert same(disk / "x", JOBS[0], undisturbed(JOBS[0]))


def tree(path):
    return {p: p.read_bytes() for p in path.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("change", "flags", "words"),
    [
        ({"rillax": "0.0.1"}, [], ["was written by rillax 0.0.1", "this is rillax"]),
        ({"format": 99}, [], ["format 99"]),
        ({}, ["--preset", "rillax"], ["holds the preset paper, not rillax"]),
        ({}, ["--frames", "7"], ["frames 500000, not 7", "seeds 5, not 2"]),
        (None, [], ["is not empty and was not written by rillax reproduce"]),
    ],
)
def test_a_directory_of_something_else_is_refused_and_left_alone(
    change, flags, words, tmp_path, capsys
):
    root = store.Root(tmp_path / "out")
    jobs = figures.jobs_of(figures.select("fig1b", only=JOBS))
    prepare(root)
    for job in jobs:
        finish(root, job, 1.0)
    manifest = files.read_json(root.path / store.MANIFEST)
    files.write_json(root.path / store.MANIFEST, {**manifest, **(change or {})})
    if change is None:
        (root.path / store.MANIFEST).unlink()
    before = tree(root.path)
    with pytest.raises(SystemExit, match="2"):
        cli.main(["reproduce", *TINY, "--out", str(root.path), *flags])
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert any(word in error for word in words)
    assert "choose another --out" in error
    assert tree(root.path) == before


def test_two_runners_in_one_directory(tmp_path, capsys):
    prepare(store.Root(tmp_path))
    with (
        store.locked(tmp_path / ".lock", "another runner"),
        pytest.raises(SystemExit, match="2"),
    ):
        cli.main(["reproduce", *TINY, "--out", str(tmp_path)])
    error = capsys.readouterr().err
    assert "another runner is at work" in error
    assert f"process {os.getpid()}" in error
    with store.locked(tmp_path / ".lock", "gone with its holder"):
        pass


def test_dry_run_lists_every_cell_and_writes_nothing(tmp_path, capsys):
    out = tmp_path / "x"
    cli.main(["reproduce", "all", "--dry-run", "--out", str(out)])
    printed = capsys.readouterr().out
    for job in figures.jobs_of(figures.select("all")):
        assert job.name in printed
    assert "fig1b: 32 jobs, 80,000,000 frames" in printed
    assert "popgym: 20 jobs, 450,000,000 frames" in printed
    assert "mujoco: 16 jobs, 128,000,000 frames" in printed
    assert "kmemory: 12 jobs, 18,000,000 frames" in printed
    assert "in all: 84 jobs, 676,000,000 frames" in printed
    assert not out.exists()


def test_dry_run_does_not_call_done_what_was_run_with_other_settings(tmp_path, capsys):
    (job,) = figures.jobs_of(figures.select("fig1b", only=["fig1b/L2-rtu-rtrl"], frames=300))
    root = store.Root(tmp_path)
    with root.owned("paper"):
        files.write_json(root.enter(job) / store.DONE, {})
    asked = ["reproduce", "fig1b", "--only", job.name, "--out", str(tmp_path), "--dry-run"]
    cli.main([*asked, "--frames", "300"])
    with pytest.raises(SystemExit, match="2"):
        cli.main(asked)
    error = " ".join(capsys.readouterr().err.split())
    assert f"holds {job.name} with other settings" in error
    assert "frames" in error


MINIATURE = [
    "fig1a/[fr]*",
    "fig1b/L4-rtu-rtrl",
    "popgym/RepeatFirst-stream_ac-rtu",
    "mujoco/Hopper-P-stream_ac-rtu",
    "kmemory/K4-qrc-none",
]


@pytest.mark.slow
def test_a_miniature_of_the_paper_from_one_command_to_the_report(tmp_path, capsys):
    """Every figure, few jobs; ``rillax reproduce all --miniature`` has all of its lines."""
    pytest.importorskip("mujoco")
    flags = ["all", "--miniature", "--frames", "200", "--only", *MINIATURE]
    cli.main(["reproduce", *flags, "--out", str(tmp_path)])
    assert "6 of 6 jobs done" in capsys.readouterr().out
    assert (tmp_path / "report.html").read_text().count("<img ") == 6
    names = {p.name for p in (tmp_path / "results").iterdir()}
    assert names == {f"{name}.parquet" for name in figures.NAMES}
    assert {p.suffix for p in (tmp_path / "figures").iterdir()} == {".svg", ".pdf", ".png"}


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes of one core each, on this machine's loopback."""
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYTHONPATH", str(Path(cli.__file__).parents[1]))
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    yield cluster, cluster.add_node(num_cpus=1, object_store_memory=80_000_000)
    cluster.shutdown()


@pytest.mark.slow
def test_a_ray_node_that_is_killed_costs_time_and_no_results(
    cluster, tmp_path, undisturbed, capsys
):
    nodes, doomed = cluster
    killed = threading.Event()

    def workers():
        """The process that last worked on each job."""
        return [(tmp_path / job / ".lock").read_text() for job in JOBS]

    def kill_when_both_have_begun():
        while not all((tmp_path / job / "checkpoint.rillax").exists() for job in JOBS):
            time.sleep(0.05)
        before.extend(workers())
        nodes.remove_node(doomed, allow_graceful=False)
        killed.set()

    before: list[str] = []
    threading.Thread(target=kill_when_both_have_begun, daemon=True).start()
    engine = ["--engine", "ray", "--address", nodes.address]
    cli.main(["reproduce", *TINY, "--out", str(tmp_path), *engine])
    assert killed.is_set()
    assert len(set(before)) == 2  # one on each node
    assert sum(a != b for a, b in zip(before, workers(), strict=True)) >= 1  # began again
    assert "2 of 2 jobs done" in capsys.readouterr().out
    assert all(same(tmp_path, job, undisturbed(job)) for job in JOBS)
