"""Trace conditioning against its rules, read off a long stream."""

import jax
import numpy as np
import pytest

from rillax.envs import TraceConditioning, make


def stream(env, steps, seed=0):
    """Observations and rewards of a stretch of the stream."""

    def one(carry, key):
        observation, state, reward, terminated, truncated, _ = env.step(key, carry, 0)
        return state, (observation, reward, terminated | truncated)

    key, key_reset = jax.random.split(jax.random.key(seed))
    _, state = env.reset(key_reset)
    keys = jax.random.split(key, steps)
    return jax.tree.map(np.asarray, jax.lax.scan(one, state, keys)[1])


def onsets(signal):
    return np.flatnonzero(np.diff(signal.astype(int)) == 1) + 1


@pytest.mark.parametrize("interval", [10, 40])
def test_stimuli_and_intervals_are_as_described(interval):
    observations, rewards, over = stream(make("TraceConditioning", interval=interval), 20_000)
    cs, us = observations[:, 0], observations[:, 1]
    assert not over.any()
    np.testing.assert_array_equal(rewards, us)
    start, puff = onsets(cs), onsets(us)
    start, puff = start[start < puff[-1]], puff[puff > start[0]]
    isi, iti = puff - start, start[1:] - puff[:-1]
    assert isi.min() == round(0.7 * interval)
    assert isi.max() == round(1.3 * interval)
    np.testing.assert_allclose(isi.mean(), interval, rtol=0.05)
    assert 80 <= iti.min() <= 83
    assert 117 <= iti.max() <= 120
    for when, signal, length in ((start[:-1], cs, 4), (puff[:-1], us, 2)):
        for t in when:
            assert signal[t : t + length].all()
            assert not signal[t + length]


def test_distractors_come_at_their_rates_and_mean_nothing():
    observations, _, _ = stream(TraceConditioning(distractors=3), 30_000)
    assert observations.shape[1] == 5
    for k in range(3):
        gap = np.diff(onsets(observations[:, 2 + k])).mean()
        # A new one may follow on the heels of the last, and then they look like one.
        rate = 1 / (10 * (k + 1))
        np.testing.assert_allclose(gap, (1 / rate + 3) / (1 - rate), rtol=0.1)


@pytest.mark.parametrize("wrong", [{"interval": 3}, {"distractors": -1}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError, match="TraceConditioning"):
        make("TraceConditioning", **wrong)
