"""What the templates of all agents have in common: spaces, inputs, the two ends of a step."""

from dataclasses import dataclass
from typing import Any

from rillax import spaces
from rillax.agents import senses
from rillax.export.layout import Field
from rillax.export.network import Body
from rillax.export.text import fill
from rillax.normalisation import Limits


@dataclass(frozen=True)
class Interface:
    """What goes into a learner and comes out of it."""

    observations: int
    actions: int
    discrete: bool
    added: int
    previous_action: bool
    previous_reward: bool
    normalise_previous: bool
    normalise_observations: bool
    normalise_rewards: bool
    limits: Limits
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    @property
    def inputs(self) -> int:
        return self.observations + self.added

    @property
    def normalised(self) -> int:
        """How many of the inputs have statistics."""
        return self.inputs if self.normalise_previous else self.observations


def interface_of(agent: Any, observation_space: Any, action_space: Any) -> Interface:
    if spaces.is_structured(action_space):
        raise ValueError(f"an action of {action_space} has no form in C; Box and Discrete have one")
    shape = spaces.observation_shape(observation_space)
    observations = 1
    for size in shape:
        observations *= size
    discrete = spaces.is_discrete(action_space)
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    if discrete:
        actions = spaces.action_count(action_space)
    else:
        low, high = (
            tuple(float(b) for b in bound.ravel()) for bound in spaces.action_bounds(action_space)
        )
        actions = len(low)
    return Interface(
        observations=observations,
        actions=actions,
        discrete=discrete,
        added=senses.size(action_space, agent.previous_action, agent.previous_reward),
        previous_action=agent.previous_action,
        previous_reward=agent.previous_reward,
        normalise_previous=agent.normalise_previous,
        normalise_observations=agent.normalise_observations,
        normalise_rewards=agent.normalise_rewards,
        limits=Limits(agent.input_bound, agent.normalisation_window),
        low=low,
        high=high,
    )


@dataclass(frozen=True)
class AgentText:
    """An agent in C."""

    title: str
    """What it is, in a few words."""
    interface: Interface
    body: Body
    constants: str
    """Its settings, as macros."""
    structs: str
    """Its networks."""
    members: str
    """What its state has beside ``fields``."""
    fields: tuple[Field, ...]
    """What is saved, in the order of the struct."""
    cuts: tuple[str, ...]
    """The members that say whether a trace starts anew."""
    scratch: str
    """What its state has that is not saved."""
    functions: str
    metrics: tuple[str, ...]
    peeks: bool
    """Whether the gradient of its peek is asked for."""


_SENSES = """
/* ---- what the networks take in ---- */

/* An observation as the networks see it$with_added; kept in the
   statistics or not. */
?added|static void observe(learner *self, const real *observation, const real *added, int kept,
?added|                    real *seen)
?!added|static void observe(learner *self, const real *observation, int kept, real *seen)
{
    copy(LEARNER_OBSERVATIONS, seen, observation);
?added|    copy(LEARNER_ADDED, seen + LEARNER_OBSERVATIONS, added);
    for (int i = 0; i < NORMALISED; i++)
        seen[i] = clip(seen[i], -LARGEST, LARGEST);
?normalised|    normalise(self, kept, seen);
?!normalised|    (void)self;
?!normalised|    (void)kept;
}
?added|
?added|/* What comes with the next observation: the last action and reward, as the settings say. */
?added|static void last_step(const learner *self, real reward, real *added)
?added|{
?one_hot|    for (int a = 0; a < LEARNER_ACTIONS; a++)
?one_hot|        added[a] = a == self->action;
?vector|    taken(self, added);
?reward_alone|    (void)self;
?last_reward|    added[LEARNER_ADDED - 1] = reward;
?no_reward|    (void)reward;
?added|}
"""


TAKE_IN = """    uint32_t key[2];
    real seen[LEARNER_INPUTS];
    if (!all_finite(LEARNER_OBSERVATIONS, observation))
        return LEARNER_NOT_FINITE;
    split(self->key, key);
?added|    observe(self, observation, self->added, 1, seen);
?!added|    observe(self, observation, 1, seen);
    copy(LEARNER_INPUTS, self->observation, seen);
"""
"""The beginning of every ``learner_act``."""

ACTED = """\
    self->fresh = 0;
    self->acted = 1;
    self->ready = 1;
"""
"""What is so after every ``learner_act``."""

CHECKS = """\
    if (!self->acted)
        return LEARNER_NO_ACTION;
    if (!isfinite(reward) || !all_finite(LEARNER_OBSERVATIONS, next))
        return LEARNER_NOT_FINITE;
"""
"""What every ``learner_learn`` refuses before anything changes."""

OUTCOME = """?scaled|    reward = scale_reward(self, reward, done, &scale);
?!scaled|    reward = clip(reward, -LARGEST, LARGEST);
?added|    last_step(self, reward, added);
?added|    observe(self, next, added, 0, seen);
?!added|    observe(self, next, 0, seen);
"""
"""What the last action led to, as the agent sees it, in every ``learner_learn``."""

NOT_KEPT = """\
?added|        if (done)
?added|            zero(LEARNER_ADDED, self->added);
        return LEARNER_REFUSED;
"""
"""How a ``learner_learn`` that refuses a step ends."""

KEPT = """\
?scaled|    keep_reward_scale(self, &scale);
?added|    if (done)
?added|        zero(LEARNER_ADDED, added);
?added|    copy(LEARNER_ADDED, self->added, added);
"""
"""What stays of the outcome, where it was learned from."""


def senses_text(face: Interface) -> str:
    return fill(
        _SENSES,
        with_added=", with the last action and reward" if face.added else "",
        normalised=face.normalise_observations,
        added=face.added,
        reward_alone=face.added and not face.previous_action,
        one_hot=face.previous_action and face.discrete,
        vector=face.previous_action and not face.discrete,
        last_reward=face.previous_reward,
        no_reward=face.added and not face.previous_reward,
    )
