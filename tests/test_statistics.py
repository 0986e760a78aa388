import jax
import jax.numpy as jnp
import numpy as np

from rillax import normalisation


def test_running_mean_and_deviation_are_those_of_the_whole_stream(x64):
    xs = np.random.default_rng(0).normal(3, [1.0, 100.0], size=(500, 2))
    running, _ = jax.lax.scan(
        lambda r, x: (normalisation.update(r, x), None), normalisation.start((2,)), jnp.array(xs)
    )
    np.testing.assert_allclose(running.mean, xs.mean(0), rtol=1e-10)
    np.testing.assert_allclose(normalisation.deviation(running), xs.std(0, ddof=1), rtol=1e-8)


def test_single_precision_holds_far_from_zero():
    """A sum of squares in single precision would be of no use here."""
    xs = 1000 + np.random.default_rng(0).normal(size=200_000)
    running, _ = jax.lax.scan(
        lambda r, x: (normalisation.update(r, x), None),
        normalisation.start(()),
        jnp.array(xs, jnp.float32),
    )
    np.testing.assert_allclose(normalisation.deviation(running), 1, rtol=0.02)


def test_the_first_observation_passes_unchanged():
    running = normalisation.update(normalisation.start((2,)), jnp.array([4.0, -2.0]))
    np.testing.assert_allclose(normalisation.normalise(running, jnp.array([4.0, -2.0])), [4, -2])


def test_rewards_are_divided_by_the_deviation_of_the_discounted_return(x64):
    rewards, done = [1.0, 0.0, 2.0, -1.0, 0.5], [0, 0, 1, 0, 0]
    scale, returns, total = normalisation.start_reward_scale(), [], 0.0
    for reward, end in zip(rewards, done, strict=True):
        total = 0.9 * total + reward
        returns.append(total)
        total = 0.0 if end else total
        scaled, scale = normalisation.scale_reward(scale, jnp.array(reward), 0.9, jnp.bool_(end))
        expected = np.std(returns, ddof=1) if len(returns) > 1 else 1.0
        np.testing.assert_allclose(scaled, reward / expected, rtol=1e-7)
