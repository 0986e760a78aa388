"""An agent that plays as it is and learns no more, as in an evaluation.

Memory goes on as ever, for what an agent remembers of an episode is no learning. Parameters, traces
and running statistics stay as they are.
"""

import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array


@dataclass(frozen=True)
class Frozen:
    """An agent of ours or of a user's, as it is."""

    agent: Any
    explore: bool = False
    """Act as in training, or greedily: the best action, the likeliest, the mean."""

    def begin(self, state: Any) -> Any:
        """The state at the start of an episode: nothing is remembered, nothing was done before."""
        fresh = {name: jnp.ones_like(leaf) for name, leaf in _fields(state, "fresh")}
        added = {name: jnp.zeros_like(leaf) for name, leaf in _fields(state, "added")}
        return state._replace(**fresh, **added)

    def act(self, state: Any, observation: Array) -> tuple[Any, Array]:
        """Take in an observation and choose an action."""
        how = {"explore": self.explore} if can_be_greedy(self.agent) else {}
        if not self._rollouts:
            after, action = self.agent.act(state, observation, **how)
            return _keep_statistics(after, state), action
        # It plays in several environments at once: here they are all the same.
        same = jnp.repeat(jnp.asarray(observation)[None], self.agent.environments, axis=0)
        after, actions = self.agent.act(state, same, **how)
        return _keep_statistics(after, state), jax.tree.map(lambda leaf: leaf[0], actions)

    def watch(self, state: Any, reward: Array, observation: Array, done: Array) -> Any:
        """Let a transition go by; the last action and reward are seen, and the episode may end."""
        if self._rollouts:
            many = self.agent.environments
            same = (jnp.repeat(jnp.asarray(x)[None], many, axis=0) for x in (reward, observation))
            ended, no = jnp.full(many, done), jnp.zeros(many, bool)
            return _keep_statistics(self.agent.record(state, *same, ended, no)[0], state)
        if hasattr(self.agent, "watch"):
            return self.agent.watch(state, reward, done)
        return self.agent.skip(state, done) if hasattr(self.agent, "skip") else state

    @property
    def _rollouts(self) -> bool:
        return getattr(self.agent, "learns_from", "steps") == "rollouts"


def can_be_greedy(agent: Any) -> bool:
    """Whether an agent can be asked not to explore; one of a user's may not know how."""
    kind: Any = type(agent)
    return _takes_explore(kind)


@cache
def _takes_explore(kind: Any) -> bool:
    return "explore" in inspect.signature(kind.act).parameters


def require_greedy(agent: Any, instead: str) -> None:
    """Raise an error that says what to do instead, unless the agent can be asked not to explore."""
    if not can_be_greedy(agent):
        raise ValueError(
            f"{type(agent).__name__}.act has no argument explore, so it cannot be greedy: {instead}"
        )


def _fields(state: Any, name: str) -> list[tuple[str, Any]]:
    value = getattr(state, name, None)
    return [] if value is None else [(name, value)]


def _keep_statistics(after: Any, before: Any) -> Any:
    kept = ("observations", "rewards")
    return after._replace(**{n: getattr(before, n) for n in kept if hasattr(before, n)})
