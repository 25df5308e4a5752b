"""
Correlations and principal components
=====================================

Two parties hold two correlated columns each. From products that neither could form alone comes the correlation matrix
of all records; as its source published it, a matrix of the same eigenvalues comes out that is no correlation, and
records are opened.
"""

import matplotlib.pyplot as plt
import numpy as np

import partywise as pw

X = pw.stream(6, "gallery", "columns").normal(size=(800, 4))
Z = X + 1.2 * X[:, [0]]
models = {
    "secure products": pw.VerticalPCA(),
    "as published": pw.VerticalPCA("block_svd"),
}
fig, axes = plt.subplots(1, 3, figsize=(7.0, 2.7), layout="constrained")
pooled = np.sort(np.linalg.eigvalsh(np.corrcoef(Z.T)))[::-1]
axes[2].plot(range(1, 5), pooled / pooled.sum(), "k_", markersize=20, label="pooled records")
for ax, (name, model), marker in zip(axes[:2], models.items(), "os", strict=True):
    model.fit(Z, parties=[[0, 1], [2, 3]], rng=7)
    matrix = model.correlation_ if name == "secure products" else model.rotated_matrix_
    image = ax.imshow(matrix, vmin=-2, vmax=2, cmap="PuOr")
    opened = model.estimate_.numbers["record_openings"]
    ax.set_title(f"{name}:\n{opened:g} columns of records opened")
    ax.set(xticks=range(4), yticks=range(4))
    ax.grid(False)
    for (row, column), value in np.ndenumerate(matrix):
        ax.text(
            column,
            row,
            f"{round(value, 2) + 0.0:.2f}",
            ha="center",
            va="center",
            color="w" if abs(value) > 1.3 else "k",
        )
    axes[2].plot(range(1, 5), model.explained_variance_ratio_, marker, fillstyle="none", label=name)
axes[2].set(xlabel="component", ylabel="share of the variance", xticks=range(1, 5))
axes[2].legend()
fig.colorbar(image, ax=axes[:2], shrink=0.8)
plt.show()
