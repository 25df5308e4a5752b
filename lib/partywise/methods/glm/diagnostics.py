"""Reported statistics of a fit: deviances, both AICs, dispersion, standard errors, Wald tests, deviance table.

The holder of the response forms `DiagnosticSums`; the place that has the matrix X'WX of expected weights does the
rest. Source: document 004, "Diagnostics", for ``aic_published`` and the pseudo-R2, which it calls McFadden's; their
errors are described at `aic_published` and `deviance_r2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

# Any: fields of an estimate by their names.
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, fdtrc, ndtr, ndtri, stdtr, stdtrit

from ...models.families import total
from ...models.family_facts import FACTS
from ...models.newton_step import penalties
from ...models.standardise import Scaling
from .follow_up import FollowUp
from .options import COX, Covariance, Dispersion
from .records import WeightedResponse


class DiagnosticSums(NamedTuple):
    """Sums over records at linear predictors, which the holder of the response computes.

    deviance, null_deviance : weighted, of the fit and of the intercept alone with the same weights and offset
    pearson : sum of w (y - mu)^2 / V(mu); n_observations : of positive weight
    log_likelihood : at dispersion D / n for families that estimate it, as R's AIC, else at 1; nan where D is 0
    """

    deviance: float
    null_deviance: float
    pearson: float
    log_likelihood: float
    n_observations: float


def sums_of(response: WeightedResponse, eta: np.ndarray) -> DiagnosticSums:
    """Sums at linear predictors (n,), offset included."""
    family, y, weights = response.family, response.y, response.weights
    deviance, null = response.deviance(eta), response.null()[1]
    if weights is not None:  # predictors of records without weight may be anything
        positive = weights > 0
        y, eta, weights = y[positive], eta[positive], weights[positive]
    # (y - mu)^2 / V is w (z - eta)^2.
    pearson = total(family.score(y, eta) * family.working(y, eta), weights)
    dispersion = deviance / len(y) if family.facts.estimates_dispersion else 1.0
    used = replace(response, y=y, weights=weights, offset=None)
    return DiagnosticSums(deviance, null, pearson, used.log_likelihood(family.mean(eta), dispersion), float(len(y)))


@dataclass(frozen=True)
class Diagnostics:
    """Reported statistics of a fit at its optimum.

    standard_errors, covariance : (q,), (q, q) on the scale of the given columns; None where the dispersion is undefined
    dispersion : 1, or Pearson's statistic over ``df_residual``; None without residual degrees of freedom
    log_likelihood, aic : None for quasi-likelihoods and for perfect fits of a family that estimates its dispersion
    penalised : whether a ridge shrank the coefficients, so that standard errors leave out its bias
    """

    standard_errors: np.ndarray | None
    covariance: np.ndarray | None
    dispersion: float | None
    deviance: float
    null_deviance: float
    deviance_r2: float
    log_likelihood: float | None
    aic: float | None
    aic_published: float
    df_residual: int
    penalised: bool

    def fields(self) -> dict[str, Any]:
        """Fields of `partywise.methods.glm.model.GlmEstimate`; values without a field are under ``numbers``."""
        shared = ("standard_errors", "covariance", "dispersion", "deviance", "null_deviance", "log_likelihood")
        rest = ("deviance_r2", "aic", "aic_published", "df_residual", "penalised")
        reported: dict[str, Any] = {name: getattr(self, name) for name in shared}
        return reported | {"numbers": {name: getattr(self, name) for name in rest}}


def diagnose(
    sums: DiagnosticSums,
    information: np.ndarray,
    scaling: Scaling,
    family: str,
    *,
    ridge: float,
    dispersion: Dispersion,
    cov_type: Covariance = "nonrobust",
    sandwich: Sequence[np.ndarray] = (),
) -> Diagnostics:
    """Diagnostics of an optimum, from its sums and X'WX of standardised columns at expected weights, without ridge.

    Of ``cov_type`` HC0 and HC1 the covariance is A^-1 B A^-1 with X'WX at observed weights in A and at squared scores
    in B, the two of ``sandwich``; HC1 is that times n / (n - q), as of linear models and R (statsmodels' GLM: HC0).

    With a ridge the covariance is that of the penalised estimator around its expectation, phi H^-1 X'WX H^-1 with H =
    X'WX + ridge.
    """
    q, drawn = len(information), FACTS[family].estimates_dispersion
    df, estimated = int(sums.n_observations) - q, drawn or dispersion == "pearson"
    phi = None if estimated and df <= 0 else sums.pearson / df if estimated else 1.0
    covariance = None
    if phi is not None:
        covariance = scaling.covariance(phi * unscaled_covariance(information, ridge))
    if cov_type != "nonrobust":
        bread = unscaled_covariance(sandwich[0], 0.0)
        factor = 1.0 if cov_type == "HC0" else sums.n_observations / df if df > 0 else np.nan
        covariance = scaling.covariance(factor * bread @ sandwich[1] @ bread)
    # A quasi-likelihood is none: what has no likelihood has no AIC.
    likelihood = None if np.isnan(sums.log_likelihood) or (estimated and not drawn) else float(sums.log_likelihood)
    return Diagnostics(
        # Of a coefficient that a ridge holds at 0 (a constant column) it is 0, but for rounding.
        standard_errors=None if covariance is None else np.sqrt(np.maximum(np.diag(covariance), 0)),
        covariance=covariance,
        dispersion=None if phi is None else float(phi),
        deviance=float(sums.deviance),
        null_deviance=float(sums.null_deviance),
        deviance_r2=deviance_r2(sums.deviance, sums.null_deviance),
        log_likelihood=likelihood,
        aic=None if likelihood is None else aic(likelihood, q, family),
        aic_published=aic_published(sums.deviance, q),
        df_residual=df,
        penalised=bool(ridge > 0),
    )


class HazardSums(NamedTuple):
    """Sums over follow-up times at linear predictors, which their holder computes.

    deviance, null_deviance : minus twice the log partial likelihood, of the fit and of the offset alone
    events : their number; concordance : of predictors and times
    """

    deviance: float
    null_deviance: float
    events: float
    concordance: float


def hazard_sums_of(response: FollowUp, eta: np.ndarray) -> HazardSums:
    """Sums at linear predictors (n,), offset included."""
    deviances = response.deviance(eta), response.deviance(response.shift)
    return HazardSums(*deviances, float(np.sum(response.events)), response.concordance(eta))


def hazard_covariance(information: np.ndarray, scaling: Scaling, ridge: float) -> np.ndarray:
    """(1 + p, 1 + p) covariance on the scale of the given columns, from the information of standardised ones."""
    covariance = unscaled_covariance(information, ridge)
    covariance[0] = covariance[:, 0] = 0.0
    return scaling.covariance(covariance)


def diagnose_hazards(
    sums: HazardSums, information: np.ndarray | None, scaling: Scaling, ridge: float
) -> dict[str, Any]:
    """Fields of the estimate of a proportional-hazards model; ``information`` is None off the optimum."""
    covariance = None if information is None else hazard_covariance(information, scaling, ridge)
    return {
        "standard_errors": None if covariance is None else np.sqrt(np.maximum(np.diag(covariance), 0)),
        "covariance": covariance,
        "deviance": sums.deviance,
        "null_deviance": sums.null_deviance,
        "dispersion": 1.0,
        "log_likelihood": -sums.deviance / 2 if covariance is not None and not ridge else None,
        "numbers": {"events": int(sums.events), "concordance": sums.concordance, "penalised": bool(ridge > 0)},
    }


def unscaled_covariance(information: np.ndarray, ridge: float) -> np.ndarray:
    """(X'WX)^-1, or of a penalised estimator, through the matrix of unit diagonal."""
    H = information + np.diag(penalties(len(information), ridge))
    scale = 1 / np.sqrt(np.diag(H))
    inverse = np.linalg.inv(H * np.outer(scale, scale)) * np.outer(scale, scale)
    covariance = inverse @ information @ inverse if ridge else inverse
    return (covariance + covariance.T) / 2


def deviance_r2(deviance: float, null_deviance: float) -> float:
    """Share of the null deviance that a fit explains, 1 - D / D_0.

    Seed 004 calls it McFadden's 1 - log L / log L_0, which it is of binomial responses of one trial a record only.
    """
    return float(1 - deviance / null_deviance)


def aic_published(deviance: float, q: int) -> float:
    """D + 2 q as document 004 has it: with a family that estimates its dispersion it depends on the unit of y."""
    return float(deviance + 2 * q)


def aic(log_likelihood: float, q: int, family: str) -> float:
    """-2 log L + 2 q, and 2 more where the dispersion is estimated, as R does; ``cox`` has one coefficient less.

    With weights the likelihood is that of dispersions phi / w_i, as statsmodels has it: R's AIC of Gamma and inverse
    Gaussian models takes weights for numbers of records instead.
    """
    estimated = -1 if family == COX else FACTS[family].estimates_dispersion
    return float(-2 * log_likelihood + 2 * (q + estimated))


class Wald(NamedTuple):
    """Tests and intervals of coefficients: statistic (q,), two-sided p-value (q,), interval (q, 2)."""

    statistic: np.ndarray
    p_values: np.ndarray
    interval: np.ndarray


def wald(coefficients: np.ndarray, standard_errors: np.ndarray, df: int | None, level: float = 0.95) -> Wald:
    """Wald tests of coefficients (q,): normal where ``df`` is None (known dispersion), else Student's t.

    A coefficient whose standard error is 0 has no test: nan.
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} of an interval must lie in (0, 1).")
    statistic = np.full(len(coefficients), np.nan)
    np.divide(coefficients, standard_errors, out=statistic, where=standard_errors > 0)
    tail = ndtr(-np.abs(statistic)) if df is None else stdtr(df, -np.abs(statistic))
    reach = float(ndtri((1 + level) / 2) if df is None else stdtrit(df, (1 + level) / 2))
    ends = coefficients[:, None] + reach * standard_errors[:, None] * np.array([-1.0, 1.0])
    return Wald(statistic, 2 * tail, ends)


def deviance_table(
    deviance: float, null_deviance: float, dispersion: float | None, df_residual: int, columns: int, estimated: bool
) -> list[dict[str, float | str | None]]:
    """Analysis of deviance: of the intercept alone, of all columns together, of what is left."""
    gained, statistic, p_value = null_deviance - deviance, None, None
    if columns and dispersion:
        statistic = gained / dispersion / (columns if estimated else 1)
        p_value = float(fdtrc(columns, df_residual, statistic) if estimated else chdtrc(columns, statistic))
    return [
        {"source": "null", "df": df_residual + columns, "deviance": null_deviance},
        {"source": "columns", "df": columns, "deviance": gained, "statistic": statistic, "p_value": p_value},
        {"source": "residual", "df": df_residual, "deviance": deviance},
    ]
