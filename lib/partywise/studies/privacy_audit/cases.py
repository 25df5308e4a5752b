"""Neighbours made to hurt, and ordinary ones: the data of the audit study.

Each generator returns `AuditData`: the known worst case of a mechanism for a source document, and a pair from data as
one would meet them.  Records other than the first agree within a pair, except where the row says so.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...audits.worlds import AuditData
from ...datasets.loaders import body_fat as body_fat_table
from ...functional.bases import BSplineBasis
from .settings import BodyFatSettings, CurveSettings, ExchangeSettings, LabelSettings, SliceSettings, TreeSettings

Rng = Callable[..., np.random.Generator]


def curves(settings: CurveSettings, spec: Any, rng_for: Rng, resources: Path) -> AuditData:
    """Seed 000: antipodal curves of the clipping radius, along the direction in which the noise is smallest."""
    rng, q, n = rng_for("curves"), settings.n_basis, settings.n
    copies = settings.n_predictors if settings.row == "budget" else 1
    white = rng.standard_normal((n, copies, q)) * settings.radius / np.sqrt(q)
    other = rng.standard_normal((copies, q)) * settings.radius / np.sqrt(q)
    extreme = np.zeros((copies, q))
    extreme[:, 0] = settings.radius
    if settings.row == "covariance":
        basis = BSplineBasis((settings.start, settings.end), q)
        values, vectors = np.linalg.eigh(basis.gram)
        white, other = white @ basis.inverse_root, other @ basis.inverse_root
        extreme = settings.radius / np.sqrt(values[0]) * vectors[:, :1].T
    if settings.row == "radius":
        # One record crosses the 95th percentile; in the ordinary pair one curve replaces another.
        extreme = extreme * 10
    x = np.repeat(white.reshape(1, n, -1), 4, axis=0)
    x[0, 0], x[1, 0] = extreme.ravel(), (0 if settings.row == "radius" else -1) * extreme.ravel()
    x[3, 0] = other.ravel()
    return AuditData(x, np.zeros((4, n)))


def slices(settings: SliceSettings, spec: Any, rng_for: Rng, resources: Path) -> AuditData:
    """Seed 001: corners of the truncation box that change as many slices as the row allows."""
    rng, n, p = rng_for("records"), settings.n, settings.p
    x, y = np.zeros((4, n, p)), np.zeros((4, n))
    features = rng.standard_normal((n, p))
    response = features[:, 0] + features[:, 1] ** 2 / 2 + 0.5 * rng.standard_normal(n)
    x[2:], y[2:] = features, response
    x[3, 0], y[3, 0] = rng.standard_normal(p), rng.standard_normal()
    corner = np.full(p, settings.truncation)
    if settings.row == "public_slices":
        x[0, 0], x[1, 0] = corner, -corner
    elif settings.row == "quantile_slices":
        x[0], y[0], x[1], y[1] = _shifted_slices(n, settings.n_slices, corner)
    elif settings.row in ("fixed_covariance", "printed_covariance", "near_tie"):
        x[0], y[0], x[1], y[1] = _near_tie(n, p, settings.n_slices, settings.truncation)
    elif settings.row == "symmetric":
        x[0, 0, 0], x[1, 0, 1] = 1.0, 1.0
        x[2:] /= np.linalg.norm(x[2:], axis=2, keepdims=True)
    elif settings.row == "scale":
        x[:2, :, 0] = 1.0
        x[0, 0, 0] = settings.ratio
        x[2:] /= np.max(np.linalg.norm(x[2, 1:], axis=1))
        x[2, 0], x[3, 0] = settings.ratio * _unit(x[2, 0]), _unit(x[3, 0])
    elif settings.row == "screening":
        # The mean of feature 0 in the first slice stands on the threshold; one record lifts it over.
        x[:2, : n // settings.n_slices, 0] = settings.threshold * n / (n - n // settings.n_slices)
        y[:2, n // settings.n_slices :] = 1.0
        x[0, 0, 0] += settings.truncation
        x[1, 0, 0] -= settings.truncation
    return AuditData(x, y)


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def _shifted_slices(n: int, n_slices: int, corner: np.ndarray) -> tuple[np.ndarray, ...]:
    """The record of rank 1 becomes that of rank n: every slice loses one corner and gains the opposite one."""
    y = np.arange(n, dtype=float)
    x = np.zeros((n, len(corner)))
    # The first rank of each slice between linearly interpolated quantiles.
    firsts = np.concatenate([[0], (n - 1) * np.arange(1, n_slices) // n_slices + 1])
    x[firsts] = corner * (-1.0) ** np.arange(n_slices)[:, None]
    moved, ranks = x.copy(), y.copy()
    moved[0], ranks[0] = corner * (-1.0) ** n_slices, float(n)
    return x, y, moved, ranks


def _near_tie(n: int, p: int, n_slices: int, truncation: float) -> tuple[np.ndarray, ...]:
    """Two slices whose means point along two axes with all but equal lengths; one record swaps their order."""
    x = np.zeros((n, p))
    half = n // n_slices
    first, second = np.arange(half), half + np.arange(half)
    y = np.repeat(np.arange(n_slices, dtype=float), -(-n // n_slices))[:n]
    x[first, 0], x[second[:-1], 1] = truncation, truncation
    moved, classes = x.copy(), y.copy()
    # Record 0 leaves axis 0 for axis 1: its slice and its features both change.
    moved[0], classes[0] = 0.0, 1.0
    moved[0, 1] = truncation
    x[second[-1]], moved[second[-1]] = 0.0, 0.0
    return x, y, moved, classes


def labels(settings: LabelSettings, spec: Any, rng_for: Rng, resources: Path) -> AuditData:
    """Seed 002: the label of the longest record flips; ordinarily that of an average one."""
    rng = rng_for("records")
    x = np.repeat(rng.random((1, settings.n, settings.k)), 4, axis=0)
    y = np.repeat((rng.random((1, settings.n)) < 0.3).astype(float), 4, axis=0)
    # The largest norm of all four worlds is that of record 1, so features are the same in all of them.
    x[:, 1], x[:2, 0] = 1.0, 1.0
    y[0::2, 0], y[1::2, 0] = 1.0, 0.0
    return AuditData(x, y)


def trees(settings: TreeSettings, spec: Any, rng_for: Rng, resources: Path) -> AuditData:
    """Seed 003: one feature value moves from the least to the greatest, past every bucket boundary."""
    rng, n = rng_for("records"), settings.n
    columns = settings.n_features if settings.row == "many_features" else 1
    base = np.stack([rng.permutation(n) for _ in range(columns)], axis=1) + 0.5
    x = np.repeat(base[None] / n, 4, axis=0)
    x[0, 0], x[1, 0] = 0.0, 1.0
    x[3, 0] = rng.random(columns)
    y = np.repeat(rng.standard_normal((1, n)), 4, axis=0)
    if settings.row == "encryption":
        x[1::2] = x[0::2]
        y[1::2, 0] = -y[0::2, 0]
    return AuditData(x, y)


def exchange(settings: ExchangeSettings, spec: Any, rng_for: Rng, resources: Path) -> AuditData:
    """Seed 004: one row of the feature block is another; identifiers are distinct numbers (kept as labels)."""
    rng, n, p = rng_for("records"), settings.n, settings.p
    x = np.repeat(rng.standard_normal((1, n, p)) @ np.diag(np.linspace(1, 2, p))[None], 4, axis=0)
    # Two long rows at right angles: their outer products differ most.
    x[:2, 0] = 0.0
    x[0, 0, 0], x[1, 0, 1] = 10.0, 10.0
    x[3, 0] = rng.standard_normal(p)
    y = np.repeat(rng.permutation(settings.population)[None, : n + 1].astype(float), 4, axis=0)
    y[1::2, 0] = y[0, n]
    if settings.row == "hashes":
        x[:] = 0.0
    return AuditData(x, y[:, :n])


def tracing(settings: SliceSettings, spec: Any, rng_for: Rng, resources: Path) -> AuditData:
    """Seed 001, Example 1: white features and a label of about equal shares; all four worlds are one data set."""
    rng = rng_for("records")
    x = rng.standard_normal((settings.n, settings.p))
    y = (x[:, 0] + rng.standard_normal(settings.n) > 0).astype(float)
    return AuditData(np.repeat(x[None], 4, axis=0), np.repeat(y[None], 4, axis=0))


def body_fat(settings: BodyFatSettings, spec: Any, rng_for: Rng, resources: Path) -> AuditData:
    """The source's own data: 252 men, 13 measurements, whitened as the source assumes N(0, I)."""
    table = body_fat_table.load(Path(resources) / "body_fat")
    centred = table.X - table.X.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    x = centred @ (vectors / np.sqrt(values)) @ vectors.T
    return AuditData(np.repeat(x[None], 4, axis=0), np.repeat(table.y[None], 4, axis=0))
