"""The C of epsilon-greedy actions (``rillax.agents.exploration``)."""

from typing import Any

from rillax.export.text import fill, number

_FUNCTIONS = """
/* ---- epsilon-greedy actions ---- */

/* The share of random actions, which falls in a straight line. */
static real epsilon(int32_t step)
{
?constant|    (void)step;
?constant|    return EPSILON_START;
?!constant|    const int32_t passed = step < EPSILON_FRAMES ? step : EPSILON_FRAMES;
?!constant|    const real left = 1 - (real)passed / (real)EPSILON_FRAMES;
?!constant|    return (EPSILON_START - EPSILON_END) * left + EPSILON_END;
}

static int largest(const real *values)
{
    int best = 0;
    for (int a = 1; a < LEARNER_ACTIONS; a++)
        best = values[a] > values[best] ? a : best;
    return best;
}

/* An action, and whether none has a larger value. */
static int epsilon_greedy(const learner *self, const uint32_t key[2], int32_t *action)
{
    const int best = largest(self->values);
    const int random = (int)(uniform(key, 1) * (real)LEARNER_ACTIONS);
    *action = uniform(key, 0) < epsilon(self->step) ? random : best;
    return self->values[*action] >= self->values[best];
}
"""


NEXT_VALUES = """
    /* delta$of_q = r + gamma$of_q max q(o', a') - q(o, a), where q(o', .) is a peek */
    peek(&self->q.w.body, &self->q.memory, &self->q_pass, seen, &ahead);
    dense(LEARNER_ACTIONS, FEATURES, self->q.w.out_weight, self->q.w.out_bias, ahead.$last,
          values_next);
"""
"""In every ``learner_learn`` of an agent with action values."""


def functions(agent: Any) -> str:
    return fill(_FUNCTIONS, constant=agent.epsilon_frames <= 0)


def constants(agent: Any) -> str:
    lines = [f"#define EPSILON_START {number(agent.epsilon_start)}"]
    if agent.epsilon_frames > 0:
        lines += [
            f"#define EPSILON_END {number(agent.epsilon_end)}",
            f"#define EPSILON_FRAMES {agent.epsilon_frames}",
        ]
    return "\n".join(lines) + "\n"
