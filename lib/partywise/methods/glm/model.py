"""Public facts before a model is fitted, and the estimate that a fit returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from ...models.intervals import NOT_COMPUTED, Intervals
from ...models.kinds import Kind
from ...privacy.accounted_values import AccountedValue
from .options import GlmFamily, RadiusRule

if TYPE_CHECKING:
    from .noisy_statistics.clip_counts import NoisyCounts
    from .noisy_statistics.moments import NoisyMoments
    from .noisy_statistics.scores import NoisyScores

Status = Literal["ok", "not_converged", "diverged", "not_estimable", "singular"]


@dataclass(frozen=True)
class GlmFacts:
    """Facts that everyone may know before any data are seen.

    family : of the response
    names : of the columns of all parties, by their global numbers
    aligned : whether the rows of all parties are the same records in the same order; otherwise blocks hold ``ids``
    location, scale : (p,) by which private protocols centre and scale columns, by the meaning of each column
    radii : clipping radius of the scaled block of a party, by its name; by default the length that 0.3 % of normal
        records exceed (2.97, 3.41, 4.24, 5.16 of 1, 2, 5, 10 columns)
    statistic : (low, high), range of the response statistic t (y; its logarithm for Gamma and inverse Gaussian)
    eta_start : linear predictor at which noisy iterations start
    radius_rule : of the radii that are not given, as of `partywise.methods.glm.options.GlmMomentsOptions`
    kinds : (p,) how each column is distributed, by its meaning; None of a column, or empty, where it is not declared
    records_per_person : public bound on the records of one person
    """

    family: GlmFamily
    names: tuple[str, ...]
    aligned: bool = True
    location: AccountedValue | None = None
    scale: AccountedValue | None = None
    radii: Mapping[str, AccountedValue] = field(default_factory=dict)
    statistic: AccountedValue | None = None
    eta_start: AccountedValue | None = None
    radius_rule: RadiusRule = "chi"
    kinds: tuple[Kind | None, ...] = ()
    records_per_person: int = 1

    @property
    def kinds_of_columns(self) -> dict[str, Kind]:
        """Declared kinds by the names of their columns."""
        return {name: kind for name, kind in zip(self.names, self.kinds, strict=False) if kind is not None}

    def names_of(self, groups: Iterable[Sequence[int]]) -> list[str]:
        """Names in the order of groups of columns, as the coefficients of a joint fit are."""
        return [self.names[column] for group in groups for column in group]


@dataclass(frozen=True)
class GlmEstimate:
    """Result of every protocol of vertical generalised linear models.

    coefficients : (1 + p,) on the scale of the columns as they were given, the intercept first, by the global numbers
        of the columns, as only an evaluator sees them
    epsilon_claimed : the target of private protocols; nan where the source claims no number
    status : ``ok`` fits alone have standard errors; ``not_estimable``: the coefficients hold, the rest does not follow
    reason : what stopped a fit that is not ``ok``
    standard_errors : (1 + p,), of the family's model, without the noise of privacy; None where no party opened them
    covariance : (1 + p, 1 + p) of the coefficients, likewise
    noise_errors : (1 + p,) standard deviation that the noise of privacy gives each coefficient, to first order and from
        what was released alone; None without such noise, or where the next field states why
    noise_errors_reason : why a noisy fit has none
    intervals : of the coefficients over records and noise, where noise was released; else why there are none
    deviance, null_deviance, dispersion, log_likelihood : as the protocol itself reports them; None where it does not
    iterations : iterations or sweeps; None where there are none
    objective : (t,) penalised deviance by iteration, the start first, as an evaluator sees it; empty if none
    correlation : (p, p) of the same release as the coefficients; None of protocols that have none
    moments : what the coefficients of any submodel follow from at no further cost
        (`partywise.methods.glm.noisy_statistics.submodels.coefficients`); None of protocols that have none
    scores : released scores and second moments that intervals rest on; None of protocols that have none
    clip_counts : numbers of records beyond public bounds, with noise; None where they were not released
    penalty_lambda : that was chosen along a penalised path; None where none was
    baseline : times and cumulated hazard (2, U) at the means of the columns by stratum, of family ``cox``, which the
        active party has
    views : what one participant holds of another party's records, for attacks on its view: columns are n-vectors
        in the order in which they arrived, by names ``who: whose``, of sums ``who: one + another``
    rows : positions of the used records in the block of every party, by its name; None where records came aligned
    numbers : further scalars of the fit (openings, record_openings, secure_products, ...)
    """

    coefficients: np.ndarray
    epsilon_claimed: float = float("nan")
    status: Status = "ok"
    reason: str = ""
    standard_errors: np.ndarray | None = None
    covariance: np.ndarray | None = None
    noise_errors: np.ndarray | None = None
    noise_errors_reason: str = ""
    intervals: Intervals = NOT_COMPUTED
    deviance: float | None = None
    null_deviance: float | None = None
    dispersion: float | None = None
    log_likelihood: float | None = None
    iterations: int | None = None
    objective: np.ndarray = field(default_factory=lambda: np.empty(0))
    correlation: np.ndarray | None = None
    moments: NoisyMoments | None = None
    scores: NoisyScores | None = None
    clip_counts: NoisyCounts | None = None
    penalty_lambda: float | None = None
    baseline: Mapping[str, np.ndarray] | None = None
    views: Mapping[str, np.ndarray] = field(default_factory=dict)
    rows: Mapping[str, np.ndarray] | None = None
    numbers: dict[str, float | int | bool | str | None] = field(default_factory=dict)

    @property
    def known_intervals(self) -> Intervals:
        """Wald's intervals where there are standard errors, otherwise ``intervals``."""
        if self.standard_errors is None:
            return self.intervals
        return Intervals(self.coefficients, self.standard_errors, noise_part=np.zeros_like(self.standard_errors))

    def predictor(self, X: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
        """(n,) linear predictors of the rows of X (n, p), with their offset if there is one."""
        eta = X @ self.coefficients[1:] + self.coefficients[0]
        return eta if offset is None else eta + offset
