"""A Gymnasium environment's whole state as numpy arrays, so that a run can stop and go on.

What is saved is data: arrays, and JSON in an array of bytes. Nothing in it is executed when it is
restored, and the environment goes on with the bits it would have had without the interruption.
"""

import json
import sys
from collections import deque
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

Snapshot = dict[str, np.ndarray]

_FORMAT = 1
_CONTENT = "content"
_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")

# What an attribute may hold that takes no part in the dynamics: code, and what draws pictures.
_CODE = (FunctionType, BuiltinFunctionType, ModuleType, type, EnvSpec)
_DRAWING = ("pygame", "gymnasium.envs.mujoco.mujoco_rendering")
# The arguments of the constructor, kept by Gymnasium to build a second one.
_ARGUMENTS = ("_saved_kwargs", "_ezpickle_args", "_ezpickle_kwargs")

# MuJoCo derives these from the state at the START of its last substep, so they lag behind the state
# and cannot be derived again. Ant's reward reads xpos before it steps.
_DERIVED = (
    *("xpos", "xquat", "xmat", "xipos", "ximat", "xanchor", "xaxis"),
    *("geom_xpos", "geom_xmat", "site_xpos", "site_xmat", "cam_xpos", "cam_xmat"),
    *("subtree_com", "subtree_linvel", "subtree_angmom", "cinert", "cvel", "cdof", "cdof_dot"),
    *("cacc", "cfrc_int", "cfrc_ext", "qacc", "qacc_smooth", "sensordata", "energy"),
    *("qfrc_bias", "qfrc_passive", "qfrc_actuator", "qfrc_constraint", "qfrc_smooth"),
    *("actuator_force", "actuator_length", "actuator_velocity", "ten_length", "ten_velocity"),
)


def snapshot(env: gymnasium.Env) -> Snapshot:
    """Everything that decides how ``env`` goes on, as arrays for ``np.savez``.

    For each wrapper and for the environment inside: its numbers, arrays, and lists, tuples, dicts
    and deques of them; its random generators; and, for MuJoCo, the physics (the model is taken to
    be constant). An attribute of another kind raises a ValueError, because what cannot be saved
    would be lost without a word. Such a class can say for itself what to save: if it has methods
    ``snapshot() -> dict[str, np.ndarray]`` and ``restore(dict)``, they are used instead.

    Out of reach are state outside of the environment, such as numpy's global generator, and the
    list of contacts of MuJoCo, which the next step finds again.
    """
    writer = _Writer()
    layers = [writer.write(_save(layer, writer), str(layer)) for layer in _layers(env)]
    content = {
        "format": _FORMAT,
        "identity": _identity(env),
        "nodes": writer.nodes,
        "layers": layers,
    }
    text = json.dumps(content).encode()
    return {_CONTENT: np.frombuffer(text, np.uint8).copy(), **writer.arrays}


def restore(env: gymnasium.Env, snapshot: Snapshot) -> None:
    """Put ``env``, made as the saved one was, where that one stood; it can be stepped at once."""
    content = _content(snapshot)
    if content.get("identity") != _identity(env):
        raise ValueError(
            f"the snapshot is of another environment: {content.get('identity')}, "
            f"and this one is {_identity(env)}"
        )
    try:
        saved = _read(content, snapshot)
        for layer, state in zip(_layers(env), saved, strict=True):
            _check(layer, state)
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"the snapshot of {env} is damaged: {error!r}") from error
    for layer, state in zip(_layers(env), saved, strict=True):
        _load(layer, state)


def _content(snapshot: Snapshot) -> dict[str, Any]:
    try:
        content = json.loads(snapshot[_CONTENT].tobytes())
        version = content["format"]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError("this is not a snapshot of an environment") from error
    if version != _FORMAT:
        raise ValueError(f"the snapshot has format {version}, and this version reads {_FORMAT}")
    return content


def _layers(env: gymnasium.Env) -> Iterator[gymnasium.Env]:
    """The wrappers from the outside in, and the environment in the middle."""
    while isinstance(env, gymnasium.Wrapper):
        yield env
        env = env.env
    yield env


def _identity(env: gymnasium.Env) -> dict[str, Any]:
    """What has to agree between the environment saved and the one restored."""
    return {
        "classes": [f"{type(x).__module__}.{type(x).__qualname__}" for x in _layers(env)],
        "observation": _outline(env.observation_space),
        "action": _outline(env.action_space),
    }


def _outline(space: gymnasium.Space) -> list[Any]:
    return [type(space).__name__, list(space.shape or ()), str(space.dtype)]


# One layer: what it holds, and how that is put back.


def _save(layer: gymnasium.Env, writer: "_Writer") -> dict[str, Any]:
    if _speaks_for_itself(layer):
        own = _arrays(layer, layer.snapshot())  # type: ignore[attr-defined]
        held = {k: v for k, v in vars(layer).items() if k in ("_np_random", "_np_random_seed")}
        return {"own": own, "attributes": held, "spaces": {}, "physics": None}
    attributes = {k: v for k, v in vars(layer).items() if _is_state(layer, k, v)}
    for name, value in attributes.items():
        writer.write(value, f"{layer}'s attribute {name!r}", owner=type(layer).__name__)
    spaces = {name: [s._np_random for s in _spaces(space)] for name, space in _held_spaces(layer)}
    return {
        "own": None,
        "attributes": attributes,
        "spaces": spaces,
        "physics": _save_physics(layer) if _is_mujoco(layer) else None,
    }


def _check(layer: gymnasium.Env, state: dict[str, Any]) -> None:
    """Refuse what does not fit before anything is changed."""
    if (state["own"] is not None) != _speaks_for_itself(layer):
        raise ValueError(f"{layer} and its snapshot differ in who saves the state")
    for name in state["attributes"]:
        if not isinstance(name, str) or callable(getattr(type(layer), name, None)):
            raise ValueError(f"the snapshot replaces {layer}'s method {name!r}")
    spaces = {name: len(list(_spaces(space))) for name, space in _held_spaces(layer)}
    for name, generators in state["spaces"].items():
        if len(generators) != spaces.get(name):
            raise ValueError(f"the snapshot does not fit {layer}'s space {name!r}")
    if (state["physics"] is not None) != (_is_mujoco(layer) and state["own"] is None):
        raise ValueError(f"{layer} and its snapshot differ in having a simulator")
    if state["physics"] is not None:
        _check_physics(layer, state["physics"])


def _load(layer: gymnasium.Env, state: dict[str, Any]) -> None:
    held = vars(layer)
    if state["own"] is None:
        for name in [k for k, v in held.items() if _is_state(layer, k, v)]:
            del held[name]
    held.update(state["attributes"])
    spaces = dict(_held_spaces(layer))
    for name, generators in state["spaces"].items():
        for space, generator in zip(_spaces(spaces[name]), generators, strict=True):
            space._np_random = generator
    if state["physics"] is not None:
        _load_physics(layer, state["physics"])
    if state["own"] is not None:
        layer.restore(state["own"])  # type: ignore[attr-defined]


def _speaks_for_itself(layer: gymnasium.Env) -> bool:
    return all(callable(getattr(type(layer), name, None)) for name in ("snapshot", "restore"))


def _arrays(layer: gymnasium.Env, state: Any) -> Snapshot:
    if not isinstance(state, dict) or not all(
        type(k) is str and type(v) is np.ndarray for k, v in state.items()
    ):
        raise ValueError(f"{layer}: snapshot() has to return a dict from names to numpy arrays")
    return {k: v.copy() for k, v in state.items()}


def _is_state(layer: gymnasium.Env, name: str, value: Any) -> bool:
    if name in _ARGUMENTS or isinstance(value, (*_CODE, gymnasium.Space)):
        return False
    if isinstance(layer, gymnasium.Wrapper) and name == "env":
        return False
    if isinstance(value, MethodType) and value.__self__ is layer:
        return False
    if _is_mujoco(layer) and name in ("model", "data"):
        return False
    return not type(value).__module__.startswith(_DRAWING)


def _held_spaces(layer: gymnasium.Env) -> Iterator[tuple[str, gymnasium.Space]]:
    return ((k, v) for k, v in vars(layer).items() if isinstance(v, gymnasium.Space))


def _spaces(space: gymnasium.Space) -> Iterator[gymnasium.Space]:
    """A space and those inside it: each samples with a generator of its own."""
    yield space
    inner = getattr(space, "spaces", ())
    for part in inner.values() if isinstance(inner, dict) else inner:
        yield from _spaces(part)


# MuJoCo.


def _is_mujoco(layer: gymnasium.Env) -> bool:
    mujoco = sys.modules.get("mujoco")
    return mujoco is not None and isinstance(vars(layer).get("data"), mujoco.MjData)


def _save_physics(layer: Any) -> Snapshot:
    mujoco = sys.modules["mujoco"]
    state = np.empty(mujoco.mj_stateSize(layer.model, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(layer.model, layer.data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    return {"state": state, **{k: v.copy() for k, v in _derived(layer)}}


def _derived(layer: Any) -> Iterator[tuple[str, np.ndarray]]:
    views = ((name, getattr(layer.data, name, None)) for name in _DERIVED)
    return ((name, view) for name, view in views if view is not None and view.size)


def _check_physics(layer: Any, physics: Snapshot) -> None:
    own = _save_physics(layer)
    for name in own.keys() | physics.keys():
        here, there = (getattr(x.get(name), "shape", None) for x in (own, physics))
        if here != there or physics[name].dtype != own[name].dtype:
            raise ValueError(
                f"the snapshot's {name} has shape {there}, and that of {layer} {here}: "
                "the robot or the version of MuJoCo is another"
            )


def _load_physics(layer: Any, physics: Snapshot) -> None:
    mujoco = sys.modules["mujoco"]
    which = mujoco.mjtState.mjSTATE_INTEGRATION
    mujoco.mj_setState(layer.model, layer.data, physics["state"], which)
    for name, view in _derived(layer):
        view[...] = physics[name]


# Values: JSON for what JSON keeps to the bit, a numbered node for the rest. An object met twice is
# one node, so what was shared stays shared; a node refers only to nodes before it.


class _Writer:
    def __init__(self) -> None:
        self.nodes: list[list[Any]] = []
        self.arrays: Snapshot = {}
        self._met: dict[int, tuple[Any, int | None]] = {}  # holds the object: ids are used again

    def write(self, value: Any, where: str, owner: str = "") -> Any:
        """``value`` as JSON; ``where`` and ``owner`` are for the error if it cannot be saved."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if id(value) not in self._met:
            self._met[id(value)] = (value, None)
            node = self._node(value, where, owner)
            self._met[id(value)] = (value, len(self.nodes))
            self.nodes.append(node)
        index = self._met[id(value)][1]
        if index is None:
            raise ValueError(f"{where} cannot be saved: it contains itself. {_advice(owner)}")
        return {"node": index}

    def _node(self, value: Any, where: str, owner: str) -> list[Any]:
        kind = type(value)
        if kind in (list, tuple, deque):
            items = [self.write(x, where, owner) for x in value]
            return [kind.__name__, items, *([value.maxlen] if kind is deque else [])]
        if kind is dict:
            pairs = value.items()
            return ["dict", [[self.write(x, where, owner) for x in pair] for pair in pairs]]
        if kind is np.random.Generator:
            bits = value.bit_generator
            if type(bits).__name__ in _BIT_GENERATORS:
                return ["generator", self.write(bits.state, where, owner)]
        if isinstance(value, np.generic) and not value.dtype.hasobject:
            return ["scalar", self._store(np.asarray(value))]
        if kind is np.ndarray and not value.dtype.hasobject:
            self._refuse_view(value, where, owner)
            return ["array", self._store(value.copy(order="K")), value.flags.writeable]
        what = "an array of objects" if kind is np.ndarray else f"a {kind.__name__}"
        raise ValueError(f"{where} cannot be saved: it holds {what}. {_advice(owner)}")

    def _store(self, array: np.ndarray) -> str:
        name = f"array{len(self.arrays)}"
        self.arrays[name] = array
        return name

    def _refuse_view(self, array: np.ndarray, where: str, owner: str) -> None:
        """A view would come back as a copy, and no longer follow what it was a view of."""
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        foreign = root.base is not None and array.flags.writeable
        others = (x for x, i in self._met.values() if i is not None and type(x) is np.ndarray)
        if foreign or any(np.may_share_memory(array, x) for x in others):
            raise ValueError(f"{where} cannot be saved: it is a view. {_advice(owner)}")


def _advice(owner: str) -> str:
    return (
        f"Give {owner or 'the environment'} the methods snapshot(), which returns a dict of numpy "
        "arrays, and restore(), which takes it back"
    )


def _read(content: dict[str, Any], snapshot: Snapshot) -> list[dict[str, Any]]:
    values: list[Any] = []

    def value(written: Any) -> Any:
        return values[written["node"]] if isinstance(written, dict) else written

    for kind, body, *rest in content["nodes"]:
        if kind == "array":
            array = np.array(snapshot[body], order="K")
            array.flags.writeable = bool(rest[0])
            values.append(array)
        elif kind == "scalar":
            values.append(snapshot[body][()])
        elif kind == "dict":
            values.append({value(k): value(v) for k, v in body})
        elif kind == "generator":
            values.append(_generator(value(body)))
        elif kind == "deque":
            values.append(deque(map(value, body), *rest))
        elif kind in ("list", "tuple"):
            values.append((list if kind == "list" else tuple)(map(value, body)))
        else:
            raise KeyError(kind)
    return [value(layer) for layer in content["layers"]]


def _generator(state: dict[str, Any]) -> np.random.Generator:
    name = state["bit_generator"]
    if name not in _BIT_GENERATORS:
        raise KeyError(name)
    bits = getattr(np.random, name)(0)
    bits.state = state
    return np.random.Generator(bits)
