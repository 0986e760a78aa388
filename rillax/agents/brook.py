"""Brook: Rill's sibling for continuous actions. One streaming agent, one set of numbers.

It is stream AC(lambda) as ``stream_ac`` has it, with other numbers. Three of them decide what it
learns on masked robots (docs/rill.md has the experiments):

- The deviation of an action depends on the state: the actor puts it out beside the mean. It never
  falls below 0.2, so that a policy goes on trying things when it has become sure of itself.
- Encoder and head have LayerNorm and leaky ReLUs, also where the head reads the recurrence.
- Steps are longer. ObGD divides a step by the sum of the trace's absolute values, which for a
  network of this size is far more than what keeps a step from overshooting.
"""

from dataclasses import dataclass

from rillax.agents.stream_ac import StreamAC
from rillax.cells import RTU
from rillax.networks import Architecture
from rillax.updates import ObGD, Rule


@dataclass(frozen=True)
class Brook(StreamAC):
    """Stream AC(lambda) with the numbers for continuous actions where none are given."""

    network: Architecture = Architecture(cell=RTU(features="tanh"))
    entropy: float = 0.01
    actor: Rule = ObGD(kappa=0.5)
    critic: Rule = ObGD(kappa=0.5)
    actor_gain: float | None = 0.01
    critic_gain: float | None = 1.0
    state_deviation: bool = True
    least_deviation: float = 0.2
