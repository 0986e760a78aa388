"""Several seeds of one agent, living side by side, in an environment of either kind.

``JaxLives`` runs inside one compiled loop. ``HostLives`` runs S Gymnasium environments and one
agent over S seeds: a single compiled call a frame learns from the last transition and chooses the
next actions, its state donated, so that nothing but observations and actions crosses over.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnax.environments.environment import Environment

from rillax import checkpoint, inputs, spaces
from rillax.agents import PPO, one_kernel
from rillax.envs.snapshot import restore, snapshot
from rillax.inputs import BadInput, OnBadInput
from rillax.kernels import Program
from rillax.packing import Packing
from rillax.rollouts import HostRollouts, JaxRollouts
from rillax.stream import Agent, Tally, begin, go_on, is_sick, keys, no_tally

Arrays = dict[str, np.ndarray]
_DIVERGED = "diverged"
_ONCE = {"xla_backend_optimization_level": 1}
"""How to compile what runs once: optimising it takes longer than running it."""


class Lives(Protocol):
    """What a runner needs: go on for some frames, and put everything into arrays or back."""

    def run(self, frames: int) -> Tally:
        """Go on; returns the tally since the last ``clear``.

        It is kept from call to call, so that it does not depend on where the calls were cut.
        """
        ...

    def clear(self) -> None: ...

    def save(self) -> Arrays: ...

    def restore(self, arrays: Arrays, what: str) -> None: ...

    def agent_state(self) -> Any: ...


def make_lives(
    agent: Agent | PPO, env: Any, seeds: Sequence[int], on_bad_input: OnBadInput = "raise"
) -> Lives:
    """Lives in a gymnax environment, or in as many Gymnasium ones as there are seeds.

    ``env`` is a gymnax environment, a Gymnasium one (for a single seed), or a function that makes
    one.
    """
    make_env = (lambda: env) if isinstance(env, gymnasium.Env) else env
    if isinstance(agent, PPO):
        if isinstance(env, Environment):
            return JaxRollouts(agent, env, seeds)
        return HostRollouts(agent, make_env, seeds, on_bad_input)
    if isinstance(env, Environment):
        return JaxLives(agent, env, seeds)
    return HostLives(agent, [make_env() for _ in seeds], seeds, on_bad_input)


class JaxLives:
    """Lives inside one compiled loop."""

    def __init__(self, agent: Agent, env: Environment, seeds: Sequence[int]):
        self.agent, self.env = agent, env
        first = jax.jit(jax.vmap(lambda key: begin(agent, env, key)), compiler_options=_ONCE)
        self.life = first(keys(seeds))
        self.clear()

    def clear(self) -> None:
        self.tally = no_tally(self.agent, self.env, len(self.life.episode_return))

    def run(self, frames: int) -> Tally:
        self.life, self.tally = go_on(self.agent, self.env, self.life, self.tally, frames)
        return jax.device_get(self.tally)

    def save(self) -> Arrays:
        return checkpoint.flatten((self.life, self.tally))

    def restore(self, arrays: Arrays, what: str) -> None:
        self.life, self.tally = checkpoint.unflatten((self.life, self.tally), arrays, what)

    def agent_state(self) -> Any:
        return self.life.agent


class HostLives:
    """Lives beside Gymnasium environments."""

    def __init__(
        self,
        agent: Agent,
        envs: Sequence[gymnasium.Env],
        seeds: Sequence[int],
        on_bad_input: OnBadInput = "raise",
    ):
        self.envs, self.seeds, self.on_bad_input = list(envs), list(seeds), on_bad_input
        self.observation_space = envs[0].observation_space
        self.action_space = envs[0].action_space
        self._first_action = (
            inputs.first(self.action_space) if spaces.is_discrete(self.action_space) else None
        )
        state = jax.jit(
            jax.vmap(lambda key: agent.init(key, self.observation_space, self.action_space)),
            compiler_options=_ONCE,
        )(keys(seeds))
        self._packing = Packing(state)
        self._packed = self._packing.pack(state)
        self._compile(agent)
        self.frame = 0
        count = len(seeds)
        self.episode_return, self.episode_length = np.zeros(count), np.zeros(count, np.int64)
        self.dropped = np.zeros(count, bool)
        """Seeds whose last observation was bad, so that what follows cannot be learned from."""
        self.pending: Arrays | None = None
        """The transition that the next call learns from, and the observation it acts on."""
        self.observation = np.stack(
            [self._seen(env.reset(seed=seed)[0]) for env, seed in zip(envs, seeds, strict=True)]
        )
        self._last: Any = None
        self.clear()

    def clear(self) -> None:
        count = len(self.envs)
        self._sums = self._empty_sums(self._packed, self.observation)
        self._counts: Arrays = {
            "frames": np.zeros(count, np.int64),
            "episodes": np.zeros(count, np.int64),
            "returns": np.zeros(count),
            "lengths": np.zeros(count, np.int64),
            "skipped": np.zeros(count),
        }

    def _compile(self, agent: Agent) -> None:
        pack, unpack = self._packing.pack, self._packing.unpack

        def with_health(metrics: dict[str, jax.Array]) -> dict[str, jax.Array]:
            return {**metrics, _DIVERGED: is_sick(metrics).astype(float)}

        def act(packed: list[jax.Array], observation: jax.Array) -> Any:
            state, action = jax.vmap(agent.act)(unpack(packed), observation)
            return pack(state), action

        def learn_act(packed: list[jax.Array], sums: Any, pending: Any) -> Any:
            def one(state: Any, t: Any) -> Any:
                state, metrics = agent.learn(
                    state, t["reward"], t["final"], t["terminated"], t["truncated"]
                )
                state, action = agent.act(state, t["observation"])
                return state, with_health(metrics), action

            state, metrics, action = jax.vmap(one)(unpack(packed), pending)
            return pack(state), jax.tree.map(jnp.add, sums, metrics), action

        def careful(packed: list[jax.Array], sums: Any, pending: Any, good: Any, last: Any) -> Any:
            """As ``learn_act``, for a frame in which something was bad for one of the seeds."""

            def choose(condition: Any, yes: Any, no: Any) -> Any:
                return jax.tree.map(lambda y, n: jnp.where(condition, y, n), yes, no)

            def one(state: Any, t: Any, good: Any, last: Any) -> Any:
                done = t["terminated"] | t["truncated"]
                learned, metrics = agent.learn(
                    state, t["reward"], t["final"], t["terminated"], t["truncated"]
                )
                skipped = agent.skip(state, done)
                state = choose(good["transition"], learned, skipped)
                metrics = with_health(metrics)
                metrics = choose(good["transition"], metrics, jax.tree.map(jnp.zeros_like, metrics))
                acted, action = agent.act(state, t["observation"])
                seen = good["observation"]
                return choose(seen, acted, state), metrics, jnp.where(seen, action, last)

            state, metrics, action = jax.vmap(one)(unpack(packed), pending, good, last)
            return pack(state), jax.tree.map(jnp.add, sums, metrics), action

        trusted = one_kernel(agent)
        self._act = Program(lambda wrap: wrap(act), donate=(0,), trusted=trusted)
        self._learn_act = Program(lambda wrap: wrap(learn_act), donate=(0, 1), trusted=trusted)
        self._careful = jax.jit(careful, donate_argnums=(0, 1))

        def empty(packed: list[jax.Array], observation: jax.Array) -> Any:
            def one(state: Any, observation: jax.Array) -> Any:
                no = jnp.bool_(False)
                return with_health(agent.learn(state, jnp.zeros(()), observation, no, no)[1])

            shapes = jax.eval_shape(jax.vmap(one), unpack(packed), observation)
            return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

        self._empty_sums = jax.jit(empty)

    def _seen(self, observation: Any) -> np.ndarray:
        return inputs.as_observation(observation, self.observation_space)

    def run(self, frames: int) -> Tally:
        count, counts = len(self.envs), self._counts
        for _ in range(frames):
            actions = self._decide()
            reward = np.zeros(count, np.float32)
            terminated, truncated = np.zeros(count, bool), np.zeros(count, bool)
            final = np.empty_like(self.observation)
            observation = np.empty_like(self.observation)
            for i, env in enumerate(self.envs):
                seen, reward[i], terminated[i], truncated[i], _ = env.step(actions[i])
                final[i] = observation[i] = self._seen(seen)
                self.episode_return[i] += float(reward[i])
                self.episode_length[i] += 1
                if terminated[i] or truncated[i]:
                    observation[i] = self._seen(env.reset()[0])
                    counts["episodes"][i] += 1
                    counts["returns"][i] += self.episode_return[i]
                    counts["lengths"][i] += self.episode_length[i]
                    self.episode_return[i], self.episode_length[i] = 0.0, 0
            self.pending = {
                "reward": reward,
                "final": final,
                "terminated": terminated,
                "truncated": truncated,
                "observation": observation,
            }
            self.frame += 1
        counts["frames"] += frames
        metrics = {name: np.asarray(value) for name, value in self._sums.items()}
        tally = {name: value.copy() for name, value in counts.items()}
        diverged = metrics.pop(_DIVERGED).astype(int)
        metrics["skipped"] = tally.pop("skipped")
        return Tally(diverged=diverged, metrics=metrics, **tally)

    def _decide(self) -> np.ndarray:
        """Learn from the pending transition, if there is one, and choose the next actions."""
        if self.pending is None:
            for i in range(len(self.envs)):
                self._check(i, inputs.what_is_wrong("the observation", self.observation[i]), True)
            self._packed, action = self._act(self._packed, self.observation)
        elif self._all_good(self.pending):
            self._packed, self._sums, action = self._learn_act(
                self._packed, self._sums, self.pending
            )
        else:
            good = self._what_is_good(self.pending)
            self._counts["skipped"] += ~good["transition"]
            self.dropped = ~good["observation"]
            self._packed, self._sums, action = self._careful(
                self._packed, self._sums, self.pending, good, self._last
            )
        self._last = action
        actions = np.asarray(action)
        return actions if self._first_action is None else actions + self._first_action

    def _all_good(self, pending: Arrays) -> bool:
        return (
            not self.dropped.any()
            and bool(np.isfinite(pending["reward"]).all())
            and bool(np.isfinite(pending["final"]).all())
            and bool(np.isfinite(pending["observation"]).all())
        )

    def _what_is_good(self, pending: Arrays) -> Arrays:
        good = {"transition": ~self.dropped, "observation": np.ones(len(self.envs), bool)}
        for i in range(len(self.envs)):
            for name, what in (("reward", "the reward"), ("final", "the observation")):
                wrong = inputs.what_is_wrong(what, pending[name][i])
                self._check(i, wrong)
                good["transition"][i] &= wrong is None
            wrong = inputs.what_is_wrong("the observation", pending["observation"][i])
            self._check(i, wrong)
            good["observation"][i] = wrong is None
        return good

    def _check(self, i: int, wrong: str | None, always: bool = False) -> None:
        if wrong is not None and (always or self.on_bad_input == "raise"):
            raise BadInput(
                f"seed {self.seeds[i]}, frame {self.frame}: {wrong}; nothing was learned from it"
            )

    def agent_state(self) -> Any:
        return self._packing.unpack(self._packed)

    def save(self) -> Arrays:
        arrays = {f"agent{k}": v for k, v in checkpoint.flatten(self.agent_state()).items()}
        for i, env in enumerate(self.envs):
            arrays |= {f"env/{i}/{name}": value for name, value in snapshot(env).items()}
        arrays |= {f"sums/{name}": np.asarray(value) for name, value in self._sums.items()}
        arrays |= {f"counts/{name}": value for name, value in self._counts.items()}
        arrays |= {
            "frame": np.asarray(self.frame),
            "episode_return": self.episode_return,
            "episode_length": self.episode_length,
            "dropped": self.dropped,
        }
        if self.pending is not None:
            arrays |= {f"pending/{name}": value for name, value in self.pending.items()}
            arrays["last"] = np.asarray(self._last)
        return arrays

    def restore(self, arrays: Arrays, what: str) -> None:
        def under(prefix: str) -> Arrays:
            return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

        state = checkpoint.unflatten(self.agent_state(), under("agent"), what)
        for i, env in enumerate(self.envs):
            restore(env, under(f"env/{i}/"))
        self._packed = self._packing.pack(state)
        self._sums = {name: jnp.asarray(value) for name, value in under("sums/").items()}
        self._counts = {name: value.copy() for name, value in under("counts/").items()}
        self.frame = int(arrays["frame"])
        self.episode_return = arrays["episode_return"].copy()
        self.episode_length = arrays["episode_length"].copy()
        self.dropped = arrays["dropped"].copy()
        self.pending = under("pending/") or None
        if self.pending is not None:
            self._last = jnp.asarray(arrays["last"])
