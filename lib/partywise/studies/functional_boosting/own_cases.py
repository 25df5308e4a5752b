"""The case of a person's own curves: files to orthonormal coordinates, by the settings alone."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...core.errors import DataMissing
from ...data.curves.tables import smooth_curves
from ...data.own.curves.load import OwnCurve, load
from ...data.own.records import reader_of_files
from ...methods.functional.bases import BSplineBasis, FourierBasis, make_basis
from .data import FunctionalData
from .own_settings import CurveTableSettings

LOG = logging.getLogger("partywise")
# Coefficients that differ by less than this share of their size over all records count as one curve.
SAME = 1e-10
Basis = BSplineBasis | FourierBasis


def draw(
    settings: CurveTableSettings, spec: object, rng_for: Callable[..., np.random.Generator], resources: Path
) -> dict[str, np.ndarray]:
    """Draw the groups of a replicate, which deals the records (or their groups) to the folds anew."""
    groups = _common_data(settings).block
    return {"block": rng_for("blocks").permutation(int(groups.max()) + 1)[groups]}


def table(settings: CurveTableSettings, drawn: Mapping[str, np.ndarray]) -> FunctionalData:
    """Own curves, read from their files."""
    return replace(_common_data(settings), block=drawn["block"])


@reader_of_files
def _common_data(settings: CurveTableSettings, texts: Mapping[str, bytes]) -> FunctionalData:
    """Return the data that all replicates share, with groups of records in the order of their names."""
    for file, content in texts.items():
        LOG.info("%s: sha256 %s", file, hashlib.sha256(content).hexdigest())
    read = load(settings, texts)
    domain_y, n = settings.domain_of(settings.response), len(read.ids)
    bx = make_basis(settings.basis, settings.domain, settings.n_basis_x)
    by = make_basis(settings.basis, domain_y, settings.n_basis_y)
    radii = [settings.radius if predictor.radius is None else predictor.radius for predictor in settings.predictors]
    X = np.stack([smooth(predictor, bx, n, settings.smoothing, read.ids) for predictor in read.predictors], axis=1)
    Y = smooth(read.response, by, n, settings.smoothing, read.ids)
    lengths = np.sqrt(settings.domain[1] - settings.domain[0]), np.sqrt(domain_y[1] - domain_y[0])
    for j, predictor in enumerate(read.predictors):
        _check_size(predictor.name, X[:, j] / lengths[0], radii[j], f"predictors[{j}].radius")
    _check_size(read.response.name, Y / lengths[1], settings.response_radius, "response_radius")
    return FunctionalData(
        X=X,
        Y=Y,
        basis=settings.basis,
        domain_x=np.array(settings.domain),
        domain_y=np.array(domain_y),
        radius=np.array(radii) * lengths[0],
        response_radius=float(settings.response_radius * lengths[1]),
        block=read.block,
        operators=np.zeros((0, bx.n_basis, by.n_basis)),
        active=np.zeros(0, dtype=bool),
        predictor_names=np.array([predictor.name for predictor in settings.predictors]),
        natural_party=np.array([predictor.party for predictor in settings.predictors]),
        record_names=read.ids,
        y_offset=settings.response.centre,
        y_scale=settings.response.scale,
    )


def smooth(curve: OwnCurve, basis: Basis, n: int, weight: float, ids: np.ndarray) -> np.ndarray:
    """Orthonormal coordinates (n, n_basis) of curves that were measured at irregular times.

    Each curve minimises (1 / m) sum_i (v_i - f(t_i))^2 + weight L^3 int f''^2 over the basis, for its m values on a
    domain of length L: in time rescaled to [0, 1] the penalty is weight int f''^2, so neither the unit of time nor
    the number of values changes what a weight means.  The effective degrees of freedom, the trace of the matrix
    that maps values to fitted values, go to the log of the job.
    """
    length = basis.domain[1] - basis.domain[0]
    coefficients, df, points = np.zeros((n, basis.n_basis)), np.zeros(n), np.zeros(n)
    for group in curve.groups:
        design = basis.evaluate(group.times)
        penalty = weight * len(group.times) * length**3
        try:
            coefficients[group.records] = smooth_curves(group.values, design, basis.penalty, penalty)
        except ValueError:
            raise DataMissing(
                f"{curve.name} has {len(group.times)} values in record {str(ids[group.records[0]])!r}, which do not "
                f"determine {basis.n_basis} basis functions at smoothing {weight:g}: use fewer basis functions or more "
                "smoothing."
            ) from None
        normal = design.T @ design
        df[group.records] = np.trace(np.linalg.solve(normal + penalty * basis.penalty, normal))
        points[group.records] = len(group.times)
    numbers = [f"{v:.4g}" for v in (*np.quantile(points, (0, 0.5, 1)), *np.quantile(df, (0, 0.5, 1)))]
    LOG.info(
        "%s: smoothing %g, %d basis functions; values a curve: least %s, median %s, most %s; effective degrees of "
        "freedom a curve: least %s, median %s, most %s",
        *(curve.name, weight, basis.n_basis, *numbers),
    )
    coordinates = coefficients @ basis.root
    if np.ptp(coordinates, axis=0).max() <= SAME * np.abs(coordinates).max():
        raise DataMissing(
            f"{curve.name} is the same curve in all {n} records: it predicts nothing and cannot be predicted; take it "
            "out or check that its column is the right one."
        )
    return np.asarray(coordinates)


def _check_size(name: str, coordinates: np.ndarray, radius: float, key: str) -> None:
    """Raise ``DataMissing`` when every curve is beyond its radius: a unit is wrong, or no scale was given."""
    sizes = np.linalg.norm(coordinates, axis=1)
    if sizes.min() > radius:
        raise DataMissing(
            f"{name}: the root mean square of every scaled curve is beyond {key} {radius:g} (the smallest is "
            f"{sizes.min():.3g}): check unit, centre and scale of the values, or take a larger radius."
        )
