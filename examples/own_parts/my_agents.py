"""An agent of your own, expected SARSA(lambda): rillax train --agent my_agents:ExpectedSarsa."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from rillax import spaces
from rillax.networks import Architecture, Stream, advance, learn, pick, start
from rillax.updates import ObGD, Rule


class State(NamedTuple):
    """All that the agent is: arrays whose shapes never change."""

    q: Stream
    rule: Any
    fresh: Any
    last: Any
    key: Any


@dataclass(frozen=True)
class ExpectedSarsa:
    """The settings, and three pure functions: init, act and learn."""

    network: Architecture = Architecture()
    q: Rule = ObGD()
    discount: float = 0.99
    decay: float = 0.8
    epsilon: float = 0.1

    def init(self, key, observation_space, action_space):
        shape = spaces.observation_shape(observation_space)
        network = self.network.build(key, shape, spaces.action_count(action_space))
        rule, no = self.q.build(self.decay).init(network), jnp.bool_(False)
        return State(start(network), rule, no, (jnp.zeros(shape), jnp.int32(0)), key)

    def act(self, state, observation):
        seen = spaces.encode(observation, state.last[0].shape)
        q = advance(state.q, seen, state.fresh)
        greedy = jnp.argmax(q.network(seen, q.previous, q.memory)).astype(jnp.int32)
        key, key_explore, key_which = jax.random.split(state.key, 3)
        random = jax.random.randint(key_which, (), 0, q.network.head.linear.out_features)
        action = jnp.where(jax.random.uniform(key_explore) < self.epsilon, random, greedy)
        return State(q, state.rule, jnp.bool_(False), (seen, action), key), action

    def learn(self, state, reward, next_observation, terminated, truncated):
        q, (seen, action), done = state.q, state.last, terminated | truncated
        value, gradient = jax.value_and_grad(
            lambda network: pick(network(seen, q.previous, q.memory), action)
        )(q.network)
        ahead = q.network.peek(spaces.encode(next_observation, seen.shape), q.memory)
        expected = (1 - self.epsilon) * jnp.max(ahead) + self.epsilon * jnp.mean(ahead)
        error = reward + self.discount * (1 - terminated) * expected - value
        signals = {"td_error": error, "reset": done}
        update, rule = self.q.build(self.decay).update(gradient, state.rule, q.network, **signals)
        return state._replace(q=learn(q, update), rule=rule, fresh=done), {"td_error": error}
