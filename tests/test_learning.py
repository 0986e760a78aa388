"""An agent that remembers learns what one that forgets cannot. (Small: see docs for figures.)"""

import jax
import numpy as np
import pytest

from rillax.agents import QRC
from rillax.envs import MemoryChain
from rillax.experiments.results import iqm
from rillax.networks import Architecture
from rillax.stream import begin, live

ENV = MemoryChain(4)


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "low", "high"), [("rtu", 0.9, 1), ("feedforward", -0.15, 0.15)])
def test_memory_chain_needs_memory(cell, low, high):
    agent = QRC(network=Architecture(cell=cell, width=32, hidden=32), epsilon_frames=3_000)
    keys = jax.vmap(jax.random.key)(np.arange(3))
    life = jax.jit(jax.vmap(lambda key: begin(agent, ENV, key)))(keys)
    life, _ = live(agent, ENV, life, 20_000)
    life, tally = live(agent, ENV, life, 5_000)  # a thousand episodes each
    assert low <= iqm(np.array(tally.returns / tally.episodes)) <= high
