"""A learner that lives beside an environment, saves itself, and goes on where it was after a cut.

python examples/beside_a_stream.py [steps]
"""

import sys
from pathlib import Path

import gymnasium as gym

from rillax import Learner
from rillax.agents import StreamAC
from rillax.cells import RTU
from rillax.networks import Architecture

SAVED = Path("runs/cartpole.rillax")

env = gym.make("CartPole-v1")
if SAVED.exists():
    learner = Learner.load(SAVED)
else:
    agent = StreamAC(network=Architecture(cell=RTU(32), width=32), entropy=0.01)
    learner = Learner(agent, env.observation_space, env.action_space, on_bad_input="skip")

SAVED.parent.mkdir(exist_ok=True)
observation, _ = env.reset()
total = 0.0
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000):
    action = learner.act(observation)
    observation, reward, terminated, truncated, _ = env.step(action)
    learner.learn(reward, observation, terminated, truncated)
    total += float(reward)
    if terminated or truncated:
        print(f"step {learner.step}: return {total:.0f}")
        learner.save(SAVED)
        observation, _ = env.reset()
        total = 0.0
