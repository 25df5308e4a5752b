"""
Trees over columns of two parties
=================================

A bank has the labels and two columns, a shop has two more. The shop's columns enter as tables over public bins that
it noised under encryption: what they add at each epsilon, beside the bank alone and beside all columns in one place.
"""

import matplotlib.pyplot as plt
import numpy as np

import partywise as pw

rng = pw.stream(4, "gallery", "trees")
X = rng.uniform(-2, 2, size=(3000, 4))
y = rng.random(3000) < 1 / (1 + np.exp(-2 * X[:, 0] - 2 * np.sign(X[:, 2]) - X[:, 3]))
train, test, parties = slice(0, 2000), slice(2000, 3000), {"parties": [[0, 1], [2, 3]], "active": "first"}
cuts = np.linspace(-1.5, 1.5, 7)


def accuracy(*words, **options):
    """Share of right labels among records that trained nothing."""
    model = pw.VerticalBoosting(*words, **parties, random_state=7, num_of_trees=10, **options)
    return model.fit(X[train], y[train]).score(X[test], y[test])


epsilons = [0.25, 0.5, 1, 2, 4, 8]
accuracies = [accuracy(epsilon=e, public_edges=[cuts] * 4, cipher="sized") for e in epsilons]
fig, ax = plt.subplots(figsize=(7.0, 3.4), layout="constrained")
ax.semilogx(epsilons, accuracies, "o-", label="bank and shop, noised tables")
ax.axhline(accuracy("pooled"), color="k", linestyle="--", label="all columns in one place")
ax.axhline(accuracy("active_only"), color="0.45", linestyle=":", label="bank alone")
ax.set(xlabel="certified ε of one record at the shop", ylabel="accuracy on other records")
ax.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
ax.minorticks_off()
fig.legend(loc="outside lower center", ncols=2)
plt.show()
