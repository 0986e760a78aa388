"""The intentional update written a second time, in NumPy, sharing no code with rillax."""

import numpy as np


class ReferenceIntentional:
    """Parameters in a dictionary, changed in place."""

    def __init__(
        self,
        p,
        eta,
        decay,
        *,
        metric="gradient",
        policy=False,
        bounded=True,
        beta=0.9998,
        beta2=0.999,
        C=20.0,
        eps=1e-8,
        row_norm=None,
    ):
        self.p, self.eta, self.decay = p, eta, decay
        self.metric, self.policy, self.bounded = metric, policy, bounded
        self.beta, self.beta2, self.C, self.eps = beta, beta2, C, eps
        self.row_norm = row_norm
        self.z = {k: np.zeros_like(v) for k, v in p.items()}
        self.v = {k: np.zeros_like(v) for k, v in p.items()}
        self.sigma, self.c, self.a, self.t = 0.0, 1.0, 0.0, 0

    def step(self, g, delta, reset):
        self.t += 1
        t, decay = self.t, self.decay
        m, n, q = {}, 0.0, 0.0
        for k in g:
            self.z[k] = decay * self.z[k] + g[k]
            of = self.z[k] if self.metric == "trace" else g[k]
            self.v[k] = self.beta2 * self.v[k] + (1 - self.beta2) * of * of
            root = np.sqrt(self.v[k] / (1 - self.beta2**t))
            m[k] = np.ones_like(root) if self.metric == "none" else root + self.eps
            n += (g[k] ** 2 / m[k]).sum()
            q += (self.z[k] ** 2 / m[k]).sum()
        self.sigma += (1 - decay) * (n - self.sigma)
        s = self.sigma / (1 - decay**t)
        if self.bounded:
            s = max(s, n)
        alpha = self.eta / max(np.sqrt(s * q), 1e-8)
        self.c = self.beta * self.c + (1 - self.beta) * delta**2
        most = self.C * np.sqrt(self.c / (1 - self.beta**t))
        d = min(max(delta, -most), most)
        if self.policy:
            self.a = self.beta * self.a + (1 - self.beta) * abs(d)
            d = d / max(self.a / (1 - self.beta**t), 1e-12)
        for k in g:
            if self.row_norm is not None and self.p[k].ndim == 2:
                norm = np.sqrt(np.mean([row @ row for row in self.p[k]]))
                self.p[k] = self.p[k] * min(1, self.row_norm / norm)
            self.p[k] = self.p[k] + alpha * d * self.z[k] / m[k]
        if reset:
            self.z = {k: np.zeros_like(x) for k, x in self.z.items()}
