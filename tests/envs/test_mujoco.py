import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import rillax
from rillax.envs import mujoco as masked
from rillax.envs.mujoco import NAMES, ROBOTS, MaskedObservation, make_mujoco

SHAPES = {"Ant": (13, 14), "HalfCheetah": (8, 9), "Hopper": (5, 6), "Walker2d": (8, 9)}

robots = pytest.mark.parametrize("robot", ROBOTS)


@pytest.fixture
def mujoco():
    return pytest.importorskip("mujoco")


def run(code, cwd=None):
    """Python in a process of its own, which finds this rillax."""
    path = str(Path(rillax.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True
    )


def look(env):
    """What the agent would see now, without stepping the simulator."""
    return env.observation(env.unwrapped._get_obs())


def put(env, qpos, qvel):
    env.unwrapped.data.qpos[:] = qpos
    env.unwrapped.data.qvel[:] = qvel


def perturbed(vector, index):
    vector = vector.copy()
    vector[index] += 0.25
    return vector


def changes(env, qpos, qvel, which):
    """For each coordinate of qpos or qvel, the features that change with it."""
    put(env, qpos, qvel)
    before = look(env)
    seen = []
    for i in range(len(qpos if which == "qpos" else qvel)):
        moved = {"qpos": qpos, "qvel": qvel}
        moved[which] = perturbed(moved[which], i)
        put(env, **moved)
        seen.append(np.flatnonzero(look(env) != before).tolist())
    return seen


def state_after_some_steps(robot):
    env = make_mujoco(f"{robot}-F")
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(5):
        env.step(env.action_space.sample())
    return env.unwrapped.data.qpos.copy(), env.unwrapped.data.qvel.copy()


def test_there_are_twelve_names():
    assert len(set(NAMES)) == 12
    assert {"Ant-P", "HalfCheetah-V", "Hopper-F", "Walker2d-P"} <= set(NAMES)


@robots
@pytest.mark.usefixtures("mujoco")
def test_the_masked_features_are_gone_from_the_vector(robot):
    positions, velocities = SHAPES[robot]
    for regime, size in {"P": positions, "V": velocities, "F": positions + velocities}.items():
        env = make_mujoco(f"{robot}-{regime}")
        observation, _ = env.reset(seed=0)
        assert env.observation_space.shape == observation.shape == (size,)
        assert env.observation_space.dtype == observation.dtype == np.float32
        assert env.observation_space.contains(env.step(env.action_space.sample())[0])


@robots
@pytest.mark.usefixtures("mujoco")
def test_positions_then_velocities_are_the_full_observation(robot):
    rollouts = {}
    for regime in "PVF":
        env = make_mujoco(f"{robot}-{regime}")
        env.action_space.seed(3)
        rows = [env.reset(seed=3)[0]]
        for _ in range(150):
            observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
            rows.append(observation)
            if terminated or truncated:
                rows.append(env.reset()[0])
        rollouts[regime] = np.stack(rows)
    assert np.ptp(rollouts["F"], axis=0).all()  # every feature moved
    parts = np.concatenate([rollouts["P"], rollouts["V"]], axis=1)
    np.testing.assert_array_equal(parts, rollouts["F"])


@robots
@pytest.mark.usefixtures("mujoco")
def test_the_full_observation_is_that_of_gymnasium(robot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where MuJoCo may write its log
    plain = gymnasium.make(f"{robot}-v5", **ROBOTS[robot])
    env = make_mujoco(f"{robot}-F")
    expected, _ = plain.reset(seed=1)
    np.testing.assert_array_equal(env.reset(seed=1)[0], expected.astype(np.float32))


@robots
@pytest.mark.usefixtures("mujoco")
def test_no_velocity_reaches_p_and_each_position_does(robot):
    qpos, qvel = state_after_some_steps(robot)
    env, size = make_mujoco(f"{robot}-P"), SHAPES[robot][0]
    assert changes(env, qpos, qvel, "qvel") == [[]] * len(qvel)
    on_the_ground = len(qpos) - size
    each = [[i] for i in range(size)]
    assert changes(env, qpos, qvel, "qpos") == [[]] * on_the_ground + each


@robots
@pytest.mark.usefixtures("mujoco")
def test_no_position_reaches_v_and_each_velocity_does(robot):
    qpos, qvel = state_after_some_steps(robot)
    qvel = np.clip(qvel, -9, 9)  # Hopper and Walker2d show no more than 10
    env = make_mujoco(f"{robot}-V")
    assert changes(env, qpos, qvel, "qpos") == [[]] * len(qpos)
    assert changes(env, qpos, qvel, "qvel") == [[i] for i in range(SHAPES[robot][1])]


@pytest.mark.usefixtures("mujoco")
def test_episodes_are_truncated_after_a_thousand_steps():
    env = make_mujoco("HalfCheetah-P")
    env.reset(seed=0)
    action = np.zeros(env.action_space.shape, np.float32)
    ends = [env.step(action)[2:4] for _ in range(1000)]
    assert ends == [(False, False)] * 999 + [(False, True)]


@pytest.mark.usefixtures("mujoco")
def test_an_observation_that_is_not_the_models_is_refused():
    env = gymnasium.make("Ant-v5")  # with contact forces
    with pytest.raises(ValueError, match=r"\(105,\) features .* 13 positions and 14 velocities"):
        MaskedObservation(env, "P")


def test_an_unknown_name_is_refused_with_the_choices():
    with pytest.raises(ValueError, match="did you mean HalfCheetah-P"):
        make_mujoco("Halfcheetah-P")


def test_mujoco_is_imported_when_it_is_needed_and_missed_in_one_line():
    done = run(
        "import sys, rillax.envs, rillax.envs.mujoco, rillax.envs.snapshot\n"
        "print('mujoco' in sys.modules)\n"
        "sys.modules['mujoco'] = None\n"  # as if it were not installed
        "rillax.envs.mujoco.make_mujoco('Ant-P')\n"
    )
    assert done.stdout == "False\n"
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("Error: MuJoCo is not installed: pip install 'rillax[mujoco]'")


@pytest.mark.usefixtures("mujoco")
def test_making_a_robot_writes_no_log_and_prints_nothing(tmp_path):
    done = run("import rillax.envs.mujoco as m; m.make_mujoco('HalfCheetah-P').reset()", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_other_warnings_of_mujoco_are_passed_on(mujoco, tmp_path, monkeypatch):
    def before(message):
        pass

    monkeypatch.chdir(tmp_path)
    mujoco.set_mju_user_warning(before)
    try:
        with (
            pytest.warns(UserWarning, match="MuJoCo: .*unstable"),
            masked._without_notice_of_settotalmass(mujoco),
        ):
            diverge(mujoco)
        assert mujoco.get_mju_user_warning() is before
    finally:
        mujoco.set_mju_user_warning(None)


def diverge(mujoco):
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qpos[0] = np.nan
    mujoco.mj_step(model, data)
