"""stream AC(lambda) against its second implementation, and its two policies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from rillax.agents import StreamAC
from rillax.agents.policies import Gaussian, Softmax, make_policy
from rillax.cells import RTU
from rillax.envs import spaces
from rillax.networks import Architecture
from rillax.updates import AdaptiveObGD, Intentional, IntentionalPolicy, ObGD
from tests.agents.reference import leaves
from tests.agents.reference_stream_ac import ReferenceObGD, ReferenceStreamAC
from tests.updates.reference_intentional import ReferenceIntentional

BOX = spaces.Box(-1.0, 1.0, (3,))
SMALL = Architecture(cell=RTU(5), width=6, sparsity=0.5)
STREAM = [
    # reward, terminated, truncated
    (0.5, False, False),
    (-1.0, False, False),
    (0.25, False, False),
    (1.0, True, False),
    (-0.5, False, False),
    (0.3, False, True),
    (0.7, False, False),
    (-2.0, False, False),
]


RULES = {
    "obgd": (
        (ObGD(kappa=3.0), ObGD(kappa=2.0)),
        (lambda p: ReferenceObGD(p, 1.0, 3.0, 0.63), lambda p: ReferenceObGD(p, 1.0, 2.0, 0.63)),
    ),
    "adaptive": (
        (AdaptiveObGD(kappa=3.0), AdaptiveObGD(kappa=2.0)),
        (
            lambda p: ReferenceObGD(p, 1.0, 3.0, 0.63, True),
            lambda p: ReferenceObGD(p, 1.0, 2.0, 0.63, True),
        ),
    ),
    "intentional": (
        (IntentionalPolicy(), Intentional(0.5)),
        (
            lambda p: ReferenceIntentional(p, 0.05, 0.63, policy=True),
            lambda p: ReferenceIntentional(p, 0.5, 0.63),
        ),
    ),
}
"""Actor's and critic's, with lambda 0.7 and gamma 0.9; ours and the second implementations."""


ACTIONS = {"discrete": spaces.Discrete(3), "continuous": spaces.Box(-0.5, 0.5, (2,))}
QUICK = ("discrete", "obgd"), ("discrete", "intentional"), ("continuous", "obgd")


@pytest.mark.parametrize(
    ("kind", "rules"),
    [
        pytest.param(kind, rules, marks=() if (kind, rules) in QUICK else pytest.mark.slow)
        for kind in ACTIONS
        for rules in RULES
    ],
)
def test_updates_equal_an_independent_implementation(kind, rules, x64):
    space = ACTIONS[kind]
    (actor, critic), make_rules = RULES[rules]
    agent = StreamAC(
        network=SMALL,
        discount=0.9,
        trace_decay=0.7,
        entropy=0.3,
        actor=actor,
        critic=critic,
    )
    state = jax.jit(lambda key: agent.init(key, BOX, space))(jax.random.key(3))
    reference = ReferenceStreamAC(
        leaves(state.actor.network),
        leaves(state.critic.network),
        (3,),
        state.log_deviation,
        gamma=0.9,
        tau=0.3,
        make_rules=make_rules,
    )
    rng = np.random.default_rng(0)
    act, learn = jax.jit(agent.act), jax.jit(agent.learn)
    observation = rng.normal(size=3)
    for reward, terminated, truncated in STREAM:
        state, action = act(state, observation)
        reference.observe(observation)
        if state.bounds is not None:
            np.testing.assert_array_equal(action, np.clip(state.action, -0.5, 0.5))
        final = rng.normal(size=3)
        sample = np.array(state.action)
        state, metrics = learn(state, reward, final, terminated, truncated)
        td_error = reference.learn(sample, reward, final, terminated, truncated)
        np.testing.assert_allclose(metrics["td_error"], td_error, rtol=1e-9)
        pairs = [(state.actor, reference.actor), (state.critic, reference.opt_v)]
        for ours, theirs in pairs:
            for name, leaf in leaves(ours.network).items():
                np.testing.assert_allclose(leaf, theirs.p[name], 1e-8, 1e-11, err_msg=name)
        if state.log_deviation is not None:
            np.testing.assert_allclose(state.log_deviation, reference.theta["log_std"], 1e-9)
        reference.critic.p = reference.opt_v.p
        observation = rng.normal(size=3) if terminated or truncated else final


def test_softmax_is_scipys(x64):
    logits = np.array([0.3, -1.0, 2.0])
    p = np.exp(logits) / np.exp(logits).sum()
    policy = Softmax(jnp.array(logits))
    np.testing.assert_allclose(policy.entropy(), stats.entropy(p), rtol=1e-12)
    np.testing.assert_allclose([policy.log_probability(a) for a in range(3)], np.log(p), 1e-12)
    samples = jax.vmap(policy.sample)(jax.random.split(jax.random.key(0), 4000))
    np.testing.assert_allclose(np.bincount(samples) / 4000, p, atol=0.03)


def test_gaussian_is_scipys(x64):
    mean, log_deviation = np.array([0.5, -2.0]), np.array([0.1, -0.7])
    policy = Gaussian(jnp.array(mean), jnp.array(log_deviation))
    normal = stats.norm(mean, np.exp(log_deviation))
    action = np.array([1.0, -1.5])
    np.testing.assert_allclose(policy.log_probability(action), normal.logpdf(action).sum(), 1e-12)
    np.testing.assert_allclose(policy.entropy(), normal.entropy().sum(), 1e-12)
    samples = jax.vmap(policy.sample)(jax.random.split(jax.random.key(0), 4000))
    np.testing.assert_allclose(samples.mean(0), mean, atol=0.06)
    np.testing.assert_allclose(samples.std(0), np.exp(log_deviation), rtol=0.05)


def test_a_skipped_transition_leaves_all_but_the_episode_as_it_was():
    agent = StreamAC(network=SMALL)
    state = jax.jit(lambda key: agent.init(key, BOX, spaces.Discrete(2)))(jax.random.key(0))
    state, _ = agent.act(state, jnp.ones(3))
    kept = agent.skip(state, jnp.bool_(False))
    for a, b in zip(jax.tree.leaves(kept), jax.tree.leaves(state), strict=True):
        assert jnp.all(a == b)
    ended = agent.skip(state, jnp.bool_(True))
    assert ended.fresh
    assert ended.actor_optimiser[0].cut
    assert ended.critic_optimiser[0].cut


def test_a_deviation_that_depends_on_the_state(x64):
    """Against scipy, and by learning: the actor's network has an output for each deviation."""
    out = jnp.array([0.5, -2.0, 0.3, -40.0])
    policy = make_policy(out, None, state_deviation=True)
    deviation = np.log1p(np.exp([0.3, -40.0])) + 1e-3
    action = np.array([1.0, -2.001])
    expected = stats.norm([0.5, -2.0], deviation).logpdf(action).sum()
    np.testing.assert_allclose(policy.log_probability(action), expected, rtol=1e-9)
    agent = StreamAC(network=SMALL, state_deviation=True)
    space = spaces.Box(-0.5, 0.5, (2,))
    state = jax.jit(lambda key: agent.init(key, BOX, space))(jax.random.key(3))
    assert state.log_deviation is None
    assert state.actor.network.head.linear.weight.shape[0] == 4
    before = np.asarray(state.actor.network.head.linear.weight)
    act, learn = jax.jit(agent.act), jax.jit(agent.learn)
    for t in range(5):
        state, action = act(state, jnp.full(3, 0.1 * t))
        assert action.shape == (2,)
        state, metrics = learn(state, 1.0, jnp.full(3, 0.1 * t + 0.1), False, False)
    assert np.isfinite(metrics["entropy"])
    assert np.all(np.any(np.asarray(state.actor.network.head.linear.weight) != before, axis=1))
    with pytest.raises(ValueError, match="state_deviation is for continuous actions"):
        agent.init(jax.random.key(0), BOX, spaces.Discrete(2))
