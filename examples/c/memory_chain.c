/* MemoryChain learned from nothing, in C alone: a cue at the first step, silence, one question.
 *
 *   make && ./memory_chain [seed [frames [length]]]
 *
 * prints the mean return of every tenth of the frames: 0 is guessing, 1 is a perfect memory.
 */
#include <stdio.h>
#include <stdlib.h>

#include "learner.h"

static unsigned long long random_state;

/* xorshift: the world's own random numbers. */
static int random_bit(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int)(random_state >> 40 & 1);
}

/* What there is to see at a time: how much of it is left, the query (always 0), the cue. */
static void observe(int time, int length, int cue, learner_real observation[3])
{
    observation[0] = 1 - (learner_real)time / (learner_real)length;
    observation[1] = 0;
    observation[2] = time == 0 ? (learner_real)(2 * cue - 1) : 0;
}

int main(int argc, char **argv)
{
    static learner self; /* all that the learner is */
    const int seed = argc > 1 ? atoi(argv[1]) : 0;
    const long frames = argc > 2 ? atol(argv[2]) : 60000;
    const int length = argc > 3 ? atoi(argv[3]) : 8;
    learner_real observation[3];
    double returns = 0;
    int time = 0, cue, episodes = 0;

    learner_start(&self);
    self.key[1] ^= (uint32_t)seed;
    random_state = 88172645463325252ULL + (unsigned long long)seed;
    cue = random_bit();
    observe(0, length, cue, observation);
    for (long frame = 1; frame <= frames; frame++) {
        const int action = learner_act(&self, observation);
        const int asked = time >= length;
        const learner_real reward = !asked ? 0 : action == cue ? 1 : -1;
        observe(time, length, cue, observation); /* as in bsuite, what was there before the step */
        learner_learn(&self, reward, observation, asked, 0);
        returns += reward;
        time++;
        if (asked) {
            episodes++;
            time = 0;
            cue = random_bit();
            observe(0, length, cue, observation);
        }
        if (frame % (frames / 10) == 0) {
            printf("frame %6ld  mean return %5.2f\n", frame, returns / episodes);
            returns = 0;
            episodes = 0;
        }
    }
    return 0;
}
