"""The paper's hyperparameters (Appendix A): its text and its six tables, as data.

A number of the paper is written here and nowhere else. The defaults of ``QRC`` and ``StreamAC`` are
Tables 1 and 3, and a test holds them to it.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rillax.agents import AGENTS
from rillax.networks import Architecture
from rillax.utils.names import choose

NETWORK: Mapping[str, Any] = {"width": 64, "hidden": 192, "sparsity": 0.9}
"""The text of Appendix A, repeated by every table: MLP width, RTU units, sparse initialisation."""
DISCRETE: Mapping[str, Any] = {**NETWORK, "activation": "leaky_relu"}
CONTINUOUS: Mapping[str, Any] = {**NETWORK, "activation": "tanh"}
SEEDS = 5


@dataclass(frozen=True)
class HyperTable:
    """One of the six tables: an agent in a family of environments."""

    number: int
    agent: str
    family: str
    frames: int
    settings: Mapping[str, Any]
    network: Mapping[str, Any]
    epsilon_share: float | None = None
    """The share of the run over which epsilon falls; None where there is no epsilon."""
    sweep: tuple[int, ...] = ()
    seeds: int = SEEDS

    @property
    def title(self) -> str:
        return f"Table {self.number}: {self.agent} on {self.family}"

    def settings_for(self, frames: int) -> dict[str, Any]:
        """The settings of the agent for a run of so many frames."""
        settings = dict(self.settings)
        if self.epsilon_share is not None:
            settings["epsilon_frames"] = max(1, round(self.epsilon_share * frames))
        return settings


_QRC: Mapping[str, Any] = {
    "discount": 0.99,
    "trace_decay": 0.95,
    "q_step_size": 1e-4,
    "h_step_size": 1e-5,
    "regularisation": 1.0,
    "epsilon_start": 1.0,
    "epsilon_end": 0.01,
    "normalise_observations": True,
    "normalise_rewards": True,
    # The text also clips "at a global norm of 1.0", without saying what: docs/architecture.md.
    "clip": 1.0,
    "clip_at": "none",
}
"""What Tables 1, 2 and 6 have in common."""

_STREAM_AC: Mapping[str, Any] = {
    "discount": 0.99,
    "actor_step_size": 1.0,
    "critic_step_size": 1.0,
    "normalise_observations": True,
    "normalise_rewards": True,
}
"""What Tables 3, 4 and 5 have in common."""

TABLES: dict[int, HyperTable] = {
    table.number: table
    for table in (
        HyperTable(
            number=1,
            agent="qrc",
            family="MemoryChain",
            frames=500_000,
            settings=_QRC,
            network=DISCRETE,
            epsilon_share=0.1,  # not in Table 1: as in Table 6
            sweep=(2, 4, 8, 16, 32, 48, 64, 128),
        ),
        HyperTable(
            number=2,
            agent="qrc",
            family="POPGym",
            frames=5_000_000,
            settings=_QRC,
            network=DISCRETE,
            epsilon_share=0.2,
        ),
        HyperTable(
            number=3,
            agent="stream_ac",
            family="POPGym",
            frames=5_000_000,
            settings={
                **_STREAM_AC,
                "trace_decay": 0.8,
                "entropy": 0.095,
                "actor_kappa": 3.0,
                "critic_kappa": 2.0,
            },
            network=DISCRETE,
        ),
        HyperTable(
            number=4,
            agent="stream_ac",
            family="MuJoCo",
            frames=2_000_000,
            settings={
                **_STREAM_AC,
                "trace_decay": 0.8,
                "entropy": 0.01,
                "actor_kappa": 1.5,
                "critic_kappa": 1.0,
            },
            network=CONTINUOUS,
        ),
        HyperTable(
            number=5,
            agent="stream_ac",
            family="KMemoryChain",
            frames=300_000,
            settings={
                **_STREAM_AC,
                "trace_decay": 0.95,
                "entropy": 0.01,
                "actor_kappa": 3.0,
                "critic_kappa": 2.0,
            },
            network=DISCRETE,
            sweep=(4, 8, 16),
        ),
        HyperTable(
            number=6,
            agent="qrc",
            family="KMemoryChain",
            frames=300_000,
            settings=_QRC,
            network=DISCRETE,
            epsilon_share=0.1,
            sweep=(4, 8, 16),
        ),
    )
}


def table_for(agent: str, family: str) -> HyperTable | None:
    """The table for an agent in a family of environments; where the paper has none, the nearest.

    stream AC(lambda) is not run on MemoryChain in the paper: KMemoryChain's table stands in. None
    for an agent without any table (PPO's numbers are those of Elelimy et al., 2024: its defaults).
    """
    stand_ins = {("stream_ac", "MemoryChain"): 5, ("qrc", None): 1, ("stream_ac", None): 3}
    numbers = {(table.agent, table.family): table.number for table in TABLES.values()} | stand_ins
    number = numbers.get((agent, family), numbers.get((agent, None)))
    return None if number is None else TABLES[number]


def build(agent: str, settings: Mapping[str, Any], network: Mapping[str, Any]) -> Any:
    """The agent with these settings; an error names what this rillax does not have."""
    choose("agent", agent, AGENTS)
    for what, values, owner in (
        ("setting", settings, AGENTS[agent]),
        ("network setting", network, Architecture),
    ):
        fields = [field.name for field in dataclasses.fields(owner)]
        for name in values:
            choose(f"{what} of {agent}", name, fields)
    return AGENTS[agent](network=Architecture(**network), **settings)
