"""A run's metrics sent to TensorBoard or to Weights & Biases, each time a bin is full."""

import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from rillax.experiments.results import iqm
from rillax.utils import files

Scalars = dict[str, float]
Send = Callable[[int, Scalars], None]
TENSORBOARD, IDENTITY = "tensorboard", "wandb_id"


class Trackers:
    """Where the metrics of a run go besides its own directory; nowhere, unless asked."""

    def __init__(
        self,
        out: Path,
        *,
        title: str,
        config: Mapping[str, Any],
        seeds: list[int],
        tensorboard: bool = False,
        wandb: str | None = None,
        first_frame: int = 0,
    ):
        self.seeds = seeds
        self._stack = ExitStack()
        self._send: list[Send] = []
        if tensorboard:
            self._send.append(_tensorboard(self._stack, out, first_frame))
        if wandb is not None:
            self._send.append(_wandb(self._stack, out, wandb, title, config))

    def __call__(self, frame: int, metrics: Mapping[str, np.ndarray]) -> None:
        """The metrics of one bin, an array over seeds each."""
        if self._send:
            scalars = summarise(metrics, self.seeds)
            for send in self._send:
                send(frame, scalars)

    def close(self) -> None:
        self._stack.close()


def summarise(metrics: Mapping[str, np.ndarray], seeds: list[int]) -> Scalars:
    """The IQM over seeds of each metric, and each seed's return; what did not happen is left out.

    >>> values = {"return": np.array([1.0, 3.0]), "td_error": np.array([np.nan, 0.5])}
    >>> summarise(values, [7, 8])
    {'return': 2.0, 'td_error': 0.5, 'return_of/seed_7': 1.0, 'return_of/seed_8': 3.0}
    """
    finite = {name: values[np.isfinite(values)] for name, values in metrics.items()}
    scalars = {name: float(iqm(values)) for name, values in finite.items() if values.size}
    returns = metrics.get("return", np.full(len(seeds), np.nan))
    each = {f"return_of/seed_{s}": float(r) for s, r in zip(seeds, returns, strict=True)}
    return scalars | {name: value for name, value in each.items() if np.isfinite(value)}


def forget(out: Path) -> None:
    """Remove what says that a new run in a directory goes on with the one that was there before."""
    try:
        for path in (out / TENSORBOARD).glob("events.out.tfevents.*"):
            path.unlink(missing_ok=True)
        (out / IDENTITY).unlink(missing_ok=True)
    except OSError as error:
        raise files.OutputError(
            f"cannot remove {error.filename}: {files.reason(error)}; choose another --out"
        ) from error


def require(tensorboard: bool, wandb: str | None) -> None:
    """Say which extra is missing, before a run starts."""
    if tensorboard:
        _import("tensorboardX", "tensorboard")
    if wandb is not None:
        _import("wandb", "wandb")


def _import(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as missing:
        raise ModuleNotFoundError(
            f"{module} is not installed; pip install 'rillax[{extra}]'"
        ) from missing


def _tensorboard(stack: ExitStack, out: Path, first_frame: int) -> Send:
    """Event files in ``out``; what an interrupted run wrote beyond its checkpoint is purged."""
    module = _import("tensorboardX", "tensorboard")
    purge = first_frame + 1 if first_frame else None
    writer = stack.enter_context(module.SummaryWriter(str(out / TENSORBOARD), purge_step=purge))

    def send(frame: int, scalars: Scalars) -> None:
        for name, value in scalars.items():
            writer.add_scalar(name, value, frame)
        writer.flush()

    return send


def _wandb(stack: ExitStack, out: Path, project: str, title: str, config: Mapping) -> Send:
    """One W&B run for each of ours; the same one goes on when ours is resumed."""
    module = _import("wandb", "wandb")
    run = module.init(
        project=project,
        name=title,
        id=_identity(out),
        resume="allow",
        dir=str(out),
        config=dict(config),
    )
    stack.callback(run.finish)
    return lambda frame, scalars: run.log(scalars, step=frame)


def _identity(out: Path) -> str:
    """An id for the run in a directory: kept there, so that a resumed run finds it again."""
    path = out / IDENTITY
    if not path.exists():
        files.write(path, lambda beside: beside.write_text(secrets.token_hex(6)))
    return path.read_text()
