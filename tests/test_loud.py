"""One loud sample: it stays finite, it is seen for what it is, and soon it is forgotten."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax import Learner, normalisation
from rillax.agents import QRC, TD, Brook, Rill, StreamAC, StreamQ
from rillax.cells import RTU
from rillax.loops.learner import NotFinite
from rillax.networks import Architecture
from rillax.normalisation import Limits
from rillax.updates import SGD, AdaptiveObGD
from rillax.utils import settings
from rillax.utils.checkpoint import CheckpointError

SMALL = Architecture(cell=RTU(5), width=6)
BOX, TWO = gym.spaces.Box(-np.inf, np.inf, (3,)), gym.spaces.Discrete(2)
BOUND = Limits(bound=100.0)


def statistics(xs, limits=BOUND):
    def one(running, x):
        seen, running = normalisation.observe(running, x, True, limits)
        return running, seen

    return jax.lax.scan(one, normalisation.start(xs.shape[1:]), jnp.asarray(xs, jnp.float32))


def leaves(learner):
    state = learner.state
    if hasattr(state, "key"):  # an agent that only predicts draws nothing
        state = state._replace(key=jax.random.key_data(state.key))
    return [np.array(leaf) for leaf in jax.tree.leaves(state)]


def test_after_a_single_loud_reading_an_agent_sees_again():
    xs = np.random.default_rng(0).normal(size=20_000).astype(np.float32)
    xs[1000] = 1e6
    running, seen = statistics(xs)
    assert np.abs(seen).max() <= 100
    assert 0.9 < normalisation.deviation(running) < 1.3  # without a bound it is 7,000
    assert np.std(np.array(seen[-1000:])) > 0.7


def test_ordinary_samples_are_not_touched():
    rng = np.random.default_rng(0)
    usual = 1000 * rng.normal(size=3000) + 5000
    rare = (rng.random(3000) < 0.003).astype(float)
    late = np.where(np.arange(3000) == 2500, 1.0, 0.0)
    xs = np.stack([rng.normal(size=3000), usual, rare, late], axis=1)
    (bounded, seen), (plain, expected) = statistics(xs), statistics(xs, Limits())
    for a, b in zip(bounded, plain, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(seen[1:], expected[1:])
    assert seen[0, 1] == 100  # the very first observation is not normalised, but bounded


def test_a_new_scale_is_learned_all_the_same():
    rng = np.random.default_rng(0)
    xs = rng.normal(size=60_000)
    xs[20_000:] *= 1e4
    running, _ = statistics(xs)
    np.testing.assert_allclose(normalisation.deviation(running), np.std(xs), rtol=0.1)


AGENTS = {
    "stream_ac": StreamAC(network=SMALL),
    "adaptive": StreamAC(network=SMALL, actor=AdaptiveObGD(), critic=AdaptiveObGD()),
    "qrc": QRC(network=SMALL),
    "stream_q": StreamQ(network=SMALL),
    "rill": Rill(network=SMALL),
    "brook": Brook(network=SMALL),
    "td": TD(network=SMALL),
    "td of signals": TD(network=SMALL, signals=(0, 2), discounts=(0.5, 0.99)),
}
ACTIONS = {"brook": gym.spaces.Box(-1.0, 1.0, (2,))}


UNBOUNDED = [
    pytest.param(n, None, marks=pytest.mark.slow if n in ("rill", "brook", "stream_q") else ())
    for n in AGENTS
]


@pytest.mark.parametrize(("name", "bound"), [*((name, 100.0) for name in AGENTS), *UNBOUNDED])
def test_a_learner_stays_finite_through_anything(name, bound):
    agent = settings.change(AGENTS[name], input_bound=bound)
    learner = Learner(agent, BOX, ACTIONS.get(name, TWO), on_bad_input="skip")
    rng = np.random.default_rng(1)
    loud = [1e20, -1e38, 3e38, 1e-38, 1e6]
    observation = rng.normal(size=3)
    for t in range(80):
        learner.act(observation)
        observation, reward = rng.normal(size=3), rng.normal()
        if t % 9 == 4:
            observation[t % 3] = loud[t % 5]
        if t % 11 == 7:
            reward = loud[(t + 2) % 5]
        learner.learn(reward, observation, terminated=t % 20 == 19)
    assert all(np.isfinite(leaf).all() for leaf in leaves(learner))


@pytest.mark.parametrize("name", ["td", "td of signals"])
def test_predictions_refuse_a_loud_signal_and_go_on(name, tmp_path):
    agent, rng = AGENTS[name], np.random.default_rng(2)
    learner = Learner(agent, BOX, TWO)

    def step(signal):
        learner.act(rng.normal(size=3))
        learner.learn(signal, np.array([signal, 0.0, signal]))

    for i, loud in enumerate([1e13, 1e20, -3e38] * 2):
        ends = i >= 3
        for _ in range(5):
            step(rng.normal())
        learner.act(rng.normal(size=3))
        before = learner.state
        with pytest.raises(NotFinite):
            learner.learn(loud, np.array([loud, 0.0, loud]), ends)
        passed = jax.tree.leaves(agent.skip(before, ends))
        for a, b in zip(leaves(learner), passed, strict=True):
            np.testing.assert_array_equal(a, b)
    step(1.0)
    assert learner.skipped == 6
    assert learner.state.step == 31
    assert np.isfinite(learner.metrics["return_error"])
    learner.save(tmp_path / "x")


def test_a_step_that_would_not_be_finite_is_refused(tmp_path):
    agent = QRC(network=SMALL, q=SGD(1e9), normalise_rewards=False)
    learner, skips = (Learner(agent, BOX, TWO, on_bad_input=how) for how in ("raise", "skip"))
    rng = np.random.default_rng(0)
    x = rng.normal(size=3)
    while skips.skipped == 0:
        assert skips.step < 200, "it never diverged"
        if skips.step:
            learner.learn(1.0, x)
        x = rng.normal(size=3)
        learner.act(x)
        skips.act(x)
        skips.learn(1.0, x)
    before = leaves(learner)
    with pytest.raises(NotFinite, match="smaller step size"):
        learner.learn(1.0, x)
    for a, b in zip(leaves(learner), before, strict=True):
        np.testing.assert_array_equal(a, b)
    assert learner.skipped == skips.skipped == 1
    assert learner.step == skips.step
    assert np.isnan(learner.metrics["td_error"])
    learner.save(tmp_path / "x")
    Learner.load(tmp_path / "x")


class Own(StreamAC):
    """An agent of a user's, which knows nothing of refusing."""

    def learn(self, state, reward, next_observation, terminated, truncated):
        state, metrics = super().learn(state, reward, next_observation, terminated, truncated)
        lost = jnp.select([reward > 7, reward > 6, reward > 5], [-jnp.inf, jnp.inf, jnp.nan], 0.0)
        return state._replace(observation=state.observation + lost), metrics


class Counting(StreamAC):
    """An agent whose state is infinite where it has seen nothing yet: at the start, and again."""

    def init(self, key, observation_space, action_space):
        state = super().init(key, observation_space, action_space)
        return state._replace(observation=jnp.full_like(state.observation, -jnp.inf))

    def learn(self, state, reward, next_observation, terminated, truncated):
        state, metrics = super().learn(state, reward, next_observation, terminated, truncated)
        nothing = jnp.where(reward > 6, jnp.nan, -jnp.inf)
        kept = jnp.where((reward > 5) | terminated, nothing, state.observation)
        return state._replace(observation=kept), metrics


def test_an_agent_of_ones_own_is_kept_finite_too():
    learner = Learner(Own(network=SMALL), BOX, TWO)
    learner.act(np.ones(3))
    learner.learn(1.0, np.ones(3))
    for reward in (6.0, 7.0, 8.0):
        learner.act(np.ones(3))
        before = leaves(learner)
        with pytest.raises(NotFinite):
            learner.learn(reward, np.ones(3))
        for a, b in zip(leaves(learner), before, strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_is_infinite_at_the_start_may_be_so_again():
    learner = Learner(Counting(network=SMALL), BOX, TWO)
    assert np.isneginf(learner.state.observation).all()
    for t in range(6):
        learner.act(np.ones(3))
        learner.learn(1.0, np.ones(3), terminated=t % 3 == 2)
        assert np.isneginf(learner.state.observation).any() == (t % 3 == 2)
    assert learner.skipped == 0
    learner.act(np.ones(3))
    with pytest.raises(NotFinite):
        learner.learn(7.0, np.ones(3))


def test_a_state_that_is_not_finite_is_neither_saved_nor_loaded(tmp_path):
    from rillax.utils import checkpoint

    learner = Learner(StreamAC(network=SMALL), BOX, TWO)
    learner.save(tmp_path / "x")
    arrays, meta = checkpoint.load(tmp_path / "x")
    name = next(n for n in arrays if "B_real" in n)
    arrays[name][0] = np.nan
    checkpoint.save(tmp_path / "x", arrays, meta)
    with pytest.raises(CheckpointError, match=r"B_real.* is not finite"):
        Learner.load(tmp_path / "x")
