"""One block's update in coordinate descent: the step of document 004 to the letter, and the same step kept from rising.

Source: document 004, "Family-Specific Formulas" and "IRLS for Non-Gaussian Families".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...models.family_facts import ByFamily
from ...models.newton_step import newton_direction
from .records import WeightedResponse

# Halvings of a step; steps of an `argmin`; rounding that an objective may rise by, relative; share of the largest
# weight at the start below which all weights have vanished, as those of separated responses do.
HALVINGS, STEPS, ROUNDING, VANISHED = 30, 100, 1e-13, 1e-10


def _logistic(eta: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-eta))


def _relative(y: np.ndarray, mu: np.ndarray) -> np.ndarray:
    return (y - mu) / mu


# Mean, weight and z - eta as the source has them, without any care for large predictors.
PUBLISHED: Mapping[str, tuple[Callable, Callable, Callable]] = ByFamily(
    "formula in the source of protocol 'bcd' with variant 'published'",
    {
        "gaussian": (lambda eta: eta, np.ones_like, lambda y, mu: y - mu),
        "binomial": (_logistic, lambda mu: mu * (1 - mu), lambda y, mu: (y - mu) / (mu * (1 - mu))),
        "poisson": (np.exp, lambda mu: mu, _relative),
        "gamma": (np.exp, np.ones_like, _relative),
        "inverse_gaussian": (np.exp, lambda mu: 1 / mu, _relative),
    },
    remedy="variant='corrected'",
)


@dataclass(frozen=True)
class PartyBlock:
    """Block of columns that a party fits.

    columns : (n, q) of the party, that of the intercept first where it has one
    penalty : (q,) ridge of every coefficient
    b : (q,) coefficients
    shift : (n,) further part of its predictor, the offset; 0 where there is none
    weight : largest weight of a record at the start
    unit : unit of changes (`partywise.methods.glm.solvers.unit_of`); 1 of the published variant
    change : length of the last change of the coefficients
    path : at the beginning of every sweep, the penalty of the coefficients; where the party is the first to move, with
        the deviance of all predictors together
    """

    columns: np.ndarray
    penalty: np.ndarray
    b: np.ndarray
    shift: np.ndarray | float = 0.0
    weight: float = 0.0
    unit: float = 1.0
    change: float = 0.0
    path: tuple[float, ...] = ()

    @property
    def size(self) -> float:
        """Penalty of the coefficients."""
        return float(self.penalty @ self.b**2)

    @property
    def predictor(self) -> np.ndarray:
        """(n,) the party's part of the linear predictor."""
        return self.columns @ self.b + self.shift

    def with_coefficients(self, b: np.ndarray, objective: float) -> PartyBlock:
        """Return a copy with new coefficients; ``objective`` is the entry of the old ones in the path."""
        change = float(np.linalg.norm(b - self.b)) / self.unit
        return replace(self, b=b, change=change, path=(*self.path, objective))


def published_step(block: PartyBlock, b: np.ndarray, others: np.ndarray, response: WeightedResponse) -> np.ndarray:
    """(q,) (X'WX + ridge)^-1 X'W (z - others), NaN where the formula breaks down.

    b : (q,) coefficients now; others : (n,) all of the linear predictor but columns @ b
    """
    mean, weight, working = PUBLISHED[response.family.name]
    fitted = block.columns @ b
    mu = mean(others + fitted)
    w = response.weigh(weight(mu))
    weighed = block.columns * w[:, None]
    try:
        return np.linalg.solve(
            weighed.T @ block.columns + np.diag(block.penalty), weighed.T @ (fitted + working(response.y, mu))
        )
    except np.linalg.LinAlgError:
        return np.full(len(b), np.nan)


def corrected_step(block: PartyBlock, b: np.ndarray, others: np.ndarray, response: WeightedResponse) -> np.ndarray:
    """(q,) the same step, halved until deviance and penalty fall; NaN where the columns have no curvature left.

    Its direction solves (X'WX + ridge) d = X'(w (z - eta)) - ridge b, which is that of `published_step` less b.
    """
    X, family = block.columns, response.family
    eta = others + X @ b
    w = response.weigh(family.weight(eta))
    score = X.T @ response.weigh(family.score(response.y, eta)) - block.penalty * b
    matrix = (X * w[:, None]).T @ X + np.diag(block.penalty)
    step = newton_direction(score, matrix) if np.max(w) > VANISHED * block.weight else None
    if step is None:
        return np.full(len(b), np.nan)
    along, value = X @ step, response.deviance(eta) + float(block.penalty @ b**2)
    for halving in range(HALVINGS + 1):
        share = 0.5**halving
        trial = b + share * step
        if response.deviance(eta + share * along) + float(block.penalty @ trial**2) <= value * (1 + ROUNDING):
            return trial
    return b


def update_block(
    step: Callable[..., np.ndarray],
    block: PartyBlock,
    others: np.ndarray,
    response: WeightedResponse,
    tolerance: float | None,
) -> np.ndarray:
    """(q,) coefficients after one step, or with a tolerance after as many as the block's optimum takes."""
    b = block.b
    for _ in range(1 if tolerance is None else STEPS):
        new = step(block, b, others, response)
        change = float(np.linalg.norm(new - b)) / block.unit
        b = new
        if tolerance is None or not change >= tolerance:
            break
    return b
