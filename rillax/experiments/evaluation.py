"""A trained run, played without learning: what each of its seeds earns, episode by episode."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rillax import envs, spaces
from rillax.agents.frozen import Frozen, require_greedy
from rillax.envs.wrappers import for_agents
from rillax.experiments.checkpoints import CHECKPOINT
from rillax.experiments.description import Run
from rillax.experiments.results import number
from rillax.experiments.training import (
    bins_of,
    check_memory,
    checkpoints_of,
    make_run_loop,
    read_config,
)
from rillax.loops import inputs
from rillax.utils import checkpoint
from rillax.utils.checkpoint import CheckpointError
from rillax.utils.files import OutputError

Show = Callable[[Any], None]
"""Called with a picture of the environment after each step."""


@dataclass(frozen=True)
class Evaluation:
    """What one seed earned: a number for each episode."""

    seed: int
    returns: np.ndarray
    lengths: np.ndarray

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns))

    @property
    def deviation(self) -> float:
        """Of the returns over episodes; zero for a single one."""
        return float(np.std(self.returns, ddof=min(1, len(self.returns) - 1)))

    def as_json(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "mean_return": number(self.mean),
            "deviation": number(self.deviation),
            "returns": [number(value) for value in self.returns],
            "lengths": [int(value) for value in self.lengths],
        }


def trained(out: Path, trust: bool = False, only: int | None = None) -> tuple[Run, Any]:
    """A run on disk and the state of its agent; arrays have a leading axis over seeds.

    Nothing is built before the checkpoint is seen to be of this run, and to fit into memory. Where
    a seed has not diverged, its numbers are finite; with ``only``, those of that one are looked at.
    """
    run, _ = read_config(out, trust)
    checkpoints = checkpoints_of(run, out)
    loaded = checkpoints.load()
    if loaded is None:
        raise OutputError(f"{out} has no {CHECKPOINT}, so there is no agent to load")
    check_memory(run)
    loop = make_run_loop(run)
    fresh = loop.agent_state()
    diverged = checkpoints.restore(loaded, loop, bins_of(run)).diverged
    states = loop.agent_state()
    for i in range(run.seeds) if only is None else [only]:
        seed, name = run.seed + i, not_finite(of_seed(states, i), of_seed(fresh, i))
        if name is not None and seed not in diverged:
            raise CheckpointError(
                f"{checkpoints.path} cannot be used: {name} of seed {seed} in it is not finite, "
                "and it does not say that the seed has diverged"
            )
    return run, states


def not_finite(state: Any, fresh: Any) -> str | None:
    """Which numbers of a state are not finite, though all are at the start."""
    arrays, at_start = (checkpoint.flatten(tree) for tree in (state, fresh))
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            usual = np.isfinite(at_start[name]).all()
            if usual or np.isnan(array).any():
                return name
    return None


def of_seed(states: Any, i: int | slice) -> Any:
    """The state of one seed, or of several."""
    return jax.tree.map(lambda leaf: leaf[i], states)


def evaluate(
    run: Run,
    states: Any,
    episodes: int,
    *,
    explore: bool = False,
    seed: int = 0,
    show: Show | None = None,
) -> list[Evaluation]:
    """Each seed of a run for some episodes, as it is; nothing is learned.

    ``seed`` is for the environments: the same one gives the same episodes. With ``show`` the
    environment is asked to render, which Gymnasium's can.
    """
    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes}")
    if not explore:
        require_greedy(run.agent, "evaluate it as it was trained (--explore)")
    frozen = Frozen(run.agent, explore)
    env = envs.make(run.env, **run.env_settings)
    if envs.is_jax(env):
        if show is not None:
            raise ValueError(f"{run.env} runs in JAX and has no pictures: leave out --video")
        play: Any = partial(_play_in_jax, frozen, for_agents(env))
    else:
        play = _HostPlayer(frozen, env if show is None else _with_pictures(run), show)
    results = []
    for i, number_of_seed in enumerate(run.seed_numbers):
        state, earned = of_seed(states, i), []
        for episode in range(episodes):
            state, *ended = play(state, seed * episodes + episode)
            earned.append([float(value) for value in ended])
        returns, lengths = np.array(earned).T
        results.append(Evaluation(number_of_seed, returns, lengths.astype(int)))
    return results


def _with_pictures(run: Run) -> Any:
    pictures: dict[str, Any] = {**run.env_settings, "render_mode": "rgb_array"}
    try:
        return envs.make(run.env, **pictures)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{run.env} cannot be rendered: {error}") from error


def _play_in_jax(frozen: Frozen, env: Any, state: Any, seed: int) -> tuple[Any, Any, Any]:
    return _episode(frozen, env, state, jax.random.key(seed))


@partial(jax.jit, static_argnums=(0, 1))
def _episode(frozen: Frozen, env: Any, state: Any, key: Any) -> tuple[Any, Any, Any]:
    """One episode in a JAX environment: the state after it, its return and its length."""
    params = env.default_params
    key, key_reset = jax.random.split(key)
    observation, environment = env.reset_env(key_reset, params)

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        state, environment, observation, key, earned, length, _ = carry
        key, key_step = jax.random.split(key)
        state, action = frozen.act(state, observation)
        _, after, reward, terminated, truncated, info = env.step(
            key_step, environment, action, params
        )
        reached, over = info["final_observation"], jnp.logical_or(terminated, truncated)
        state = frozen.watch(state, reward, reached, over)
        return state, after, reached, key, earned + reward, length + 1, over

    start = (frozen.begin(state), environment, observation, key)
    begun = (*start, jnp.zeros(()), jnp.int32(0), jnp.bool_(False))
    state, *_, earned, length, _ = jax.lax.while_loop(lambda carry: ~carry[-1], step, begun)
    return state, earned, length


class _HostPlayer:
    """Plays in one of Gymnasium's environments."""

    def __init__(self, frozen: Frozen, env: Any, show: Show | None):
        self.frozen, self.env, self.show = frozen, env, show
        self._act, self._watch = jax.jit(frozen.act), jax.jit(frozen.watch)
        self._read = inputs.reader(env.observation_space)
        self._give = spaces.giver(env.action_space)

    def __call__(self, state: Any, seed: int) -> tuple[Any, float, int]:
        state, earned, length, over = self.frozen.begin(state), 0.0, 0, False
        observation, _ = self.env.reset(seed=seed)
        seen = self._read(observation)
        while not over:
            state, action = self._act(state, seen)
            observation, reward, terminated, truncated, _ = self.env.step(self._give(action))
            seen = self._read(observation)
            over = bool(terminated or truncated)
            state = self._watch(state, np.float32(reward), seen, over)
            earned, length = earned + float(reward), length + 1
            if self.show is not None:
                self.show(self.env.render())
        return state, earned, length
