"""An environment of the user's own, by ``module:Name``."""

import os
import sys

import gymnasium
import jax
import pytest

from rillax.envs import check, is_gymnasium, is_jax, make
from rillax.envs.wrappers import PreviousReward
from tests.forms import needs_gymnax

MAZE = '''
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from rillax.envs import environment, spaces


@environment.dataclass
class State(environment.EnvState):
    room: jax.Array


class Maze(environment.Environment):
    """In JAX: walk to the last of so many rooms."""

    def __init__(self, size=4):
        self.size = size

    @property
    def default_params(self):
        return environment.EnvParams(max_steps_in_episode=20)

    def reset_env(self, key, params):
        state = State(time=jnp.int32(0), room=jnp.int32(0))
        return jax.nn.one_hot(state.room, self.size), state

    def step_env(self, key, state, action, params):
        room = jnp.clip(state.room + 2 * action - 1, 0, self.size - 1)
        state = state.replace(time=state.time + 1, room=room)
        over = self.is_terminated(state, params)
        return jax.nn.one_hot(room, self.size), state, jnp.float32(over), over, {}

    def is_terminated(self, state, params):
        return state.room == self.size - 1

    def action_space(self, params=None):
        return spaces.Discrete(2)

    def observation_space(self, params=None):
        return spaces.Box(0.0, 1.0, (self.size,))


class Room(gymnasium.Env):
    """On the host."""

    observation_space = gymnasium.spaces.Box(0, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, door=0, *, height):
        self.door, self.height = door, height

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.ones(2, np.float32), float(action == self.door), True, False, {}


def big_maze(**settings):
    return Maze(**{"size": 9, **settings})


def gymnaxes(name="Catch-bsuite"):
    import gymnax

    return gymnax.make(name)[0]


def nothing():
    return {"size": 3}


def the_class():
    return Maze


class Half:
    default_params = None

    def step_env(self): ...

    def reset(self): ...


SIZE = 5
gymnasium.register("Room-v7", entry_point=Room, kwargs={"height": 2}, max_episode_steps=3)
'''


@pytest.fixture(autouse=True)
def _where_the_file_is(tmp_path, monkeypatch):
    """A directory with ``my_envs.py`` in it, which is not on the path."""
    (tmp_path / "my_envs.py").write_text(MAZE)
    monkeypatch.chdir(tmp_path)
    elsewhere = [path for path in sys.path if path not in ("", os.getcwd())]
    monkeypatch.setattr(sys, "path", elsewhere)
    before, ids = set(sys.modules), set(gymnasium.registry)
    yield
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    for id in set(gymnasium.registry) - ids:
        del gymnasium.registry[id]


def test_a_class_in_jax():
    env = make("my_envs:Maze", size=3)
    assert is_jax(env)
    assert env.observation_space().shape == (3,)
    _, state = env.reset(jax.random.key(0))
    for expected in (0, 1, 0, 1):
        _, state, reward, *_ = env.step(jax.random.key(0), state, 1)
        assert reward == expected


def test_it_can_be_wrapped():
    env = make("my_envs:Maze", size=3, previous_action=True, previous_reward=True)
    assert isinstance(env, PreviousReward)
    assert env.observation_space().shape == (3 + 2 + 1,)


def test_a_function_that_makes_one():
    assert make("my_envs:big_maze").size == 9
    assert make("my_envs:big_maze", size=2).size == 2


@needs_gymnax
def test_a_function_that_makes_one_of_gymnaxes():
    assert make("my_envs:gymnaxes").name == "Catch-bsuite"


def test_a_class_of_gymnasium():
    env = make("my_envs:Room", height=4, door=1)
    assert (env.door, env.height) == (1, 4)
    assert not is_jax(env)
    env.reset(seed=0)
    assert env.step(1)[1] == 1


def test_an_id_that_the_module_registers():
    assert "Room-v7" not in gymnasium.registry
    env = make("my_envs:Room-v7", door=1)
    assert env.spec.id == "Room-v7"
    assert env.unwrapped.height == 2
    env.reset(seed=0)
    assert env.step(1)[1] == 1


def test_gymnasiums_own_prefix_means_what_it_did():
    assert make("gymnasium:CartPole-v1").spec.id == "CartPole-v1"
    assert is_gymnasium("gymnasium:CartPole-v1")
    assert not is_gymnasium("my_envs:Maze")


def test_a_module_in_a_package(tmp_path):
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "__init__.py").touch()
    (tmp_path / "my_package" / "mazes.py").write_text(MAZE)
    assert make("my_package.mazes:Maze").size == 4


def test_the_path_gets_the_directory_once():
    for _ in range(3):
        make("my_envs:Maze")
    assert sys.path.count(os.getcwd()) == 1


def test_checking_a_name_imports_nothing():
    check("my_envs:Maze")
    assert "my_envs" not in sys.modules


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("my_env:Maze", {}, ["there is no module my_env,", "current directory (", "install it"]),
        ("no.such.module:Maze", {}, ["there is no module no.such.module,"]),
        ("my_envs:", {}, ["'my_envs:' is not of the form module:Name"]),
        (":Maze", {}, ["':Maze' is not of the form module:Name"]),
        ("my_envs.py:Maze", {}, ["my_envs.py is a path", "write my_envs:Maze"]),
        ("./my_envs.py:Maze", {}, ["write my_envs:Maze"]),
        ("broken:Maze", {}, ["importing broken failed: NameError: name 'oops'", "import broken"]),
        ("lacking:Maze", {}, ["importing lacking failed", "No module named 'not_there'"]),
        ("unfinished:Maze", {}, ["importing unfinished failed: SyntaxError"]),
        ("my_envs:Mazes", {}, ["my_envs.py) has no 'Mazes'", "did you mean Maze"]),
        ("my_envs:Room-v8", {}, ["did not register that id with Gymnasium", "Room-v7"]),
        ("my_envs:Maze", {"width": 3}, ["my_envs:Maze has no setting 'width'; it has: size"]),
        ("my_envs:nothing", {"width": 3}, ["has no setting 'width'; it has none"]),
        ("my_envs:Room", {}, ["my_envs:Room needs the setting 'height'"]),
        ("my_envs:Room-v7", {"width": 3}, ["Gymnasium cannot make Room-v7", "width"]),
        ("my_envs:SIZE", {}, ["my_envs:SIZE is of type int", "expected a class or a function"]),
        (
            "my_envs:nothing",
            {},
            ["made something of type dict, which is no environment", "gymnasium.Env"],
        ),
        ("my_envs:the_class", {}, ["made the class Maze, which is no environment"]),
        ("my_envs:Half", {}, ["has no step and no action_space and no observation_space"]),
    ],
)
def test_what_is_wrong_is_said(tmp_path, name, settings, said):
    (tmp_path / "broken.py").write_text("oops")
    (tmp_path / "lacking.py").write_text("import not_there")
    (tmp_path / "unfinished.py").write_text("class Maze(")
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the messages follow
        make(name, **settings)
    for part in said:
        assert part in str(error.value)
