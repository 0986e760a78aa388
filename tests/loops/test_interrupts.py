"""Ctrl-C in the middle of a step, and threads: a learner is before the step or after it, whole."""

import ctypes
import random
import signal
import sys
import threading
import time

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax import Learner
from rillax._jax import enable_x64
from rillax._jax.kernels import Program, one_kernel, undisturbed
from rillax.agents import StreamAC
from rillax.cells import RTU
from rillax.networks import Architecture

BOX, TWO = gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(2)


def make():
    return Learner(StreamAC(network=Architecture(cell=RTU(8), width=8)), BOX, TWO)


def steps(learner, count, first=0):
    """A stream whose samples depend on the step alone; goes on where an interrupt has left it."""
    for t in range(first, first + count):
        x = np.random.default_rng(t).normal(size=3).astype(np.float32)
        if not learner.acted:
            learner.act(x)
        learner.learn(float(x[0]), x, terminated=t % 7 == 6)


def assert_undisturbed(learner):
    """To the bit, the learner is one that has taken as many steps, and was never interrupted."""
    other = make()
    if learner.acted:  # between the two halves of a step
        steps(learner, 1, first=learner.step)
    steps(other, learner.step)
    a, b = (x.state._replace(key=jax.random.key_data(x.state.key)) for x in (learner, other))
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


def interrupted(learner, tries, rng, tmp_path):
    """Interrupt a learner again and again, and save it each time; returns how often."""
    hits = 0
    for _ in range(tries):
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 8e-3))
            while True:
                steps(learner, 1, first=learner.step)
        except KeyboardInterrupt:
            hits += 1
        learner.save(tmp_path / "x")
        for leaf in jax.tree.leaves(learner.state.critic):
            assert np.isfinite(np.asarray(leaf)).all()
    return hits


def test_an_interrupt_leaves_a_whole_state(tmp_path):
    interrupt_often(tmp_path, 60)


def interrupt_often(tmp_path, interrupts):
    learner, rng = make(), random.Random(0)
    steps(learner, 2)

    def handle(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handle)
    try:
        hits = interrupted(learner, interrupts, rng, tmp_path)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert hits == interrupts
    steps(learner, 3, first=learner.step)
    Learner.load(tmp_path / "x")
    assert_undisturbed(learner)


def test_an_interrupt_while_it_compiles_leaves_the_state_from_before():
    learner = make()
    handle = lambda number, frame: (_ for _ in ()).throw(KeyboardInterrupt())  # noqa: E731
    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        steps(learner, 1)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert learner.state is not None
    steps(learner, 2, first=learner.step)
    assert_undisturbed(learner)


def test_an_interrupt_of_another_thread_and_a_save_beside_it(tmp_path):
    learner = make()
    steps(learner, 2)
    failed = []

    def work():
        while True:
            try:
                while not done.is_set():
                    steps(learner, 1, first=learner.step)
                return
            except KeyboardInterrupt:
                pass
            except Exception as error:
                failed.append(error)
                return

    done = threading.Event()
    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(25):
        time.sleep(0.004)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)
        )
        learner.save(tmp_path / "x")
        assert learner.state.step >= 1
    done.set()
    thread.join()
    assert not failed
    Learner.load(tmp_path / "x")
    assert_undisturbed(learner)


def python_of_jax(function):
    """The functions of JAX in Python that a call goes through."""
    called = []

    def note(frame, event, _):
        if event == "call" and "jax/_src" in frame.f_code.co_filename:
            called.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return called


def test_an_interrupt_of_the_first_call_leaves_no_slow_program():
    """A jitted function of JAX whose first call was interrupted runs in Python for ever after."""
    interrupts = [KeyboardInterrupt]

    def act(x):
        if interrupts:
            raise interrupts.pop()
        return x + 1

    program, x = Program(one_kernel(act), act, donate=(0,)), np.zeros(3, np.float32)
    with pytest.raises(KeyboardInterrupt):
        program(x)
    assert program(x).tolist() == [1, 1, 1]
    assert python_of_jax(lambda: program.compiled(x)) == []


def test_no_interrupt_reaches_what_compiles():
    """JAX loses track of what a thread is tracing, if it is interrupted at a bad moment."""
    done = []

    def compile_slowly():
        time.sleep(0.3)
        done.append(threading.current_thread())

    def handle(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            undisturbed(compile_slowly)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert done != [threading.current_thread()]
    assert len(done) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of generators
def test_an_interrupt_at_any_moment_of_the_wait_is_an_interrupt():
    """Python's own conditions make a RuntimeError of one that comes between two of their lines."""
    ours, left = threading.get_ident(), []

    def interrupt(frame, event, arg):
        if threading.get_ident() == ours and left:
            left[0] -= 1
            if left[0] == 0:
                left.clear()
                raise KeyboardInterrupt

    def waits():
        sys.setprofile(interrupt)
        try:
            return undisturbed(time.sleep, 0.005)
        finally:
            sys.setprofile(None)

    interrupted = 0
    for moment in range(1, 400):
        left[:] = [moment]
        try:
            waits()
        except KeyboardInterrupt:
            interrupted += 1
        if left:  # there are no more moments
            break
    assert left
    assert interrupted > 5


def test_what_fails_undisturbed_fails_here():
    with pytest.raises(ZeroDivisionError):
        undisturbed(lambda: 1 / 0)


def test_what_compiles_undisturbed_has_the_same_precision(x64):
    assert undisturbed(lambda: jnp.zeros(1).dtype) == jnp.float64
    with enable_x64(False):
        assert undisturbed(lambda: jnp.zeros(1).dtype) == jnp.float32
