"""Where jobs run: in processes on this machine, one per core, or as tasks of a Ray cluster."""

import dataclasses
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import rillax
from rillax.experiments import store
from rillax.experiments.description import Options
from rillax.experiments.worker import be_quiet_and_single, work
from rillax.utils import machine

Outcome = dict[str, Any]
RETRIES = 10
"""How often Ray starts a job again elsewhere when its node is lost."""
PATIENCE = 18.0
"""Seconds for a Ray cluster to answer."""
HEAD_PATIENCE = 5.0
"""Seconds for which the head of a cluster may be silent."""
_HUGE_PAGES = "glibc.malloc.hugetlb=1"
"""Lets Linux back large arrays with large pages. An update of PPO writes hundreds of megabytes into
memory that is new to it, and a fault for every 4 kB was a third of its time."""
_LOST = "the head of the Ray cluster is gone; start it again, and the same command continues"


class EngineLost(Exception):
    """Where the jobs ran is no more; what they have written is still there."""


class Engine(Protocol):
    """Starts jobs, and says which have ended and how."""

    slots: int
    """How many jobs run at once."""
    at_once: bool
    """Whether a job that was given to it runs from then on, or waits its turn there."""

    @property
    def room(self) -> bool:
        """Whether another job can be given to it now."""
        ...

    def start(self, name: str, directory: Path, *, alone: bool = False) -> None: ...

    def wait(self, seconds: float) -> dict[str, Outcome]:
        """The jobs that ended, after at most this many seconds."""
        ...

    def stop(self) -> None:
        """Ask every job to write a checkpoint and end; ``wait`` says when they have."""
        ...

    def close(self) -> None: ...


class Local:
    """One process for each core, pinned to it."""

    at_once = True

    def __init__(self, options: Options, workers: int | None = None):
        cores = machine.cores()
        if workers is not None and workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        self._free = [cores[i % len(cores)] for i in range(workers or len(cores))]
        self._options = json.dumps(dataclasses.asdict(options))
        self._running: dict[str, tuple[subprocess.Popen, int, Path]] = {}
        self.slots = len(self._free)

    @property
    def room(self) -> bool:
        return bool(self._free)

    def start(self, name: str, directory: Path, *, alone: bool = False) -> None:
        core = self._free.pop()
        command = [sys.executable, "-m", "rillax.experiments.worker", str(directory)]
        command += ["--options", self._options, "--core", str(core)]
        with open(directory / store.LOG, "a") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_of_a_worker(),
                start_new_session=True,  # Ctrl-C goes to the runner, which tells its workers
            )
        self._running[name] = process, core, directory

    def wait(self, seconds: float) -> dict[str, Outcome]:
        end = time.monotonic() + seconds
        while not (ended := self._ended()) and self._running and time.monotonic() < end:
            time.sleep(0.05)
        outcomes = {}
        for name in ended:
            process, core, directory = self._running.pop(name)
            self._free.append(core)
            outcomes[name] = _outcome(process, directory)
        return outcomes

    def _ended(self) -> list[str]:
        return [name for name, (process, *_) in self._running.items() if process.poll() is not None]

    def stop(self) -> None:
        for process, *_ in self._running.values():
            process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        for process, *_ in self._running.values():
            process.kill()
            process.wait()


def _of_a_worker() -> dict[str, str]:
    """The environment of a worker; what the user has set for glibc stays.

    Nothing is imported from the current directory because it is the current one, though rillax
    itself may have been found there.
    """
    tunables = ":".join(filter(None, [_HUGE_PAGES, os.environ.get("GLIBC_TUNABLES")]))
    one_thread = {"PJRT_NPROC": "1"}  # of XLA's, for one core
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    ours = Path(rillax.__file__).parents[1]
    if ours.name not in ("site-packages", "dist-packages"):
        paths.append(str(ours))
    safe = {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return {**os.environ, **one_thread, **safe, "GLIBC_TUNABLES": tunables}


def _outcome(process: subprocess.Popen, directory: Path) -> Outcome:
    """What a worker answered; one that could not answer failed."""
    assert process.stdout is not None
    answer = process.stdout.read()
    process.stdout.close()
    try:
        return json.loads(answer)
    except json.JSONDecodeError:
        code = process.returncode
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return {"state": "failed", "error": f"its process {how}"}


class Ray:
    """Tasks of a Ray cluster, which schedules them and starts them again when a node is lost."""

    at_once = False

    def __init__(
        self, options: Options, address: str | None = None, stop: threading.Event | None = None
    ):
        try:
            self.ray = import_module("ray")
        except ImportError as missing:
            raise ModuleNotFoundError(
                "ray is not installed; pip install 'rillax[ray]'"
            ) from missing

        def connect() -> float:
            self.ray.init(address=address, log_to_driver=False, logging_level="error")
            return self.ray.cluster_resources().get("CPU", 1)

        try:
            _check_reachable(address)
            cores = _within(PATIENCE, connect, stop)
        except (ConnectionError, ValueError, RuntimeError, TimeoutError, OSError) as error:
            raise ValueError(
                f"no Ray cluster at {address}: {_first_line(error)}; start one with "
                "ray start --head"
            ) from error
        self._options = options
        self._tasks: dict[Any, str] = {}
        self._last_seen = time.monotonic()
        self.slots = max(1, int(cores))

    @property
    def room(self) -> bool:
        return True

    def start(self, name: str, directory: Path, *, alone: bool = False) -> None:
        """One core for a job, all of a node's for one that measures time; a new process for each.

        What fails inside a job is an answer and not tried again; a lost process or node is.
        """
        task = self.ray.remote(
            num_cpus=self._cores_of_a_node() if alone else 1, max_retries=RETRIES, max_calls=1
        )(_task)
        self._tasks[task.remote(str(directory), self._options)] = name

    def _cores_of_a_node(self) -> float:
        return max(n["Resources"].get("CPU", 1.0) for n in self.ray.nodes() if n["Alive"])

    def wait(self, seconds: float) -> dict[str, Outcome]:
        if not self._tasks:
            return {}
        self._require_head()
        try:
            ended, _ = self.ray.wait(list(self._tasks), num_returns=1, timeout=seconds)
        except (ConnectionError, RuntimeError, self.ray.exceptions.RayError) as error:
            raise EngineLost(f"{_LOST} ({_first_line(error)})") from error
        outcomes = {}
        for task in ended:
            name = self._tasks.pop(task)
            try:
                outcomes[name] = self.ray.get(task)
            except self.ray.exceptions.TaskCancelledError:
                outcomes[name] = {"state": "stopped"}
            except self.ray.exceptions.RayError as error:
                outcomes[name] = {"state": "failed", "error": _first_line(error)}
        return outcomes

    def _require_head(self) -> None:
        """Raise an error if the cluster's head has not answered for some seconds.

        Ray itself would wait for a minute, and then end this process.
        """
        now = time.monotonic()
        if _answers(self.ray.get_runtime_context().gcs_address):
            self._last_seen = now
        elif now - self._last_seen > HEAD_PATIENCE:
            raise EngineLost(_LOST)

    def stop(self) -> None:
        for task in self._tasks:
            self.ray.cancel(task, force=True)  # each goes on from its last checkpoint

    def close(self) -> None:
        with suppress(TimeoutError):  # with its head gone, Ray may wait for ever
            _within(HEAD_PATIENCE, self.ray.shutdown)


def _check_reachable(address: str | None) -> None:
    """Raise an error at once if nothing answers at an address of the form host:port."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit() and not _answers(f"{host}:{port}"):
        raise ConnectionError("nothing answers there")


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=HEAD_PATIENCE).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _within(seconds: float, call: Callable[[], Any], stop: threading.Event | None = None) -> Any:
    """What a call returns, if it does so in time; it is left behind if not, or when told to stop.

    The main thread only waits, so that Ctrl-C works.
    """
    answer: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue()

    def run() -> None:
        try:
            answer.put((call(), None))
        except BaseException as error:
            answer.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(queue.Empty):
            value, error = answer.get(timeout=0.1)
            if error is not None:
                raise error
            return value
        if stop is not None and stop.is_set():
            raise KeyboardInterrupt
    raise TimeoutError(f"no answer within {seconds:.0f} s")


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), repr(error))


def _task(directory: str, options: Options) -> Outcome:
    be_quiet_and_single()
    return work(Path(directory), options)
