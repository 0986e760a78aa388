"""The learner in C against the agent in JAX, step for step."""

from typing import NamedTuple

import numpy as np
import pytest

from tests.export.combinations import (
    LEARNERS,
    Played,
    Stream,
    library,
    needs_compiler,
    play,
    relative,
    scales_of,
    stream,
    wild,
)

pytestmark = needs_compiler
SINGLE, DOUBLE = 5e-4, 1e-9
"""How far the two may be apart, as ``relative`` measures it."""


class Compared(NamedTuple):
    """How a learner in C and the agent in JAX differed."""

    worst: float
    """The largest relative difference of states and TD errors."""
    where: str
    others: int
    """In how many stretches a discrete action differed."""
    refused: int


def compare(
    name: str, steps: int, stretch: int, double: bool, data: Stream | None = None
) -> Compared:
    """Both learn from the same stream, stretch by stretch, each from JAX's state at its beginning.

    A streaming learner is chaotic: how far rounding carries it in thousands of steps says nothing
    about either. Of every step the action and the TD error are compared, and after each stretch
    every number of the state.
    """
    kind = np.float64 if double else np.float32
    data = stream(steps) if data is None else data
    data = Stream(*(part.astype(kind) for part in data[:3]), *data[3:])
    return against(name, data, play(name, data, stretch), stretch, double)


def against(name: str, data: Stream, played: Played, stretch: int, double: bool) -> Compared:
    """C against what JAX made of a stream."""
    agent, actions = LEARNERS[name]
    c = library(agent, actions, double)
    layout = c.source.layout
    layout.check_complete(played.states[0], c.source.constants)
    worst, others, scales = (0.0, ""), 0, scales_of(played.states)
    td_errors = played.metrics["td_error"]
    refused = ~np.isfinite(td_errors)
    usual = np.max(np.abs(td_errors[~refused]))
    for i, (start, end) in enumerate(zip(played.states, played.states[1:], strict=False)):
        c.load(layout.write(start, acted=False))
        differed = False
        for t in range(i * stretch, (i + 1) * stretch):
            action = c.act(data.observation[t])
            if c.discrete:
                differed |= bool(action != played.actions[t])
            ends = bool(data.terminated[t]), bool(data.truncated[t])
            learned = c.learn(data.reward[t], data.after[t], *ends)
            if differed:
                break
            assert learned == (not refused[t])
            difference = abs(c.metrics["td_error"] - td_errors[t]) / usual
            worst = max(worst, (0.0 if not learned else difference, "td_error"))
        others += differed
        if not differed:
            got, _ = layout.read(c.save(), start, "C")
            worst = max(worst, relative(got, end, scales))
    count = int(refused.sum())
    print(f"{name}: {worst[0]:.1e} at {worst[1]}, {others} other actions, {count} refused")
    return Compared(*worst, others, count)


@pytest.mark.slow
def test_a_short_stream_in_single_precision():
    worst, others, _ = compare("ac-sgd", steps=200, stretch=5, double=False)
    assert worst < SINGLE
    assert others == 0


def test_a_short_stream_in_double_precision(x64):
    worst, others, _ = compare("qrc-apart", steps=200, stretch=20, double=True)
    assert worst < DOUBLE
    assert others == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_in_single_precision(name):
    worst, others, refused = compare(name, steps=1_000, stretch=5, double=False)
    assert worst < SINGLE
    assert others <= 2  # where a tie of rounding decides
    assert refused == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_in_double_precision(name, x64):
    worst, others, refused = compare(name, steps=5_000, stretch=20, double=True)
    assert worst < DOUBLE
    assert others == refused == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_on_a_wild_stream(name, x64):
    """The same steps are refused, and what is clipped is clipped alike."""
    worst, others, refused = compare(name, 1_000, 20, True, wild(stream(1_000)))
    assert worst < DOUBLE
    assert others == 0
    if name.endswith("-plain"):
        assert refused > 0
