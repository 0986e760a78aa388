/* Feeds a learner with what it must refuse, and checks that it is as it was before. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learner.h"

static learner self, before;
static unsigned char *bytes, *other;
static unsigned long long state = 88172645463325252ULL;

static unsigned draw(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 20) % below;
}

static void expect(int right, const char *what)
{
    if (!right) {
        printf("wrong: %s\n", what);
        exit(1);
    }
}

static int act(const learner_real *observation)
{
#ifdef CONTINUOUS
    learner_real action[LEARNER_ACTIONS];
    return learner_act(&self, observation, action);
#else
    return learner_act(&self, observation);
#endif
}

static void fill(learner_real *observation)
{
    for (int i = 0; i < LEARNER_OBSERVATIONS; i++)
        observation[i] = (learner_real)draw(2000) / 100 - 10;
}

int main(void)
{
    const learner_real bad[] = {NAN, INFINITY, -INFINITY};
    learner_real observation[LEARNER_OBSERVATIONS];
    const size_t length = learner_bytes();
    bytes = malloc(length);
    other = malloc(length);
    learner_start(&self);
    fill(observation);
    expect(learner_learn(&self, 0, observation, 0, 0) == LEARNER_NO_ACTION, "learn before act");
    for (int round = 0; round < 300; round++) {
        fill(observation);
        before = self;
        observation[draw(LEARNER_OBSERVATIONS)] = bad[draw(3)];
        expect(act(observation) == LEARNER_NOT_FINITE, "act took in what is not finite");
        expect(memcmp(&before, &self, sizeof self) == 0, "act changed something");

        fill(observation);
        expect(act(observation) >= 0, "act");
        before = self;
        expect(learner_learn(&self, bad[draw(3)], observation, 0, 0) == LEARNER_NOT_FINITE, "reward");
        observation[draw(LEARNER_OBSERVATIONS)] = bad[draw(3)];
        expect(learner_learn(&self, 0, observation, 1, 0) == LEARNER_NOT_FINITE, "next");
        expect(memcmp(&before, &self, sizeof self) == 0, "learn changed something");

        fill(observation);
        expect(learner_learn(&self, (learner_real)draw(3), observation, draw(20) == 0, draw(20) == 0)
                   == LEARNER_OK, "learn");
        if (draw(10) == 0)
            expect(learner_skip(&self, (int)draw(2)) == LEARNER_OK, "skip");

        expect(learner_save(&self, bytes, length) == LEARNER_OK, "save");
        expect(learner_save(&self, other, length - 1) == LEARNER_TOO_SHORT, "save too short");
        before = self;
        expect(learner_load(&self, bytes, draw((unsigned)length)) == LEARNER_TOO_SHORT, "cut off");
        memcpy(other, bytes, length);
        other[draw((unsigned)length)] ^= (unsigned char)(1 + draw(255));
        expect(learner_load(&self, other, length) < 0, "load took in a changed byte");
        for (size_t i = 0; i < length; i++)
            other[i] = (unsigned char)draw(256);
        expect(learner_load(&self, other, length) < 0, "load took in noise");
        expect(memcmp(&before, &self, sizeof self) == 0, "load changed something");
        expect(learner_load(&self, bytes, length) == LEARNER_OK, "load");
        expect(learner_save(&self, other, length) == LEARNER_OK, "save again");
        expect(memcmp(bytes, other, length) == 0, "what was loaded is not what was saved");
    }
    free(bytes);
    free(other);
    puts("ok");
    return 0;
}
