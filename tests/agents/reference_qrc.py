"""QRC(lambda) written a second time, in NumPy and complex numbers, sharing no code with rillax.

Networks: encoder (dense, LayerNorm, leaky ReLU), linear RTU, head (dense, LayerNorm, leaky ReLU,
dense). Parameters are dictionaries of arrays. Derivatives are written out by hand; sensitivities
are four complex arrays, one for each recurrent parameter, rather than the three that would do.
"""

import numpy as np

NAMES = ("We", "be", "nu", "th", "Br", "Bi", "Wh", "bh", "Wo", "bo")


def leaky(x):
    return np.where(x >= 0, x, 0.01 * x)


def dleaky(x):
    return np.where(x >= 0, 1.0, 0.01)


def norm_forward(a):
    mu, var = a.mean(), a.var()
    s = np.sqrt(var + 1e-5)
    return (a - mu) / s, s


def norm_backward(y, s, dy):
    return (dy - dy.mean() - y * (dy * y).mean()) / s


class Net:
    """One network with its memory: hidden state and sensitivities."""

    def __init__(self, p):
        self.p = {k: np.array(v, np.float64) for k, v in p.items()}
        self.forget()

    def forget(self):
        n, d = self.p["Br"].shape
        self.h = np.zeros(n, complex)
        self.S = {
            "nu": np.zeros(n, complex),
            "th": np.zeros(n, complex),
            "Br": np.zeros((n, d), complex),
            "Bi": np.zeros((n, d), complex),
        }

    def encode(self, o):
        a = self.p["We"] @ o + self.p["be"]
        y, s = norm_forward(a)
        return leaky(y), (y, s)

    def recur(self, o):
        """(h, S) after o, not committed."""
        p = self.p
        x, _ = self.encode(o)
        r, om = np.exp(-np.exp(p["nu"])), np.exp(p["th"])
        lam, gam = r * np.exp(1j * om), np.sqrt(1 - r**2)
        B = p["Br"] + 1j * p["Bi"]
        dr = -np.exp(p["nu"]) * r
        dlam_nu, dlam_th = dr * np.exp(1j * om), 1j * om * lam
        dgam = -r * dr / gam
        S = self.S
        h = lam * self.h + gam * (B @ x)
        S = {
            "nu": lam * S["nu"] + dlam_nu * self.h + dgam * (B @ x),
            "th": lam * S["th"] + dlam_th * self.h,
            "Br": lam[:, None] * S["Br"] + gam[:, None] * x[None, :],
            "Bi": lam[:, None] * S["Bi"] + 1j * gam[:, None] * x[None, :],
        }
        return h, S

    def commit(self, o):
        self.h, self.S = self.recur(o)

    def output(self, h):
        return self._head(h)[0]

    def _head(self, h):
        p = self.p
        pre = np.concatenate([h.real, h.imag])
        f = leaky(pre)
        a = p["Wh"] @ f + p["bh"]
        y, s = norm_forward(a)
        z = leaky(y)
        return p["Wo"] @ z + p["bo"], (pre, f, y, s, z)

    def gradient(self, o, h, S, index):
        """d output[index] / d parameters at hidden state h with sensitivity S."""
        p = self.p
        n = h.size
        out, (pre, f, y, s, z) = self._head(h)
        g = {}
        g["Wo"] = np.zeros_like(p["Wo"])
        g["Wo"][index] = z
        g["bo"] = np.zeros_like(p["bo"])
        g["bo"][index] = 1.0
        dz = p["Wo"][index]
        da = norm_backward(y, s, dz * dleaky(y))
        g["Wh"], g["bh"] = np.outer(da, f), da
        dpre = (p["Wh"].T @ da) * dleaky(pre)
        dh = dpre[:n] - 1j * dpre[n:]  # so that dL = Re(dh * delta h)
        for k in ("nu", "th"):
            g[k] = np.real(dh * S[k])
        for k in ("Br", "Bi"):
            g[k] = np.real(dh[:, None] * S[k])
        # The encoder: one step.
        r = np.exp(-np.exp(p["nu"]))
        B = p["Br"] + 1j * p["Bi"]
        dx = np.real((dh * np.sqrt(1 - r**2)) @ B)
        _, (ye, se) = self.encode(o)
        dae = norm_backward(ye, se, dx * dleaky(ye))
        g["We"], g["be"] = np.outer(dae, o), dae
        return out[index], g


class Welford:
    def __init__(self, shape):
        self.n, self.mean, self.m2 = 0, np.zeros(shape), np.zeros(shape)

    def add(self, x):
        self.n += 1
        d = x - self.mean
        self.mean = self.mean + d / self.n
        self.m2 = self.m2 + d * (x - self.mean)

    def scaled(self, x):
        return (x - (self.mean if self.n > 1 else 0.0)) / self.std()

    def std(self):
        return np.sqrt((self.m2 / (self.n - 1) if self.n > 1 else np.ones_like(self.m2)) + 1e-8)


class ReferenceQRC:
    """The agent, stateful and slow."""

    def __init__(self, q, h, shape, *, gamma, lam, alpha_q, alpha_h, beta, clip, clip_at):
        self.q, self.h = Net(q), Net(h)
        self.gamma, self.lam, self.beta = gamma, lam, beta
        self.alpha_q, self.alpha_h = alpha_q, alpha_h
        self.clip, self.clip_at = clip, clip_at
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
        for k in NAMES:
            self.q.p[k] = self.q.p[k] + self.alpha_q * dw[k]
            self.h.p[k] = self.h.p[k] + self.alpha_h * dt[k]
        if terminated or truncated or not greedy:
            self.reset_traces()
        if terminated or truncated:
            self.q.forget()
            self.h.forget()
        return delta, greedy
