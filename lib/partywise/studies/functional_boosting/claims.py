"""Privacy claims of document 000: noise on curves, their clipping radius, the budget, and what else is sent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Annotated

from ...core.checks import Count, Positive, Range
from ...experiment.claims import Claim, ClaimSettings, Document, Mechanism
from ...experiment.study import Lazy

DOCUMENT = Document("000", "000 functional boosting")


@dataclass(frozen=True)
class CurveClaim(ClaimSettings):
    """Curves in orthonormal coordinates with a public clipping radius of the L2 norm."""

    n_basis: Count = 15
    radius: Positive = 1.0


@dataclass(frozen=True)
class SplineSettings(CurveClaim):
    """Cubic B-splines on [start, end]."""

    n_basis: Annotated[int, Range(4)] = 15
    start: float = 0.0
    end: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isfinite(self.start) and isfinite(self.end) and self.start < self.end):
            raise ValueError(f"start and end are {self.start} and {self.end}: they must be finite and increasing.")


@dataclass(frozen=True)
class BudgetSettings(CurveClaim):
    """Curves of several predictors, dealt to the owners."""

    n_predictors: Count = 20

    @property
    def releases(self) -> int:
        """One of each predictor."""
        return self.n_predictors


_EXPOSURES = "partywise.studies.functional_boosting.leaks:"
_form = partial(Mechanism.of, _EXPOSURES)
_claim = partial(Claim, document=DOCUMENT, unit="features")
CLAIMS = (
    _claim(
        name="covariance",
        title="curves with noise covariance s2M - {n_basis} splines on {start:g} to {end:g}",
        plain="noisy curves: {n_basis} splines per curve",
        remedy="covariance s2 times the inverse of M",
        settings=SplineSettings,
        generate=Lazy(_EXPOSURES + "spline_curves"),
        published=_form("curves", "covariance_published"),
        correction=_form("curves", "covariance_corrected"),
    ),
    _claim(
        name="orthonormal",
        title="curves with white noise on orthonormal coordinates",
        remedy="analytic noise level",
        control=True,
        settings=CurveClaim,
        generate=Lazy(_EXPOSURES + "antipodal_curves"),
        published=_form("curves", "orthonormal_published"),
        correction=_form("curves", "orthonormal_corrected"),
    ),
    _claim(
        name="radius",
        title="clip radius at the 95th percentile of the data",
        remedy="private quantile",
        states="free",
        settings=CurveClaim,
        generate=Lazy(_EXPOSURES + "long_curve"),
        published=_form("radius", "radius_published"),
        correction=_form("radius", "radius_corrected"),
    ),
    _claim(
        name="budget",
        title="noise times root J - {n_predictors} predictors",
        plain="noise for {n_predictors} predictors, split among parties",
        remedy="noise times the root of the number of predictors",
        settings=BudgetSettings,
        generate=Lazy(_EXPOSURES + "curves_of_predictors"),
        published=_form("curves", "budget_published"),
        correction=_form("curves", "budget_corrected"),
    ),
    _claim(
        name="messages",
        title="residuals sent to the parties",
        remedy="released response",
        unit="label",
        states="none",
        settings=CurveClaim,
        generate=Lazy(_EXPOSURES + "antipodal_curves"),
        published=_form("residuals", "residuals"),
        correction=_form("response", "response"),
    ),
)
