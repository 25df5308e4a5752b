"""Neighbours for claims of document 001: corners of the truncation box that change as many slices as a claim allows.

The ordinary pair is one of normal records, in which one record is replaced by another.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...audits.worlds import AuditData
from ...core.randomness import Rng
from ...data.loaders.read import read_table
from .claims import BodyFatSettings, BoxSettings, RecordSettings, ScaleSettings, ScreeningSettings, SliceSettings


def opposite_corners(settings: SliceSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """One record at opposite corners of the box."""
    x, y = _ordinary(settings, rng_for)
    corner = np.full(settings.p, settings.truncation)
    x[0, 0], x[1, 0] = corner, -corner
    return AuditData(x, y)


def shifted_slices(settings: SliceSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """The record of rank 1 becomes that of rank n: every slice loses one corner and gains the opposite one."""
    x, y = _ordinary(settings, rng_for)
    n, n_slices, corner = settings.n, settings.n_slices, np.full(settings.p, settings.truncation)
    y[:2] = np.arange(n, dtype=float)
    # The first rank of each slice between linearly interpolated quantiles.
    firsts = np.concatenate([[0], (n - 1) * np.arange(1, n_slices) // n_slices + 1])
    x[:2, firsts] = corner * (-1.0) ** np.arange(n_slices)[:, None]
    x[1, 0], y[1, 0] = corner * (-1.0) ** n_slices, float(n)
    return AuditData(x, y)


def near_tie(settings: SliceSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """Two slices whose means point along two axes with all but equal lengths; one record swaps their order."""
    x, y = _ordinary(settings, rng_for)
    n, n_slices, truncation = settings.n, settings.n_slices, settings.truncation
    half = n // n_slices
    first, second = np.arange(half), half + np.arange(half)
    y[:2] = np.repeat(np.arange(n_slices, dtype=float), -(-n // n_slices))[:n]
    x[:2, first, 0], x[:2, second[:-1], 1] = truncation, truncation
    # Record 0 leaves axis 0 for axis 1: its slice and its features both change.
    x[1, 0], y[1, 0] = 0.0, 1.0
    x[1, 0, 1] = truncation
    return AuditData(x, y)


def unit_records(settings: RecordSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """Records of norm 1: two axes, and directions of normal records."""
    x, y = _ordinary(settings, rng_for)
    x[0, 0, 0], x[1, 0, 1] = 1.0, 1.0
    x[2:] /= np.linalg.norm(x[2:], axis=2, keepdims=True)
    return AuditData(x, y)


def longest_record(settings: ScaleSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """One record longer than all others, which are of norm at most 1, and its neighbour of norm 1."""
    x, y = _ordinary(settings, rng_for)
    x[:2, :, 0] = 1.0
    x[0, 0, 0] = settings.ratio
    x[2:] /= np.max(np.linalg.norm(x[2, 1:], axis=1))
    x[2, 0], x[3, 0] = settings.ratio * _unit(x[2, 0]), _unit(x[3, 0])
    return AuditData(x, y)


def on_the_threshold(settings: ScreeningSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """The mean of feature 0 in the first slice is on the threshold; one record lifts it over."""
    x, y = _ordinary(settings, rng_for)
    n, size = settings.n, settings.n // settings.n_slices
    x[:2, :size, 0] = settings.threshold * n / (n - size)
    y[:2, size:] = 1.0
    x[0, 0, 0] += settings.truncation
    x[1, 0, 0] -= settings.truncation
    return AuditData(x, y)


def white_records(settings: BoxSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """White features and a label of about equal shares; all four worlds are one data set."""
    rng = rng_for("records")
    x = rng.standard_normal((settings.n, settings.p))
    y = (x[:, 0] + rng.standard_normal(settings.n) > 0).astype(float)
    return AuditData(np.repeat(x[None], 4, axis=0), np.repeat(y[None], 4, axis=0))


def body_fat(settings: BodyFatSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """The source's own data: 252 men, 13 measurements, whitened as the source assumes N(0, I)."""
    table = read_table("body_fat", None, Path(resources))
    features, _ = table.unit_interval()
    centred = features - features.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    x = centred @ (vectors / np.sqrt(values)) @ vectors.T
    return AuditData(np.repeat(x[None], 4, axis=0), np.repeat(table.y[None], 4, axis=0))


def _ordinary(settings: RecordSettings, rng_for: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Features (4, n, p) and responses (4, n): the last two worlds are an ordinary pair, the first two are zero."""
    rng, n, p = rng_for("records"), settings.n, settings.p
    x, y = np.zeros((4, n, p)), np.zeros((4, n))
    features = rng.standard_normal((n, p))
    response = features[:, 0] + features[:, 1] ** 2 / 2 + 0.5 * rng.standard_normal(n)
    x[2:], y[2:] = features, response
    x[3, 0], y[3, 0] = rng.standard_normal(p), rng.standard_normal()
    return x, y


def _unit(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector / np.linalg.norm(vector))
