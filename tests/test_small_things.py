"""Brackets in messages, forks, the compilation cache, and a Ray cluster that is not there."""

import os
import signal
import threading
import time
import types
import warnings

import numpy as np
import pytest

from rillax import Learner
from rillax.cli import main as cli
from rillax.cli import terminal
from rillax.experiments import Options, engines
from rillax.utils import machine
from tests.loops.test_interrupts import make, steps


def test_brackets_are_kept(capsys, tmp_path):
    terminal.console.cache_clear()
    terminal.say("pip install 'rillax[mujoco]' [red]x[/red]")
    assert "rillax[mujoco]' [red]x[/red]" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        cli.main(["train", "--resume", str(tmp_path / "a[b]c")])
    assert "a[b]c" in capsys.readouterr().err
    terminal.console.cache_clear()


def in_a_forked_child(function):
    """What a call says in a child that was forked off: the end of its error, if it has one."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)  # a child that waits for a lock never ends by itself
        try:
            function()
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read) as pipe:
        said = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said if code == 0 else f"the child was killed by signal {-code}"


X = np.zeros(3, np.float32)
IN_A_CHILD = {
    "act": lambda learner, path: learner.act(X),
    "act on bad input": lambda learner, path: learner.act(X * np.nan),
    "learn": lambda learner, path: learner.learn(0.0, X),
    "state": lambda learner, path: learner.state,
    "metrics": lambda learner, path: learner.metrics,
    "save": lambda learner, path: learner.save(path),
    "freeze": lambda learner, path: learner.freeze(),
    "warm_up": lambda learner, path: learner.warm_up(),
    "load": lambda learner, path: Learner.load(path),
    "from_run": lambda learner, path: Learner.from_run(path),
    "new": lambda learner, path: make(),
    "in a child of the child": lambda learner, path: in_a_forked_child_of_a_child(learner),
}


def in_a_forked_child_of_a_child(learner):
    raise RuntimeError(in_a_forked_child(make))


@pytest.fixture(scope="module")
def learner():
    learner = make()
    steps(learner, 1)
    return learner


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("call", IN_A_CHILD)
def test_a_learner_refuses_to_work_in_a_forked_child(call, locked, learner, tmp_path):
    learner.save(tmp_path / "x")
    held, done = threading.Event(), threading.Event()

    def hold():
        with learner._lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    if locked:
        thread.start()
        held.wait()
    said = in_a_forked_child(lambda: IN_A_CHILD[call](learner, tmp_path / "x"))
    done.set()
    if locked:
        thread.join()
    assert said.startswith("RuntimeError: ")
    assert "forked" in said
    assert "spawn" in said
    steps(learner, 1, first=learner.step)


def test_a_damaged_entry_of_the_cache_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    for name in ("jit_run-12ab-cache", "jit_run-12ab-atime", "jit_other-34cd-cache"):
        (tmp_path / name).write_bytes(b"x")
    with warnings.catch_warnings():
        machine.repair_cache(tmp_path)
        warnings.warn(
            "Error reading persistent compilation cache entry for 'jit_run': x", stacklevel=1
        )
    assert [p.name for p in tmp_path.iterdir()] == ["jit_other-34cd-cache"]


# ---- Ray


class FakeRay:
    """As much of Ray as the engine uses."""

    class exceptions:
        RayError = RuntimeError
        TaskCancelledError = KeyError

    def __init__(self, address="127.0.0.1:1", init=lambda: None):
        self._address, self._init = address, init

    def init(self, **_):
        self._init()

    def cluster_resources(self):
        return {"CPU": 2}

    def remote(self, **_):
        return lambda function: types.SimpleNamespace(remote=lambda *args: args)

    def get_runtime_context(self):
        return types.SimpleNamespace(gcs_address=self._address)

    def wait(self, tasks, **_):
        return [], tasks

    def shutdown(self):
        time.sleep(60)


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr(engines, "PATIENCE", 0.3)
    monkeypatch.setattr(engines, "HEAD_PATIENCE", 0.2)

    def use(**settings):
        monkeypatch.setattr(engines, "import_module", lambda name: FakeRay(**settings))

    return use


def test_an_address_that_nobody_answers_at_is_refused(fake):
    fake()
    with pytest.raises(ValueError, match=r"no Ray cluster at 127\.0\.0\.1:1: nothing answers"):
        engines.Ray(Options(), "127.0.0.1:1")
    fake(init=lambda: time.sleep(60))
    with pytest.raises(ValueError, match="no answer within"):
        engines.Ray(Options(), "auto")


def test_an_address_is_refused_within_30_seconds():
    assert engines.HEAD_PATIENCE + engines.PATIENCE < 25  # what is imported takes some, too


def test_waiting_for_a_cluster_can_be_stopped(fake, monkeypatch):
    fake(init=lambda: time.sleep(60))
    monkeypatch.setattr(engines, "PATIENCE", 30)
    stop = threading.Event()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        engines.Ray(Options(), "auto", stop)


def test_a_head_that_is_gone_is_noticed(fake, tmp_path):
    fake()
    engine = engines.Ray(Options(), "auto")
    engine.start("x", tmp_path)
    assert engine.wait(0.1) == {}  # it may only be slow to answer
    time.sleep(0.3)
    with pytest.raises(engines.EngineLost, match="the same command continues"):
        engine.wait(0.1)
    engine.close()
