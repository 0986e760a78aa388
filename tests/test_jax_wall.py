"""Names that JAX may move are in one file, and rillax trains without each of them."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax._jax import callbacks, enable_x64, kernels, private, why_slow
from rillax._jax.kernels import Program, kept, one_kernel
from rillax.agents import QRC, StreamAC
from rillax.cells import RTU
from rillax.envs import MemoryChain
from rillax.loops import host
from rillax.loops.compiled import CompiledLoop, program
from rillax.networks import Architecture
from rillax.updates import SGD
from tests.forms import needs_fast_forms

ROOT = Path(__file__).parents[1]
NETWORK = Architecture(cell=RTU(4), width=4)
FRAMES = 40  # so few that rounding stays rounding


def in_the_compiled_loop():
    agent, env = QRC(network=NETWORK, q=SGD(1e-2)), MemoryChain(3)
    program.cache_clear()  # what was compiled before has the forms of before
    loop = CompiledLoop(agent, env, [0])
    statistics = loop.run(FRAMES)
    return program(agent, env), numbers(loop, statistics)


def beside_gymnasium():
    loop = host.HostLoop(StreamAC(network=NETWORK), [gym.make("CartPole-v1")], [0])
    statistics = loop.run(FRAMES)
    return loop._frames, numbers(loop, statistics)


def numbers(loop, statistics):
    state = loop.agent_state()
    state = state._replace(key=jax.random.key_data(state.key))
    leaves, _ = jax.tree_util.tree_flatten_with_path((state, statistics))
    return [
        np.asarray(leaf, float).ravel().tolist()
        for path, leaf in leaves
        if not jax.tree_util.keystr(path).endswith("_low")  # what rounding has left
    ]


def assert_same(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4 * max(map(abs, b), default=0))


@pytest.fixture
def hide(monkeypatch):
    """Makes a name unavailable, as if JAX had moved it."""
    monkeypatch.delenv("RILLAX_FAST", raising=False)
    monkeypatch.setattr(private, "TESTED", ((0, 0), (9, 9)))
    monkeypatch.setattr(kernels, "_noted", {})
    find = private.find

    def hide(name):
        monkeypatch.setattr(private, "find", lambda path: None if path == name else find(path))

    return hide


@pytest.fixture(scope="module")
def fast():
    """What the two runs give as this environment has them."""
    return {run: run()[1] for run in (in_the_compiled_loop, beside_gymnasium)}


@pytest.mark.parametrize("name", private.NAMES)
def test_without_a_name_everything_has_a_fallback(name, hide):
    hide(name)

    def double(x):
        return kept(2 * x), x - 1

    def asking(x, count):
        def go_on(_, x):
            return callbacks.host_call(lambda x: (x + 1,), x, x)

        return jax.lax.fori_loop(0, count, go_on, x)

    program = Program(one_kernel(double), double, donate=())
    np.testing.assert_array_equal(program(jnp.arange(3.0))[0], [0, 2, 4])
    np.testing.assert_array_equal(jax.grad(lambda x: kept(x**2))(3.0), 6.0)
    np.testing.assert_array_equal(jax.jit(asking)(jnp.arange(3), 4), [4, 5, 6])
    for wide in (True, False, True):
        with enable_x64(wide):
            assert jnp.zeros(()).dtype == (jnp.float64 if wide else jnp.float32)
    assert jnp.zeros(()).dtype == jnp.float32
    place, _, last = name.rpartition(".")
    gone = f"{place} has no {last}"
    assert program.reason == (gone if name in private.KERNEL_NAMES else None)
    needed = {*private.KERNEL_NAMES, *private.CALL_NAMES}
    assert why_slow() == (gone if name in needed else None)


@pytest.mark.slow
@pytest.mark.parametrize("run", [in_the_compiled_loop, beside_gymnasium])
@pytest.mark.parametrize("name", private.NAMES)
def test_without_a_name_agents_train_all_the_same(name, run, hide, fast):
    hide(name)
    program, found = run()
    assert (program.reason is not None) == (name in private.KERNEL_NAMES)
    assert_same(found, fast[run])


# Names are gone before rillax is imported: from the modules of JAX that it would look into, after
# the other libraries have taken what they need.
GONE = """
import importlib, json, sys, types
import equinox, gymnasium, jax, optax
try:
    import gymnax
except ImportError:
    pass

def without(module, names):
    def missing(name):
        if name in names:
            raise AttributeError(name)
        return getattr(module, name)
    copy = types.ModuleType(module.__name__)
    copy.__dict__.update({k: v for k, v in vars(module).items() if k not in names})
    copy.__getattr__ = missing
    return copy

def hide(*paths):
    for module in [m for m in sys.modules if m.split(".")[0] == "rillax"]:
        del sys.modules[module]
    whole = {place: importlib.import_module(place) for place, _, _ in map(split, paths)}
    gone = {name for _, _, name in map(split, paths)}
    sys.modules.update({place: without(module, gone) for place, module in whole.items()})
    return whole

def split(path):
    return path.rpartition(".")

paths = json.loads(sys.argv[1])
for path in paths:
    shown = hide(path)
    import rillax, rillax.cells, rillax._jax.private
    assert sys.modules["rillax._jax.private"].find(path) is None, path
    sys.modules.update(shown)

hide(*paths)
from tests.test_jax_wall import beside_gymnasium, in_the_compiled_loop
from rillax._jax import private, why_slow
assert not any(map(private.find, paths))
runs = in_the_compiled_loop(), beside_gymnasium()
print(json.dumps([why_slow(), *([program.reason, numbers] for program, numbers in runs)]))
"""


def test_without_any_name_rillax_is_imported_and_trains(fast):
    command = [sys.executable, "-c", GONE, json.dumps(private.NAMES)]
    env = {k: v for k, v in os.environ.items() if k != "RILLAX_FAST"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    slow, *runs = json.loads(done.stdout.splitlines()[-1])
    for (reason, found), expected in zip(runs, fast.values(), strict=True):
        assert reason in slow
        assert_same(found, expected)


@needs_fast_forms
def test_a_version_that_was_tested_has_the_fast_forms(monkeypatch):
    monkeypatch.setattr(kernels, "_noted", {})
    assert private.why_not(*private.KERNEL_NAMES) is None
    assert private.why_no_direct_call() is None
    assert why_slow() is None


def test_the_fast_forms_can_be_switched_off_or_asked_for(monkeypatch):
    monkeypatch.setenv("RILLAX_FAST", "0")
    assert why_slow() == "RILLAX_FAST=0"
    assert Program(one_kernel(jnp.sin), jnp.sin, donate=()).reason == "RILLAX_FAST=0"
    monkeypatch.setattr(jax, "__version__", "1.2.3")
    monkeypatch.setenv("RILLAX_FAST", "1")
    assert private.why_off() is None
    monkeypatch.delenv("RILLAX_FAST")
    assert why_slow() == "JAX 1.2.3 was not tested"


def test_what_xla_refuses_is_told(monkeypatch):
    monkeypatch.setattr(kernels, "_noted", {})
    monkeypatch.delenv("RILLAX_FAST", raising=False)
    monkeypatch.setattr(private, "TESTED", ((0, 0), (9, 9)))
    sort = Program(one_kernel(jnp.sort), jnp.sort, donate=())
    assert (sort.reason, why_slow()) == (None, None)
    sort(jnp.arange(3.0))
    assert sort.reason == why_slow() == "a kernel cannot hold sort"


def test_an_option_that_xla_does_not_know_is_left_out():
    assert private.known_options({"xla_of_another_time": 1}) == {}
    assert kernels.jit(jnp.sin, {"xla_of_another_time": 1})(0.0) == 0.0


def test_a_setting_that_jax_does_not_have_is_left_alone():
    assert private.setting("jax_of_another_time", 3) == 3
    assert not private.configure("jax_of_another_time", 3)


def test_no_version_that_is_allowed_is_too_new():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (line,) = (line for line in project["dependencies"] if re.match(r"jax\b", line))
    oldest, above = re.fullmatch(r"jax>=([\d.]+),<([\d.]+)", line).groups()
    (major, newest), tested = private.version(above), private.TESTED
    assert (major, newest - 1) == tested[1]
    assert private.version(oldest) <= tested[0]  # an older one goes without the fast forms


NAMES = "|".join(
    [r"jax\.(extend|interpreters|experimental|_src|lib|core|ffi|enable_x64)\b", "_cache_size"]
    + [rf"\b{name.rpartition('.')[2]}\b" for name in private.NAMES if "x64" not in name]
)


@pytest.mark.parametrize(
    ("package", "names"),
    [
        ("rillax", NAMES + r"|\bxla_\w+|jax\.config"),
        ("benchmarks", NAMES),
        ("examples", NAMES),
        ("tests", NAMES),
    ],
)
def test_private_names_are_in_one_file(package, names):
    for path in sorted((ROOT / package).rglob("*.py")):
        if path not in (Path(private.__file__), Path(__file__)):
            found = re.search(names, path.read_text())
            assert found is None, f"{path} has {found[0]}"
