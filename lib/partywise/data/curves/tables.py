"""Curves of one record each on a regular grid: the table that every loader returns, gaps in them, and smoothing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..reading import require
from .descriptions import UnitChange


@dataclass(frozen=True)
class CurveTable:
    """N records, each with one response curve and p predictor curves, on public scales.

    hours, hours_x : (T_y,) and (T_x,) float, where ``y`` and ``x`` are given: the middle of each hour of the clock
    domain, domain_x : start and end of the two grids, in hours
    y : (N, T_y) float, dimensionless: ``y_scale.undo`` gives it in ``y_scale.unit``; y_party : who holds it
    x : (N, p, T_x) float, dimensionless, scaled one by one by ``x_scales``
    predictor_names, party_names : (p,) str, predictors and who holds each
    block : (N,) int; records of one block depend on each other and are held out together: fold = block modulo folds
    dates : (N,) str, YYYY-MM-DD
    sha256 : of the files that were read, by their names; notes : what a reader of a figure has to know
    """

    hours: np.ndarray
    hours_x: np.ndarray
    domain: tuple[float, float]
    domain_x: tuple[float, float]
    y: np.ndarray
    x: np.ndarray
    y_scale: UnitChange
    x_scales: tuple[UnitChange, ...]
    y_party: str
    predictor_names: np.ndarray
    party_names: np.ndarray
    block: np.ndarray
    dates: np.ndarray
    sha256: dict[str, str]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        n, p = self.x.shape[:2]
        require(self.y.shape == (n, self.hours.size), f"y has shape {self.y.shape}, x {self.x.shape}")
        require(self.x.shape[2] == self.hours_x.size, f"x has shape {self.x.shape}, {self.hours_x.size} hours")
        for name, size in (("predictor_names", p), ("party_names", p), ("block", n), ("dates", n)):
            require(getattr(self, name).shape == (size,), f"{name} has {len(getattr(self, name))} entries, not {size}")
        require(len(self.x_scales) == p, f"x_scales has {len(self.x_scales)} entries, not {p}")
        require(bool(np.isfinite(self.y).all() and np.isfinite(self.x).all()), "a curve has a value that is not finite")


def fill_gaps(curves: np.ndarray, longest: int) -> np.ndarray:
    """Fill missing values of curves, each from its own measured values only.

    A record is one curve: a line drawn into the next curve would carry its values into two records.  Inside a curve a
    gap is on the straight line between the measured neighbours; at either end it keeps the nearest measured value.
    """
    filled = np.array(curves, dtype=float)
    places = np.arange(filled.shape[-1])
    for curve in filled.reshape(-1, len(places)):
        known = np.flatnonzero(~np.isnan(curve))
        if not 0 < len(known) < len(places):
            continue
        curve[:] = np.interp(places, known, curve[known])
        for left, right in pairwise([-1, *known.tolist(), len(places)]):
            if right - left - 1 > longest:
                curve[left + 1 : right] = np.nan
    return filled


def smooth_curves(values: np.ndarray, basis_values: np.ndarray, penalty: np.ndarray, weight: float) -> np.ndarray:
    """Basis coefficients of curves given on a grid: argmin_c sum_t (v_t - sum_q B_tq c_q)^2 + weight c' P c."""
    values, basis_values = np.asarray(values, dtype=float), np.asarray(basis_values, dtype=float)
    points, functions = basis_values.shape
    if values.shape[-1:] != (points,):
        raise ValueError(f"values has shape {values.shape}: its last axis must be the {points} rows of basis_values.")
    if np.shape(penalty) != (functions, functions):
        raise ValueError(f"penalty has shape {np.shape(penalty)}: it must be ({functions}, {functions}).")
    if not (np.isfinite(weight) and weight >= 0):
        raise ValueError(f"weight is {weight!r}: it must be a finite number that is not negative.")
    normal = basis_values.T @ basis_values + weight * np.asarray(penalty, dtype=float)
    spectrum = np.linalg.eigvalsh(normal)
    if not spectrum[0] > 1e-12 * spectrum[-1]:
        raise ValueError(
            f"{points} grid points do not determine {functions} coefficients at weight {weight}: use fewer basis "
            "functions or a larger weight."
        )
    return np.linalg.solve(normal, basis_values.T @ values.reshape(-1, points).T).T.reshape(*values.shape[:-1], -1)
