"""Lives of an agent that learns from rollouts: it plays for a while, then learns, again and again.

All seeds are at the same place in their rollouts, and the host knows it. So playing and learning
are two compiled programs, and neither waits inside the other. Seeds play side by side and learn one
after the other: what an update needs most, the sensitivities of a whole rollout, exists for one
seed at a time.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from rillax import spaces
from rillax.agents import PPO, PPOState, Sample
from rillax.agents.ppo import PLAYING
from rillax.envs.environment import Environment
from rillax.envs.snapshot import restore, snapshot
from rillax.loops import inputs
from rillax.loops.compiled import Life, Tally, is_sick, keys
from rillax.loops.inputs import BadInput, OnBadInput
from rillax.loops.packing import Packing
from rillax.utils import checkpoint

Arrays = dict[str, np.ndarray]
T = TypeVar("T")


def memory_needed(agent: PPO, observation_space: Any, action_space: Any, seeds: int) -> int:
    """Bytes that rollouts and learning from them take, from the shapes alone."""

    def shapes(key: PRNGKeyArray) -> Any:
        state = agent.init(key, observation_space, action_space)
        rollout = _no_rollout(agent, state.sample)
        return (state, rollout), agent.batch(state, rollout)

    kept, learning = jax.eval_shape(shapes, jax.random.key(0))
    return seeds * _bytes(kept) + _bytes(learning)


def _bytes(tree: Any) -> int:
    leaves = [leaf for leaf in jax.tree.leaves(tree) if not checkpoint.is_key(leaf)]
    return sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)


def _no_rollout(agent: PPO, sample: T) -> T:
    """Room for a rollout of samples of this shape: steps come first, then the axes they have."""
    return jax.tree.map(lambda leaf: jnp.zeros((agent.rollout, *leaf.shape), leaf.dtype), sample)


def _put(rollout: T, sample: T, position: Int[Array, ""]) -> T:
    def put(room: Array, leaf: Array) -> Array:
        return jax.lax.dynamic_update_index_in_dim(room, leaf, position, axis=0)

    return jax.tree.map(put, rollout, sample)


def _update(agent: PPO, states: PPOState, rollouts: Sample) -> PPOState:
    """Every seed learns from its rollout, one after the other."""
    per_seed = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, 0), rollouts)
    return jax.lax.map(lambda x: agent.update(*x), (states, per_seed))


class _RolloutLives:
    """When to play and when to learn, however the frames are cut into calls."""

    def __init__(self, agent: PPO):
        self.agent = agent
        self.position = 0
        """Steps of the rollout under way."""
        self.owed = 0
        """Frames asked for that are too few for a step of all environments."""

    def run(self, frames: int) -> Tally:
        steps, self.owed = divmod(self.owed + frames, self.agent.environments)
        while True:
            now = min(steps, self.agent.rollout - self.position)
            self._play(now)
            self.position, steps = self.position + now, steps - now
            if self.position == self.agent.rollout:
                self._learn()
                self.position = 0
            if steps == 0:
                return self._tally()

    def _play(self, steps: int) -> None:
        raise NotImplementedError

    def _learn(self) -> None:
        raise NotImplementedError

    def _tally(self) -> Tally:
        raise NotImplementedError

    def _place(self) -> Arrays:
        return {"position": np.asarray(self.position), "owed": np.asarray(self.owed)}

    def _go_to(self, arrays: Arrays) -> None:
        self.position, self.owed = int(arrays["position"]), int(arrays["owed"])


class JaxRollouts(_RolloutLives):
    """Playing inside one compiled loop."""

    def __init__(self, agent: PPO, env: Environment, seeds: Sequence[int]):
        super().__init__(agent)
        self.env = env
        self.life = _begin(agent, env, keys(seeds))
        self.rollout = _no_rollout(agent, self.life.agent.sample)
        one = partial(step, agent, env)
        self.tally = jax.eval_shape(lambda life: jax.vmap(one)(life)[2], self.life)
        self.clear()

    def clear(self) -> None:
        self.tally = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), self.tally)

    def _play(self, steps: int) -> None:
        self.life, self.tally, self.rollout = _play(
            self.agent, self.env, self.life, self.tally, self.rollout, self.position, steps
        )

    def _learn(self) -> None:
        self.life = self.life._replace(agent=_learn(self.agent, self.life.agent, self.rollout))

    def _tally(self) -> Tally:
        return jax.device_get(self.tally)

    def save(self) -> Arrays:
        return {**checkpoint.flatten((self.life, self.tally, self.rollout)), **self._place()}

    def restore(self, arrays: Arrays, what: str) -> None:
        like = (self.life, self.tally, self.rollout)
        self.life, self.tally, self.rollout = checkpoint.unflatten(like, arrays, what)
        self._go_to(arrays)

    def agent_state(self) -> PPOState:
        return self.life.agent


def begin(agent: PPO, env: Environment, key: PRNGKeyArray) -> Life:
    """A new agent at the first observations of its environments."""
    params, count = env.default_params, agent.environments
    key, key_agent, key_env = jax.random.split(key, 3)
    observation, environment = jax.vmap(env.reset_env, (0, None))(
        jax.random.split(key_env, count), params
    )
    state = agent.init(key_agent, env.observation_space(params), env.action_space(params))
    return Life(state, environment, observation, key, jnp.zeros(count), jnp.zeros(count, jnp.int32))


@partial(jax.jit, static_argnums=(0, 1))
def _begin(agent: PPO, env: Environment, keys: PRNGKeyArray) -> Life:
    return jax.vmap(partial(begin, agent, env))(keys)


def step(agent: PPO, env: Environment, life: Life) -> tuple[Life, Sample, Tally]:
    """One step of every environment of one seed; the tally is a sum over them."""
    key, key_env = jax.random.split(life.key)
    state, action = agent.act(life.agent, life.observation)
    observation, environment, reward, terminated, truncated, info = jax.vmap(
        env.step, (0, 0, 0, None)
    )(
        jax.random.split(key_env, agent.environments),
        life.environment,
        action,
        env.default_params,
    )
    state, sample, metrics = agent.record(
        state, reward, info["final_observation"], terminated, truncated
    )
    done = jnp.logical_or(terminated, truncated)
    episode_return, episode_length = life.episode_return + reward, life.episode_length + 1
    tally = Tally(
        frames=jnp.int32(agent.environments),
        episodes=jnp.sum(done.astype(jnp.int32)),
        returns=jnp.sum(jnp.where(done, episode_return, 0.0)),
        lengths=jnp.sum(jnp.where(done, episode_length, 0)),
        diverged=agent.environments * is_sick(metrics).astype(jnp.int32),
        metrics=metrics,
    )
    life = Life(
        state,
        environment,
        observation,
        key,
        jnp.where(done, 0.0, episode_return),
        jnp.where(done, 0, episode_length),
    )
    return life, sample, tally


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=(2, 3, 4))
def _play(
    agent: PPO,
    env: Environment,
    life: Life,
    tally: Tally,
    rollout: Sample,
    position: Int[Array, ""],
    steps: Int[Array, ""],
) -> tuple[Life, Tally, Sample]:
    """``steps`` more steps of all seeds, put into the rollout where they belong."""

    def body(i: Array, carry: tuple[Life, Tally, Sample]) -> tuple[Life, Tally, Sample]:
        life, total, rollout = carry
        life, sample, tally = jax.vmap(partial(step, agent, env))(life)
        return life, jax.tree.map(jnp.add, total, tally), _put(rollout, sample, position + i)

    return jax.lax.fori_loop(0, steps, body, (life, tally, rollout))


_learn = jax.jit(_update, static_argnums=0, donate_argnums=1)


class HostRollouts(_RolloutLives):
    """Playing in Gymnasium environments: one compiled call a step for all seeds.

    A call takes in and gives back only what playing changes, in few arrays; networks are read, and
    what is for learning alone stays out of it.
    """

    def __init__(
        self,
        agent: PPO,
        make_env: Callable[[], gymnasium.Env],
        seeds: Sequence[int],
        on_bad_input: OnBadInput = "raise",
    ):
        super().__init__(agent)
        self.seeds, self.on_bad_input = list(seeds), on_bad_input
        self.shape = (len(seeds), agent.environments)
        self.envs = [make_env() for _ in range(self.shape[0] * self.shape[1])]
        self.observation_space = self.envs[0].observation_space
        self.action_space = self.envs[0].action_space
        discrete = spaces.is_discrete(self.action_space)
        self._first_action = inputs.first(self.action_space) if discrete else None
        self.frame = 0
        self.episode_return = np.zeros(self.shape)
        self.episode_length = np.zeros(self.shape, np.int64)
        self.seen = np.ones(self.shape, bool)
        """Whether the observation to act on is one that memory may take in."""
        self.pending: Arrays | None = None
        """The transitions that the next call records; none at the beginning of a rollout."""
        first = [self._reset(i, self._seed(i)) for i in range(len(self.envs))]
        for i, observation in enumerate(first):
            self._check(i, inputs.what_is_wrong("the observation", observation), always=True)
        self.observation = np.stack(first).reshape(*self.shape, *first[0].shape)
        state = jax.jit(
            jax.vmap(lambda key: agent.init(key, self.observation_space, self.action_space))
        )(keys(seeds))
        self._compile(state)
        self._take(state)
        self._rollout = _no_rollout(agent, self._samples.pack(state.sample))
        self.clear()

    def _seed(self, i: int) -> int:
        """A seed's first environment is seeded with it; the others with numbers made from it."""
        seed, other = self.seeds[i // self.shape[1]], i % self.shape[1]
        return (
            seed if other == 0 else int(np.random.SeedSequence((seed, other)).generate_state(1)[0])
        )

    def clear(self) -> None:
        self._sums = [jnp.zeros_like(sums) for sums in self._no_sums]
        names = ("frames", "episodes", "lengths")
        self._counts: Arrays = {name: np.zeros(self.shape[0], np.int64) for name in names}
        self._counts |= {name: np.zeros(self.shape[0]) for name in ("returns", "skipped")}

    def _compile(self, state: PPOState) -> None:
        agent = self.agent
        moving, still = Packing(_moving(state)), Packing(_still(state))
        samples = Packing(state.sample)

        def whole(moved: list[Array], read: list[Array]) -> PPOState:
            learning: dict[str, Any] = dict.fromkeys(_LEARNING)
            return PPOState(**moving.unpack(moved), **still.unpack(read), **learning)

        def act(moved: list[Array], read: list[Array], observation: Array, seen: Array) -> Any:
            state, action = jax.vmap(agent.act)(whole(moved, read), observation, seen)
            return moving.pack(_moving(state)), action

        def measure(state: PPOState, pending: Any) -> Any:
            outcome = [pending[name] for name in _OUTCOME]
            state, sample, metrics = jax.vmap(agent.record)(state, *outcome)
            sick = agent.environments * jax.vmap(is_sick)(metrics)
            return state, sample, {**metrics, "diverged": sick.astype(float)}

        metrics = jax.eval_shape(lambda *x: measure(*x)[2], state, self._no_transitions())
        sums = Packing(metrics)

        def record(
            moved: list[Array],
            total: list[Array],
            rollout: list[Array],
            read: list[Array],
            pending: Any,
            position: Array,
        ) -> Any:
            state, sample, metrics = measure(whole(moved, read), pending)
            total = [a + b for a, b in zip(total, sums.pack(metrics), strict=True)]
            return (
                moving.pack(_moving(state)),
                total,
                _put(rollout, samples.pack(sample), position),
            )

        def record_act(
            moved: list[Array],
            total: list[Array],
            rollout: list[Array],
            read: list[Array],
            pending: Any,
            position: Array,
            observation: Array,
            seen: Array,
        ) -> Any:
            moved, total, rollout = record(moved, total, rollout, read, pending, position)
            moved, action = act(moved, read, observation, seen)
            return moved, total, rollout, action

        def update(state: PPOState, rollout: list[Array]) -> PPOState:
            return _update(agent, state, jax.vmap(samples.unpack)(rollout))

        self._moving, self._still, self._samples, self._metrics = moving, still, samples, sums
        empty = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), metrics)
        self._no_sums = sums.pack(empty)
        self._act = jax.jit(act, donate_argnums=0)
        self._record = jax.jit(record, donate_argnums=(0, 1, 2))
        self._record_act = jax.jit(record_act, donate_argnums=(0, 1, 2))
        self._update = jax.jit(update, donate_argnums=0)

    def _take(self, state: PPOState) -> None:
        """Take a state apart into what playing changes, what it reads, and the rest."""
        self._moved = self._moving.pack(_moving(state))
        self._read = self._still.pack(_still(state))
        self._rest = {name: getattr(state, name) for name in (*_still(state), *_LEARNING)}

    def agent_state(self) -> PPOState:
        return PPOState(**self._moving.unpack(self._moved), **self._rest)

    def _no_transitions(self) -> Arrays:
        """Room for one transition of every environment."""
        return {
            "reward": np.zeros(self.shape, np.float32),
            "final": np.zeros_like(self.observation),
            "terminated": np.zeros(self.shape, bool),
            "truncated": np.zeros(self.shape, bool),
            "usable": np.ones(self.shape, bool),
        }

    def _play(self, steps: int) -> None:
        for i in range(steps):
            actions = self._decide(self.position + i)
            self.pending = self._step(actions)
        self._counts["frames"] += steps * self.agent.environments

    def _decide(self, position: int) -> np.ndarray:
        """Record what is pending, if anything is, and choose the next actions."""
        if self.pending is None:
            self._moved, action = self._act(self._moved, self._read, self.observation, self.seen)
        else:
            self._moved, self._sums, self._rollout, action = self._record_act(
                self._moved,
                self._sums,
                self._rollout,
                self._read,
                self.pending,
                position - 1,
                self.observation,
                self.seen,
            )
        actions = np.asarray(action)
        return actions if self._first_action is None else actions + self._first_action

    def _step(self, actions: np.ndarray) -> Arrays:
        """Let every environment answer."""
        out = self._no_transitions()
        observation = np.empty_like(self.observation)
        for i, env in enumerate(self.envs):
            at = divmod(i, self.shape[1])
            seen, out["reward"][at], out["terminated"][at], out["truncated"][at], _ = env.step(
                actions[at]
            )
            out["final"][at] = observation[at] = self._seen(seen)
            self.episode_return[at] += float(out["reward"][at])
            self.episode_length[at] += 1
            if out["terminated"][at] or out["truncated"][at]:
                observation[at] = self._reset(i)
                self._counts["episodes"][at[0]] += 1
                self._counts["returns"][at[0]] += self.episode_return[at]
                self._counts["lengths"][at[0]] += self.episode_length[at]
                self.episode_return[at], self.episode_length[at] = 0.0, 0
        self.frame += self.agent.environments
        self._look_at(out, observation)
        self.observation = observation
        return out

    def _look_at(self, out: Arrays, observation: np.ndarray) -> None:
        """Mark what is not finite as not usable, or not seen, and put zeros there."""
        before, self.seen = self.seen, np.ones(self.shape, bool)
        out["usable"] &= before
        values = {"reward": out["reward"], "final": out["final"], "observation": observation}
        if not all(np.isfinite(value).all() for value in values.values()):
            for i in range(len(self.envs)):
                at = divmod(i, self.shape[1])
                for name, value in values.items():
                    what = "the reward" if name == "reward" else "the observation"
                    wrong = inputs.what_is_wrong(what, value[at])
                    self._check(i, wrong)
                    ok = self.seen if name == "observation" else out["usable"]
                    ok[at] &= wrong is None
            for value in values.values():
                np.nan_to_num(value, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
        self._counts["skipped"] += (~out["usable"]).sum(axis=1)

    def _check(self, i: int, wrong: str | None, always: bool = False) -> None:
        if wrong is not None and (always or self.on_bad_input == "raise"):
            seed, environment = self.seeds[i // self.shape[1]], i % self.shape[1]
            where = f", environment {environment}" if self.shape[1] > 1 else ""
            raise BadInput(
                f"seed {seed}{where}, frame {self.frame}: {wrong}; nothing was learned from it"
            )

    def _reset(self, i: int, seed: int | None = None) -> np.ndarray:
        return self._seen(self.envs[i].reset(seed=seed)[0])

    def _seen(self, observation: Any) -> np.ndarray:
        return inputs.as_observation(observation, self.observation_space)

    def _learn(self) -> None:
        self._moved, self._sums, self._rollout = self._record(
            self._moved, self._sums, self._rollout, self._read, self.pending, self.position - 1
        )
        self.pending = None
        self._take(self._update(self.agent_state(), self._rollout))

    def _tally(self) -> Tally:
        metrics = jax.tree.map(np.asarray, self._metrics.unpack(self._sums))
        counts = {name: value.copy() for name, value in self._counts.items()}
        diverged = metrics.pop("diverged").astype(int)
        metrics["skipped"] = counts.pop("skipped")
        return Tally(diverged=diverged, metrics=metrics, **counts)

    def save(self) -> Arrays:
        arrays = checkpoint.flatten((self.agent_state(), self._rollout, self._sums))
        for i, env in enumerate(self.envs):
            arrays |= {f"env/{i}/{name}": value for name, value in snapshot(env).items()}
        arrays |= {f"counts/{name}": value for name, value in self._counts.items()}
        arrays |= {f"pending/{name}": value for name, value in (self.pending or {}).items()}
        return {
            **arrays,
            **self._place(),
            "frame": np.asarray(self.frame),
            "episode_return": self.episode_return,
            "episode_length": self.episode_length,
            "observation": self.observation,
            "seen": self.seen,
        }

    def restore(self, arrays: Arrays, what: str) -> None:
        def under(prefix: str) -> Arrays:
            return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

        like = (self.agent_state(), self._rollout, self._sums)
        state, self._rollout, self._sums = checkpoint.unflatten(like, arrays, what)
        for i, env in enumerate(self.envs):
            restore(env, under(f"env/{i}/"))
        self._take(state)
        self._counts = {name: value.copy() for name, value in under("counts/").items()}
        self.pending = under("pending/") or None
        self.frame = int(arrays["frame"])
        self.episode_return = arrays["episode_return"].copy()
        self.episode_length = arrays["episode_length"].copy()
        self.observation, self.seen = arrays["observation"], arrays["seen"].copy()
        self._go_to(arrays)


_LEARNING = ("optimiser", "start", "updates")
"""The fields of an agent's state that playing has nothing to do with."""
_OUTCOME = ("reward", "final", "terminated", "truncated", "usable")
"""What ``record`` takes, in order."""


def _moving(state: PPOState) -> dict[str, Any]:
    return {name: getattr(state, name) for name in PLAYING}


def _still(state: PPOState) -> dict[str, Any]:
    return {n: x for n, x in state._asdict().items() if n not in (*PLAYING, *_LEARNING)}
