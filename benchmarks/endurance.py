"""``python -m benchmarks.endurance``: ten million steps of an intentional agent, finite throughout.

Stream AC with the intentional update and a deviation that depends on the state, in single
precision, on a stream that has what is hard about HalfCheetah-P and does not repeat itself: means
that drift, scales that change, sensors that are silent for long and then surge, a reward with heavy
tails, time limits and terminations. The networks are small; what grows with time would grow in them
as well.
"""

import argparse
import time
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from rillax._jax.kernels import Program, one_kernel, repeat
from rillax.agents import StreamAC
from rillax.cells import RTU
from rillax.networks import Architecture
from rillax.updates import Intentional, IntentionalPolicy

SENSORS, ACTIONS = 9, 6  # half of HalfCheetah's observation: the positions
AGENT = StreamAC(
    network=Architecture(cell=RTU(16, features="tanh"), width=16, activation="tanh"),
    trace_decay=0.99,
    entropy=0.01,
    actor=IntentionalPolicy(),
    critic=Intentional(eta=0.5),
    state_deviation=True,
)


class Carry(NamedTuple):
    """The agent in its stream, and what has been counted."""

    agent: Any
    mean: jax.Array
    contact: jax.Array
    observation: jax.Array
    key: jax.Array
    not_finite: jax.Array
    refused: jax.Array
    largest: jax.Array
    """The largest TD error."""


def start() -> Carry:
    box = gymnasium.spaces.Box(-np.inf, np.inf, (SENSORS,))
    actions = gymnasium.spaces.Box(-1, 1, (ACTIONS,))
    agent = AGENT.init(jax.random.key(0), box, actions)
    zeros, none = jnp.zeros(SENSORS), jnp.int32(0)
    return Carry(agent, zeros, none, zeros, jax.random.key(1), none, none, jnp.zeros(()))


def frame(carry: Carry) -> Carry:
    key, key_noise, key_events = jax.random.split(carry.key, 3)
    state, action = AGENT.act(carry.agent, carry.observation)
    noise = jax.random.normal(key_noise, (2 * SENSORS,))
    event = jax.random.uniform(key_events, (4,))
    mean = 0.9999 * carry.mean + 0.05 * noise[:SENSORS]
    # A contact: two sensors, silent for thousands of steps, surge for some.
    contact = jnp.where(event[0] < 1 / 3000, 30, jnp.maximum(carry.contact - 1, 0))
    wave = jnp.sin(mean) + 0.1 * noise[SENSORS:]
    surge = jnp.where(contact > 0, 1000 * noise[SENSORS:], 0)
    observation = jnp.where(jnp.arange(SENSORS) < 2, surge, (1 + 10 * jnp.abs(mean)) * wave)
    reward = jnp.sum(action * jnp.sin(mean[:ACTIONS])) + noise[0] / (event[1] + 1e-3)
    terminated, truncated = event[2] < 1 / 3000, event[3] < 1 / 1000
    state, metrics = AGENT.learn(state, reward, observation, terminated, truncated)
    finite = jnp.all(jnp.isfinite(jnp.stack(list(metrics.values()))))
    return Carry(
        state,
        mean,
        contact,
        observation,
        key,
        carry.not_finite + jnp.where(finite, 0, 1),
        carry.refused + metrics["refused"].astype(jnp.int32),
        jnp.maximum(carry.largest, jnp.abs(metrics["td_error"])),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.endurance", description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000_000)
    steps = parser.parse_args().steps

    def run(carry: Carry, count: jax.Array) -> Carry:
        return repeat(frame, count, carry)

    program = Program(one_kernel(run), run, donate=())
    carry, started, done = jax.jit(start)(), time.perf_counter(), 0
    while done < steps:
        count = min(1_000_000, steps - done)
        carry = program(carry, jnp.int32(count))
        done += count
        leaves = [x for x in jax.tree.leaves(carry.agent) if jnp.issubdtype(x.dtype, jnp.floating)]
        finite = all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in leaves)
        print(
            f"{done:,} steps in {time.perf_counter() - started:.0f} s: state finite {finite}, "
            f"metrics not finite in {int(carry.not_finite)}, refused {int(carry.refused)}, "
            f"largest TD error {float(carry.largest):.3g}, largest parameter "
            f"{max(float(jnp.max(jnp.abs(x))) for x in _parameters(carry)):.3g}",
            flush=True,
        )


def _parameters(carry: Carry) -> list[jax.Array]:
    networks = carry.agent.actor.network, carry.agent.critic.network
    return jax.tree.leaves(networks)


if __name__ == "__main__":
    main()
