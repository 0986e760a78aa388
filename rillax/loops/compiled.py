"""The loop that lets an agent live in an environment, one frame at a time."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax import agents, envs
from rillax._jax.kernels import Program, one_kernel
from rillax.envs.environment import Environment

Count = Array | np.ndarray


def keys(seeds: Sequence[int]) -> PRNGKeyArray:
    """A seed's stream depends on the seed alone, not on how many others run beside it."""
    return jax.vmap(jax.random.key)(np.asarray(seeds))


class Agent(Protocol):
    """What the loop asks of an agent; its state is a tree of arrays whose shapes never change."""

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
    ) -> tuple[Any, dict[str, Float[Array, ""]]]: ...

    def skip(self, state: Any, done: Array) -> Any: ...


class Life(NamedTuple):
    """An agent in the middle of its environment."""

    agent: Any
    environment: Any
    observation: Array
    key: PRNGKeyArray
    episode_return: Float[Array, ""]
    episode_length: Int[Array, ""]


class Tally(NamedTuple):
    """What happened over some frames, reduced on the way: sums, so that tallies add up."""

    frames: Count
    episodes: Count
    returns: Count
    lengths: Count
    diverged: Count
    """Frames in which a metric was not finite."""
    metrics: Mapping[str, Count]


def begin(agent: Agent, env: Environment, key: PRNGKeyArray) -> Life:
    """A new agent at its first observation."""
    params = env.default_params
    key, key_agent, key_env = jax.random.split(key, 3)
    observation, environment = env.reset_env(key_env, params)
    state = agent.init(key_agent, env.observation_space(params), env.action_space(params))
    return Life(state, environment, observation, key, jnp.zeros(()), jnp.int32(0))


def step(agent: Agent, env: Environment, life: Life) -> tuple[Life, Tally]:
    """One frame: act, let the world answer, learn, throw the sample away."""
    acted = _act(agent, life)
    return _learn(agent, life, acted, _answer(env, life, acted))


class Acted(NamedTuple):
    """An agent that has chosen an action."""

    agent: Any
    action: Array
    key: PRNGKeyArray
    key_env: PRNGKeyArray


class Answer(NamedTuple):
    """What the environment says to an action."""

    environment: Any
    observation: Array
    reward: Float[Array, ""]
    final_observation: Array
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


def _act(agent: Agent, life: Life) -> Acted:
    key, key_env = jax.random.split(life.key)
    return Acted(*agent.act(life.agent, life.observation), key, key_env)


def _answer(env: Environment, life: Life, acted: Acted) -> Answer:
    observation, environment, reward, terminated, truncated, info = env.step(
        acted.key_env, life.environment, acted.action, env.default_params
    )
    final = info["final_observation"]
    return Answer(environment, observation, reward, final, terminated, truncated)


def _learn(agent: Agent, life: Life, acted: Acted, answer: Answer) -> tuple[Life, Tally]:
    reward, terminated, truncated = answer.reward, answer.terminated, answer.truncated
    state, metrics = agent.learn(
        acted.agent, reward, answer.final_observation, terminated, truncated
    )
    done = jnp.logical_or(terminated, truncated)
    episode_return, episode_length = life.episode_return + reward, life.episode_length + 1
    tally = Tally(
        frames=jnp.int32(1),
        episodes=done.astype(jnp.int32),
        returns=jnp.where(done, episode_return, 0.0),
        lengths=jnp.where(done, episode_length, 0),
        diverged=is_sick(metrics).astype(jnp.int32),
        metrics=metrics,
    )
    life = Life(
        state,
        answer.environment,
        answer.observation,
        acted.key,
        jnp.where(done, 0.0, episode_return),
        jnp.where(done, 0, episode_length),
    )
    return life, tally


def frames(
    agent: Agent, env: Environment, part: Callable, life: Life, total: Tally
) -> tuple[Life, Tally]:
    """A frame of several lives, added to a tally; ``part`` wraps the agent's parts of it."""
    acted = part(jax.vmap(partial(_act, agent)))(life)
    answer = jax.vmap(partial(_answer, env))(life, acted)

    def learn(life: Life, total: Tally, acted: Acted, answer: Answer) -> tuple[Life, Tally]:
        life, tally = jax.vmap(partial(_learn, agent))(life, acted, answer)
        return life, jax.tree.map(jnp.add, total, tally)

    return part(learn)(life, total, acted, answer)


def is_sick(metrics: dict[str, Float[Array, ""]]) -> Bool[Array, ""]:
    """Whether a metric is not finite: what a diverged network shows at its next step."""
    return ~jnp.all(jnp.isfinite(jnp.stack(list(metrics.values()))))


@cache
def _shapes(agent: Agent, env: Environment, precision: Any) -> Tally:
    """The shapes of one step's tally, in the precision that is in force."""
    del precision  # only part of the cache's key
    life = jax.eval_shape(partial(begin, agent, env), jax.random.key(0))
    return jax.eval_shape(partial(step, agent, env), life)[1]


def no_tally(agent: Agent, env: Environment, seeds: int) -> Tally:
    """The tally of no frames."""
    shapes = _shapes(agent, env, jnp.result_type(float))
    return jax.tree.map(lambda leaf: jnp.zeros((seeds, *leaf.shape), leaf.dtype), shapes)


def go_on(
    agent: Agent, env: Environment, life: Life, tally: Tally, frames: int | Int[Array, ""]
) -> tuple[Life, Tally]:
    """``frames`` more frames, added to a tally.

    The number of frames is data, not shape: any number runs in the program compiled once. The state
    is donated, so nothing is copied between calls. However a stretch is cut into calls, life and
    tally come out the same to the bit.
    """
    return loop(agent, env)(life, tally, frames)


@cache
def loop(agent: Agent, env: Environment) -> Program:
    """The compiled loop: as one kernel, or else the agent's part of a frame as one, or neither.

    Of a loop that is not itself a kernel XLA hands every frame to its threads, which costs a third
    of the time where there is more than one.
    """

    def form(part: Callable) -> Callable:
        frame = partial(frames, agent, env, part)

        def run(life: Life, tally: Tally, count: Int[Array, ""]) -> tuple[Life, Tally]:
            return jax.lax.fori_loop(0, count, lambda _, carry: frame(*carry), (life, tally))

        return run

    forms = [form(as_it_is)]
    if agents.one_kernel(agent):
        forms.insert(0, form(one_kernel))
        if envs.is_ours(env):
            forms.insert(0, one_kernel(forms[-1]))
    return Program(*forms, donate=(0, 1))


def as_it_is(function: Callable) -> Callable:
    return function


def live(agent: Agent, env: Environment, life: Life, frames: int) -> tuple[Life, Tally]:
    """``frames`` frames of several lives at once (every leaf of ``life`` has a leading axis)."""
    return go_on(agent, env, life, no_tally(agent, env, len(life.episode_return)), frames)
