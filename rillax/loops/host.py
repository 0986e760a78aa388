"""Several seeds of one agent, living side by side, in an environment of either kind.

``JaxLives`` runs inside compiled loops. ``HostLives`` runs S Gymnasium environments and one
agent over S seeds, in a compiled loop too: each frame learns from the last transition, chooses
the next actions, and asks the environments (``rillax._jax.callbacks``), so that nothing but
observations and actions crosses over.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple, Protocol

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from rillax import agents, spaces
from rillax._jax.callbacks import Letter, ask
from rillax._jax.kernels import Program, one_kernel
from rillax.agents import PPO
from rillax.envs.environment import Environment, is_jax
from rillax.envs.snapshot import restore, snapshot
from rillax.loops import inputs
from rillax.loops.compiled import (
    Agent,
    Tally,
    as_it_is,
    begin,
    go_on,
    is_sick,
    keys,
    loop,
    no_tally,
)
from rillax.loops.inputs import BadInput, OnBadInput
from rillax.loops.packing import Packing
from rillax.loops.rollouts import HostRollouts, JaxRollouts
from rillax.utils import checkpoint, machine

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
        if is_jax(env):
            return JaxRollouts(agent, env, seeds)
        return HostRollouts(agent, make_env, seeds, on_bad_input)
    if is_jax(env):
        return JaxLives(agent, env, seeds)
    return HostLives(agent, [make_env() for _ in seeds], seeds, on_bad_input)


class JaxLives:
    """Lives inside compiled loops: on a CPU one per seed, as many at a time as there are cores.

    One loop over all seeds is about as fast, on a single core; and here a seed's numbers do not
    depend on its company, to the bit. Elsewhere all seeds are one batch.
    """

    def __init__(self, agent: Agent, env: Environment, seeds: Sequence[int]):
        self.agent, self.env = agent, env
        first = jax.jit(jax.vmap(lambda key: begin(agent, env, key)), compiler_options=_ONCE)
        alone = jax.default_backend() == "cpu"
        self.parts = [first(keys(part)) for part in ([[s] for s in seeds] if alone else [seeds])]
        self.clear()

    def clear(self) -> None:
        self.tallies = [
            no_tally(self.agent, self.env, len(part.episode_return)) for part in self.parts
        ]

    def run(self, frames: int) -> Tally:
        wide = jnp.result_type(float) == jnp.float64  # which threads do not inherit

        def go(i: int) -> None:
            with jax.enable_x64(wide):
                self.parts[i], self.tallies[i] = jax.block_until_ready(
                    go_on(self.agent, self.env, self.parts[i], self.tallies[i], frames)
                )

        todo = list(range(len(self.parts)))
        if loop(self.agent, self.env).compilations() == 0:
            go(todo.pop(0))  # compiles, for the others too
        list(_threads().map(go, todo))
        return jax.device_get(_join(self.tallies))

    def save(self) -> Arrays:
        return checkpoint.flatten((_join(self.parts), _join(self.tallies)))

    def restore(self, arrays: Arrays, what: str) -> None:
        whole = _join(self.parts), _join(self.tallies)
        life, tally = checkpoint.unflatten(whole, arrays, what)
        size = len(self.parts[0].episode_return)
        places = [slice(i * size, (i + 1) * size) for i in range(len(self.parts))]
        self.parts = [jax.tree.map(lambda leaf, at=at: leaf[at], life) for at in places]
        self.tallies = [jax.tree.map(lambda leaf, at=at: leaf[at], tally) for at in places]

    def agent_state(self) -> Any:
        return _join([part.agent for part in self.parts])


def _join(trees: Sequence[Any]) -> Any:
    """Trees over some seeds as one over all."""
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *trees)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(len(machine.cores()))


class Answers(NamedTuple):
    """What the environments say in a frame."""

    numbers: Any
    """Reward, termination and truncation of every seed."""
    observations: Any
    """The transition's last observation, and the one to act on: they differ where one ended."""
    failed: Any
    """Not zero if there was an error, and these are no answers."""


class Transition(NamedTuple):
    """What one seed learns from, and the observation it acts on next."""

    reward: Any
    final: Any
    terminated: Any
    truncated: Any
    observation: Any


def transition(answers: Answers) -> Transition:
    (reward, terminated, truncated), (final, observation), _ = answers
    return Transition(reward, final, terminated != 0, truncated != 0, observation)


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
        self._state = jax.jit(
            jax.vmap(lambda key: agent.init(key, self.observation_space, self.action_space)),
            compiler_options=_ONCE,
        )(keys(seeds))
        self.frame = 0
        count = len(seeds)
        self.episode_return, self.episode_length = np.zeros(count), np.zeros(count, np.int64)
        self.dropped = np.zeros(count, bool)
        """Seeds whose last observation was bad, so that what follows cannot be learned from."""
        self.observation = np.stack(
            [self._seen(env.reset(seed=seed)[0]) for env, seed in zip(envs, seeds, strict=True)]
        )
        self._letter = Letter(
            ((3, count), np.dtype(np.float32)),
            ((2, *self.observation.shape), self.observation.dtype),
            ((), np.dtype(np.int32)),
        )
        self._answers = Answers(*self._letter.parts)
        self._rewards, self._terminations, self._truncations = self._answers.numbers
        self.pending: Answers | None = None
        """The transition that is learned from next, and the observation to act on."""
        self._last: Any = None
        self._raised: BaseException | None = None
        self._compile(agent)
        self.clear()

    def clear(self) -> None:
        count = len(self.envs)
        self._sums = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), self._shapes)
        self._counts: Arrays = {
            "frames": np.zeros(count, np.int64),
            "episodes": np.zeros(count, np.int64),
            "returns": np.zeros(count),
            "lengths": np.zeros(count, np.int64),
            "skipped": np.zeros(count),
        }

    def _compile(self, agent: Agent) -> None:
        def learn(state: Any, t: Transition) -> Any:
            state, metrics = agent.learn(state, t.reward, t.final, t.terminated, t.truncated)
            return state, {**metrics, _DIVERGED: is_sick(metrics).astype(float)}

        def learn_act(state: Any, sums: Any, answers: Answers) -> Any:
            def one(state: Any, t: Transition) -> Any:
                state, metrics = learn(state, t)
                state, action = agent.act(state, t.observation)
                return state, metrics, action

            state, metrics, action = jax.vmap(one)(state, transition(answers))
            return state, jax.tree.map(jnp.add, sums, metrics), action

        def careful(state: Any, sums: Any, answers: Answers, good: Any, last: Any) -> Any:
            """As ``learn_act``, for a frame in which something was bad for one of the seeds."""

            def choose(condition: Any, yes: Any, no: Any) -> Any:
                return jax.tree.map(lambda y, n: jnp.where(condition, y, n), yes, no)

            def one(state: Any, t: Transition, good: Any, last: Any) -> Any:
                learned, metrics = learn(state, t)
                skipped = agent.skip(state, t.terminated | t.truncated)
                state = choose(good["transition"], learned, skipped)
                metrics = choose(good["transition"], metrics, jax.tree.map(jnp.zeros_like, metrics))
                acted, action = agent.act(state, t.observation)
                seen = good["observation"]
                return choose(seen, acted, state), metrics, jnp.where(seen, action, last)

            state, metrics, action = jax.vmap(one)(state, transition(answers), good, last)
            return state, jax.tree.map(jnp.add, sums, metrics), action

        def read(words: jax.Array) -> Answers:
            return Answers(*self._letter.read(words))

        def form(part: Any) -> Any:
            """The loop. It carries few arrays: XLA hands out a task for each that it copies."""

            def frames(state: Any, sums: Any, words: jax.Array, count: jax.Array) -> Any:
                packing = Packing((state, sums))
                packed = packing.pack((state, sums))

                @part
                def think(left: jax.Array, packed: Any, words: jax.Array) -> Any:
                    state, sums = packing.unpack(packed)
                    state, sums, action = learn_act(state, sums, read(words))
                    return left - 1, packing.pack((state, sums)), action

                def frame(carry: Any) -> Any:
                    left, packed, action = think(*carry)
                    return left, packed, ask(self._ask, action, carry[-1])

                def go_on(carry: Any) -> Any:
                    left, _, words = carry
                    answers = read(words)
                    fine = jnp.isfinite(answers.numbers).all()
                    fine &= jnp.isfinite(answers.observations).all()
                    return (left > 0) & (answers.failed == 0) & fine

                _, packed, _ = jax.lax.while_loop(go_on, frame, (count, packed, words))
                return packing.unpack(packed)

            return frames

        act, fast = jax.vmap(agent.act), agents.one_kernel(agent)
        acts = [one_kernel(act), act] if fast else [act]
        loops = [form(one_kernel), form(as_it_is)] if fast else [form(as_it_is)]
        self._act = Program(*acts, donate=(0,))
        self._frames = Program(*loops, donate=(0, 1))
        self._careful = jax.jit(careful, donate_argnums=(0, 1))
        _, self._shapes = jax.eval_shape(
            jax.vmap(learn), self._state, jax.eval_shape(transition, self._answers)
        )

    def _seen(self, observation: Any) -> np.ndarray:
        return inputs.as_observation(observation, self.observation_space)

    def run(self, frames: int) -> Tally:
        end = self.frame + frames
        while self.frame < end:
            if self.pending is not None and self._all_good(self.pending):
                self._state, self._sums = self._frames(
                    self._state, self._sums, self._letter.words.copy(), end - self.frame
                )
                jax.block_until_ready(self._sums)
            else:
                self._live(self._decide())
            if self._raised is not None:
                error, self._raised = self._raised, None
                self._answers.failed[...] = 0
                raise error
        counts = self._counts
        counts["frames"] += frames
        metrics = {name: np.asarray(value) for name, value in self._sums.items()}
        tally = {name: value.copy() for name, value in counts.items()}
        diverged = metrics.pop(_DIVERGED).astype(int)
        metrics["skipped"] = tally.pop("skipped")
        return Tally(diverged=diverged, metrics=metrics, **tally)

    def _ask(self, actions: np.ndarray) -> tuple[np.ndarray]:
        self._live(actions)
        return (self._letter.words,)

    def _live(self, actions: np.ndarray) -> None:
        """One frame of every environment; what it was like is the next pending transition.

        The compiled loop asks this, so an error waits until the loop has come back.
        """
        try:
            self._last = actions.copy()
            if self._first_action is not None:
                actions = actions + self._first_action
            for i, env in enumerate(self.envs):
                self._step(i, env, actions[i])
            self.frame += 1
            self.pending = self._answers
        except BaseException as error:
            self._raised = error
            self._answers.failed[...] = 1

    def _step(self, i: int, env: gymnasium.Env, action: Any) -> None:
        seen, reward, terminated, truncated, _ = env.step(action)
        self._rewards[i] = reward
        self._terminations[i], self._truncations[i] = terminated, truncated
        self._answers.observations[:, i] = self._seen(seen)
        self.episode_return[i] += float(self._rewards[i])
        self.episode_length[i] += 1
        if terminated or truncated:
            self._answers.observations[1, i] = self._seen(env.reset()[0])
            self._counts["episodes"][i] += 1
            self._counts["returns"][i] += self.episode_return[i]
            self._counts["lengths"][i] += self.episode_length[i]
            self.episode_return[i], self.episode_length[i] = 0.0, 0

    def _decide(self) -> np.ndarray:
        """The next actions, at the beginning or where something may be bad."""
        if self.pending is None:
            for i in range(len(self.envs)):
                self._check(i, inputs.what_is_wrong("the observation", self.observation[i]), True)
            self._state, action = self._act(self._state, self.observation)
            return np.asarray(action)
        good = self._what_is_good(transition(self.pending))
        self._counts["skipped"] += ~good["transition"]
        self.dropped = ~good["observation"]
        self._state, self._sums, action = self._careful(
            self._state, self._sums, self.pending, good, self._last
        )
        return np.asarray(action)

    def _all_good(self, answers: Answers) -> bool:
        numbers, observations, _ = answers
        finite = np.isfinite(numbers).all() and np.isfinite(observations).all()
        return bool(finite) and not self.dropped.any()

    def _what_is_good(self, t: Transition) -> Arrays:
        good = {"transition": ~self.dropped, "observation": np.ones(len(self.envs), bool)}
        for i in range(len(self.envs)):
            for name, what in (("the reward", t.reward), ("the observation", t.final)):
                wrong = inputs.what_is_wrong(name, what[i])
                self._check(i, wrong)
                good["transition"][i] &= wrong is None
            wrong = inputs.what_is_wrong("the observation", t.observation[i])
            self._check(i, wrong)
            good["observation"][i] = wrong is None
        return good

    def _check(self, i: int, wrong: str | None, always: bool = False) -> None:
        if wrong is not None and (always or self.on_bad_input == "raise"):
            raise BadInput(
                f"seed {self.seeds[i]}, frame {self.frame}: {wrong}; nothing was learned from it"
            )

    def agent_state(self) -> Any:
        return self._state

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
            arrays |= {
                "pending/numbers": self.pending.numbers.copy(),
                "pending/observations": self.pending.observations.copy(),
            }
            arrays["last"] = np.asarray(self._last)
        return arrays

    def restore(self, arrays: Arrays, what: str) -> None:
        def under(prefix: str) -> Arrays:
            return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

        state = checkpoint.unflatten(self.agent_state(), under("agent"), what)
        for i, env in enumerate(self.envs):
            restore(env, under(f"env/{i}/"))
        self._state = state
        self._sums = {name: jnp.asarray(value) for name, value in under("sums/").items()}
        self._counts = {name: value.copy() for name, value in under("counts/").items()}
        self.frame = int(arrays["frame"])
        self.episode_return = arrays["episode_return"].copy()
        self.episode_length = arrays["episode_length"].copy()
        self.dropped = arrays["dropped"].copy()
        self.pending = None
        if pending := under("pending/"):
            self._answers.numbers[:] = pending["numbers"]
            self._answers.observations[:] = pending["observations"]
            self.pending = self._answers
            self._last = arrays["last"]
