"""Files from strangers: bounded before they are read, refused in one way, and never executed."""

import hashlib
import io
import json
import random
import struct
import zipfile

import gymnasium as gym
import numpy as np
import pytest

from rillax import Learner
from rillax.agents import StreamAC
from rillax.cells import RTU
from rillax.cli import main as cli
from rillax.experiments import Options, Run
from rillax.experiments.training import read_config, write_config
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
