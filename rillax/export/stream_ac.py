"""stream AC(lambda) in C (``rillax.agents.stream_ac``)."""

from typing import Any

from rillax.agents import StreamAC
from rillax.export import normalisation
from rillax.export.agents import AgentText, Interface, interface_of, senses_text
from rillax.export.kernels import GUMBEL, NORMAL
from rillax.export.layout import Field, integer, reals
from rillax.export.network import Body, body_of, body_rows
from rillax.export.rules import STEP, RuleText, rule_text
from rillax.export.text import fill, number

_STRUCTS = """
/* What the actor learns. */
typedef struct {
    body_weights body;
    learner_real out_weight[$actions * $features], out_bias[$actions];
?!discrete|    learner_real log_deviation[$actions];
} actor_weights;

/* What the critic learns. */
typedef struct {
    body_weights body;
    learner_real out_weight[$features], out_bias[1];
} critic_weights;

/* A network on the stream: its parameters, their eligibility traces, its memory. */
typedef struct {
    actor_weights w, z;
?actor_adaptive|    actor_weights v; /* the second moment of delta z */
    body_memory memory;
} learner_actor;

typedef struct {
    critic_weights w, z;
?critic_adaptive|    critic_weights v; /* the second moment of delta z */
    body_memory memory;
} learner_critic;
"""

_DISCRETE = """
/* ---- the policy: a softmax ---- */

/* The gradient of log pi(a) + weight H(pi) for the logits; returns the entropy H. */
static real policy_back(const learner *self, real weight, real *g)
{
    real most = self->out[0], sum = 0, entropy = 0, log_p[LEARNER_ACTIONS];
    for (int a = 1; a < LEARNER_ACTIONS; a++)
        most = self->out[a] > most ? self->out[a] : most;
    for (int a = 0; a < LEARNER_ACTIONS; a++)
        sum += MATH(exp)(self->out[a] - most);
    for (int a = 0; a < LEARNER_ACTIONS; a++) {
        log_p[a] = self->out[a] - most - MATH(log)(sum);
        entropy -= MATH(exp)(log_p[a]) * log_p[a];
    }
    for (int a = 0; a < LEARNER_ACTIONS; a++) {
        const real p = MATH(exp)(log_p[a]);
        g[a] = (a == self->action) - p - weight * p * (log_p[a] + entropy);
    }
    return entropy;
}
"""

_GAUSSIAN = """
/* ---- the policy: a Gaussian whose deviation does not depend on the observation ---- */

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

/* The gradient of log pi(a) + weight H(pi) for the mean and for log_deviation; returns H. */
static real policy_back(const learner *self, real weight, real *g, real *g_deviation)
{
    real entropy = 0;
    for (int a = 0; a < LEARNER_ACTIONS; a++) {
        const real log_deviation = self->actor.w.log_deviation[a];
        const real standard = (self->action[a] - self->out[a]) * MATH(exp)(-log_deviation);
        g[a] = standard * MATH(exp)(-log_deviation);
        g_deviation[a] = standard * standard - 1 + weight;
        entropy += log_deviation + REAL(1.41893853320467274);
    }
    return entropy;
}
"""

_FUNCTIONS = """
/* ---- stream AC(lambda): act and learn ---- */

enum { ACTOR_SIZE = sizeof(actor_weights) / sizeof(real) };
enum { CRITIC_SIZE = sizeof(critic_weights) / sizeof(real) };
?discrete|enum { POLICY = LEARNER_ACTIONS };
?!discrete|enum { POLICY = 2 * LEARNER_ACTIONS }; /* of means, and of log_deviation */

?discrete|int learner_act(learner *self, const learner_real *observation)
?!discrete|int learner_act(learner *self, const learner_real *observation, learner_real *action)
{
    uint32_t key[2];
    real seen[LEARNER_INPUTS];
    if (!all_finite(LEARNER_OBSERVATIONS, observation))
        return LEARNER_NOT_FINITE;
    split(self->key, key);
?added|    observe(self, observation, self->added, 1, seen);
?!added|    observe(self, observation, 1, seen);
    copy(LEARNER_INPUTS, self->observation, seen);
    advance(&self->actor.w.body, &self->actor.memory, seen, self->fresh, &self->actor_pass);
    advance(&self->critic.w.body, &self->critic.memory, seen, self->fresh, &self->critic_pass);
    dense(LEARNER_ACTIONS, FEATURES, self->actor.w.out_weight, self->actor.w.out_bias,
          self->actor_pass.$last, self->out);
?discrete|    self->action = categorical(key, LEARNER_ACTIONS, self->out);
?!discrete|    for (int a = 0; a < LEARNER_ACTIONS; a++)
?!discrete|        self->action[a] =
?!discrete|            self->out[a] + MATH(exp)(self->actor.w.log_deviation[a]) * normal(key, a);
    self->fresh = 0;
    self->acted = 1;
    self->ready = 1;
?discrete|    return self->action;
?!discrete|    taken(self, action);
?!discrete|    return LEARNER_OK;
}

static const real ONE[1] = {1}; /* dv/dv */

/* v(o), given what the observation has become. */
static real value(const critic_weights *w, const body_pass *p)
{
    return w->out_bias[0] + dot(FEATURES, w->out_weight, p->$last);
}

/* z_w <- gamma lambda z_w + grad v, and a step of the critic in the direction delta z_w. */
static void learn_critic(learner *self, step by, const body_slope *slope)
{
?critic_normed|    real norm[LANES] = {0};
$critic_before
    body_$critic_row(&by, $critic_bodies, &self->critic.memory, &self->critic_pass,
               slope$critic_norm);
    dense_$critic_row(&by, 1, FEATURES, $critic_outs,
                        self->critic_pass.$last, ONE$critic_norm);
$critic_after
}

/* The same for the actor, with grad [log pi(a) + tau sign(delta) H(pi)], of its output g. */
static void learn_actor(learner *self, step by, const real *g, const body_slope *slope)
{
?actor_normed|    real norm[LANES] = {0};
$actor_before
    body_$actor_row(&by, $actor_bodies, &self->actor.memory, &self->actor_pass,
               slope$actor_norm);
    dense_$actor_row(&by, LEARNER_ACTIONS, FEATURES, $actor_outs,
                        self->actor_pass.$last, g$actor_norm);
?!discrete|    ${actor_row}_row(&by, LEARNER_ACTIONS, $actor_deviations,
?!discrete|                    g + LEARNER_ACTIONS$actor_norm);
$actor_after
}

int learner_learn(learner *self, learner_real reward, const learner_real *next, int terminated,
                  int truncated)
{
    const int done = terminated || truncated;
?added|    real added[LEARNER_ADDED];
?scaled|    reward_scale scale;
    real seen[LEARNER_INPUTS], g[POLICY], g_features[FEATURES];
    body_pass ahead;
    body_slope critic_slope, actor_slope;
    if (!self->acted)
        return LEARNER_NO_ACTION;
    if (!isfinite(reward) || !all_finite(LEARNER_OBSERVATIONS, next))
        return LEARNER_NOT_FINITE;
    if (!self->ready) {
        recall(&self->actor.w.body, &self->actor.memory, self->observation, &self->actor_pass);
        recall(&self->critic.w.body, &self->critic.memory, self->observation, &self->critic_pass);
        dense(LEARNER_ACTIONS, FEATURES, self->actor.w.out_weight, self->actor.w.out_bias,
              self->actor_pass.$last, self->out);
    }
?scaled|    reward = scale_reward(self, reward, done, &scale);
?!scaled|    reward = clip(reward, -LARGEST, LARGEST);
?added|    last_step(self, reward, added);
?added|    observe(self, next, added, 0, seen);
?!added|    observe(self, next, 0, seen);

    /* delta = r + gamma v(o') - v(o), where v(o') is a peek: memory does not take o' in */
    peek(&self->critic.w.body, &self->critic.memory, &self->critic_pass, seen, &ahead);
    const real v = value(&self->critic.w, &self->critic_pass);
    const real v_next = value(&self->critic.w, &ahead);
    step by = {0};
    by.td_error = reward + (terminated ? 0 : DISCOUNT) * v_next - v;
    by.decay = TRACE_DECAY;
    by.cut = self->cut;

    /* grad v, and grad [log pi(a) + tau sign(delta) H(pi)] */
    const real sign = (real)((by.td_error > 0) - (by.td_error < 0));
    back(&self->critic.w.body, &self->critic_pass, &self->critic_pass, self->critic.w.out_weight,
         &critic_slope);
?discrete|    self->entropy = policy_back(self, TAU * sign, g);
?!discrete|    self->entropy = policy_back(self, TAU * sign, g, g + LEARNER_ACTIONS);
    dense_back(LEARNER_ACTIONS, FEATURES, self->actor.w.out_weight, g, g_features);
    back(&self->actor.w.body, &self->actor_pass, &self->actor_pass, g_features, &actor_slope);
    past(&self->critic.memory, &critic_slope);
    past(&self->actor.memory, &actor_slope);

    self->value = v;
    self->fresh = done;
    self->acted = 0;
    self->ready = 0;
    const real numbers[3] = {by.td_error, v, self->entropy};
    const real vectors = size(&critic_slope) + size(&actor_slope) + size_of(1, ONE);
    if (!(size_of(3, numbers) + size_of(POLICY, g) + vectors < REASON)) { /* or if it is NaN */
        self->td_error = NAN; /* no step, and all else as in learner_skip */
        self->cut = self->cut || done;
?added|        if (done)
?added|            zero(LEARNER_ADDED, self->added);
        return LEARNER_REFUSED;
    }
    learn_critic(self, by, &critic_slope);
    learn_actor(self, by, g, &actor_slope);

    self->td_error = by.td_error;
    self->cut = done;
    self->step = one_more(self->step);
?scaled|    keep_reward_scale(self, &scale);
?added|    if (done)
?added|        zero(LEARNER_ADDED, added);
?added|    copy(LEARNER_ADDED, self->added, added);
    return LEARNER_OK;
}
"""


def stream_ac(agent: StreamAC, observation_space: Any, action_space: Any) -> AgentText:
    """The agent in C; a ``ValueError`` names what cannot be exported."""
    if agent.state_deviation:
        raise ValueError(
            "StreamAC(state_deviation=True) has no form in C; without state_deviation it has one"
        )
    face = interface_of(agent, observation_space, action_space)
    body = body_of(agent.network, face.inputs)
    rules = {"actor": rule_text(agent.actor, "actor"), "critic": rule_text(agent.critic, "critic")}
    words: dict[str, Any] = {
        "actions": face.actions,
        "features": body.features,
        "last": body.last,
        "discrete": face.discrete,
        "scaled": face.normalise_rewards,
        "added": face.added,
        "low": ", ".join(_bound(b) for b in face.low),
        "high": ", ".join(_bound(b) for b in face.high),
    }
    for net, rule in rules.items():
        arrays = rule.row.arrays
        words[f"{net}_row"] = rule.row.name
        words[f"{net}_before"] = _lines(rule.before)
        words[f"{net}_after"] = _lines(rule.after)
        words[f"{net}_adaptive"] = rule.adaptive
        words[f"{net}_normed"] = rule.row.normed
        words[f"{net}_norm"] = rule.row.last_argument
        words[f"{net}_bodies"] = ", ".join(f"&self->{net}.{a}.body" for a in arrays)
        words[f"{net}_outs"] = ", ".join(
            f"self->{net}.{a}.out_weight, self->{net}.{a}.out_bias" for a in arrays
        )
        words[f"{net}_deviations"] = ", ".join(f"self->{net}.{a}.log_deviation" for a in arrays)
    return AgentText(
        title="stream AC(lambda)",
        interface=face,
        body=body,
        constants=_constants(agent),
        structs=fill(_STRUCTS, **words),
        members="    learner_actor actor;\n    learner_critic critic;\n",
        fields=_fields(face, body, rules),
        scratch=(
            "    body_pass actor_pass, critic_pass;\n"
            "    learner_real out[LEARNER_ACTIONS]; /* logits or means */\n"
            "    learner_real td_error, value, entropy;\n"
        ),
        functions=_functions(face, body, rules, words),
        metrics=("td_error", "value", "entropy"),
        peeks=False,
    )


def _constants(agent: StreamAC) -> str:
    decay = agent.discount * agent.trace_decay
    return (
        f"#define DISCOUNT {number(agent.discount)} /* gamma */\n"
        f"#define TRACE_DECAY {number(decay)} /* gamma lambda */\n"
        f"#define TAU {number(agent.entropy)} /* the weight of the entropy */\n"
    )


def _functions(
    face: Interface, body: Body, rules: dict[str, RuleText], words: dict[str, Any]
) -> str:
    rows = {rule.row.name: rule.row for rule in rules.values()}
    texts = dict.fromkeys(text for rule in rules.values() for text in rule.texts)
    step = fill(
        STEP,
        scale="follow" in rows,
        limited="follow" in rows,
        adaptive=any(rule.adaptive for rule in rules.values()),
        direction=False,
    )
    parts = [
        GUMBEL if face.discrete else NORMAL,
        step,
        *texts,
        *(body_rows(body, row) for row in rows.values()),
        normalisation.functions(face),
        fill(_DISCRETE if face.discrete else _GAUSSIAN, **words),
        senses_text(face),
        fill(_FUNCTIONS, **words),
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts if part)


def _fields(face: Interface, body: Body, rules: dict[str, RuleText]) -> tuple[Field, ...]:
    found: list[Field] = []
    cuts, steps = [], []
    for net, outputs in (("actor", face.actions), ("critic", 1)):
        optimiser = f".{net}_optimiser"
        below = ".network" if net == "actor" else ""
        learned = [
            *((f"body.{m}", path, n) for m, path, n in body.weights()),
            ("out_weight", ".head.linear.weight", outputs * body.features),
            ("out_bias", ".head.linear.bias", outputs),
        ]
        copies = [
            ("w", f".{net}.network", ""),
            ("z", f"{optimiser}[0].trace{below}", f"{optimiser}[0].trace"),
        ]
        if rules[net].adaptive:
            copies.append(("v", f"{optimiser}[1].moment{below}", f"{optimiser}[1].moment"))
            steps.append(integer(f"{net}_steps", f"{optimiser}[1].steps", least=0))
        for copy, above, owner in copies:
            found += [
                reals(f"{net}.{copy}.{m}", above + path, n, declared=False)
                for m, path, n in learned
            ]
            if net == "actor" and not face.discrete:
                found.append(
                    reals(
                        f"{net}.{copy}.log_deviation",
                        f"{owner}.log_deviation",
                        outputs,
                        declared=False,
                    )
                )
        found += [
            reals(f"{net}.memory.{m}", f".{net}{path}", n, declared=False)
            for m, path, n in body.memory()
        ]
        cuts.append(f"{optimiser}[0].cut")
    found.append(reals("observation", ".observation", face.inputs))
    if face.added:
        found.append(reals("added", ".added", face.added))
    if not face.discrete:
        found.append(reals("action", ".action", face.actions))
    found += normalisation.fields(face)
    found += steps
    if face.discrete:
        found.append(integer("action", ".action", least=0, below=face.actions))
    found.append(integer("cut", *cuts, least=0, below=2))
    return tuple(found)


def _bound(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return number(value)


def _lines(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.rstrip("\n").splitlines())
