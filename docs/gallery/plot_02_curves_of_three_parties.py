"""
Curves of three parties
=======================

Three parties hold curves of the same 600 records, a fourth curve is the response. Boosting picks the curves that
matter; the fit without noise and the one from released curves differ by what privacy costs.
"""

import matplotlib.pyplot as plt
import numpy as np

import partywise as pw

rng = pw.stream(2, "gallery", "curves")
X = rng.normal(size=(600, 6, 5)) / 5  # records, predictors, coordinates of a Fourier basis
operators = np.zeros((6, 5, 5))
operators[[0, 3]] = rng.normal(size=(2, 5, 5))
Y = np.einsum("npq,pqr->nr", X, operators) + 0.05 * rng.normal(size=(600, 5))

t = np.linspace(0, 1, 200)
waves = [np.ones_like(t)]
for k in (1, 2):
    waves += [np.sqrt(2) * np.sin(2 * np.pi * k * t), np.sqrt(2) * np.cos(2 * np.pi * k * t)]
fig, ax = plt.subplots(figsize=(7.0, 3.4), layout="constrained")
ax.plot(t, Y[0] @ np.array(waves), "k", label="response of one record")
for s, style in ((0.0, "--"), (0.1, "-."), (0.4, ":")):
    model = pw.FunctionalBoosting(s=s, radius_value=1.0).fit(X, Y, parties=3, rng=7)
    epsilon = model.privacy_.epsilon_certified
    words = f"noise {s:g}: ε {epsilon:.4g}, picks {', '.join(map(str, np.flatnonzero(model.selected_)))}"
    ax.plot(t, model.predict(X[:1])[0] @ np.array(waves), style, label=words)
ax.set(xlabel="t", ylabel="curve", title="Only curves 0 and 3 matter")
fig.legend(loc="outside lower center", ncols=2)
plt.show()
