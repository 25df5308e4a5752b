"""The generator of survival data: Weibull hazards that differ by client, with clipped normal and binary covariates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.randomness import stream
from .records import SurvivalRecords

# Coefficients of the six covariates; moderate effects are half of them.
STRONG = (0.5, -0.4, 0.3, 0.0, 0.6, -0.3)
# Beyond which a normal covariate is cut off.
REACH = 2.0
# Of the limit of pooled fits: records whose covariates stand for all, steps of time, and Newton's steps.
LIMIT_RECORDS, LIMIT_STEPS, NEWTON_STEPS = 1000, 100, 6


@dataclass(frozen=True)
class Weibull:
    """Weibull model of n records, in blocks of equal size with a baseline each.

    coefficients : log hazard ratios (p,) of the covariates as they are drawn; the first p // 2 normal, clipped to
        [-2, 2], the others indicators
    shape : of the Weibull hazard; baselines : its factor by block; censoring : mean of the exponential censoring time
    correlation : rho, between any two of the normal variables behind the covariates
    horizon : tau, where follow-up ends
    hazard_ratio : of group 1 against group 0, where there are two groups; None: one group
    """

    coefficients: Sequence[float] = STRONG
    shape: float = 1.3
    baselines: Sequence[float] = (1.0, 0.8, 1.25)
    censoring: float = 2.5
    correlation: float = 0.3
    horizon: float = 2.0
    hazard_ratio: float | None = None

    @property
    def centre(self) -> np.ndarray:
        """Public centre (p,) of the covariates."""
        p = len(self.coefficients)
        return np.where(np.arange(p) < p // 2, 0.0, 0.5)

    @property
    def half_width(self) -> np.ndarray:
        """Public half width (p,)."""
        p = len(self.coefficients)
        return np.where(np.arange(p) < p // 2, REACH, 0.5)

    def draw(self, n: int, rng: np.random.Generator) -> SurvivalRecords:
        """n records with raw covariates; those of a block are neighbours."""
        covariates = self._covariates(n, rng)
        groups = np.zeros(n, dtype=int) if self.hazard_ratio is None else rng.integers(2, size=n)
        predictor = covariates @ np.asarray(self.coefficients, dtype=float)
        if self.hazard_ratio is not None:
            predictor = predictor + groups * np.log(self.hazard_ratio)
        blocks = np.asarray(self.baselines, dtype=float)[np.arange(n) * len(self.baselines) // n]
        event = (rng.exponential(size=n) / (blocks * np.exp(predictor))) ** (1 / self.shape)
        censored = rng.exponential(self.censoring, size=n)
        times = np.minimum(np.minimum(event, censored), self.horizon)
        return SurvivalRecords(times, (event <= censored) & (event <= self.horizon), covariates, groups)

    def _covariates(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw raw covariates (n, p)."""
        p = len(self.coefficients)
        common, individual = rng.standard_normal((n, 1)), rng.standard_normal((n, p))
        normal = np.sqrt(self.correlation) * common + np.sqrt(1 - self.correlation) * individual
        return np.where(np.arange(p) < p // 2, np.clip(normal, -REACH, REACH), normal > 0)

    def pooled_coefficients(self) -> np.ndarray:
        """Log hazard ratios (p,) to which a Cox fit of all records, with one baseline, tends as n grows.

        They are the coefficients where all records have one baseline, else nearer to 0: records with a high baseline
        leave first, as those with a high predictor do (Struthers and Kalbfleisch 1986, Biometrika 73, 363-369).
        Events are expected values, so that the sample of covariates hardly matters.
        """
        x = self._covariates(LIMIT_RECORDS, stream(0, "survival", "limit"))
        ratios = (1.0,) if self.hazard_ratio is None else (1.0, self.hazard_ratio)
        hazards = np.outer(self.baselines, ratios).reshape(-1, 1, 1) * np.exp(x @ np.asarray(self.coefficients))
        edges = np.linspace(0, self.horizon, LIMIT_STEPS + 1)
        times, steps = (edges[1:] + edges[:-1])[:, None] / 2, np.diff(edges**self.shape)[:, None]
        at_risk = np.exp(-hazards * times**self.shape - times / self.censoring)
        events, at_risk = (at_risk * hazards * steps).sum(axis=0), at_risk.sum(axis=0)
        by_time, coefficients = events.sum(axis=1), np.array(self.coefficients, dtype=float)
        for _ in range(NEWTON_STEPS):
            weights = at_risk * np.exp(x @ coefficients)
            weights *= by_time[:, None] / weights.sum(axis=1, keepdims=True)
            means = weights @ x / by_time[:, None]
            information = (x.T * weights.sum(axis=0)) @ x - (means.T * by_time) @ means
            coefficients += np.linalg.solve(information, events.sum(axis=0) @ x - by_time @ means)
        return coefficients

    def survival(self, times: np.ndarray, group: int = 0) -> np.ndarray:
        """True survival (m,) of a group without covariates at times (m,), the mean over blocks."""
        ratio = self.hazard_ratio if self.hazard_ratio is not None and group == 1 else 1.0
        blocks = np.asarray(self.baselines, dtype=float)
        return np.exp(-ratio * blocks[:, None] * np.asarray(times, dtype=float)[None, :] ** self.shape).mean(axis=0)
