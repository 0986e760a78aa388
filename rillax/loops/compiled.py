"""The loop of a streaming agent in a JAX environment, compiled as a whole."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax import agents, envs
from rillax._jax import enable_x64
from rillax._jax.kernels import Program, one_kernel, quick_jit, repeat
from rillax.envs.environment import Environment
from rillax.loops.interface import (
    DRAINED,
    LONGEST,
    Agent,
    Arrays,
    EpisodeStatistics,
    LoopState,
    Tally,
    is_diverged,
    keys,
    require_steps,
)
from rillax.utils import checkpoint, counts, machine

T = TypeVar("T")


# ---- one frame


class Acted(NamedTuple):
    """An agent that has chosen an action."""

    agent: Any
    action: Array
    key: PRNGKeyArray
    key_env: PRNGKeyArray


class Outcome(NamedTuple):
    """What an action led to."""

    environment: Any
    observation: Array
    reward: Float[Array, ""]
    final_observation: Array
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


def begin(agent: Agent, env: Environment, key: PRNGKeyArray) -> LoopState:
    """A new agent at the first observation of its environment."""
    require_steps(agent, "make_loop(agent, env, seeds) runs it")
    params = env.default_params
    key, key_agent, key_env = jax.random.split(key, 3)
    observation, environment = env.reset_env(key_env, params)
    state = agent.init(key_agent, env.observation_space(params), env.action_space(params))
    nothing = jnp.zeros(()), jnp.zeros(()), jnp.int32(0)
    return LoopState(state, environment, observation, key, *nothing)


def step(agent: Agent, env: Environment, state: LoopState) -> tuple[LoopState, EpisodeStatistics]:
    """One frame: act, step the environment, learn, and forget the sample."""
    acted = _act(agent, state)
    return _learn(agent, state, acted, _step_environment(env, state, acted))


def _act(agent: Agent, state: LoopState) -> Acted:
    key, key_env = jax.random.split(state.key)
    return Acted(*agent.act(state.agent, state.observation), key, key_env)


def _step_environment(env: Environment, state: LoopState, acted: Acted) -> Outcome:
    observation, environment, reward, terminated, truncated, info = env.step(
        acted.key_env, state.environment, acted.action, env.default_params
    )
    final = info["final_observation"]
    return Outcome(environment, observation, reward, final, terminated, truncated)


def _learn(
    agent: Agent, state: LoopState, acted: Acted, outcome: Outcome
) -> tuple[LoopState, EpisodeStatistics]:
    reward, terminated, truncated = outcome.reward, outcome.terminated, outcome.truncated
    agent_state, metrics = agent.learn(
        acted.agent, reward, outcome.final_observation, terminated, truncated
    )
    ended, under_way = count_step(state, reward, jnp.logical_or(terminated, truncated))
    statistics = EpisodeStatistics(
        frames=jnp.int32(1),
        diverged=is_diverged(metrics).astype(jnp.int32),
        metrics=metrics,
        **ended,
    )
    state = LoopState(agent_state, outcome.environment, outcome.observation, acted.key, **under_way)
    return state, statistics


def count_step(
    state: LoopState, reward: Array, done: Bool[Array, "..."]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """What to add up of the episodes that ended, and return and length of those under way."""
    episode_return, low = counts.add(state.episode_return, state.episode_return_low, reward)
    episode_length = jnp.minimum(state.episode_length + 1, LONGEST)
    ended = {
        "episodes": done.astype(jnp.int32),
        "returns": jnp.where(done, episode_return, 0.0),
        "lengths": jnp.where(done, episode_length, 0),
    }
    under_way = {
        "episode_return": jnp.where(done, 0.0, episode_return),
        "episode_return_low": jnp.where(done, 0.0, low),
        "episode_length": jnp.where(done, 0, episode_length),
    }
    return ended, under_way


# ---- many frames


def run(
    agent: Agent, env: Environment, state: LoopState, frames: int
) -> tuple[LoopState, EpisodeStatistics]:
    """Run several seeds for ``frames`` frames (every array of ``state`` has a leading axis).

    The state is donated: use the one that is returned.
    """
    statistics = no_statistics(agent, env, len(state.episode_return))
    return run_into(agent, env, state, statistics, frames)


def run_into(
    agent: Agent,
    env: Environment,
    state: LoopState,
    statistics: EpisodeStatistics,
    frames: int | Int[Array, ""],
) -> tuple[LoopState, EpisodeStatistics]:
    """As ``run``, and add to statistics from before.

    The number of frames is data, not shape, so any number runs in the program compiled once. State
    and statistics are donated, so nothing is copied between calls. However a run is cut into calls,
    both come out the same to the bit.
    """
    return program(agent, env)(*own_buffers((state, statistics)), frames)


def no_statistics(agent: Agent, env: Environment, seeds: int) -> EpisodeStatistics:
    """The statistics of no frames."""
    shapes = _shapes(agent, env, jnp.result_type(float))
    return jax.tree.map(lambda leaf: jnp.zeros((seeds, *leaf.shape), leaf.dtype), shapes)


@cache
def _shapes(agent: Agent, env: Environment, precision: Any) -> EpisodeStatistics:
    """The shapes of one step's statistics, in the precision that is in force."""
    del precision  # only part of the cache's key
    state = jax.eval_shape(partial(begin, agent, env), jax.random.key(0))
    return jax.eval_shape(partial(step, agent, env), state)[1]


def own_buffers(tree: T) -> T:
    """The same arrays, each in a buffer of its own, so that all of them can be donated.

    Outside of ``jit`` a function that returns an array twice returns one buffer twice, and to
    donate that is an error. Only the duplicates are copied.
    """
    leaves, structure = jax.tree.flatten(tree)
    buffers = [_buffer(leaf) for leaf in leaves]
    if len(set(buffers)) == len(leaves):
        return tree
    own = [
        leaf.copy() if buffer in buffers[:i] else leaf
        for i, (leaf, buffer) in enumerate(zip(leaves, buffers, strict=True))
    ]
    return jax.tree.unflatten(structure, own)


def _buffer(leaf: Any) -> int:
    """Where an array is; a tracer, a NumPy array and a sharded array do not say."""
    try:
        return leaf.unsafe_buffer_pointer()
    except (AttributeError, TypeError, ValueError, jax.errors.JaxRuntimeError):
        return id(leaf)


@cache
def program(agent: Agent, env: Environment) -> Program:
    """The compiled loop: as one kernel, or else the agent's part of a frame as one, or neither.

    XLA hands every frame of a loop that is not itself a kernel to its threads. That costs a third
    of the time where there is more than one.
    """

    def form(wrap: Callable) -> Callable:
        frame = partial(_frame, agent, env, wrap)

        def run(
            state: LoopState, statistics: EpisodeStatistics, count: Int[Array, ""]
        ) -> tuple[LoopState, EpisodeStatistics]:
            return repeat(lambda carry: frame(*carry), count, (state, statistics))

        return run

    forms = [form(unchanged)]
    if agents.one_kernel(agent):
        forms.insert(0, form(one_kernel))
        if envs.is_ours(env):
            forms.insert(0, one_kernel(forms[-1]))
    return Program(*forms, donate=(0, 1))


def _frame(
    agent: Agent, env: Environment, wrap: Callable, state: LoopState, total: EpisodeStatistics
) -> tuple[LoopState, EpisodeStatistics]:
    """A frame of several seeds, added to ``total``; ``wrap`` is put around the agent's parts."""
    acted = wrap(jax.vmap(partial(_act, agent)))(state)
    outcome = jax.vmap(partial(_step_environment, env))(state, acted)

    def learn(
        state: LoopState, total: EpisodeStatistics, acted: Acted, outcome: Outcome
    ) -> tuple[LoopState, EpisodeStatistics]:
        state, statistics = jax.vmap(partial(_learn, agent))(state, acted, outcome)
        return state, jax.tree.map(jnp.add, total, statistics)

    return wrap(learn)(state, total, acted, outcome)


def unchanged(function: Callable) -> Callable:
    return function


# ---- several seeds


class CompiledLoop:
    """Several seeds in compiled loops: on a CPU one per seed, as many at a time as there are cores.

    One loop over all seeds is about as fast on a single core. But with a loop of its own a seed's
    numbers do not depend on the other seeds, to the bit. On other hardware all seeds are one batch.
    """

    def __init__(self, agent: Agent, env: Environment, seeds: Sequence[int]):
        self.agent, self.env = agent, env
        first = quick_jit(jax.vmap(lambda key: begin(agent, env, key)))
        alone = jax.default_backend() == "cpu"
        groups = [[seed] for seed in seeds] if alone else [seeds]
        self.states: list[LoopState] = [first(keys(group)) for group in groups]
        self.clear()

    def clear(self) -> None:
        self._begin_sums()
        self._tally = Tally(_join(self.statistics))

    def _begin_sums(self) -> None:
        self.statistics = [
            no_statistics(self.agent, self.env, len(state.episode_return)) for state in self.states
        ]
        self._summed = 0
        """Frames since the sums were drained."""

    def run(self, frames: int) -> EpisodeStatistics:
        while True:
            now = min(frames, DRAINED - self._summed)
            self._run_all(now)
            self._summed, frames = self._summed + now, frames - now
            if self._summed == DRAINED:
                self._tally.add(_join(self.statistics))
                self._begin_sums()
            if frames == 0:
                return self._tally.with_(_join(self.statistics))

    def _run_all(self, frames: int) -> None:
        wide = jnp.result_type(float) == jnp.float64  # which threads do not inherit

        def run_group(i: int) -> None:
            with enable_x64(wide):
                self.states[i], self.statistics[i] = jax.block_until_ready(
                    run_into(self.agent, self.env, self.states[i], self.statistics[i], frames)
                )

        groups = list(range(len(self.states)))
        if program(self.agent, self.env).compilations() == 0:
            run_group(groups.pop(0))  # compiles, for the others too
        list(_threads().map(run_group, groups))

    def replace_agent(self, agent: Agent, convert: Callable[[Any], Any]) -> None:
        """Continue with another agent, whose states ``convert`` makes from the present ones."""
        self.states = [state._replace(agent=convert(state.agent)) for state in self.states]
        self.agent = agent

    def save(self) -> Arrays:
        arrays = checkpoint.flatten((_join(self.states), _join(self.statistics)))
        return arrays | self._tally.save()

    def restore(self, arrays: Arrays, what: str) -> None:
        like = _join(self.states), _join(self.statistics)
        state, statistics = checkpoint.unflatten(like, arrays, what)
        self._tally.restore(arrays, what)
        self._summed = int(statistics.frames[0])
        if not 0 <= self._summed < DRAINED:
            raise ValueError(f"it has summed {self._summed} frames, and sums at most {DRAINED}")
        size = len(self.states[0].episode_return)
        places = [slice(i * size, (i + 1) * size) for i in range(len(self.states))]
        self.states = [jax.tree.map(lambda leaf, at=at: leaf[at], state) for at in places]
        self.statistics = [jax.tree.map(lambda leaf, at=at: leaf[at], statistics) for at in places]

    def agent_state(self) -> Any:
        return _join([state.agent for state in self.states])


def _join(trees: Sequence[Any]) -> Any:
    """Trees over some seeds as one over all."""
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *trees)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(len(machine.cores()))
