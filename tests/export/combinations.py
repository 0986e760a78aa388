"""Learners that have a form in C, and what they are compared on."""

from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from rillax.agents import QRC, StreamAC
from rillax.cells import RTU, FeedForward
from rillax.export import Library, source
from rillax.export.library import compiler
from rillax.networks import Architecture
from rillax.updates import SGD, AdaptiveObGD, ObGD
from rillax.utils import checkpoint

needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")

SEES = Box(-np.inf, np.inf, (3,))
CHOICE, FORCE = Discrete(3), Box(-1.0, np.array([1.0, np.inf], np.float32), (2,))
SMALL = Architecture(cell=RTU(16), width=16)
PLAIN = Architecture(
    cell=RTU(8, gain=False, features="tanh"), width=8, layer_norm=False, head_layer_norm=False
)
STACK = Architecture(
    layers=(RTU(8), FeedForward(12), RTU(6)),
    encoder_widths=(12, 10),
    head_widths=(12, 8),
    activation="tanh",
)
HEADLESS = Architecture(cell=RTU(9), width=7, head_widths=())
DENSE = Architecture(cell=FeedForward(16), width=16)
GENTLE = ObGD(0.01, kappa=10.0)
ALL_IN = {"previous_action": True, "previous_reward": True}
AS_IT_IS = {"normalise_observations": False, "normalise_rewards": False}

LEARNERS: dict[str, tuple[Any, Any]] = {
    "ac": (StreamAC(network=SMALL), CHOICE),
    "ac-continuous": (StreamAC(network=SMALL), FORCE),
    "ac-dense": (StreamAC(network=DENSE), CHOICE),
    "ac-stack": (StreamAC(network=STACK), CHOICE),
    "ac-plain": (StreamAC(network=PLAIN, actor=GENTLE, critic=GENTLE, **AS_IT_IS), FORCE),
    "ac-added": (StreamAC(network=SMALL, **ALL_IN), FORCE),
    "ac-adaptive": (StreamAC(network=SMALL, actor=AdaptiveObGD(), critic=ObGD()), CHOICE),
    "ac-sgd": (StreamAC(network=SMALL, actor=SGD(1e-3), critic=AdaptiveObGD(beta=0.99)), FORCE),
    "qrc": (QRC(network=SMALL, epsilon_frames=3000), CHOICE),
    "qrc-bounded": (QRC(network=SMALL, q=ObGD(), h=ObGD(0.1), epsilon_frames=3000), CHOICE),
    "qrc-mixed": (QRC(network=HEADLESS, q=GENTLE, epsilon_frames=3000), CHOICE),
    "qrc-dense": (QRC(network=DENSE, epsilon_frames=0, epsilon_start=0.1), CHOICE),
    "qrc-stack": (QRC(network=STACK, **ALL_IN), CHOICE),
    "qrc-plain": (QRC(network=PLAIN, **AS_IT_IS), CHOICE),
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


class Played(NamedTuple):
    """What JAX made of a stream."""

    states: list[dict[str, np.ndarray]]
    """At the start, and after each stretch."""
    actions: np.ndarray
    metrics: dict[str, np.ndarray]


def play(agent: Any, actions: Any, data: Stream, stretch: int) -> Played:
    """The stream learned from with JAX; the state is kept after each ``stretch`` of steps."""

    def step(state: Any, now: Stream) -> tuple[Any, Any]:
        state, action = agent.act(state, now.observation)
        state, metrics = agent.learn(state, now.reward, now.after, now.terminated, now.truncated)
        return state, (action, metrics)

    run = jax.jit(lambda state, part: jax.lax.scan(step, state, part))
    state = agent.init(jax.random.key(3), SEES, actions)
    states, taken = [checkpoint.flatten(state)], []
    for at in range(0, len(data.reward), stretch):
        state, out = run(state, Stream(*(part[at : at + stretch] for part in data)))
        states.append(checkpoint.flatten(state))
        taken.append(jax.device_get(out))
    whole = jax.tree.map(lambda *parts: np.concatenate(parts), *taken)
    return Played(states, *whole)


def library(agent: Any, actions: Any, double: bool = False) -> Library:
    discrete = hasattr(actions, "n")
    size = 1 if discrete else actions.shape[0]
    return Library(source(agent, SEES, actions), size, discrete, double)


def relative(got: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> tuple[float, str]:
    """The largest difference of two states, relative to the largest number of its array.

    An array of one number passes through zero now and then: below a hundredth, that is the unit.
    """

    def one(name: str) -> float:
        a, b = np.asarray(got[name], float), np.asarray(want[name], float)
        if np.array_equal(a, b):
            return 0.0
        return float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-2))

    return max((one(name), name) for name in want)
