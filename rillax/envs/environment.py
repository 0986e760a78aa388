"""The interface of an environment in JAX: gymnax 1.0's, so that either's fit where the other's do.

An environment of one's own subclasses ``Environment`` and says how an episode starts
(``reset_env``), how it goes on (``step_env``), when it is over (``is_terminated``) and what its
spaces are. ``reset`` and ``step``, which loops call, follow from these.
"""

import copy
import dataclasses
import math
from functools import partial
from typing import Any, Generic, Self, TypeGuard, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from rillax.spaces import is_discrete

__all__ = ["EnvParams", "EnvState", "Environment", "dataclass", "is_jax", "spaces_of"]

T = TypeVar("T")
State = TypeVar("State")
Params = TypeVar("Params")


class _Replaceable:
    def replace(self, **changes: Any) -> Self:
        """A copy with some of its fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


@dataclass_transform(frozen_default=True)
def dataclass(cls: type[T]) -> type[T]:
    """Makes a class a frozen dataclass and a pytree; each of its fields is a part of the tree.

    A subclass has its parent's fields first, as in any dataclass. ``replace`` returns a copy with
    some fields changed. A field made with ``dataclasses.field(metadata={"static": True})`` is no
    part of the tree: it is a constant of a compiled program.

    >>> @dataclass
    ... class Maze(EnvState):
    ...     room: int
    >>> jax.tree.leaves(Maze(time=0, room=3).replace(room=4))
    [0, 4]
    """
    made: Any = dataclasses.dataclass(frozen=True)(cls)
    if not hasattr(made, "replace"):
        made.replace = _Replaceable.replace
    constants = [f.name for f in dataclasses.fields(made) if f.metadata.get("static")]
    parts = [f.name for f in dataclasses.fields(made) if f.name not in constants]
    return jax.tree_util.register_dataclass(made, parts, constants)


@dataclass
class EnvState(_Replaceable):
    """What an environment carries from step to step; one of one's own adds fields."""

    time: Any


@dataclass
class EnvParams(_Replaceable):
    """The settings of an environment that a compiled program takes as numbers.

    An episode is cut off after ``max_steps_in_episode``, which by itself is never.
    """

    max_steps_in_episode: int = 2**31 - 1


class Environment(Generic[State, Params]):
    """A task of pure functions: what changes is passed in and returned, never kept.

    ``reset`` and ``step`` are compiled, once for each instance, which must therefore not change
    after its constructor.
    """

    _supports_transition_gradients = False
    _transition_gradients_enabled = False

    @property
    def default_params(self) -> Any:
        """The settings that ``reset`` and ``step`` use when they are given none."""
        return EnvParams()

    @partial(jax.jit, static_argnames="self")
    def reset(self, key: PRNGKeyArray, params: Params | None = None) -> tuple[Any, State]:
        """The first observation of an episode, and its state."""
        return self.reset_env(key, self.default_params if params is None else params)

    @partial(jax.jit, static_argnames="self")
    def step(
        self, key: PRNGKeyArray, state: State, action: Any, params: Params | None = None
    ) -> tuple[Any, State, Float[Array, ""], Bool[Array, ""], Bool[Array, ""], dict[Any, Any]]:
        """Observation, state, reward, terminated, truncated, info; a new episode starts by itself.

        Where an episode is over, the observation and the state are the first of the next one.
        ``info["final_observation"]`` is always the one that the action led to.
        """
        params = self.default_params if params is None else params
        key_step, key_reset = jax.random.split(key)
        reached, after, reward, terminated, info = self.step_env(key_step, state, action, params)
        truncated = self.is_truncated(after, params)
        over = jnp.logical_or(terminated, truncated)
        fresh, restarted = self.reset_env(key_reset, params)
        choose = partial(jax.lax.select, over)
        state, observation = jax.tree.map(choose, (restarted, fresh), (after, reached))
        info = {
            **info,
            "terminated": terminated,
            "truncated": truncated,
            "final_observation": reached,
        }
        return observation, state, reward, terminated, truncated, info

    def reset_env(self, key: PRNGKeyArray, params: Params) -> tuple[Any, State]:
        """The first observation and state of an episode; the environment's own part of ``reset``.

        ``step`` computes it at every step, so it should cost no more than one.
        """
        raise NotImplementedError

    def step_env(
        self, key: PRNGKeyArray, state: State, action: Any, params: Params
    ) -> tuple[Any, State, Any, Any, dict[Any, Any]]:
        """Observation, state, reward, terminated, info; the environment's own part of ``step``."""
        raise NotImplementedError

    def observe(self, key: PRNGKeyArray, state: State, action: Any, params: Params) -> Any:
        """The observation of a state that ``action`` led to; None is the start of an episode."""
        raise NotImplementedError

    def is_terminated(self, state: State, params: Params) -> Bool[Array, ""]:
        """Whether the task itself is over in this state."""
        raise NotImplementedError

    def is_truncated(self, state: Any, params: Any) -> Bool[Array, ""]:
        """Whether the episode is cut off in this state: by default, when it is out of time."""
        return state.time >= params.max_steps_in_episode

    def discount(self, state: State, params: Params) -> Float[Array, ""]:
        """What the value of this state counts for: 0 where the task is over, 1 elsewhere."""
        return jax.lax.select(self.is_terminated(state, params), 0.0, 1.0)

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def num_actions(self) -> int:
        """How many actions there are, or how many numbers an action has."""
        space = self.action_space(self.default_params)
        return space.n if is_discrete(space) else math.prod(space.shape)

    def action_space(self, params: Any = None) -> Any:
        raise NotImplementedError

    def observation_space(self, params: Any = None) -> Any:
        raise NotImplementedError

    def state_space(self, params: Any = None) -> Any:
        raise NotImplementedError

    @property
    def supports_transition_gradients(self) -> bool:
        """Whether a derivative of a step with respect to state and action exists."""
        return self._supports_transition_gradients

    @property
    def transition_gradients_enabled(self) -> bool:
        """Whether ``step`` lets derivatives through; if not, what it returns is a constant."""
        return self._transition_gradients_enabled

    def with_transition_gradients(self) -> Self:
        """The same environment, with derivatives passing through its steps."""
        if not self.supports_transition_gradients:
            raise ValueError(f"{self.name} does not support transition gradients")
        enabled = copy.copy(self)
        enabled._transition_gradients_enabled = True
        return enabled

    def detach(self, tree: Any) -> Any:
        """The same values, as constants to derivatives unless these are enabled."""
        return tree if self.transition_gradients_enabled else jax.lax.stop_gradient(tree)


def is_jax(env: Any) -> TypeGuard[Environment]:
    """Whether an environment runs inside compiled programs; if not, it is Gymnasium's."""
    return hasattr(env, "step_env")


def spaces_of(env: Any) -> tuple[Any, Any]:
    """The observation and the action space of an environment of either kind."""
    if not is_jax(env):
        return env.observation_space, env.action_space
    params = env.default_params
    return env.observation_space(params), env.action_space(params)
