"""
An attack on a published mechanism
==================================

WALR calibrates the noise of its label dot product by the classic formula, which is proved for epsilon below 1 and
printed for all. The attack draws outputs for two data sets that differ in one label, and bounds the true epsilon from
below.
"""

import matplotlib.pyplot as plt
import numpy as np

import partywise as pw

delta, claims = 1e-5, [0.5, 1, 4, 10, 16, 32]
labels, flipped = np.ones(20), np.r_[-np.ones(1), np.ones(19)]
certificates, bounds = [], []
for claim in claims:
    sigma = 2 * np.sqrt(2 * np.log(1.25 / delta)) / claim  # a label that flips moves the sum by 2

    def published(data, rng, sigma=sigma):
        """A sum of labels with the noise of the classic formula."""
        return data.sum() + sigma * rng.normal()

    result = pw.audit(published, labels, flipped, rng=7, delta=delta)
    bounds.append(pw.gaussian_epsilon(result.mu_lower, delta))  # the noise is Gaussian: mu says all
    certificates.append(pw.gaussian_epsilon(2 / sigma, delta))

fig, ax = plt.subplots(figsize=(7.0, 3.8), layout="constrained")
ax.loglog(claims, claims, "k--", label="claimed")
ax.loglog(claims, certificates, "o-", label="certified")
ax.loglog(claims, bounds, "v", label="proved by attack, at least")
ax.set(xlabel="claimed ε", ylabel="ε at δ = 1e-5")
for axis in (ax.xaxis, ax.yaxis):
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(plt.NullFormatter())
ax.legend()
plt.show()
