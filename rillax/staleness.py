"""How stale is a carried sensitivity? Measured against a replay, and bounded (Appendix C).

The reference S* is made afresh: the current episode, replayed from its start with the current
recurrent parameters. ``Recorded`` keeps what a replay needs while an agent runs, and
``MeasuredLoop`` replays at an interval. They wrap an agent and its loop, which know nothing of
them: a run that does not measure is the program it always was.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rillax import agents
from rillax.cells import Cell, Memory
from rillax.envs.environment import is_jax
from rillax.loops.compiled import CompiledLoop
from rillax.loops.inputs import OnBadInput
from rillax.loops.interface import Agent, Arrays, EpisodeStatistics, require_steps
from rillax.loops.make import make_loop
from rillax.networks import Network, Stream, streams
from rillax.utils import checkpoint
from rillax.utils.names import choose

Replay = Literal["inputs", "observations"]
"""What is replayed: the inputs of the cell as they were, so that only the recurrent parameters
differ (Appendix C), or the observations, through the encoder as it is now."""


# ---- the reference and the distance from it


def replay(cell: Cell, inputs: Array, count: Int[Array, ""] | int | None = None) -> Memory:
    """The memory after the first ``count`` inputs of an episode (all, if None), made afresh."""
    count = len(inputs) if count is None else count

    def one(memory: Memory, t_x: tuple[Array, Array]) -> tuple[Memory, None]:
        t, x = t_x
        after = cell.advance(memory, x)
        return jax.tree.map(lambda new, old: jnp.where(t < count, new, old), after, memory), None

    blank = cell.initial_memory()._replace(second=None)
    return jax.lax.scan(one, blank, (jnp.arange(len(inputs)), inputs))[0]


def distance(cell: Cell, memory: Memory, reference: Memory) -> Float[Array, ""]:
    """||S - S*|| / ||S*||."""
    live, true = (cell.jacobian(m.sensitivity) for m in (memory, reference))
    return norm(jax.tree.map(jnp.subtract, live, true)) / norm(true)


def norm(tree: Any) -> Float[Array, ""]:
    """The root of the sum of all squares."""
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)))


def unit_norms(tree: Any) -> Float[Array, " units"]:
    """``norm`` for each unit alone; every leaf has the units as its first axis."""
    rows = (jnp.reshape(leaf, (leaf.shape[0], -1)) for leaf in jax.tree.leaves(tree))
    return jnp.sqrt(sum(jnp.sum(jnp.square(row), axis=1) for row in rows))


# ---- the bounds


class Constants(NamedTuple):
    """What the bounds are made of; numbers, or arrays with one for each unit."""

    rho: Any
    """Contraction: of a unit, r = |lambda|; of the layer, the largest."""
    lipschitz: Any
    """L_I: how fast the immediate Jacobian changes with the parameters."""
    update: Any
    """eta G: the largest norm of a single update."""


def recursion(error: Any, constants: Constants) -> Any:
    """E_{t+1} <= rho E_t + rho L_I eta G / (1 - rho)."""
    rho, lipschitz, update = constants
    return rho * error + rho * lipschitz * update / (1 - rho)


def bound(constants: Constants, every: int = 1, steps: Any = math.inf) -> Any:
    """Where the recursion leads, from no error, in ``steps`` steps; by default the steady state.

    With one update in ``every`` steps, the paper's periodic variant:
    E <= rho L_I eta G / ((1 - rho) (1 - rho^m)).

    >>> round(bound(Constants(rho=0.9, lipschitz=2.0, update=1e-3)), 6)  # 0.9 * 2e-3 / 0.1 ** 2
    0.18
    >>> round(bound(Constants(rho=0.9, lipschitz=2.0, update=1e-3), every=10), 6)
    0.027636
    """
    rho, lipschitz, update = constants
    return rho * lipschitz * update * (1 - rho**steps) / ((1 - rho) * (1 - rho**every))


def estimate(before: Cell, after: Cell, then: Memory, now: Memory) -> Constants:
    """The constants of each unit of an RTU, from one update.

    L_I / (1 - rho) bounds, in the paper's derivation, how far S* moves with a parameter: here that
    is measured, on the episode replayed with the parameters before the update (``then``) and after
    it (``now``).
    """
    update = unit_norms(jax.tree.map(jnp.subtract, after, before))
    S_then, S_now = (after.jacobian(memory.sensitivity) for memory in (then, now))
    moved = unit_norms(jax.tree.map(jnp.subtract, S_now, S_then))
    # r is less than one, but single precision may not see it.
    rho = jnp.minimum(jnp.exp(-jnp.exp(after.nu_log)), 1 - 1e-6)  # type: ignore[attr-defined]
    lipschitz = jnp.where(update > 0, (1 - rho) * moved / jnp.where(update > 0, update, 1), 0)
    return Constants(rho, lipschitz, update)


def of_layer(units: Constants) -> Constants:
    """The paper's constants, one for the whole layer, from those of its units."""
    return Constants(jnp.max(units.rho), jnp.max(units.lipschitz), jnp.linalg.norm(units.update))


# ---- recording


class Episode(NamedTuple):
    """The current episode, as far as a replay needs it."""

    observations: Float[Array, "horizon ..."]
    """As the networks saw them."""
    inputs: dict[str, Float[Array, "horizon inputs"]]
    """Of each recurrent layer, when they came."""
    length: Int[Array, ""]
    before: dict[str, Cell]
    """Each cell before the latest update."""
    largest: dict[str, Float[Array, " units"]]
    """The largest update of each unit in this episode."""


class RecordedState(NamedTuple):
    """An agent's state, and what happened in this episode."""

    agent: Any
    episode: Episode


@dataclass(frozen=True)
class Recorded:
    """An agent whose current episode is kept, up to ``horizon`` steps of it."""

    agent: Any
    horizon: int

    def init(self, key: PRNGKeyArray, observation_space: Any, action_space: Any) -> RecordedState:
        return self.begin(self.agent.init(key, observation_space, action_space))

    def begin_late(self, state: Any) -> RecordedState:
        """Keep from here on. An episode that is under way counts as too long to be kept."""
        recorded = self.begin(state)
        length = jnp.where(state.fresh, 0, self.horizon + 1)
        return recorded._replace(episode=recorded.episode._replace(length=length))

    def begin(self, state: Any) -> RecordedState:
        """Keep from the first observation on."""
        layers = _measurable(self.agent, state)
        episode = Episode(
            observations=self._room(state.observation),
            inputs={n: self._room(layer.input(state.observation)) for n, layer in layers.items()},
            length=jnp.int32(0),
            before={n: layer.cell for n, layer in layers.items()},
            largest={n: _no_update(layer.cell) for n, layer in layers.items()},
        )
        return RecordedState(state, episode)

    def act(self, state: RecordedState, observation: Array) -> tuple[RecordedState, Array]:
        agent, action = self.agent.act(state.agent, observation)
        episode, seen = state.episode, agent.observation
        at = jnp.where(state.agent.fresh, 0, episode.length)

        def put(room: Array, value: Array) -> Array:
            return room.at[at].set(value, mode="drop")

        episode = episode._replace(
            observations=put(episode.observations, seen),
            inputs={
                n: put(episode.inputs[n], layer.input(seen))
                for n, layer in _measurable(self.agent, agent).items()
            },
            length=at + 1,
        )
        return RecordedState(agent, episode), action

    def learn(self, state: RecordedState, *transition: Array) -> tuple[RecordedState, Any]:
        before = {n: layer.cell for n, layer in _measurable(self.agent, state.agent).items()}
        agent, metrics = self.agent.learn(state.agent, *transition)
        after = {n: layer.cell for n, layer in _measurable(self.agent, agent).items()}
        first = state.episode.length == 1
        largest = {
            n: jnp.maximum(
                jnp.where(first, 0, state.episode.largest[n]),
                unit_norms(jax.tree.map(jnp.subtract, after[n], before[n])),
            )
            if _has_units(after[n])
            else state.episode.largest[n]
            for n in after
        }
        episode = state.episode._replace(before=before, largest=largest)
        return RecordedState(agent, episode), metrics

    def skip(self, state: RecordedState, done: Array) -> RecordedState:
        return state._replace(agent=self.agent.skip(state.agent, done))

    def _room(self, value: Array) -> Array:
        return jnp.zeros((self.horizon, *value.shape), value.dtype)


class Layer(NamedTuple):
    """A recurrent layer of one of an agent's networks."""

    stream: Stream
    number: int

    @property
    def cell(self) -> Cell:
        return self.stream.network.layers[self.number]

    @property
    def memory(self) -> Memory:
        return self.stream.memory[self.number]

    def input(self, seen: Array) -> Float[Array, " inputs"]:
        """What it took in with the latest observation."""
        return self.stream.network.inputs(seen, self.stream.memory)[self.number]


def layers(state: Any) -> dict[str, Layer]:
    """The recurrent layers that carry a sensitivity, by the name of their network.

    Where a network has several layers, the name ends with the layer's number.
    """
    found = {}
    for name, stream in streams(state).items():
        several = len(stream.network.layers) > 1
        for i, memory in enumerate(stream.memory):
            if memory.sensitivity is not None:
                found[f"{name}_{i}" if several else name] = Layer(stream, i)
    return found


def _has_units(cell: Cell) -> bool:
    return hasattr(cell, "nu_log")


def _no_update(cell: Cell) -> Array:
    return jnp.zeros_like(cell.nu_log) if hasattr(cell, "nu_log") else jnp.zeros(0)


def _measurable(agent: Any, state: Any) -> dict[str, Layer]:
    found = layers(state)
    if not found:
        raise ValueError(
            "staleness is that of a carried sensitivity, and this agent carries none "
            f"({agents.title(agent)}); choose the cell rtu and the gradient rtrl"
        )
    return found


def measure(state: RecordedState, mode: Replay) -> dict[str, Float[Array, ""]]:
    """Relative staleness of each network, and for an RTU its bound; NaN for too long an episode.

    The bound is taken unit by unit: each has a contraction of its own, and the layer's largest,
    close to one, would say nothing.
    """
    episode, found = state.episode, {}
    whole = episode.length <= len(episode.observations)
    for name, layer in layers(state.agent).items():
        cell, inputs = layer.cell, episode.inputs[name]
        if mode == "observations":
            inputs = inputs_now(layer.stream.network, layer.number, episode.observations)
        reference = replay(cell, inputs, episode.length)
        value = distance(cell, layer.memory, reference)
        found[f"staleness_{name}"] = jnp.where(whole, value, jnp.nan)
        if _has_units(cell):
            before = episode.before[name]
            constants = estimate(before, cell, replay(before, inputs, episode.length), reference)
            constants = constants._replace(update=episode.largest[name])
            most = bound(constants, layer.stream.network.update_every, episode.length)
            most = jnp.linalg.norm(most) / norm(cell.jacobian(reference.sensitivity))
            found[f"bound_{name}"] = jnp.where(whole, most, jnp.nan)
    return found


def inputs_now(network: Network, layer: int, observations: Array) -> Array:
    """What a layer would take in along an episode, with the encoder and the layers below as now."""
    xs = jax.vmap(network.encoder)(observations)
    for cell in network.layers[:layer]:

        def one(hidden: Any, x: Array, cell: Cell = cell) -> tuple[Any, Array]:
            hidden = cell.step(hidden, x)
            return hidden, cell.read(hidden)

        _, xs = jax.lax.scan(one, cell.initial_hidden(), xs)
    return xs


# ---- measuring while a run goes on


class MeasuredLoop:
    """A loop whose staleness is measured every ``interval`` frames.

    What is measured joins the metrics: its mean over the measurements since the last ``clear``, NaN
    if there was none. Wherever the calls are cut, it is measured at the same frames.
    """

    def __init__(
        self,
        agent: Agent,
        env: Any,
        seeds: Sequence[int],
        on_bad_input: OnBadInput = "raise",
        *,
        interval: int,
        mode: Replay = "inputs",
    ):
        check(interval, mode)
        require_steps(agent, "staleness is measured in streaming agents")
        self.interval, self.seeds = interval, len(seeds)
        self._plain, self._recorded = agent, Recorded(agent, longest_episode(env))
        self.loop = make_loop(self._recorded, env, seeds, on_bad_input)
        # Only this kind of loop can stop keeping the episode and begin again.
        self._compiled = self.loop if isinstance(self.loop, CompiledLoop) else None
        self._measure: Callable[[Any], Any] = jax.jit(
            lambda states: jax.vmap(lambda state: measure(state, mode))(states)
        )
        self._begin = jax.jit(jax.vmap(self._recorded.begin_late))
        self.names = list(jax.eval_shape(self._measure, self.loop.agent_state()))
        self.frame = 0
        self._keep(self._keeps(1))
        self._forget()

    def _keeps(self, frame: int) -> bool:
        """Whether the episode is kept in this frame, because it may be the one that is measured.

        Beside Gymnasium's environments it always is.
        """
        before_next = -frame % self.interval
        return before_next < self._recorded.horizon or self._compiled is None

    def _keep(self, keep: bool) -> None:
        """Begin to keep the episode, or stop."""
        if self._compiled is None or keep == self._is_kept():
            return
        if keep:
            self._compiled.replace_agent(self._recorded, self._begin)
        else:
            self._compiled.replace_agent(self._plain, lambda state: state.agent)

    def _is_kept(self) -> bool:
        return self._compiled is None or self._compiled.agent is self._recorded

    def _forget(self) -> None:
        self.sums = {name: np.zeros(self.seeds) for name in self.names}
        self.counts = {name: np.zeros(self.seeds) for name in self.names}

    def clear(self) -> None:
        self.loop.clear()
        self._forget()

    def run(self, frames: int) -> EpisodeStatistics:
        last = self.frame + frames
        statistics = self.loop.run(0) if frames == 0 else None
        while self.frame < last:
            # Up to the next measurement, or to where the episode begins or ceases to be kept.
            keep, stretch = self._keeps(self.frame + 1), self.interval - self.frame % self.interval
            if not keep:
                stretch -= self._recorded.horizon
            stretch = min(last - self.frame, stretch)
            self._keep(keep)
            statistics = self.loop.run(stretch)
            self.frame += stretch
            if self.frame % self.interval == 0:
                self._look()
        assert statistics is not None
        with np.errstate(invalid="ignore"):
            # Whoever reads the statistics divides by the frames.
            means = {n: statistics.frames * self.sums[n] / self.counts[n] for n in self.names}
        return statistics._replace(metrics={**statistics.metrics, **means})

    def _look(self) -> None:
        for name, value in jax.device_get(self._measure(self.loop.agent_state())).items():
            seen = np.isfinite(value)
            self.sums[name] = self.sums[name] + np.where(seen, value, 0)
            self.counts[name] = self.counts[name] + seen

    def save(self) -> Arrays:
        arrays = {f"loop/{k}": v for k, v in self.loop.save().items()}
        arrays |= {f"sums/{k}": v for k, v in self.sums.items()}
        arrays |= {f"counts/{k}": v for k, v in self.counts.items()}
        return arrays | {"frame": np.asarray(self.frame), "keeps": np.asarray(self._is_kept())}

    def restore(self, arrays: Arrays, what: str) -> None:
        def under(prefix: str) -> Arrays:
            return checkpoint.under(prefix, arrays)

        self.frame = int(arrays["frame"])
        self._keep(bool(arrays["keeps"]))
        self.loop.restore(under("loop/"), what)
        self.sums, self.counts = (
            checkpoint.of_the_same_form(like, under(prefix), what)
            for like, prefix in ((self.sums, "sums/"), (self.counts, "counts/"))
        )

    def agent_state(self) -> Any:
        state = self.loop.agent_state()
        return state.agent if self._is_kept() else state


def check(interval: int, mode: str) -> None:
    """Raise an error that says what is wrong with how staleness is to be measured."""
    choose("replay", mode, get_args(Replay))
    if interval < 1:
        raise ValueError(f"staleness must be an interval of at least 1 frame, got {interval}")


def longest_episode(env: Any) -> int:
    """How many steps an episode can take."""
    if is_jax(env):
        return int(env.default_params.max_steps_in_episode)
    made = env() if callable(env) else env
    steps = made.spec.max_episode_steps if made.spec is not None else None
    if steps is None:
        raise ValueError(
            "staleness is measured by replaying an episode, but this environment does not say how "
            "long one can be; wrap it in gymnasium.wrappers.TimeLimit"
        )
    return steps
