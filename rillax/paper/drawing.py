"""Drawing the figures of the paper: what they share, and how they are saved."""

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from rillax.experiments.curves import Curve
from rillax.experiments.results import iqm, standard_error
from rillax.paper.figure import Results
from rillax.utils import files

# One look for each line, the same in every figure: colour, line style, marker. In grey the style
# and the marker still tell them apart.
LOOKS: dict[str, tuple[str, Any, str]] = {
    "FFN": ("#707070", ":", "s"),
    "GRU, TBPTT(1)": ("#C77700", "--", "^"),
    "RTU, TBPTT(1)": ("#3D9BD6", ":", "o"),
    "RTU, RTRL": ("#00578A", "-", "o"),
    "RTU": ("#00578A", "-", "o"),
    "GRU": ("#C77700", "--", "^"),
    "LSTM": ("#B03A00", "-.", "v"),
    "QRC(λ)-RTU": ("#00578A", "-", "o"),
    "stream AC(λ)-RTU": ("#D55E00", "--", "^"),
    "PPO-RTU": ("#111111", "-.", "D"),
    "QRC(λ)-FFN": ("#808080", ":", "s"),
    "QRC(λ)": ("#3D9BD6", ":", "o"),
    "QRC(λ), Taylor": ("#00578A", "-", "o"),
    "QRC(λ), exact transport": ("#00324F", (0, (1, 1)), "P"),
    "stream AC(λ)": ("#E69F00", "-.", "^"),
    "stream AC(λ), Taylor": ("#B03A00", "--", "^"),
    "stream AC(λ), exact transport": ("#5C1E00", (0, (5, 1)), "X"),
    "Rill": ("#00578A", "-", "o"),
    "Brook": ("#00578A", "-", "P"),
    "PPO": ("#111111", "-.", "D"),
    "λ 0.8": ("#D55E00", "--", "^"),
    "λ 0.95": ("#00578A", "-", "o"),
    "λ 0.99": ("#00578A", "-", "s"),
}
_STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "svg.hashsalt": "rillax",  # the same results give the same file
}
POINTS = 50
"""A curve is drawn from at most this many points."""


def draw(results: Results, columns: int | None = None) -> Any:
    """A figure of the paper as a matplotlib figure; its panels in this many columns."""
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with plt.rc_context(_STYLE):
        return results.figure.draw(results, columns)


def save(results: Results, directory: Path, kinds: Iterable[str] = ("svg", "pdf", "png")) -> list:
    """The figure as vector and pixel files; returns their paths."""
    from matplotlib import pyplot as plt

    figure = draw(results)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        paths = [directory / f"{results.figure.name}.{kind}" for kind in kinds]
        for path in paths:
            files.write_bytes(path, _bytes(figure, path.suffix[1:]))
        return paths
    finally:
        plt.close(figure)


def as_bytes(results: Results, kind: str, columns: int | None = None) -> bytes:
    """The figure as the content of a file."""
    from matplotlib import pyplot as plt

    figure = draw(results, columns)
    try:
        return _bytes(figure, kind)
    finally:
        plt.close(figure)


def _bytes(figure: Any, kind: str) -> bytes:
    from matplotlib import pyplot as plt

    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    out = io.BytesIO()
    with plt.rc_context(_STYLE):
        figure.savefig(out, format=kind, dpi=150, metadata=dates)
    return out.getvalue()


def panels(count: int, columns: int, width: float = 2.5, height: float = 2.1) -> Any:
    """A matplotlib figure and the axes of its panels, each of this size in inches."""
    from matplotlib import pyplot as plt

    columns = min(columns, count)
    rows = -(-count // columns)
    size = max(columns * width, 3.6), rows * height + 0.7
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for spare in axes.flat[count:]:
        spare.set_visible(False)
    return figure, list(axes.flat[:count])


def legend(figure: Any, axes: Sequence[Any]) -> None:
    """One legend under all panels."""
    handles: dict[str, Any] = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    inches = 0.62 + 0.062 * max(map(len, handles), default=0)
    columns = max(1, min(len(handles), int(figure.get_figwidth() / inches)))
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        handlelength=3,
    )


def band(axes: Any, x: Any, values: np.ndarray, label: str, markers: bool) -> None:
    """IQM over seeds (the last axis) with shaded standard error."""
    colour, line, marker = LOOKS[label]
    seen = np.isfinite(values).any(axis=1)
    x, values = np.asarray(x, float)[seen], values[seen]
    if not len(x):
        return
    alive = [row[np.isfinite(row)] for row in values]
    middle = np.array([iqm(row) for row in alive])
    error = np.array([standard_error(row) for row in alive])
    axes.fill_between(x, middle - error, middle + error, color=colour, alpha=0.2, lw=0)
    every = 1 if markers else max(1, len(x) // 6)
    style = {"color": colour, "ls": line, "marker": marker, "ms": 4, "markevery": every}
    axes.plot(x, middle, lw=1.6, label=label, **style)


def padded(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Rows of unequal length (seeds may be lost) as one array with NaN."""
    width = max((len(row) for row in rows), default=0)
    return np.array([np.pad(row, (0, width - len(row)), constant_values=np.nan) for row in rows])


def against_sweep(
    xlabel: str, ylabel: str, limits: tuple[float, float] | None = None
) -> Callable[[Results, int | None], Any]:
    """One panel: the figure's quantity against the number that the group of a job is."""

    def draw(results: Results, columns: int | None) -> Any:
        figure, (axes,) = panels(1, 1, width=5.0, height=2.8)
        groups, values = results.groups, results.figure.quantity.values
        for label in results.labels:
            here = [(int(g), d) for g in groups if (d := results.at(g, label)) is not None]
            band(axes, [g for g, _ in here], padded([values(d) for _, d in here]), label, True)
        doubling(axes, [int(g) for g in groups])
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.set_ylim(limits)
        legend(figure, [axes])
        return figure

    return draw


def against_frames(
    columns: int, title: Callable[[str], str] = str
) -> Callable[[Results, int | None], Any]:
    """A panel for each group: return against frames. The title is made of the group."""
    usual = columns

    def draw(results: Results, columns: int | None) -> Any:
        groups, columns = results.groups, columns or usual
        figure, all_axes = panels(len(groups), columns)
        for group, axes in zip(groups, all_axes, strict=True):
            for label in results.labels:
                if (done := results.at(group, label)) is not None:
                    band(axes, *_thin(*done.curve()), label, False)
            axes.set_title(title(group), fontsize=9)
            axes.xaxis.set_major_formatter(lambda x, _: _frames(x))
            axes.locator_params(axis="x", nbins=4)
        for axes in all_axes:
            axes.set_xlabel("frames")
        for axes in all_axes[:: min(columns, len(all_axes))]:
            axes.set_ylabel("return")
        legend(figure, all_axes)
        return figure

    return draw


def doubling(axes: Any, ticks: Iterable[int]) -> None:
    """An x axis on which every doubling is as wide."""
    ticks = sorted(ticks)
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()


def _thin(frames: np.ndarray, values: np.ndarray) -> Curve:
    """Neighbouring bins averaged until few enough are left."""
    every = -(-len(frames) // POINTS)
    starts = np.arange(0, len(frames), every)
    counted = np.isfinite(values)
    sums = np.add.reduceat(np.where(counted, values, 0), starts)
    with np.errstate(invalid="ignore"):
        means = sums / np.add.reduceat(counted.astype(float), starts)
    ends = np.append(starts[1:], len(frames)) - 1
    return frames[ends], means


def _frames(x: float) -> str:
    if x >= 1e6:
        return f"{x / 1e6:g}M"
    return f"{x / 1e3:g}k" if x >= 1e3 else f"{x:g}"
