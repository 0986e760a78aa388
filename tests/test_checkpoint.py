import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.utils import checkpoint
from rillax.utils.checkpoint import CheckpointError

TREE = {"w": jnp.arange(6.0).reshape(2, 3), "n": jnp.int32(7), "key": jax.random.key(3)}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "x.checkpoint"
    checkpoint.save(path, checkpoint.flatten(TREE), {"kind": "test", "answer": [1, None, "a"]})
    return path


def test_what_is_saved_comes_back_to_the_bit(saved):
    arrays, meta = checkpoint.load(saved)
    assert meta == {"version": 3, "kind": "test", "answer": [1, None, "a"]}
    tree = checkpoint.unflatten(TREE, arrays, "x")
    np.testing.assert_array_equal(tree["w"], TREE["w"])
    assert tree["n"] == 7
    assert tree["n"].dtype == jnp.int32
    np.testing.assert_array_equal(jax.random.uniform(tree["key"]), jax.random.uniform(TREE["key"]))


def test_every_flipped_byte_is_noticed(saved):
    content = saved.read_bytes()
    for i in range(0, len(content), 7):
        damaged = content[:i] + bytes([content[i] ^ 0x10]) + content[i + 1 :]
        saved.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"damaged|not a rillax checkpoint"):
            checkpoint.load(saved)
        assert saved.read_bytes() == damaged


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.999])
def test_a_truncated_file_is_refused(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(CheckpointError, match=r"damaged|not a rillax checkpoint"):
        checkpoint.load(saved)


def test_a_foreign_file_is_refused_and_never_executed(tmp_path):
    class Trap:
        def __reduce__(self):
            return (exec, ("raise SystemExit('executed')",))

    for content in (pickle.dumps(Trap()), b"PK\x03\x04 a zip", b"", b"hello"):
        path = tmp_path / "foreign"
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match="not a rillax checkpoint"):
            checkpoint.load(path)
    with pytest.raises(CheckpointError, match="cannot read"):
        checkpoint.load(tmp_path / "missing")


def test_a_pickle_inside_an_intact_file_is_refused(tmp_path):
    import hashlib
    import io

    payload = io.BytesIO()
    np.savez(payload, **{"meta.json": np.array([{"version": 1}], dtype=object)})
    digest = hashlib.sha256(payload.getvalue()).hexdigest().encode()
    path = tmp_path / "x"
    path.write_bytes(checkpoint.MAGIC + digest + b"\n" + payload.getvalue())
    with pytest.raises(CheckpointError, match="not a rillax checkpoint"):
        checkpoint.load(path)


def test_another_version_and_another_agent_are_refused(tmp_path, saved):
    arrays, _ = checkpoint.load(saved)
    with pytest.raises(CheckpointError, match="has no"):
        checkpoint.unflatten({**TREE, "more": jnp.zeros(1)}, arrays, "x")
    with pytest.raises(CheckpointError, match="expected"):
        checkpoint.unflatten({**TREE, "w": jnp.zeros(3)}, arrays, "x")
    path = tmp_path / "v"
    checkpoint.save(path, {}, {"version": 99})
    with pytest.raises(CheckpointError, match="version 99"):
        checkpoint.load(path)
    checkpoint.save(path, {}, {"version": 1})
    with pytest.raises(CheckpointError, match=r"version 1 was written by rillax 0\.1$"):
        checkpoint.load(path)
