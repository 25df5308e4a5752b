"""Numbers that the source's argument gives and no fit of the study reports."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ....core.randomness import stream
from ....methods.logistic.model import dot_product
from ....methods.logistic.planner import fixed_plan
from ....methods.logistic.release import release_dot_product
from ....methods.logistic.trainers import planned_objective


def squared_sensitivity(k: int, n: int = 50) -> float:
    """N^2 times the squared change of the dot-product when the label of a row of ones flips."""
    X, y = np.zeros((n, k)), np.zeros(n)
    X[0] = 1.0
    flipped = y.copy()
    flipped[0] = 1.0
    return float(np.square(X.T @ flipped / n - X.T @ y / n).sum() * n**2)


def gradient_error(n: int = 60, k: int = 4) -> float:
    """Largest difference of the printed gradient to central differences of the printed loss."""
    rng = stream(1, "printed", "gradient")
    X, y = rng.uniform(size=(n, k)), rng.integers(0, 2, n).astype(float)
    theta = rng.standard_normal(k)

    def loss(at: np.ndarray) -> float:
        p = 1 / (1 + np.exp(-X @ at))
        return float(-(y * np.log(p) + (1 - y) * np.log(1 - p)).mean())

    printed = X.T @ (1 / (1 + np.exp(-X @ theta))) / n - X.T @ y / n
    steps = 1e-5 * np.eye(k)
    return float(np.abs(printed - [(loss(theta + h) - loss(theta - h)) / 2e-5 for h in steps]).max())


def objective_difference(n: int = 200, k: int = 5) -> float:
    """Largest difference of WALR's noisy objective to a tilted loss, mean loss + b'theta / N with b = -N noise.

    Both at 20 points, over X, labels and noise of one release.
    """
    rng = stream(1, "printed", "objective")
    X, y = np.column_stack([np.ones(n), rng.uniform(size=(n, k - 1))]), rng.integers(0, 2, n).astype(float)
    plan = fixed_plan(X, 1.0, 1e-5, sigma="classic", bound="sqrt_k")
    noisy = release_dot_product(X, y, plan, rng, release_id="dot-product").value
    tilt, objective = -n * (noisy - dot_product(X, y)), planned_objective(X, noisy, plan)
    differences = []
    for theta in rng.standard_normal((20, k)):
        z = X @ theta
        loss = float(np.mean(np.logaddexp(0, z) - y * z))
        differences.append(abs(objective.at(theta).value - (loss + float(tilt @ theta) / n)))
    return max(differences)


def stored_ratio(name: str) -> float:
    """A ratio of CPU times that was measured once; `tests/statistical` measures it again."""
    with Path(__file__).with_name("measured.csv").open(encoding="utf-8", newline="") as file:
        return next(float(row["ratio"]) for row in csv.DictReader(file) if row["name"] == name)
