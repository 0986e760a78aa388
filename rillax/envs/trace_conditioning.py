"""Trace conditioning (Rafiee et al., 2022): a cue, an empty interval, and what the cue foretold.

A diagnostic for prediction, after experiments with animals: a tone (the conditioned stimulus, CS),
nothing, then a puff of air (the unconditioned stimulus, US). Who is to see the US coming must
remember the CS and how long ago it was. Other stimuli come and go and mean nothing.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax.envs import environment, spaces

CS, US, DISTRACTOR = 4, 2, 4
"""How many steps each stimulus is on."""
ITI = 80, 120
"""Shortest and longest time from a US to the next CS."""


@environment.dataclass
class EnvState(environment.EnvState):
    """Steps since the CS came, the intervals of this trial, and how long each distractor is on."""

    isi: Int[Array, ""]
    iti: Int[Array, ""]
    distractors: Int[Array, " distractors"]


class TraceConditioning(environment.Environment[EnvState, environment.EnvParams]):
    """Predict the US, ``interval`` steps after the CS on average.

    The observation is ``[CS, US, distractors...]``, each 1 while it is on and 0 otherwise. The
    reward is the US. The interval from CS to US is uniform on 0.7 to 1.3 times ``interval``.
    Distractor k starts once in 10 k steps. There is one action, which does nothing, and no episode
    ends. Discount by 1 - 1 / ``interval`` for a horizon that fits.
    """

    def __init__(self, interval: int = 10, distractors: int = 10):
        if interval < 4:
            raise ValueError(f"TraceConditioning needs an interval of at least 4, got {interval}")
        if distractors < 0:
            raise ValueError(f"TraceConditioning cannot have {distractors} distractors")
        self.interval, self.distractors = interval, distractors

    def reset_env(
        self, key: PRNGKeyArray, params: environment.EnvParams
    ) -> tuple[Float[Array, " stimuli"], EnvState]:
        isi, iti = self._intervals(key)
        # Just after a US, so that the first trial is like any other.
        time, quiet = isi + US, jnp.zeros(self.distractors, jnp.int32)
        state = EnvState(time=time, isi=isi, iti=iti, distractors=quiet)
        return self.observe(key, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Any, params: environment.EnvParams
    ) -> tuple:
        key_trial, key_distractors = jax.random.split(key)
        isi, iti = self._intervals(key_trial)
        over = state.time + 1 >= state.isi + state.iti
        chance = jax.random.uniform(key_distractors, (self.distractors,))
        starts = chance * 10 * (1 + jnp.arange(self.distractors)) < 1
        left = jnp.maximum(state.distractors - 1, 0)
        state = EnvState(
            time=jnp.where(over, 0, state.time + 1),
            isi=jnp.where(over, isi, state.isi),
            iti=jnp.where(over, iti, state.iti),
            distractors=jnp.where((left == 0) & starts, DISTRACTOR, left),
        )
        observation = self.observe(key, state, action, params)
        info = {"discount": self.discount(state, params)}
        return observation, state, observation[1], self.is_terminated(state, params), info

    def observe(
        self, key: Any, state: EnvState, action: Any, params: environment.EnvParams
    ) -> Float[Array, " stimuli"]:
        cs = state.time < CS
        us = (state.time >= state.isi) & (state.time < state.isi + US)
        on = jnp.concatenate([jnp.stack([cs, us]), state.distractors > 0])
        return on.astype(jnp.float32)

    def _intervals(self, key: PRNGKeyArray) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """From CS to US and from US to CS, both uniform."""
        shortest, longest = round(0.7 * self.interval), round(1.3 * self.interval)
        low = jnp.array([shortest, ITI[0]])
        count = jnp.array([longest, ITI[1]]) - low + 1
        isi, iti = low + jnp.floor(jax.random.uniform(key, (2,)) * count).astype(jnp.int32)
        return isi, iti

    def is_terminated(self, state: EnvState, params: Any) -> Bool[Array, ""]:
        return jnp.bool_(False)

    def is_truncated(self, state: Any, params: Any) -> Bool[Array, ""]:
        return jnp.bool_(False)

    def action_space(self, params: Any = None) -> spaces.Discrete:
        return spaces.Discrete(1)

    def observation_space(self, params: Any = None) -> spaces.Box:
        return spaces.Box(0.0, 1.0, (2 + self.distractors,), jnp.float32)

    def state_space(self, params: Any = None) -> spaces.Dict:
        longest = round(1.3 * self.interval) + ITI[1]
        return spaces.Dict(
            {
                "time": spaces.Discrete(longest + 1),
                "isi": spaces.Discrete(round(1.3 * self.interval) + 1),
                "iti": spaces.Discrete(ITI[1] + 1),
                "distractors": spaces.Box(0, DISTRACTOR, (self.distractors,), jnp.int32),
            }
        )
