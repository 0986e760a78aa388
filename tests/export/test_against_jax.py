"""The learner in C against the agent in JAX, step for step."""

import numpy as np
import pytest

from tests.export.combinations import (
    LEARNERS,
    library,
    needs_compiler,
    play,
    relative,
    stream,
)

pytestmark = needs_compiler


def compare(name: str, steps: int, stretch: int, double: bool) -> tuple[float, int]:
    """The largest relative difference of states, and how many discrete actions differed.

    C learns from the same stream, stretch by stretch, each from JAX's state at its beginning: how
    far rounding carries a chaotic learner in thousands of steps says nothing about either.
    """
    agent, actions = LEARNERS[name]
    data = stream(steps)
    played = play(agent, actions, data, stretch)
    c = library(agent, actions, double)
    layout = c.source.layout
    layout.check_complete(played.states[0], c.source.constants)
    worst, others = (0.0, ""), 0
    seen, after = data.observation.astype(c.dtype), data.after.astype(c.dtype)
    for i, (start, end) in enumerate(zip(played.states, played.states[1:], strict=False)):
        c.load(layout.write(start, acted=True))
        differed = False
        for t in range(i * stretch, (i + 1) * stretch):
            action = c.act(seen[t])
            if c.discrete:
                differed |= bool(action != played.actions[t])
            c.learn(data.reward[t], after[t], bool(data.terminated[t]), bool(data.truncated[t]))
        others += differed
        if not differed:
            got, _ = layout.read(c.save(), start, "C")
            worst = max(worst, relative(got, end))
            td_error = played.metrics["td_error"][(i + 1) * stretch - 1]
            np.testing.assert_allclose(c.metrics["td_error"], td_error, rtol=1e-3, atol=1e-4)
    print(f"{name}: {worst[0]:.1e} at {worst[1]}, {others} stretches with another action")
    return worst[0], others


@pytest.mark.parametrize("name", ["ac-added", "qrc-bounded"])
def test_a_short_stream_in_single_precision(name):
    worst, others = compare(name, steps=400, stretch=5, double=False)
    assert worst < 1e-4
    assert others == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_in_single_precision(name):
    worst, others = compare(name, steps=10_000, stretch=5, double=False)
    assert worst < 1e-4
    assert others <= 2  # where a tie of rounding decides


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_in_double_precision(name, x64):
    worst, others = compare(name, steps=10_000, stretch=20, double=True)
    assert worst < 1e-9
    assert others == 0
