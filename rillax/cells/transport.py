"""Staleness corrections: move a memory along with the parameters it was made with.

A sensitivity is a sum of terms, each made with the parameters of its own step. When the parameters
change, the carried S stays behind (Section 4.4 and Appendix C of the paper). A correction carries
second-order terms beside S and, at each change of the parameters, moves S to the new ones:

- ``diagonal``: the paper's Taylor trace (its last equation), S <- S + omega * dpsi, with the second
  derivative of h with respect to each parameter alone.
- ``exact``: the whole first-order transport, of h as well, for the linear unit. Between changes its
  state is gamma times a power series in lambda, linear in B. So with l = log(lambda) =
  -exp(nu_log) + i exp(theta_log), everything of second order follows from

      h2 = d2h/dl2   <- lambda (h2 + 2 h1 + h),    h1 = dh/dl = dh/dtheta_log / (i exp(theta_log))
      D  = dE/dl     <- r (D + E)

  (E and D in the frame that turns with the unit, see ``LinearSensitivity``): one complex number per
  unit and one complex array of the size of B; in gamma and in B the transport is exact to every
  order.

A correction is a Taylor expansion, and far from where it was made that is worse than nothing. A
guard follows Appendix C's own error recurrence for each unit; docs/staleness.md explains it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rillax._jax.kernels import kept
from rillax.cells.cell import Memory
from rillax.cells.pairs import Pair, add, multiply, row_sums, rows, scale, subtract, turn

if TYPE_CHECKING:
    from rillax.cells.rtu import LinearRTUCell, NonlinearRTUCell

Correction = Literal["none", "diagonal", "exact"]
"""What is done about the staleness of an RTU's sensitivity."""

LIMIT = 0.3
"""The relative staleness up to which a unit is corrected."""


class Guard(NamedTuple):
    """For each unit, how stale it would be by now without correction: Appendix C, unit by unit.

    With inputs of size one, |E| is at most ``mass`` and |dE/dl| at most ``moment``; so a change dl
    makes E stale by about dl moment, and what is stale decays as E does. Changes there and back
    cancel, as they do in E: a unit is trusted until the ``net`` staleness is beyond the limit, and
    again once even the ``gross`` one is within it.
    """

    mass: Float[Array, " units"]
    """Sum of r^age over the inputs of the episode."""
    moment: Float[Array, " units"]
    """Sum of age r^age."""
    net: Pair
    """e <- r (e + dl moment), complex as dl is."""
    gross: Float[Array, " units"]
    """The same with |dl|, so that nothing cancels."""
    trusted: Bool[Array, " units"]


class LinearSecond(NamedTuple):
    """What the linear unit carries for a correction."""

    h2: Pair
    D: Pair | None
    """None under ``diagonal``, which needs no mixed derivatives."""
    added: Any
    """What the correction has added to h and S, as it stands now: to be taken back if need be."""
    guard: Guard


class LinearAdded(NamedTuple):
    """Of one number per unit. E, of many, is not taken back: of a unit not trusted it just stays.

    Under ``diagonal`` the state is left alone, and None here.
    """

    hidden: Pair | None
    nu_log: Pair
    theta_log: Pair


class NonlinearSecond(NamedTuple):
    """What the non-linear unit carries for ``diagonal``: trees like its sensitivity."""

    omega: Any
    added: Any
    guard: Guard


class Polar(NamedTuple):
    """The recurrence in the coordinates in which it is simple."""

    decay: Array
    """exp(nu_log) = -log r."""
    frequency: Array
    """exp(theta_log) = Omega."""
    lam: Pair
    gamma: Array
    growth: Array
    """a = d log(gamma) / d nu_log."""
    d_growth: Array
    """da / d nu_log."""


def polar(cell: "LinearRTUCell") -> Polar:
    recurrence = cell.polar()
    decay, frequency = recurrence.nu, recurrence.omega
    lam, gamma = recurrence.lam, recurrence.gamma
    growth = decay / jnp.expm1(2 * decay) if cell.gain else jnp.zeros_like(decay)
    d_growth = growth * (1 + 2 * decay / jnp.expm1(-2 * decay))
    return Polar(decay, frequency, lam, gamma, growth, d_growth)


# ---- the guard


def blank_guard(unit: Array) -> Guard:
    zero = jnp.zeros_like(unit)
    return Guard(zero, zero, (zero, zero), zero, jnp.ones_like(unit, bool))


def advance_guard(guard: Guard, nu_log: Array) -> Guard:
    r = jnp.exp(-jnp.exp(nu_log))
    return Guard(
        mass=r * guard.mass + 1,
        moment=r * (guard.moment + guard.mass),
        net=(r * guard.net[0], r * guard.net[1]),
        gross=r * guard.gross,
        trusted=guard.trusted,
    )


def watch(guard: Guard, before: "LinearRTUCell | NonlinearRTUCell", after: Any) -> Guard:
    """The guard after a change of parameters: which units may be moved along with it."""
    d_decay = jnp.exp(after.nu_log) - jnp.exp(before.nu_log)
    d_frequency = jnp.exp(after.theta_log) - jnp.exp(before.theta_log)
    real = guard.net[0] - d_decay * guard.moment
    imag = guard.net[1] + d_frequency * guard.moment
    gross = guard.gross + _length(d_decay, d_frequency) * guard.moment
    staleness = jnp.where(guard.trusted, _length(real, imag), gross)
    return guard._replace(net=(real, imag), gross=gross, trusted=staleness <= LIMIT * guard.mass)


def _length(real: Array, imag: Array) -> Array:
    """Not jnp.hypot, whose care for huge numbers costs more than the rest of the guard."""
    return jnp.sqrt(jnp.square(real) + jnp.square(imag))


def settle(trusted: Array, value: Pair, added: Pair, step: Pair) -> tuple[Pair, Pair]:
    """Take a step if the unit is trusted, take back all steps if it is not.

    Returns the new value and what has now been added to it. The value that is left when all is
    taken back is the one that no correction would have given.
    """
    keep = trusted if value[0].ndim == 1 else trusted[:, None]
    both = tuple(zip(value, added, step, strict=True))
    moved = tuple(v + jnp.where(keep, s, -a) for v, a, s in both)
    total = tuple(jnp.where(keep, a + s, 0) for _, a, s in both)
    return moved, total  # type: ignore[return-value]


# ---- the linear unit


def linear_second(cell: "LinearRTUCell") -> LinearSecond:
    unit = (jnp.zeros_like(cell.nu_log),) * 2
    row = (jnp.zeros_like(cell.B_real),) * 2 if cell.correction == "exact" else None
    added = LinearAdded(None if row is None else unit, unit, unit)
    return LinearSecond(unit, row, added, blank_guard(cell.nu_log))


def advance_linear(cell: "LinearRTUCell", memory: Memory, x: Array) -> LinearSecond:
    """The second-order terms after one more input, from the memory before it."""
    del x
    p, second, added = polar(cell), memory.second, memory.second.added
    h, h1 = memory.hidden, first_in_log(p, memory.sensitivity)
    D = second.D
    if D is not None:
        E, r = memory.sensitivity.E, cell.polar().r[:, None]
        # Computed anew wherever it is used, it would keep the old D and E from being overwritten.
        D = kept((r * (D[0] + E[0]), r * (D[1] + E[1])))
    # The recursions of h and S are linear in h and S, so what was added obeys them without input.
    hidden, nu, theta = None, multiply(p.lam, added.nu_log), multiply(p.lam, added.theta_log)
    if added.hidden is not None:
        hidden = multiply(p.lam, added.hidden)
        nu = add(nu, scale(-p.decay, hidden))
        theta = add(theta, scale(p.frequency, turn(hidden)))
    return LinearSecond(
        h2=multiply(p.lam, add(second.h2, scale(2, h1), h)),
        D=D,
        added=LinearAdded(hidden, nu, theta),
        guard=advance_guard(second.guard, cell.nu_log),
    )


def first_in_log(p: Polar, sensitivity: Any) -> Pair:
    """h1 = dh/dl, from dh/dtheta_log = i Omega dh/dl."""
    real, imag = sensitivity.theta_log
    return imag / p.frequency, -real / p.frequency


class LinearHessian(NamedTuple):
    """Every second derivative of a linear unit's state that is not zero."""

    nu_nu: Pair
    nu_theta: Pair
    theta_theta: Pair
    nu_B: Pair
    """d2h / dnu_log dB_real; with respect to B_imag it is i times that."""
    theta_B: Pair


def linear_hessian(cell: "LinearRTUCell", memory: Memory) -> LinearHessian:
    """The second derivatives of the state, read off the terms that ``exact`` carries."""
    p, s, second = polar(cell), memory.sensitivity, memory.second
    h1 = first_in_log(p, s)
    nu_nu, theta_theta = _diagonal(p, memory.hidden, h1, second.h2)
    growth, decay, frequency = (each[:, None] for each in (p.growth, p.decay, p.frequency))
    E, D = (multiply(rows(s.turn), each) for each in (s.E, second.D))
    return LinearHessian(
        nu_nu=nu_nu,
        nu_theta=scale(p.frequency, turn(along_nu(p, h1, second.h2))),
        theta_theta=theta_theta,
        nu_B=add(scale(growth, E), scale(-decay, D)),
        theta_B=scale(frequency, turn(D)),
    )


def along_nu(p: Polar, value: Pair, by_log: Pair) -> Pair:
    """d/dnu_log of what is gamma times a function of l, given its derivative with respect to l."""
    return add(scale(p.growth, value), scale(-p.decay, by_log))


def _diagonal(p: Polar, h: Pair, h1: Pair, h2: Pair) -> tuple[Pair, Pair]:
    """d2h/dnu_log^2 and d2h/dtheta_log^2."""
    nu, h1_nu = along_nu(p, h, h1), along_nu(p, h1, h2)
    nu_nu = add(scale(p.d_growth, h), along_nu(p, nu, add(h1, h1_nu)))
    theta_theta = subtract(scale(p.frequency, turn(h1)), scale(jnp.square(p.frequency), h2))
    return nu_nu, theta_theta


def move_linear(
    cell: "LinearRTUCell", memory: Memory, after: "LinearRTUCell", change: Any
) -> Memory:
    """The memory of a unit whose parameters have just become those of ``after``."""
    second, s = memory.second, memory.sensitivity
    guard, added = watch(second.guard, cell, after), second.added
    hidden, hidden_added = memory.hidden, None
    if cell.correction == "exact":
        steps, E = _exact_steps(cell, memory, after, change, guard.trusted)
        s = s._replace(E=E)
        assert added.hidden is not None
        assert steps.hidden is not None
        hidden, hidden_added = settle(guard.trusted, hidden, added.hidden, steps.hidden)
    else:
        steps = _diagonal_steps(cell, memory, after)
    nu_log, nu_added = settle(guard.trusted, s.nu_log, added.nu_log, steps.nu_log)
    theta_log, theta_added = settle(guard.trusted, s.theta_log, added.theta_log, steps.theta_log)
    return Memory(
        hidden,
        s._replace(nu_log=nu_log, theta_log=theta_log),
        second._replace(added=LinearAdded(hidden_added, nu_added, theta_added), guard=guard),
    )


def _diagonal_steps(cell: "LinearRTUCell", memory: Memory, after: "LinearRTUCell") -> LinearAdded:
    p = polar(cell)
    h1 = first_in_log(p, memory.sensitivity)
    nu_nu, theta_theta = _diagonal(p, memory.hidden, h1, memory.second.h2)
    return LinearAdded(
        hidden=None,
        nu_log=scale(after.nu_log - cell.nu_log, nu_nu),
        theta_log=scale(after.theta_log - cell.theta_log, theta_theta),
    )


def _exact_steps(
    cell: "LinearRTUCell", memory: Memory, after: "LinearRTUCell", change: Any, trusted: Array
) -> tuple[LinearAdded, Pair]:
    """What transport adds to the state and to S, and where it takes E.

    First order in l, exact in gamma and B.
    """
    p, q, s, D = polar(cell), polar(after), memory.sensitivity, memory.second.D
    h, h1, h2 = memory.hidden, first_in_log(p, s), memory.second.h2
    dl, ratio = (p.decay - q.decay, q.frequency - p.frequency), q.gamma / p.gamma
    dB = change.B_real, change.B_imag
    D_dB, E_dB = (multiply(s.turn, row_sums(multiply(each, dB))) for each in (D, s.E))
    E_dB = add(E_dB, multiply(dl, D_dB))
    h_there = scale(ratio, add(h, multiply(dl, add(h1, scale(0.5, multiply(dl, h2)))), E_dB))
    h1_there = scale(ratio, add(h1, multiply(dl, h2), D_dB))
    steps = LinearAdded(
        hidden=subtract(h_there, h),
        nu_log=subtract(along_nu(q, h_there, h1_there), along_nu(p, h, h1)),
        theta_log=turn(subtract(scale(q.frequency, h1_there), scale(p.frequency, h1))),
    )
    # Where a unit is not trusted, by nothing: so that E is gone over once.
    dl, ratio = scale(trusted, dl), jnp.where(trusted, ratio, 1)
    return steps, scale(ratio[:, None], add(s.E, multiply(rows(dl), D)))


# ---- the non-linear unit


def nonlinear_second(cell: "NonlinearRTUCell") -> NonlinearSecond:
    zero = cell.initial_sensitivity()
    return NonlinearSecond(zero, zero, blank_guard(cell.nu_log))


def advance_nonlinear(cell: "NonlinearRTUCell", memory: Memory, x: Array) -> NonlinearSecond:
    """omega_t = d2h_t/dpsi_i^2, by following a step along each parameter to second order."""
    s, second, h = memory.sensitivity, memory.second, memory.hidden
    recurrence = cell.polar()
    lam, gamma = recurrence.lam, recurrence.gamma
    u = cell.drive(x)

    def along(first: Pair, curve: Pair, t: Array) -> Pair:
        """The state before this step, as the parameter goes by t."""
        wide = rows(h) if first[0].ndim == 2 else h
        parts = zip(wide, first, curve, strict=True)
        real, imag = (a + t * (b + t * c / 2) for a, b, c in parts)
        return real, imag

    def whole(name: str) -> Callable[[Array], Pair]:
        first, curve = getattr(s, name), getattr(second.omega, name)

        def at(t: Array) -> Pair:
            there = eqx.tree_at(lambda c: getattr(c, name), cell, getattr(cell, name) + t)
            return there.step(along(first, curve, t), x)

        return at

    def by_entry(name: str, part: int) -> Callable[[Array], Pair]:
        first, curve = getattr(s, name), getattr(second.omega, name)

        def at(t: Array) -> Pair:
            rotated = multiply(rows(lam), along(first, curve, t))
            driven = [u[0][:, None], u[1][:, None]]
            driven[part] = driven[part] + t * x
            return (
                cell.activation(rotated[0] + gamma[:, None] * driven[0]),
                cell.activation(rotated[1] + gamma[:, None] * driven[1]),
            )

        return at

    omega = type(s)(
        nu_log=_second_derivative(whole("nu_log"), h[0]),
        theta_log=_second_derivative(whole("theta_log"), h[0]),
        B_real=_second_derivative(by_entry("B_real", 0), h[0]),
        B_imag=_second_derivative(by_entry("B_imag", 1), h[0]),
    )
    # What was added to S goes through the recurrence and the activation, as S does.
    rotated = multiply(lam, h)
    before = rotated[0] + gamma * u[0], rotated[1] + gamma * u[1]
    slope = tuple(jax.jvp(cell.activation, (b,), (jnp.ones_like(b),))[1] for b in before)

    def carry(added: Pair) -> Pair:
        wide = added[0].ndim == 2
        moved = multiply(rows(lam) if wide else lam, added)
        f = rows(slope) if wide else slope
        return f[0] * moved[0], f[1] * moved[1]

    added = type(s)(*(carry(each) for each in second.added))
    return NonlinearSecond(omega, added, advance_guard(second.guard, cell.nu_log))


def _second_derivative(path: Callable[[Array], Pair], like: Array) -> Pair:
    zero, one = jnp.zeros((), like.dtype), jnp.ones((), like.dtype)
    return jax.jvp(lambda t: jax.jvp(path, (t,), (one,))[1], (zero,), (one,))[1]


def move_nonlinear(cell: "NonlinearRTUCell", memory: Memory, after: Any, change: Any) -> Memory:
    second = memory.second
    guard = watch(second.guard, cell, after)
    moved, total = {}, {}
    for name in ("nu_log", "theta_log", "B_real", "B_imag"):
        by, omega = getattr(change, name), getattr(second.omega, name)
        moved[name], total[name] = settle(
            guard.trusted,
            getattr(memory.sensitivity, name),
            getattr(second.added, name),
            (omega[0] * by, omega[1] * by),
        )
    return Memory(
        memory.hidden,
        memory.sensitivity._replace(**moved),
        second._replace(added=second.added._replace(**total), guard=guard),
    )
