"""Brook: Rill's sibling for continuous actions. One streaming agent, one set of numbers.

It is stream AC(lambda) as ``stream_ac`` has it, with other numbers, found on masked robots
(docs/rill.md has the experiments):

- Encoder and head have LayerNorm and tanh. With leaky ReLUs in their place a robot that may not
  fall over settles for falling forward; without LayerNorm in the head little is learned at all.
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

    network: Architecture = Architecture(cell=RTU(features="tanh"), activation="tanh")
    entropy: float = 0.01
    actor: Rule = ObGD(kappa=0.2)
    critic: Rule = ObGD(kappa=0.2)
    actor_gain: float | None = 0.01
    critic_gain: float | None = 1.0
