"""What the parties and the analyst compute in a fit whose predictors stay in shares (`shared`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...federation.parties import Party, column_order
from ...federation.roles import unprotected
from ...privacy.accounted import Clear
from ..diagnostics import Sums, diagnosed
from ..model import Estimate
from ..options import JointOptions
from ..records import Response
from ..solvers import penalties
from ..standardise import Scaling, with_ones
from .plan import Plan, assembled
from .search import Search, advanced, started
from .terms import Terms, terms_of

# Relative error of an opened objective.
ROUNDING = 1e-12
GOING = "going on"
# Share of the records outside of the polynomial's range from which on a fit is none.
STRAYED = 0.01
OUTSIDE = (
    "more than 1 % of the records lie where the polynomial is not the link, as those of separated responses do: give "
    "ridge > 0, drop a column, or use link 'opened'"
)
INDEFINITE = "X'WX of the polynomial weights is not definite: no standard errors, give ridge > 0 or use link 'opened'"


@dataclass(frozen=True)
class Start:
    """What the active party tells of the fit without columns, and of its scales (`Terms`)."""

    intercept: float
    null_deviance: float
    scale: float
    unit: float
    curvature: float
    constant: float
    level: float
    used: float


@dataclass(frozen=True)
class State:
    """What the analyst has: the search, X'X / n or its blocks, the fit without columns, the first opened objective."""

    search: Search
    gram: np.ndarray
    start: Start
    first: float | None = None


@dataclass(frozen=True)
class Optimum:
    """Sums at the optimum in the units of the response.

    information : X'WX of standardised columns; definite : whether it is, as weights are polynomials
    """

    information: np.ndarray
    deviance: float
    pearson: float
    definite: bool


def local_block(party: Party, columns: np.ndarray, scaling: Scaling) -> np.ndarray:
    """(n, width) standardised columns; the active party's begin with ones."""
    X = scaling.applied(columns)
    return with_ones(X) if party.role == "active" else X


def local_null(active: Party, response: Response) -> tuple[float, float]:
    """Intercept and deviance without columns."""
    return response.null()


def local_terms(active: Party, response: Response, null: tuple[float, float]) -> Terms:
    """The numbers of the response."""
    return terms_of(response, null[0])


def local_start(active: Party, response: Response, null: tuple[float, float], terms: Terms) -> Clear:
    """`Start` as numbers."""
    found = (*null, terms.scale, terms.unit, terms.curvature, terms.constant, terms.level, response.used)
    return Clear(np.array(found, dtype=float), units=("label",), owner=active.name)


def local_vector(active: Party, terms: Terms, which: tuple[str, int | None]) -> np.ndarray:
    """(n, 1) one of the vectors of the response."""
    name, place = which
    found = getattr(terms, name)
    return (found if place is None else found[place])[:, None]


def local_shift(active: Party, terms: Terms) -> np.ndarray:
    """(n,) part of the predictor that is no coefficient's."""
    return terms.shift


def local_own(party: Party, block: np.ndarray) -> np.ndarray:
    """The party's standardised columns."""
    return block


def local_predictor(party: Party, X: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """(n,) the party's part of u."""
    return X @ theta


def local_cut(party: Party, X: np.ndarray, theta: np.ndarray, shift: np.ndarray | float, plan: Plan) -> np.ndarray:
    """(n,) the same over R, with a shift, within what the ring holds."""
    return np.clip((X @ theta + shift) / plan.link.radius, -plan.cut, plan.cut)


def local_likelihood(active: Party, response: Response, deviance: float) -> Clear:
    """Log-likelihood at a deviance: that of a perfect fit less half of it, over the dispersion D / n where one is."""
    family, used = response.family, response.used
    dispersion = deviance / used if family.estimates_dispersion else 1.0
    if not dispersion > 0:
        return Clear(float("nan"), units=("label",), owner=active.name)
    perfect = family.log_likelihood(response.y, response.y, dispersion, response.weights)
    return Clear(perfect - deviance / (2 * dispersion), units=("label",), owner=active.name)


def analyst_started(
    numbers: np.ndarray, gram: Sequence[Sequence[np.ndarray | None]], plan: Plan, options: JointOptions
) -> State:
    """The search before the first evaluation, at coefficients 0."""
    start, total = Start(*numbers.tolist()), assembled(gram, plan)
    ridge = options.ridge * start.unit**2 / start.scale
    matrix = start.curvature * total + np.diag(penalties(len(total), ridge))
    return State(started(matrix, ridge, plan.reach), total / plan.n, start)


def analyst_coefficients(state: State, place: int, plan: Plan, parts: Sequence[Clear]) -> Clear:
    """Coefficients of one party's columns at the trial, in units of u."""
    return unprotected(np.ascontiguousarray(state.search.trial[plan.slices[place]]), parts)


def analyst_advanced(
    state: State, objective: np.ndarray, scores: Sequence[np.ndarray], radius: float, options: JointOptions
) -> State:
    """The state after an evaluation; ``objective`` is minus half a deviance but for a constant."""
    value = float(objective[0, 0])
    first = value if state.first is None else state.first
    deviance = state.start.null_deviance / state.start.scale - 2 * (value - first)
    given = np.concatenate([one[:, 0] for one in scores]) / radius
    search = advanced(
        state.search,
        deviance,
        given,
        state.gram,
        tolerance=options.tolerance,
        max_iter=options.max_iter,
        rounding=ROUNDING,
    )
    return State(search, state.gram, state.start, first)


def analyst_status(state: State, parts: Sequence[Clear]) -> Clear:
    """Whether another evaluation follows, and how the search ended otherwise."""
    return unprotected(state.search.status or GOING, parts)


def analyst_found(
    state: State,
    information: Sequence[Sequence[np.ndarray | None]],
    deviance: np.ndarray,
    pearson: np.ndarray | None,
    plan: Plan,
) -> Optimum:
    """The sums in the units of the response."""
    start, matrix = state.start, assembled(information, plan)
    return Optimum(
        matrix * start.scale / start.unit**2,
        start.null_deviance - 2 * start.scale * (float(deviance[0, 0]) - start.level),
        0.0 if pearson is None else start.scale * (start.constant + float(pearson[0, 0])),
        bool(np.all(np.linalg.eigvalsh(matrix) > 0)),
    )


def analyst_deviance(found: Optimum, parts: Sequence[Clear]) -> Clear:
    """The deviance, for its likelihood."""
    return unprotected(found.deviance, parts)


def outside_of(predictors: Sequence[np.ndarray], shift: np.ndarray, cut: float, reach: float) -> np.ndarray:
    """(n,) bool: where the sum of the parts of the predictor leaves +-reach, or one of them was cut at +-cut."""
    first, *others = predictors
    return np.any(np.abs([first + shift, *others]) > cut, axis=0) | (np.abs(shift + sum(predictors)) > reach)


def reported(
    state: State,
    scalings: Mapping[str, Scaling],
    predictors: Mapping[str, np.ndarray],
    shift: np.ndarray,
    optimum: tuple[Optimum, float] | None,
    rows: Mapping[str, np.ndarray] | None,
    ranges: tuple[float, float],
    order: Sequence[tuple[str, Sequence[int]]],
    options: JointOptions,
    family: str,
    counts: Mapping[str, int],
) -> Estimate:
    """What the analyst has, on the scale of the given columns, and what only an evaluator sees: who lies outside R."""
    search, start = state.search, state.start
    place = np.concatenate([np.zeros(1, dtype=int), 1 + column_order([group for _, group in order])])
    scaling = Scaling.joined([scalings[name] for name, _ in order], [group for _, group in order])
    beta = start.unit * search.trial[place]
    beta[0] += start.intercept
    found = Estimate(
        scaling.coefficients(beta),
        status=search.status or "not_converged",
        iterations=search.evaluations,
        null_deviance=start.null_deviance,
        objective=np.array(search.path) * start.scale,
        rows=None if rows is None else {name: np.array(own) for name, own in rows.items()},
    )
    numbers: dict[str, Any] = dict(counts) | {"record_openings": 0}
    if search.status != "ok":
        numbers["reason"] = search.reason
    outside = outside_of(list(predictors.values()), shift, *ranges)
    numbers["outside"] = int(outside.sum())
    if numbers["outside"] > STRAYED * len(outside):
        return replace(found, status="diverged", numbers=numbers | {"reason": OUTSIDE})
    if optimum is None:
        return replace(found, numbers=numbers)
    sums, likelihood = optimum
    if not sums.definite:
        return replace(found, deviance=sums.deviance, numbers=numbers | {"reason": INDEFINITE})
    given = Sums(sums.deviance, start.null_deviance, sums.pearson, likelihood, start.used)
    matrix = sums.information[np.ix_(place, place)]
    shown = diagnosed(given, matrix, scaling, family, ridge=options.ridge, dispersion=options.dispersion).fields()
    return replace(found, **shown | {"numbers": shown["numbers"] | numbers})
