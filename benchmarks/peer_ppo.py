"""PPO beside stable-baselines3's: what the same budget earns there, and time per frame.

It is no dependency of rillax; PEER stands for an interpreter that has it.

    PEER benchmarks/peer_ppo.py HalfCheetah-v5 1000000 2    what the peer's seeds earn
    python -m benchmarks.peer_ppo --peer-python PEER        time per frame, in turns on one core

Both get the same settings, and the peer feed-forward networks of the same widths (docs/ppo.md has
the figures). The peer's interpreter need not have rillax, nor ours the peer: each side imports what
it needs when it begins.
"""

import dataclasses
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

Loop = Callable[[int], None]
"""Plays and learns for this many rollouts."""
SETTINGS: dict[str, dict[str, Any]] = {
    "CartPole-v1": {
        "environments": 1,
        "rollout": 1024,
        "minibatches": 16,
        "epochs": 4,
        "step_size": 1e-3,
        "anneal": True,
        "discount": 0.99,
        "trace_decay": 0.95,
    },
    "HalfCheetah-v5": {
        "environments": 4,
        "rollout": 512,
        "minibatches": 32,
        "epochs": 5,
        "step_size": 3e-4,
        "anneal": False,
        "discount": 0.98,
        "trace_decay": 0.92,
    },
}
OURS = {"CartPole-v1": "CartPole-v1", "HalfCheetah-v5": "HalfCheetah-F"}
MEMORIES = {"CartPole-v1": ["feedforward"], "HalfCheetah-v5": ["feedforward", "rtu"]}
ROUNDS, SECONDS = 7, 2.0
"""Turns that each side has, and how long one is at least."""


def peer(env: str, seed: int) -> Any:
    """Their agent."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    its = SETTINGS[env]
    world = VecNormalize(make_vec_env(env, its["environments"], seed=seed), gamma=its["discount"])
    step_size = its["step_size"]
    return PPO(
        "MlpPolicy",
        world,
        seed=seed,
        device="cpu",
        n_steps=its["rollout"],
        batch_size=its["rollout"] * its["environments"] // its["minibatches"],
        n_epochs=its["epochs"],
        learning_rate=(lambda left: step_size * left) if its["anneal"] else step_size,
        gamma=its["discount"],
        gae_lambda=its["trace_decay"],
        policy_kwargs={"net_arch": [64, 192, 64]},
    )


def earn(env: str, frames: int, seeds: int) -> None:
    """Print what the peer earns over the last tenth of the frames, and at tenths on the way."""
    import numpy as np
    from stable_baselines3.common.callbacks import BaseCallback

    class Returns(BaseCallback):
        def _on_training_start(self) -> None:
            self.ended: list[tuple[int, float]] = []

        def _on_step(self) -> bool:
            for info in self.locals["infos"]:
                if "episode" in info:
                    self.ended.append((self.num_timesteps, info["episode"]["r"]))
            return True

    for seed in range(seeds):
        returns, before = Returns(), time.perf_counter()
        peer(env, seed).learn(frames, callback=returns)
        seconds = time.perf_counter() - before
        ended, episodes = np.array(returns.ended).T
        tenths = [
            np.mean(episodes[(ended > i * frames / 10) & (ended <= (i + 1) * frames / 10)])
            for i in range(10)
        ]
        curve = " ".join(f"{mean:.0f}" for mean in tenths)
        per_frame = 1e6 * seconds / frames
        print(
            f"{env} seed {seed}: {tenths[-1]:.1f} (tenths: {curve}), {per_frame:.0f} us per frame",
            flush=True,
        )


def serve(env: str) -> None:
    """Play and learn for as many rollouts as each line of the input says; answer when done."""
    agent = peer(env, 0)
    frames = SETTINGS[env]["rollout"] * SETTINGS[env]["environments"]
    for line in sys.stdin:
        agent.learn(int(line) * frames, reset_num_timesteps=False)
        print("done", flush=True)


def served(python: str, env: str) -> Loop:
    """The peer in a process of its own, which stays: nothing but learning is timed."""
    process = subprocess.Popen(
        [python, __file__, "--serve", env],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )

    def loop(rollouts: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{rollouts}\n")
        process.stdin.flush()
        if not process.stdout.readline():
            sys.exit(f"{python} ended; run it by hand: {python} {__file__} {env} 10000 1")

    return loop


def ours(env: str, cell: str) -> Loop:
    """Our agent, as ``rillax train`` runs it with one seed."""
    import jax

    from rillax import envs
    from rillax.cells import CELLS
    from rillax.loops import make_loop
    from rillax.paper import jobs, presets

    its: dict[str, Any] = {k: v for k, v in SETTINGS[env].items() if k != "anneal"}
    name = OURS[env]
    plain = presets.paper("ppo", name, 1)
    agent = jobs.with_cell(dataclasses.replace(plain, **its), CELLS[cell]())
    world = envs.make(name) if name == "CartPole-v1" else lambda: envs.make(name)
    played = make_loop(agent, world, [0])

    def loop(rollouts: int) -> None:
        played.run(rollouts * agent.frames)
        jax.block_until_ready(played.agent_state())

    return loop


def compare(python: str) -> None:
    """Print time per frame and its ratio, the median over rounds, all on one core."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for env, its in SETTINGS.items():
        loops = {"peer": served(python, env)} | {cell: ours(env, cell) for cell in MEMORIES[env]}
        rollouts = {name: _rollouts_that_fill(loop) for name, loop in loops.items()}
        rounds = [
            {name: _time(loop, rollouts[name]) for name, loop in loops.items()}
            for _ in range(ROUNDS)
        ]
        frames = its["rollout"] * its["environments"]
        for name in loops:
            per_frame = 1e6 * statistics.median(each[name] for each in rounds) / frames
            ratios = sorted(each[name] / each["peer"] for each in rounds)
            print(
                f"{env} {name}: {per_frame:.0f} us per frame, {statistics.median(ratios):.2f} of "
                f"the peer's ({ratios[0]:.2f} to {ratios[-1]:.2f})",
                flush=True,
            )


def _rollouts_that_fill(loop: Loop) -> int:
    """How many take SECONDS; compiles first."""
    loop(1)
    return max(1, round(SECONDS / _time(loop, 1)))


def _time(loop: Loop, rollouts: int) -> float:
    """Seconds of one rollout, played and learned from."""
    before = time.perf_counter()
    loop(rollouts)
    return (time.perf_counter() - before) / rollouts


if __name__ == "__main__":
    if sys.argv[1] == "--peer-python":
        compare(sys.argv[2])
    elif sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        earn(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
