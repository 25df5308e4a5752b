"""Options of the numerics, one frozen dataclass each, checked when made.

Kept free of imports beyond the standard library: the pipeline checks a configuration with them before any job.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..checks import at_least, one_of, whole

STOPS = ("cv", "aic", "aicc", "cv_published", "aic_train", "aic_train_dp")


@dataclass(frozen=True)
class BoostingOptions:
    """How the boosting path is walked; the defaults are the certified method.

    ``score`` subtracts from the raw validation loss the noise of all blocks (``debiased``), of none (``raw``) or of
    the candidate's own block (``published``).  ``crossfit`` gives each half its own path (``own``), one shared path
    (``shared``, as published) or scores on the training records (``none``).  ``update`` adds nu times the solution
    on the gradient (``boost``), the partial-residual solution itself (``published``: a counter-example, it grows
    without bound) or the difference to it (``backfit``).  ``cv_published``, ``aic_train`` and ``aic_train_dp`` are
    the criteria of the source.
    """

    stop: str = "cv"
    sse: str = "debiased"
    update: str = "boost"
    score: str = "debiased"
    crossfit: str = "own"
    stabiliser: str = "project"
    projection: float = 1.0
    alpha: float = 0.05
    ridge: float = 1e-6
    h_ridge: float = 1e-10
    df: str = "exact"
    lambda_s: float = 1e-3
    lambda_t: float = 1e-3
    lambda_st: float = 0.0
    nu: float = 0.3
    max_steps: int = 100
    min_steps: int = 1
    patience: int = 6

    def __post_init__(self) -> None:
        one_of("stop", self.stop, STOPS)
        one_of("sse", self.sse, ("debiased", "raw"))
        one_of("update", self.update, ("boost", "published", "backfit"))
        one_of("score", self.score, ("debiased", "raw", "published"))
        one_of("crossfit", self.crossfit, ("own", "shared", "none"))
        one_of("stabiliser", self.stabiliser, ("project", "published", "none"))
        one_of("df", self.df, ("exact", "hutchinson"))
        at_least(
            lambda_s=(self.lambda_s, 0),
            lambda_t=(self.lambda_t, 0),
            lambda_st=(self.lambda_st, 0),
            projection=(self.projection, 0),
            ridge=(self.ridge, 0),
            h_ridge=(self.h_ridge, 0),
            max_steps=(self.max_steps, 1),
            min_steps=(self.min_steps, 1),
            patience=(self.patience, 1),
        )
        whole(max_steps=self.max_steps, min_steps=self.min_steps, patience=self.patience)
        if not 0 < self.nu <= 1:
            raise ValueError(f"nu is {self.nu}: the shrinkage must lie in (0, 1].")
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha is {self.alpha}: the share of shrinkage must lie in [0, 1].")
        if self.min_steps > self.max_steps:
            raise ValueError(f"min_steps is {self.min_steps}: it must not exceed max_steps ({self.max_steps}).")
        if self.crossfit == "none" and self.stop in ("cv", "cv_published"):
            raise ValueError(f"stop is {self.stop!r} with crossfit 'none': use aic or aicc, or cross-fitted halves.")

    @property
    def lambdas(self) -> tuple[float, float, float]:
        """(lambda_s, lambda_t, lambda_st)."""
        return self.lambda_s, self.lambda_t, self.lambda_st
