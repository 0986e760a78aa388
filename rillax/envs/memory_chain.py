"""MemoryChain: a cue at the first step, silence, and one question at the end.

bsuite's diagnostic (Osband et al., 2020), for any length. State and random numbers are those of
gymnax's implementation, so that either plays the same episodes from the same keys.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax.envs import environment, spaces


@environment.dataclass
class EnvState(environment.EnvState):
    """The bit to remember, which of the bits is asked for, and the score so far."""

    context: Int[Array, "1"]
    query: Int[Array, ""]
    total_perfect: Int[Array, ""]
    total_regret: Float[Array, ""]


@environment.dataclass
class EnvParams(environment.EnvParams):
    """The question comes at time ``memory_length``; ``max_steps_in_episode`` may cut it off."""

    memory_length: int = 8
    max_steps_in_episode: int = 10


class MemoryChain(environment.Environment[EnvState, EnvParams]):
    """Remember one bit for ``length`` steps.

    The observation is ``[time left, query, cue]``: the cue is +1 or -1 at the start of the episode
    and 0 afterwards. The action at time ``length`` pays +1 if it names the cue and -1 if not; every
    other reward is 0. An episode takes ``length + 1`` steps. Random play returns 0 on average.

    As in bsuite, a step shows what there was to see before it. So the first step shows the start
    once more, the cue is in view twice, and each later observation lags by one step.
    """

    def __init__(self, length: int = 8):
        if length < 1:
            raise ValueError(f"MemoryChain needs a length of at least 1, got {length}")
        self.length = length

    @property
    def default_params(self) -> EnvParams:
        # The episode ends by itself before it could be cut off.
        return EnvParams(memory_length=self.length, max_steps_in_episode=self.length + 2)

    def reset_env(self, key: PRNGKeyArray, params: EnvParams) -> tuple[Float[Array, "3"], EnvState]:
        key_context, _ = jax.random.split(key)  # gymnax draws the query from the second one
        state = EnvState(
            time=jnp.int32(0),
            context=jax.random.bernoulli(key_context, shape=(1,)).astype(jnp.int32),
            query=jnp.int32(0),  # there is only one bit to ask for
            total_perfect=jnp.int32(0),
            total_regret=jnp.float32(0),
        )
        return self.observe(key, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Int[Array, ""], params: EnvParams
    ) -> tuple:
        observation = self.observe(key, state, action, params)
        asked = state.time >= params.memory_length
        right = action == state.context[state.query]
        reward = jnp.where(asked, jnp.where(right, 1.0, -1.0), 0.0)
        state = state.replace(
            time=state.time + 1,
            total_perfect=state.total_perfect + (asked & right),
            total_regret=state.total_regret + 2 * (asked & ~right),
        )
        terminated = self.is_terminated(state, params)
        return observation, state, reward, terminated, {"discount": self.discount(state, params)}

    def observe(
        self, key: Any, state: EnvState, action: Any, params: EnvParams
    ) -> Float[Array, "3"]:
        left = 1 - state.time / params.memory_length
        query = jnp.where(state.time == params.memory_length - 1, state.query, 0)
        (cue,) = jnp.where(state.time == 0, 2 * state.context - 1, 0)
        return jnp.stack([left, query, cue]).astype(jnp.float32)

    def is_terminated(self, state: EnvState, params: EnvParams) -> Bool[Array, ""]:
        return state.time == params.memory_length + 1

    def action_space(self, params: Any = None) -> spaces.Discrete:
        return spaces.Discrete(2)

    def observation_space(self, params: Any = None) -> spaces.Box:
        return spaces.Box(-1.0, 1.0, (3,), jnp.float32)

    def state_space(self, params: EnvParams | None = None) -> spaces.Dict:
        steps = (params or self.default_params).max_steps_in_episode
        return spaces.Dict(
            {
                "context": spaces.Box(0, 1, (1,), jnp.int32),
                "query": spaces.Discrete(1),
                "total_perfect": spaces.Discrete(steps),
                "total_regret": spaces.Box(0, 2, (), jnp.float32),
                "time": spaces.Discrete(steps),
            }
        )
