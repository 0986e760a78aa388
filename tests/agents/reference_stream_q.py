"""stream Q(lambda) written a second time, in NumPy; its step-size rule is given."""

import numpy as np

from tests.agents.reference import Net, Welford


class ReferenceStreamQ:
    """The agent, stateful and slow; the caller draws the actions."""

    def __init__(self, q, shape, gamma, make_rule, temperature=0.0):
        self.q, self.gamma, self.temperature = Net(q), gamma, temperature
        self.rule = make_rule(self.q.p)
        self.obs_stats, self.ret_stats, self.ret = Welford(shape), Welford(()), 0.0

    def observe(self, o):
        """Take in an observation; returns the action values."""
        self.obs_stats.add(o)
        self.o = self.obs_stats.scaled(o)
        self.q.commit(self.o)
        return self.q.output(self.q.h)

    def learn(self, a, r, o2, terminated, truncated):
        self.ret = self.gamma * self.ret + r
        self.ret_stats.add(np.float64(self.ret))
        r = r / self.ret_stats.std()
        n, mean, m2 = self.obs_stats.n, self.obs_stats.mean, self.obs_stats.m2
        self.obs_stats.add(o2)
        o2 = self.obs_stats.scaled(o2)
        self.obs_stats.n, self.obs_stats.mean, self.obs_stats.m2 = n, mean, m2
        values = self.q.output(self.q.h)
        value, gradient = self.q.gradient(self.o, self.q.h, self.q.S, a)
        h2, _ = self.q.recur(o2)
        ahead = 0.0 if terminated else self.worth(self.q.output(h2))
        delta = r + self.gamma * ahead - value
        done = terminated or truncated
        other = self.temperature == 0 and values[a] < values.max()
        self.rule.step(gradient, delta, done or other)
        if done:
            self.ret = 0.0
            self.q.forget()
        return delta

    def worth(self, values):
        """The best value, or the mean over the actions that a softmax would draw."""
        if self.temperature == 0:
            return values.max()
        weights = np.exp((values - values.max()) / self.temperature)
        return values @ weights / weights.sum()
