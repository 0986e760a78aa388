"""What a loop asks of an agent, and what a loop gives to whoever runs it."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax.utils import checkpoint

Arrays = dict[str, np.ndarray]
Count = Array | np.ndarray
LearnsFrom = Literal["steps", "rollouts"]
Metrics = dict[str, Float[Array, ""]]


# ---- agents


class Agent(Protocol):
    """An agent that learns from each step as it comes.

    Its state is a tree of arrays whose shapes never change.
    """

    def __hash__(self) -> int: ...

    def init(self, key: PRNGKeyArray, observation_space: Any, action_space: Any) -> Any: ...

    def act(self, state: Any, observation: Array) -> tuple[Any, Array]: ...

    def learn(
        self,
        state: Any,
        reward: Array,
        next_observation: Array,
        terminated: Array,
        truncated: Array,
    ) -> tuple[Any, Metrics]: ...

    def skip(self, state: Any, done: Array) -> Any:
        """Let a transition go by unlearned, because something in it was not finite."""
        ...


class RolloutAgent(Protocol):
    """An agent that plays a rollout with fixed parameters and then learns from all of it.

    It plays in ``environments`` environments at once: N below. Its state is a named tuple of trees
    whose shapes never change. One of its fields, ``sample``, is the step under way.
    """

    learns_from: ClassVar[LearnsFrom]
    """``"rollouts"``."""
    acting_fields: ClassVar[tuple[str, ...]]
    """The fields of the state that ``act`` and ``record`` change; they are small."""
    update_fields: ClassVar[tuple[str, ...]]
    """The fields of the state that only ``update`` reads or changes."""

    def __hash__(self) -> int: ...

    @property
    def environments(self) -> int: ...

    @property
    def rollout(self) -> int:
        """Steps of each environment between updates."""
        ...

    @property
    def frames(self) -> int:
        """Frames of a rollout, over all environments."""
        ...

    def init(self, key: PRNGKeyArray, observation_space: Any, action_space: Any) -> Any: ...

    def act(
        self, state: Any, observation: Array, seen: Bool[Array, " N"] | None = None
    ) -> tuple[Any, Array]:
        """Choose N actions. Where an observation is not ``seen``, memory does not take it in."""
        ...

    def record(
        self,
        state: Any,
        reward: Float[Array, " N"],
        next_observation: Array,
        terminated: Bool[Array, " N"],
        truncated: Bool[Array, " N"],
        usable: Bool[Array, " N"] | None = None,
    ) -> tuple[Any, Any, Metrics]:
        """The samples of this step, and metrics that are sums over the N environments."""
        ...

    def update(self, state: Any, rollout: Any) -> Any:
        """Learn from the samples of a whole rollout: their leading axes are (rollout, N)."""
        ...

    def batch(self, state: Any, rollout: Any) -> Any:
        """What an update holds in memory at once, beside the state and the rollout."""
        ...


def learns_from(agent: Any) -> LearnsFrom:
    """How an agent is to be run; one that does not say learns from steps."""
    return getattr(agent, "learns_from", "steps")


def require_steps(agent: Any, instead: str) -> None:
    """Raise an error that says what to do instead, unless the agent learns from steps."""
    if learns_from(agent) != "steps":
        raise ValueError(
            f"{type(agent).__name__} learns from {learns_from(agent)}, not from each step as it "
            f"comes; {instead}"
        )


# ---- loops

LONGEST = 2**30
"""An episode of more steps counts as one of so many."""
DRAINED = 2**20
"""After so many frames a compiled loop's sums go to the host, before 32 bits are too few."""


class LoopState(NamedTuple):
    """An agent in the middle of an environment that runs in JAX."""

    agent: Any
    environment: Any
    observation: Array
    key: PRNGKeyArray
    episode_return: Float[Array, "..."]
    episode_return_low: Float[Array, "..."]
    """What the return is more than ``episode_return``, where an episode goes on for very long."""
    episode_length: Int[Array, "..."]
    """It stops at ``LONGEST``."""


class EpisodeStatistics(NamedTuple):
    """Sums over some frames of each seed. Sums of consecutive frames can be added up."""

    frames: Count
    episodes: Count
    """Episodes that ended."""
    returns: Count
    """Of the episodes that ended; so are ``lengths``."""
    lengths: Count
    diverged: Count
    """Frames in which a metric was not finite."""
    metrics: Mapping[str, Count]


class Tally:
    """Episode statistics on the host, in 64 bits, which are enough for ever.

    Compiled loops sum in 32 bits. Their sums are drained into this at fixed frames, so that the
    total does not depend on where the calls were cut.
    """

    def __init__(self, shapes: Any):
        """Nothing so far, of sums that have these shapes."""
        self._total = jax.tree.map(lambda leaf: np.zeros(leaf.shape, _wide(leaf)), shapes)

    def add(self, sums: Any) -> None:
        self._total = self.with_(sums)

    def with_(self, sums: Any) -> Any:
        """The total, and some more."""
        return jax.tree.map(lambda a, b: a + np.asarray(b), self._total, jax.device_get(sums))

    def save(self, prefix: str = "drained") -> Arrays:
        return {f"{prefix}{k}": v for k, v in checkpoint.flatten(self._total).items()}

    def restore(self, arrays: Arrays, what: str, prefix: str = "drained") -> None:
        found = checkpoint.under(prefix, arrays)
        self._total = checkpoint.unflatten_on_host(self._total, found, what)


def _wide(leaf: Any) -> Any:
    return np.int64 if jnp.issubdtype(leaf.dtype, jnp.integer) else np.float64


class Loop(Protocol):
    """Several seeds of one agent, each in an environment of its own."""

    def run(self, frames: int) -> EpisodeStatistics:
        """Run on for ``frames`` frames; returns the statistics since the last ``clear``.

        They are summed from call to call, so they do not depend on where the calls were cut.
        """
        ...

    def clear(self) -> None:
        """Start new statistics."""
        ...

    def save(self) -> Arrays:
        """Everything that decides how the loop continues."""
        ...

    def restore(self, arrays: Arrays, what: str) -> None:
        """Take back what ``save`` gave; ``what`` names it in errors."""
        ...

    def agent_state(self) -> Any:
        """The agent's state; every array has a leading axis over seeds."""
        ...


def keys(seeds: Sequence[int]) -> PRNGKeyArray:
    """A seed's random numbers depend on the seed alone, not on how many others run beside it."""
    return jax.vmap(jax.random.key)(np.asarray(seeds))


def is_diverged(metrics: Metrics) -> Bool[Array, ""]:
    """Whether a metric is not finite, as after the first step of a diverged network."""
    return ~jnp.all(jnp.isfinite(jnp.stack(list(metrics.values()))))
