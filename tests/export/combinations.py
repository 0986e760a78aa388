"""Learners that have a form in C, and what they are compared on."""

import functools
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from rillax.agents import QRC, Rill, StreamAC, StreamQ
from rillax.cells import RTU, FeedForward, MinGRU
from rillax.export import Library, source
from rillax.export.library import compiler
from rillax.networks import Architecture
from rillax.updates import SGD, AdaptiveObGD, Intentional, IntentionalPolicy, ObGD
from rillax.utils import checkpoint

needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")

SEES = Box(-np.inf, np.inf, (3,))
CHOICE, FORCE = Discrete(3), Box(-1.0, np.array([1.0, np.inf], np.float32), (2,))
SMALL = Architecture(cell=RTU(16), width=16)
PLAIN = Architecture(cell=RTU(8, gain=False), width=8, layer_norm=False, head_layer_norm=False)
STACK = Architecture(
    layers=(RTU(8), FeedForward(12), RTU(6)),
    encoder_widths=(12, 10),
    head_widths=(12, 8),
    activation="tanh",
)
HEADLESS = Architecture(cell=RTU(9, features="tanh"), width=7, head_widths=())
DENSE = Architecture(cell=FeedForward(16), width=16)
CURVED = Architecture(cell=RTU(16, features="tanh"), width=16)
DIRECT = replace(CURVED, direct=True)
STRAIGHT = replace(HEADLESS, direct=True)
GATED = Architecture(cell=MinGRU(16, timescale_max=50.0), width=16)
GATES = Architecture(
    layers=(
        MinGRU(8),
        RTU(6, gradient="tbptt"),
        MinGRU(7, gradient="tbptt", features="leaky_relu"),
    ),
    width=12,
)
BY_STEP = Architecture(cell=RTU(12, gradient="tbptt", gain=False), width=12)
INTENDED = {"actor": IntentionalPolicy(eta=0.005), "critic": Intentional(eta=0.5)}
SQUARED_TRACE = Intentional(eta=0.5, preconditioner="trace", error_decay=0.99)
BY_TRACE = {
    "actor": IntentionalPolicy(eta=0.005, preconditioner="trace", moment_decay=0.99),
    "critic": replace(SQUARED_TRACE, eta=0.05),
}
EVENLY = {
    "actor": IntentionalPolicy(eta=0.005, preconditioner="none", row_norm=1.0),
    "critic": Intentional(eta=0.05, preconditioner="none"),
}
# Steps so small that no policy becomes certain, whose gradient would be all rounding, and no unit
# turns so fast that its phase is known to a few digits only.
GENTLE = ObGD(0.01, kappa=10.0)
ADAPTIVE = AdaptiveObGD(0.01, kappa=10.0, beta=0.99)
SLOW = {"actor": GENTLE, "critic": GENTLE}
ALL_IN = {"previous_action": True, "previous_reward": True}
APART = {"normalise_previous": False, "input_bound": 1.5, "normalisation_window": 40}
SHORT = {"actor_discount": 0.5}
NONE_IN = {"previous_action": False, "previous_reward": False}
SETTLED = {"longest_bout": 7, "window": 5, "epsilon_frames": 0, "epsilon_start": 0.2}
AS_IT_IS = {"normalise_observations": False, "normalise_rewards": False}

LEARNERS: dict[str, tuple[Any, Any]] = {
    "ac": (StreamAC(network=SMALL, **SLOW), CHOICE),
    "ac-continuous": (StreamAC(network=SMALL, **SLOW), FORCE),
    "ac-dense": (StreamAC(network=DENSE, **SLOW), CHOICE),
    "ac-stack": (StreamAC(network=STACK, **SLOW), CHOICE),
    "ac-plain": (StreamAC(network=PLAIN, **SLOW, **AS_IT_IS), FORCE),
    "ac-added": (StreamAC(network=SMALL, **SLOW, **ALL_IN), FORCE),
    "ac-apart": (StreamAC(network=SMALL, previous_reward=True, **SLOW, **APART), CHOICE),
    "ac-unbounded": (
        StreamAC(network=SMALL, previous_action=True, input_bound=None, **SLOW),
        CHOICE,
    ),
    "ac-adaptive": (StreamAC(network=SMALL, actor=ADAPTIVE, critic=GENTLE), CHOICE),
    "ac-sgd": (StreamAC(network=SMALL, actor=SGD(1e-4), critic=ADAPTIVE), FORCE),
    "ac-intentional": (StreamAC(network=SMALL, **INTENDED), CHOICE),
    "ac-by-trace": (StreamAC(network=SMALL, **BY_TRACE), FORCE),
    "ac-evenly": (StreamAC(network=CURVED, **EVENLY), FORCE),
    "ac-half": (StreamAC(network=PLAIN, actor=GENTLE, critic=Intentional(), **AS_IT_IS), CHOICE),
    "ac-by-state": (StreamAC(network=SMALL, state_deviation=True, **SLOW, **ALL_IN), FORCE),
    "ac-gated": (StreamAC(network=GATED, **SLOW), FORCE),
    "ac-gates": (StreamAC(network=GATES, **INTENDED), CHOICE),
    "ac-by-step": (StreamAC(network=BY_STEP, **SLOW), CHOICE),
    "ac-direct": (StreamAC(network=DIRECT, **SLOW, **ALL_IN), FORCE),
    "q": (StreamQ(network=SMALL, epsilon_frames=3000), CHOICE),
    "q-obgd": (StreamQ(network=SMALL, q=GENTLE, epsilon_frames=3000, **ALL_IN), CHOICE),
    "q-sgd": (StreamQ(network=STACK, q=SGD(1e-3), epsilon_frames=0, epsilon_start=0.2), CHOICE),
    "q-adaptive": (StreamQ(network=HEADLESS, q=ADAPTIVE, epsilon_frames=3000), CHOICE),
    "q-gated": (StreamQ(network=GATED, epsilon_frames=3000, **APART), CHOICE),
    "q-dense": (StreamQ(network=DENSE, q=SQUARED_TRACE, epsilon_frames=3000), CHOICE),
    "q-plain": (StreamQ(network=PLAIN, epsilon_frames=3000, **AS_IT_IS), CHOICE),
    "q-direct": (StreamQ(network=STRAIGHT, epsilon_frames=3000), CHOICE),
    "rill": (Rill(network=CURVED, **SLOW, **SHORT, epsilon_frames=3000), CHOICE),
    "rill-direct": (Rill(network=DIRECT, **SLOW, **SHORT, epsilon_frames=3000), CHOICE),
    "rill-linear": (Rill(network=SMALL, **SLOW, **SHORT, **SETTLED), CHOICE),
    "rill-gated": (Rill(network=GATED, actor_discount=0.9, **SLOW, **APART), CHOICE),
    "rill-dense": (
        Rill(network=DENSE, q=ADAPTIVE, **INTENDED, **SHORT, previous_action=False),
        CHOICE,
    ),
    "rill-plain": (Rill(network=PLAIN, q=GENTLE, **SLOW, **SHORT, **AS_IT_IS, **NONE_IN), CHOICE),
    "qrc-direct": (QRC(network=STRAIGHT, epsilon_frames=3000), CHOICE),
    "qrc": (QRC(network=SMALL, epsilon_frames=3000), CHOICE),
    "qrc-bounded": (QRC(network=SMALL, q=GENTLE, h=GENTLE, epsilon_frames=3000), CHOICE),
    "qrc-mixed": (QRC(network=HEADLESS, q=GENTLE, epsilon_frames=3000), CHOICE),
    "qrc-dense": (QRC(network=DENSE, epsilon_frames=0, epsilon_start=0.1), CHOICE),
    "qrc-stack": (QRC(network=STACK, **ALL_IN), CHOICE),
    "qrc-gated": (QRC(network=GATED, epsilon_frames=3000), CHOICE),
    "qrc-gates": (QRC(network=GATES, q=GENTLE, epsilon_frames=3000), CHOICE),
    "qrc-apart": (QRC(network=SMALL, previous_action=True, **APART), CHOICE),
    "qrc-plain": (QRC(network=PLAIN, **AS_IT_IS, **ALL_IN), CHOICE),
}
"""An agent and its actions: every cell, rule, policy and switch that has a form in C."""


class Stream(NamedTuple):
    """What happened to a learner."""

    observation: np.ndarray
    reward: np.ndarray
    after: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


def stream(steps: int, seed: int = 0) -> Stream:
    """Observations of different size and drift, and ends of both kinds, now and then at once."""
    rng = np.random.default_rng(seed)
    seen = (
        rng.normal(size=(steps + 1, 3)) * [1.0, 0.1, 10.0] + np.linspace(0, 1, steps + 1)[:, None]
    )
    seen = seen.astype(np.float32)
    ends = rng.random((2, steps)) < 0.04
    reward = rng.normal(size=steps).astype(np.float32) + seen[:-1, 0]
    return Stream(seen[:-1], reward, seen[1:], *ends)


def wild(data: Stream) -> Stream:
    """The same, but now and then an observation or a reward is out of all proportion."""
    rng = np.random.default_rng(1)
    loud = np.float32(10) ** rng.integers(3, 38, 2 * len(data.reward)).astype(np.float32)
    by = np.where(rng.random(len(loud)) < 0.03, loud, 1).reshape(2, -1)
    seen = np.clip(data.observation * by[0][:, None], -3e38, 3e38)
    after = np.concatenate([seen[1:], data.after[-1:]])
    return data._replace(
        observation=seen.astype(np.float32),
        after=after.astype(np.float32),
        reward=np.clip(data.reward * by[1], -3e38, 3e38).astype(np.float32),
    )


class Played(NamedTuple):
    """What JAX made of a stream."""

    states: list[dict[str, np.ndarray]]
    """At the start, and after each stretch."""
    actions: np.ndarray
    metrics: dict[str, np.ndarray]


@functools.cache
def compiled(name: str, double: bool) -> tuple[Any, Any]:
    """The state a learner starts from, and what takes it through a part of a stream."""
    del double
    agent, actions = LEARNERS[name]

    def step(state: Any, now: Stream) -> tuple[Any, Any]:
        state, action = agent.act(state, now.observation)
        state, metrics = agent.learn(state, now.reward, now.after, now.terminated, now.truncated)
        return state, (action, metrics)

    state = jax.jit(lambda key: agent.init(key, SEES, actions))(jax.random.key(3))
    return state, jax.jit(lambda state, part: jax.lax.scan(step, state, part))


def play(name: str, data: Stream, stretch: int) -> Played:
    """The stream learned from with JAX; the state is kept after each ``stretch`` of steps."""

    state, run = compiled(name, bool(jax.config.read("jax_enable_x64")))
    states, taken = [checkpoint.flatten(state)], []
    for at in range(0, len(data.reward), stretch):
        state, out = run(state, Stream(*(part[at : at + stretch] for part in data)))
        states.append(checkpoint.flatten(state))
        taken.append(jax.device_get(out))
    whole = jax.tree.map(lambda *parts: np.concatenate(parts), *taken)
    return Played(states, *whole)


def rounded_at_the_start(
    name: str, start: dict[str, np.ndarray], part: Stream, seed: int
) -> dict[str, np.ndarray]:
    """What JAX makes of a stretch if every array at its start is one rounding away."""
    rng = np.random.default_rng(seed)

    def away(x: np.ndarray) -> np.ndarray:
        if x.size == 1 or not np.issubdtype(x.dtype, np.floating):
            return x
        side = np.where(rng.random(x.shape) < 0.5, np.inf, -np.inf)
        return np.where(x == 0, x, np.nextafter(x, side.astype(x.dtype)))

    like, run = compiled(name, bool(jax.config.read("jax_enable_x64")))
    moved = {leaf: away(value) for leaf, value in start.items()}
    return checkpoint.flatten(run(checkpoint.unflatten(like, moved, name), part)[0])


def library(agent: Any, actions: Any, double: bool = False) -> Library:
    discrete = hasattr(actions, "n")
    size = 1 if discrete else actions.shape[0]
    return Library(source(agent, SEES, actions), size, discrete, double)


TINY = 1e-30
"""Smaller numbers count as zero. Near the smallest that single precision has, 1e-38, XLA may take
them for zero, and C keeps them."""


def _both(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(a, float), np.asarray(b, float)


def relative(
    got: dict[str, np.ndarray],
    want: dict[str, np.ndarray],
    scales: dict[str, float] | None = None,
) -> tuple[float, str]:
    """The largest difference of two states, relative to the largest number of the same array.

    A single number passes through zero now and then: it is measured by ``scales``, if given. The
    lower word of a statistic is what rounding leaves of the upper one, and is measured by that.
    """

    def one(name: str) -> float:
        a, b = (np.where(np.abs(x) < TINY, 0.0, x) for x in _both(got[name], want[name]))
        if np.array_equal(a, b):
            return 0.0
        by = name.removesuffix("_low")
        scale = np.max(np.abs(np.asarray(want[by], float)))
        if scales is not None and b.size == 1:
            scale = scales[by]
        difference = float(np.max(np.abs(a - b)))
        return difference / scale if scale else np.inf

    return max((one(name), name) for name in want)


def scales_of(states: list[dict[str, np.ndarray]]) -> dict[str, float]:
    """The largest number of each array in all of these states."""
    return {
        name: max(float(np.max(np.abs(np.asarray(state[name], float)))) for state in states)
        for name in states[0]
    }
