"""A whole step of an agent, or a loop of them, as one machine-code function, where XLA can.

XLA runs a program on a CPU as a graph of a few hundred small tasks, handed out to threads. A step
of a streaming agent is too short for that: managing the tasks costs about as much as they do, and
a second thread makes it slower still. XLA has a way to emit a called function as a single kernel,
meant for small ones; this module asks for it, and falls back to an ordinary program where it is
refused (some operations, sorting for one, exist only as tasks), on other hardware, and where
``rillax._jax.private`` says that the fast forms are off. Because the way is XLA's own and a
compiler that is asked for too much may abort, it is asked for code of ours alone, of which the
tests have compiled every kind.
"""

import _thread
import functools
import itertools
import threading
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from rillax._jax import private
from rillax._jax.private import Refused

Function = Callable[..., Any]

_noted: dict[str, None] = {}
"""Why fast forms were not used, in the order in which it was found out."""


def why_slow() -> str | None:
    """Why this process goes without fast forms that it could have had; None if it has them all.

    Switched off, an untested JAX and missing names are known from the start. What the compiler
    refuses is known once the program has run for the first time.
    """
    if (off := private.why_off()) is not None:
        return off
    reasons = dict.fromkeys([private.why_not(*private.KERNEL_NAMES), *_noted])
    return "; ".join(filter(None, reasons)) or None


def note(reason: str) -> None:
    """Remember, for ``why_slow``, why a fast form was not used."""
    if private.why_off() is None:
        _noted[reason] = None


def one_kernel(function: Function) -> Function:
    """The same function; inside a compiled program XLA emits it as a single kernel.

    The compiler aborts where such a kernel has an argument that it does not use, so only what is
    used and changed goes through it.
    """
    unmarked = dict.fromkeys(private.ONE_KERNEL)

    @functools.wraps(function)
    def asked(*args: Any) -> Any:
        if private.why_not(*private.KERNEL_NAMES) is not None:
            return function(*args)
        with private.marked(**unmarked):  # no functions within the function
            whole, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
        inputs, outputs = map(id, whole.jaxpr.invars), list(map(id, whole.jaxpr.outvars))
        values = dict(zip(inputs, jax.tree.leaves(args), strict=True))
        changed = [output not in values for output in outputs]
        inside, used = private.needed_part(whole, changed)

        @jax.jit
        def kernel(*args: Any) -> Any:
            with private.marked(**unmarked):
                return inside(*args)

        with private.marked(**private.ONE_KERNEL):
            results = iter(kernel(*itertools.compress(values.values(), used)))
        leaves = [
            next(results) if new else values[output]
            for new, output in zip(changed, outputs, strict=True)
        ]
        return jax.tree.unflatten(jax.tree.structure(shapes), leaves)

    return asked


def repeat(function: Function, count: Any, carry: Any) -> Any:
    """``count`` times ``carry = function(carry)``, in a loop that carries only what changes.

    What the function returns as it got it is left out of the loop: an array that a loop carries
    without ever using it is another argument on which the compiler aborts.
    """
    program = jax.make_jaxpr(function)(carry).jaxpr
    fixed = [a is b for a, b in zip(program.invars, program.outvars, strict=True)]
    leaves, structure = jax.tree.flatten(carry)

    def whole(moving: list[Any]) -> Any:
        rest = iter(moving)
        both = zip(fixed, leaves, strict=True)
        return jax.tree.unflatten(structure, [leaf if kept else next(rest) for kept, leaf in both])

    def body(_: Any, moving: list[Any]) -> list[Any]:
        return changing(jax.tree.leaves(function(whole(moving))))

    def changing(leaves: list[Any]) -> list[Any]:
        return [leaf for kept, leaf in zip(fixed, leaves, strict=True) if not kept]

    return whole(jax.lax.fori_loop(0, count, body, changing(leaves)))


def once(function: Function) -> Function:
    """The same function, its results computed a single time and kept.

    Left to itself the compiler would compute them anew inside everything that uses them.
    """
    jitted = jax.jit(function)

    def called(*args: Any) -> Any:
        if private.why_not(private.METADATA) is not None:
            return jax.lax.optimization_barrier(function(*args))
        with private.marked(**private.NOT_INLINED):
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


def jit(function: Function, options: Mapping[str, Any], **how: Any) -> Any:
    """``jax.jit`` with those of some options for XLA that this version of it knows."""
    return jax.jit(function, compiler_options=private.known_options(options) or None, **how)


def quick_jit(function: Function) -> Any:
    """``jax.jit`` for what runs once: it compiles sooner."""
    return jit(function, private.QUICK_OPTIONS)


def undisturbed(function: Function, *args: Any) -> Any:
    """Call a function in a thread of its own and wait for its end: no interrupt reaches it.

    JAX keeps what it is tracing, and with which marks, for each thread. An interrupt at a bad
    moment leaves that as it is, and everything the thread does later is taken for part of it.
    """
    double = bool(jnp.result_type(float) == jnp.float64)

    outcome: list[tuple[Any, BaseException | None]] = []
    running = threading.Lock()
    running.acquire()

    def alike() -> None:
        try:
            with private.enable_x64(double):
                outcome.append((function(*args), None))
        except BaseException as error:
            outcome.append((None, error))
        finally:
            running.release()

    # A bare thread and a bare lock: Python's conditions, which its threads and futures wait with,
    # turn an interrupt at a bad moment into an error about a lock.
    _thread.start_new_thread(alike, ())
    interrupt: BaseException | None = None
    while not outcome:
        try:
            running.acquire()
        except BaseException as error:
            interrupt = error
    result, failure = outcome[0]
    if interrupt or failure:
        raise interrupt or failure  # type: ignore[misc] # one of them is there
    return result


class Program:
    """A jitted function, in the first of several forms that compiles.

    The forms do the same and differ in which parts of them are ``one_kernel``; the last should have
    none.
    """

    def __init__(self, *forms: Function, donate: tuple[int, ...]):
        self._reason = _why_plain() if len(forms) > 1 else None
        if self._reason is not None:
            forms = forms[-1:]
        self._functions, self._donate = list(forms), donate
        self._traces: list[list[None]] = [[] for _ in forms]
        self._make()

    def _make(self) -> None:
        """Jitted functions that have not been called."""
        pairs = zip(self._functions, self._traces, strict=True)
        *fast, plain = [_counted(*pair) for pair in pairs]
        donate = self._donate
        self._forms: list[Any] = [
            jit(form, private.KERNEL_OPTIONS, donate_argnums=donate) for form in fast
        ]
        self._forms.append(jax.jit(plain, donate_argnums=donate))

    def __call__(self, *args: Any) -> Any:
        try:
            return self._call(*args)
        except BaseException:
            # Once its first call was interrupted, a jitted function of JAX goes through Python in
            # every later one: slow, and open to interrupts between its work and its result.
            self._make()
            raise

    def _call(self, *args: Any) -> Any:
        while len(self._forms) > 1:
            try:
                return self._forms[0](*args)
            except Refused as error:
                reason = str(error)
            except jax.errors.JaxRuntimeError as error:
                # Only the compiler's refusal: nothing has run then, and no argument is used up.
                if (refused := private.refusal(error)) is None:
                    raise
                reason = refused
            note(reason)
            self._reason = reason
            del self._forms[0], self._traces[0], self._functions[0]
        return self._forms[0](*args)

    @property
    def compiled(self) -> Any:
        """The jitted function that is in use; once called, it runs without a line of Python."""
        return self._forms[0]

    @property
    def reason(self) -> str | None:
        """Why its fast form, the first, is not in use; None if it is, as far as is known."""
        return self._reason

    @property
    def forms_left(self) -> int:
        """How many forms have not been refused, the one in use among them."""
        return len(self._forms)

    def compilations(self) -> int:
        """How many programs have been compiled, one for each set of shapes."""
        return len(self._traces[0])


def _why_plain() -> str | None:
    """Why no form but the last can be used."""
    if jax.default_backend() != "cpu":
        return f"kernels are for a CPU, and this is {jax.default_backend()}"
    return private.why_not(*private.KERNEL_NAMES)


def _counted(function: Function, traces: list[None]) -> Function:
    """The same function, with a list that grows whenever it is traced."""

    @functools.wraps(function)
    def traced(*args: Any) -> Any:
        result = function(*args)
        traces.append(None)
        return result

    return traced
