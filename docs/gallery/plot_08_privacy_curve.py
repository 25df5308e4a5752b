"""
A privacy curve
===============

One epsilon belongs to one delta. The whole curve of a fit, beside those of a pure release and of a plan of four
releases, and the most that each leaves to an attacker.
"""

import matplotlib.pyplot as plt

import partywise as pw

X = pw.stream(8, "gallery", "records").uniform(-1, 1, size=(3000, 3))
model = pw.SlicedInverseRegression(epsilon=2.0, edges=(-0.5, 0.5), parties=3, random_state=7)
model.fit(X, X[:, 0] + X[:, 1])
costs = {
    "the fit, two releases per hospital": model,
    "one pure release, ε = 2": pw.cost(epsilon=2.0),
    "four releases at mu 0.5": pw.cost(mu=0.5, count=4),
}
fig, axes = plt.subplots(1, 2, figsize=(7.0, 3.4), layout="constrained")
for ax, kind in zip(axes, ("epsilon", "roc"), strict=True):
    pw.plot.privacy_curve(costs, kind=kind, ax=ax)
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()
