import json
import os
import subprocess
import sys
from collections import deque
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import rillax
from rillax.envs.mujoco import make_mujoco
from rillax.envs.snapshot import restore, snapshot

ROBOTS = ["Ant-F", "HalfCheetah-P", "Hopper-V", "Walker2d-F"]


def play(env, actions):
    """Everything the environment says in answer, resetting it where an episode ends."""
    said = []
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        said.append([*np.ravel(observation), reward, terminated, truncated])
        if terminated or truncated:
            observation, _ = env.reset()
            said.append([*np.ravel(observation), 0, 0, 0])
    return np.array(said, np.float64)


def actions_for(env, steps, seed=0):
    env.action_space.seed(seed)
    return [env.action_space.sample() for _ in range(steps)]


def on_disk(state, path):
    """As it comes back from a file that may hold nothing but arrays."""
    np.savez(path, **state)
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def short(name):
    """A robot whose time limit comes early."""
    env = make_mujoco(name)
    env.env._max_episode_steps = 300
    return env


def check_goes_on(make, before, after, tmp_path):
    """A fresh environment, restored, continues with the bits of the one left alone."""
    env = make()
    actions = actions_for(env, before + after)
    env.reset(seed=7)
    play(env, actions[:before])
    state = snapshot(env)
    alone = play(env, actions[before:])
    assert alone[:, -2:].any(), "no episode ended: neither RNG nor time limit was used"

    fresh = make()
    restore(fresh, on_disk(state, tmp_path / "state.npz"))
    np.testing.assert_array_equal(play(fresh, actions[before:]), alone)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_goes_on_to_the_bit(name, tmp_path):
    pytest.importorskip("mujoco")
    check_goes_on(lambda: short(name), 130, 500, tmp_path)


def test_the_time_limit_goes_on(tmp_path):
    pytest.importorskip("mujoco")
    env = make_mujoco("HalfCheetah-P")
    actions = actions_for(env, 1000)
    env.reset(seed=0)
    play(env, actions[:990])
    fresh = make_mujoco("HalfCheetah-P")
    restore(fresh, snapshot(env))
    assert [fresh.step(a)[3] for a in actions[990:]] == [False] * 9 + [True]


@pytest.mark.parametrize(
    "name",
    ["CartPole-v1", "Pendulum-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1"],
)
def test_classic_control_goes_on_to_the_bit(name, tmp_path):
    check_goes_on(lambda: gymnasium.make(name), 130, 900, tmp_path)


@pytest.mark.parametrize("name", ["FrozenLake-v1", "Blackjack-v1", "CliffWalking-v1"])
def test_toy_text_goes_on_to_the_bit(name, tmp_path):
    def make():
        env = gymnasium.make(name, max_episode_steps=20)
        return gymnasium.wrappers.FlattenObservation(env)

    check_goes_on(make, 30, 200, tmp_path)


def test_a_fresh_process_goes_on_to_the_bit(tmp_path):
    pytest.importorskip("mujoco")
    env = short("Ant-P")
    actions = actions_for(env, 400)
    env.reset(seed=2)
    play(env, actions[:100])
    np.savez(tmp_path / "state.npz", **snapshot(env))
    np.save(tmp_path / "actions.npy", actions[100:])
    alone = play(env, actions[100:])
    assert alone[:, -2:].any()

    code = (
        "import numpy as np\n"
        "from rillax.envs.snapshot import restore\n"
        "from tests.envs.test_snapshot import play, short\n"
        "env = short('Ant-P')\n"
        "restore(env, dict(np.load('state.npz', allow_pickle=False)))\n"
        "np.save('resumed.npy', play(env, np.load('actions.npy')))\n"
    )
    path = str(Path(rillax.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "resumed.npy"), alone)


def test_a_snapshot_is_not_touched_by_what_follows():
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=0)
    state = snapshot(env)
    copies = {name: array.copy() for name, array in state.items()}
    restore(env, state)
    env.unwrapped.state += 0.01
    play(env, [0, 1, 0])
    assert all(np.array_equal(state[name], copies[name]) for name in copies)


def test_saving_changes_nothing():
    pytest.importorskip("mujoco")
    env, watched = (make_mujoco("Hopper-F") for _ in range(2))
    actions = actions_for(env, 60)
    for each in (env, watched):
        each.reset(seed=0)
    alone, interrupted = play(env, actions), []
    for action in actions:
        snapshot(watched)
        interrupted.append(play(watched, [action]))
    np.testing.assert_array_equal(np.concatenate(interrupted), alone)


def test_random_actions_go_on_too():
    env, fresh = (gymnasium.make("Pendulum-v1") for _ in range(2))
    env.reset(seed=0)
    env.action_space.sample()
    restore(fresh, snapshot(env))
    assert fresh.action_space.sample() == env.action_space.sample()


class Plain(gymnasium.Env):
    """An environment whose state is whatever a test puts into it."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), 0.0, False, False, {}


class Custom(Plain):
    """An environment that says for itself what it remembers."""

    def snapshot(self):
        return {"beads": np.array(sorted(self.beads))}

    def restore(self, state):
        self.beads = set(state["beads"].tolist())


def restored(**attributes):
    fresh = Plain()
    restore(fresh, snapshot(Plain(**attributes)))
    return fresh


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0.1,
        float("nan"),
        -0.0,
        2**100,
        "ünï",
        np.float32(0.1),
        np.int8(-3),
        np.arange(6.0).reshape(2, 3).T,
        np.zeros((0, 3), np.int16),
        [1, (2.5, None), {"a": np.ones(2), 3: "b"}],
        deque([1, 2], maxlen=5),
    ],
    ids=repr,
)
def test_plain_values_come_back_as_they_were(value):
    back = restored(value=value).value
    assert type(back) is type(value)
    assert repr(back) == repr(value)
    assert getattr(back, "dtype", None) == getattr(value, "dtype", None)
    assert getattr(back, "maxlen", None) == getattr(value, "maxlen", None)


def test_what_was_shared_stays_shared():
    buffer, generator = np.zeros(3), np.random.default_rng(0)
    env = restored(buffer=buffer, history=[buffer, buffer], a=generator, b=generator)
    assert env.history[0] is env.history[1] is env.buffer
    assert env.a is env.b


def test_a_constant_array_stays_constant():
    constant = np.arange(3)
    constant.flags.writeable = False
    env = restored(constant=constant, variable=np.arange(3))
    assert not env.constant.flags.writeable
    assert env.variable.flags.writeable


def test_attributes_that_the_saved_environment_had_not_are_gone():
    fresh = Plain(last=3)
    restore(fresh, snapshot(Plain()))
    assert not hasattr(fresh, "last")


@pytest.mark.parametrize("name", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_every_generator_of_numpy_goes_on(name):
    generator = np.random.Generator(getattr(np.random, name)(5))
    generator.integers(10, dtype=np.int32)  # leaves half a word behind
    back = restored(luck=generator).luck
    np.testing.assert_array_equal(
        back.integers(10, size=9, dtype=np.int32), generator.integers(10, size=9, dtype=np.int32)
    )


class Thing:
    def turn(self):
        pass


def itself():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("attributes", "complaint"),
    [
        ({"thing": Thing()}, "'thing' cannot be saved: it holds a Thing"),
        ({"things": [1, {"a": Thing()}]}, "'things' cannot be saved: it holds a Thing"),
        ({"turn": Thing().turn}, "'turn' cannot be saved: it holds a method"),
        ({"beads": {1, 2}}, "holds a set"),
        ({"luck": np.random.RandomState(0)}, "holds a RandomState"),
        ({"objects": np.array([Thing()])}, "an array of objects"),
        ({"loop": itself()}, "contains itself"),
        ({"env": Plain()}, "'env' cannot be saved: it holds a Plain"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_what_cannot_be_saved_is_refused_by_name(attributes, complaint):
    with pytest.raises(ValueError, match=complaint) as error:
        snapshot(Plain(**attributes))
    assert "Give Plain the methods snapshot()" in str(error.value)


def test_a_view_is_refused_because_it_would_come_back_as_a_copy():
    buffer = np.zeros(4)
    with pytest.raises(ValueError, match="'part' cannot be saved: it is a view"):
        snapshot(Plain(buffer=buffer, part=buffer[1:]))


def test_a_view_into_the_simulator_is_refused():
    pytest.importorskip("mujoco")
    env = make_mujoco("Hopper-F")
    env.unwrapped.positions = env.unwrapped.data.qpos
    with pytest.raises(ValueError, match="'positions' cannot be saved: it is a view"):
        snapshot(env)


def test_an_environment_can_speak_for_itself():
    env = gymnasium.wrappers.TimeLimit(Custom(beads={3, 1, 2}), 9)
    env.reset(seed=4)
    env.step(0)
    fresh = gymnasium.wrappers.TimeLimit(Custom(beads=set()), 9)
    restore(fresh, snapshot(env))
    assert fresh.unwrapped.beads == {1, 2, 3}
    assert fresh._elapsed_steps == 1
    assert fresh.np_random.random() == env.np_random.random()


def test_an_environment_that_speaks_in_other_things_than_arrays_is_refused():
    class Careless(Custom):
        def snapshot(self):
            return {"beads": self.beads}

    with pytest.raises(ValueError, match="a dict from names to numpy arrays"):
        snapshot(Careless(beads={1}))


def test_the_snapshot_of_another_environment_is_refused():
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="of another environment"):
        restore(gymnasium.make("Pendulum-v1"), snapshot(env))


def test_the_snapshot_of_another_mask_is_refused():
    pytest.importorskip("mujoco")
    with pytest.raises(ValueError, match="of another environment"):
        restore(make_mujoco("Hopper-F"), snapshot(make_mujoco("Hopper-P")))


def tampered(env, **changes):
    state = snapshot(env)
    content = json.loads(state["content"].tobytes()) | changes
    return {**state, "content": np.frombuffer(json.dumps(content).encode(), np.uint8)}


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({}, "not a snapshot"),
        ({"content": np.zeros(3, np.uint8)}, "not a snapshot"),
        (tampered(Plain(), format=2), "has format 2"),
        (tampered(Plain(), nodes=[]), "damaged"),
        (tampered(Plain(), nodes=[["pickle", "x"]]), "damaged"),
        (tampered(Plain(), nodes=[["array", "array9", True]]), "damaged"),
        (snapshot(Plain(step=1)), "replaces .* method 'step'"),
    ],
)
def test_a_damaged_snapshot_is_refused_and_changes_nothing(state, complaint):
    env = Plain(number=5)
    with pytest.raises(ValueError, match=complaint):
        restore(env, state)
    assert vars(env) == {"number": 5}


def test_physics_of_another_size_is_refused():
    mujoco = pytest.importorskip("mujoco")
    env = make_mujoco("Hopper-F")
    env.reset(seed=0)
    state, base = snapshot(env), env.unwrapped
    size = mujoco.mj_stateSize(base.model, mujoco.mjtState.mjSTATE_INTEGRATION)
    (physics,) = (name for name, array in state.items() if array.shape == (size,))
    before = base.data.qpos.copy()
    with pytest.raises(ValueError, match="version of MuJoCo is another"):
        restore(env, {**state, physics: state[physics][:-1]})
    np.testing.assert_array_equal(base.data.qpos, before)
