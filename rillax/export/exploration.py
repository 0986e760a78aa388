"""The C of epsilon-greedy actions (``rillax.agents.exploration``)."""

from typing import Any

from rillax.export.text import fill, number

_FUNCTIONS = """
/* ---- epsilon-greedy actions ---- */

?!surprise|/* The share of random actions, which falls in a straight line. */
?surprise|/* The share of random actions: it falls in a straight line, then with the errors. */
static real epsilon(const learner *self, int32_t step)
{
?constant|    (void)self, (void)step;
?constant|    return EPSILON_START;
?unmoved|    (void)self;
?!constant|    const int32_t passed = step < EPSILON_FRAMES ? step : EPSILON_FRAMES;
?!constant|    const real left = 1 - (real)passed / (real)EPSILON_FRAMES;
?moved|    const real end = EPSILON_END * self->surprise;
?moved|    return (EPSILON_START - end) * left + end;
?unmoved|    return (EPSILON_START - EPSILON_END) * left + EPSILON_END;
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
    *action = uniform(key, 0) < epsilon(self, self->step) ? random : best;
    return self->values[*action] >= self->values[best];
}
"""


NEXT_VALUES = """
    /* delta$of_q = r + gamma$of_q max q(o', a') - q(o, a), where q(o', .) is a peek */
    peek(&self->q.w.body, &self->q.memory, &self->q_pass, seen, &ahead);
    dense(LEARNER_ACTIONS, $FEATURES_OF_Q, self->q.w.out_weight, self->q.w.out_bias,
          ahead.$last_of_q, values_next);
"""
"""In every ``learner_learn`` of an agent with action values."""


def functions(agent: Any, surprise: bool = False) -> str:
    """With ``surprise`` what it falls to is a share of ``epsilon_end``: ``self->surprise``."""
    constant = agent.epsilon_frames <= 0
    moved, unmoved = surprise and not constant, not surprise and not constant
    return fill(_FUNCTIONS, constant=constant, surprise=surprise, moved=moved, unmoved=unmoved)


def constants(agent: Any) -> str:
    lines = [f"#define EPSILON_START {number(agent.epsilon_start)}"]
    if agent.epsilon_frames > 0:
        lines += [
            f"#define EPSILON_END {number(agent.epsilon_end)}",
            f"#define EPSILON_FRAMES {agent.epsilon_frames}",
        ]
    return "\n".join(lines) + "\n"
