"""The C itself: no warnings, no undefined behaviour, nothing changed by bad input."""

import shutil
import subprocess
from pathlib import Path

import jax
import pytest

from rillax import export
from rillax.utils import checkpoint
from tests.export.combinations import LEARNERS, SEES, needs_compiler

pytestmark = needs_compiler
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
COMPILERS = [
    pytest.param(name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"no {name}"))
    for name in ("gcc", "clang")
]


def written(name: str, to: Path) -> Path:
    """A new learner, exported."""
    agent, actions = LEARNERS[name]
    state = checkpoint.flatten(agent.init(jax.random.key(0), SEES, actions))
    export.write(to, agent, SEES, actions, state, {"kind": "learner"}, acted=False)
    return to


def strict(compiler: str, at: Path, *flags: str) -> None:
    command = [compiler, *STRICT, *flags, "-c", at / "learner.c", "-o", at / "learner.o"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]


def fuzzed(compiler: str, name: str, at: Path) -> str:
    continuous = ["-DCONTINUOUS"] if not hasattr(LEARNERS[name][1], "n") else []
    flags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", *continuous]
    files = [at / "learner.c", Path(__file__).with_name("fuzz.c")]
    command = [compiler, "-std=c99", *flags, f"-I{at}", *files, "-o", at / "fuzz", "-lm"]
    built = subprocess.run(command, capture_output=True, text=True)
    if "cannot find" in built.stderr:
        pytest.skip("the sanitizers are not installed")
    assert built.returncode == 0, built.stderr[:3000]
    done = subprocess.run([at / "fuzz"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[:3000]
    return done.stdout


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_learner_compiles_without_a_warning(compiler, tmp_path):
    strict(compiler, written("ac-added", tmp_path), "-O3")


def test_bad_input_changes_nothing(tmp_path):
    assert fuzzed("cc", "qrc-bounded", written("qrc-bounded", tmp_path)) == "ok\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_learner_compiles_without_a_warning(compiler, name, tmp_path):
    at = written(name, tmp_path)
    for level in ("-O0", "-Os", "-O3"):
        strict(compiler, at, level)
    strict(compiler, at, "-O2", "-DLEARNER_DOUBLE")


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_bad_input_changes_no_learner(compiler, name, tmp_path):
    assert fuzzed(compiler, name, written(name, tmp_path)) == "ok\n"


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
    reason="needs arm-none-eabi-gcc and qemu-system-arm",
)
def test_the_example_learns_on_a_cortex_m4_with_256_kb(tmp_path):
    example = tmp_path / "c"
    shutil.copytree(Path(__file__).parents[2] / "examples" / "c", example)
    command = ["make", "--no-print-directory", "-C", example, "cortex-m4", "FRAMES=20000"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    assert "warning" not in done.stderr
    text, data, bss = map(int, done.stdout.partition("filename\n")[2].split()[:3])
    print(f"{text + data} bytes in flash, {data + bss} in memory")
    assert text + 2 * data + bss < 256 * 1024  # both together, where 256 KB each would do
    assert float(done.stdout.split()[-1]) > 0.9
