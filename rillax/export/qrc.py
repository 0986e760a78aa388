"""QRC(lambda) in C (``rillax.agents.qrc``)."""

from typing import Any

from rillax.agents import QRC
from rillax.export import agents, exploration, normalisation
from rillax.export.agents import AgentText, Interface, interface_of, senses_text
from rillax.export.layout import Field, integer, reals
from rillax.export.network import Body, body_of, body_rows
from rillax.export.rules import BOUND, STEP, TRACE, Row, refuse_clip
from rillax.export.text import fill, number
from rillax.updates import SGD, ObGD

_STRUCTS = """
/* What a network learns: the action values q, or h, which predicts the TD error. */
typedef struct {
    body_weights body;
    learner_real out_weight[$actions * $features], out_bias[$actions];
} value_weights;

/* A network on the stream: its parameters, their eligibility traces, its memory. */
typedef struct {
    value_weights w, z;
    body_memory memory;
} learner_values;
"""

_VALUES_ROW = """
?traced|/* z <- gamma lambda z + g, and w <- w + scale (delta z + present g - ahead g'). */
?!traced|/* w <- w + scale (delta z + present g - ahead g'). */
static void values_row(const step *by, int n, real *restrict w, ${const}real *restrict z,
                       const real *restrict g, const real *restrict g_next)
{
?traced|    const real decay = by->decay;
    const real td_error = by->td_error, present = by->present, ahead = by->ahead;
    const real scale = by->scale;
    for (int i = 0; i < n; i++) {
?traced|        z[i] = decay * z[i] + g[i];
        const real d = td_error * z[i] + present * g[i] - ahead * g_next[i];
        w[i] += scale * d;
    }
}
"""

_ERRORS_ROW = """
?traced|/* z <- gamma lambda z + g, and w <- w + scale (delta z + present g - beta w). */
?!traced|/* w <- w + scale (delta z + present g - beta w). */
static void errors_row(const step *by, int n, real *restrict w, ${const}real *restrict z,
                       const real *restrict g)
{
?traced|    const real decay = by->decay;
    const real td_error = by->td_error, present = by->present, beta = by->beta;
    const real scale = by->scale;
    for (int i = 0; i < n; i++) {
?traced|        z[i] = decay * z[i] + g[i];
        const real d = td_error * z[i] + present * g[i] - beta * w[i];
        w[i] += scale * d;
    }
}
"""

_FUNCTIONS = (
    """
/* ---- QRC(lambda): act and learn ---- */

int learner_act(learner *self, const learner_real *observation)
{
"""
    + agents.TAKE_IN
    + """\
    advance(&self->q.w.body, &self->q.memory, seen, self->fresh, &self->q_pass);
    advance(&self->h.w.body, &self->h.memory, seen, self->fresh, &self->h_pass);
    dense(LEARNER_ACTIONS, FEATURES, self->q.w.out_weight, self->q.w.out_bias,
          self->q_pass.$last, self->values);
    self->greedy = epsilon_greedy(self, key, &self->action);
"""
    + agents.ACTED
    + """\
    return self->action;
}

/* The max of the next values; its gradient is shared by those that are equal. */
static real bootstrap(const real *values, real *g)
{
    const real most = values[largest(values)];
    int equal = 0;
    for (int a = 0; a < LEARNER_ACTIONS; a++)
        equal += values[a] == most;
    for (int a = 0; a < LEARNER_ACTIONS; a++)
        g[a] = values[a] == most ? 1 / (real)equal : 0;
    return most;
}

int learner_learn(learner *self, learner_real reward, const learner_real *next, int terminated,
                  int truncated)
{
    const int done = terminated || truncated;
    real seen[LEARNER_INPUTS], chosen[LEARNER_ACTIONS], g_next[LEARNER_ACTIONS];
    real values_next[LEARNER_ACTIONS], g_features[FEATURES];
?added|    real added[LEARNER_ADDED];
?scaled|    reward_scale scale;
    body_pass ahead;
    body_slope q_slope, h_slope, slope_next;
"""
    + agents.CHECKS
    + """\
    if (!self->ready) {
        recall(&self->q.w.body, &self->q.memory, self->observation, &self->q_pass);
        recall(&self->h.w.body, &self->h.memory, self->observation, &self->h_pass);
        dense(LEARNER_ACTIONS, FEATURES, self->q.w.out_weight, self->q.w.out_bias,
              self->q_pass.$last, self->values);
    }
"""
    + agents.OUTCOME
    + exploration.NEXT_VALUES
    + """\
    const real discount = terminated ? 0 : DISCOUNT;
    const real q_next = bootstrap(values_next, g_next);
    const real q = self->values[self->action];
    const real *h_row = self->h.w.out_weight + self->action * FEATURES;
    const real h = self->h.w.out_bias[self->action] + dot(FEATURES, h_row, self->h_pass.$last);
    step by = {0};
    by.td_error = reward + discount * q_next - q;
    by.decay = self->cut ? 0 : TRACE_DECAY;

    /* grad q, grad h, and the gradient of the peek */
    for (int a = 0; a < LEARNER_ACTIONS; a++)
        chosen[a] = a == self->action;
    back(&self->q.w.body, &self->q_pass, &self->q_pass,
         self->q.w.out_weight + self->action * FEATURES, &q_slope);
    back(&self->h.w.body, &self->h_pass, &self->h_pass, h_row, &h_slope);
    dense_back(LEARNER_ACTIONS, FEATURES, self->q.w.out_weight, g_next, g_features);
    back(&self->q.w.body, &self->q_pass, &ahead, g_features, &slope_next);
    past(&self->q.w.body, &self->q.memory, &self->q_pass, &q_slope);
    past(&self->h.w.body, &self->h.memory, &self->h_pass, &h_slope);
    past_of_peek(&self->q.w.body, &self->q.memory, &self->q_pass, &ahead, &slope_next);

    self->value = q;
    self->fresh = done;
    self->acted = 0;
    self->ready = 0;
    const real numbers[3] = {by.td_error, q, h};
    const real vectors = size(&q_slope) + size(&h_slope) + size(&slope_next);
    const real ends = size_of(LEARNER_ACTIONS, chosen) * 2 + size_of(LEARNER_ACTIONS, g_next);
    if (!(size_of(3, numbers) + vectors + ends < REASON)) { /* or if it is NaN */
        self->td_error = NAN; /* no step, and all else as in learner_skip */
        self->epsilon = epsilon(self, self->step);
        self->cut = self->cut || done || !self->greedy;
"""
    + agents.NOT_KEPT
    + """\
    }
    self->trace_of_h = by.decay * self->trace_of_h + h;

    /* Delta w = delta z_w - h grad q - z_h grad delta */
    by.present = self->trace_of_h - h;
    by.ahead = self->trace_of_h * discount;
?q_bound|    real norm[LEARNER_WIDEST] = {0};
?q_bound|    body_trace(&by, &self->q.z.body, &self->q.memory, &self->q_pass, &q_slope, norm);
?q_bound|    dense_trace(&by, LEARNER_ACTIONS, FEATURES, self->q.z.out_weight,
?q_bound|                self->q.z.out_bias, self->q_pass.$last, chosen, norm);
?q_bound|    by.scale = overshooting_bound($q_alpha, $q_kappa, by.td_error,
?q_bound|                                  total(LEARNER_WIDEST, norm));
?!q_bound|    by.scale = $q_alpha;
    body_values(&by, &self->q.w.body, &self->q.z.body, &self->q.memory, &self->q_pass, &q_slope,
                &ahead, &slope_next);
    dense_values(&by, LEARNER_ACTIONS, FEATURES, self->q.w.out_weight, self->q.w.out_bias,
                 self->q.z.out_weight, self->q.z.out_bias, self->q_pass.$last, chosen,
                 ahead.$last, g_next);

    /* Delta theta = delta z_theta - h grad h - beta theta */
    by.present = -h;
    by.beta = REGULARISATION;
?h_bound|    real norm_of_h[LEARNER_WIDEST] = {0};
?h_bound|    body_trace(&by, &self->h.z.body, &self->h.memory, &self->h_pass, &h_slope, norm_of_h);
?h_bound|    dense_trace(&by, LEARNER_ACTIONS, FEATURES, self->h.z.out_weight,
?h_bound|                self->h.z.out_bias, self->h_pass.$last, chosen, norm_of_h);
?h_bound|    by.scale = overshooting_bound($h_alpha, $h_kappa, by.td_error,
?h_bound|                                  total(LEARNER_WIDEST, norm_of_h));
?!h_bound|    by.scale = $h_alpha;
    body_errors(&by, &self->h.w.body, &self->h.z.body, &self->h.memory, &self->h_pass, &h_slope);
    dense_errors(&by, LEARNER_ACTIONS, FEATURES, self->h.w.out_weight, self->h.w.out_bias,
                 self->h.z.out_weight, self->h.z.out_bias, self->h_pass.$last, chosen);

    self->td_error = by.td_error;
    self->cut = done || !self->greedy;
    self->step = one_more(self->step);
    self->epsilon = epsilon(self, self->step);
"""
    + agents.KEPT
    + """\
    return LEARNER_OK;
}
"""
)


def qrc(agent: QRC, observation_space: Any, action_space: Any) -> AgentText:
    """The agent in C; a ``ValueError`` names what cannot be exported."""
    if agent.clip_gradients is not None:
        raise ValueError(
            f"QRC(clip_gradients={agent.clip_gradients}) has no form in C; without a limit it has "
            "one, and ObGD bounds steps too"
        )
    face = interface_of(agent, observation_space, action_space)
    body = body_of(agent.network, face.inputs, face.observations)
    bounds = {net: _is_bounded(net, getattr(agent, net)) for net in ("q", "h")}
    words: dict[str, Any] = {
        "actions": face.actions,
        "features": body.features,
        "last": body.last,
        "last_of_q": body.last,
        "FEATURES_OF_Q": "FEATURES",
        "of_q": "",
        "scaled": face.normalise_rewards,
        "added": face.added,
    }
    for net, bound in bounds.items():
        rule = getattr(agent, net)
        words[f"{net}_bound"] = bound
        words[f"{net}_alpha"] = number(rule.step_size)
        words[f"{net}_kappa"] = number(rule.kappa) if bound else ""
    return AgentText(
        title="QRC(lambda)",
        interface=face,
        body=body,
        constants=_constants(agent),
        structs=fill(_STRUCTS, **words),
        members="    learner_values q, h;\n",
        fields=_fields(face, body),
        cuts=("cut",),
        scratch=(
            "    body_pass q_pass, h_pass;\n"
            "    learner_real values[LEARNER_ACTIONS]; /* q(o, .) */\n"
            "    learner_real td_error, value, epsilon;\n"
        ),
        functions=_functions(agent, face, body, bounds, words),
        metrics=("td_error", "value", "epsilon"),
        peeks=True,
    )


def _is_bounded(net: str, rule: Any) -> bool:
    if type(rule) is ObGD:
        return True
    if type(rule) is SGD:
        refuse_clip(rule)
        return False
    raise ValueError(
        f"the rule {type(rule).__name__} of QRC's {net} has no form in C; SGD and ObGD have one"
    )


def _constants(agent: QRC) -> str:
    decay = agent.discount * agent.trace_decay
    lines = [
        f"#define DISCOUNT {number(agent.discount)} /* gamma */",
        f"#define TRACE_DECAY {number(decay)} /* gamma lambda */",
        f"#define REGULARISATION {number(agent.regularisation)} /* beta */",
    ]
    return "\n".join(lines) + "\n" + exploration.constants(agent)


def _rows(bounds: dict[str, bool]) -> list[Row]:
    """The rules' work on a row; where a step is bounded, the trace is known first."""
    rows = [TRACE] if any(bounds.values()) else []
    for net, name, about, ahead, text in (
        ("q", "values", "Delta w", True, _VALUES_ROW),
        ("h", "errors", "Delta theta", False, _ERRORS_ROW),
    ):
        traced = not bounds[net]
        changes = ("w", "z") if traced else ("w",)
        body = fill(text, traced=traced, const="" if traced else "const ")
        rows.append(Row(name, about, ("w", "z"), changes, ahead, body))
    return rows


def _functions(
    agent: QRC, face: Interface, body: Body, bounds: dict[str, bool], words: dict[str, Any]
) -> str:
    parts = [
        fill(STEP, scale=True, moment=False, means=False, direction=True),
        BOUND if any(bounds.values()) else "",
        *(body_rows(body, row) for row in _rows(bounds)),
        normalisation.functions(face),
        senses_text(face),
        exploration.functions(agent),
        fill(_FUNCTIONS, **words),
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts if part)


def _fields(face: Interface, body: Body) -> tuple[Field, ...]:
    found: list[Field] = []
    learned = [
        *((f"body.{m}", path, n) for m, path, n in body.weights()),
        ("out_weight", ".head.linear.weight", face.actions * body.features),
        ("out_bias", ".head.linear.bias", face.actions),
    ]
    for net in ("q", "h"):
        for copy, above in (("w", f".{net}.network"), ("z", f".traces.trace.{net}")):
            found += [
                reals(f"{net}.{copy}.{m}", above + path, n, declared=False)
                for m, path, n in learned
            ]
        found += [
            reals(f"{net}.memory.{m}", f".{net}{path}", n, declared=False)
            for m, path, n in body.memory()
        ]
    found.append(reals("observation", ".observation", face.inputs))
    if face.added:
        found.append(reals("added", ".added", face.added))
    found.append(reals("trace_of_h", ".traces.trace.value"))
    found += normalisation.fields(face)
    found += [
        integer("action", ".action", least=0, below=face.actions),
        integer("greedy", ".greedy", least=0, below=2),
        integer("cut", ".traces.cut", least=0, below=2),
    ]
    return tuple(found)
