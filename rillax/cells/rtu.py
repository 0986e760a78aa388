"""Recurrent trace units (Elelimy et al., 2024): a diagonal recurrence with exact RTRL in O(p).

    h_t = lambda h_{t-1} + gamma B x_t,    lambda_k = r_k exp(i Omega_k)

Unit k depends on row k of B and on its own lambda_k alone, so its sensitivity is one row too. A
complex number is kept as a pair of real arrays.
"""

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from rillax._jax.kernels import once
from rillax.cells import transport
from rillax.cells.cell import Cell, Defaults, Gradient, Memory, check_recurrent
from rillax.cells.pairs import Pair, multiply, rows
from rillax.cells.transport import Correction
from rillax.layers import ACTIVATIONS, Activation
from rillax.utils.names import choose

LOG_RANGE = -30.0, 10.0
"""Of nu_log and theta_log; beyond, they have run away, and the recurrence should stay finite."""


@jax.custom_jvp
def _in_range(log: Array) -> Array:
    """Within ``LOG_RANGE``. The derivative is 1 beyond it too: what has run away may come back."""
    return jnp.clip(log, *LOG_RANGE)


@_in_range.defjvp
def _in_range_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return _in_range(*primals), *tangents


def _unit_length(a: Pair) -> Pair:
    """A number of modulus about one, brought back to one by a step of Newton's method."""
    scale = 1.5 - 0.5 * (jnp.square(a[0]) + jnp.square(a[1]))
    return scale * a[0], scale * a[1]


class Polar(NamedTuple):
    """The recurrence as its parameters give it: lambda = r exp(i Omega)."""

    nu: Array
    omega: Array
    r: Array
    rotation: Pair
    """exp(i Omega)."""
    gamma: Array

    @property
    def lam(self) -> Pair:
        return self.r * self.rotation[0], self.r * self.rotation[1]


def _polar(nu_log: Array, theta_log: Array, gain: bool) -> Polar:
    @once
    def polar(nu_log: Array, theta_log: Array) -> Polar:
        nu, omega = (jnp.exp(_in_range(log)) for log in (nu_log, theta_log))
        # 1 - r first: next to r = 1, 1 - exp(-nu) would be all cancellation.
        loss = -jnp.expm1(-nu)
        gamma = jnp.sqrt(loss * (2 - loss)) if gain else jnp.ones_like(nu)
        return Polar(nu, omega, 1 - loss, (jnp.cos(omega), jnp.sin(omega)), gamma)

    return polar(nu_log, theta_log)


class Coefficients(NamedTuple):
    """The recurrence's coefficients and their derivatives with respect to nu_log and theta_log."""

    r: Array
    rotation: Pair
    """exp(i Omega)."""
    lam: Pair
    gamma: Array
    dlam_dnu: Pair
    dgamma_dnu: Array
    dlam_dtheta: Pair


class _RTUCell(Cell):
    """What the linear and the non-linear unit share: parameters, coefficients, initialisation."""

    nu_log: Float[Array, " units"]
    theta_log: Float[Array, " units"]
    B_real: Float[Array, "units inputs"]
    B_imag: Float[Array, "units inputs"]
    activation: Callable[[Array], Array] = eqx.field(static=True)
    gain: bool = eqx.field(static=True)
    correction: Correction = eqx.field(static=True)

    @abc.abstractmethod
    def initial_second(self) -> Any:
        """The second-order terms of a blank memory, for ``correction``."""

    @abc.abstractmethod
    def advance_second(self, memory: Memory, x: Array) -> Any:
        """Those terms after one more input, from the memory before it."""

    @property
    def moves_memory(self) -> bool:
        return self.correction == "exact"

    def initial_memory(self) -> Memory:
        memory = super().initial_memory()
        if self.correction == "none" or memory.sensitivity is None:
            return memory
        return memory._replace(second=self.initial_second())

    def advance(self, memory: Memory, x: Array) -> Memory:
        after = super().advance(memory, x)
        if memory.second is None:
            return after
        return after._replace(second=self.advance_second(memory, x))

    @property
    def features(self) -> int:
        return 2 * self.nu_log.size

    def initial_hidden(self) -> Pair:
        zero = jnp.zeros_like(self.nu_log)
        return zero, zero

    def polar(self) -> Polar:
        return _polar(self.nu_log, self.theta_log, self.gain)

    def coefficients(self) -> Coefficients:
        nu, omega, r, rotation, gamma = polar = self.polar()
        lam = polar.lam
        dgamma_dnu = nu * jnp.square(r) / gamma if self.gain else jnp.zeros_like(nu)
        return Coefficients(
            r=r,
            rotation=rotation,
            lam=lam,
            gamma=gamma,
            dlam_dnu=(-nu * lam[0], -nu * lam[1]),
            dgamma_dnu=dgamma_dnu,
            dlam_dtheta=(-omega * lam[1], omega * lam[0]),
        )

    def drive(self, x: Array) -> Pair:
        return self.B_real @ x, self.B_imag @ x

    def with_gradient(self, nu_log: Array, theta_log: Array, B_real: Array, B_imag: Array) -> Self:
        """A tree like this cell whose leaves are the derivatives of a scalar."""
        leaves = (nu_log, theta_log, B_real, B_imag)
        return eqx.tree_at(lambda c: (c.nu_log, c.theta_log, c.B_real, c.B_imag), self, leaves)


class LinearSensitivity(NamedTuple):
    """dh/dpsi for the linear unit. h is analytic in B: with dh/dB_real = D, dh/dB_imag = i D.

    D_t = lambda_t D_{t-1} + gamma_t x_t is kept in a frame that turns with the unit: D = turn E,
    where ``turn`` is the product of all exp(i Omega) so far. What is left to E is

        E_t = r_t E_{t-1} + gamma_t conj(turn_t) x_t

    whose real and imaginary part do not mix: each large array is updated in place, in one pass.
    """

    nu_log: Pair
    theta_log: Pair
    E: Pair
    turn: Pair

    def of_B_real(self) -> Pair:
        """dh/dB_real, out of the turning frame."""
        return multiply(rows(self.turn), self.E)


class LinearRTUCell(_RTUCell):
    """The paper's unit: a linear recurrence, the activation outside it."""

    def step(self, hidden: Pair, x: Array) -> Pair:
        polar = self.polar()
        lam, gamma = polar.lam, polar.gamma
        u, rotated = self.drive(x), multiply(lam, hidden)
        return rotated[0] + gamma * u[0], rotated[1] + gamma * u[1]

    def read(self, hidden: Pair) -> Array:
        return self.activation(jnp.concatenate(hidden))

    def initial_sensitivity(self) -> LinearSensitivity:
        unit, row = jnp.zeros_like(self.nu_log), jnp.zeros_like(self.B_real)
        turn = jnp.ones_like(unit), unit
        return LinearSensitivity((unit, unit), (unit, unit), (row, row), turn)

    def advance_exactly(self, memory: Memory, x: Array) -> Memory:
        c = self.coefficients()
        h, s = memory.hidden, memory.sensitivity
        u, rotated = self.drive(x), multiply(c.lam, h)
        hidden = rotated[0] + c.gamma * u[0], rotated[1] + c.gamma * u[1]

        nu, through_lam = multiply(c.lam, s.nu_log), multiply(c.dlam_dnu, h)
        theta, through_phase = multiply(c.lam, s.theta_log), multiply(c.dlam_dtheta, h)
        turn = _unit_length(multiply(s.turn, c.rotation))
        r, driven = c.r[:, None], (c.gamma * turn[0], -c.gamma * turn[1])
        sensitivity = LinearSensitivity(
            nu_log=(
                nu[0] + through_lam[0] + c.dgamma_dnu * u[0],
                nu[1] + through_lam[1] + c.dgamma_dnu * u[1],
            ),
            theta_log=(theta[0] + through_phase[0], theta[1] + through_phase[1]),
            E=(r * s.E[0] + driven[0][:, None] * x, r * s.E[1] + driven[1][:, None] * x),
            turn=turn,
        )
        return Memory(hidden, sensitivity)

    def contract(self, g: Pair, sensitivity: LinearSensitivity) -> Self:
        s = sensitivity
        # The frame of E turns with the unit; turning g back instead costs one number per unit.
        g_real, g_imag = rows(once(multiply)((s.turn[0], -s.turn[1]), g))
        return self.with_gradient(
            nu_log=g[0] * s.nu_log[0] + g[1] * s.nu_log[1],
            theta_log=g[0] * s.theta_log[0] + g[1] * s.theta_log[1],
            B_real=g_real * s.E[0] + g_imag * s.E[1],
            B_imag=g_imag * s.E[0] - g_real * s.E[1],
        )

    def jacobian(self, sensitivity: LinearSensitivity) -> "NonlinearSensitivity":
        s = sensitivity
        real, imag = s.of_B_real()
        return NonlinearSensitivity(s.nu_log, s.theta_log, (real, imag), (-imag, real))

    def initial_second(self) -> transport.LinearSecond:
        return transport.linear_second(self)

    def advance_second(self, memory: Memory, x: Array) -> transport.LinearSecond:
        return transport.advance_linear(self, memory, x)

    def transport(self, memory: Memory, after: Self, change: Any = None) -> Memory:
        if memory.second is None:
            return memory
        change = jax.tree.map(jnp.subtract, after, self) if change is None else change
        return transport.move_linear(self, memory, after, change)


class NonlinearSensitivity(NamedTuple):
    """dh/dpsi for the non-linear unit, which is not analytic: a pair for each leaf."""

    nu_log: Pair
    theta_log: Pair
    B_real: Pair
    B_imag: Pair


class NonlinearRTUCell(_RTUCell):
    """The activation inside the recurrence, on real and imaginary part separately."""

    def step(self, hidden: Pair, x: Array) -> Pair:
        polar = self.polar()
        lam, gamma = polar.lam, polar.gamma
        u, rotated = self.drive(x), multiply(lam, hidden)
        real, imag = rotated[0] + gamma * u[0], rotated[1] + gamma * u[1]
        return self.activation(real), self.activation(imag)

    def read(self, hidden: Pair) -> Array:
        return jnp.concatenate(hidden)

    def initial_sensitivity(self) -> NonlinearSensitivity:
        unit, row = jnp.zeros_like(self.nu_log), jnp.zeros_like(self.B_real)
        return NonlinearSensitivity((unit, unit), (unit, unit), (row, row), (row, row))

    def advance_exactly(self, memory: Memory, x: Array) -> Memory:
        c = self.coefficients()
        h, s = memory.hidden, memory.sensitivity
        u, rotated = self.drive(x), multiply(c.lam, h)
        before = rotated[0] + c.gamma * u[0], rotated[1] + c.gamma * u[1]
        ones = jnp.ones_like(before[0])
        real, slope_real = jax.jvp(self.activation, (before[0],), (ones,))
        imag, slope_imag = jax.jvp(self.activation, (before[1],), (ones,))
        slope = slope_real, slope_imag

        def carry(old: Pair, new_real: Array | float, new_imag: Array | float) -> Pair:
            """Through the recurrence, plus what this step adds, through the activation."""
            by_row = old[0].ndim == 2
            moved = multiply(rows(c.lam) if by_row else c.lam, old)
            f = rows(slope) if by_row else slope
            return f[0] * (moved[0] + new_real), f[1] * (moved[1] + new_imag)

        nu, theta = multiply(c.dlam_dnu, h), multiply(c.dlam_dtheta, h)
        driven = c.gamma[:, None] * x
        sensitivity = NonlinearSensitivity(
            nu_log=carry(s.nu_log, nu[0] + c.dgamma_dnu * u[0], nu[1] + c.dgamma_dnu * u[1]),
            theta_log=carry(s.theta_log, theta[0], theta[1]),
            B_real=carry(s.B_real, driven, 0.0),
            B_imag=carry(s.B_imag, 0.0, driven),
        )
        return Memory((real, imag), sensitivity)

    def contract(self, g: Pair, sensitivity: NonlinearSensitivity) -> Self:
        s, (g_real, g_imag) = sensitivity, rows(g)
        return self.with_gradient(
            nu_log=g[0] * s.nu_log[0] + g[1] * s.nu_log[1],
            theta_log=g[0] * s.theta_log[0] + g[1] * s.theta_log[1],
            B_real=g_real * s.B_real[0] + g_imag * s.B_real[1],
            B_imag=g_real * s.B_imag[0] + g_imag * s.B_imag[1],
        )

    def initial_second(self) -> transport.NonlinearSecond:
        return transport.nonlinear_second(self)

    def advance_second(self, memory: Memory, x: Array) -> transport.NonlinearSecond:
        return transport.advance_nonlinear(self, memory, x)

    def transport(self, memory: Memory, after: Self, change: Any = None) -> Memory:
        if memory.second is None:
            return memory
        change = jax.tree.map(jnp.subtract, after, self) if change is None else change
        return transport.move_nonlinear(self, memory, after, change)


@dataclass(frozen=True)
class _Recurrence:
    """What the settings of both units have in common."""

    units: int = 192
    """How many units. Each is a complex number, so the head reads twice as many features."""
    gradient: Gradient = "rtrl"
    """How credit reaches the past: exactly (rtrl), or through one step (tbptt)."""
    r_min: float = 0.0
    """Smallest r = |lambda| at the start; r^2 is drawn uniformly."""
    r_max: float = 1.0
    """Largest r at the start."""
    phase_min: float = 0.0
    """Smallest phase at the start; it is drawn uniformly."""
    phase_max: float = 2 * math.pi
    """Largest phase at the start."""
    gain: bool = True
    """Scale the input by gamma = sqrt(1 - r^2), which keeps the variance of a unit's state
    independent of how long it remembers."""
    correction: Correction = "none"
    """What is done about stale sensitivities (docs/staleness.md)."""

    def __post_init__(self) -> None:
        check_recurrent(self.units, self.gradient)
        choose("correction", self.correction, get_args(Correction))
        if self.correction != "none" and self.gradient != "rtrl":
            raise ValueError(
                f"the correction {self.correction!r} moves a sensitivity, which only the gradient "
                f"rtrl carries, got {self.gradient}"
            )
        if not 0 <= self.r_min <= self.r_max <= 1:
            raise ValueError(
                f"an RTU needs 0 <= r_min <= r_max <= 1, got {self.r_min} and {self.r_max}"
            )
        if not (0 <= self.phase_min <= self.phase_max and self.phase_max > 0):
            raise ValueError(
                "an RTU needs 0 <= phase_min <= phase_max and phase_max > 0, got "
                f"{self.phase_min} and {self.phase_max}"
            )


def _fields(
    settings: _Recurrence, key: PRNGKeyArray, inputs: int, activation: Activation
) -> dict[str, Any]:
    """What a cell with these settings holds at the start."""
    key_polar, key_B = jax.random.split(key)
    polar = jax.random.uniform(key_polar, (2, settings.units))
    r_squared = settings.r_min**2 + (settings.r_max**2 - settings.r_min**2) * polar[0]
    phases = settings.phase_max - settings.phase_min
    B_real, B_imag = jax.random.normal(key_B, (2, settings.units, inputs)) / math.sqrt(inputs)
    return {
        # At the ends of the ranges the logarithms would be infinite.
        "nu_log": jnp.log(jnp.clip(-0.5 * jnp.log(r_squared), 1e-6, 10.0)),
        "theta_log": jnp.log(settings.phase_min + phases * jnp.clip(polar[1], 1e-6)),
        "B_real": B_real,
        "B_imag": B_imag,
        "activation": ACTIVATIONS[activation],
        "gain": settings.gain,
        "correction": settings.correction,
        "gradient": settings.gradient,
    }


@dataclass(frozen=True)
class RTU(_Recurrence):
    """The settings of the paper's recurrent trace unit: linear, and read through a function.

    >>> cell = RTU(units=8).build(jax.random.key(0), inputs=4)
    >>> memory = cell.advance(cell.initial_memory(), jnp.ones(4))
    >>> cell.read(memory.hidden).shape
    (16,)
    """

    features: Activation | None = None
    """The function of the state that the head reads; the network's activation if not given."""

    def build(
        self, key: PRNGKeyArray, inputs: int, defaults: Defaults = Defaults()
    ) -> LinearRTUCell:
        activation = self.features or defaults.activation
        return LinearRTUCell(**_fields(self, key, inputs, activation))


@dataclass(frozen=True)
class NonlinearRTU(_Recurrence):
    """The settings of a recurrent trace unit with the network's activation in the recurrence."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.correction == "exact":
            raise ValueError(
                "the correction 'exact' is for the linear unit (cell 'rtu'): here a unit's second "
                "derivatives with respect to its inputs' weights are not zero, and there are as "
                "many as weights times inputs; choose 'diagonal'"
            )

    def build(
        self, key: PRNGKeyArray, inputs: int, defaults: Defaults = Defaults()
    ) -> NonlinearRTUCell:
        return NonlinearRTUCell(**_fields(self, key, inputs, defaults.activation))
