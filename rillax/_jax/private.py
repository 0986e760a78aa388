"""Every name of JAX or XLA that is not part of its stable interface. No other file has one.

JAX moves such names without notice. Here each is looked up when it is first needed, so an import of
rillax never fails for one that is gone, and ``kernels`` and ``callbacks`` have a plain way to do
without each. What is faster for them (the "fast forms") is used on the versions of JAX that it was
tested with. The environment variable ``RILLAX_FAST=0`` switches the fast forms off, and
``RILLAX_FAST=1`` tries them on any version.
"""

import functools
import importlib
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

TESTED = (0, 7, 2), (0, 12)
"""The oldest version of JAX that the fast forms were tested with, and the newest minor version.

XLA of JAX 0.6.2 ends the process where it runs a part of a single kernel in several threads.
"""

METADATA = "jax.experimental.xla_metadata.set_xla_metadata"
PROGRAM = "jax.extend.core.ClosedJaxpr"
PROGRAM_AS_FUNCTION = "jax.extend.core.jaxpr_as_fun"
WITHOUT_DEAD_CODE = "jax.interpreters.partial_eval.dce_jaxpr"
PRIMITIVE = "jax.extend.core.Primitive"
REGISTER_LOWERING = "jax.interpreters.mlir.register_lowering"
FFI_LOWERING = "jax.ffi.ffi_lowering"
ORDERED_CALLBACK = "jax.experimental.io_callback"
X64 = "jax.enable_x64"
X64_OF_OLD = "jax.experimental.enable_x64"  # until JAX 0.8

KERNEL_NAMES = (METADATA, PROGRAM, PROGRAM_AS_FUNCTION, WITHOUT_DEAD_CODE)
CALL_NAMES = (PRIMITIVE, REGISTER_LOWERING, FFI_LOWERING)
NAMES = (*KERNEL_NAMES, *CALL_NAMES, ORDERED_CALLBACK, X64, X64_OF_OLD)

ONE_KERNEL = {"xla_cpu_small_call": "true", "inlineable": "false"}
"""Marks a call that XLA is to emit as a single kernel."""
NOT_INLINED = {"inlineable": "false"}
"""Marks a call whose results are computed once."""
# A library kernel for reductions that a single kernel cannot contain.
KERNEL_OPTIONS = {"xla_cpu_experimental_ynn_fusion_type": ""}
QUICK_OPTIONS = {"xla_backend_optimization_level": 1}
"""How to compile what runs once: optimising it takes longer than running it."""
_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"
_CALL_TARGET = "xla_ffi_python_cpu_callback"

# What XLA has only as tasks of their own, and how it says so of something that is not listed here.
TASKS = {
    *("scatter", "sort", "top_k", "approx_top_k", "fft", "cholesky", "lu", "qr"),
    *("householder_product", "eigh", "eig", "svd", "schur", "tridiagonal", "triangular_solve"),
    *("ffi_call", "pure_callback", "io_callback", "debug_callback"),
}
REFUSALS = ("UNIMPLEMENTED", "Failed to materialize symbols")


class Refused(Exception):
    """A fast form cannot be had; the message says why."""


@functools.cache
def find(path: str) -> Any:
    """What a dotted path names in this version of JAX, or None."""
    place, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(place), name)
    except (ImportError, AttributeError):
        return None


def why_off() -> str | None:
    """Why no fast form is used: they are switched off, or were not tested with this JAX."""
    wanted = os.environ.get("RILLAX_FAST", "")
    if wanted == "0":
        return "RILLAX_FAST=0"
    return None if wanted == "1" else _untested()


def _untested() -> str | None:
    oldest, newest = TESTED
    found = version(jax.__version__)
    tested = oldest <= found and found[:2] <= newest
    return None if tested else f"JAX {jax.__version__} was not tested"


def why_not(*paths: str) -> str | None:
    """Why a fast form that needs these names is not used; None if it can be."""
    if (off := why_off()) is not None:
        return off
    gone = (path for path in paths if find(path) is None)
    return next(("{} has no {}".format(*path.rsplit(".", 1)) for path in gone), None)


def version(text: str) -> tuple[int, ...]:
    """The numbers of a version.

    >>> version("0.10.2.dev3")
    (0, 10, 2)
    """
    numbers = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(n) for n in numbers[0].split(".")) if numbers else ()


def marked(**attributes: Any) -> Any:
    """A context in which calls of compiled functions carry these attributes for XLA."""
    return find(METADATA)(**attributes)


def needed_part(program: Any, wanted: list[bool]) -> tuple[Callable[..., Any], list[bool]]:
    """A traced program cut down to the wanted outputs, and which of its inputs that part uses.

    A part that cannot be a single kernel is refused.
    """
    try:
        needed, used = find(WITHOUT_DEAD_CODE)(program.jaxpr, wanted)
        function = find(PROGRAM_AS_FUNCTION)(find(PROGRAM)(needed, program.consts))
        tasks = sorted(TASKS & _operations(needed))
    except (AttributeError, TypeError, ValueError) as error:  # something about programs has changed
        raise Refused(f"JAX {jax.__version__} has other programs: {_line(error)}") from error
    if tasks:
        raise Refused(f"a kernel cannot hold {', '.join(tasks)}")
    return function, used


def _operations(program: Any) -> set[str]:
    """The names of all operations in a program, in its loops and branches too."""
    names = set()
    for equation in getattr(program, "jaxpr", program).eqns:
        names.add(_operation(equation))
        for inner in jax.tree.leaves(equation.params, is_leaf=_is_program):
            if _is_program(inner):
                names |= _operations(inner)
    return names


def _operation(equation: Any) -> str:
    name = equation.primitive.name
    if not name.startswith("scatter"):
        return name
    # A write at a single place becomes a slice that is updated.
    single = math.prod(equation.invars[1].aval.shape[:-1]) == 1
    return "dynamic_update_slice" if single else "scatter"


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns") or hasattr(value, "jaxpr")


def refusal(error: Exception) -> str | None:
    """The compiler's reason not to emit a kernel; None if the error is another one."""
    return f"XLA refused: {_line(error)}" if any(s in str(error) for s in REFUSALS) else None


def _line(error: Exception) -> str:
    """The beginning of an error's message."""
    return next(iter(str(error).splitlines()), type(error).__name__)[:160]


def known_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some options that this version of XLA knows."""
    return {name: value for name, value in options.items() if _is_known(name, value)}


@functools.cache
def _is_known(name: str, value: Any) -> bool:
    try:
        jax.jit(lambda: 0, compiler_options={name: value}).lower().compile()
    except Exception:  # whichever class it is of, the option is of no use
        return False
    return True


def why_no_direct_call() -> str | None:
    """Why a compiled program cannot call Python in the direct way; None if it can."""
    if jax.default_backend() != "cpu":
        return f"{jax.default_backend()} is no CPU"
    return why_not(*CALL_NAMES) or _call_fails()


def direct_call(host: Callable[..., Any], question: jax.Array, answer: jax.Array) -> Any:
    """An operation that calls Python, as JAX's own does but without its look at each answer."""
    return _call_primitive().bind(question, host=host, answer=jax.typeof(answer))


@functools.cache
def _call_primitive() -> Any:
    primitive = find(PRIMITIVE)("host_call")

    def lower(ctx: Any, question: Any, *, host: Any, answer: Any) -> Any:
        del answer
        ctx.module_context.add_host_callback(host)
        index = np.uint64(len(ctx.module_context.host_callbacks) - 1)
        return find(FFI_LOWERING)(_CALL_TARGET, has_side_effect=True)(ctx, question, index=index)

    primitive.def_abstract_eval(lambda question, *, host, answer: answer)
    find(REGISTER_LOWERING)(primitive, lower, platform="cpu")
    return primitive


@functools.cache
def _call_fails() -> str | None:
    """Tries a direct call: it uses more of JAX than can be looked up by name."""
    question = np.arange(2, dtype=np.int32)
    call = jax.jit(lambda x: direct_call(lambda x: (x + 1,), x, x))
    try:
        answer = call.lower(question).compile()(question)
    except Exception as error:  # whichever class it is of, the direct way is of no use
        return f"a host call fails: {_line(error)}"
    return None if (np.asarray(answer) == question + 1).all() else "a host call is answered wrongly"


def ordered_callback() -> Callable[..., Any]:
    """JAX's own way to call Python from a compiled program, the calls in order."""
    in_order = find(ORDERED_CALLBACK)
    if in_order is not None:
        return functools.partial(in_order, ordered=True)
    return jax.pure_callback  # in order too, where each question depends on the last answer


@contextmanager
def enable_x64(on: bool = True) -> Iterator[None]:
    """Double precision, or single, within a ``with``."""
    switch = find(X64_OF_OLD) if find(X64) is None else find(X64)
    if switch is not None:
        with switch(on):
            yield
    elif on == (jnp.result_type(float) == jnp.float64):
        yield
    else:  # for all threads, where there is no other way
        jax.config.update("jax_enable_x64", on)
        try:
            yield
        finally:
            jax.config.update("jax_enable_x64", not on)


def setting(name: str, default: Any = None) -> Any:
    """One of JAX's settings, where it has it."""
    return getattr(jax.config, name, default)


def configure(name: str, value: Any) -> bool:
    """Change one of JAX's settings; returns whether there is such a one."""
    try:
        jax.config.update(name, value)
    except (AttributeError, ValueError):
        return False
    return True


def use_one_thread() -> None:
    """Keep XLA from starting threads of its own. It has an effect before JAX is first used."""
    if _untested() is None:  # an XLA that does not know a flag ends the process
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} {_ONE_THREAD}".strip()
