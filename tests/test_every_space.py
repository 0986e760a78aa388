"""Every space: a vector as an observation, factored heads as an action, or refused by name."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple

import rillax
from rillax import BadInput, Learner, spaces
from rillax.agents import PPO, QRC, TD, StreamAC
from rillax.agents.policies import Gaussian, Joint, Softmax, actions_of, as_input, make_policy
from rillax.cells import RTU
from rillax.envs import Environment
from rillax.envs.environment import EnvState, dataclass
from rillax.envs.spaces import Box as JaxBox
from rillax.envs.spaces import Dict as JaxDict
from rillax.envs.spaces import Discrete as JaxDiscrete
from rillax.loops.inputs import as_observation
from rillax.networks import Architecture

SMALL = Architecture(cell=RTU(4), width=4)
SEEN = Dict(
    image=Box(-1, 1, (2, 3)),
    place=MultiDiscrete([2, 3], start=[4, -1]),
    lamps=MultiBinary(3),
    pair=Tuple([Discrete(3, start=5), Box(0, 9, (1,))]),
)
DONE = Dict(gear=MultiDiscrete([2, 3]), horn=MultiBinary(2), pair=Tuple([Discrete(2), Box(-1, 1)]))


def test_observations_are_flattened_as_gymnasium_does():
    assert spaces.observation_shape(SEEN) == (6 + 5 + 3 + 4,)
    for space in (SEEN, *SEEN.spaces.values(), DONE):
        for _ in range(20):
            value = space.sample()
            if isinstance(space, Box):
                continue
            np.testing.assert_array_equal(
                as_observation(value, space), gym.spaces.flatten(space, value), str(space)
            )
        again = spaces.rebuild(spaces.describe(space))
        assert again == space
        assert list(spaces.inner(again) or ()) == list(spaces.inner(space) or ())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"image": np.zeros((3, 2))}, r"\['image'\]: expected an observation of shape \(2, 3\)"),
        ({"place": [0, 0]}, r"\['place'\]: expected an element of MultiDiscrete"),
        ({"lamps": [0, 1, 2]}, r"\['lamps'\]: expected an element of MultiBinary\(3\)"),
        ({"pair": (9, [0.0])}, r"\['pair'\]\[0\]: expected an observation in Discrete"),
        ({"pair": (5,)}, r"\['pair'\] must be a tuple of 2"),
        ({"sound": 1}, "must have the parts image, place, lamps, pair"),
    ],
)
def test_what_does_not_fit_is_named(change, words):
    with pytest.raises(BadInput, match=words):
        as_observation({**SEEN.sample(), **change}, SEEN)


def test_a_learner_of_dicts(tmp_path):
    agent = StreamAC(network=SMALL, previous_action=True)
    learner = Learner(agent, SEEN, DONE, seed=1)
    SEEN.seed(0)
    for t in range(4):
        action = learner.act(SEEN.sample())
        assert DONE.contains(action), action
        learner.learn(1.0, SEEN.sample(), terminated=t == 2)
    assert learner.state.added.shape == (2 + 3 + 4 + 2 + 1,)  # one-hot, but for the Box
    with pytest.raises(BadInput, match=r"\['lamps'\]"):
        learner.act({**SEEN.sample(), "lamps": None})
    with pytest.raises(BadInput, match="the observation is nan at feature"):
        learner.act({**SEEN.sample(), "lamps": [np.nan, 0, 0]})
    learner.save(tmp_path / "x")
    loaded = Learner.load(tmp_path / "x")
    assert (loaded.observation_space, loaded.action_space) == (SEEN, DONE)
    sample = SEEN.sample()
    chosen = [gym.spaces.flatten(DONE, one.act(sample)) for one in (learner, loaded)]
    np.testing.assert_array_equal(*chosen)
    with pytest.raises(ValueError, match=r"an action of Dict.* has no form in C"):
        Learner(agent, SEEN, DONE, engine="c")


def test_a_joint_policy_is_its_parts():
    outputs, deviation, bounds, first = actions_of(DONE)
    assert (outputs, first.shape) == (2 + 3 + 4 + 2 + 1, (6,))
    assert np.asarray(bounds[1]).tolist() == [1, 2, 1, 1, 1, 1]
    out = jax.random.normal(jax.random.key(0), (outputs,))
    policy = make_policy(out, deviation)
    assert isinstance(policy, Joint)
    parts = [Softmax(out[a:b]) for a, b in ((0, 2), (2, 5), (5, 7), (7, 9), (9, 11))]
    box = Gaussian(out[11:], jnp.zeros(1))
    action = jnp.array([1.0, 2, 0, 1, 1, 0.3])
    each = [part.log_probability(action[i]) for i, part in enumerate(parts)]
    each.append(box.log_probability(action[5:]))
    np.testing.assert_allclose(policy.log_probability(action), sum(each), rtol=1e-6)
    entropies = [part.entropy() for part in (*parts, box)]
    np.testing.assert_allclose(policy.entropy(), sum(entropies), rtol=1e-6)
    sampled = jax.vmap(policy.sample)(jax.random.split(jax.random.key(1), 4000))
    for i, part in enumerate(parts):
        shares = np.bincount(np.asarray(sampled[:, i], int), minlength=part.logits.size) / 4000
        np.testing.assert_allclose(shares, jax.nn.softmax(part.logits), atol=0.04)
    assert policy.mode()[:5].tolist() == [int(jnp.argmax(part.logits)) for part in parts]
    seen = as_input(action, deviation)
    np.testing.assert_allclose(seen, [0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0.3])
    wide = actions_of(DONE, state_deviation=True)
    assert wide.outputs == outputs + 1
    assert make_policy(jnp.zeros(wide.outputs), wide.log_deviation, True).entropy().shape == ()


@pytest.mark.parametrize(
    ("agent", "seen", "done", "words"),
    [
        (QRC, SEEN, MultiDiscrete([2, 2]), r"needs a Discrete action space, got MultiDiscrete"),
        (StreamAC, Text(5), Discrete(2), r"an observation space must be Box, .* got Text"),
        (StreamAC, SEEN, Tuple([Text(3)]), r"an action space must be Box, .* got Text"),
        (StreamAC, gym.spaces.Sequence(Discrete(2)), Discrete(2), "got Sequence"),
        (StreamAC, gym.spaces.OneOf([Discrete(2), Discrete(3)]), Discrete(2), "got OneOf"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(agent, seen, done, words):
    with pytest.raises(ValueError, match=words):
        Learner(agent(network=SMALL), seen, done)


class Lights(gym.Env):
    """A reward for a gear that is that of the place, of which a Dict tells."""

    observation_space = Dict(lamps=MultiBinary(2), place=MultiDiscrete([2, 2]))
    action_space = MultiDiscrete([2, 2], start=[1, 0])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 4
        return self._look(), {}

    def _look(self):
        self.place = self.np_random.integers(2, size=2)
        return {"lamps": np.array([1, 0], np.int8), "place": self.place}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.left -= 1
        reward = float((action - [1, 0] == self.place).sum())
        return self._look(), reward, self.left == 0, False, {}


@pytest.mark.parametrize(
    "agent",
    [
        StreamAC(network=SMALL),
        pytest.param(
            PPO(network=SMALL, rollout=8, minibatches=2, epochs=2, environments=2),
            marks=pytest.mark.slow,
        ),
        pytest.param(TD(network=SMALL), marks=pytest.mark.slow),
    ],
)
def test_beside_gymnasium(agent):
    results = rillax.train(agent, Lights, 60)
    assert np.nanmax(results.metrics["length"]) == 4
    assert 0 <= results.final_return <= 8


@dataclass
class Place(EnvState):
    x: jax.Array


class Corridor(Environment):
    """An environment in JAX whose observations are a Dict."""

    def reset_env(self, key, params):
        state = Place(time=0, x=jnp.float32(0))
        return self._look(state), state

    def _look(self, state):
        return {"near": jnp.int32(state.x > 0), "x": jnp.array([state.x])}

    def step_env(self, key, state, action, params):
        state = Place(time=state.time + 1, x=state.x + action)
        return self._look(state), state, state.x, self.is_terminated(state, params), {}

    def is_terminated(self, state, params):
        return state.time >= 3

    def observation_space(self, params=None):
        return JaxDict({"near": JaxDiscrete(2), "x": JaxBox(-9.0, 9.0, (1,))})

    def action_space(self, params=None):
        return JaxDiscrete(2)


@pytest.mark.slow
def test_a_dict_in_jax():
    results = rillax.train(QRC(network=SMALL), Corridor(), 40)
    assert np.nanmax(results.metrics["length"]) == np.nanmin(results.metrics["length"]) == 3
    learner = results.learner()
    learner.act({"near": 1, "x": [1.0]})
    learner.learn(0.0, {"near": 0, "x": [0.0]})


def test_an_encoder_without_outputs_is_refused():
    def nothing(key, shape):
        return lambda image: image.ravel()[:0]

    agent = StreamAC(network=Architecture(cell=RTU(4), encoder=nothing))
    with pytest.raises(ValueError, match=r"at least one number, but for observations of shape \(2"):
        Learner(agent, Box(-1, 1, (2, 3)), Discrete(2))
