"""QRC(lambda) written a second time, in NumPy."""

import numpy as np

from tests.agents.reference import NAMES, Net, Welford


class ReferenceQRC:
    """The agent, stateful and slow."""

    def __init__(self, q, h, shape, *, gamma, lam, alpha_q, alpha_h, beta, clip, clip_at, kappa):
        self.q, self.h = Net(q), Net(h)
        self.gamma, self.lam, self.beta = gamma, lam, beta
        self.alpha_q, self.alpha_h = alpha_q, alpha_h
        self.clip, self.clip_at, self.kappa = clip, clip_at, kappa
        self.obs_stats, self.ret_stats, self.ret = Welford(shape), Welford(()), 0.0
        self.reset_traces()

    def reset_traces(self):
        self.zq = {k: np.zeros_like(v) for k, v in self.q.p.items()}
        self.zt = {k: np.zeros_like(v) for k, v in self.h.p.items()}
        self.zh = 0.0

    def clipped(self, tree, here):
        norm = np.sqrt(sum((v**2).sum() for v in tree.values()))
        if here != self.clip_at or norm <= self.clip:
            return tree
        return {k: v * self.clip / norm for k, v in tree.items()}

    def bounded(self, alpha, delta, z):
        if self.kappa is None:
            return alpha
        length = sum(np.abs(v).sum() for v in z.values())
        return alpha / max(1.0, alpha * self.kappa * max(abs(delta), 1.0) * length)

    def observe(self, o):
        """Take in an observation; returns the action values."""
        self.obs_stats.add(o)
        self.o = self.obs_stats.scaled(o)
        self.q.commit(self.o)
        self.h.commit(self.o)
        return self.q.output(self.q.h)

    def learn(self, a, r, o2, terminated, truncated):
        values = self.q.output(self.q.h)
        greedy = values[a] >= values.max()
        self.ret = self.gamma * self.ret + r
        self.ret_stats.add(np.float64(self.ret))
        r = r / self.ret_stats.std()
        if terminated or truncated:
            self.ret = 0.0
        # The next observation as it will be seen, without counting it yet.
        n, mean, m2 = self.obs_stats.n, self.obs_stats.mean, self.obs_stats.m2
        self.obs_stats.add(o2)
        o2 = self.obs_stats.scaled(o2)
        self.obs_stats.n, self.obs_stats.mean, self.obs_stats.m2 = n, mean, m2

        q, gq = self.q.gradient(self.o, self.q.h, self.q.S, a)
        h, gh = self.h.gradient(self.o, self.h.h, self.h.S, a)
        h2, S2 = self.q.recur(o2)
        best = int(np.argmax(self.q.output(h2)))
        v2, gv = self.q.gradient(o2, h2, S2, best)
        gq, gh, gv = (self.clipped(g, "gradient") for g in (gq, gh, gv))
        gamma = 0.0 if terminated else self.gamma
        delta = r + gamma * v2 - q
        gdelta = {k: gamma * gv[k] - gq[k] for k in NAMES}
        d = self.gamma * self.lam
        self.zq = {k: d * self.zq[k] + gq[k] for k in NAMES}
        self.zt = {k: d * self.zt[k] + gh[k] for k in NAMES}
        self.zh = d * self.zh + h
        dw = {k: delta * self.zq[k] - h * gq[k] - self.zh * gdelta[k] for k in NAMES}
        dt = {k: delta * self.zt[k] - h * gh[k] - self.beta * self.h.p[k] for k in NAMES}
        dw, dt = self.clipped(dw, "update"), self.clipped(dt, "update")
        alpha_q = self.bounded(self.alpha_q, delta, self.zq)
        alpha_h = self.bounded(self.alpha_h, delta, self.zt)
        for k in NAMES:
            self.q.p[k] = self.q.p[k] + alpha_q * dw[k]
            self.h.p[k] = self.h.p[k] + alpha_h * dt[k]
        if terminated or truncated or not greedy:
            self.reset_traces()
        if terminated or truncated:
            self.q.forget()
            self.h.forget()
        return delta, greedy
