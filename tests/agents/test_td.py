"""stream TD(lambda) against a second implementation; signals, discounts and the return error."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.agents import TD
from rillax.agents.td import ReturnError, return_error
from rillax.cells import RTU
from rillax.envs import TraceConditioning, spaces
from rillax.loops import Learner
from rillax.loops.compiled import CompiledLoop, program
from rillax.networks import Architecture
from rillax.updates import Intentional, ObGD
from tests.agents.reference import Net, Welford, leaves
from tests.agents.reference_stream_ac import ReferenceObGD
from tests.forms import needs_fast_forms
from tests.updates.reference_intentional import ReferenceIntentional

BOX = spaces.Box(-1.0, 1.0, (3,))
SMALL = Architecture(cell=RTU(5), width=6, sparsity=0.5)
DISCOUNTS, LAMBDA = (0.6, 0.9), 0.7


class ReferenceTD:
    """Predictions of one signal at several discounts, in NumPy."""

    def __init__(self, v, make_rule):
        self.v, self.stats = Net(v), Welford((3,))
        # Each rule has a copy of the parameters, of which only the change is used.
        self.rules = [make_rule(dict(self.v.p), gamma * LAMBDA) for gamma in DISCOUNTS]

    def observe(self, o):
        self.stats.add(o)
        self.o = self.stats.scaled(o)
        self.v.commit(self.o)
        return self.v.output(self.v.h)

    def learn(self, signal, o2, terminated, truncated):
        n, mean, m2 = self.stats.n, self.stats.mean, self.stats.m2
        self.stats.add(o2)
        o2 = self.stats.scaled(o2)
        self.stats.n, self.stats.mean, self.stats.m2 = n, mean, m2
        h2, _ = self.v.recur(o2)
        ahead, total, errors = self.v.output(h2), dict.fromkeys(self.v.p, 0), []
        for i, (gamma, rule) in enumerate(zip(DISCOUNTS, self.rules, strict=True)):
            value, gradient = self.v.gradient(self.o, self.v.h, self.v.S, i)
            errors.append(signal + gamma * (0 if terminated else ahead[i]) - value)
            before = dict(rule.p)
            rule.step(gradient, errors[-1], terminated or truncated)
            total = {k: total[k] + rule.p[k] - before[k] for k in total}
        self.v.p = {k: self.v.p[k] + total[k] for k in total}
        if terminated or truncated:
            self.v.forget()
        return np.mean(errors)


RULES = {
    "obgd": (ObGD(), lambda p, decay: ReferenceObGD(p, 1.0, 2.0, decay)),
    "intentional": (Intentional(0.5), lambda p, decay: ReferenceIntentional(p, 0.5, decay)),
}


@pytest.mark.parametrize(
    ("rule", "signals"),
    [
        pytest.param("obgd", (), id="obgd-reward", marks=pytest.mark.slow),
        pytest.param("obgd", (1,), id="obgd-observation"),
        pytest.param("intentional", (), id="intentional-reward"),
        pytest.param("intentional", (1,), id="intentional-observation", marks=pytest.mark.slow),
    ],
)
def test_updates_equal_an_independent_implementation(rule, signals, x64):
    ours, make_reference = RULES[rule]
    agent = TD(SMALL, signals, DISCOUNTS, LAMBDA, ours)
    state = jax.jit(lambda key: agent.init(key, BOX, spaces.Discrete(2)))(jax.random.key(3))
    reference = ReferenceTD(leaves(state.v.network), make_reference)
    rng = np.random.default_rng(0)
    act, learn = jax.jit(agent.act), jax.jit(agent.learn)
    observation, ends = rng.normal(size=3), []
    for _ in range(50):
        state, _ = act(state, observation)
        np.testing.assert_allclose(state.prediction, reference.observe(observation), rtol=1e-7)
        reward, final = rng.normal(), rng.normal(size=3)
        terminated, truncated = rng.random(2) < (0.1, 0.1)
        ends.append((terminated, truncated))
        state, metrics = learn(state, reward, final, terminated, truncated)
        signal = final[1] if signals else reward
        expected = reference.learn(signal, final, terminated, truncated)
        np.testing.assert_allclose(metrics["td_error"], expected, rtol=1e-7, atol=1e-10)
        for name, leaf in leaves(state.v.network).items():
            np.testing.assert_allclose(leaf, reference.v.p[name], 1e-8, 1e-10, err_msg=name)
        observation = rng.normal(size=3) if terminated or truncated else final
    assert np.all(np.sum(ends, axis=0) > 2)


def test_the_return_error_is_that_of_hindsight(x64):
    """Against returns summed up backwards, once all is known; two episodes, two discounts."""
    rng, discounts, steps = np.random.default_rng(0), np.array([0.5, 0.9]), 300
    predictions, signals = rng.normal(size=(steps, 2)), rng.normal(size=(steps, 2))
    ends, total = np.arange(steps) % 150 == 149, 0.0
    error = ReturnError(jnp.zeros(2), jnp.zeros(2))
    step = jax.jit(return_error)
    for v, c, done in zip(predictions, signals, ends, strict=True):
        added, error = step(error, v, c, discounts, done)
        total = total + added
    returns, ahead = np.zeros((steps, 2)), np.zeros(2)
    for t in reversed(range(steps)):
        ahead = signals[t] + discounts * np.where(ends[t], 0, ahead)
        returns[t] = ahead
    np.testing.assert_allclose(total, np.square(predictions - returns).sum(0), rtol=1e-9)


@needs_fast_forms
def test_it_is_one_kernel_and_learns_to_expect_what_a_cue_foretells():
    agent = TD(Architecture(cell=RTU(32, features="tanh"), width=16), discounts=(0.9,))
    env = TraceConditioning(10, distractors=2)
    loop = CompiledLoop(agent, env, [0])
    errors = []
    for _ in range(3):
        loop.clear()
        errors.append(loop.run(8000).metrics["return_error"][0] / 8000)
    assert program(agent, env).forms_left == 3
    assert errors[-1] < 0.85 * errors[0]


def test_a_learner_is_told_what_to_predict():
    agent = TD(SMALL, signals=(0, 2), discounts=(0.5, 0.9))
    learner = Learner(agent, BOX, spaces.Box(-1.0, 3.0, (2,)), seed=0)
    for t in range(3):
        np.testing.assert_array_equal(learner.act(np.full(3, t)), [1.0, 1.0])
        learner.learn(0.0, np.full(3, t + 1.0))
    assert learner.state.prediction.shape == (4,)
    assert np.isfinite(learner.metrics["return_error"])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"discounts": ()}, "at least one"), ({"discounts": (1.0,)}, r"in \[0, 1\)")],
)
def test_wrong_settings_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        TD(**wrong)
    with pytest.raises(ValueError, match="no signal 3"):
        TD(SMALL, signals=(3,)).init(jax.random.key(0), BOX, spaces.Discrete(2))
