"""Penalised paths from second moments: post-processing of what was released or opened, without a record.

With S (p, p) the second moments of centred columns and q (p,) those with the response, slopes b of a path minimise

    b'Sb / 2 - q'b + lambda (alpha |b|_1 + (1 - alpha) |b|^2 / 2)

on columns in their public units (released moments), or of standard deviation 1 (opened sums): for Gaussian responses
the penalised least squares of scikit-learn, for others the quadratic around the unpenalised fit, which is approximate.
Eigenvalues of a noisy S are raised to twice the noise of an entry.  The debiased b + S^-1 (q - S b) is S^-1 q, the
unpenalised fit of the same matrix, at every choice: its standard errors are reported, and a path has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import summary_rows
from ...models.coordinate_descent import descend
from ...models.family_facts import FamilyName
from ...models.intervals import Intervals, reason_of
from .diagnostics import deviance_r2
from .model import GlmEstimate
from .noisy_statistics.moments import NoisyMoments
from .noisy_statistics.submodels import coefficients, from_slopes, least_residual, noise_parts
from .options import Choice, PenalisedOptions, Penalty, lasso_share

# Values of lambda, and the least over the largest.
VALUES, SPAN = 40, 1e-3
NO_ERRORS = "a penalised path has no standard errors: those of the unpenalised fit of the same matrix are in path()"


@dataclass(frozen=True, eq=False)
class LassoPath:
    """Coefficients along a penalised path, which of them was chosen, and the unpenalised fit of the same matrix.

    penalty, alpha : what was penalised; ``alpha`` is the share of the absolute penalty
    lambdas : (L,) decreasing; coefficients : (L, 1 + p) of the columns as given, the intercept first
    place : of the chosen lambda; names : (p,) of the columns
    approximate : whether the quadratic takes the place of another likelihood
    unpenalised_fit : (1 + p,) coefficients without a penalty; intervals : theirs, or why there are none
    """

    penalty: Penalty
    alpha: float
    lambdas: np.ndarray
    coefficients: np.ndarray
    place: int
    names: tuple[str, ...]
    approximate: bool
    unpenalised_fit: np.ndarray
    intervals: Intervals

    @property
    def choice(self) -> np.ndarray:
        """(1 + p,) coefficients at the chosen lambda."""
        return np.asarray(self.coefficients[self.place])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns whose chosen coefficient is not 0."""
        return tuple(name for name, b in zip(self.names, self.choice[1:], strict=True) if b)

    def summary(self) -> str:
        """Chosen columns, with the coefficients, standard errors and 95 % intervals of the unpenalised fit."""
        places = [0, *(1 + self.names.index(name) for name in self.columns)]
        lines = [
            f"{self.penalty}, lambda {self.lambdas[self.place]:.4g}: {len(self.columns)} of {len(self.names)} columns"
        ]
        table = {"penalised": self.choice, "unpenalised": self.unpenalised_fit}
        bounds = self.intervals.bounds()
        if bounds is None or self.intervals.standard_errors is None:
            lines.append(f"no intervals: {self.intervals.reason}")
        else:
            lines.append("standard errors and intervals are of the unpenalised fit and do not account for the choice")
            table |= {"std err": self.intervals.standard_errors, "2.5 %": bounds[:, 0], "97.5 %": bounds[:, 1]}
        names = ["intercept", *self.columns]
        rows = {title: values[places] for title, values in table.items()}
        return "\n".join([*lines, *summary_rows(rows, names, 1 + max(map(len, names)))])


@dataclass(frozen=True, eq=False)
class PathMoments:
    """Moments that a path follows from.

    matrix, cross : S (p, p) and q (p,); total : variance of the response; n : records
    noise : variances (p,) of the noise of q - S b at slopes b
    back : coefficients (1 + p,) of the columns as given, from slopes b
    """

    matrix: np.ndarray
    cross: np.ndarray
    total: float
    n: int
    noise: Callable[[np.ndarray], np.ndarray]
    back: Callable[[np.ndarray], np.ndarray]
    least: float = 0.0

    @classmethod
    def of_release(cls, moments: NoisyMoments, family: FamilyName) -> PathMoments:
        """The moments of a release."""
        columns = list(range(moments.public.columns))
        entry = moments.sd * float(np.sqrt(np.mean(moments.copies[:-1, :-1]) / 2))
        values, vectors = np.linalg.eigh(moments.covariance[:-1, :-1])

        def noise(b: np.ndarray) -> np.ndarray:
            products, centring = noise_parts(moments, b, columns)
            return np.asarray(np.diagonal(products) + np.sum(centring**2, axis=1))

        def back(b: np.ndarray) -> np.ndarray:
            chosen = np.flatnonzero(b).tolist()
            return from_slopes(moments, family, chosen, b[chosen])

        matrix, cov = (vectors * np.maximum(values, 2 * entry)) @ vectors.T, moments.covariance
        return cls(matrix, cov[:-1, -1], float(cov[-1, -1]), moments.n, noise, back, least_residual(moments))

    @classmethod
    def of_fit(cls, estimate: GlmEstimate, n: int) -> PathMoments:
        """The moments behind an unpenalised fit: those of the columns, weighted as at its optimum."""
        if estimate.covariance is None or estimate.dispersion is None:
            raise ValueError("the fit has no covariance: a path follows from a fit that reached its optimum.")
        inverse, beta = np.linalg.inv(estimate.covariance[1:, 1:]), estimate.coefficients
        matrix, shift = estimate.dispersion * inverse / n, inverse @ estimate.covariance[1:, 0]
        scale = np.sqrt(np.diag(matrix))
        unit, slopes = matrix / np.outer(scale, scale), beta[1:] * scale
        q = 1 + len(scale)
        rest = estimate.dispersion * (n - q) / n

        def back(b: np.ndarray) -> np.ndarray:
            slopes_as_given = b / scale
            return np.append(beta[0] + shift @ (slopes_as_given - beta[1:]), slopes_as_given)

        total = rest + float(slopes @ unit @ slopes)
        return cls(unit, unit @ slopes, total, n, np.zeros_like, back)

    def residual(self, b: np.ndarray) -> float:
        """Variance of the response around its linear predictor."""
        return max(self.total - float(b @ (2 * self.cross - self.matrix @ b)), self.least)

    def threshold(self, b: np.ndarray) -> float:
        """Size that noise and sampling alone give the largest entry of q - S b: sqrt(2 log p) deviations."""
        sampling = self.residual(b) * float(np.mean(np.diag(self.matrix))) / self.n
        return float(np.sqrt(2 * np.log(max(len(b), 2)) * (np.max(self.noise(b)) + sampling)))

    def criterion(self, b: np.ndarray, ridge: float) -> float:
        """BIC, with the trace of the smoother as its number of parameters."""
        used = np.flatnonzero(b)
        part = self.matrix[np.ix_(used, used)]
        df = float(np.trace(np.linalg.solve(part + ridge * np.eye(len(used)), part)))
        return self.n * float(np.log(self.residual(b))) + df * float(np.log(self.n))

    def slopes(self, lambdas: np.ndarray, alpha: float) -> np.ndarray:
        """(L, p) slopes along decreasing lambdas."""
        ones, b, path = np.ones(len(self.cross)), np.zeros(len(self.cross)), []
        for value in lambdas:
            b = descend(self.matrix, self.cross, value * alpha * ones, value * (1 - alpha) * ones, b)
            path.append(b)
        return np.array(path)


def path_of(
    moments: PathMoments,
    penalty: Penalty,
    alpha: float | None,
    lambdas: Sequence[float] | None,
    choose: Choice,
    names: Sequence[str],
    unpenalised_fit: np.ndarray,
    intervals: Intervals,
    approximate: bool,
) -> LassoPath:
    """Return the path and its choice; ``choose`` as a number is one of its lambdas."""
    share = lasso_share(penalty, alpha, choose)
    top = float(np.max(np.abs(moments.cross), initial=0.0)) / max(share, SPAN)
    grid = top * np.geomspace(1, SPAN, VALUES) if lambdas is None else np.asarray(lambdas, dtype=float)
    if isinstance(choose, float | int):
        grid = np.append(grid, float(choose))
    grid = np.unique(grid)[::-1]
    if not len(grid) or not np.all(np.isfinite(grid) & (grid >= 0)):
        raise ValueError(f"lambdas={lambdas!r}: give finite numbers of at least 0.")
    path = moments.slopes(grid, share)
    if choose == "universal":
        above = [place for place, b in enumerate(path) if share * grid[place] >= moments.threshold(b)]
        place = max(above, default=0)
    elif choose == "bic":
        place = int(np.argmin([moments.criterion(b, grid[k] * (1 - share)) for k, b in enumerate(path)]))
    else:
        place = int(np.flatnonzero(grid == float(choose))[0])
    fits = np.array([moments.back(b) for b in path])
    return LassoPath(penalty, share, grid, fits, place, tuple(names), approximate, unpenalised_fit, intervals)


def path_of_estimate(
    estimate: GlmEstimate,
    family: FamilyName,
    n: int,
    penalty: Penalty,
    alpha: float | None,
    lambdas: Sequence[float] | None,
    choose: Choice,
    names: Sequence[str],
) -> LassoPath:
    """The path behind an unpenalised estimate, from its released moments or its covariance."""
    settings, approximate = (penalty, alpha, lambdas, choose, names), family != "gaussian"
    if estimate.moments is not None:
        intervals = estimate.intervals
        fit = coefficients(estimate.moments, family) if intervals.centre is None else intervals.centre
        return path_of(PathMoments.of_release(estimate.moments, family), *settings, fit, intervals, approximate)
    fit, errors = estimate.coefficients, estimate.standard_errors
    return path_of(PathMoments.of_fit(estimate, n), *settings, fit, Intervals(fit, errors), approximate)


def penalise(
    estimate: GlmEstimate, family: FamilyName, n: int, options: PenalisedOptions, names: Sequence[str]
) -> GlmEstimate:
    """Return the estimate with the coefficients that the options choose along the path; as it is without a penalty."""
    if options.penalty is None:
        return estimate
    path = path_of_estimate(estimate, family, n, options.penalty, options.alpha, None, options.choose, names)
    numbers: dict[str, float | int | bool | str | None] = {}
    deviance, null, covariance = estimate.deviance, estimate.null_deviance, estimate.covariance
    if not (deviance is None or null is None or covariance is None or estimate.dispersion is None):
        change = path.choice[1:] - estimate.coefficients[1:]
        deviance += estimate.dispersion * float(change @ np.linalg.solve(covariance[1:, 1:], change))
        numbers |= {"deviance_r2": deviance_r2(deviance, null), "aic_published": None}
    bare = without_errors(estimate)
    numbers = bare.numbers | numbers
    value = float(path.lambdas[path.place])
    return replace(bare, coefficients=path.choice, deviance=deviance, numbers=numbers, penalty_lambda=value)


def without_errors(estimate: GlmEstimate) -> GlmEstimate:
    """Return the estimate of a penalised fit, which has no errors and no likelihood."""
    return replace(
        estimate,
        standard_errors=None,
        covariance=None,
        log_likelihood=None,
        noise_errors=None,
        noise_errors_reason=NO_ERRORS if estimate.moments is not None else "",
        intervals=Intervals(reason=reason_of("penalised path", NO_ERRORS)),
        numbers=estimate.numbers | {"aic": None},
    )
