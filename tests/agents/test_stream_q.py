"""stream Q(lambda) with every rule against its second implementation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.agents import StreamAC, StreamQ
from rillax.agents.exploration import softmax_choice
from rillax.cells import RTU
from rillax.envs import spaces
from rillax.networks import Architecture
from rillax.updates import Adaptive, AdaptiveObGD, Intentional, IntentionalPolicy, ObGD
from tests.agents.reference import leaves
from tests.agents.reference_stream_ac import ReferenceObGD
from tests.agents.reference_stream_q import ReferenceStreamQ
from tests.updates.reference_adaptive import ReferenceAdaptive
from tests.updates.reference_intentional import ReferenceIntentional

BOX = spaces.Box(-1.0, 1.0, (3,))
SMALL = Architecture(cell=RTU(5), width=6, sparsity=0.5)
GAMMA, LAMBDA = 0.9, 0.7
RULES = {
    "obgd": (ObGD(), lambda p: ReferenceObGD(p, 1.0, 2.0, GAMMA * LAMBDA)),
    "adaptive_obgd": (AdaptiveObGD(), lambda p: ReferenceObGD(p, 1.0, 2.0, GAMMA * LAMBDA, True)),
    "adaptive": (Adaptive(0.01), lambda p: ReferenceAdaptive(p, 0.01, GAMMA * LAMBDA)),
    "intentional": (Intentional(), lambda p: ReferenceIntentional(p, 0.25, GAMMA * LAMBDA)),
    "intentional, trace": (
        Intentional(0.1, "trace"),
        lambda p: ReferenceIntentional(p, 0.1, GAMMA * LAMBDA, trace=True),
    ),
}


QUICK = "obgd", "adaptive", "intentional"


@pytest.mark.parametrize(
    ("name", "temperature"),
    [
        *(pytest.param(n, 0.0, marks=() if n in QUICK else pytest.mark.slow) for n in RULES),
        ("obgd", 0.3),
    ],
)
def test_updates_equal_an_independent_implementation(name, temperature, x64):
    rule, make_reference = RULES[name]
    epsilon = 0.0 if temperature else 0.5
    agent = StreamQ(
        network=SMALL,
        discount=GAMMA,
        trace_decay=LAMBDA,
        q=rule,
        epsilon_start=epsilon,
        epsilon_end=epsilon,
        temperature=temperature,
    )
    state = jax.jit(lambda key: agent.init(key, BOX, spaces.Discrete(3)))(jax.random.key(3))
    reference = ReferenceStreamQ(leaves(state.q.network), (3,), GAMMA, make_reference, temperature)
    rng = np.random.default_rng(0)
    act, learn = jax.jit(agent.act), jax.jit(agent.learn)
    observation, greedy, ends = rng.normal(size=3), [], []
    for _ in range(60):
        state, action = act(state, observation)
        values = reference.observe(observation)
        greedy.append(int(action) == values.argmax())
        reward, final = rng.normal(), rng.normal(size=3)
        terminated, truncated = rng.random(2) < (0.1, 0.1)
        ends.append((terminated, truncated))
        state, metrics = learn(state, reward, final, terminated, truncated)
        td_error = reference.learn(int(action), reward, final, terminated, truncated)
        np.testing.assert_allclose(metrics["td_error"], td_error, rtol=1e-8)
        for leaf_name, leaf in leaves(state.q.network).items():
            expected = reference.q.p[leaf_name]
            np.testing.assert_allclose(leaf, expected, 1e-8, 1e-11, err_msg=leaf_name)
        observation = rng.normal(size=3) if terminated or truncated else final
    assert 10 < sum(greedy) < 55
    assert np.all(np.sum(ends, axis=0) > 2)


def test_metrics_count_what_was_refused_and_parameters_stay_finite():
    agent = StreamQ(network=SMALL, normalise_rewards=False)
    state = jax.jit(lambda key: agent.init(key, BOX, spaces.Discrete(2)))(jax.random.key(0))
    act, learn, counts = jax.jit(agent.act), jax.jit(agent.learn), []
    for reward in (1.0, np.inf, 1.0):
        state, _ = act(state, jnp.ones(3))
        state, metrics = learn(state, reward, jnp.ones(3), False, False)
        counts.append(float(metrics["refused"]))
    assert counts == [0, 1, 0]
    for leaf in jax.tree.leaves((state.q, state.optimiser)):
        assert jnp.all(jnp.isfinite(leaf))


def test_a_skipped_transition_leaves_all_but_the_episode_as_it_was():
    agent = StreamQ(network=SMALL)
    state = jax.jit(lambda key: agent.init(key, BOX, spaces.Discrete(2)))(jax.random.key(0))
    state, _ = jax.jit(agent.act)(state, jnp.ones(3))
    kept = agent.skip(state, jnp.bool_(False))
    for a, b in zip(jax.tree.leaves(kept), jax.tree.leaves(state), strict=True):
        assert jnp.all(a == b)
    ended = agent.skip(state, jnp.bool_(True))
    assert ended.fresh
    assert ended.optimiser.trace.cut


def test_stream_ac_says_which_form_of_the_rule_is_for_which():
    StreamAC(actor=IntentionalPolicy(), critic=Intentional(eta=0.5))
    with pytest.raises(ValueError, match="intentional_policy is for policies"):
        StreamAC(actor=Intentional())
    with pytest.raises(ValueError, match="intentional is for values"):
        StreamAC(critic=IntentionalPolicy())


def test_a_softmax_of_values_draws_what_is_better_more_often():
    values, temperature = jnp.array([0.0, 0.5, 1.0]), 0.5
    keys = jax.random.split(jax.random.key(0), 4000)
    draw = jax.vmap(lambda key: softmax_choice(key, values, 0.25, temperature))
    actions, follows = map(np.asarray, draw(keys))
    shares = np.bincount(actions, minlength=3) / len(actions)
    expected = 0.75 * np.asarray(jax.nn.softmax(values / temperature)) + 0.25 / 3
    np.testing.assert_allclose(shares, expected, atol=0.03)
    assert abs(np.mean(follows) - 0.75) < 0.03
