"""stream AC(lambda) and (adaptive) ObGD written a second time, in NumPy."""

import numpy as np

from tests.agents.reference import NAMES, Net, Welford


class ReferenceObGD:
    """Parameters in a dictionary, changed in place."""

    def __init__(self, p, alpha, kappa, decay, adaptive=False, beta=0.999, eps=1e-8):
        self.p, self.alpha, self.kappa, self.decay = p, alpha, kappa, decay
        self.adaptive, self.beta, self.eps, self.t = adaptive, beta, eps, 0
        self.z = {k: np.zeros_like(v) for k, v in p.items()}
        self.v = {k: np.zeros_like(v) for k, v in p.items()}

    def step(self, g, delta, reset):
        self.t += 1
        self.z = {k: self.decay * self.z[k] + g[k] for k in g}
        u = self.z
        if self.adaptive:
            for k in g:
                self.v[k] = self.beta * self.v[k] + (1 - self.beta) * (delta * self.z[k]) ** 2
            hat = {k: self.v[k] / (1 - self.beta**self.t) for k in g}
            u = {k: self.z[k] / np.sqrt(hat[k] + self.eps) for k in g}
        one_norm = sum(np.abs(x).sum() for x in u.values())
        m = max(abs(delta), 1.0) * one_norm * self.alpha * self.kappa
        alpha = self.alpha / m if m > 1 else self.alpha
        for k in g:
            self.p[k] = self.p[k] + alpha * delta * u[k]
        if reset:
            self.z = {k: np.zeros_like(x) for k, x in self.z.items()}


class ReferenceStreamAC:
    """The agent, stateful and slow; the caller draws the actions."""

    def __init__(self, actor, critic, shape, log_std, *, gamma, tau, make_rules, scale_gamma=None):
        self.actor, self.critic, self.gamma, self.tau = Net(actor), Net(critic), gamma, tau
        self.scale_gamma = gamma if scale_gamma is None else scale_gamma
        self.continuous = log_std is not None
        self.theta = dict(self.actor.p)
        if self.continuous:
            self.theta["log_std"] = np.array(log_std, np.float64)
        make_actors, make_critics = make_rules
        self.opt_pi, self.opt_v = make_actors(self.theta), make_critics(self.critic.p)
        self.obs_stats, self.ret_stats, self.ret = Welford(shape), Welford(()), 0.0

    def observe(self, o):
        """Take in an observation; returns the actor's outputs."""
        self.obs_stats.add(o)
        self.o = self.obs_stats.scaled(o)
        self.actor.commit(self.o)
        self.critic.commit(self.o)
        return self.actor.output(self.actor.h)

    def probability(self, a):
        """Of a discrete action."""
        out = np.exp(self.actor.output(self.actor.h))
        return out[a] / out.sum()

    def policy_derivatives(self, a, sign):
        """d [log pi(a) + tau sign H] with respect to the outputs, and to log_std."""
        out = self.actor.output(self.actor.h)
        if self.continuous:
            s = self.theta["log_std"]
            dmean = (a - out) / np.exp(2 * s)
            dlog = ((a - out) / np.exp(s)) ** 2 - 1 + self.tau * sign
            return dmean, dlog
        p = np.exp(out - out.max())
        p = p / p.sum()
        entropy = -(p * np.log(p)).sum()
        return np.eye(p.size)[a] - p + self.tau * sign * (-p * (np.log(p) + entropy)), None

    def learn(self, a, r, o2, terminated, truncated, ratio=lambda p: 1.0):
        """``ratio`` is what a step counts for, given the actor's probability of the action."""
        self.ret = self.scale_gamma * self.ret + r
        self.ret_stats.add(np.float64(self.ret))
        r = r / self.ret_stats.std()
        n, mean, m2 = self.obs_stats.n, self.obs_stats.mean, self.obs_stats.m2
        self.obs_stats.add(o2)
        o2 = self.obs_stats.scaled(o2)
        self.obs_stats.n, self.obs_stats.mean, self.obs_stats.m2 = n, mean, m2
        v, gv = self.critic.gradient(self.o, self.critic.h, self.critic.S, 0)
        h2, _ = self.critic.recur(o2)
        v2 = 0.0 if terminated else self.critic.output(h2)[0]
        delta = r + self.gamma * v2 - v
        dout, dlog = self.policy_derivatives(a, np.sign(delta))
        gpi = self.actor.pull_back(self.o, self.actor.h, self.actor.S, dout)
        if self.continuous:
            gpi["log_std"] = dlog
        done = terminated or truncated
        counts = 1.0 if self.continuous else ratio(self.probability(a))
        self.opt_pi.step(gpi, counts * delta, done)
        self.opt_v.step(gv, counts * delta, done)
        self.actor.p = {k: self.theta[k] for k in NAMES}
        if done:
            self.ret = 0.0
            self.actor.forget()
            self.critic.forget()
        return delta
