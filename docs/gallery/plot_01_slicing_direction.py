"""
A certified slicing direction
=============================

Three hospitals hold different patients; the response depends on one direction of six columns. What the certified
protocol finds of it, and how far the noise alone may move each entry, at three epsilons.
"""

import matplotlib.pyplot as plt
import numpy as np

import partywise as pw

rng = pw.stream(1, "gallery", "slicing")
truth = np.array([2, 1, -1, 0, 0, 0]) / np.sqrt(6)
X = 0.35 * rng.normal(size=(6000, 6))
y = X @ truth + 0.1 * rng.normal(size=6000)

fig, axes = plt.subplots(1, 3, figsize=(7.0, 2.6), sharey=True, layout="constrained")
for ax, epsilon in zip(axes, (1.0, 2.0, 8.0), strict=True):
    model = pw.SlicedInverseRegression(epsilon=epsilon, edges=(-0.3, 0.0, 0.3)).fit(X, y, parties=3, rng=7)
    direction = model.components_[0] / np.linalg.norm(model.components_[0])
    sign = np.sign(direction @ truth)
    spread = 2 * model.noise_errors_[0] / np.linalg.norm(model.components_[0])
    ax.errorbar(range(6), sign * direction, spread, fmt="o", capsize=3, label="found, ± 2 standard errors of the noise")
    ax.plot(range(6), truth, "k_", markersize=14, label="truth")
    ax.set(title=f"certified ε {model.privacy_.epsilon_certified:.2f}", xlabel="column")
axes[0].set_ylabel("entry of the direction")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
plt.show()
