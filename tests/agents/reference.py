"""Networks and statistics written a second time, in NumPy, sharing no code with rillax.

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
        """output[index] and its derivatives at hidden state h with sensitivity S."""
        dout = np.zeros(self.p["bo"].size)
        dout[index] = 1.0
        return self.output(h)[index], self.pull_back(o, h, S, dout)

    def pull_back(self, o, h, S, dout):
        """The derivatives of a scalar whose derivatives with respect to the outputs are dout."""
        p = self.p
        n = h.size
        _, (pre, f, y, s, z) = self._head(h)
        g = {"Wo": np.outer(dout, z), "bo": dout}
        dz = p["Wo"].T @ dout
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
        return g


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


def leaves(network):
    """A network's parameters under the reference's names."""
    (c,) = network.layers
    e, h = network.encoder.linear, network.head
    return {
        "We": e.weight,
        "be": e.bias,
        "nu": c.nu_log,
        "th": c.theta_log,
        "Br": c.B_real,
        "Bi": c.B_imag,
        "Wh": h.blocks[0].linear.weight,
        "bh": h.blocks[0].linear.bias,
        "Wo": h.linear.weight,
        "bo": h.linear.bias,
    }
