"""Cells of the source's tables of formulas, worked out on a grid, and small facts that no fit reports."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
from scipy.special import xlogy

from ....core.randomness import stream
from ....models.families import FAMILIES

# Link "log" of the last three rows, as printed; each row of the two tables.
MEANS = {"gaussian": lambda eta: eta, "binomial": lambda eta: 1 / (1 + np.exp(-eta))}
WEIGHTS = {
    "gaussian": lambda mu: np.ones_like(mu),
    "binomial": lambda mu: mu * (1 - mu),
    "poisson": lambda mu: mu,
    "gamma": lambda mu: np.ones_like(mu),
    "inverse_gaussian": lambda mu: 1 / mu,
}
WORKING = {
    "gaussian": lambda y, eta, mu: y,
    "binomial": lambda y, eta, mu: eta + (y - mu) / (mu * (1 - mu)),
}
DEVIANCES = {
    "gaussian": lambda y, mu: (y - mu) ** 2,
    "binomial": lambda y, mu: 2 * (xlogy(y, y / mu) + xlogy(1 - y, (1 - y) / (1 - mu))),
    "poisson": lambda y, mu: 2 * (xlogy(y, y / mu) - (y - mu)),
    "gamma": lambda y, mu: 2 * (-np.log(y / mu) + (y - mu) / mu),
    "inverse_gaussian": lambda y, mu: (y - mu) ** 2 / (mu**2 * y),
}
IDENTIFIER, PRINTED = "PATIENT_00042", "a3f8c9d2e1b7"


def _grid(family: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responses, linear predictors and means."""
    eta = np.repeat(np.linspace(-2, 2, 21), 3)
    responses = {"binomial": [0.0, 1.0, 1.0], "poisson": [0.0, 1.0, 4.0]}.get(family, [0.3, 1.0, 4.0])
    return np.tile(responses, 21), eta, FAMILIES[family].mean(eta)


def family_error(family: str, cell: str) -> float:
    """Largest relative difference of a printed mean, weight or working response to the family with that link."""
    y, eta, mu = _grid(family)
    ours = FAMILIES[family]
    printed, exact = {
        "mean": lambda: (MEANS.get(family, np.exp)(eta), mu),
        "weight": lambda: (WEIGHTS[family](mu), ours.weight(eta)),
        "working response": lambda: (
            WORKING.get(family, lambda y, eta, mu: eta + (y - mu) / mu)(y, eta, mu),
            eta + ours.working(y, eta),
        ),
    }[cell]()
    return _largest(printed, exact)


def deviance_error(family: str) -> float:
    """Largest relative difference of a term of the printed deviance to the family's."""
    y, eta, mu = _grid(family)
    return _largest(DEVIANCES[family](y, mu), FAMILIES[family].unit_deviance(y, eta))


def _largest(printed: np.ndarray, exact: np.ndarray) -> float:
    return float((np.abs(printed - exact) / np.maximum(np.abs(exact), 1.0)).max())


def digest_length() -> float:
    """Hex characters of a SHA-256 digest."""
    return float(len(sha256(IDENTIFIER.encode()).hexdigest()))


def digest_agreement() -> float:
    """Leading characters that the printed digest shares with that of the printed identifier."""
    pairs = zip(sha256(IDENTIFIER.encode()).hexdigest(), PRINTED, strict=False)
    return float(next((place for place, (digit, other) in enumerate(pairs) if digit != other), len(PRINTED)))


def score_columns(n: int = 200, p: int = 8) -> float:
    """Columns of U D over those of a block of full rank."""
    _, values, _ = np.linalg.svd(stream(1, "printed", "scores").standard_normal((n, p)), full_matrices=False)
    return float((values > 1e-9).sum() / p)
