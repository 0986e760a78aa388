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
    rounded_at_the_start,
    scales_of,
    stream,
    wild,
)

pytestmark = needs_compiler
SINGLE, DOUBLE = 1e-4, 1e-9
"""How far the two may be apart, as ``relative`` measures it."""
TIES = 10
"""In so many of a thousand stretches rounding may decide otherwise in single precision: for an
action, or on which side of its kink a unit is."""
ROUNDINGS = 10
"""Where gradients cancel, a rounding is large. C and JAX may be further apart than ``SINGLE`` by so
many times what a single rounding of every number at the start of a stretch makes of JAX alone, at
most in some draws of its direction."""
DRAWS = 5


class Compared(NamedTuple):
    """How a learner in C and the agent in JAX differed."""

    worst: float
    """The largest relative difference of states and TD errors."""
    where: str
    usual: float
    """The largest of 99 in 100 stretches."""
    parted: int
    """In how many stretches it was more than single precision may be apart, and than rounding
    explains."""
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
    scales, others, parted, found = scales_of(played.states), 0, 0, []
    td_errors = played.metrics["td_error"]
    refused = ~np.isfinite(td_errors)
    largest = np.max(np.abs(td_errors[~refused]))
    for i, (start, end) in enumerate(zip(played.states, played.states[1:], strict=False)):
        c.load(layout.write(start, acted=False))
        worst, differed = (0.0, ""), False
        for t in range(i * stretch, (i + 1) * stretch):
            action = c.act(data.observation[t])
            if c.discrete:
                differed |= bool(action != played.actions[t])
            ends = bool(data.terminated[t]), bool(data.truncated[t])
            learned = c.learn(data.reward[t], data.after[t], *ends)
            if differed:
                break
            assert learned == (not refused[t])
            difference = abs(c.metrics["td_error"] - td_errors[t]) / largest
            worst = max(worst, (0.0 if not learned else difference, "td_error"))
        others += differed
        if not differed:
            got, _ = layout.read(c.save(), start, "C")
            worst = max(worst, relative(got, end, scales))
        found.append(worst)
        if worst[0] > SINGLE:
            part = Stream(*(x[i * stretch : (i + 1) * stretch] for x in data))
            moved = (rounded_at_the_start(name, start, part, seed) for seed in range(DRAWS))
            rounded = max(relative(each, end, scales)[0] for each in moved)
            parted += bool(worst[0] > ROUNDINGS * rounded)
    differences = np.array([difference for difference, _ in found])
    usual = float(np.quantile(differences, 0.99))
    count = int(refused.sum())
    compared = Compared(*max(found), usual, parted, others, count)
    print(
        f"{name}: {compared.worst:.1e} at {compared.where}, 99 in 100 within {usual:.1e}, "
        f"{parted} parted, {others} other actions, {count} refused"
    )
    return compared


@pytest.mark.slow
def test_a_short_stream_in_single_precision():
    found = compare("ac-sgd", steps=200, stretch=5, double=False)
    assert found.worst < SINGLE
    assert found.others == 0


@pytest.mark.parametrize("name", ["qrc-apart", "rill-direct"])
def test_a_short_stream_in_double_precision(name, x64):
    found = compare(name, steps=200, stretch=20, double=True)
    assert found.worst < DOUBLE
    assert found.others == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_in_single_precision(name):
    found = compare(name, steps=10_000, stretch=10, double=False)
    assert found.parted + found.others <= TIES
    assert found.refused == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_in_double_precision(name, x64):
    found = compare(name, steps=10_000, stretch=20, double=True)
    assert found.worst < DOUBLE
    assert found.others == found.refused == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_on_a_wild_stream(name, x64):
    """The same steps are refused, and what is clipped is clipped alike.

    Stretches are short, because large steps may make a unit turn so fast that rounding grows a
    thousandfold in twenty steps.
    """
    found = compare(name, 1_000, 5, True, wild(stream(1_000)))
    assert found.worst < DOUBLE
    assert found.others == 0
    if name.endswith("-plain"):
        assert found.refused > 0
