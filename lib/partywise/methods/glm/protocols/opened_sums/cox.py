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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from scipy.special import ndtri

from .....alignment.rows import common_rows
from .....federation.exchanges.masks.pair_keys import PairKeys, agree_on_keys
from .....federation.parties import Party, column_order
from .....federation.places import PerPlace
from .....federation.roles import ANALYST, roles, unprotected_value
from .....federation.run import Run
from .....models.standardise import Scaling
from .....privacy.accounted_values import Clear
from .....privacy.mechanisms.random import RandomSource, words_of
from ...diagnostics import HazardSums, diagnose_hazards, hazard_sums_of
from ...exact import check_size, with_unit_intercept
from ...follow_up import FollowUp, local_follow_up
from ...model import GlmEstimate, Status
from ...opened_link.iterations import LAST, Steering, analyst_started
from ...opened_link.steps import (
    Evaluation,
    LinearPredictor,
    analyst_finished,
    local_evaluated,
    local_own_scores,
    local_predictor,
    local_scales,
    local_sent_start,
)
from ...records import local_columns, local_scaling, local_standardised
from ..weighted_sums import MaskedColumns, closed_columns, gram, scores
from .steps import iterate, opened_along, to_estimate

# Step of the differences, in standard deviations of columns; largest correlation of an opened vector with a column.
DIFFERENCE, ALIKE, DRAWS = 1e-4, 0.999, 1000


def local_begun(active: Party, response: FollowUp) -> tuple[float, float]:
    """Intercept, which there is none of, and the share of events, about the mean weight of the information."""
    return 0.0, float(np.mean(response.events))


def local_moved_by(active: Party, response: FollowUp, predictor: LinearPredictor, step: float) -> Evaluation:
    """An evaluation at a step along the direction."""
    along = np.zeros_like(predictor.eta) if predictor.along is None else predictor.along
    return local_evaluated(active, response, replace(predictor, eta=predictor.eta + step * along), "u")


def local_cox_sums(active: Party, response: FollowUp, predictor: LinearPredictor, parts: Sequence[Clear]) -> Clear:
    """(4,) `HazardSums`."""
    return unprotected_value(np.array(hazard_sums_of(response, predictor.eta)), parts)


def local_baseline(active: Party, response: FollowUp, predictor: LinearPredictor) -> dict[str, np.ndarray]:
    """Cumulated baseline hazard by stratum."""
    return response.baseline(predictor.eta)


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
    sums: np.ndarray,
    matrix: np.ndarray | None,
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
        **diagnose_hazards(HazardSums(*sums.tolist()), information, scaling, ridge),
    )


def to_cox_estimate(
    estimate: GlmEstimate,
    predictor: LinearPredictor,
    names: Sequence[str],
    rows: Mapping[str, np.ndarray] | None,
    counts: dict[str, int],
    baseline: dict[str, np.ndarray],
) -> GlmEstimate:
    """Add the active party's view, the counts and its baseline hazard."""
    return replace(to_estimate(estimate, predictor, names, rows, counts), baseline=baseline)


def information_by_differences(
    run: Run,
    masked: MaskedColumns,
    keys: PairKeys,
    X: PerPlace[np.ndarray],
    response: FollowUp,
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
            names = ("deviance", "X'u of its own")
            _, active_scores = run.gather((active,), ANALYST, names, local_own_scores, evaluation, X, masked.parts)
            ends.append(scores(run, masked, evaluation, active_scores, steps + 1 + 2 * place + side))
    return run.at(ANALYST, analyst_information, now, after, before, directions), predictor


def fit(run: Run) -> GlmEstimate:
    """Step as a joint fit with L-BFGS does, then open the information by differences of the score."""
    active, passive = roles(run.parties, bare=True)
    public, options, order = run.spec.public, run.spec.options, (active, *passive)
    rows, n = common_rows(run)
    names = public.names_of(party.columns for party in order)
    check_size(n, 1 + len(names), options.ridge)
    response = run.at(active, local_follow_up, rows, options.ties)
    begun = run.at(active, local_begun, response)
    columns = run.each(order, local_columns, rows, public)
    scaling = run.each(order, local_scaling, columns, None)
    X = run.each(order, local_standardised, columns, scaling, None)
    keys = agree_on_keys(run, passive, active)
    masked = closed_columns(run, order, X, n)
    start = run.send(active, ANALYST, "start", local_sent_start, begun)
    products = gram(run, masked, X, between=options.start == "gram")
    now = run.at(ANALYST, analyst_started, start, names, products, options.ridge)
    predictor = run.at(active, local_predictor, begun, response)
    predictor, now, verdict, opened = iterate(run, masked, keys, X, response, predictor, now)
    matrix = None
    if verdict == LAST:
        directions = run.at(ANALYST, analyst_directions, products, len(active.columns), run.rng_for)
        matrix, predictor = information_by_differences(
            run, masked, keys, X, response, predictor, now, directions, opened
        )
        now = run.at(ANALYST, analyst_finished, now, matrix, options.ridge)
        opened += len(names)
    sums = run.send(active, ANALYST, "sums", local_cox_sums, response, predictor, masked.parts)
    scales = run.gather(order, ANALYST, "means and scales", local_scales, scaling)
    inputs = now, sums, matrix, scales, [party.columns for party in order], options.ridge
    estimate = run.at(ANALYST, analyst_cox_estimate, *inputs)
    baseline = run.at(active, local_baseline, response, predictor)
    counts = {"openings": len(masked.aggregates), "record_openings": opened, "secure_products": masked.dealing.products}
    holders = [party.name for party in order]
    aligned = None if public.aligned else rows
    return run.assemble(to_cox_estimate, estimate, predictor, holders, aligned, counts, baseline)
