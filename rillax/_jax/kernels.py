"""A whole step of an agent, or a loop of them, as one machine-code function, where XLA can.

XLA runs a program on a CPU as a graph of a few hundred small tasks, handed out to threads. A step
of a streaming agent is too short for that: managing the tasks costs about as much as they do, and
a second thread makes it slower still. XLA has a way to emit a called function as a single kernel,
meant for small ones; this module asks for it, and falls back to an ordinary program where it is
refused (some operations, sorting for one, exist only as tasks) and on other hardware. Because the
way is XLA's own and a compiler that is asked for too much may abort, it is asked for code of ours
alone, of which the tests have compiled every kind.
"""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import ClosedJaxpr, Var, jaxpr_as_fun
from jax.interpreters.partial_eval import dce_jaxpr

_ASK = {"xla_cpu_small_call": "true", "inlineable": "false"}
# A library kernel for reductions that such a function cannot contain.
_OPTIONS = {"xla_cpu_experimental_ynn_fusion_type": ""}

Function = Callable[..., Any]


def one_kernel(function: Function) -> Function:
    """The same function; inside a compiled program XLA emits it as a single kernel.

    The compiler aborts where such a kernel has an argument that it does not use, so only what is
    used and changed goes through it.
    """

    @functools.wraps(function)
    def asked(*args: Any) -> Any:
        with set_xla_metadata(**dict.fromkeys(_ASK)):  # no functions within the function
            whole, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
        values = dict(zip(whole.jaxpr.invars, jax.tree.leaves(args), strict=True))
        changed = [not (isinstance(var, Var) and var in values) for var in whole.jaxpr.outvars]
        needed, used = dce_jaxpr(whole.jaxpr, changed)
        if not _TASKS.isdisjoint(_primitives(needed)):
            raise Refused
        inside = jaxpr_as_fun(ClosedJaxpr(needed, whole.consts))

        @jax.jit
        def kernel(*args: Any) -> Any:
            with set_xla_metadata(**dict.fromkeys(_ASK)):
                return inside(*args)

        with set_xla_metadata(**_ASK):
            results = iter(kernel(*itertools.compress(values.values(), used)))
        outputs = [
            next(results) if new else values[var]
            for new, var in zip(changed, whole.jaxpr.outvars, strict=True)
        ]
        return jax.tree.unflatten(jax.tree.structure(shapes), outputs)

    return asked


def once(function: Function) -> Function:
    """The same function, its results computed a single time and kept.

    Left to itself the compiler would compute them anew inside everything that uses them.
    """
    jitted = jax.jit(function)

    def called(*args: Any) -> Any:
        with set_xla_metadata(inlineable="false"):
            return jitted(*args)

    return called


def kept(tree: Any) -> Any:
    """The same arrays, computed once and kept, where they would be computed in every use."""
    return once(lambda tree: tree)(tree)


def after(value: jax.Array, tree: Any) -> jax.Array:
    """A number, not known before every array of the tree is.

    An update that waits for the whole gradient may overwrite the parameters where they are; else
    they would be copied first, for the part of the gradient that could still want the old ones.
    """
    return value + 0 * sum(leaf.ravel()[0] for leaf in jax.tree.leaves(tree))


class Refused(Exception):
    """A function cannot be one kernel."""


class Program:
    """A jitted function, in the first of several forms that compiles.

    The forms do the same and differ in which parts of them are ``one_kernel``; the last should have
    none.
    """

    def __init__(self, *forms: Function, donate: tuple[int, ...]):
        if jax.default_backend() != "cpu":
            forms = forms[-1:]
        self._forms: list[Any] = [
            jax.jit(form, donate_argnums=donate, compiler_options=_OPTIONS) for form in forms[:-1]
        ]
        self._forms.append(jax.jit(forms[-1], donate_argnums=donate))

    def __call__(self, *args: Any) -> Any:
        while len(self._forms) > 1:
            try:
                return self._forms[0](*args)
            except Refused:
                pass
            except jax.errors.JaxRuntimeError as error:
                # Only the compiler's refusal: nothing has run then, and no argument is used up.
                if not any(sign in str(error) for sign in _REFUSALS):
                    raise
            del self._forms[0]
        return self._forms[0](*args)

    @property
    def forms_left(self) -> int:
        """How many forms have not been refused, the one in use among them."""
        return len(self._forms)

    def compilations(self) -> int:
        """How many programs have been compiled, one for each set of shapes."""
        return self._forms[0]._cache_size()


# What XLA has only as tasks of their own, and how it says so of something that is not listed here.
_TASKS = {
    *(
        "scatter",
        "sort",
        "top_k",
        "approx_top_k",
        "fft",
        "cholesky",
        "lu",
        "qr",
        "householder_product",
    ),
    *("eigh", "eig", "svd", "schur", "tridiagonal", "triangular_solve", "ffi_call"),
    *("pure_callback", "io_callback", "debug_callback"),
}
_REFUSALS = ("UNIMPLEMENTED", "Failed to materialize symbols", "No such compile option")


def _primitives(jaxpr: Any) -> set[str]:
    """The names of all operations in a program, in its loops and branches too."""
    names = set()
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        names.add(_name(equation))
        for inner in jax.tree.leaves(equation.params, is_leaf=_is_program):
            if _is_program(inner):
                names |= _primitives(inner)
    return names


def _name(equation: Any) -> str:
    name = equation.primitive.name
    if not name.startswith("scatter"):
        return name
    # A write at a single place becomes a slice that is updated.
    single = math.prod(equation.invars[1].aval.shape[:-1]) == 1
    return "dynamic_update_slice" if single else "scatter"


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns") or hasattr(value, "jaxpr")
