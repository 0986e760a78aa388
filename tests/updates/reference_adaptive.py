"""The adaptive rule of Gogianu et al. (2026) written a second time, in NumPy."""

import numpy as np


class ReferenceAdaptive:
    """Parameters in a dictionary, changed in place."""

    def __init__(self, p, eta, decay, C=1.0, eps=0.1):
        self.p, self.eta, self.decay, self.C, self.eps = p, eta, decay, C, eps
        self.z = {k: np.zeros_like(v) for k, v in p.items()}
        self.v = {k: np.zeros_like(v) for k, v in p.items()}

    def step(self, g, delta, reset):
        error = min(max(delta, -self.C), self.C)
        for k, x in g.items():
            self.z[k] = self.decay * self.z[k] + x
            self.v[k] = self.decay * self.v[k] + (1 - self.decay) * x * x
            self.p[k] = self.p[k] + self.eta * error * self.z[k] / (self.v[k] ** 0.5 + self.eps)
            if reset:
                self.z[k] = 0 * x
