"""Cox regression across columns: L-BFGS on the partial likelihood, with the link opened to the holder of the times.

The active party holds times, status and strata, and alone computes the partial likelihood: its score is X'u with the
martingale residuals u, the only product with columns of others (Cox 1972; ties by Efron or Breslow).

Once                                                from, to                          payload
share of events at the start                        active, analyst                   Clear(label)
masked columns, X'X, keys                           as of `joint`
An evaluation, a step                               as of `joint` with L-BFGS; u are martingale residuals
In the end, p times
a random direction d_k of all coefficients          analyst, every party              Clear(label, features), 8 p_k B
X_k d_k under masks that cancel in the sum (n,)     every passive, active             Clear(label, features), 8 n B
X'u before and after the direction, twice           as of an evaluation
At last
deviances, number of events, concordance            active, analyst                   Clear(label, features)
means and standard deviations of columns            every party, analyst              Clear(features)

The information is -D Q' for the differences D of the score along p orthogonal directions Q.  Along the unit vectors
they would open every column of the others itself, as the unit of a direction is sent; here each opened vector mixes the
columns of all others, and no direction is used whose vector has a correlation above 0.999 with one of them.  Together
with the steps the vectors still span these columns (``record_openings``), as those of a fit of p steps do.  Everything
is exact: epsilon is infinite.  The cumulated baseline hazard, at the means of the columns, stays at the active party.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from scipy.special import ndtri

from .....federation.exchanges.masks.pair_keys import PairKeys
from .....federation.parties import Party, column_order
from .....federation.places import PerPlace
from .....federation.roles import ANALYST
from .....federation.run import Run
from .....models.standardise import Scaling
from .....privacy.mechanisms.random import RandomSource, words_of
from ...diagnostics import HazardSums, diagnose_hazards
from ...exact import with_unit_intercept
from ...follow_up import FollowUp
from ...model import GlmEstimate, Status
from ...opened_link.iterations import LAST, Steering
from ...opened_link.steps import (
    Evaluation,
    LinearPredictor,
    analyst_finished,
    local_evaluated,
)
from ...records import WeightedResponse
from ..weighted_sums import MaskedColumns
from .steps import collect_scores, collect_units, opened_along

# Step of the differences, in standard deviations of columns; largest correlation of an opened vector with a column.
DIFFERENCE, ALIKE, DRAWS = 1e-4, 0.999, 1000


def local_moved_by(
    active: Party, response: WeightedResponse | FollowUp, predictor: LinearPredictor, step: float
) -> Evaluation:
    """An evaluation at a step along the direction."""
    along = np.zeros_like(predictor.eta) if predictor.along is None else predictor.along
    return local_evaluated(active, response, replace(predictor, eta=predictor.eta + step * along), "u")


def analyst_directions(products: np.ndarray, n_active: int, rng_for: Callable[..., RandomSource]) -> np.ndarray:
    """(p, p) orthogonal directions as columns, uniform among those whose vectors resemble no column of the others.

    products : (1 + p, 1 + p) X'X; n_active : columns of the active party, the first
    """
    words, p = words_of(rng_for("directions", ANALYST)), len(products) - 1
    others = products[1 + n_active :, 1 + n_active :]
    lengths = np.sqrt(np.diag(others))
    for _ in range(DRAWS):
        # A rotation needs no exact law: it hides nothing by itself.
        normal = ndtri(((words(p * p) >> np.uint64(11)) + 0.5) * 2.0**-53).reshape(p, p)
        Q, R = np.linalg.qr(normal)
        Q = Q * np.sign(np.diag(R))
        images = others @ Q[n_active:]
        sizes = np.sqrt(np.sum(Q[n_active:] * images, axis=0))
        if len(others) < 2 or np.all(np.abs(images) <= ALIKE * np.outer(lengths, sizes)):
            break
    return Q


def analyst_aimed(now: Steering, directions: np.ndarray, place: int) -> Steering:
    """Return the state with one of the directions as the next step."""
    return replace(now, direction=np.append(0.0, directions[:, place]))


def analyst_information(
    now: Steering, after: Sequence[np.ndarray], before: Sequence[np.ndarray], directions: np.ndarray
) -> np.ndarray:
    """(1 + p, 1 + p) information from the scores after and before every direction; there is none of an intercept."""
    D = np.column_stack(after)[1:] - np.column_stack(before)[1:]
    information = D @ directions.T / (-2 * DIFFERENCE)
    return with_unit_intercept((information + information.T) / 2)


def analyst_cox_estimate(
    now: Steering,
    matrix: np.ndarray | None,
    sums: tuple[float, ...],
    scales: Sequence[tuple[np.ndarray, np.ndarray]],
    columns: Sequence[Sequence[int]],
    ridge: float,
) -> GlmEstimate:
    """Everything that is reported, by the global numbers of the columns; the first coefficient centres predictors."""
    places = column_order(columns)
    scaling = Scaling.merge([Scaling(*part) for part in scales], places)
    order = np.append(0, 1 + places)
    reached = now.verdict == "ok" and matrix is not None
    information = matrix[np.ix_(order, order)] if reached and matrix is not None else None
    return GlmEstimate(
        scaling.coefficients(now.beta[order]),
        status=cast(Status, now.verdict),
        reason=now.reason,
        iterations=len(now.path),
        objective=np.array(now.path),
        **diagnose_hazards(HazardSums(*sums), information, scaling, ridge),
    )


def information_by_differences(
    run: Run,
    masked: MaskedColumns,
    keys: PairKeys,
    X: PerPlace[np.ndarray],
    response: WeightedResponse | FollowUp,
    predictor: LinearPredictor,
    now: Steering,
    directions: np.ndarray,
    steps: int,
) -> tuple[np.ndarray, LinearPredictor]:
    """The information at the analyst, and the predictor with the vectors that were opened after so many steps."""
    active, after, before = masked.order[0], list[np.ndarray](), list[np.ndarray]()
    for place in range(sum(masked.sizes) - 1):
        aimed = run.at(ANALYST, analyst_aimed, now, directions, place)
        predictor = opened_along(run, masked, keys, X, predictor, aimed, steps + place)
        for side, (length, ends) in enumerate(((DIFFERENCE, after), (-DIFFERENCE, before))):
            evaluation = run.at(active, local_moved_by, response, predictor, length)
            ends.append(collect_scores(run, masked, X, evaluation, steps + 1 + 2 * place + side)[1])
    return run.at(ANALYST, analyst_information, now, after, before, directions), predictor


def closing(
    run: Run,
    masked: MaskedColumns,
    keys: PairKeys,
    X: PerPlace[np.ndarray],
    scaling: PerPlace[Scaling],
    response: WeightedResponse | FollowUp,
    predictor: LinearPredictor,
    now: Steering,
    verdict: str,
    products: np.ndarray,
    steps: int,
) -> tuple[GlmEstimate, LinearPredictor, int]:
    """The estimate at the analyst after so many steps, the predictor, and the number of vectors that were opened."""
    active, matrix, ridge = masked.order[0], None, run.spec.options.ridge
    if verdict == LAST:
        directions = run.at(ANALYST, analyst_directions, products, len(active.columns), run.rng_for)
        matrix, predictor = information_by_differences(
            run, masked, keys, X, response, predictor, now, directions, steps
        )
        now = run.at(ANALYST, analyst_finished, now, matrix, ridge)
        steps += sum(masked.sizes) - 1
    sums, scales, columns = collect_units(run, masked, scaling, response, predictor)
    inputs = now, matrix, sums, scales, columns, ridge
    return run.at(ANALYST, analyst_cox_estimate, *inputs), predictor, steps
