"""Every environment keeps the contracts of gymnax and, through the adapter, of Gymnasium."""

import ast
import warnings
from pathlib import Path

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence

import rillax.envs
from rillax.envs import make, names, spaces
from rillax.envs.gymnasium_adapter import GymnasiumAdapter
from rillax.envs.popgym import GAMES
from tests.forms import needs_gymnax

from .rollouts import quick_jit

OURS = ["MemoryChain", "KMemoryChain", "TraceConditioning", *GAMES]


@pytest.fixture(scope="module", params=OURS)
def env(request):
    """One instance per environment, so that its step is compiled once, and quickly."""
    env = make(request.param)
    env.reset, env.step = quick_jit(env.reset), quick_jit(env.step)
    return env


def some_actions(env, count, seed=0):
    space = GymnasiumAdapter(env).action_space
    space.seed(seed)
    return np.array([space.sample() for _ in range(count)])


def kinds_of_leaves(tree):
    """Shapes, types and weak types: all that a loop's carry has to keep."""
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype, leaf.weak_type), tree)


def test_gymnax_types_are_stable(env):
    params = env.default_params
    key = jax.random.key(0)
    observation, state = jax.eval_shape(env.reset, key, params)
    action = some_actions(env, 1)[0]
    after, next_state, reward, terminated, truncated, info = jax.eval_shape(
        env.step, key, state, action, params
    )
    assert kinds_of_leaves(state) == kinds_of_leaves(next_state)
    assert kinds_of_leaves(observation) == kinds_of_leaves(after)
    assert kinds_of_leaves(observation) == kinds_of_leaves(info["final_observation"])
    space = env.observation_space(params)
    assert (observation.shape, observation.dtype) == (space.shape, jnp.float32)
    assert (reward.shape, reward.dtype) == ((), jnp.float32)
    assert (terminated.shape, terminated.dtype) == ((), jnp.bool_)
    assert (truncated.shape, truncated.dtype) == ((), jnp.bool_)


def contains(space, value):
    """As gymnax's spaces decide it, but in NumPy, which has nothing to compile."""
    if isinstance(space, spaces.Dict):
        return all(contains(part, getattr(value, name)) for name, part in space.spaces.items())
    value = np.asarray(value)
    if isinstance(space, spaces.Discrete):
        return bool(((value >= 0) & (value < space.n)).all())
    inside = (value >= np.asarray(space.low)) & (value <= np.asarray(space.high))
    return value.shape == space.shape and bool(inside.all())


def assert_same(one, other):
    """But for the last bit: a number computed twice in one program may be rounded twice."""
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


def test_gymnax_step_and_reset(env):
    """Values lie in their spaces, and ``step`` resets by itself."""
    params = env.default_params
    observed, states = env.observation_space(params), env.state_space(params)
    observation, state = env.reset(jax.random.key(1), params)
    assert set(states.spaces) == set(vars(state))
    for t, action in enumerate(some_actions(env, 30)):
        assert contains(env.action_space(params), action)
        assert contains(observed, observation)
        assert contains(states, state)
        key = jax.random.key(t)
        observation, after, _, terminated, truncated, info = env.step(key, state, action, params)
        final = info["final_observation"]
        assert contains(observed, final)
        if terminated or truncated:
            fresh, restarted = env.reset(jax.random.split(key)[1], params)
            assert_same(observation, fresh)
            jax.tree.map(assert_same, after, restarted)
        else:
            assert_same(observation, final)
            assert int(after.time) == int(state.time) + 1
        state = after


def test_gymnasium_check_env(env):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Velocities without a bound and torques beyond 1 are the reference's own.
        warnings.filterwarnings("ignore", message=".*(-infinity|infinity|normalized space)")
        check_env(GymnasiumAdapter(env), skip_render_check=True)


def test_gymnasium_seeds_settle_everything(env):
    adapter = GymnasiumAdapter(env)
    actions = some_actions(env, 20)

    def history(seed):
        steps = [adapter.reset(seed=seed)]
        for action in actions:
            steps.append(adapter.step(action))
            if steps[-1][2] or steps[-1][3]:
                steps.append(adapter.reset())
        return steps

    assert data_equivalence(history(1), history(1), exact=True)
    assert not all(data_equivalence(history(1), history(seed), exact=True) for seed in range(2, 9))


def test_vmap_is_a_loop():
    env = make("ConcentrationEasy")
    params = env.default_params
    keys = jax.random.split(jax.random.key(2), 3)
    observations, states = jax.vmap(env.reset, in_axes=(0, None))(keys, params)
    actions = some_actions(env, 3)
    batch = jax.vmap(env.step, in_axes=(0, 0, 0, None))(keys, states, actions, params)
    for i, key in enumerate(keys):
        observation, state = env.reset(key, params)
        np.testing.assert_array_equal(observations[i], observation)
        alone = env.step(key, state, actions[i], params)
        jax.tree.map(
            lambda one, many, i=i: np.testing.assert_array_equal(one, many[i]), alone, batch
        )


def test_default_params_may_be_left_out():
    env = make("ConcentrationEasy")
    key = jax.random.key(0)
    observation, state = env.reset(key)
    np.testing.assert_array_equal(observation, env.reset(key, env.default_params)[0])
    after = env.step(key, state, 3)[0]
    np.testing.assert_array_equal(after, env.step(key, state, 3, env.default_params)[0])


def test_the_adapter_returns_the_last_observation_and_not_the_next_first():
    """The last card of a deck completes it; the first of another would do so half of the time."""
    env = make("CountRecallEasy")
    adapter = GymnasiumAdapter(env)
    for seed in range(10):
        seen = [adapter.reset(seed=seed)[0]]
        over = False
        while not over:
            observation, reward, terminated, truncated, _ = adapter.step(0)
            seen.append(observation)
            over = terminated or truncated
        assert isinstance(reward, float)
        cards = [int(env.decode(jnp.asarray(observation))[0]) for observation in seen]
        assert sorted(cards) == [0] * 26 + [1] * 26


@needs_gymnax
def test_the_adapter_takes_discrete_observations():
    adapter = GymnasiumAdapter(make("FrozenLake-misc"))
    observation, _ = adapter.reset(seed=0)
    assert adapter.observation_space.contains(observation)
    assert isinstance(adapter.observation_space, gymnasium.spaces.Discrete)


@needs_gymnax
def test_names_are_all_made():
    assert names()[: len(OURS)] == OURS
    assert "CartPole-v1" in names()


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(ValueError, match="did you mean AutoencodeEasy"):
        make("AutoEncodeEasy")


@needs_gymnax
def test_the_hint_is_short():
    """Five names at most, however many there are."""
    with pytest.raises(ValueError, match="unknown environment 'positiononlycart'") as error:
        make("positiononlycart")
    message = str(error.value)
    assert "did you mean PositionOnlyCartPole" in message
    assert sum(name in message for name in names()) == 5
    assert message.endswith("`rillax envs` lists all")
    with pytest.raises(ValueError, match=r"^unknown environment 'xyzzy'; `rillax envs` lists all$"):
        rillax.envs.check("xyzzy")


@pytest.mark.parametrize("wish", ["previous_action", "previous_reward"])
def test_gymnasiums_observations_are_left_alone(wish):
    with pytest.raises(ValueError, match=f"{wish} needs an environment in JAX"):
        make("gymnasium:CartPole-v1", **{wish: True})


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("AutoencodeEasy", {"num_decks": 0}, "at least one deck"),
        ("CountRecallEasy", {"deck_type": "colours"}, "choose from: colors, suits, ranks"),
        ("ConcentrationEasy", {"deck_type": "suits"}, "choose colors or ranks"),
        ("RepeatPreviousEasy", {"k": 52}, "between 1 and 51"),
    ],
)
def test_settings_that_make_no_game_are_refused(name, settings, message):
    with pytest.raises(ValueError, match=message):
        make(name, **settings)


def test_settings_reach_the_game():
    assert make("AutoencodeEasy", num_decks=3).default_params.max_steps_in_episode == 311


def test_fewer_steps_cut_a_game_off():
    env = make("RepeatFirstEasy")
    params = env.default_params.replace(max_steps_in_episode=3)
    _, state = env.reset(jax.random.key(0), params)
    for t in range(3):
        _, state, _, terminated, truncated, _ = env.step(jax.random.key(t), state, 0, params)
        assert not terminated
        assert truncated == (t == 2)


def test_the_references_are_not_needed_to_play():
    package = Path(rillax.envs.__file__).parent
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in getattr(node, "names", []) if hasattr(alias, "name")]
            imported = [*names, getattr(node, "module", None) or ""]
            assert not any(name.split(".")[0] in ("popgym", "bsuite") for name in imported)
