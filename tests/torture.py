"""``python -m tests.torture --minutes N``: goes on trying to break rillax, at random.

It kills runs, damages files, fills disks, gives bad input and interrupts learners, and holds what
comes of it against what should. It prints its seed; ``--seed`` repeats the order of its attempts,
``--only kills`` makes attempts of one kind, and ``--count`` stops after so many.

Each attempt is a process of its own, forked from this one, which has imported everything and used
nothing: so it costs no import, and a crash is noticed.
"""

import argparse
import contextlib
import ctypes
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import gymnasium as gym
import numpy as np

from rillax import BadInput, Learner
from rillax.agents import PPO, QRC, TD, Brook, Rill, StreamAC, StreamQ
from rillax.cells import RTU
from rillax.cli import main as cli
from rillax.cli import train as _train  # noqa: F401 - imported before the forks
from rillax.experiments import Options, Run, training
from rillax.networks import Architecture
from rillax.utils.checkpoint import CheckpointError
from tests.processes import assert_same_bits

SMALL = ["--width", "4", "--units", "4", "--seeds", "2", "--checkpoint-seconds", "0"]
PPO_FLAGS = ["--agent", "ppo", "--rollout", "8", "--minibatches", "2", "--environments", "2"]
RUNS = {
    "qrc": ["--length", "3", "--agent", "qrc", "--frames", "12000"],
    "stream_ac": ["--length", "3", "--agent", "stream_ac", "--frames", "12000"],
    "staleness": ["--length", "3", "--frames", "4000", "--staleness", "100"],
    "ppo": ["--length", "3", "--frames", "2000", *PPO_FLAGS],
    "gymnasium": ["--env", "gymnasium:CartPole-v1", "--agent", "stream_ac", "--frames", "1500"],
    "gymnasium_ppo": ["--env", "gymnasium:CartPole-v1", "--frames", "800", *PPO_FLAGS],
}
BOX, TWO = gym.spaces.Box(-np.inf, np.inf, (3,)), gym.spaces.Discrete(2)
NETWORK = Architecture(cell=RTU(4), width=4)


class Broken(Exception):
    """Something that should not have happened."""


# ---- processes


def fork(function, *args, limit=None):
    """Run a function in a child; returns its process id. It ends with 0, or 70 if it failed."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        if limit is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        function(*args)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def ended(child, timeout=600.0):
    """The exit code of a child, negative if a signal ended it."""
    end = time.monotonic() + timeout
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise Broken("a process did not end")
        time.sleep(0.005)


def train(log, *argv):
    """``rillax train`` in this process, with its words in a file."""
    with open(log, "w") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        cli.main(["train", *argv])


def require(code, log, *allowed):
    if code not in allowed:
        raise Broken(f"exit code {code}: {Path(log).read_text()[-2000:]}")


class Place:
    """A directory for everything, and the undisturbed runs in it."""

    def __init__(self, root):
        self.root, self.seconds = Path(root), {}

    def new(self):
        return Path(tempfile.mkdtemp(dir=self.root))

    def whole(self, kind):
        """The directory of a run that nothing disturbed."""
        out = self.root / f"whole-{kind}"
        if kind not in self.seconds:
            for _ in range(2):  # the first one compiles
                shutil.rmtree(out, ignore_errors=True)
                started, log = time.monotonic(), self.root / "log"
                child = fork(train, log, *RUNS[kind], *SMALL, "--out", str(out))
                require(ended(child), log, 0)
                self.seconds[kind] = time.monotonic() - started
        return out

    def begin_or_resume(self, kind, out):
        if (out / "config.json").exists():
            return ["--resume", str(out)]
        return [*RUNS[kind], *SMALL, "--out", str(out)]


# ---- attempts; each returns how many of its kind it made


def kills(place, rng):
    """SIGKILL at any moment, again and again, until the run is over: no bit is different."""
    kind = rng.choice(list(RUNS))
    whole, out, count = place.whole(kind), place.new() / "run", 0
    most = rng.randint(1, 5)
    while True:
        log = place.root / "log"
        child = fork(train, log, *place.begin_or_resume(kind, out))
        if count == most:
            require(ended(child), log, 0)
            break
        time.sleep(rng.uniform(0.2, 1.05) * place.seconds[kind])
        os.kill(child, signal.SIGKILL)
        code = ended(child)
        require(code, log, 0, -signal.SIGKILL)
        count += code != 0
        if code == 0:
            break
    same(out, whole, kind)
    return count


def same(out, whole, what):
    try:
        assert_same_bits(out, whole)
        a, b = (json.loads((d / "summary.json").read_text()) for d in (out, whole))
        for name in ("final_return_per_seed", "frames", "complete", "run"):
            assert a[name] == b[name], name
    except AssertionError as error:
        raise Broken(f"{what} differs: {error}") from error


def disks(place, rng):
    """No room at some size of file, then room again: it says so, and goes on to the same bits."""
    kind = rng.choice(list(RUNS))
    whole, out, log = place.whole(kind), place.new() / "run", place.root / "log"
    sizes = [p.stat().st_size for p in whole.iterdir() if p.is_file()]
    limit = rng.randint(1, max(sizes))
    child = fork(train, log, *place.begin_or_resume(kind, out), limit=limit)
    code = ended(child)
    require(code, log, 0, 2)
    said = log.read_text()
    if code == 2 and ("Traceback" in said or len(re.findall("^rillax:", said, re.MULTILINE)) != 1):
        raise Broken(f"not one line about the disk: {said}")
    require(ended(fork(train, log, *place.begin_or_resume(kind, out))), log, 0)
    same(out, whole, kind)
    return 1


def bits(place, rng):
    """A changed, missing or doubled byte in any file: refused in one line, or of no effect."""
    kind = rng.choice(["qrc", "ppo", "gymnasium"])
    whole = place.whole(kind)
    for _ in range(5):
        out = place.new() / "run"
        shutil.copytree(whole, out)
        names = [p for p in out.iterdir() if p.is_file() and p.suffix in (".json", ".rillax")]
        path = rng.choice(sorted([*names, out / "metrics.parquet"]))
        path.write_bytes(damaged(path.read_bytes(), rng))
        log = place.root / "log"
        code = ended(fork(train, log, "--resume", str(out)))
        require(code, log, 0, 2)
        if code == 0:
            same(out, whole, f"{kind} with a damaged {path.name}")
        elif "Traceback" in log.read_text() or path.name not in log.read_text():
            raise Broken(f"{path.name} is not named: {log.read_text()}")
        shutil.rmtree(out)
    return 5


def damaged(content, rng):
    at = rng.randrange(max(1, len(content)))
    match rng.randrange(4):
        case 0:
            return content[:at]
        case 1:
            return content[:at] + content[at + 1 :]
        case 2:
            return content[:at] + bytes([rng.randrange(256)]) + content[at:]
        case _:
            return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def in_child(function):
    """An attempt that uses JAX, so it needs a process of its own."""

    def attempt(place, rng):
        directory, seed = place.new(), rng.random()
        code = ended(fork(function, directory, random.Random(seed)))
        if code:
            raise Broken(f"exit code {code}")
        return int((directory / "count").read_text())

    attempt.__doc__ = function.__doc__
    return attempt


def _agent(rng):
    kinds = QRC, StreamAC, StreamQ, Rill, Brook, TD
    return rng.choice(kinds)(network=NETWORK)


def _require_whole(learner, path):
    learner.save(path)  # which refuses what is not finite
    if learner.step != Learner.load(path).step:
        raise Broken("a loaded learner has another step")


def _inputs(directory, rng):
    """Anything at all as an observation, a reward or a flag."""
    learner = Learner(_agent(rng), BOX, TWO, on_bad_input=rng.choice(["raise", "skip"]))
    strange = [
        *(None, "1", b"", 1j, [], {}, object(), 10**400, float("nan"), float("inf"), -1, 0, 1, 2.5),
        *(np.zeros(3), np.full(3, np.nan), np.zeros(2), np.zeros((3, 1)), [1, 2, "3"], "False"),
        *(
            1e20,
            -1e38,
            np.float64(1e300),
            np.full(3, 1e30),
            np.array([0, 1e38, 0]),
            True,
            [1e6] * 3,
        ),
    ]
    count = 3000
    for _ in range(count):
        good = np.array([rng.gauss(0, 1) for _ in range(3)])
        with contextlib.suppress(BadInput):
            learner.act(good if rng.random() < 0.6 else rng.choice(strange))
        with contextlib.suppress(BadInput):
            wild = [rng.choice(strange) if rng.random() < 0.2 else None for _ in range(4)]
            usual = rng.gauss(0, 1), good, rng.random() < 0.05, False
            learner.learn(*(u if w is None else w for w, u in zip(wild, usual, strict=True)))
    _require_whole(learner, directory / "x")
    (directory / "count").write_text(str(count))


def _interrupts(directory, rng):
    """Ctrl-C in the middle of a step, from this thread and from another."""
    learner, count = Learner(_agent(rng), BOX, TWO), 100

    def steps():
        while True:
            x = np.array([rng.gauss(0, 1) for _ in range(3)], np.float32)
            learner.act(x)
            learner.learn(float(x[0]), x, rng.random() < 0.1)

    def until_interrupted():
        with contextlib.suppress(KeyboardInterrupt):
            steps()

    def handle(number, frame):
        if stepping:
            raise KeyboardInterrupt

    stepping = []
    signal.signal(signal.SIGALRM, handle)
    for i in range(count // 2):
        # Again and again: Python drops what is raised while it collects garbage.
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 5e-3) if i else 2.0, 0.2)
        try:
            stepping.append(True)
            steps()
        except KeyboardInterrupt:
            stepping.clear()
        learner.save(directory / "x")
    signal.setitimer(signal.ITIMER_REAL, 0)
    for _ in range(count // 2):
        thread = threading.Thread(target=until_interrupted)
        thread.start()
        time.sleep(rng.uniform(1e-3, 5e-3))
        while thread.is_alive():
            learner.save(directory / "y")
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)
            )
            time.sleep(0.002)
        learner.save(directory / "x")
    _require_whole(learner, directory / "x")
    (directory / "count").write_text(str(count))


def _strangers(directory, rng):
    """Files that someone has made up, around a learner that was saved."""
    from rillax.utils import checkpoint

    learner = Learner(_agent(rng), BOX, TWO)
    learner.save(directory / "x")
    arrays, meta = checkpoint.load(directory / "x")
    count = 40
    for _ in range(count):
        text = damaged(json.dumps(meta).encode(), rng)
        try:
            changed = json.loads(text)
            changed["version"] = checkpoint.VERSION
            checkpoint.save(directory / "y", arrays, changed)
        except (ValueError, TypeError):
            continue
        with contextlib.suppress(CheckpointError):
            Learner.load(directory / "y")
    count += _strange_runs(directory / "run", rng)
    (directory / "count").write_text(str(count))


def _strange_runs(out, rng):
    """The checkpoint of a run, made up around one that was written; what is read of it can run."""
    from rillax.utils import checkpoint

    ppo = PPO(network=NETWORK, rollout=8, environments=2, minibatches=2)
    agent = rng.choice([QRC(network=NETWORK), ppo])
    run, count = Run(agent, "MemoryChain", {"length": 2}, frames=200, seeds=2), 40
    training.train(run, out, Options(checkpoint_seconds=0))
    whole, meta = checkpoint.load(out / training.CHECKPOINT)
    loop = training.make_run_loop(run)
    for _ in range(count):
        arrays, said = whole, meta
        if rng.random() < 0.7:
            arrays = _strange_arrays(whole, rng)
        else:
            strange = [-1, 201, 0.5, 1e400, 10**400, "x", None, [], {}, [{}], [{"seed": 0}], True]
            said = {**meta, rng.choice(["frame", "rate", "diverged", "run"]): rng.choice(strange)}
        checkpoint.save(out / training.CHECKPOINT, arrays, said)
        under_way = training.Training(run, loop, training.NoCheckpoints(), lambda moment: None)
        try:
            under_way.resume(training.checkpoints_of(run, out))
        except CheckpointError:
            continue
        under_way.bins.table(run.seed_numbers)
        under_way.loop.run(3)
    return count


def _strange_arrays(whole, rng):
    """The same arrays, one of which is missing, or of another shape, type or content."""
    arrays, name = dict(whole), rng.choice(sorted(whole))
    value = arrays.pop(name)
    with np.errstate(all="ignore"):
        changes = [
            lambda: value[:-1],
            lambda: value.ravel()[:1],
            lambda: value[None],
            lambda: value.astype(rng.choice([complex, np.int64, np.float64, np.uint8, bool])),
            lambda: (value * np.nan).astype(value.dtype),
            lambda: (value + 2**30).astype(value.dtype),
            lambda: (value - 2**40).astype(value.dtype),
        ]
        with contextlib.suppress(IndexError, TypeError, OverflowError):
            if rng.random() < 0.85:
                arrays[rng.choice([name] * 9 + ["bins/x"])] = rng.choice(changes)()
    return arrays


ATTEMPTS = {
    "kills": kills,
    "bits": bits,
    "disks": disks,
    "inputs": in_child(_inputs),
    "interrupts": in_child(_interrupts),
    "strangers": in_child(_strangers),
}


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", choices=ATTEMPTS, default=None)
    parser.add_argument("--count", type=int, default=None)
    flags = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if flags.seed is None else flags.seed
    print(f"seed {seed}", flush=True)
    rng, made, end = random.Random(seed), Counter(), time.monotonic() + 60 * flags.minutes
    with tempfile.TemporaryDirectory() as root:
        place = Place(root)
        while time.monotonic() < end and (flags.count is None or made.total() < flags.count):
            name = flags.only or rng.choice(list(ATTEMPTS))
            try:
                made[name] += ATTEMPTS[name](place, rng)
            except Broken as broken:
                sys.exit(f"seed {seed}, after {dict(made)}: {name}: {broken}")
            print(dict(made), flush=True)
    print(f"clean: {dict(made)}")


if __name__ == "__main__":
    main()
