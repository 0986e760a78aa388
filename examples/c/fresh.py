"""Writes the learner that memory_chain.c starts from: a new one, of 16 - 32 - 16 units.

python examples/c/fresh.py [DIRECTORY]
"""

import sys
from pathlib import Path

import numpy as np
from gymnasium.spaces import Box, Discrete

from rillax import Learner, export
from rillax.agents import QRC
from rillax.cells import RTU
from rillax.networks import Architecture
from rillax.updates import SGD
from rillax.utils import checkpoint

NETWORK = Architecture(cell=RTU(32, r_min=0.5, r_max=0.99), width=16, sparsity=0.0)
AGENT = QRC(network=NETWORK, q=SGD(1e-3), h=SGD(1e-4), epsilon_frames=6_000)

learner = Learner(AGENT, Box(-1.0, 1.0, (3,), np.float32), Discrete(2), seed=0)
out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "learner"
spaces = learner.observation_space, learner.action_space
state = checkpoint.flatten(learner.state)
export.write(out, AGENT, *spaces, state, learner.describe(), acted=learner.acted)
