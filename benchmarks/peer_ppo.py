"""The same budget on stable-baselines3's PPO, run by an interpreter that has it (docs/ppo.md).

    python benchmarks/peer_ppo.py CartPole-v1 200000 5
    python benchmarks/peer_ppo.py HalfCheetah-v5 1000000 2

Prints the return of each seed over the last tenth of the frames, and microseconds per frame.
"""

import sys
import time

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

COMMON = {"n_steps": 2048, "batch_size": 64, "gae_lambda": 0.95, "gamma": 0.99, "device": "cpu"}
SETTINGS = {
    "CartPole-v1": COMMON
    | {"n_steps": 1024, "n_epochs": 4, "learning_rate": lambda left: 1e-3 * left},
    "HalfCheetah-v5": COMMON
    | {"n_steps": 512, "n_epochs": 5, "learning_rate": 3e-4, "gamma": 0.98, "gae_lambda": 0.92},
}
ENVIRONMENTS = {"CartPole-v1": 1, "HalfCheetah-v5": 4}


class Returns(BaseCallback):
    """Every episode that ended: at which frame, and with what return."""

    def _on_training_start(self):
        self.ended = []

    def _on_step(self):
        for info in self.locals["infos"]:
            if "episode" in info:
                self.ended.append((self.num_timesteps, info["episode"]["r"]))
        return True


def main(env, frames, seeds):
    for seed in range(seeds):
        world = VecNormalize(make_vec_env(env, ENVIRONMENTS[env], seed=seed))
        network = {"net_arch": [64, 192, 64]}
        agent = PPO("MlpPolicy", world, seed=seed, policy_kwargs=network, **SETTINGS[env])
        returns, before = Returns(), time.perf_counter()
        agent.learn(frames, callback=returns)
        seconds = time.perf_counter() - before
        last = [r for t, r in returns.ended if t > 0.9 * frames]
        per_frame = 1e6 * seconds / frames
        print(f"{env} seed {seed}: {np.mean(last):.1f}, {per_frame:.0f} us per frame", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
