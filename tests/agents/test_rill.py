"""Rill against the second implementations of its two learners, and who acts."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.agents import Rill, referee
from rillax.agents.rill import ACTOR_ACTS, Q_ACTS
from rillax.cells import RTU
from rillax.envs import spaces
from rillax.networks import Architecture
from rillax.updates import Intentional, IntentionalPolicy, ObGD
from tests.agents.reference import leaves
from tests.agents.reference_stream_ac import ReferenceObGD, ReferenceStreamAC
from tests.agents.reference_stream_q import ReferenceStreamQ
from tests.updates.reference_intentional import ReferenceIntentional

BOX = spaces.Box(-1.0, 1.0, (3,))
SMALL = Architecture(cell=RTU(5), width=6, sparsity=0.5)
GAMMA, ACTOR_GAMMA, LAMBDA, EPSILON, BOUT = 0.9, 0.8, 0.7, 0.5, 7
AGENT = Rill(
    network=SMALL,
    discount=GAMMA,
    actor_discount=ACTOR_GAMMA,
    trace_decay=LAMBDA,
    entropy=0.3,
    actor=ObGD(kappa=3.0),
    critic=ObGD(kappa=2.0),
    epsilon_start=EPSILON,
    epsilon_frames=0,
    longest_bout=BOUT,
    previous_action=False,
    previous_reward=False,
    input_bound=None,
)
ACT, LEARN = jax.jit(AGENT.act), jax.jit(AGENT.learn)


def begin(agent=AGENT, actions=4):
    make = jax.jit(lambda key: agent.init(key, BOX, spaces.Discrete(actions)))
    return make(jax.random.key(3))


def test_both_learners_equal_independent_implementations(x64):
    state, decay, actor_decay = begin(), GAMMA * LAMBDA, ACTOR_GAMMA * LAMBDA
    q = ReferenceStreamQ(
        leaves(state.q.network),
        (3,),
        GAMMA,
        lambda p: ReferenceIntentional(p, 0.25, decay, row_norm=2.0),
    )
    rules = (
        lambda p: ReferenceObGD(p, 1.0, 3.0, actor_decay),
        lambda p: ReferenceObGD(p, 1.0, 2.0, actor_decay),
    )
    nets = leaves(state.actor.network), leaves(state.critic.network)
    gammas = {"gamma": ACTOR_GAMMA, "scale_gamma": GAMMA}  # rewards are scaled for both alike
    ac = ReferenceStreamAC(*nets, (3,), None, **gammas, tau=0.3, make_rules=rules)
    rng = np.random.default_rng(0)
    observation, seen, ratios = rng.normal(size=3), [], []
    for _ in range(60):
        state, action = ACT(state, observation)
        acts, action = int(state.acts), int(action)
        values = q.observe(observation)
        ac.observe(observation)
        reward, final = rng.normal(), rng.normal(size=3)
        ended = rng.random(2) < (0.1, 0.1)
        chance = EPSILON / 4 + (1 - EPSILON) * (action == values.argmax())

        def ratio(p, acts=acts, chance=chance):
            ratios.append(1.0 if acts == ACTOR_ACTS else min(1.0, p / chance))
            return ratios[-1]

        state, metrics = LEARN(state, reward, final, *ended)
        td_error = q.learn(action, reward, final, *ended)
        ac.learn(action, reward, final, *ended, ratio)
        np.testing.assert_allclose(metrics["td_error"], td_error, rtol=1e-8)
        ac.critic.p = ac.opt_v.p
        for ours, theirs in ((state.q, q.q), (state.actor, ac.actor), (state.critic, ac.critic)):
            for name, leaf in leaves(ours.network).items():
                np.testing.assert_allclose(leaf, theirs.p[name], 1e-8, 1e-11, err_msg=name)
        seen.append((acts, action == values.argmax(), *ended))
        observation = rng.normal(size=3) if ended.any() else final
    shares = np.mean(seen, axis=0)
    assert np.all((shares > 0.04) & (shares < 0.96)), shares  # of all there is to see, some
    assert 5 < np.sum(np.array(ratios) < 1) < 55


def test_a_bout_ends_with_the_episode_or_after_its_longest(x64):
    state, counts = begin(), []
    for step in range(2 * BOUT + 3):
        state, _ = ACT(state, np.ones(3))
        state, _ = LEARN(state, 1.0, np.ones(3), np.bool_(step == 2), np.bool_(False))
        counts.append((int(state.bout), round(float(jnp.sum(state.earnings.bouts)), 2)))
    assert [bout for bout, _ in counts[:4]] == [1, 2, 0, 1]
    assert counts[2 + BOUT][0] == counts[2 + 2 * BOUT][0] == 0
    assert counts[-1][1] == pytest.approx(1 + 0.98 + 0.98**2, abs=0.01)


def test_whoever_earned_more_plays_where_nothing_is_explored():
    state = begin()
    for who in (Q_ACTS, ACTOR_ACTS):
        mean = jnp.array([1.0, 0.0]) if who == Q_ACTS else jnp.array([0.0, 1.0])
        best = state._replace(earnings=state.earnings._replace(mean=mean))
        after, action = AGENT.act(best, jnp.ones(3), explore=False)
        stream = after.q if who == Q_ACTS else after.actor
        out = stream.network(after.observation, stream.previous, stream.memory)
        assert action == jnp.argmax(out)


def test_a_step_that_would_not_be_finite_is_refused_by_all_of_it(x64):
    state = begin()
    for reward in (1.0, np.nan, 1.0):
        state, _ = ACT(state, np.ones(3))
        before = jax.tree.leaves((state.q.network, state.actor.network, state.critic.network))
        state, metrics = LEARN(state, reward, np.ones(3), np.bool_(False), np.bool_(False))
        after = jax.tree.leaves((state.q.network, state.actor.network, state.critic.network))
        same = all(bool(jnp.all(a == b)) for a, b in zip(before, after, strict=True))
        assert same == (not np.isfinite(reward))
        assert bool(jnp.isfinite(metrics["td_error"])) == bool(np.isfinite(reward))
    for leaf in jax.tree.leaves(state._replace(key=0)):
        assert jnp.all(jnp.isfinite(leaf))


def test_each_rule_is_for_values_or_for_policies():
    with pytest.raises(ValueError, match="intentional_policy is for policies"):
        Rill(actor=Intentional())
    for name in ("q", "critic"):
        with pytest.raises(ValueError, match="intentional is for values"):
            Rill(**{name: IntentionalPolicy()})


# ---- the referee


def test_earnings_are_weighted_means_of_what_was_earned(x64):
    window, rng = 8, np.random.default_rng(1)
    who, earned = rng.integers(0, 2, 40), rng.normal(size=40)
    earnings = referee.no_earnings(2)
    for w, e in zip(who, earned, strict=True):
        earnings = referee.count(earnings, w, jnp.asarray(e), window)
    weights = (1 - 1 / window) ** np.arange(40)[::-1]
    for policy in range(2):
        mine = who == policy
        mean = np.average(earned[mine], weights=weights[mine])
        spread = np.average((earned[mine] - mean) ** 2, weights=weights[mine])
        ours = [x[policy] for x in earnings[:3]]
        np.testing.assert_allclose(ours, [weights[mine].sum(), mean, spread], rtol=1e-12)


def test_a_long_reign_is_remembered_for_longer_and_ends_at_once(x64):
    window, earnings = 8, referee.no_earnings(2)
    count = jax.jit(lambda *args: referee.count(*args, window))
    for who, earned in ((0, 1.0), (1, 2.0), *300 * [(1, 2.0)]):
        earnings = count(earnings, jnp.int32(who), jnp.asarray(earned))
    assert (earnings.leader, earnings.reign) == (1, 300)
    after = count(earnings, jnp.int32(1), jnp.asarray(2.0))
    np.testing.assert_allclose(after.bouts[0] / earnings.bouts[0], 1 - 1 / 30)
    # Bouts are remembered for longer than a mean is over: one of eight still counts.
    assert earnings.bouts[1] > 2 * window
    lost = count(earnings, jnp.int32(1), jnp.asarray(-5.0))
    np.testing.assert_allclose(lost.mean[1], 2 - 7 / window)
    assert (lost.leader, lost.reign) == (1, 301)
    lost = count(lost, jnp.int32(1), jnp.asarray(-5.0))
    assert (lost.leader, lost.reign) == (0, 0)
    longest = earnings._replace(reign=jnp.int32(referee.LONGEST_REIGN))
    assert count(longest, jnp.int32(1), jnp.asarray(2.0)).reign == referee.LONGEST_REIGN


def play(means, bouts, spread=1.0, window=50):
    """How often each of two policies with these mean earnings is chosen, late in a long game."""

    def step(carry, key):
        earnings, who = carry
        key_earned, key_choice = jax.random.split(key)
        earned = jnp.asarray(means)[who] + spread * jax.random.normal(key_earned)
        earnings = referee.count(earnings, who, earned, window)
        return (earnings, referee.choose(key_choice, earnings, window)), who

    start = referee.no_earnings(2), jnp.int32(0)
    _, who = jax.lax.scan(step, start, jax.random.split(jax.random.key(0), bouts))
    return np.bincount(who[bouts // 2 :], minlength=2) / (bouts - bouts // 2)


def test_the_referee_lets_the_better_act_and_asks_the_other_again():
    equal, behind, far = play((0.0, 0.0), 4000), play((0.0, -2.0), 4000), play((0.0, -20.0), 4000)
    assert 0.3 < equal[0] < 0.7
    assert 0.85 < behind[0] < 0.999
    assert 0.98 < far[0] < 1.0
    assert play((-2.0, 0.0), 4000)[1] > 0.85
    assert play((0.0, -2.0), 20_000)[0] > 0.995  # the longer it has led, the less it is doubted


# ---- exploration


def test_a_random_action_is_as_likely_as_the_values_are_wrong(x64):
    agent = dataclasses.replace(AGENT, epsilon_start=1.0, epsilon_end=0.2, epsilon_frames=10)
    state, surprise = begin(), 1.0
    for step in range(20):
        state, _ = ACT(state, np.ones(3))
        reward = 3.0 if step % 2 else np.nan if step == 4 else 0.1
        state, metrics = LEARN(state, reward, np.ones(3), np.bool_(step == 9), np.bool_(False))
        if np.isfinite(metrics["td_error"]):
            surprise += (min(float(metrics["td_error"]) ** 2, 1.0) - surprise) / 1000
        left = max(0.0, 1 - int(state.step) / 10)
        expected = left + (1 - left) * 0.2 * surprise
        np.testing.assert_allclose(agent.epsilon(state), expected, 1e-12)
        assert metrics["epsilon"] == EPSILON  # of an agent whose epsilon does not fall
    assert 0.98 < surprise < 1.0
