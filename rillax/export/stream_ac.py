"""stream AC(lambda) in C (``rillax.agents.stream_ac``)."""

from typing import Any

from rillax.agents import StreamAC
from rillax.export import agents, normalisation
from rillax.export.agents import AgentText, Interface, interface_of, senses_text
from rillax.export.kernels import GUMBEL, NORMAL
from rillax.export.layout import Field, integer, reals
from rillax.export.network import Body, body_of
from rillax.export.rules import rule_text
from rillax.export.stream import OnStream, updates
from rillax.export.text import fill, number

SOFTMAX = """
/* ---- the policy: a softmax ---- */

/* log pi of every action. */
static void log_policy(const learner *self, real *log_p)
{
    real most = self->out[0], sum = 0;
    for (int a = 1; a < LEARNER_ACTIONS; a++)
        most = self->out[a] > most ? self->out[a] : most;
    for (int a = 0; a < LEARNER_ACTIONS; a++)
        sum += MATH(exp)(self->out[a] - most);
    for (int a = 0; a < LEARNER_ACTIONS; a++)
        log_p[a] = self->out[a] - most - MATH(log)(sum);
}

/* The gradient of log pi(a) + weight H(pi) for the logits; returns the entropy H. */
static real policy_back(const learner *self, real weight, real *g)
{
    real entropy = 0, log_p[LEARNER_ACTIONS];
    log_policy(self, log_p);
    for (int a = 0; a < LEARNER_ACTIONS; a++)
        entropy -= MATH(exp)(log_p[a]) * log_p[a];
    for (int a = 0; a < LEARNER_ACTIONS; a++) {
        const real p = MATH(exp)(log_p[a]);
        g[a] = (a == self->action) - p - weight * p * (log_p[a] + entropy);
    }
    return entropy;
}
"""

_GAUSSIAN = """
?!by_state|/* ---- the policy: a Gaussian whose deviation does not depend on the observation ---- */
?by_state|/* ---- the policy: a Gaussian whose deviation the network puts out ---- */

static const real LOW[LEARNER_ACTIONS] = {$low};
static const real HIGH[LEARNER_ACTIONS] = {$high};

/* The last action as the environment takes it: within its bounds. */
static void taken(const learner *self, real *action)
{
    for (int a = 0; a < LEARNER_ACTIONS; a++) {
        const real at_least = self->action[a] > LOW[a] ? self->action[a] : LOW[a];
        action[a] = at_least < HIGH[a] ? at_least : HIGH[a];
    }
}
?by_state|
?by_state|/* softplus(raw), and a little more: a policy that is certain would not be finite. */
?by_state|static real deviation_of(real raw)
?by_state|{
?by_state|    const real positive = raw > 0 ? raw : 0;
?by_state|    return positive + MATH(log1p)(MATH(exp)(-MATH(fabs)(raw))) + $least;
?by_state|}

static real log_deviation_of(const learner *self, int a)
{
?!by_state|    return self->actor.w.log_deviation[a];
?by_state|    return MATH(log)(deviation_of(self->out[LEARNER_ACTIONS + a]));
}

/* The gradient of log pi(a) + weight H(pi) for the mean and, after it, $for_deviation;
   returns H. */
static real policy_back(const learner *self, real weight, real *g)
{
    real entropy = 0;
    for (int a = 0; a < LEARNER_ACTIONS; a++) {
        const real log_deviation = log_deviation_of(self, a);
        const real standard = (self->action[a] - self->out[a]) * MATH(exp)(-log_deviation);
        g[a] = standard * MATH(exp)(-log_deviation);
        g[LEARNER_ACTIONS + a] = standard * standard - 1 + weight;
?by_state|        const real raw = self->out[LEARNER_ACTIONS + a];
?by_state|        g[LEARNER_ACTIONS + a] /= (1 + MATH(exp)(-raw)) * deviation_of(raw);
        entropy += log_deviation + REAL(1.41893853320467274);
    }
    return entropy;
}
"""

ACTOR_AND_CRITIC = """
/* ---- actor and critic ---- */

?!discrete|enum { POLICY = 2 * LEARNER_ACTIONS }; /* of means, and of deviations */
?discrete|enum { POLICY = LEARNER_ACTIONS };
?by_state|enum { OUTPUTS = POLICY };
?!by_state|enum { OUTPUTS = LEARNER_ACTIONS };

static const real ONE[1] = {1}; /* dv/dv */

/* What the actor puts out, given what the observation has become. */
static void form_policy(learner *self)
{
    dense(OUTPUTS, FEATURES, self->actor.w.out_weight, self->actor.w.out_bias,
          self->actor_pass.$last, self->out);
}

/* v(o), given what the observation has become. */
static real value(const critic_weights *w, const body_pass *p)
{
    return w->out_bias[0] + dot(FEATURES, w->out_weight, p->$last);
}

/* delta$of_v = r + gamma$of_v v(o') - v(o), where v(o') is a peek: memory does not take o' in */
static real error_of_v(const learner *self, real reward, const real *seen, int terminated, real v)
{
    body_pass ahead;
    peek(&self->critic.w.body, &self->critic.memory, &self->critic_pass, seen, &ahead);
    const real v_next = value(&self->critic.w, &ahead);
    return reward + (terminated ? 0 : $DISCOUNT) * v_next - v;
}

/* grad v, on the way back. */
static void gradient_of_v(const learner *self, body_slope *slope)
{
    back(&self->critic.w.body, &self->critic_pass, &self->critic_pass, self->critic.w.out_weight,
         slope);
    past(&self->critic.w.body, &self->critic.memory, &self->critic_pass, slope);
}

/* grad [log pi(a) + tau sign(delta$of_v) H(pi)], for the outputs and on the way back; returns H. */
static real gradient_of_policy(const learner *self, real td_error, real *g, body_slope *slope)
{
    real g_features[FEATURES];
    const real sign = (real)((td_error > 0) - (td_error < 0));
    const real entropy = policy_back(self, TAU * sign, g);
    dense_back(OUTPUTS, FEATURES, self->actor.w.out_weight, g, g_features);
    back(&self->actor.w.body, &self->actor_pass, &self->actor_pass, g_features, slope);
    past(&self->actor.w.body, &self->actor.memory, &self->actor_pass, slope);
    return entropy;
}
"""
"""What an agent with these two networks has of them, beside what their rules do."""

_FUNCTIONS = (
    """
/* ---- stream AC(lambda): act and learn ---- */

?discrete|int learner_act(learner *self, const learner_real *observation)
?!discrete|int learner_act(learner *self, const learner_real *observation, learner_real *action)
{
"""
    + agents.TAKE_IN
    + """\
    advance(&self->actor.w.body, &self->actor.memory, seen, self->fresh, &self->actor_pass);
    advance(&self->critic.w.body, &self->critic.memory, seen, self->fresh, &self->critic_pass);
    form_policy(self);
?discrete|    self->action = categorical(key, LEARNER_ACTIONS, self->out);
?!discrete|    for (int a = 0; a < LEARNER_ACTIONS; a++)
?!discrete|        self->action[a] =
?!discrete|            self->out[a] + MATH(exp)(log_deviation_of(self, a)) * normal(key, a);
"""
    + agents.ACTED
    + """\
?discrete|    return self->action;
?!discrete|    taken(self, action);
?!discrete|    return LEARNER_OK;
}

$learn
int learner_learn(learner *self, learner_real reward, const learner_real *next, int terminated,
                  int truncated)
{
    const int done = terminated || truncated;
?added|    real added[LEARNER_ADDED];
?scaled|    reward_scale scale;
    real seen[LEARNER_INPUTS], g[POLICY];
    body_slope critic_slope, actor_slope;
"""
    + agents.CHECKS
    + """\
    if (!self->ready) {
        recall(&self->actor.w.body, &self->actor.memory, self->observation, &self->actor_pass);
        recall(&self->critic.w.body, &self->critic.memory, self->observation, &self->critic_pass);
        form_policy(self);
    }
"""
    + agents.OUTCOME
    + """
    const real v = value(&self->critic.w, &self->critic_pass);
    step by = {0};
    by.td_error = error_of_v(self, reward, seen, terminated, v);
    gradient_of_v(self, &critic_slope);
    self->entropy = gradient_of_policy(self, by.td_error, g, &actor_slope);

    self->value = v;
    self->fresh = done;
    self->acted = 0;
    self->ready = 0;
?goes_on|    self->refused = 0;
    const real numbers[3] = {by.td_error, v, self->entropy};
    const real vectors = size(&critic_slope) + size(&actor_slope) + size_of(1, ONE);
    if (!(size_of(3, numbers) + size_of(POLICY, g) + vectors < REASON)) { /* or if it is NaN */
        self->td_error = NAN; /* no step, and all else as in learner_skip */
?goes_on|        by.td_error = NAN;
?critic_goes_on|        learn_critic(self, by, ONE, &critic_slope);
?actor_goes_on|        learn_actor(self, by, g, &actor_slope);
        $refused_critic
        $refused_actor
"""
    + agents.NOT_KEPT
    + """\
    }
    learn_critic(self, by, ONE, &critic_slope);
    learn_actor(self, by, g, &actor_slope);

    self->td_error = by.td_error;
    self->actor_cut = done;
    self->critic_cut = done;
    self->step = one_more(self->step);
"""
    + agents.KEPT
    + """\
    return LEARNER_OK;
}
"""
)


def stream_ac(agent: StreamAC, observation_space: Any, action_space: Any) -> AgentText:
    """The agent in C; a ``ValueError`` names what cannot be exported."""
    face = interface_of(agent, observation_space, action_space)
    body = body_of(agent.network, face.inputs, face.observations)
    decay = agent.discount * agent.trace_decay
    actor = OnStream(
        "actor",
        "actor",
        "[log pi(a) + tau sign(delta) H(pi)]",
        body,
        outputs=2 * face.actions if agent.state_deviation else face.actions,
        OUTPUTS="OUTPUTS",
        rule=rule_text(agent.actor, "actor", decay),
        below=".network",
        deviation=0 if face.discrete or agent.state_deviation else face.actions,
    )
    rule = rule_text(agent.critic, "critic", decay)
    critic = OnStream("critic", "critic", "v", body, 1, "1", rule)
    networks = [actor, critic]
    refuses = any(network.rule.goes_on for network in networks)
    words: dict[str, Any] = {
        "last": body.last,
        "of_v": "",
        "DISCOUNT": "DISCOUNT",
        "discrete": face.discrete,
        "by_state": agent.state_deviation,
        "least": number(agent.least_deviation),
        "for_deviation": "for what the deviation is made of"
        if agent.state_deviation
        else "for its logarithm",
        "scaled": face.normalise_rewards,
        "added": face.added,
        "low": ", ".join(_bound(b) for b in face.low),
        "high": ", ".join(_bound(b) for b in face.high),
        "learn": "\n".join(network.learn() for network in networks),
        "goes_on": refuses,
        "actor_goes_on": actor.rule.goes_on,
        "critic_goes_on": critic.rule.goes_on,
        "refused_actor": actor.cut_where_refused("done"),
        "refused_critic": critic.cut_where_refused("done"),
    }
    return AgentText(
        title="stream AC(lambda)",
        interface=face,
        body=body,
        constants=_constants(agent),
        structs="\n".join(network.structs() for network in networks),
        members="    learner_actor actor;\n    learner_critic critic;\n",
        fields=fields_of(face, networks),
        cuts=("actor_cut", "critic_cut"),
        scratch=(
            actor.scratch()
            + critic.scratch()
            + f"    learner_real out[{actor.outputs}]; /* of the actor */\n"
            + f"    learner_real td_error, value, entropy{', refused' if refuses else ''};\n"
        ),
        functions=_functions(face, body, networks, words),
        metrics=("td_error", "value", "entropy", *(("refused",) if refuses else ())),
        peeks=False,
    )


def _constants(agent: StreamAC) -> str:
    decay = agent.discount * agent.trace_decay
    return (
        f"#define DISCOUNT {number(agent.discount)} /* gamma */\n"
        f"#define TRACE_DECAY {number(decay)} /* gamma lambda */\n"
        f"#define TAU {number(agent.entropy)} /* the weight of the entropy */\n"
    )


def _functions(face: Interface, body: Body, networks: list[OnStream], words: dict[str, Any]) -> str:
    parts = [
        GUMBEL if face.discrete else NORMAL,
        updates(body, networks),
        normalisation.functions(face),
        fill(SOFTMAX if face.discrete else _GAUSSIAN, **words),
        senses_text(face),
        fill(ACTOR_AND_CRITIC, **words),
        fill(_FUNCTIONS, **words),
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts if part)


def fields_of(face: Interface, networks: list[OnStream]) -> tuple[Field, ...]:
    """What is saved of networks, inputs and the last action."""
    inside, beside = zip(*(network.fields() for network in networks), strict=True)
    found: list[Field] = [field for fields in inside for field in fields]
    found.append(reals("observation", ".observation", face.inputs))
    if face.added:
        found.append(reals("added", ".added", face.added))
    if face.discrete:
        found.append(integer("action", ".action", least=0, below=face.actions))
    else:
        found.append(reals("action", ".action", face.actions))
    found += normalisation.fields(face)
    return (*found, *(field for fields in beside for field in fields))


def _bound(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return number(value)
