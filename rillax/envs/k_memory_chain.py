"""KMemoryChain: at every step a new bit, and at every step the question which bit came K steps ago.

The paper's every-step variant of MemoryChain: a fresh bit and a judged answer at each step keep the
recurrent sensitivities moving for the whole of an episode.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax.envs import environment, spaces


@environment.dataclass
class EnvState(environment.EnvState):
    """The bits of the last ``memory + 1`` times, that of time t in slot t mod (memory + 1)."""

    bits: Int[Array, " slots"]


@environment.dataclass
class EnvParams(environment.EnvParams):
    """An episode ends by itself after ``episode_length``; ``max_steps_in_episode`` may cut it."""

    episode_length: int = 128
    max_steps_in_episode: int = 128


class KMemoryChain(environment.Environment[EnvState, EnvParams]):
    """Name the bit seen ``memory`` steps ago, at every step.

    The observation at time t is ``[bit, time remaining]``: a fresh bit of +1 or -1, and
    ``1 - t / T`` for an episode of T steps. The action at time t, taken with bit t in view, names
    bit t - memory: 1 for a bit of +1, 0 for -1. So ``memory=0`` would ask for the bit in view, and
    ``memory=1`` for the one before it. From time ``memory`` on, a right answer pays +1 and a wrong
    one -1; before that nothing is paid. A perfect player earns T - memory; random play returns 0 on
    average.
    """

    def __init__(self, memory: int = 8, episode_length: int = 128):
        super().__init__()
        if not 0 <= memory < episode_length:
            raise ValueError(
                f"memory must be at least 0 and less than the episode length of {episode_length},"
                f" got {memory}"
            )
        self.memory = memory
        self.episode_length = episode_length

    @property
    def default_params(self) -> EnvParams:
        return EnvParams(
            episode_length=self.episode_length, max_steps_in_episode=self.episode_length
        )

    def reset_env(self, key: PRNGKeyArray, params: EnvParams) -> tuple[Float[Array, "2"], EnvState]:
        bits = jnp.zeros(self.memory + 1, jnp.int32).at[0].set(_coin(key))
        state = EnvState(time=jnp.int32(0), bits=bits)
        return self.observe(key, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Int[Array, ""], params: EnvParams
    ) -> tuple:
        # The oldest bit lies where the next will go.
        slot = (state.time + 1) % (self.memory + 1)
        answer = jnp.where(action == state.bits[slot], 1.0, -1.0)
        reward = jnp.where(state.time >= self.memory, answer, 0.0).astype(jnp.float32)
        bits = jnp.where(jnp.arange(self.memory + 1) == slot, _coin(key), state.bits)
        state = EnvState(time=state.time + 1, bits=bits)
        observation = self.observe(key, state, action, params)
        terminated = self.is_terminated(state, params)
        return observation, state, reward, terminated, {"discount": self.discount(state, params)}

    def observe(
        self, key: Any, state: EnvState, action: Any, params: EnvParams
    ) -> Float[Array, "2"]:
        bit = 2 * state.bits[state.time % (self.memory + 1)] - 1
        remaining = 1 - state.time / params.episode_length
        return jnp.stack([bit, remaining]).astype(jnp.float32)

    def is_terminated(self, state: EnvState, params: EnvParams) -> Bool[Array, ""]:
        return state.time >= params.episode_length

    def is_truncated(self, state: EnvState, params: EnvParams) -> Bool[Array, ""]:
        return (state.time >= params.max_steps_in_episode) & ~self.is_terminated(state, params)

    def action_space(self, params: Any = None) -> spaces.Discrete:
        return spaces.Discrete(2)

    def observation_space(self, params: Any = None) -> spaces.Box:
        low, high = jnp.array([-1.0, 0.0]), jnp.array([1.0, 1.0])
        return spaces.Box(low, high, (2,), jnp.float32)

    def state_space(self, params: EnvParams | None = None) -> spaces.Dict:
        params = params or self.default_params
        return spaces.Dict(
            {
                "time": spaces.Discrete(params.episode_length + 1),
                "bits": spaces.Box(0, 1, (self.memory + 1,), jnp.int32),
            }
        )


def _coin(key: PRNGKeyArray) -> Int[Array, ""]:
    return jax.random.bernoulli(key).astype(jnp.int32)
