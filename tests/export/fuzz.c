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

/* CRC-32, one bit at a time. */
static unsigned long crc(const unsigned char *from, size_t length)
{
    unsigned long sum = 0xFFFFFFFFul;
    for (size_t i = 0; i < length; i++) {
        sum ^= from[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum & 1 ? (sum >> 1) ^ 0xEDB88320ul : sum >> 1;
    }
    return sum ^ 0xFFFFFFFFul;
}

/* Bytes that arrived whole, but hold what no learner could have saved. */
static void seal(unsigned char *to, size_t length)
{
    const unsigned long sum = crc(to, length - 4);
    for (int i = 0; i < 4; i++)
        to[length - 4 + (size_t)i] = (unsigned char)(sum >> (8 * i));
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
        int code = learner_learn(&self, (learner_real)draw(3), observation, draw(20) == 0,
                                 draw(20) == 0);
        const int loud = round >= 200; /* then a learner without normalisation may run away */
        expect(code == LEARNER_OK || (loud && code == LEARNER_REFUSED), "learn");
        fill(observation);
        for (int i = 0; i < LEARNER_OBSERVATIONS; i++)
            observation[i] *= !loud || draw(30) ? 1 : (learner_real)1e37;
        expect(act(observation) >= 0, "act on a loud reading");
        if (draw(5) == 0)
            expect(act(observation) >= 0, "act twice");
        code = learner_learn(&self, !loud || draw(30) ? 1 : (learner_real)1e38, observation,
                             (int)draw(9) - 4, (int)draw(3));
        expect(code == LEARNER_OK || (loud && code == LEARNER_REFUSED), "learn when it is loud");
        if (draw(10) == 0)
            expect(learner_skip(&self, (int)draw(2)) == LEARNER_OK, "skip");

        expect(learner_save(&self, bytes, length) == LEARNER_OK, "save");
        expect(learner_save(&self, other, length - 1) == LEARNER_TOO_SHORT, "save too short");
        before = self;
        expect(learner_load(&self, bytes, draw((unsigned)length)) == LEARNER_TOO_SHORT, "cut off");
        memcpy(other, bytes, length);
        other[draw((unsigned)length)] ^= (unsigned char)(1 + draw(255));
        expect(learner_load(&self, other, length) < 0, "load took in a changed byte");
        memcpy(other, bytes, length);
        memset(other + 16 + draw(LEARNER_REALS) * sizeof(learner_real), 0xFF, sizeof(learner_real));
        seal(other, length);
        expect(learner_load(&self, other, length) == LEARNER_NOT_FINITE, "load took in NaN");
        memcpy(other, bytes, length);
        other[length - 4 - 8 - 4 - 1] = 0xFF; /* the step, which comes before the key */
        seal(other, length);
        expect(learner_load(&self, other, length) == LEARNER_DAMAGED, "a negative step");
        memcpy(other, bytes, length);
        other[draw(16)] ^= (unsigned char)(1 + draw(255));
        seal(other, length);
        expect(learner_load(&self, other, length) == LEARNER_FOREIGN, "another header");
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
