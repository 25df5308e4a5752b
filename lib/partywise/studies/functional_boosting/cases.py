"""The cases of the functional studies: one replicate each.

Simulated: white or decaying predictors, low-rank operators, a set signal-to-noise ratio, one data set a replicate, the
same for every number of parties (document 000, ``generator.R``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import chdtri

from ...core.randomness import Rng
from ...data.curves.tables import smooth_curves
from ...data.loaders.read import read_curves
from ...methods.functional.bases import make_basis, roughness_directions
from .data import FunctionalData
from .settings import CurveDatasetSettings, SimulatedCurveSettings, SimulationSettings

RADIUS_LEVEL = 0.95
# Public bound of the response norm: this multiple of its root mean square under the generator (about its 95 % point).
RESPONSE_MARGIN = 1.4


def draw_operators(settings: SimulationSettings, rng: np.random.Generator) -> np.ndarray:
    """True operators in orthonormal coordinates, shape (p, Qx, Qy); zero for inactive predictors."""
    operators = np.zeros((settings.p, settings.n_basis_x, settings.n_basis_y))
    values = np.array(settings.singular_values)
    values = values * np.sqrt(3) / np.linalg.norm(values)
    strengths = settings.strengths or (1.0,) * len(settings.active)
    for j, strength in zip(settings.active, strengths, strict=True):
        u = np.linalg.qr(rng.standard_normal((settings.n_basis_x, len(values))))[0]
        v = np.linalg.qr(rng.standard_normal((settings.n_basis_y, len(values))))[0]
        operators[j] = strength * (u * values) @ v.T
    return operators


def draw_curves(
    settings: SimulationSettings, rng_for: Callable[..., np.random.Generator], operators: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """One replicate: X (N, p, Qx), Y (N, Qy) and the noise variance of Y, all in orthonormal coordinates."""
    X = rng_for("X").standard_normal((settings.n, settings.p, settings.n_basis_x))
    if settings.x_spectrum == "decay":
        spectrum = 1 / (1 + np.arange(settings.n_basis_x))
        rough = roughness_directions(make_basis(settings.basis, settings.domain, settings.n_basis_x))
        X = (X * spectrum * np.sqrt(settings.n_basis_x / np.sum(spectrum**2))) @ rough.T
    signal = np.einsum("npq,pqr->nr", X, operators, optimize=True)
    # Without any signal the noise is that of one active predictor of strength 1.
    variance = (float(np.sum(operators**2)) or 3.0) / (settings.n_basis_y * settings.snr)
    noise = rng_for("Y noise").standard_normal(signal.shape)
    return X, signal + np.sqrt(variance) * noise, variance


def draw_simulated(settings: SimulatedCurveSettings, spec: object, rng_for: Rng, resources: Path) -> FunctionalData:
    """One replicate of the generator; the operators are those of every replicate."""
    operators = draw_operators(settings, rng_for("operators", shared=True))
    X, Y, variance = draw_curves(replace(settings, n=settings.n + settings.n_test), rng_for, operators)
    drawn = [
        draw_curves(settings, lambda *names, i=i: rng_for("reference", i, *names), operators)
        for i in range(settings.references)
    ]
    radius = settings.radius
    if radius is None:
        radius = float(np.sqrt(chdtri(settings.n_basis_x, 1 - RADIUS_LEVEL)))
    response_radius = RESPONSE_MARGIN * float(np.sqrt(np.sum(operators**2) + settings.n_basis_y * variance))
    active = np.zeros(settings.p, dtype=bool)
    active[list(settings.active)] = True
    return FunctionalData(
        X=X,
        Y=Y,
        basis=settings.basis,
        domain_x=np.array(settings.domain),
        domain_y=np.array(settings.domain),
        radius=np.full(settings.p, radius),
        response_radius=response_radius,
        block=np.arange(settings.n + settings.n_test),
        operators=operators,
        active=active,
        predictor_names=np.array([f"x{j}" for j in range(settings.p)]),
        natural_party=np.array([""] * settings.p),
        record_names=np.array([f"record {i}" for i in range(settings.n + settings.n_test)]),
        reference_X=np.array([x for x, _, _ in drawn]),
        reference_Y=np.array([y for _, y, _ in drawn]),
    )


def draw_dataset(settings: CurveDatasetSettings, spec: object, rng_for: Rng, resources: Path) -> FunctionalData:
    """Shipped curves on public scales, smoothed; a replicate deals the blocks of days to the folds anew."""
    table = read_curves(settings.dataset, settings.response, Path(resources))
    hours_x, hours_y = table.domain_x, table.domain
    bx = make_basis(settings.basis, hours_x, settings.n_basis_x)
    by = make_basis(settings.basis, hours_y, settings.n_basis_y)
    x = smooth_curves(table.x, bx.evaluate(table.hours_x), bx.penalty, settings.smoothing)
    y = smooth_curves(table.y, by.evaluate(table.hours), by.penalty, settings.smoothing)
    ranks = np.unique(table.block, return_inverse=True)[1]
    order = rng_for("blocks").permutation(ranks.max() + 1)
    p = len(table.predictor_names)
    return FunctionalData(
        X=x @ bx.root,
        Y=y @ by.root,
        basis=settings.basis,
        domain_x=np.array(hours_x),
        domain_y=np.array(hours_y),
        radius=np.full(p, settings.radius * np.sqrt(hours_x[1] - hours_x[0])),
        response_radius=settings.response_radius * np.sqrt(hours_y[1] - hours_y[0]),
        block=order[ranks],
        operators=np.zeros((0, bx.n_basis, by.n_basis)),
        active=np.zeros(0, dtype=bool),
        predictor_names=np.array(table.predictor_names),
        natural_party=np.array(table.party_names),
        record_names=np.array(table.dates),
        y_offset=table.y_scale.offset,
        y_scale=table.y_scale.scale,
    )
