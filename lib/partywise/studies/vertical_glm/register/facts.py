"""Cells of the source's tables of formulas, worked out on a grid, and small facts that no fit reports."""

from __future__ import annotations

import csv
import itertools
import math
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
from scipy.special import xlogy

from ....alignment.identifiers import hash_identifiers
from ....audits.attacks.linear_images import attack_rows, attack_space, column_space
from ....core.randomness import stream
from ....methods.glm.blocks import PartyBlock, published_step
from ....methods.glm.diagnostics import deviance_r2
from ....methods.glm.estimator import VerticalGLM
from ....methods.glm.exact import fit_glm
from ....methods.glm.records import WeightedResponse
from ....models.families import FAMILIES
from ....models.standardise import with_ones
from ..cases import POPULATION, SCHEME, coefficients, correlated_columns, responses
from ..settings import GlmGeneratedSettings

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
# Ridge of the source; row of the measured requirements.
RIDGE, MEASURED = 1e-4, ("default", "vertical_glm")


def _grid(family: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responses, linear predictors and means."""
    eta = np.repeat(np.linspace(-2, 2, 21), 3)
    responses = {"binomial": [0.0, 1.0, 1.0], "poisson": [0.0, 1.0, 4.0]}.get(family, [0.3, 1.0, 4.0])
    return np.tile(responses, 21), eta, FAMILIES[family].mean(eta)


def family_error(family: str, cell: str) -> float:
    """Largest relative difference of a printed mean, weight or working response to the family with that link."""
    y, eta, mu = _grid(family)
    model = FAMILIES[family]
    printed, exact = {
        "mean": lambda: (MEANS.get(family, np.exp)(eta), mu),
        "weight": lambda: (WEIGHTS[family](mu), model.weight(eta)),
        "working response": lambda: (
            WORKING.get(family, lambda y, eta, mu: eta + (y - mu) / mu)(y, eta, mu),
            eta + model.working(y, eta),
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


def _records(family: str, p: int, rho: float = 0.3, n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Columns and responses of the study's generator."""
    settings = GlmGeneratedSettings(family=family, n=n, p=p, rho=rho)
    rng, (slopes, intercept) = stream(1, "printed", family), coefficients(settings)
    X = correlated_columns(rng, n, p, rho)
    return X, responses(family, X @ slopes + intercept, settings.mean, rng)


def score_error() -> float:
    """Largest difference of a score from the stacked U_k D_k to the exact one, relative to the largest score."""
    X = _records("gaussian", 8, 0.6)[0]
    X = X - X.mean(axis=0)
    score_blocks = np.column_stack([_scores(block) for block in np.array_split(X, 2, axis=1)])
    scores, exact = _scores(score_blocks), _scores(X)
    signs = np.sign(np.sum(scores * exact, axis=0))
    return float(np.abs(signs * scores - exact).max() / np.abs(exact).max())


def _scores(block: np.ndarray) -> np.ndarray:
    left, values, _ = np.linalg.svd(block, full_matrices=False)
    return np.asarray(left * values)


def geometric_ratio(rho: float) -> float:
    """Largest ratio of successive distances to the least deviance over the last ten sweeps of the published method."""
    X, y = _records("gaussian", 10, rho)
    response = WeightedResponse.of(y, "gaussian")
    halves = with_ones(X[:, :5]), X[:, 5:]
    blocks = [PartyBlock(half, np.full(half.shape[1], RIDGE), np.zeros(half.shape[1])) for half in halves]
    columns = np.column_stack(halves)
    least = np.linalg.solve(columns.T @ columns + RIDGE * np.eye(11), columns.T @ y)
    distances = [float(np.linalg.norm(least))]
    while distances[-1] > 1e-8 * distances[0]:
        for place in (0, 1):
            b = published_step(blocks[place], blocks[place].b, blocks[1 - place].predictor, response)
            blocks[place] = blocks[place].with_coefficients(b, 0.0)
        distances.append(float(np.linalg.norm(np.concatenate([block.b for block in blocks]) - least)))
    return max(after / before for before, after in itertools.pairwise(distances[-11:]))


def condition_of_a_copy() -> float:
    """Condition of the normal equations of a block with a column twice and the printed ridge."""
    X = with_ones(_records("gaussian", 5)[0])
    columns = np.column_stack([X, X[:, 1]])
    return float(np.linalg.cond(columns.T @ columns + RIDGE * np.eye(columns.shape[1])))


def scale_loss() -> float:
    """Deviance of the published fit over the least one, less 1, with columns of deviations from 1e-6 to 1e6."""
    X, y = _records("gaussian", 10)
    least = fit_glm(X, y, "gaussian").objective[-1]
    published = VerticalGLM("gaussian", "bcd", parties=2, random_state=1).fit(X * np.logspace(-6, 6, 10), y)
    return float(published.deviance_ / least - 1)


def r2_end_error() -> float:
    """Larger difference of 1 - D / D_0 from 0 with the intercept alone, and from 1 for a perfect fit."""
    X, y = _records("gaussian", 3)
    response, perfect = WeightedResponse.of(y, "gaussian"), X.sum(axis=1)
    intercept, null = response.null()
    alone = deviance_r2(response.deviance(np.full(len(y), intercept)), null)
    exact = WeightedResponse.of(perfect, "gaussian")
    return max(abs(alone), abs(1 - deviance_r2(exact.deviance(fit_glm(X, perfect, "gaussian").eta), exact.null()[1])))


def mcfadden_difference(family: str) -> float:
    """1 - D / D_0 less 1 - log L / log L_0, each likelihood at the dispersion D / n where that is estimated."""
    X, y = _records(family, 4)
    response, model = WeightedResponse.of(y, family), FAMILIES[family]
    intercept, null = response.null()
    predictors = fit_glm(X, y, family).eta, np.full(len(y), intercept)
    deviances = response.deviance(predictors[0]), null
    likelihoods = [
        response.log_likelihood(model.mean(eta), deviance / len(y) if model.facts.estimates_dispersion else 1.0)
        for eta, deviance in zip(predictors, deviances, strict=True)
    ]
    return deviance_r2(*deviances) - (1 - likelihoods[0] / likelihoods[1])


def search_bits() -> float:
    """Bits of the search space of an identifier whose format is known: five decimal digits."""
    return float(np.log2(POPULATION))


def collisions() -> float:
    """Identifiers of the printed format whose digest another one has."""
    return float(POPULATION - len(set(hash_identifiers(SCHEME.format(number) for number in range(POPULATION)))))


def changed_digests() -> float:
    """Identifiers, of a hundred, whose digest differs when it is formed again."""
    names = [SCHEME.format(number) for number in range(100)]
    return float(sum(first != again for first, again in zip(*map(hash_identifiers, (names, names)), strict=True)))


@cache
def _two_parties() -> tuple[np.ndarray, VerticalGLM, VerticalGLM]:
    """Columns, the fit of block coordinate descent without ridge between two parties, and the pooled fit."""
    X, y = _records("binomial", 8, n=1000)
    published = VerticalGLM("binomial", "bcd", ridge=0.0, tolerance=1e-10, parties=2, random_state=1).fit(X, y)
    return X, published, VerticalGLM("binomial", "reference", parties=2).fit(X, y)


def pooled_difference() -> float:
    """Largest difference of a coefficient to the pooled fit, relative to the largest coefficient."""
    _, published, pooled = _two_parties()
    return float(np.abs(published.coef_ - pooled.coef_).max() / np.abs(pooled.coef_).max())


def _received() -> np.ndarray:
    """Predictors (n, t) that the first party received of the other."""
    return np.asarray(list(_two_parties()[1]._fitted_estimate().views.values())[1])


def spanned_share() -> float:
    """Share of the other party's column space that its predictors of all sweeps span."""
    return attack_space(_received(), _two_parties()[0][:, 4:])


def reconstructed_share() -> float:
    """Share of the other party's rows that its predictors and five known rows give exactly."""
    block = _two_parties()[0][:, 4:]
    return attack_rows(_received(), block, np.arange(5))


def standard_error_difference() -> float:
    """Largest relative difference of a standard error that the first party computes from what it received already.

    The predictors of all sweeps span the columns of the other party, which is all that X'WX takes of them.
    """
    X, published, pooled = _two_parties()
    design = np.column_stack([with_ones(X[:, :4]), column_space(_received())])
    weights = FAMILIES["binomial"].weight(published.linear_predictor(X))
    errors = np.sqrt(np.diag(np.linalg.inv((design.T * weights) @ design)))[:5]
    exact = pooled._fitted_estimate().standard_errors[:5]
    return float(np.abs(errors / exact - 1).max())


def measured_minutes(path: str = "docs/measured/requirements.csv") -> float:
    """Whole minutes, rounded up, of all fits of this study in the default run as it was measured."""
    with Path(path).open(encoding="utf-8", newline="") as handle:
        rows = [row for row in csv.DictReader(handle) if (row["configuration"], row["study"]) == MEASURED]
    return float(math.ceil(float(rows[0]["minutes"])))
