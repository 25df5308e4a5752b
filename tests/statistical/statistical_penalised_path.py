"""Selection along a penalised path of released moments: what is kept, and at what risk (`./run test --long`)."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import partywise as pw
from partywise.core.randomness import stream

pytestmark = pytest.mark.statistical

N, P, COUNT, DRAWS = 6000, 17, (0, 4, 8, 12, 16), 40


def draw(seed: int, epsilon: float) -> tuple[bool, int, float, float]:
    """Whether all columns that count are kept, how many others are, and the excess risks of the path and of the fit."""
    rng = stream(seed, "selection")
    b = np.zeros(P)
    b[list(COUNT)] = [1.0, -1.0, 1.0, -1.0, 1.0]
    X = rng.normal(size=(N, P))
    y = X @ b + rng.normal(size=N)
    public = {"location": 0.0, "scale": 1.0, "statistic": (-8.0, 8.0), "dealer": "dealer"}
    model = pw.VerticalGLM("gaussian", "moments", epsilon=epsilon, parties=2, random_state=seed, **public).fit(X, y)
    chosen = model.path().choice
    kept = chosen[1:] != 0

    def excess(coefficients: np.ndarray) -> float:
        return float(np.mean((X @ (coefficients[1:] - b) + coefficients[0]) ** 2) / (b @ b))

    return bool(kept[b != 0].all()), int(kept[b == 0].sum()), excess(chosen), excess(model.estimate_.coefficients)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_the_universal_threshold_keeps_what_counts_and_predicts_no_better(epsilon):
    draws = [draw(seed, epsilon) for seed in range(DRAWS)]
    kept, null, path, fit = (np.array(column, dtype=float) for column in zip(*draws, strict=True))
    for name, values in (("all kept", kept), ("null columns", null), ("risk of the path", path), ("of the fit", fit)):
        print(f"epsilon {epsilon:g}, {name}: {values.mean():.4f} +- {values.std(ddof=1) / sqrt(DRAWS):.4f}")
    assert kept.sum() >= 38
    # Of twelve columns P(|Z| > sqrt(2 log 17)) = 0.017 each, if noise and sampling are what the threshold takes.
    assert null.mean() <= 12 * 0.0174 + 3 * null.std(ddof=1) / sqrt(DRAWS)
    assert path.mean() > fit.mean()
