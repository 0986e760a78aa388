"""The paper's hyperparameters (Appendix A), as agents: its text, its tables, its authors' code.

A number of the paper is written here and nowhere else. The numbers that ``QRC`` and ``StreamAC``
have by default are those of Tables 1 and 3, and a test holds them to it. What the text leaves open
about networks and inputs is as in the authors' code; docs/paper.md has text and code side by side.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rillax import agents
from rillax.agents import PPO, QRC, StreamAC
from rillax.cells import RTU
from rillax.networks import Architecture
from rillax.updates import SGD, ObGD
from rillax.utils import settings

UNITS = 192
"""Units of every recurrent layer, and of the feed-forward one in its place."""
DISCRETE = Architecture(cell=RTU(UNITS), width=64, sparsity=0.9, activation="leaky_relu")
"""The text of Appendix A, repeated by every table: MLP width, RTU units, sparse initialisation."""
READ = RTU(UNITS, features="tanh")
"""The recurrent layer in the authors' code: linear, and the head reads its tanh."""
POPGYM = replace(DISCRETE, layers=(READ,))
CHAIN = replace(POPGYM, encoder_widths=(128,), head_widths=(), initialisation="sparse_blind")
"""MemoryChain, and QRC on KMemoryChain. With so few inputs every weight of the encoder is zero at
the start: nothing reaches the recurrence until the encoder has learned to let it through."""
CHAIN_AC = replace(CHAIN, encoder_widths=(128, 128))
MUJOCO = replace(POPGYM, activation="tanh", head_layer_norm=False)
BATCHED = replace(
    POPGYM,
    activation="tanh",
    initialisation="orthogonal",
    layer_norm=False,
    head_layer_norm=False,
)
"""PPO's networks."""
SEEDS = 5
BATCHED_SEEDS = 3
"""Of PPO, where the paper has five as well: its runs cost more than all the others together."""


@dataclass(frozen=True)
class Table:
    """One of the six tables: an agent in a family of environments."""

    number: int
    agent: QRC | StreamAC
    family: str
    frames: int
    epsilon_share: float | None = None
    """The share of the run over which epsilon falls; None where there is no epsilon."""
    sweep: tuple[int, ...] = ()
    seeds: int = SEEDS

    @property
    def source(self) -> str:
        return f"Table {self.number}"

    def agent_for(self, frames: int) -> QRC | StreamAC:
        """The agent for a run of this many frames."""
        if self.epsilon_share is None:
            return self.agent
        falls = max(1, round(self.epsilon_share * frames))
        return settings.change(self.agent, epsilon_frames=falls)


_QRC = QRC(
    network=DISCRETE,
    discount=0.99,
    trace_decay=0.95,
    # The text also clips "at a global norm of 1.0", without saying what: docs/paper.md.
    q=SGD(1e-4),
    h=SGD(1e-5),
    regularisation=1.0,
    epsilon_start=1.0,
    epsilon_end=0.01,
    normalise_observations=True,
    normalise_rewards=True,
    input_bound=None,
)
"""Tables 1, 2 and 6. They differ in their networks and in the frames over which epsilon falls."""
_INPUTS: Mapping[str, Any] = {"previous_action": True, "previous_reward": True}
"""What every agent takes in on POPGym, beside the observation."""


def _stream_ac(
    trace_decay: float,
    entropy: float,
    actor_kappa: float,
    critic_kappa: float,
    network: Architecture,
    **rest: Any,
) -> StreamAC:
    """What Tables 3, 4 and 5 have in common, with what they differ in."""
    return StreamAC(
        network=network,
        discount=0.99,
        trace_decay=trace_decay,
        entropy=entropy,
        actor=ObGD(step_size=1.0, kappa=actor_kappa),
        critic=ObGD(step_size=1.0, kappa=critic_kappa),
        normalise_observations=True,
        normalise_rewards=True,
        input_bound=None,
        **rest,
    )


TABLES: dict[int, Table] = {
    table.number: table
    for table in (
        Table(
            number=1,
            agent=replace(_QRC, network=CHAIN),
            family="MemoryChain",
            frames=500_000,
            epsilon_share=0.1,  # not in Table 1: as in Table 6
            sweep=(2, 4, 8, 16, 32, 48, 64, 128),
        ),
        Table(
            number=2,
            agent=replace(_QRC, network=POPGYM, **_INPUTS),
            family="POPGym",
            frames=5_000_000,
            epsilon_share=0.2,
        ),
        Table(
            number=3,
            agent=_stream_ac(
                0.8,
                entropy=0.095,
                actor_kappa=3.0,
                critic_kappa=2.0,
                network=POPGYM,
                **_INPUTS,
            ),
            family="POPGym",
            frames=5_000_000,
        ),
        Table(
            number=4,
            agent=_stream_ac(
                0.8,
                entropy=0.01,
                actor_kappa=1.5,
                critic_kappa=1.0,
                network=MUJOCO,
                actor_gain=0.01,
                critic_gain=1.0,
            ),
            family="MuJoCo",
            frames=2_000_000,
        ),
        Table(
            number=5,
            agent=_stream_ac(
                0.95, entropy=0.01, actor_kappa=3.0, critic_kappa=2.0, network=CHAIN_AC
            ),
            family="KMemoryChain",
            frames=300_000,
            sweep=(4, 8, 16),
        ),
        Table(
            number=6,
            agent=replace(_QRC, network=CHAIN),
            family="KMemoryChain",
            frames=300_000,
            epsilon_share=0.1,
            sweep=(4, 8, 16),
        ),
    )
}


_PPO = PPO(network=BATCHED, value_clip=True, actor_gain=0.01, critic_gain=1.0, input_bound=None)
"""The numbers of Elelimy et al. (2024), which are the defaults, with the authors' networks."""
BATCHED_AGENTS: dict[str, PPO] = {
    "POPGym": replace(
        _PPO,
        environments=4,
        rollout=128,
        minibatches=4,
        entropy=0.01,
        max_gradient_norm=1.5,
        **_INPUTS,
    ),
    "MuJoCo": _PPO,
}
"""PPO in each family of environments in which the paper has it."""
KMEMORY_HORIZONS = 8
"""An episode of KMemoryChain lasts so many times K steps in the authors' code."""


def agent_for(agent: str, family: str, frames: int) -> Any:
    """The agent that the paper has in a family of environments, for a run of this many frames.

    Where it has none, the nearest stands in: on MemoryChain stream AC(lambda) is as on
    KMemoryChain, and elsewhere an agent has the numbers of Table 1 or 3 and the networks of the
    text. None if the paper does not have this agent.
    """
    if agent == "ppo":
        return BATCHED_AGENTS.get(family, PPO(network=DISCRETE, input_bound=None))
    stand_ins = {("stream_ac", "MemoryChain"): 5}
    numbers = {(agents.name_of(t.agent), t.family): t.number for t in TABLES.values()} | stand_ins
    if (agent, family) in numbers:
        return TABLES[numbers[agent, family]].agent_for(frames)
    if agent == "qrc":
        return replace(TABLES[1].agent_for(frames), network=DISCRETE)
    if agent == "stream_ac":
        plain = replace(TABLES[3].agent, network=DISCRETE)
        return settings.change(plain, **dict.fromkeys(_INPUTS, False))
    return None
