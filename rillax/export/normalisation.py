"""The C of the running statistics of observations and rewards (``rillax.normalisation``)."""

from rillax.export.layout import Field, integer, reals

_WELFORD = """
/* ---- running statistics (Elsayed et al., 2024) ---- */

/* One more sample, the n-th, of Welford's recursion for mean and variance. */
static void welford(real x, real n, real *mean, real *variance)
{
    const real before = x - *mean;
    *mean += before / n;
    *variance += (before * (x - *mean) - *variance) / n;
}

/* The sample standard deviation; 1 until there are two samples. */
static real deviation(real variance, real n)
{
    return MATH(sqrt)((n < 2 ? 1 : variance * n / (n - 1)) + REAL(1e-8));
}
"""

_OBSERVE = """
/* An observation in units of what was seen so far, itself included; kept in the statistics
   or not. It is unchanged until there are two. */
static void normalise(learner *self, const real *observation, int kept, real *seen)
{
    const real n = (real)one_more(self->observations_samples);
    for (int i = 0; i < LEARNER_OBSERVATIONS; i++) {
        real mean = self->observations_mean[i], variance = self->observations_variance[i];
        welford(observation[i], n, &mean, &variance);
        seen[i] = (observation[i] - (n < 2 ? 0 : mean)) / deviation(variance, n);
        if (kept) {
            self->observations_mean[i] = mean;
            self->observations_variance[i] = variance;
        }
    }
    if (kept)
        self->observations_samples = one_more(self->observations_samples);
}
"""

_REWARD = """
/* The reward over the deviation of the discounted return. */
static real scale_reward(learner *self, real reward, int done)
{
    const real discounted_return = DISCOUNT * self->discounted_return + reward;
    self->return_samples = one_more(self->return_samples);
    const real n = (real)self->return_samples;
    welford(discounted_return, n, &self->return_mean, &self->return_variance);
    self->discounted_return = done ? 0 : discounted_return;
    return reward / deviation(self->return_variance, n);
}
"""


def functions(observations: bool, rewards: bool) -> str:
    """Those that a learner needs."""
    parts = [_WELFORD if observations or rewards else ""]
    parts += [_OBSERVE if observations else "", _REWARD if rewards else ""]
    return "".join(parts)


def fields(observations: int) -> list[Field]:
    """What is remembered; whether or not it is used, it is part of a learner's state."""
    return [
        reals("observations_mean", ".observations.mean", observations),
        reals("observations_variance", ".observations.variance", observations),
        reals("discounted_return", ".rewards.discounted_return"),
        reals("return_mean", ".rewards.running.mean"),
        reals("return_variance", ".rewards.running.variance"),
        integer("observations_samples", ".observations.samples", least=0),
        integer("return_samples", ".rewards.running.samples", least=0),
    ]
