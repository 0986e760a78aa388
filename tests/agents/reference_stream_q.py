"""stream Q(lambda) written a second time, in NumPy; its step-size rule is given."""

import numpy as np

from tests.agents.reference import Net, Welford


class ReferenceStreamQ:
    """The agent, stateful and slow; the caller draws the actions."""

    def __init__(self, q, shape, gamma, make_rule):
        self.q, self.gamma = Net(q), gamma
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
        ahead = 0.0 if terminated else self.q.output(h2).max()
        delta = r + self.gamma * ahead - value
        done = terminated or truncated
        self.rule.step(gradient, delta, done or values[a] < values.max())
        if done:
            self.ret = 0.0
            self.q.forget()
        return delta
