"""Results that go back to the parties and that are reported: operators, numbers of the path, bytes by formula.

Bytes by the source's formula are next to the bytes that are measured on the channel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.places import PerPlace, per_place
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue
from ....privacy.mechanisms.release import derive
from ..boosting import BoostingFit
from ..model import CurveEstimate, FitNumbers
from .common import CurvePlan

MIB = 2.0**20


def published_mib(n_train: int, party_sizes: list[int], n_basis: int) -> float:
    """MiB by the source's formula, sum over parties of 8 (N m_g Q + (m_g Q)^2) (document 000, Communication Cost)."""
    return sum(8 * (n_train * m * n_basis + (m * n_basis) ** 2) for m in party_sizes) / MIB


def release_bytes(n: int, party_sizes: list[int], n_basis: int) -> int:
    """Bytes that the release needs: 8 N m_g Qx, summed over the parties; the receiver has Z, no Gram part."""
    return sum(8 * n * m * n_basis for m in party_sizes)


def moments_bytes(n_coordinates: int, n_response: int, n_chunks: int) -> int:
    """Bytes of released sums: the triangle of S_zz, S_zy and the mean, for each disjoint chunk."""
    size = n_coordinates * (n_coordinates + 1) // 2 + n_coordinates * n_response + n_coordinates
    return 8 * n_chunks * size


def formula_bytes(
    party_sizes: list[int], n_train: int, n: int, n_basis: int, n_response: int, n_chunks: int
) -> FitNumbers:
    """The three formulas of one fit, as scalars for the cube."""
    return {
        "published_mib": published_mib(n_train, party_sizes, n_basis),
        "release_bytes": release_bytes(n, party_sizes, n_basis),
        "moments_bytes": moments_bytes(sum(party_sizes) * n_basis, n_response, n_chunks),
    }


def bytes_of(plan: CurvePlan) -> FitNumbers:
    """Bytes by formula of a plan."""
    sizes, fold, c = [len(columns) for columns in plan.owner_columns], plan.fold, plan.coordinates
    n_train, n = int(fold.train.sum()), len(fold.of)
    return formula_bytes(sizes, n_train, n, len(c.gram), len(c.to_y), 2 * fold.n_folds)


def operators_back(
    run: Run, plan: CurvePlan, estimate: CurveEstimate, curves: tuple[str, ...], response: AccountedValue
) -> PerPlace[CurveEstimate]:
    """Every party gets its operators, its part of the estimate: they cost what the curves and the response cost."""
    active, *owners = run.parties
    parts, estimates = run.received(active, *curves), dict[str, CurveEstimate]()
    for owner in owners:
        inputs = estimate, parts, response, plan, owner.name, owner.columns
        operators = run.send(active.name, owner, "operators", active_back, *inputs)
        estimates[owner.name] = run.at(owner, local_part, operators, plan)
    return per_place(estimates)


def local_part(owner: Party, operators: np.ndarray, plan: CurvePlan) -> CurveEstimate:
    """Estimate of an owner: the operators of its predictors; the rest is nan."""
    (_, of_x, of_y), p, columns = operators.shape, len(plan.names), list(owner.columns)
    whole, selected = np.full((p, of_x, of_y), np.nan), np.zeros(p, dtype=bool)
    whole[columns], selected[columns] = operators, np.any(operators, axis=(1, 2))
    means = np.full((p, of_x), np.nan), np.full(of_y, np.nan)
    return CurveEstimate(whole, *means, selected, plan.epsilon, basis_x=plan.coordinates.basis_x)


def whole(estimate: CurveEstimate) -> CurveEstimate:
    """The estimate of the active party, to which an evaluator adds nothing."""
    return estimate


def active_back(
    estimate: CurveEstimate,
    curves: Sequence[AccountedValue],
    response: AccountedValue,
    plan: CurvePlan,
    receiver: str,
    columns: tuple[int, ...],
) -> Payload:
    """The operators of one party."""
    name = f"operators of {receiver} {plan.this_fit}"
    operators = estimate.operators[list(columns)]
    return derive(operators, (*curves, response), name=name, owner=plan.active, audience=(receiver,))


def path_numbers(fit: BoostingFit) -> FitNumbers:
    """Scalars of a path for the cube."""
    numbers: FitNumbers = {
        "steps": fit.steps,
        "min_eigenvalue": fit.min_eig_before,
        "projected": fit.projected,
        "null_model": fit.null_model,
        "hit_max_steps": fit.hit_max_steps,
        "diverged": fit.diverged,
        "solver_fallbacks": fit.solver_fallbacks,
    }
    for name in ("criterion", "df"):
        if fit.steps and name in fit.trace:
            value = float(fit.trace[name][fit.steps - 1])
            numbers[name] = None if np.isnan(value) else value
    return numbers


def estimate_of(
    fit: BoostingFit,
    plan: CurvePlan,
    claimed: float,
    numbers: FitNumbers,
    released: np.ndarray | None = None,
) -> CurveEstimate:
    """The fit in orthonormal coordinates, with what is reported about it."""
    coordinates, p = plan.coordinates, len(plan.names)
    selected = np.zeros(p, dtype=bool)
    for k in fit.path:
        selected[list(plan.groups[k])] = True
    return CurveEstimate(
        operators=coordinates.operators(fit.B),
        mean_x=coordinates.back_x(fit.mean_x.reshape(p, -1)),
        mean_y=coordinates.from_y @ fit.mean_y,
        selected_predictors=selected,
        epsilon_claimed=claimed,
        received_curves=None if released is None else coordinates.back_x(released),
        numbers=numbers | bytes_of(plan),
        basis_x=coordinates.basis_x,
    )
