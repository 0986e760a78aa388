"""What networks take in beside the observation: the last action and the last reward, if asked for.

Under partial observability an agent cannot always tell what it did from what it sees. Both are
zero at the start of an episode. The reward is the scaled one, as the rest of the agent sees it.
Next to a one-hot action that may be a very small number, so both are normalised along with the
observation unless ``normalise_previous`` is off.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rillax import normalisation, spaces
from rillax.networks.sequences import where
from rillax.updates.sums import sum_of
from rillax.utils import ranges
from rillax.utils.counts import next_until_last

REASON = 1e12
"""No TD error or value is as large as this, unless something has run away.

Three factors of this size, such as an error, a weight and an input, still fit in single precision:
the step that runs away leaves numbers that are finite, and the one after it is refused.
"""


def size(action_space: Any, previous_action: bool, previous_reward: bool) -> int:
    """How many numbers are added to an observation."""
    actions = 0
    if previous_action:
        actions = spaces.action_size(action_space)
    return actions + previous_reward


def nothing(
    action_space: Any, previous_action: bool, previous_reward: bool
) -> Float[Array, " added"] | None:
    """What is added at the start of an episode; None where nothing ever is."""
    count = size(action_space, previous_action, previous_reward)
    return jnp.zeros(count) if count else None


def input_shape(
    observation_shape: tuple[int, ...], added: Float[Array, " added"] | None
) -> tuple[int, ...]:
    """The shape of what networks take in."""
    if added is None:
        return observation_shape
    if len(observation_shape) != 1:
        raise ValueError(
            "previous_action and previous_reward are appended to a vector, but observations have "
            f"shape {observation_shape}; flatten them, or leave both off"
        )
    return (observation_shape[0] + added.size,)


def of(
    added: Float[Array, " added"] | None,
    action: Array,
    reward: Float[Array, ""],
    previous_reward: bool,
) -> Float[Array, " added"] | None:
    """What is added after this action and this reward."""
    if added is None:
        return None
    last = added.size - previous_reward
    parts = []
    if last:
        discrete = jnp.issubdtype(jnp.asarray(action).dtype, jnp.integer)
        parts.append(jax.nn.one_hot(action, last) if discrete else jnp.ravel(action))
    if previous_reward:
        parts.append(jnp.reshape(reward, 1).astype(added.dtype))
    return jnp.concatenate(parts)


def sane(td_error: Float[Array, ""], *others: Any) -> Float[Array, ""]:
    """The TD error, or NaN where it or another number of this step is beyond all reason.

    Of the others, values and gradients, only numbers and vectors are looked at, which costs
    nothing: whatever runs away shows in them, and long before it is too large for single precision.
    """
    by_size: dict[int, Array] = {}  # added up first: one short sum costs less than many
    for leaf in jax.tree.leaves((td_error, others)):
        if leaf.ndim < 2:
            by_size[leaf.size] = by_size.get(leaf.size, jnp.zeros(())) + jnp.abs(leaf.ravel())
    total = sum_of(lambda x: x, list(by_size.values()))
    return jnp.where(total < REASON, td_error, jnp.nan)


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Settings of what an agent takes in; those of our agents that act have them all."""

    previous_action: bool = False
    """Append the last action to what the networks take in (one-hot if discrete)."""
    previous_reward: bool = False
    """Append the last reward, as it is scaled, to what the networks take in."""
    normalise_previous: bool = True
    """Normalise the last action and reward along with the observation."""
    normalise_observations: bool = True
    """Whether observations are normalised by running statistics."""
    normalise_rewards: bool = True
    """Whether rewards are scaled by the deviation of the discounted return."""
    input_bound: float | None = 100.0
    """Largest normalised observation or scaled reward; no limit if None."""
    normalisation_window: int | None = None
    """Normalise by about so many of the last samples; by all there were if not given."""


class Settings(Protocol):
    """What an agent says about its inputs."""

    @property
    def discount(self) -> float: ...
    @property
    def previous_reward(self) -> bool: ...
    @property
    def normalise_previous(self) -> bool: ...
    @property
    def normalise_observations(self) -> bool: ...
    @property
    def normalise_rewards(self) -> bool: ...
    @property
    def input_bound(self) -> float | None: ...
    @property
    def normalisation_window(self) -> int | None: ...


def check(agent: Settings) -> None:
    """Raise a ValueError unless what an agent says about its inputs is in range."""
    ranges.check(agent, discount=ranges.SHARE, input_bound=ranges.POSITIVE)
    ranges.check(agent, normalisation_window=ranges.COUNT)


def limits(agent: Settings) -> normalisation.Limits:
    return normalisation.Limits(agent.input_bound, agent.normalisation_window)


def observe(
    agent: Settings, state: Any, observation: Array, added: Float[Array, " added"] | None
) -> tuple[Float[Array, "..."], normalisation.Running]:
    """The input of a network, normalised, and the statistics that have counted it."""
    together, enabled = agent.normalise_previous, agent.normalise_observations
    running = state.observations
    encoded = spaces.encode(observation, observed_shape(running, added, together))
    if together:
        return normalisation.observe(running, join(encoded, added), enabled, limits(agent))
    seen, running = normalisation.observe(running, encoded, enabled, limits(agent))
    return join(seen, added), running


def scale(
    agent: Settings, state: Any, reward: Array, done: Array
) -> tuple[Float[Array, ""], normalisation.RewardScale]:
    """The reward as the agent scales it, and the statistics that have counted it."""
    how = agent.discount, done, agent.normalise_rewards, limits(agent)
    return normalisation.scale_reward(state.rewards, reward, *how)


def at_start(agent: Any, observation_space: Any, action_space: Any) -> dict[str, Any]:
    """What a state has of inputs before the first observation."""
    shape = spaces.observation_shape(observation_space)
    added = nothing(action_space, agent.previous_action, agent.previous_reward)
    inputs = input_shape(shape, added)
    return {
        "fresh": jnp.bool_(False),
        "observation": jnp.zeros(inputs),
        "added": added,
        "observations": normalisation.start(inputs if agent.normalise_previous else shape),
        "rewards": normalisation.start_reward_scale(),
        "step": jnp.int32(0),
    }


class Outcome(NamedTuple):
    """What the last action led to, as an agent sees it."""

    reward: Float[Array, ""]
    rewards: normalisation.RewardScale
    """The statistics that have counted the reward."""
    added: Float[Array, " added"] | None
    """What is added to the next observation."""
    seen: Float[Array, "..."]
    """The next observation."""

    def kept(self, state: Any, learned: Array, done: Array) -> dict[str, Any]:
        """What a state has of it, if it was ``learned`` from, and how the state goes on."""
        return {
            "fresh": done,
            "added": at_next(where(learned, self.added, state.added), done),
            "rewards": where(learned, self.rewards, state.rewards),
            "step": jnp.where(learned, next_until_last(state.step), state.step),
        }


def outcome(
    agent: Settings, state: Any, taken: Array, reward: Array, next_observation: Array, done: Array
) -> Outcome:
    """What an action led to, scaled and normalised."""
    scaled, rewards = scale(agent, state, reward, done)
    added = of(state.added, taken, scaled, agent.previous_reward)
    seen, _ = observe(agent, state, next_observation, added)
    return Outcome(scaled, rewards, added, seen)


def watched(agent: Settings, state: Any, taken: Array, reward: Array, done: Array) -> Any:
    """The state after a transition that is seen and not learned from."""
    scaled, _ = scale(agent, state, reward, done)
    return state._replace(added=of(state.added, taken, scaled, agent.previous_reward))


def observed_shape(
    running: normalisation.Running, added: Float[Array, "..."] | None, together: bool
) -> tuple[int, ...]:
    """The shape of an observation, of whose statistics what is added may be a part."""
    if added is None or not together:
        return running.mean.shape
    return (running.mean.size - added.shape[-1],)


def join(seen: Float[Array, "..."], added: Float[Array, " added"] | None) -> Float[Array, "..."]:
    """The input of a network."""
    return seen if added is None else jnp.concatenate([seen, added])


def at_next(added: Float[Array, " added"] | None, done: Array) -> Float[Array, " added"] | None:
    """What is added to the next observation: nothing, if the episode ended."""
    return None if added is None else jnp.where(done, 0.0, added)
