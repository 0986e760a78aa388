"""Rill in C (``rillax.agents.rill``): stream Q(lambda) and stream AC(lambda), and the referee."""

from typing import Any

from rillax.agents import Rill, referee
from rillax.agents.rill import POLICIES, SURPRISED_FOR
from rillax.export import agents, exploration, normalisation
from rillax.export.agents import AgentText, Interface, interface_of, senses_text
from rillax.export.kernels import GUMBEL, NORMAL
from rillax.export.layout import Field, integer, reals
from rillax.export.network import Body, body_of
from rillax.export.rules import rule_text
from rillax.export.stream import OnStream, updates
from rillax.export.stream_ac import ACTOR_AND_CRITIC, SOFTMAX, fields_of
from rillax.export.stream_q import ACTION_VALUES
from rillax.export.text import fill, number

_REFEREE = """
/* ---- the referee: whoever earns more acts ---- */

enum { Q_ACTS, ACTOR_ACTS, POLICIES };

static real at_least_few(real bouts)
{
    return bouts > FEWEST ? bouts : FEWEST;
}

/* How many bouts a mean is over. */
static real counted(real bouts)
{
    return bouts < MEAN_OF ? at_least_few(bouts) : MEAN_OF;
}

/* One more bout of whoever acts; a bout counts less with every later one. */
static void count_bout(learner *self)
{
    const int who = self->acts;
    const real reign = PATIENCE * (real)self->reign, memory = reign > MEAN_OF ? reign : MEAN_OF;
    for (int i = 0; i < POLICIES; i++)
        self->bouts[i] *= 1 - 1 / memory;
    self->bouts[who] += 1;
    const real share = 1 / counted(self->bouts[who]);
    const real away = self->earned - self->earned_mean[who];
    self->earned_mean[who] += share * away;
    self->earned_spread[who] = (1 - share) * (self->earned_spread[who] + share * away * away);
    const int32_t leader = self->earned_mean[Q_ACTS] < self->earned_mean[ACTOR_ACTS];
    self->reign = leader != self->leader ? 0
                  : self->reign < LONGEST_REIGN ? self->reign + 1
                                                : LONGEST_REIGN;
    self->leader = leader;
}

/* Who acts next: one that has not acted yet, or else the largest draw of what a bout may bring. */
static int32_t choose(const learner *self, const uint32_t key[2])
{
    real all = 0, mean = 0, spread = 0, most = 0;
    int32_t who = 0;
    for (int i = 0; i < POLICIES; i++)
        all += self->bouts[i];
    for (int i = 0; i < POLICIES; i++)
        mean += self->bouts[i] / at_least_few(all) * self->earned_mean[i];
    for (int i = 0; i < POLICIES; i++) {
        const real away = self->earned_mean[i] - mean;
        spread += self->bouts[i] / at_least_few(all) * (self->earned_spread[i] + away * away);
    }
    for (int i = 0; i < POLICIES; i++) {
        const real error = MATH(sqrt)(spread / counted(self->bouts[i]));
        const real drawn = self->earned_mean[i] + error * normal(key, i);
        const real bid = self->bouts[i] > 0 ? drawn : INFINITY;
        if (i == 0 || bid > most) {
            who = i;
            most = bid;
        }
    }
    return who;
}

/* Count this step, and at the end of a bout settle who acts in the next. */
static void settle(learner *self, int done)
{
    uint32_t key[2];
    split(self->key, key);
    self->bout += 1;
    if (!done && self->bout < LONGEST_BOUT)
        return;
    count_bout(self);
    self->acts = choose(self, key);
    self->bout = 0;
    self->earned = 0;
}
"""

_FUNCTIONS = (
    """
/* ---- Rill: act and learn ---- */

/* pi(a), of the last action. */
static real probability(const learner *self)
{
    real log_p[LEARNER_ACTIONS];
    log_policy(self, log_p);
    return MATH(exp)(log_p[self->action]);
}

/* b(a): with what probability whoever acts has chosen the last action. */
static real chance_of_action(const learner *self)
{
    if (self->acts == ACTOR_ACTS)
        return probability(self);
    const real random = epsilon(self, self->step);
    return random / LEARNER_ACTIONS + (self->action == largest(self->values) ? 1 - random : 0);
}

int learner_act(learner *self, const learner_real *observation)
{
    uint32_t key_actor[2];
    threefry(self->key, 2, key_actor); /* before the other two are split off */
"""
    + agents.TAKE_IN
    + """\
    advance(&self->q.w.body, &self->q.memory, seen, self->fresh, &self->q_pass);
    advance(&self->actor.w.body, &self->actor.memory, seen, self->fresh, &self->actor_pass);
    advance(&self->critic.w.body, &self->critic.memory, seen, self->fresh, &self->critic_pass);
    value_actions(self);
    form_policy(self);
    if (self->acts == ACTOR_ACTS)
        self->action = categorical(key_actor, LEARNER_ACTIONS, self->out);
    else
        epsilon_greedy(self, key, &self->action);
    self->greedy = self->values[self->action] >= self->values[largest(self->values)];
    self->chance = chance_of_action(self);
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
    real seen[LEARNER_INPUTS], chosen[LEARNER_ACTIONS], g[LEARNER_ACTIONS];
?added|    real added[LEARNER_ADDED];
?scaled|    reward_scale scale;
    body_slope q_slope, actor_slope, critic_slope;
"""
    + agents.CHECKS
    + """\
    if (!self->ready) {
        recall(&self->q.w.body, &self->q.memory, self->observation, &self->q_pass);
        recall(&self->actor.w.body, &self->actor.memory, self->observation, &self->actor_pass);
        recall(&self->critic.w.body, &self->critic.memory, self->observation, &self->critic_pass);
        value_actions(self);
        form_policy(self);
    }
"""
    + agents.OUTCOME
    + """
    const real q = self->values[self->action], v = value(&self->critic.w, &self->critic_pass);
    const real delta_q = error_of_q(self, reward, seen, terminated);
    const real delta_v = error_of_v(self, reward, seen, terminated, v);
    gradient_of_q(self, chosen, &q_slope);
    gradient_of_v(self, &critic_slope);
    self->entropy = gradient_of_policy(self, delta_v, g, &actor_slope);

    self->value = q;
    self->actor_acts = (real)self->acts;
    self->fresh = done;
    self->acted = 0;
    self->ready = 0;
?goes_on|    self->refused = 0;
    step by_q = {0}, by_v = {0};
    const real numbers[5] = {delta_q, delta_v, q, v, self->entropy};
    const real vectors = size(&q_slope) + size(&actor_slope) + size(&critic_slope);
    const real ends = size_of(LEARNER_ACTIONS, chosen) + size_of(POLICY, g) + size_of(1, ONE);
    if (!(size_of(5, numbers) + vectors + ends < REASON)) { /* or if it is NaN */
        self->td_error = NAN; /* no step, and all else as in learner_skip, but for the bout */
?q_goes_on|        by_q.td_error = NAN;
?v_goes_on|        by_v.td_error = NAN;
?q_goes_on|        learn_q(self, by_q, chosen, &q_slope);
?actor_goes_on|        learn_actor(self, by_v, g, &actor_slope);
?critic_goes_on|        learn_critic(self, by_v, ONE, &critic_slope);
        $refused_q
        $refused_actor
        $refused_critic
        self->epsilon = epsilon(self, self->step);
        settle(self, done);
"""
    + agents.NOT_KEPT
    + """\
    }

    /* rho = min(1, pi(a) / b(a)): as far as the actor might have chosen the action */
    const real ratio = probability(self) / (self->chance > LEAST ? self->chance : LEAST);
    const real rho = ratio < 1 ? ratio : 1;
    by_q.td_error = delta_q;
    by_v.td_error = rho * delta_v;
    learn_q(self, by_q, chosen, &q_slope);
    learn_actor(self, by_v, g, &actor_slope);
    learn_critic(self, by_v, ONE, &critic_slope);

    self->td_error = delta_q;
    self->q_cut = reset;
    self->actor_cut = done;
    self->critic_cut = done;
    self->step = one_more(self->step);
    self->earned += reward;
    const real error = delta_q * delta_q < 1 ? delta_q * delta_q : 1;
    self->surprise += (error - self->surprise) / SURPRISED_FOR;
    self->epsilon = epsilon(self, self->step);
"""
    + agents.KEPT
    + """\
    settle(self, done);
    return LEARNER_OK;
}
"""
)


def rill(agent: Rill, observation_space: Any, action_space: Any) -> AgentText:
    """The agent in C; a ``ValueError`` names what cannot be exported."""
    face = interface_of(agent, observation_space, action_space)
    body = body_of(agent.network, face.inputs, face.observations)
    networks = _networks(agent, face, body)
    goes_on = {network.name: network.rule.goes_on for network in networks}
    words: dict[str, Any] = {
        "last": body.last,
        "last_of_q": networks[0].last,
        "FEATURES_OF_Q": networks[0].FEATURES,
        "of_q": "_q",
        "of_v": "_v",
        "DISCOUNT": "ACTOR_DISCOUNT",
        "discrete": True,
        "by_state": False,
        "scaled": face.normalise_rewards,
        "added": face.added,
        "learn": "\n".join(network.learn() for network in networks),
        "goes_on": any(goes_on.values()),
        "v_goes_on": goes_on["actor"] or goes_on["critic"],
    }
    for network in networks:
        words[f"{network.name}_goes_on"] = network.rule.goes_on
        reset = "reset" if network.name == "q" else "done"
        words[f"refused_{network.name}"] = network.cut_where_refused(reset)
    parts = [
        GUMBEL,
        NORMAL,
        updates(body, networks),
        normalisation.functions(face),
        SOFTMAX,
        senses_text(face),
        exploration.functions(agent, surprise=True),
        fill(ACTION_VALUES, **words),
        fill(ACTOR_AND_CRITIC, **words),
        _REFEREE,
        fill(_FUNCTIONS, **words),
    ]
    refused = ("refused",) if words["goes_on"] else ()
    metrics = ("td_error", "value", "entropy", "epsilon", "actor_acts", *refused)
    return AgentText(
        title="Rill",
        interface=face,
        body=body,
        constants=_constants(agent),
        structs="\n".join(network.structs() for network in networks),
        members="    learner_q q;\n    learner_actor actor;\n    learner_critic critic;\n",
        fields=(*fields_of(face, networks), *_fields(agent)),
        cuts=tuple(network.cut for network in networks),
        scratch=(
            "".join(network.scratch() for network in networks)
            + "    learner_real values[LEARNER_ACTIONS]; /* q(o, .) */\n"
            + "    learner_real out[LEARNER_ACTIONS];    /* of the actor */\n"
            + f"    learner_real {', '.join(metrics)};\n"
        ),
        functions="\n".join(part.strip("\n") + "\n" for part in parts if part),
        metrics=metrics,
        peeks=False,
    )


def _decays(agent: Rill) -> tuple[float, float]:
    """Discount times lambda, of the values of actions, and of actor and critic."""
    return agent.discount * agent.trace_decay, agent.actor_discount * agent.trace_decay


def _networks(agent: Rill, face: Interface, body: Body) -> list[OnStream]:
    q_decay, v_decay = _decays(agent)
    q, actor = rule_text(agent.q, "q", q_decay), rule_text(agent.actor, "actor", v_decay)
    critic = rule_text(agent.critic, "critic", v_decay)
    of_policy, decay = "[log pi(a) + tau sign(delta_v) H(pi)]", "ACTOR_TRACE_DECAY"
    return [
        OnStream(
            "q", "Q-network", "q(o, a)", body, face.actions, "LEARNER_ACTIONS", q, direct=False
        ),
        OnStream("actor", "actor", of_policy, body, face.actions, "OUTPUTS", actor, decay=decay),
        OnStream("critic", "critic", "v", body, 1, "1", critic, decay=decay),
    ]


def _constants(agent: Rill) -> str:
    q_decay, v_decay = _decays(agent)
    lines = [
        f"#define DISCOUNT {number(agent.discount)} /* gamma_q */",
        f"#define TRACE_DECAY {number(q_decay)} /* gamma_q lambda */",
        f"#define ACTOR_DISCOUNT {number(agent.actor_discount)} /* gamma_v */",
        f"#define ACTOR_TRACE_DECAY {number(v_decay)} /* gamma_v lambda */",
        f"#define TAU {number(agent.entropy)} /* the weight of the entropy */",
        f"#define LEAST {number(1e-8)} /* no action counts as less likely */",
        f"#define LONGEST_BOUT {agent.longest_bout} /* steps */",
        f"#define MEAN_OF {number(agent.window)} /* bouts */",
        f"#define PATIENCE {number(referee.PATIENCE)} /* of a reign, to remember */",
        f"#define LONGEST_REIGN {referee.LONGEST_REIGN} /* bouts */",
        f"#define SURPRISED_FOR {number(SURPRISED_FOR)} /* steps */",
        f"#define FEWEST {number(referee.FEWEST)} /* bouts; fewer are forgotten */",
    ]
    return "\n".join(lines) + "\n" + exploration.constants(agent)


def _fields(agent: Rill) -> list[Field]:
    """What is saved beside networks, inputs and the last action."""
    return [
        reals("chance", ".chance"),
        reals("earned", ".earned"),
        reals("surprise", ".surprise"),
        reals("bouts", ".earnings.bouts", POLICIES),
        reals("earned_mean", ".earnings.mean", POLICIES),
        reals("earned_spread", ".earnings.spread", POLICIES),
        integer("leader", ".earnings.leader", least=0, below=POLICIES),
        integer("reign", ".earnings.reign", least=0, below=referee.LONGEST_REIGN + 1),
        integer("greedy", ".greedy", least=0, below=2),
        integer("acts", ".acts", least=0, below=POLICIES),
        integer("bout", ".bout", least=0, below=agent.longest_bout),
    ]
