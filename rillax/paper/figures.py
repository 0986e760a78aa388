"""Learning as a picture: the curve of a run, and the figures of the paper."""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from rillax.experiments.results import iqm, standard_error
from rillax.paper.collect import Done, Results
from rillax.utils import files

# Colours that stay apart in grey and for colour-blind readers; line styles repeat the difference.
STYLES = [("#0072B2", "-"), ("#D55E00", "--"), ("#555555", ":"), ("#009E73", "-.")]

Curve = tuple[np.ndarray, np.ndarray]
"""Frames (bins,) and returns (bins, seeds)."""


def draw_curves(path: Path, curves: Mapping[str, Curve], title: str) -> None:
    """Return against frames: IQM over seeds, shaded standard error.

    A single curve also shows each seed, as a thin line.
    """
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with plt.rc_context({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
        for (label, (frames, returns)), (colour, line) in zip(curves.items(), STYLES, strict=False):
            seen = np.isfinite(returns).all(axis=1)
            frames, returns = frames[seen], returns[seen]
            middle, error = iqm(returns, axis=1), standard_error(returns, axis=1)
            if len(curves) == 1:
                axes.plot(frames, returns, color=colour, lw=0.6, alpha=0.25)
            low, high = middle - error, middle + error
            axes.fill_between(frames, low, high, color=colour, alpha=0.25, lw=0)
            axes.plot(frames, middle, color=colour, ls=line, lw=2, label=label)
        axes.set(title=title, xlabel="frames", ylabel="return of an episode")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}k" if x else "0")
        axes.grid(alpha=0.25)
        axes.legend(frameon=False)
        files.write(path, lambda beside: figure.savefig(beside, format="png", dpi=150))
        plt.close(figure)


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
"""A curve is drawn from at most so many points."""


def draw(results: Results, columns: int | None = None) -> Any:
    """A figure of the paper as a matplotlib figure; its panels in so many columns."""
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with plt.rc_context(_STYLE):
        return _FIGURES[results.figure](results, columns)


def save(results: Results, directory: Path, kinds: Iterable[str] = ("svg", "pdf", "png")) -> list:
    """The figure as vector and pixel files; returns their paths."""
    from matplotlib import pyplot as plt

    figure = draw(results)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        paths = [directory / f"{results.figure}.{kind}" for kind in kinds]
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


def _labels(results: Results) -> list[str]:
    return list(dict.fromkeys(done.cell.label for done in results.cells.values()))


def _groups(results: Results) -> list[str]:
    return list(dict.fromkeys(done.cell.group for done in results.cells.values()))


def _panels(count: int, columns: int, width: float = 2.5, height: float = 2.1) -> Any:
    from matplotlib import pyplot as plt

    columns = min(columns, count)
    rows = -(-count // columns)
    size = max(columns * width, 3.6), rows * height + 0.7
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for spare in axes.flat[count:]:
        spare.set_visible(False)
    return figure, list(axes.flat[:count])


def _legend(figure: Any, axes: Sequence[Any]) -> None:
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


def _band(axes: Any, x: Any, values: np.ndarray, label: str, markers: bool) -> None:
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


def _padded(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Rows of unequal length (seeds may be lost) as one array with NaN."""
    width = max((len(row) for row in rows), default=0)
    return np.array([np.pad(row, (0, width - len(row)), constant_values=np.nan) for row in rows])


def _against_sweep(
    results: Results,
    values: Callable[[Done], np.ndarray],
    xlabel: str,
    ylabel: str,
    limits: tuple[float, float] | None = None,
) -> Any:
    """One panel: a value of each cell against the number that its group is."""
    figure, (axes,) = _panels(1, 1, width=5.0, height=2.8)
    groups = _groups(results)
    for label in _labels(results):
        here = [(int(g), d) for g in groups if (d := results.at(g, label)) is not None]
        _band(axes, [g for g, _ in here], _padded([values(d) for _, d in here]), label, True)
    axes.set_xscale("log", base=2)
    axes.set_xticks([int(g) for g in groups], groups)
    axes.minorticks_off()
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set_ylim(limits)
    _legend(figure, [axes])
    return figure


def _against_frames(results: Results, columns: int, title: Callable[[str], str]) -> Any:
    """A panel for each group: return against frames."""
    groups = _groups(results)
    figure, panels = _panels(len(groups), columns)
    for group, axes in zip(groups, panels, strict=True):
        for label in _labels(results):
            if (done := results.at(group, label)) is not None:
                _band(axes, *_thin(*done.curve()), label, False)
        axes.set_title(title(group), fontsize=9)
        axes.xaxis.set_major_formatter(lambda x, _: _frames(x))
        axes.locator_params(axis="x", nbins=4)
    for axes in panels:
        axes.set_xlabel("frames")
    for axes in panels[:: min(columns, len(panels))]:
        axes.set_ylabel("return")
    _legend(figure, panels)
    return figure


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


def _fig1a(results: Results, columns: int | None) -> Any:
    figure, (axes,) = _panels(1, 1, width=4.6, height=2.8)
    widths: set[int] = set()
    for done in results.cells.values():
        times = done.milliseconds()
        widths |= set(times)
        _band(axes, list(times), _padded(list(times.values())), done.cell.label, True)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sorted(widths), [str(w) for w in sorted(widths)])
    axes.minorticks_off()
    axes.set(xlabel="hidden width", ylabel="time of an update (ms)")
    _legend(figure, [axes])
    return figure


def _choices(results: Results, columns: int | None) -> Any:
    """A row for each change: the return of every seed, and their IQM, at each length."""
    figure, (axes,) = _panels(1, 1, width=6.4, height=3.6)
    labels = _labels(results)
    for shift, group, (colour, _), marker in zip(
        (0.15, -0.15), _groups(results), STYLES, "os", strict=False
    ):
        here = [(i, d) for i, n in enumerate(labels) if (d := results.at(group, n)) is not None]
        for i, done in here:
            values = done.final_returns()
            row = np.full(len(values), shift - i)
            axes.plot(values, row, "|", color=colour, ms=6)
        middles = [float(iqm(v)) if (v := d.final_returns()).size else np.nan for _, d in here]
        rows = [shift - i for i, _ in here]
        axes.plot(middles, rows, marker, color=colour, ms=5, label=f"L = {group}")
    axes.set_yticks([-i for i in range(len(labels))], labels)
    axes.set(xlabel="return")
    axes.set_xlim(min(-0.2, axes.get_xlim()[0]), 1.05)
    _legend(figure, [axes])
    return figure


_FIGURES: dict[str, Callable[[Results, int | None], Any]] = {
    "fig1a": _fig1a,
    "fig1b": lambda r, _: _against_sweep(
        r, Done.final_returns, "chain length L", "return", limits=(-0.25, 1.15)
    ),
    "popgym": lambda r, columns: _against_frames(r, columns or 5, str),
    "mujoco": lambda r, columns: _against_frames(r, columns or 4, str),
    "staleness": lambda r, _: _against_sweep(
        r, Done.staleness, "memory length K", "relative staleness"
    ),
    "kmemory": lambda r, columns: _against_frames(r, columns or 3, lambda k: f"K = {k}"),
    "choices": _choices,
}
