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
from rillax.experiments import engines, runner, store
from rillax.experiments import run as run_module
from rillax.experiments.work import Options, work
from rillax.paper import cost, grid
from rillax.utils import checkpoint, files
from tests.experiments.made_up import finish, prepare

CELLS = ["fig1b/L2-feedforward", "fig1b/L4-feedforward"]
FRAMES = "3000"
TINY = ["fig1b", "--only", *CELLS, "--seeds", "2", "--frames", FRAMES, "--checkpoint-seconds", "0"]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """The metrics of a cell that one process ran from beginning to end, without any runner."""
    root = store.Root(tmp_path_factory.mktemp("undisturbed"))

    @functools.cache
    def run(name):
        (cell,) = grid.cells_of(grid.select("fig1b", only=[name], seeds=2, frames=int(FRAMES)))
        command = [sys.executable, "-m", "rillax.experiments.work", str(root.enter(cell))]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert json.loads(answer)["state"] == "done"
        return pq.read_table(root.directory(cell) / "metrics.parquet")

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


def collected(out, cell):
    """The rows of a cell in the collected file, as its worker wrote them."""
    table = pq.read_table(out / "results" / "fig1b.parquet").replace_schema_metadata(None)
    return table.filter(pc.equal(table["cell"], cell)).drop_columns("cell")


def same(out, cell, metrics):
    """Whether what was collected is what an undisturbed run wrote, bit for bit."""
    rows = collected(out, cell)
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
                if "rillax.experiments.work" in line and str(out) in line:
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
        cell: checkpoint.load(path)[1]["frame"]
        for cell in CELLS
        if (path := tmp_path / cell / "checkpoint.rillax").exists()
    }
    assert 0 < min(reached.values()) < int(FRAMES)

    cli.main(["reproduce", *TINY, "--out", str(tmp_path)])
    assert all(same(tmp_path, cell, undisturbed(cell)) for cell in CELLS)

    # Once more: nothing is left to do, and nothing is done again.
    ends = {cell: (tmp_path / cell / "done.json").stat().st_mtime_ns for cell in CELLS}
    cli.main(["reproduce", *TINY, "--out", str(tmp_path)])
    assert "2 of 2 cells done (2 had been before)" in capsys.readouterr().out
    assert ends == {cell: (tmp_path / cell / "done.json").stat().st_mtime_ns for cell in CELLS}


@pytest.mark.slow
def test_a_resumed_cell_redoes_only_what_was_not_checkpointed(tmp_path):
    """Cells that are cut by a stop go on from the very frame of their checkpoint."""
    root = store.Root(tmp_path)
    (cell,) = grid.cells_of(grid.select("fig1b", only=[CELLS[0]], seeds=1, frames=3000))
    prepare(root)
    directory = root.enter(cell)
    stop, seen = threading.Event(), []

    def spy(run, lives, tally, frame, known):
        seen.append(frame)
        if frame > 500:
            stop.set()
        return {}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "_newly_sick", spy)
        assert work(directory, Options(), stop)["state"] == "stopped"
        reached = checkpoint.load(directory / "checkpoint.rillax")[1]["frame"]
        assert 500 < reached == seen[-1] < 3000
        assert root.done(cell) is None
        seen.clear()
        stop.clear()
        patch.setattr(run_module, "_newly_sick", lambda *args: seen.append(args[3]) or {})
        assert work(directory, Options(), threading.Event())["state"] == "done"
    assert reached < seen[0]
    assert seen[-1] == 3000
    assert root.done(cell)["summary"]["frames"] == 3000


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
    flags = ["reproduce", *TINY, "--only", CELLS[0], "--out", str(disk / "x")]
    with pytest.raises(SystemExit, match="1"):
        cli.main(flags)
    printed = capsys.readouterr().out
    line = next(line for line in printed.splitlines() if line.startswith("failed:"))
    assert CELLS[0] in line
    assert "cannot write" in line
    assert words in line
    assert "Traceback" not in printed
    # What is there is whole, and there are no leftovers.
    cell = disk / "x" / CELLS[0]
    assert json.loads((cell / "config.json").read_text())["frames"] == int(FRAMES)
    assert not [p for p in cell.iterdir() if p.name.startswith(".") and p.name != ".lock"]
    assert not (cell / "done.json").exists()

    make_room()
    cli.main(flags)
    assert same(disk / "x", CELLS[0], undisturbed(CELLS[0]))


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
    cells = grid.cells_of(grid.select("fig1b", only=CELLS))
    prepare(root)
    for cell in cells:
        finish(root, cell, 1.0)
    manifest = json.loads((root.path / store.MANIFEST).read_text())
    (root.path / store.MANIFEST).write_text(json.dumps({**manifest, **(change or {})}))
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


def test_a_cell_that_fails_does_not_stop_the_others(tmp_path):
    """One cell cannot be built, one's process is killed at once; the third is done."""
    good, bad, killed = grid.cells_of(
        grid.select("fig1b", only=[*CELLS, "fig1b/L8-feedforward"], seeds=2, frames=300)
    )
    bad = grid.Override(bad.name, "", {"no_such": 1})(bad)

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
    assert {n: s.state for n, s in board.cells.items()} == {
        good.name: "done",
        bad.name: "failed",
        killed.name: "failed",
    }
    failures = {status.cell.name: status for status in board.failed()}
    assert "unknown setting of qrc 'no_such'" in failures[bad.name].error
    assert "killed by signal 9" in failures[killed.name].error
    assert "Traceback" in failures[bad.name].log.read_text()
    assert board.cells[good.name].value is not None


def test_dry_run_lists_every_cell_and_writes_nothing(tmp_path, capsys):
    out = tmp_path / "x"
    cli.main(["reproduce", "all", "--dry-run", "--out", str(out)])
    printed = capsys.readouterr().out
    for cell in grid.cells_of(grid.select("all")):
        assert cell.name in printed
    assert "fig1b: 32 cells, 80,000,000 frames" in printed
    assert "popgym: 20 cells, 500,000,000 frames" in printed
    assert "mujoco: 16 cells, 160,000,000 frames" in printed
    assert "kmemory: 12 cells, 18,000,000 frames" in printed
    assert "in all: 84 cells, 758,000,000 frames" in printed
    assert not out.exists()


def test_dry_run_does_not_call_done_what_was_run_with_other_settings(tmp_path, capsys):
    (cell,) = grid.cells_of(grid.select("fig1b", only=["fig1b/L2-rtu-rtrl"], frames=300))
    root = store.Root(tmp_path)
    with root.owned("paper"):
        files.write_json(root.enter(cell) / store.DONE, {})
    asked = ["reproduce", "fig1b", "--only", cell.name, "--out", str(tmp_path), "--dry-run"]
    cli.main([*asked, "--frames", "300"])
    with pytest.raises(SystemExit, match="2"):
        cli.main(asked)
    error = " ".join(capsys.readouterr().err.split())
    assert f"holds {cell.name} with other settings" in error
    assert "frames" in error


def test_cost_is_the_rate_times_the_frames_and_learns_from_finished_cells():
    cells = grid.cells_of(grid.select("fig1b", only=["fig1b/L2-*"]))
    kind = cost.kind(cells[3].work)
    costs = cost.Costs(40.0, {"seconds_to_start": 10.0, "floors": {kind: 5.0}})
    # 500,000 frames of 5 seeds at 5 x 40 us, and ten seconds.
    assert costs.seconds(cells[3]) == pytest.approx(510)
    assert costs.seconds(cells[0]) is None
    assert costs.total(cells) == (pytest.approx(510), 3)
    costs.observe(cells[3], {"summary": {"frames_per_second": 1e4}})
    assert costs.seconds(cells[3]) == pytest.approx(260)


def test_seconds_left_by_rates_and_slots():
    cells = grid.cells_of(grid.select("fig1b", only=["fig1b/L2-*"], frames=1000, seeds=1))
    kinds = {cost.kind(c.work): 1.0 for c in cells}
    costs = cost.Costs(1000.0, {"seconds_to_start": 0.0, "floors": kinds})
    board = runner.Board({c.name: runner.Status(c) for c in cells}, costs, slots=2)
    assert board.seconds_left() == pytest.approx(2)  # four cells of a second, two at a time
    status = board.cells[cells[0].name]
    status.state, status.frame, status.frames_per_second = "running", 500, 50.0
    assert board.seconds_left() == pytest.approx(10)  # the longest one decides


MINIATURE = [
    "fig1a/*",
    "fig1b/L4-rtu-rtrl",
    "popgym/RepeatFirst-stream_ac-rtu",
    "mujoco/Hopper-P-stream_ac-rtu",
    "kmemory/K4-qrc-none",
]


def test_a_miniature_of_the_paper_from_one_command_to_the_report(tmp_path, capsys):
    """Every figure, few cells; ``rillax reproduce all --miniature`` has all of its lines."""
    pytest.importorskip("mujoco")
    flags = ["all", "--miniature", "--frames", "200", "--only", *MINIATURE]
    cli.main(["reproduce", *flags, "--out", str(tmp_path)])
    assert "8 of 8 cells done" in capsys.readouterr().out
    assert (tmp_path / "report.html").read_text().count("<img ") == 6
    names = {p.name for p in (tmp_path / "results").iterdir()}
    assert names == {f"{name}.parquet" for name in grid.NAMES}
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
        """The process that last worked on each cell."""
        return [(tmp_path / c / ".lock").read_text() for c in CELLS]

    def kill_when_both_have_begun():
        while not all((tmp_path / c / "checkpoint.rillax").exists() for c in CELLS):
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
    assert "2 of 2 cells done" in capsys.readouterr().out
    assert all(same(tmp_path, cell, undisturbed(cell)) for cell in CELLS)
