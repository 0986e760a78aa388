"""stream Q(lambda) in C (``rillax.agents.stream_q``)."""

from typing import Any

from rillax.agents import StreamQ
from rillax.export import agents, exploration, normalisation
from rillax.export.agents import AgentText, Interface, interface_of, senses_text
from rillax.export.layout import Field, integer, reals
from rillax.export.network import body_of
from rillax.export.rules import rule_text
from rillax.export.stream import OnStream, updates
from rillax.export.text import fill, number

ACTION_VALUES = (
    """
/* ---- the values of actions ---- */

/* q(o, .), given what the observation has become. */
static void value_actions(learner *self)
{
    dense(LEARNER_ACTIONS, $FEATURES_OF_Q, self->q.w.out_weight, self->q.w.out_bias,
          self->q_pass.$last_of_q, self->values);
}

static real error_of_q(const learner *self, real reward, const real *seen, int terminated)
{
    real values_next[LEARNER_ACTIONS];
    body_pass ahead;
"""
    + exploration.NEXT_VALUES
    + """\
    const real q = self->values[self->action], q_next = values_next[largest(values_next)];
    return reward + (terminated ? 0 : DISCOUNT) * q_next - q;
}

/* grad q: for the outputs, and on the way back. */
static void gradient_of_q(const learner *self, real *g, body_slope *slope)
{
    for (int a = 0; a < LEARNER_ACTIONS; a++)
        g[a] = a == self->action;
    back(&self->q.w.body, &self->q_pass, &self->q_pass,
         self->q.w.out_weight + self->action * $FEATURES_OF_Q, slope);
    past(&self->q.w.body, &self->q.memory, &self->q_pass, slope);
}
"""
)
"""What an agent with the network ``q`` has of it, beside what its rule does."""

_FUNCTIONS = (
    """
/* ---- stream Q(lambda): act and learn ---- */

int learner_act(learner *self, const learner_real *observation)
{
"""
    + agents.TAKE_IN
    + """\
    advance(&self->q.w.body, &self->q.memory, seen, self->fresh, &self->q_pass);
    value_actions(self);
    self->greedy = epsilon_greedy(self, key, &self->action);
"""
    + agents.ACTED
    + """\
    return self->action;
}

$learn
int learner_learn(learner *self, learner_real reward, const learner_real *next, int terminated,
                  int truncated)
{
    const int done = terminated || truncated, reset = done || !self->greedy;
    real seen[LEARNER_INPUTS], g[LEARNER_ACTIONS];
?added|    real added[LEARNER_ADDED];
?scaled|    reward_scale scale;
    body_slope slope;
"""
    + agents.CHECKS
    + """\
    if (!self->ready) {
        recall(&self->q.w.body, &self->q.memory, self->observation, &self->q_pass);
        value_actions(self);
    }
"""
    + agents.OUTCOME
    + """
    step by = {0};
    by.td_error = error_of_q(self, reward, seen, terminated);
    gradient_of_q(self, g, &slope);

    self->value = self->values[self->action];
    self->epsilon = epsilon(self, one_more(self->step));
    self->fresh = done;
    self->acted = 0;
    self->ready = 0;
?goes_on|    self->refused = 0;
    const real numbers[2] = {by.td_error, self->value};
    if (!(size_of(2, numbers) + size_of(LEARNER_ACTIONS, g) + size(&slope) < REASON)) { /* or NaN */
        self->td_error = NAN; /* no step, and all else as in learner_skip */
?goes_on|        by.td_error = NAN;
?goes_on|        learn_q(self, by, g, &slope);
        $refused
"""
    + agents.NOT_KEPT
    + """\
    }
    learn_q(self, by, g, &slope);

    self->td_error = by.td_error;
    self->cut = reset;
    self->step = one_more(self->step);
"""
    + agents.KEPT
    + """\
    return LEARNER_OK;
}
"""
)


def stream_q(agent: StreamQ, observation_space: Any, action_space: Any) -> AgentText:
    """The agent in C; a ``ValueError`` names what cannot be exported."""
    if agent.temperature > 0:
        raise ValueError(
            f"StreamQ(temperature={agent.temperature}) has no form in C; temperature=0 has one"
        )
    face = interface_of(agent, observation_space, action_space)
    body = body_of(agent.network, face.inputs, face.observations)
    decay = agent.discount * agent.trace_decay
    rule = rule_text(agent.q, "q", decay)
    outputs = face.actions, "LEARNER_ACTIONS"
    q = OnStream("q", "network", "q(o, a)", body, *outputs, rule, alone=True)
    words = {
        "last": body.last,
        "last_of_q": body.last,
        "FEATURES_OF_Q": "FEATURES",
        "of_q": "",
        "scaled": face.normalise_rewards,
        "added": face.added,
        "learn": q.learn(),
        "goes_on": rule.goes_on,
        "refused": q.cut_where_refused("reset"),
    }
    parts = [
        updates(body, [q]),
        normalisation.functions(face),
        senses_text(face),
        exploration.functions(agent),
        fill(ACTION_VALUES, **words),
        fill(_FUNCTIONS, **words),
    ]
    constants = (
        f"#define DISCOUNT {number(agent.discount)} /* gamma */\n"
        f"#define TRACE_DECAY {number(decay)} /* gamma lambda */\n"
    )
    return AgentText(
        title="stream Q(lambda)",
        interface=face,
        body=body,
        constants=constants + exploration.constants(agent),
        structs=q.structs(),
        members="    learner_q q;\n",
        fields=_fields(face, q),
        cuts=("cut",),
        scratch=(
            q.scratch()
            + "    learner_real values[LEARNER_ACTIONS]; /* q(o, .) */\n"
            + f"    learner_real td_error, value, epsilon{', refused' if rule.goes_on else ''};\n"
        ),
        functions="\n".join(part.strip("\n") + "\n" for part in parts if part),
        metrics=("td_error", "value", "epsilon", *(("refused",) if rule.goes_on else ())),
        peeks=False,
    )


def _fields(face: Interface, q: OnStream) -> tuple[Field, ...]:
    inside, beside = q.fields()
    found = [*inside, reals("observation", ".observation", face.inputs)]
    if face.added:
        found.append(reals("added", ".added", face.added))
    found += normalisation.fields(face)
    found += [
        integer("action", ".action", least=0, below=face.actions),
        integer("greedy", ".greedy", least=0, below=2),
    ]
    return (*found, *beside)
