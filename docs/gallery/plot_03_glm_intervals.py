"""
A generalised linear model with intervals
=========================================

Two clinics hold different columns of the same patients. The exact fit, and one whose noise is calibrated to epsilon
2: its intervals count the noise as well.
"""

import matplotlib.pyplot as plt

import partywise as pw

rng = pw.stream(3, "gallery", "pressure")
X = rng.uniform(-1, 1, size=(4000, 4))
y = 0.3 * X[:, 0] - 0.2 * X[:, 1] + 0.1 * X[:, 3] + 0.1 * rng.normal(size=4000)

parties, names = [[0, 3], [1, 2]], ["age", "dose", "weight", "smoker"]
exact = pw.VerticalGLM("gaussian").fit(X, y, parties=parties, names=names, rng=7)
scales = {"location": [0.0] * 4, "scale": [1.0] * 4, "statistic": (-1, 1)}
private = pw.VerticalGLM("gaussian", "moments", epsilon=2.0, cipher="sized", **scales)
private.fit(X, y, parties=parties, names=names, rng=7)

pw.plot.coefficients({"exact, no guarantee": exact, "noisy moments, ε = 2": private})
plt.show()
