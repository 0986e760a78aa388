"""Learning as a picture: return against frames."""

import itertools
from collections.abc import Mapping
from pathlib import Path

import matplotlib
import numpy as np

from rillax.experiments.results import Bins, iqm, standard_error
from rillax.utils import files

# Colours that stay apart in grey and for colour-blind readers; line styles repeat the difference.
STYLES = [("#0072B2", "-"), ("#D55E00", "--"), ("#555555", ":"), ("#009E73", "-.")]
STYLES += [("#CC79A7", "-"), ("#E69F00", "--"), ("#56B4E9", "-."), ("#000000", ":")]

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
        for (label, (frames, returns)), (colour, line) in zip(
            curves.items(), itertools.cycle(STYLES), strict=False
        ):
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
        shows = "IQM over seeds, shaded: standard error"
        single = "; thin: each seed" if len(curves) == 1 else ""
        axes.legend(frameon=False, title=shows + single, title_fontsize=9, alignment="left")
        files.write(path, lambda beside: figure.savefig(beside, format="png", dpi=150))
        plt.close(figure)


def curve(bins: Bins, points: int = 25) -> Curve:
    columns = bins.columns(points)
    return np.cumsum(columns["frames"][:, 0]), columns["return"]
