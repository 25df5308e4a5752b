"""Options of the numerics, one frozen dataclass each, checked when made.

Kept free of imports beyond the standard library: the pipeline checks a configuration with them before any job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...core.checks import Count, Matrix, NotNegative, Probability, Range, check_fields, check_unread_options


@dataclass(frozen=True)
class PenaltyOptions:
    """Penalties of a fit, and the floor under its noisy covariance.

    projection : eigenvalues stay above this many times the noise of their moments
    penalty : ``second_derivative`` or ``none``, on each side that has no matrix of its own
    penalty_scale : ``spectral`` divides a penalty by its largest eigenvalue; ``none`` is the source's
    omega_x, omega_y : penalties of your own on the coefficients of a predictor and of the response, public constants:
        symmetric matrices without negative eigenvalues, as rows of numbers or ``file: NAME.csv``; of the predictors
        also one for each, as a list or ``file: NAME.npz``
    """

    projection: NotNegative = 1.0
    lambda_s: NotNegative = 1e-3
    lambda_t: NotNegative = 1e-3
    lambda_st: NotNegative = 0.0
    penalty: Literal["second_derivative", "none"] = "second_derivative"
    penalty_scale: Literal["spectral", "none"] = "spectral"
    omega_x: Matrix | None = None
    omega_y: Matrix | None = None

    def __post_init__(self) -> None:
        for name in ("omega_x", "omega_y"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Matrix):
                object.__setattr__(self, name, Matrix.of(name, value))
        check_fields(self)
        if self.omega_x is not None and self.omega_y is not None:
            check_unread_options(self, ("penalty",), "a side without omega_x or omega_y")

    @property
    def lambdas(self) -> tuple[float, float, float]:
        """(lambda_s, lambda_t, lambda_st)."""
        return self.lambda_s, self.lambda_t, self.lambda_st


@dataclass(frozen=True)
class WalkOptions(PenaltyOptions):
    """Length of the walk along a boosting path.  Protocols with no other choice walk the certified path."""

    nu: Probability = 0.3
    max_steps: Count = 100
    min_steps: Count = 1
    patience: Count = 6

    stop = "cv"
    update = "boost"
    crossfit = "own"
    stabiliser = "project"
    score = sse = "debiased"
    df = "exact"
    probes = 5
    solver = "diagonal"
    alpha, ridge, h_ridge = 0.05, 1e-6, 1e-10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_steps > self.max_steps:
            raise ValueError(f"min_steps is {self.min_steps}: it must not exceed max_steps ({self.max_steps}).")


@dataclass(frozen=True)
class PathOptions(WalkOptions):
    """Options of the walk along the boosting path; the defaults are the certified method.

    ``crossfit`` gives each half its own path (``own``), one shared path (``shared``, as published) or scores on the
    training records (``none``).  ``update`` adds nu times the solution on the gradient (``boost``), the
    partial-residual solution itself (``published``: a counter-example, it grows without bound) or the difference to it
    (``backfit``).  ``cv_published``, ``aic_train`` and ``aic_train_dp`` are the criteria of the source.
    """

    stop: Literal["cv", "aic", "aicc", "cv_published", "aic_train", "aic_train_dp"] = "cv"
    update: Literal["boost", "published", "backfit"] = "boost"
    crossfit: Literal["own", "shared", "none"] = "own"
    stabiliser: Literal["project", "published", "none"] = "project"
    alpha: Annotated[float, Range(0, 1)] = 0.05
    ridge: NotNegative = 1e-6
    h_ridge: NotNegative = 1e-10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.crossfit == "none" and self.stop in ("cv", "cv_published"):
            raise ValueError(f"stop is {self.stop!r} with crossfit 'none': use aic or aicc, or cross-fitted halves.")

    def refuse_unread(self) -> None:
        """Raise a named error for an option that was changed although no step of this path reads it."""
        if self.stabiliser != "published":
            check_unread_options(self, ("alpha", "ridge", "h_ridge"), "stabiliser 'published'")
        if self.stabiliser != "project":
            check_unread_options(self, ("projection",), "stabiliser 'project'")
        if self.stop in ("cv", "cv_published"):
            check_unread_options(self, ("df", "probes"), "stop 'aic', 'aicc', 'aic_train' or 'aic_train_dp'")
        if self.df != "hutchinson":
            check_unread_options(self, ("probes",), "df 'hutchinson'")
        if self.stop not in ("cv", "aic", "aicc"):
            check_unread_options(self, ("sse",), "stop 'cv', 'aic' or 'aicc'")


@dataclass(frozen=True)
class BoostingOptions(PathOptions):
    """A path on noisy records.

    score : subtract from the raw validation loss the noise of all blocks (``debiased``), of none (``raw``) or of the
        candidate's own block (``published``)
    probes : random vectors of the trace that ``df: hutchinson`` estimates
    """

    score: Literal["debiased", "raw", "published"] = "debiased"
    sse: Literal["debiased", "raw"] = "debiased"
    df: Literal["exact", "hutchinson"] = "exact"
    probes: Count = 5
