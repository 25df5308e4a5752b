"""
Labels that stay private
========================

A registry holds diagnoses, a clinic the columns. One noisy product of both is released; the coefficients come with
intervals over labels and noise.
"""

import matplotlib.pyplot as plt
import numpy as np

import partywise as pw

truth = np.array([4.0, -3.0, 0.0])
X = pw.stream(5, "gallery", "features").uniform(size=(6000, 3))
y = pw.stream(5, "gallery", "labels").random(6000) < 1 / (1 + np.exp(-X @ truth))

fig, ax = plt.subplots(figsize=(7.0, 3.4), layout="constrained")
for shift, (epsilon, marker) in enumerate([(0.25, "o"), (1.0, "s"), (8.0, "^")]):
    model = pw.LabelPrivateLogisticRegression(epsilon=epsilon).fit(X, y, parties=("clinic", "registry"), rng=7)
    low, high = model.conf_int_[1:].T
    place = np.arange(3) + 0.2 * (shift - 1)
    reach = (high - low) / 2
    ax.errorbar(place, (low + high) / 2, reach, fmt=marker, capsize=3, label=f"ε = {epsilon:g}")
for column, value in enumerate(truth):
    ax.hlines(value, column - 0.35, column + 0.35, color="k", label="truth" if column == 0 else None)
ax.set_xticks(range(3), ["column 0", "column 1", "column 2"])
ax.set(ylabel="coefficient, 95 % interval")
fig.legend(loc="outside lower center", ncols=4)
plt.show()
