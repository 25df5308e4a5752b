"""Local computations of a joint fit with the opened link, at the active party and at the analyst."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

# Any: fields of an estimate by their names.
from typing import Any, cast

import numpy as np

from ....federation.parties import Party, column_order
from ....federation.roles import unprotected_value
from ....models.newton_step import Line, curvature_vanished, dependent, line_search, rank_of
from ....models.standardise import Scaling, with_ones
from ....privacy.accounted_values import Clear
from ..diagnostics import DiagnosticSums, aic_published, deviance_r2, diagnose, hazard_sums_of, sums_of
from ..follow_up import FollowUp
from ..model import GlmEstimate, Status
from ..options import JointOptions
from ..penalised_path import penalise
from ..records import WeightedResponse
from .iterations import LAST, Steering, in_blocks

# Openings that are kept for whoever attacks the active party's view.
KEPT = 60


@dataclass(frozen=True)
class ScaledVector:
    """A vector (n,) of numbers up to 1 in size, and the power of two that it was divided by."""

    values: np.ndarray
    scale: float


@dataclass(frozen=True)
class LinearPredictor:
    """Linear predictor at the active party.

    eta : (n,) at the present coefficients; along : (n,) of the direction
    others_parts : sum of the others' parts of every direction, in its unit: small steps reveal as much
    """

    eta: np.ndarray
    along: np.ndarray | None = None
    others_parts: tuple[np.ndarray, ...] = ()


@dataclass(frozen=True)
class Evaluation:
    """Scores u and weights w at the present coefficients, both times the weights of records."""

    deviance: float
    u: ScaledVector
    w: ScaledVector


def scale_to_unit(values: np.ndarray) -> ScaledVector:
    """A vector divided by the least power of two that leaves nothing above 1."""
    largest = float(np.max(np.abs(values), initial=0.0))
    scale = 2.0 ** math.ceil(math.log2(largest)) if largest else 1.0
    return ScaledVector(values / scale, scale)


def local_start(active: Party, response: WeightedResponse | FollowUp) -> tuple[float, float]:
    """Intercept without columns, and the mean weight there; of follow-up times none, and the share of events."""
    if isinstance(response, FollowUp):
        return 0.0, float(np.mean(response.events))
    intercept, _ = response.null()
    weight = response.weigh(response.family.weight(intercept + response.shift))
    return intercept, float(np.mean(weight))


def local_sent_start(active: Party, begun: tuple[float, float]) -> Clear:
    """Return intercept and mean weight, at which the analyst starts."""
    return Clear(np.array(begun), units=("label",))


def local_predictor(
    active: Party, begun: tuple[float, float], response: WeightedResponse | FollowUp
) -> LinearPredictor:
    """The predictor at the start."""
    return LinearPredictor(begun[0] + response.shift)


def local_evaluated(
    active: Party, response: WeightedResponse | FollowUp, predictor: LinearPredictor, kind: str
) -> Evaluation:
    """An evaluation; weights are ``observed``, ``majorant``, expected (``weight``), or ``squared`` scores.

    Follow-up times have no weights of single records.
    """
    if isinstance(response, FollowUp):
        u = response.residuals(predictor.eta)
        return Evaluation(response.deviance(predictor.eta), scale_to_unit(u), scale_to_unit(np.zeros_like(u)))
    family, eta, y = response.family, predictor.eta, response.y
    weights = {"observed": family.observed_weight, "majorant": family.majorant}
    u = response.weigh(family.score(y, eta))
    if kind == "squared":
        return Evaluation(response.deviance(eta), scale_to_unit(u), scale_to_unit(u * u))
    w = family.weight(eta) if kind == "weight" else weights[kind](y, eta)
    return Evaluation(response.deviance(eta), scale_to_unit(u), scale_to_unit(response.weigh(w)))


def local_own_scores(
    active: Party, evaluation: Evaluation, X: np.ndarray, parts: Sequence[Clear]
) -> tuple[Clear, Clear]:
    """The deviance, and X_1'u (1 + p_1,) with the scale of u."""
    score = with_ones(X).T @ (evaluation.u.scale * evaluation.u.values)
    return unprotected_value(evaluation.deviance, parts), unprotected_value((score, evaluation.u.scale), parts)


def local_own_information(active: Party, evaluation: Evaluation, X: np.ndarray, parts: Sequence[Clear]) -> tuple[Clear]:
    """X_1'WX_1 (1 + p_1, 1 + p_1) with the scale of w."""
    columns = with_ones(X)
    information = (columns * (evaluation.w.scale * evaluation.w.values)[:, None]).T @ columns
    return (unprotected_value((information, evaluation.w.scale), parts),)


def local_part(party: Party, X: np.ndarray, direction: tuple[np.ndarray, float]) -> np.ndarray:
    """(n,) the party's part of the predictor of a direction, in the unit of the direction."""
    d, unit = direction
    return X @ (d / unit)


def local_along(
    active: Party, predictor: LinearPredictor, X: np.ndarray, direction: tuple[np.ndarray, float], others: np.ndarray
) -> LinearPredictor:
    """Add the predictor of a direction, from the party's own columns and the sum of the others."""
    d, unit = direction
    others_parts = (*predictor.others_parts, others) if len(predictor.others_parts) < KEPT else predictor.others_parts
    return replace(predictor, along=with_ones(X) @ d + unit * others, others_parts=others_parts)


def local_step(
    active: Party,
    response: WeightedResponse | FollowUp,
    predictor: LinearPredictor,
    line: np.ndarray,
    parts: Sequence[Clear],
) -> Clear:
    """Length of the first step along the line that lowers the objective enough; 0 if none does."""
    shape = Line(np.empty(0), np.empty(0), *line.tolist())
    along = np.zeros_like(predictor.eta) if predictor.along is None else predictor.along
    trial = line_search(shape, lambda step: response.deviance(predictor.eta + step * along))
    return unprotected_value(0.0 if trial is None else trial[0], parts)


def local_moved(active: Party, predictor: LinearPredictor, step: float) -> LinearPredictor:
    """Return the predictor after a step along the direction."""
    along = 0.0 if predictor.along is None else step * predictor.along
    return replace(predictor, eta=predictor.eta + along, along=None)


def local_sums(
    active: Party, response: WeightedResponse | FollowUp, predictor: LinearPredictor, parts: Sequence[Clear]
) -> Clear:
    """Sums of the diagnostics."""
    eta = predictor.eta
    sums = hazard_sums_of(response, eta) if isinstance(response, FollowUp) else sums_of(response, eta)
    return unprotected_value(tuple(sums), parts)


def local_baseline(
    active: Party, response: WeightedResponse | FollowUp, predictor: LinearPredictor
) -> dict[str, np.ndarray] | None:
    """Cumulated baseline hazard by stratum, of follow-up times."""
    return response.baseline(predictor.eta) if isinstance(response, FollowUp) else None


def local_scales(party: Party, scaling: Scaling) -> Clear:
    """Means and standard deviations of the party's columns, to bring coefficients to the scale of the data."""
    return Clear((scaling.means, scaling.scales), units=("features",), owner=party.name)


def analyst_verdict(now: Steering, parts: Sequence[Clear]) -> Clear:
    """Return the verdict for all other places."""
    return unprotected_value(now.verdict, parts)


def analyst_direction(now: Steering, place: int, sizes: Sequence[int], parts: Sequence[Clear]) -> Clear:
    """A party's part of the direction, and the power of two above all slopes."""
    direction = np.zeros(len(now.beta)) if now.direction is None else now.direction
    largest = float(np.max(np.abs(direction[1:]), initial=0.0))
    unit = 2.0 ** math.ceil(math.log2(largest)) if largest else 1.0
    return unprotected_value((direction[in_blocks(sizes)[place]], unit), parts)


def analyst_line(now: Steering, ridge: float, parts: Sequence[Clear]) -> Clear:
    """(5,) what decides about steps along the direction."""
    line = now.line(ridge)
    return unprotected_value(np.array([line.value, line.slope, line.penalty, line.lean, line.bend]), parts)


def analyst_finished(now: Steering, matrix: np.ndarray, ridge: float) -> Steering:
    """Set the status from X'WX at the optimum: separated responses have lost their curvature."""
    if now.first is not None and curvature_vanished(matrix, now.first, ridge):
        return now.end_as_separated(matrix, ridge)
    return replace(now, verdict="ok") if now.verdict == LAST else now


def analyst_named(now: Steering, matrix: np.ndarray) -> Steering:
    """Curvature that is lost in X'X already is that of columns that depend on each other."""
    if rank_of(matrix) < len(matrix):
        raise dependent(matrix)
    return now


def analyst_estimate(
    now: Steering,
    sums: tuple[float, ...],
    matrix: np.ndarray | None,
    sandwich: Sequence[np.ndarray],
    scales: Sequence[tuple[np.ndarray, np.ndarray]],
    columns: Sequence[Sequence[int]],
    family: str,
    options: JointOptions,
) -> GlmEstimate:
    """Everything that is reported, by the global numbers of the columns.

    sandwich : X'WX at observed weights and at squared scores, where ``cov_type`` asks for them
    """
    places = column_order(columns)
    order = np.concatenate([[0], 1 + places])
    scaling = Scaling.merge([Scaling(*part) for part in scales], places)
    beta, totals = scaling.coefficients(now.beta[order]), DiagnosticSums(*sums)
    reported: dict[str, Any]
    if now.verdict == "ok" and matrix is not None:
        optimum = totals, matrix[np.ix_(order, order)], scaling, family
        robust = [layer[np.ix_(order, order)] for layer in sandwich]
        drawn, covariance = options.dispersion, options.cov_type
        reported = diagnose(
            *optimum, ridge=options.ridge, dispersion=drawn, cov_type=covariance, sandwich=robust
        ).fields()
    else:
        r2, published = deviance_r2(totals.deviance, totals.null_deviance), aic_published(totals.deviance, len(beta))
        numbers = {"deviance_r2": r2, "aic_published": published}
        reported = {"deviance": totals.deviance, "null_deviance": totals.null_deviance, "numbers": numbers}
    path = np.array(now.path)
    # A penalised fit ends with its last step: it has no information to judge.
    status = cast(Status, "ok" if now.verdict == LAST else now.verdict)
    return GlmEstimate(beta, status=status, reason=now.reason, iterations=len(path), objective=path, **reported)


def analyst_path(
    now: Steering,
    sums: tuple[float, ...],
    scales: Sequence[tuple[np.ndarray, np.ndarray]],
    columns: Sequence[Sequence[int]],
    options: JointOptions,
    names: Sequence[str],
) -> GlmEstimate:
    """The choice along the path of a Gaussian response, from the evaluation at the start."""
    if now.point is None or now.direction is None or now.first is None:
        raise ValueError("direction is None: evaluate first.")
    places, totals = column_order(columns), DiagnosticSums(*sums)
    order = np.concatenate([[0], 1 + places])
    scaling = Scaling.merge([Scaling(*part) for part in scales], places)
    n = int(totals.n_observations)
    deviance = totals.deviance - float(now.point.gradient @ now.direction)
    dispersion = deviance / (n - len(order))
    covariance = scaling.covariance(dispersion * np.linalg.inv(now.first[np.ix_(order, order)]))
    unpenalised = GlmEstimate(
        scaling.coefficients((now.beta + now.direction)[order]),
        covariance=covariance,
        standard_errors=np.sqrt(np.diag(covariance)),
        deviance=deviance,
        null_deviance=totals.null_deviance,
        dispersion=dispersion,
        iterations=len(now.path),
        objective=np.array(now.path),
    )
    return penalise(unpenalised, "gaussian", n, options, names)
