"""Masked MuJoCo: four robots that see their positions, their velocities, or both.

The engine is Gymnasium's MuJoCo v5, an optional extra: it is imported when a robot is made.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from rillax.utils.names import choose

ROBOTS: dict[str, dict[str, Any]] = {
    "Ant": {"include_cfrc_ext_in_observation": False},  # contact forces are no joint's state
    "HalfCheetah": {},
    "Hopper": {},
    "Walker2d": {},
}
REGIMES = {
    "P": "positions, velocities masked",
    "V": "velocities, positions masked",
    "F": "positions and velocities",
}
NAMES = [f"{robot}-{regime}" for robot in ROBOTS for regime in REGIMES]
EPISODE_STEPS = 1000


def make_mujoco(name: str) -> gymnasium.Env:
    """A masked robot by name; its episodes are truncated after 1000 steps.

    >>> make_mujoco("HalfCheetah-P").observation_space.shape
    (8,)
    """
    choose("MuJoCo environment", name, NAMES)
    robot, regime = name.split("-")
    mujoco = _import_mujoco()
    with _without_notice_of_settotalmass(mujoco):
        env = gymnasium.make(f"{robot}-v5", max_episode_steps=EPISODE_STEPS, **ROBOTS[robot])
    return MaskedObservation(env, regime)


def _import_mujoco() -> ModuleType:
    try:
        return import_module("mujoco")
    except ModuleNotFoundError as error:
        message = "MuJoCo is not installed: pip install 'rillax[mujoco]'"
        raise ModuleNotFoundError(message, name="mujoco") from error


class MaskedObservation(gymnasium.ObservationWrapper):
    """Removes the masked features of a MuJoCo robot's observation; the rest comes as float32.

    A v5 robot observes its joint positions, except for its place on the ground, then its joint
    velocities. ``regime`` says which of them stay: P, V or F.
    """

    def __init__(self, env: gymnasium.Env, regime: str):
        super().__init__(env)
        choose("regime", regime, REGIMES)
        positions, velocities = split(env)
        self.first = positions if regime == "V" else 0
        self.last = positions if regime == "P" else positions + velocities
        self.observation_space = Box(-np.inf, np.inf, (self.last - self.first,), np.float32)

    def observation(self, observation: np.ndarray) -> np.ndarray:
        return observation[self.first : self.last].astype(np.float32)


def split(env: gymnasium.Env) -> tuple[int, int]:
    """How many features of a robot's observation are positions, and how many velocities."""
    model = env.unwrapped.model  # type: ignore[attr-defined]
    positions, velocities = model.nq - _places_on_the_ground(model), model.nv
    expected, shape = (positions + velocities,), env.observation_space.shape
    if shape != expected:
        raise ValueError(
            f"{env} observes {shape} features where its model has {positions} positions and "
            f"{velocities} velocities: this version of Gymnasium orders them in a way unknown here"
        )
    return positions, velocities


def _places_on_the_ground(model: Any) -> int:
    """The coordinates that v5 leaves out: x, and y if the root can move along it."""
    mujoco = _import_mujoco()
    if model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
        return 2
    root = model.jnt_bodyid == model.jnt_bodyid[0]
    slides = model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE
    level = model.jnt_axis @ model.opt.gravity == 0
    return int(np.sum(root & slides & level))


@contextmanager
def _without_notice_of_settotalmass(mujoco: ModuleType) -> Iterator[None]:
    """Keeps MuJoCo from writing MUJOCO_LOG.TXT where the user stands.

    Gymnasium's HalfCheetah uses a deprecated attribute of the model file, which only Gymnasium can
    change. Any other warning is passed on as Python's.
    """
    heard: list[str] = []
    previous = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(heard.append)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(previous)
    for message in heard:
        if "'settotalmass' is deprecated" not in message:
            warnings.warn(f"MuJoCo: {message}", stacklevel=3)
