"""Figure 1a: one update of a network with a cell of each kind, exact RTRL where it recurs."""

from dataclasses import replace
from typing import Any

from rillax.cells import GRU, LSTM, RTU, CellSettings, FeedForward
from rillax.experiments import Job, Timing
from rillax.paper.claims import Claim, Decision, Reader
from rillax.paper.drawing import band, doubling, legend, padded, panels
from rillax.paper.figure import Figure, Preset, Results
from rillax.paper.quantities import MILLISECONDS
from rillax.paper.tables import DISCRETE, UNITS

WIDTHS = (8, 16, 32, 64, 128, 256, 512)
"""The paper names none; these show both the linear and the quartic regime."""
LAYERS: dict[str, tuple[str, CellSettings]] = {
    "FFN": ("feedforward", FeedForward(UNITS)),
    "RTU": ("rtu", RTU(UNITS)),
    "GRU": ("gru", GRU(UNITS)),
    "LSTM": ("lstm", LSTM(UNITS)),
}
GROUP = "time"


def jobs(preset: Preset) -> list[Job]:
    return [
        Job(
            name=f"fig1a/{name}",
            group=GROUP,
            label=label,
            source="Figure 1a",
            work=Timing(replace(DISCRETE, layers=(cell,)), WIDTHS),
        )
        for label, (name, cell) in LAYERS.items()
    ]


def draw(results: Results, columns: int | None) -> Any:
    figure, (axes,) = panels(1, 1, width=4.6, height=2.8)
    widths: set[int] = set()
    for done in results.jobs.values():
        times = done.milliseconds()
        widths |= set(times)
        band(axes, list(times), padded(list(times.values())), done.job.label, True)
    axes.set_yscale("log")
    doubling(axes, widths)
    axes.set(xlabel="hidden width", ylabel="time of an update (ms)")
    legend(figure, [axes])
    return figure


def _linear(r: Reader) -> Decision:
    rtu, ffn = r.growth(GROUP, "RTU"), r.growth(GROUP, "FFN")
    return rtu <= 1.15, f"exponent {rtu:.2f} (RTU), {ffn:.2f} (FFN)"


def _quartic(r: Reader) -> Decision:
    gru, lstm = r.growth(GROUP, "GRU"), r.growth(GROUP, "LSTM")
    return min(gru, lstm) >= 3, f"exponent {gru:.2f} (GRU), {lstm:.2f} (LSTM)"


FIGURE = Figure(
    name="fig1a",
    number="Figure 1a",
    title="Time of one gradient update against hidden width, exact RTRL",
    make_jobs=jobs,
    quantity=MILLISECONDS,
    draw=draw,
    claims=(
        Claim(
            "An update of an RTU under exact RTRL grows with width as that of a feed-forward "
            "layer.",
            "exponent of the RTU over its two largest widths at most 1.15",
            _linear,
        ),
        Claim(
            "Exact RTRL of GRU and LSTM grows with about the fourth power of the width.",
            "exponent of both over their two largest widths at least 3",
            _quartic,
        ),
    ),
    miniature=("fig1a/*",),
    caption=(
        "IQM of several measurements, with shaded standard error. Nothing else ran beside them."
    ),
)
