"""Files from strangers: bounded before they are read, refused in one way, and never executed."""

import dataclasses
import hashlib
import io
import json
import random
import struct
import subprocess
import sys
import zipfile

import gymnasium as gym
import numpy as np
import pytest

from rillax import Learner, export
from rillax.agents import StreamAC
from rillax.cells import RTU
from rillax.cli import main as cli
from rillax.experiments import Options, Run, engines, evaluation, store, train, training
from rillax.experiments.checkpoints import CHECKPOINT
from rillax.experiments.training import CONFIG, read_config, write_config
from rillax.networks import Architecture
from rillax.utils import checkpoint, files, settings
from rillax.utils.checkpoint import CheckpointError

BOX, TWO = gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(2)
AGENT = StreamAC(network=Architecture(cell=RTU(5), width=6))


def put(path, payload):
    digest = hashlib.sha256(payload).hexdigest().encode()
    path.write_bytes(checkpoint.MAGIC + digest + b"\n" + payload)
    return path


def npy(header, body=b""):
    text = repr(header).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


def archive(members, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as z:
        for name, data in members:
            z.writestr(name, data)
    return file.getvalue()


def saved(meta):
    file = io.BytesIO()
    np.save(file, np.frombuffer(meta, np.uint8))
    return "meta.json.npy", file.getvalue()


META = saved(json.dumps({"version": checkpoint.VERSION}).encode())
HUGE = {"descr": "<f4", "fortran_order": False, "shape": (10**12,)}
BOMBS = {
    "declares more than it has": archive([META, ("array/x.npy", npy(HUGE))]),
    "negative": archive([META, ("array/x.npy", npy({**HUGE, "shape": (-1,)}))]),
    "objects": archive([META, ("array/x.npy", npy({**HUGE, "descr": "|O", "shape": (1,)}))]),
    "compressed": archive([META, ("array/x.npy", bytes(10**7))], zipfile.ZIP_DEFLATED),
    "deep": archive([saved(b"[" * 100_000 + b"]" * 100_000)]),
    "nested": archive([saved(b"[" * 80 + b"]" * 80)]),
    "no object": archive([saved(b"[1]")]),
    "no meta": archive([("array/x.npy", META[1])]),
    "not an array": archive([META, ("array/x.npy", b"hello")]),
    "many digits": archive([saved(b'{"version": ' + b"9" * 100_000 + b"}")]),
    "not text": archive([saved(b"\xff\xfe{")]),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_what_a_file_declares_is_held_against_what_it_has(kind, tmp_path):
    with pytest.raises(CheckpointError, match="not a rillax checkpoint"):
        checkpoint.load(put(tmp_path / "x", BOMBS[kind]))


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    path = tmp_path_factory.mktemp("x") / "learner"
    Learner(AGENT, BOX, TWO).save(path)
    return checkpoint.load(path)


CHANGES = {
    "units": lambda m: m["agent"]["network"]["layers"][0].update(units=10**9),
    "negative units": lambda m: m["agent"]["network"]["layers"][0].update(units=-3),
    "huge": lambda m: m["agent"].update(discount=1e300),
    "not a number": lambda m: m["agent"].update(discount=float("nan")),
    "text": lambda m: m["agent"].update(discount="0.9"),
    "no agent": lambda m: m.pop("agent"),
    "agent": lambda m: m.update(agent={"kind": "rillax.agents:QRC"}),
    "kind": lambda m: m["agent"].update(kind="subprocess:Popen"),
    "unknown": lambda m: m["agent"].update(kind="no_such_module:Agent"),
    "code": lambda m: m["agent"]["network"].update(encoder={"code": "os:system"}),
    "space": lambda m: m.update(observation_space={"n": -4, "start": 0}),
    "large space": lambda m: m.update(observation_space={"n": 10**12, "start": 0}),
    "shape": lambda m: m["observation_space"].update(shape=[10**12]),
    "binary space": lambda m: m.update(observation_space={"binary": [10**12]}),
    "binary actions": lambda m: m.update(action_space={"binary": [10**12]}),
    "many choices": lambda m: m.update(action_space={"nvec": [10**12], "start": [0]}),
    "no parts": lambda m: m.update(observation_space={"dict": {}}),
    "odd parts": lambda m: m.update(observation_space={"tuple": 3}),
    "frozen": lambda m: m.update(frozen="perhaps"),
    "step": lambda m: m.update(step="many"),
    "last": lambda m: m.update(last="nothing"),
    "action": lambda m: m.update(action=[[1, 2], [3]]),
    "policy": lambda m: m.update(on_bad_input="ignore"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_file_says_is_checked_before_anything_is_built(change, parts, tmp_path):
    arrays, meta = parts
    meta = json.loads(json.dumps(meta))
    CHANGES[change](meta)
    checkpoint.save(tmp_path / "x", arrays, meta)
    with pytest.raises(CheckpointError):
        Learner.load(tmp_path / "x")


def test_a_config_imports_nothing_unless_trusted(tmp_path, monkeypatch, capsys):
    (tmp_path / "trap.py").write_text("raise SystemExit('executed')")
    monkeypatch.chdir(tmp_path)
    for env, given in (
        ("trap:Env", {}),
        ("gymnasium:trap:Env-v0", {}),
        ("subprocess:Popen", {"args": ["touch", str(tmp_path / "executed")]}),
    ):
        write_config(Run(AGENT, env, given), tmp_path, Options())
        with pytest.raises(settings.Untrusted, match="trust"):
            read_config(tmp_path)
        with pytest.raises(SystemExit, match="2"):
            cli.main(["train", "--resume", str(tmp_path)])
        assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "executed").exists()


def test_a_changed_config_is_noticed(tmp_path):
    write_config(Run(AGENT, seed=1), tmp_path, Options())
    path = tmp_path / "config.json"
    content, rng = path.read_bytes(), random.Random(0)
    noticed = []
    for _ in range(300):
        at, bit = rng.randrange(len(content)), 1 << rng.randrange(8)
        damaged = content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :]
        path.write_bytes(damaged)
        try:
            assert read_config(tmp_path)[0] == Run(AGENT, seed=1)  # it was white space
        except (files.OutputError, settings.Untrusted) as error:
            noticed.append(str(error))
    assert len(noticed) > 150
    assert not any("\n" in message for message in noticed)


def test_json_files_know_their_digest(tmp_path):
    path = tmp_path / "x.json"
    files.write_json(path, {"value": 1.5, "list": [1, None]})
    assert files.read_json(path) == {"value": 1.5, "list": [1, None]}
    text = path.read_text()
    for wrong in (
        text.replace("1.5", "1.6"),
        text.replace("sha256", "sha25v"),
        "[]",
        "{",
        "[" * 99999,
    ):
        path.write_text(wrong)
        with pytest.raises(files.OutputError, match=r"x\.json"):
            files.read_json(path)
    path.write_bytes(b"\xff")
    with pytest.raises(files.OutputError, match=r"x\.json"):
        files.read_json(path)
    path.write_text('{"value": 1}')  # of an earlier version
    assert files.read_json(path) == {"value": 1}


# ---- runs


RUN = Run(AGENT, "MemoryChain", {"length": 2}, frames=400, seeds=2)


@pytest.fixture(scope="module")
def run_on_disk(tmp_path_factory):
    """A run, and the arrays and the description in its checkpoint."""
    out = tmp_path_factory.mktemp("run")
    train(RUN, out)
    return out, *checkpoint.load(out / CHECKPOINT)


@pytest.fixture(scope="module")
def loop():
    return training.make_run_loop(RUN)


def without(arrays, start):
    return {name: value for name, value in arrays.items() if not name.startswith(start)}


def with_(arrays, name, change):
    return {**arrays, name: change(arrays[name])}


NUMBERS = "bins/return"
OF_ARRAYS = {
    "no bins": lambda a: without(a, "bins/"),
    "a column missing": lambda a: without(a, "bins/episodes"),
    "no returns": lambda a: without(a, NUMBERS),
    "fewer bins": lambda a: with_(a, NUMBERS, lambda v: v[:-1]),
    "fewer of all bins": lambda a: {
        name: v[:3] if name.startswith("bins/") else v for name, v in a.items()
    },
    "other seeds": lambda a: with_(a, NUMBERS, lambda v: np.c_[v, v]),
    "a single number": lambda a: with_(a, NUMBERS, lambda v: v[0, 0]),
    "complex": lambda a: with_(a, NUMBERS, lambda v: v.astype(complex)),
    "integers": lambda a: with_(a, "bins/episodes", lambda v: v.astype(int)),
    "three axes": lambda a: a | {"bins/mine": np.zeros((100, 2, 1))},
    "no frames": lambda a: with_(a, "bins/frames", lambda v: v * np.nan),
    "no loop": lambda a: without(a, "loop/"),
}
OF_META = {
    "a frame too many": {"frame": 401},
    "frames before the first": {"frame": -1},
    "no number of frames": {"frame": float("inf")},
    "half a frame": {"frame": 0.5},
    "text": {"frame": "400"},
    "an endless number": {"frame": 10**400},
    "a rate without end": {"rate": float("inf")},
    "seeds of text": {"diverged": [{"seed": "x", "frame": 1, "networks": []}]},
    "networks of numbers": {"diverged": [{"seed": 0, "frame": 1, "networks": [1]}]},
    "no list": {"diverged": 5},
    "nothing at all": {"frame": None},
}


@pytest.mark.parametrize("change", [*OF_ARRAYS, *OF_META])
def test_the_checkpoint_of_a_run_is_checked(change, run_on_disk, loop, tmp_path):
    _, arrays, meta = run_on_disk
    arrays = OF_ARRAYS.get(change, dict)(arrays)
    checkpoint.save(tmp_path / CHECKPOINT, arrays, {**meta, **OF_META.get(change, {})})
    with pytest.raises(CheckpointError, match=CHECKPOINT) as refused:
        training.checkpoints_of(RUN, tmp_path).read(loop, training.bins_of(RUN))
    assert "\n" not in str(refused.value)


def test_a_run_with_numbers_that_are_not_finite_is_neither_played_nor_loaded(run_on_disk, tmp_path):
    out, arrays, meta = run_on_disk
    (tmp_path / CONFIG).write_bytes((out / CONFIG).read_bytes())
    name = next(n for n in arrays if "critic" in n and "B_real" in n)
    for wrong in (np.nan, np.inf):
        changed = arrays[name].copy()
        changed[1] = wrong
        checkpoint.save(tmp_path / CHECKPOINT, {**arrays, name: changed}, meta)
        for use in (evaluation.trained, lambda path: Learner.from_run(path, seed=1)):
            with pytest.raises(CheckpointError, match=r"B_real.* of seed 1 in it is not finite"):
                use(tmp_path)
        Learner.from_run(tmp_path, seed=0)
    known = [{"seed": 1, "frame": 5, "networks": ["critic"]}]
    checkpoint.save(tmp_path / CHECKPOINT, {**arrays, name: changed}, {**meta, "diverged": known})
    evaluation.trained(tmp_path)


@pytest.mark.parametrize("large", ["seeds", "units", "units of another run"])
@pytest.mark.parametrize("command", ["evaluate", "export", "from_run"])
def test_nothing_is_built_before_it_is_seen_to_fit(
    large, command, run_on_disk, tmp_path, monkeypatch, capsys
):
    """What is too large, or not the run of the checkpoint, is refused from its description."""
    monkeypatch.setattr(training, "make_run_loop", None)
    monkeypatch.setattr(evaluation, "make_run_loop", None)
    _, arrays, meta = run_on_disk
    run = RUN
    if large == "seeds":
        run = dataclasses.replace(run, seeds=10**9)
    else:
        run = dataclasses.replace(run, agent=settings.change(AGENT, units=10**9))
    if large != "units of another run":
        meta = {**meta, "run": training.digest(run)}
    write_config(run, tmp_path, Options())
    checkpoint.save(tmp_path / CHECKPOINT, arrays, meta)
    words = "was not written with" if large == "units of another run" else "of memory"
    if command == "from_run":
        with pytest.raises(ValueError, match=words):
            Learner.from_run(tmp_path)
        return
    with pytest.raises(SystemExit, match="2"):
        cli.main([command, str(tmp_path)])
    said = capsys.readouterr().err
    assert words in " ".join(said.split())
    assert "Traceback" not in said


# ---- settings and descriptions of the wrong type


def refused(argv, capsys, *words):
    """A command that ends with exit code 2 and a single line, in which there are these words."""
    with pytest.raises(SystemExit, match="2"):
        cli.main(argv)
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    for word in words:
        assert word in error


OF_THE_RUN = [
    *({"seed": "x"}, {"seed": 1.5}, {"seed": None}, {"frames": "x"}, {"frames": 2.5}),
    *({"seeds": [1]}, {"env": 3}, {"env_settings": 3}, {"on_bad_input": 7}, {"staleness": "x"}),
    *({"agent": 5}, {"agent": None}, {"extended": 5}, {"extended": ["x"]}, {"seed": 10**400}),
]
OF_THE_OPTIONS = [
    *({"checkpoint_seconds": "x"}, {"checkpoint_seconds": None}, {"checkpoint_seconds": -1}),
    *({"tensorboard": "x"}, {"wandb": 5}),
]


@pytest.mark.parametrize("wrong", [*OF_THE_RUN, *OF_THE_OPTIONS], ids=lambda w: str(w)[:30])
def test_settings_of_the_wrong_type_are_refused(wrong, tmp_path, capsys):
    described = json.loads(json.dumps(training.config(RUN, Options())))
    described["run" if wrong in OF_THE_RUN else "options"] |= wrong
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(described))  # by hand, so without a digest
    argv = ["train", "--config", str(path), "--out", str(tmp_path / "x")]
    refused(argv, capsys, "mine.json", next(iter(wrong)))
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("gone", ["preset", "started", "commits", "machines"])
def test_a_manifest_says_all_that_it_should(gone, tmp_path, capsys):
    manifest = store._manifest("paper", None)
    del manifest[gone]
    (tmp_path / store.MANIFEST).write_text(json.dumps(manifest))
    refused(["results", "collect", "--out", str(tmp_path)], capsys, store.MANIFEST, gone)


def test_a_job_that_is_nested_too_deeply_is_refused(tmp_path):
    path = tmp_path / store.JOB
    for depth in (400, 900):
        path.write_text('{"work": ' + '{"a": ' * depth + "1" + "}" * depth + "}")
        with pytest.raises(files.OutputError, match=r"job\.json"):
            store.read_job(path)


def test_the_description_of_an_exported_learner_is_held_against_its_digest(tmp_path):
    path = tmp_path / export.DESCRIPTION
    files.write_json(path, {"kind": "learner", "step": 5})
    assert export.described(tmp_path)["step"] == 5
    path.write_text(path.read_text().replace("5,", "6,", 1))
    with pytest.raises(files.OutputError, match=r"learner\.json is damaged"):
        export.described(tmp_path)
    path.write_text("[" * 99999)
    with pytest.raises(files.OutputError, match=r"learner\.json"):
        export.described(tmp_path)


# ---- what lies in the current directory


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A directory with modules that must not be executed, to stand in."""
    for name in ("gymnax", "gymnasium", "numpy", "rich"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('executed')")
    (tmp_path / "my_envs.py").write_text("raise ValueError('looked at')")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said_by(*argv, env=None):
    done = subprocess.run([sys.executable, *argv], capture_output=True, text=True, env=env)
    return done.returncode, done.stdout + done.stderr


def test_modules_of_the_current_directory_are_not_imported(trap):
    code, said = said_by("-m", "rillax", "envs")
    assert (code, "MemoryChain" in said) == (0, True), said
    argv = "-m", "rillax.experiments.worker", "--help"
    assert "executed" in said_by(*argv)[1]  # the test can see it
    code, said = said_by(*argv, env=engines._of_a_worker())
    assert (code, "usage" in said) == (0, True), said


def test_a_users_own_module_is_found_there(trap):
    code, said = said_by("-m", "rillax", "train", "--env", "my_envs:Mine")
    assert code == 2
    assert "importing my_envs failed: ValueError: looked at" in " ".join(said.split())
