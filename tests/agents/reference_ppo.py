"""PPO with RTU written a second time, in NumPy: loops over samples, derivatives by hand.

Every step keeps the (h, S) of its networks; a minibatch is the whole rollout.
"""

import numpy as np

from tests.agents.reference import NAMES, Net, Welford


def advantages(steps, gamma, lam):
    """GAE of one environment by its definition: a sum of later TD errors, to the episode's end.

    ``steps``: (reward, value, next value, terminated, truncated, usable).
    """
    out = []
    for t in range(len(steps)):
        total, weight = 0.0, 1.0
        for r, v, v2, terminated, truncated, usable in steps[t:]:
            if not usable:
                break
            total += weight * (r + (0.0 if terminated else gamma * v2) - v)
            weight *= gamma * lam
            if terminated or truncated:
                break
        out.append(total)
    return np.array(out)


class Adam:
    def __init__(self, lr, max_norm):
        self.lr, self.max_norm, self.t, self.m, self.v = lr, max_norm, 0, {}, {}

    def step(self, p, g, share):
        norm = np.sqrt(sum((x**2).sum() for x in g.values()))
        scale = min(1.0, self.max_norm / norm)
        self.t += 1
        for k in g:
            x = g[k] * scale
            self.m[k] = 0.9 * self.m.get(k, 0.0) + 0.1 * x
            self.v[k] = 0.999 * self.v.get(k, 0.0) + 0.001 * x**2
            m, v = self.m[k] / (1 - 0.9**self.t), self.v[k] / (1 - 0.999**self.t)
            p[k] = p[k] - self.lr * share * m / (np.sqrt(v) + 1e-5)


class ReferencePPO:
    """The agent, stateful and slow; the caller draws the actions."""

    def __init__(self, actor, critic, shape, log_std, environments, **settings):
        self.settings, self.updates = settings, 0
        self.log_std = None if log_std is None else np.array(log_std, np.float64)
        self.actors = [Net(actor) for _ in range(environments)]
        self.critics = [Net(critic) for _ in range(environments)]
        self.rollouts = [[] for _ in range(environments)]
        self.adam = Adam(settings["lr"], settings["max_norm"])
        self.obs_stats, self.ret_stats = Welford(shape), Welford(())
        self.returns = np.zeros(environments)

    def observe(self, observations):
        """Take in an observation of every environment; returns the actor's outputs."""
        for o in observations:
            self.obs_stats.add(o)
        outs = []
        for i, o in enumerate(observations):
            o = self.obs_stats.scaled(o)
            actor, critic = self.actors[i], self.critics[i]
            step = {"o": o, "actor": (actor.h, actor.S), "critic": (critic.h, critic.S)}
            actor.commit(o)
            critic.commit(o)
            step["v"] = critic.output(critic.h)[0]
            self.rollouts[i].append(step)
            outs.append(actor.output(actor.h))
        return outs

    def record(self, actions, rewards, finals, terminated, truncated):
        stats = self.obs_stats
        kept = stats.n, stats.mean, stats.m2
        for o in finals:
            stats.add(o)
        finals = [stats.scaled(o) for o in finals]
        stats.n, stats.mean, stats.m2 = kept
        for i, (a, r, o2) in enumerate(zip(actions, rewards, finals, strict=True)):
            self.returns[i] = self.settings["gamma"] * self.returns[i] + r
            self.ret_stats.add(self.returns[i])
            h2, _ = self.critics[i].recur(o2)
            step = self.rollouts[i][-1]
            step["a"], step["r"] = a, r / self.ret_stats.std()
            step["v2"] = self.critics[i].output(h2)[0]
            step["ends"] = terminated[i], truncated[i]
            step["log_p"] = self.judge(self.actors[i].output(self.actors[i].h), a)[0]
            if terminated[i] or truncated[i]:
                self.returns[i] = 0.0
                self.actors[i].forget()
                self.critics[i].forget()

    def judge(self, out, a):
        """log pi(a), its derivatives by outputs and log_std, and the entropy's likewise."""
        if self.log_std is not None:
            s = self.log_std
            x = (a - out) / np.exp(s)
            log_p = (-0.5 * x**2 - s - 0.5 * np.log(2 * np.pi)).sum()
            return log_p, x / np.exp(s), x**2 - 1, 0 * out, np.ones_like(s)
        log_all = out - np.log(np.exp(out).sum())
        p = np.exp(log_all)
        entropy = -(p * log_all).sum()
        return log_all[a], np.eye(p.size)[a] - p, None, -p * (log_all + entropy), None

    def prepare(self):
        """Advantages, and the samples of all environments in one list."""
        s = self.settings
        for rollout in self.rollouts:
            steps = [(x["r"], x["v"], x["v2"], *x["ends"], True) for x in rollout]
            for x, a in zip(rollout, advantages(steps, s["gamma"], s["lam"]), strict=True):
                x["A"], x["target"] = a, a + x["v"]
        return [x for rollout in self.rollouts for x in rollout]

    def gradient(self, samples):
        """The derivative of the loss with the parameters in force."""
        s, n = self.settings, len(samples)
        raw = np.array([x["A"] for x in samples])
        scaled = (raw - raw.mean()) / (raw.std() + 1e-8)
        actor, critic = Net(self.actors[0].p), Net(self.critics[0].p)
        g = {f"actor/{k}": 0.0 for k in NAMES} | {f"critic/{k}": 0.0 for k in NAMES}
        if self.log_std is not None:
            g["log_std"] = 0.0
        for x, A in zip(samples, scaled, strict=True):
            actor.h, actor.S = x["actor"]
            h, S = actor.recur(x["o"])
            log_p, dout, dlog, dH_out, dH_log = self.judge(actor.output(h), x["a"])
            ratio = np.exp(log_p - x["log_p"])
            active = (A >= 0 and ratio <= 1 + s["clip"]) or (A < 0 and ratio >= 1 - s["clip"])
            pull = -ratio * A * active / n
            pulled = actor.pull_back(x["o"], h, S, pull * dout - s["entropy"] * dH_out / n)
            for k in NAMES:
                g[f"actor/{k}"] = g[f"actor/{k}"] + pulled[k]
            if dlog is not None:
                g["log_std"] = g["log_std"] + pull * dlog - s["entropy"] * dH_log / n
            critic.h, critic.S = x["critic"]
            h, S = critic.recur(x["o"])
            v = critic.output(h)[0]
            dv = v - x["target"]
            if s["value_clip"]:
                near = np.clip(v, x["v"] - s["clip"], x["v"] + s["clip"])
                if (near - x["target"]) ** 2 > dv**2:
                    dv = 0.0 if near != v else near - x["target"]
            pulled = critic.pull_back(x["o"], h, S, np.array([s["value_coefficient"] * dv / n]))
            for k in NAMES:
                g[f"critic/{k}"] = g[f"critic/{k}"] + pulled[k]
        return g

    def update(self, epochs):
        samples, s = self.prepare(), self.settings
        share = max(0.0, 1 - self.updates * len(samples) / s["anneal"])
        for _ in range(epochs):
            p = {f"actor/{k}": self.actors[0].p[k] for k in NAMES}
            p |= {f"critic/{k}": self.critics[0].p[k] for k in NAMES}
            if self.log_std is not None:
                p["log_std"] = self.log_std
            self.adam.step(p, self.gradient(samples), share)
            self.log_std = p.get("log_std")
            for kind, nets in (("actor", self.actors), ("critic", self.critics)):
                for net in nets:
                    net.p = {k: p[f"{kind}/{k}"] for k in NAMES}
        self.updates += 1
        self.rollouts = [[] for _ in self.rollouts]
