/* A learner in a world of its own: prints the mean return of the last tenth of the frames.
 *
 *   worlds chain|pole SEED FRAMES
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learner.h"

static unsigned long long state;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

/* ---- MemoryChain 8 ---- */

static int clock_, cue;

static void chain_see(learner_real *o)
{
    o[0] = 1 - (learner_real)clock_ / 8;
    o[1] = 0;
    o[2] = clock_ == 0 ? (learner_real)(2 * cue - 1) : 0;
}

static void chain_reset(learner_real *o)
{
    clock_ = 0;
    cue = uniform() < 0.5;
    chain_see(o);
}

static double chain_step(int action, learner_real *o, int *terminated, int *truncated)
{
    chain_see(o);
    *terminated = clock_ >= 8;
    *truncated = 0;
    clock_++;
    return !*terminated ? 0 : action == cue ? 1 : -1;
}

/* ---- CartPole that shows positions alone ---- */

static double x, v, angle, spin;

static void pole_see(learner_real *o)
{
    o[0] = (learner_real)x;
    o[1] = (learner_real)angle;
}

static void pole_reset(learner_real *o)
{
    double *all[4] = {&x, &v, &angle, &spin};
    for (int i = 0; i < 4; i++)
        *all[i] = 0.1 * uniform() - 0.05;
    clock_ = 0;
    pole_see(o);
}

static double pole_step(int action, learner_real *o, int *terminated, int *truncated)
{
    const double sine = sin(angle), cosine = cos(angle);
    const double push = ((action == 1 ? 10.0 : -10.0) + 0.05 * spin * spin * sine) / 1.1;
    const double lever = 0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1);
    const double pole = (9.8 * sine - cosine * push) / lever;
    x += 0.02 * v;
    v += 0.02 * (push - 0.05 * pole * cosine / 1.1);
    angle += 0.02 * spin;
    spin += 0.02 * pole;
    clock_++;
    *terminated = fabs(x) > 2.4 || fabs(angle) > 12 * 2 * 3.14159265358979 / 360;
    *truncated = clock_ >= 200;
    pole_see(o);
    return 1.0 / 200;
}

int main(int argc, char **argv)
{
    static learner self;
    const int chain = argc > 1 && strcmp(argv[1], "chain") == 0;
    const long frames = argc > 3 ? atol(argv[3]) : 60000;
    double total = 0, sum = 0;
    int ended = 0, terminated, truncated;
    learner_real o[LEARNER_OBSERVATIONS + 1];
    state = 88172645463325252ULL + 7919ULL * (unsigned long long)(argc > 2 ? atoi(argv[2]) : 0);
    learner_start(&self);
    (chain ? chain_reset : pole_reset)(o);
    for (long frame = 0; frame < frames; frame++) {
        const int action = learner_act(&self, o);
        const double reward = (chain ? chain_step : pole_step)(action, o, &terminated, &truncated);
        if (learner_learn(&self, (learner_real)reward, o, terminated, truncated) != LEARNER_OK)
            return 1;
        total += reward;
        if (terminated || truncated) {
            if (frame >= frames - frames / 10) {
                sum += total;
                ended++;
            }
            total = 0;
            (chain ? chain_reset : pole_reset)(o);
        }
    }
    printf("%g\n", sum / ended);
    return 0;
}
