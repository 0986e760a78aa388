"""The C of the running statistics of observations and rewards (``rillax.normalisation``)."""

from rillax.export.agents import Interface
from rillax.export.layout import Field, integer, reals
from rillax.export.text import fill, number
from rillax.utils.counts import WORD

_RUNNING = """
/* ---- running statistics (Elsayed et al., 2024) ---- */

enum { WORD = $word }; /* a counter has two words, the lower one from 0 to WORD - 1 */

/* Mean and (population) variance of the samples so far. Each has a second word: what it is more
   than the first, too little for that to hold. */
typedef struct {
    real mean, mean_low, variance, variance_low;
} running;

static real as_real(int32_t high, int32_t low)
{
    return (real)high * (real)WORD + (real)low;
}

static void one_more_sample(int32_t *high, int32_t *low)
{
    *low += 1;
    if (*low >= WORD) {
        *low = 0;
        *high = one_more(*high);
    }
}

/* A number in two words, and x; what the sum rounds away goes into the second word. */
static void add(real *high, real *low, real x)
{
    const real more = *low + x, total = *high + more;
    *low = more - (total - *high);
    *high = total;
}

/* The largest distance from the mean that a sample counts for, after n of them. */
static real loud(const running *so_far, real n)
{
?!bounded|    (void)so_far;
?!bounded|    (void)n;
?!bounded|    return LARGEST;
?bounded|    if (n < 1)
?bounded|        return LARGEST;
?bounded|    const real guess = (1 + so_far->mean * so_far->mean) / n;
?bounded|    const real variance = so_far->variance > 0 ? so_far->variance : 0;
?bounded|    return clip(INPUT_BOUND * MATH(sqrt)(variance + guess), 1, LARGEST);
}

/* The n-th sample, of Welford's recursion. */
static void update(running *so_far, real x, real before_it, real n)
{
    const real most = loud(so_far, before_it);
?windowed|    const real weight = 1 / (n < WINDOW ? n : WINDOW);
?!windowed|    const real weight = 1 / n;
    const real before = clip((x - so_far->mean) - so_far->mean_low, -most, most);
    const real moved = before * weight;
    const real change = (before * (before - moved) - so_far->variance) * weight;
    add(&so_far->mean, &so_far->mean_low, moved);
    add(&so_far->variance, &so_far->variance_low, change);
}

/* The sample standard deviation; 1 until there are two samples. */
static real deviation(real variance, real n)
{
    const real positive = variance > 0 ? variance : 0;
    return MATH(sqrt)((n < 2 ? 1 : positive * n / (n - 1)) + REAL(1e-8));
}

static real bounded(real x)
{
?bounded|    return clip(x, -INPUT_BOUND, INPUT_BOUND);
?!bounded|    return x;
}
"""

_OBSERVE = """
/* Inputs in units of what was seen so far, themselves included; kept in the statistics or not.
   They are unchanged until there are two. */
static void normalise(learner *self, int kept, real *seen)
{
    int32_t high = self->observations_high, low = self->observations_low;
    const real before = as_real(high, low);
    one_more_sample(&high, &low);
    const real n = as_real(high, low);
    for (int i = 0; i < NORMALISED; i++) {
        const real x = seen[i];
        running now = {self->observations_mean[i], self->observations_mean_low[i],
                       self->observations_variance[i], self->observations_variance_low[i]};
        update(&now, x, before, n);
        seen[i] = bounded((x - (n < 2 ? 0 : now.mean)) / deviation(now.variance, n));
        if (kept) {
            self->observations_mean[i] = now.mean;
            self->observations_mean_low[i] = now.mean_low;
            self->observations_variance[i] = now.variance;
            self->observations_variance_low[i] = now.variance_low;
        }
    }
    if (kept) {
        self->observations_high = high;
        self->observations_low = low;
    }
}
"""

_REWARD = """
/* The discounted return of this episode, and its statistics. */
typedef struct {
    real discounted_return;
    running returns;
    int32_t high, low;
} reward_scale;

/* The reward over the deviation of the discounted return, and the scale that has counted it. */
static real scale_reward(const learner *self, real reward, int done, reward_scale *after)
{
    const running before = {self->return_mean, self->return_mean_low, self->return_variance,
                            self->return_variance_low};
    const real samples = as_real(self->return_high, self->return_low);
    const real most = loud(&before, samples), x = clip(reward, -LARGEST, LARGEST);
    const real so_far = DISCOUNT * self->discounted_return + clip(x, -most, most);
    after->returns = before;
    after->high = self->return_high;
    after->low = self->return_low;
    one_more_sample(&after->high, &after->low);
    const real n = as_real(after->high, after->low);
    update(&after->returns, so_far, samples, n);
    after->discounted_return = done ? 0 : so_far;
    return bounded(x / deviation(after->returns.variance, n));
}

static void keep_reward_scale(learner *self, const reward_scale *scale)
{
    self->discounted_return = scale->discounted_return;
    self->return_mean = scale->returns.mean;
    self->return_mean_low = scale->returns.mean_low;
    self->return_variance = scale->returns.variance;
    self->return_variance_low = scale->returns.variance_low;
    self->return_high = scale->high;
    self->return_low = scale->low;
}
"""


def functions(face: Interface) -> str:
    """Those that a learner needs."""
    bound, window = face.limits
    lines = [f"\nenum {{ NORMALISED = {face.normalised} }}; /* inputs that have statistics */\n"]
    if bound is not None:
        lines.append(f"#define INPUT_BOUND {number(bound)} /* the largest normalised value */\n")
    if window is not None:
        lines.append(f"#define WINDOW {number(window)} /* samples that are remembered */\n")
    if face.normalise_observations or face.normalise_rewards:
        words = {"bounded": bound is not None, "windowed": window is not None}
        lines.append("\n" + fill(_RUNNING, word=WORD, **words))
    lines += [_OBSERVE if face.normalise_observations else ""]
    lines += [_REWARD if face.normalise_rewards else ""]
    return "".join(lines)


def fields(face: Interface) -> list[Field]:
    """What is remembered; whether or not it is used, it is part of a learner's state."""
    found = [reals("discounted_return", ".rewards.discounted_return")]
    counts = []
    for name, path, size in (
        ("observations", ".observations", face.normalised),
        ("return", ".rewards.running", None),
    ):
        for of in ("mean", "mean_low", "variance", "variance_low"):
            found.append(reals(f"{name}_{of}", f"{path}.{of}", size))
        counts.append(integer(f"{name}_high", f"{path}.samples.high", least=0))
        counts.append(integer(f"{name}_low", f"{path}.samples.low", least=0, below=WORD))
    return found + counts
