"""A worker: it runs one job, resumes it, or finds that it is done.

``python -m rillax.experiments.worker DIRECTORY`` is a process of the local engine; a Ray task calls
``work`` itself. Either way everything goes through the job's directory, which may be on a shared
disk: the description comes from it, progress and results go into it.
"""

import argparse
import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rillax._jax import use_one_thread
from rillax.experiments import store
from rillax.experiments.description import Options, Run
from rillax.experiments.results import write_table
from rillax.experiments.timing import Timing
from rillax.experiments.training import CONFIG, METRICS, SUMMARY, Diverged, Progress, train
from rillax.utils import files, machine

PROGRESS_SECONDS = 1.0
PATIENCE = 20.0
"""How long to wait for the last worker of a job to be gone, after its runner or node was lost."""


def work(directory: Path, options: Options, stop: threading.Event | None = None) -> dict[str, Any]:
    """Run the job in ``directory`` to its end; returns how it went.

    ``{"state": "done" | "stopped" | "failed", ...}``: an error is an answer, not an exception, and
    its traceback is in the job's log.
    """
    try:
        if not (directory / store.JOB).exists():
            raise files.OutputError(f"{directory} holds no job")
        job = store.read_job(directory / store.JOB, trust=True)  # the runner's own file
        with files.locked(directory / store.LOCK, f"{directory} is being worked on", PATIENCE):
            files.remove_all_leftovers(directory)
            if files.read_json(directory / store.DONE) is not None:
                return {"state": "done"}
            spent = Spent(directory)
            if isinstance(job.work, Timing):
                outcome = _time(directory, job.work)
            else:
                outcome = _train(directory, job.work, options, stop or threading.Event(), spent)
            spent.write()
            if outcome["state"] == "done":
                done = {**outcome, **spent.so_far(), "host": socket.gethostname()}
                files.write_json(directory / store.DONE, done)
            return outcome
    except Exception as error:
        _log(directory, traceback.format_exc())
        return {"state": "failed", "error": f"{error}" or type(error).__name__}


class Spent:
    """What a job has cost so far, over all its sittings: one that was stopped has several."""

    def __init__(self, directory: Path):
        self.path = directory / store.SPENT
        try:
            before = files.read_json(self.path) or {}
        except files.OutputError:
            before = {}  # what it cost is no reason not to go on
        self._before = float(before.get("seconds", 0.0))
        self._sittings = int(before.get("sittings", 0)) + 1
        self._started = time.process_time()

    def so_far(self) -> dict[str, Any]:
        """Seconds of a processor, and in how many sittings."""
        seconds = self._before + time.process_time() - self._started
        return {"seconds": seconds, "sittings": self._sittings}

    def write(self) -> None:
        files.write_json(self.path, self.so_far())


def _log(directory: Path, text: str) -> None:
    try:
        with open(directory / store.LOG, "a") as file:
            file.write(text)
    except OSError:
        sys.stderr.write(text)  # the disk may be what is wrong


def _time(directory: Path, timing: Timing) -> dict[str, Any]:
    write_table(directory / METRICS, timing.measure())
    return {"state": "done", "files": {METRICS: files.digest_of_file(directory / METRICS)}}


def _train(
    directory: Path, run: Run, options: Options, stop: threading.Event, spent: Spent
) -> dict[str, Any]:
    """The run of a job; it resumes if it had begun."""
    begun = (directory / CONFIG).exists()
    report = _reporter(directory, run, spent)
    try:
        summary, _ = train(
            run, directory, options, resume=begun, overwrite=True, report=report, stop=stop
        )
    except Diverged as error:
        # That every seed diverges is a result, and running it again would give the same.
        found = files.read_json(directory / SUMMARY)
        return {"state": "done", "summary": found, "note": str(error)}
    return {"state": "done" if summary["complete"] else "stopped", "summary": summary}


def _reporter(directory: Path, run: Run, spent: Spent) -> Callable[[Progress], None]:
    due = 0.0

    def report(progress: Progress) -> None:
        nonlocal due
        if time.monotonic() < due:
            return
        due = time.monotonic() + PROGRESS_SECONDS
        value = progress.latest_return
        spent.write()  # here, too: a process that is killed says nothing at its end
        files.write_json(
            directory / store.PROGRESS,
            {
                "frame": progress.frames,
                "frames": run.frames,
                "frames_per_second": progress.frames_per_second,
                "return": None if value != value else value,
                "host": socket.gethostname(),
                "process": os.getpid(),
                "time": time.time(),
            },
        )

    return report


def be_quiet_and_single() -> None:
    """One thread for XLA: there is a worker on every core already. Before JAX is first used."""
    use_one_thread()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    machine.keep_compilations()


def end_with_parent() -> None:
    """End this process when the one that started it is gone, however it ended."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    end_with_parent()
    parser = argparse.ArgumentParser(prog="rillax.experiments.worker")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--options", type=json.loads, default={})
    parser.add_argument("--core", type=int)
    flags = parser.parse_args()
    if flags.core is not None and hasattr(os, "sched_setaffinity"):  # not on macOS
        os.sched_setaffinity(0, {flags.core})
    be_quiet_and_single()
    # The answer goes to the runner through a pipe that nothing else can write to.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    outcome = work(flags.directory, Options(**flags.options), stop)
    json.dump(outcome, answer)
    answer.close()


if __name__ == "__main__":
    main()
