"""Symmetric matrices that noise has made indefinite."""

from __future__ import annotations

import numpy as np

from partywise.core.randomness import stream
from partywise.privacy.statistics.isometry import nearest_semidefinite


def test_the_nearest_semidefinite_matrix_drops_negative_eigenvalues():
    assert np.array_equal(nearest_semidefinite(np.diag([2.0, 1.0, -0.5])), np.diag([2.0, 1.0, 0.0]))
    rng = stream(3, "nearest")
    good = np.cov(rng.standard_normal((5, 60)))
    np.testing.assert_allclose(nearest_semidefinite(good), good, rtol=0, atol=1e-14)
    errors = np.triu(rng.standard_normal((5, 5)))
    noisy = good + 3 * (errors + errors.T)
    assert np.linalg.eigvalsh(noisy)[0] < -1
    nearest = nearest_semidefinite(noisy)
    gap = np.linalg.norm(nearest - noisy)
    for _ in range(200):
        other = nearest + 0.1 * rng.standard_normal((5, 5))
        assert np.linalg.norm(nearest_semidefinite(other + other.T) / 2 - noisy) >= gap
