"""Local computations of a fit whose predictors stay in shares, at the parties and at the analyst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

# Any: numbers in the order of the fields that they become.
from typing import Any

import numpy as np

from ....federation.parties import Party, column_order
from ....federation.roles import unprotected_value
from ....models.newton_step import penalties
from ....models.standardise import Scaling, with_ones
from ....privacy.accounted_values import Clear
from ..diagnostics import DiagnosticSums, diagnose
from ..model import GlmEstimate
from ..options import JointOptions
from ..records import WeightedResponse, local_standardised
from .plan import RingPlan, assemble_symmetric
from .polynomials import SharedLink, centre_of
from .refinement import EVALUATIONS, Optimum, Refinement, advanced_finer
from .search import LbfgsSearch, advance, start_search
from .terms import LinkTerms, terms_of

# Relative error of an opened objective.
ROUNDING = 1e-12
GOING = "going on"


@dataclass(frozen=True)
class StartScales:
    """The fit without columns and the scales of `LinkTerms`, from the active party."""

    intercept: float
    null_deviance: float
    scale: float
    unit: float
    curvature: float
    n_observations: float
    levels: tuple[float, ...]


@dataclass(frozen=True)
class State:
    """State of the analyst between two evaluations.

    search; refinement : of its end, None while it goes on
    gram : X'X / n or its blocks; start : the fit without columns; first : the first opened objective
    """

    search: LbfgsSearch
    gram: np.ndarray
    start: StartScales
    first: float | None = None
    refinement: Refinement | None = None

    @property
    def trial(self) -> np.ndarray:
        """(q,) coefficients to evaluate next, in the end the result."""
        return self.search.trial if self.refinement is None else self.refinement.trial

    @property
    def evaluations(self) -> int:
        """Number of evaluations so far, of the search and of its end."""
        return self.search.evaluations + (0 if self.refinement is None else self.refinement.evaluations)

    @property
    def deviance(self) -> float:
        """Deviance at the optimum, in the units of the response."""
        assert self.refinement is not None and self.refinement.optimum is not None
        return self.start.scale * self.refinement.optimum.deviance


def local_block(party: Party, columns: np.ndarray, scaling: Scaling, absent: np.ndarray | None) -> np.ndarray:
    """(n, width) standardised columns; the active party's begin with ones."""
    X = local_standardised(party, columns, scaling, absent)
    return with_ones(X) if party.role == "active" else X


def local_centre(active: Party, response: WeightedResponse, null: tuple[float, float]) -> Clear:
    """Return the centre of the polynomials."""
    return Clear(centre_of(response.family.name, null[0]), units=("label",), owner=active.name)


def local_terms(active: Party, response: WeightedResponse, null: tuple[float, float], centre: float) -> LinkTerms:
    """The numbers of the response."""
    return terms_of(response, null[0], centre)


def local_start(active: Party, response: WeightedResponse, null: tuple[float, float], terms: LinkTerms) -> Clear:
    """Return `StartScales` as one array of numbers."""
    numbers = (*null, terms.scale, terms.unit, terms.curvature, response.n_observations, *terms.levels)
    return Clear(np.array(numbers, dtype=float), units=("label",), owner=active.name)


def local_vector(active: Party, terms: LinkTerms, which: tuple[str, int | None]) -> np.ndarray:
    """(n, 1) one of the vectors of the response."""
    name, place = which
    vectors = getattr(terms, name)
    return (vectors if place is None else vectors[place])[:, None]


def local_cut(
    party: Party, X: np.ndarray, theta: np.ndarray, terms: LinkTerms | None, radius: float, most: float
) -> np.ndarray:
    """(n,) the party's part of u over R, the active one's with the shift of its terms, within what the ring holds."""
    shift = 0.0 if terms is None else terms.shift
    return np.clip((X @ theta + shift) / radius, -most, most)


def local_likelihood(active: Party, response: WeightedResponse, deviance: float) -> Clear:
    """Log-likelihood at a deviance: that of a perfect fit less half of it, over the dispersion D / n where one is."""
    dispersion = deviance / response.n_observations if response.family.facts.estimates_dispersion else 1.0
    likelihood = response.log_likelihood(response.y, dispersion)
    if dispersion > 0:
        likelihood -= deviance / (2 * dispersion)
    return Clear(likelihood, units=("label",), owner=active.name)


def analyst_started(
    numbers: np.ndarray, gram: Sequence[Sequence[np.ndarray | None]], plan: RingPlan, options: JointOptions
) -> State:
    """The search before the first evaluation, at coefficients 0."""
    first, levels = np.split(numbers, [len(fields(StartScales)) - 1])
    values: list[Any] = [*first.tolist(), tuple(levels.tolist())]
    start, total = StartScales(*values), assemble_symmetric(gram, plan)
    ridge = options.ridge * start.unit**2 / start.scale
    matrix = start.curvature * total + np.diag(penalties(len(total), ridge))
    return State(start_search(matrix, ridge, plan.reach), total / plan.n, start)


def analyst_coefficients(state: State, place: int, plan: RingPlan, parts: Sequence[Clear]) -> Clear:
    """Coefficients of one party's columns at the trial, in units of u."""
    return unprotected_value(np.ascontiguousarray(state.trial[plan.slices[place]]), parts)


def analyst_advanced(
    state: State, objective: np.ndarray, scores: Sequence[np.ndarray], plan: RingPlan, options: JointOptions
) -> State:
    """The state after an evaluation; ``objective`` is minus half a deviance, up to a constant."""
    value = float(objective[0, 0])
    first = value if state.first is None else state.first
    deviance = state.start.null_deviance / state.start.scale - 2 * (value - first)
    scaled_scores = np.concatenate([part[:, 0] for part in scores]) / plan.link.radius
    search = advance(
        state.search,
        deviance,
        scaled_scores,
        state.gram,
        tolerance=options.tolerance,
        max_iter=options.max_iter,
        rounding=ROUNDING,
        bounded=bool(plan.link.fine[0].scores),
    )
    if search.status is None or search.evaluations >= options.max_iter:
        return State(search, state.gram, state.start, first)
    # What a search without an end leads to is no start.
    trial = search.trial if search.status == "ok" else np.zeros(len(search.trial))
    return State(search, state.gram, state.start, first, Refinement(trial))


def analyst_refined(
    state: State,
    information: Sequence[Sequence[np.ndarray | None]],
    scores: Sequence[np.ndarray] | None,
    deviance: np.ndarray | None,
    outside: np.ndarray | None,
    pearson: np.ndarray | None,
    plan: RingPlan,
    options: JointOptions,
    names: Sequence[str],
) -> State:
    """The state after an evaluation at the end of the search; ``names`` are in the order of the coefficients."""
    start, search = state.start, state.search
    assert state.refinement is not None
    null = start.null_deviance / start.scale
    squares = 0.0 if pearson is None else float(pearson[0, 0])
    optimum = Optimum(
        assemble_symmetric(information, plan),
        None if scores is None else np.concatenate([part[:, 0] for part in scores]),
        squares if deviance is None else null - 2 * (float(deviance[0, 0]) - start.levels[state.refinement.range]),
        squares,
        0.0 if outside is None else float(outside[0, 0]),
    )
    q = len(search.trial)
    dispersion = 1 / start.scale if pearson is None else squares / max(start.n_observations - q, 1)
    # Of blocks alone the squares of a sum of K parts are bounded by K times those of the parts.
    parts = 1 if options.start == "gram" else len(plan.widths)
    refinement = advanced_finer(
        state.refinement,
        optimum,
        start=search.memory.start,
        ridge=search.ridge,
        unit=dispersion,
        null=null,
        spread=parts * plan.n * state.gram,
        ranges=[(fine.radius, fine.power) for fine in plan.link.fine],
        most=min(EVALUATIONS, options.max_iter - search.evaluations),
        least=plan.link.fine[state.refinement.range].least * start.n_observations,
        names=names,
    )
    return replace(state, refinement=refinement)


def analyst_status(state: State, parts: Sequence[Clear]) -> Clear:
    """Whether another evaluation follows, and how the search ended otherwise."""
    return unprotected_value(state.search.status or GOING, parts)


def analyst_end(state: State, link: SharedLink, parts: Sequence[Clear]) -> Clear:
    """Return the range of the next evaluation, or the status at which evaluations ended."""
    assert state.refinement is not None
    return unprotected_value(state.refinement.status or link.fine[state.refinement.range].name, parts)


def analyst_deviance(state: State, parts: Sequence[Clear]) -> Clear:
    """The deviance, for its likelihood."""
    return unprotected_value(state.deviance, parts)


def to_estimate(
    counts: Mapping[str, float | int | bool | str | None],
    state: State,
    scalings: Mapping[str, Scaling],
    likelihood: float | None,
    rows: Mapping[str, np.ndarray] | None,
    order: Sequence[tuple[str, Sequence[int]]],
    options: JointOptions,
    family: str,
) -> GlmEstimate:
    """Return the estimate on the original scale of the columns."""
    search, start, finer = state.search, state.start, state.refinement
    columns = column_order([group for _, group in order])
    place = np.concatenate([np.zeros(1, dtype=int), 1 + columns])
    scaling = Scaling.merge([scalings[name] for name, _ in order], columns)
    beta = start.unit * state.trial[place]
    beta[0] += start.intercept
    ended: LbfgsSearch | Refinement = search if finer is None else finer
    numbers: dict[str, float | int | bool | str | None] = dict(counts) | {
        "record_openings": 0,
        "approximate": family != "gaussian",
    }
    if finer is not None and finer.optimum is not None:
        numbers["outside"] = finer.optimum.outside
    estimate = GlmEstimate(
        scaling.coefficients(beta),
        status=ended.status or "not_converged",
        reason=ended.reason,
        iterations=state.evaluations,
        null_deviance=start.null_deviance,
        objective=np.array(search.path) * start.scale,
        rows=None if rows is None else {name: np.array(indices) for name, indices in rows.items()},
        numbers=numbers,
    )
    if ended.status != "ok" or finer is None or finer.optimum is None or likelihood is None:
        return estimate
    sums = finer.optimum
    totals = DiagnosticSums(
        state.deviance, start.null_deviance, start.scale * sums.pearson, likelihood, start.n_observations
    )
    matrix = (sums.information * start.scale / start.unit**2)[np.ix_(place, place)]
    reported = diagnose(totals, matrix, scaling, family, ridge=options.ridge, dispersion=options.dispersion).fields()
    return replace(estimate, **reported | {"numbers": reported["numbers"] | numbers})
