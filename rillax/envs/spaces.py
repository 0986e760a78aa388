"""What observations, actions and states can be, in JAX; and the same as Gymnasium's spaces.

The names are gymnax's. Code that is given a space goes by what it has, not by its class, so that
gymnax's spaces work where ours do: ``n`` is a ``Discrete``, ``spaces`` a ``Tuple`` or a ``Dict``,
``low`` and ``high`` a ``Box``.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray

from rillax.spaces import is_box, is_discrete


class Space:
    """A set of values that can be drawn from."""

    def sample(self, key: PRNGKeyArray) -> Any:
        """A value of the space, drawn at random."""
        raise NotImplementedError

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Whether ``x`` is a value of the space."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Discrete(Space):
    """The integers from 0 to n - 1.

    >>> Discrete(2)
    Discrete(2, dtype=int32)
    """

    n: int
    dtype: Any = dataclasses.field(default=jnp.int32, kw_only=True)

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"a Discrete space needs at least one value, got n={self.n}")

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    def __repr__(self) -> str:
        return f"Discrete({self.n}, dtype={np.dtype(self.dtype).name})"

    def sample(self, key: PRNGKeyArray) -> Array:
        return jax.random.randint(key, (), 0, self.n, self.dtype)

    def contains(self, x: Any) -> Bool[Array, ""]:
        x = jnp.asarray(x)
        whole = x.shape == () and jnp.issubdtype(x.dtype, jnp.integer)
        return jnp.asarray(whole) & (x >= 0).all() & (x < self.n).all()


@dataclasses.dataclass(frozen=True, eq=False)
class Box(Space):
    """Arrays of one shape between two bounds, which belong to it.

    >>> Box(-1.0, 1.0, (3,))
    Box(low=-1.0, high=1.0, shape=(3,), dtype=float32)
    """

    low: Any
    high: Any
    shape: tuple[int, ...]
    dtype: Any = jnp.float32

    def __repr__(self) -> str:
        low, high = (_readable(bound) for bound in (self.low, self.high))
        name = np.dtype(self.dtype).name
        return f"Box(low={low}, high={high}, shape={self.shape}, dtype={name})"

    def sample(self, key: PRNGKeyArray) -> Array:
        """Uniform between finite bounds; normal or exponential where one or both are infinite."""
        if not jnp.issubdtype(self.dtype, jnp.floating):
            return self._sample_whole(key)
        between = jax.random.uniform(key, self.shape, minval=self.low, maxval=self.high)
        anywhere = jax.random.normal(key, self.shape)
        distance = jax.random.exponential(key, self.shape)
        from_low, from_high = jnp.isfinite(self.low), jnp.isfinite(self.high)
        one_sided = jnp.where(from_low, self.low + distance, self.high - distance)
        either = jnp.where(from_low | from_high, one_sided, anywhere)
        return jnp.where(from_low & from_high, between, either).astype(self.dtype)

    def _sample_whole(self, key: PRNGKeyArray) -> Array:
        low, high = (jnp.asarray(bound, jnp.int32) for bound in (self.low, self.high))
        return jax.random.randint(key, self.shape, low, high + 1).astype(self.dtype)

    def contains(self, x: Any) -> Bool[Array, ""]:
        x = jnp.asarray(x)
        inside = (x >= self.low) & (x <= self.high)
        return jnp.asarray(x.shape == tuple(self.shape)) & inside.all()


@dataclasses.dataclass(frozen=True, eq=False)
class Tuple(Space):
    """Values of several spaces, in order."""

    spaces: Sequence[Any]

    def __repr__(self) -> str:
        return f"Tuple({', '.join(map(repr, self.spaces))})"

    def sample(self, key: PRNGKeyArray) -> tuple[Any, ...]:
        keys = jax.random.split(key, len(self.spaces))
        return tuple(space.sample(k) for space, k in zip(self.spaces, keys, strict=True))

    def contains(self, x: Any) -> Bool[Array, ""]:
        if len(x) != len(self.spaces):
            return jnp.asarray(False)
        return _all(space.contains(part) for space, part in zip(self.spaces, x, strict=True))


@dataclasses.dataclass(frozen=True, eq=False)
class Dict(Space):
    """Values of several spaces, by name: the entries of a mapping, or the fields of a state."""

    spaces: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"Dict({', '.join(f'{name}: {space!r}' for name, space in self.spaces.items())})"

    def sample(self, key: PRNGKeyArray) -> dict[str, Any]:
        keys = jax.random.split(key, len(self.spaces))
        pairs = zip(self.spaces.items(), keys, strict=True)
        return {name: space.sample(k) for (name, space), k in pairs}

    def contains(self, x: Any) -> Bool[Array, ""]:
        parts = x if isinstance(x, Mapping) else vars(x)
        if set(parts) != set(self.spaces):
            return jnp.asarray(False)
        return _all(space.contains(parts[name]) for name, space in self.spaces.items())


def to_gymnasium(space: Any) -> gymnasium.Space:
    """The same space as Gymnasium's, be it ours or gymnax's."""
    if is_discrete(space):
        return gymnasium.spaces.Discrete(int(space.n))
    if is_box(space):
        low, high = (_on_host(bound) for bound in (space.low, space.high))
        return gymnasium.spaces.Box(low, high, tuple(space.shape), np.dtype(space.dtype).type)
    if is_tuple(space):
        return gymnasium.spaces.Tuple([to_gymnasium(part) for part in space.spaces])
    if hasattr(space, "spaces"):
        parts = {name: to_gymnasium(part) for name, part in space.spaces.items()}
        return gymnasium.spaces.Dict(parts)
    raise ValueError(f"Gymnasium has no space like {space}: expected Box, Discrete, Tuple or Dict")


def is_tuple(space: Any) -> bool:
    return hasattr(space, "spaces") and not isinstance(space.spaces, Mapping)


def _on_host(bound: Any) -> Any:
    """A bound as Gymnasium takes it: a number for all, or an array."""
    bound = np.asarray(bound)
    return bound.item() if bound.size == 1 else bound


def _readable(bound: Any) -> str:
    return repr(bound.tolist()) if isinstance(bound, np.ndarray | jax.Array) else repr(bound)


def _all(answers: Any) -> Bool[Array, ""]:
    return jnp.asarray([True, *answers]).all()
