"""Has the unpenalised objective a minimiser? The recession function decides; an LP computes its least slope.

Along d the unpenalised F has the slope r(d) = (1/N) sum_i max(0, x_i'd) - v'd far out. A minimiser exists if and only
if r > 0 in all directions that move a margin (and r = 0 in those that move none): v then lies in the relative
interior of the zonotope {(1/N) sum a_i x_i : 0 <= a_i <= 1} (Rockafellar 1970, theorem 27.1 and section 13).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.errors import UnboundedObjectiveError
from ...models.links import Link
from ...models.newton import newton, solve_positive
from ...models.objective import Objective, check_features, check_vector

# Rows up to which the LP is solved: its time grows faster than their number.
LP_ROWS = 2000
# A margin (scale: share of an example's label) or a distance from the span of X that cannot be told from zero.
MARGIN_TOLERANCE = 1e-8
SPAN_TOLERANCE = 1e-9
# A margin that proves a status without the LP, well beyond what the LP's own tolerances blur.
PROVED_MARGIN = 1e-6


@dataclass(frozen=True, eq=False)
class Boundedness:
    """Answer of a boundedness test."""

    # "bounded": a minimiser exists; "boundary": the infimum is finite and not attained; "unbounded": F falls without
    # end; "unknown": the test cannot decide.
    status: str
    # Least slope r(d) over the directions with mean |x_i'd| = 1 that the test looks at: all of them (LP, at most 1/2),
    # or the axes (coordinate). -inf where a direction moves no margin and v anyway.
    margin: float
    # Unit vector (k,) along which F does not grow, unless the status is bounded or unknown.
    direction: np.ndarray | None
    # "lp" or "coordinate".
    test: str


def boundedness(X, v, *, lp_rows: int = LP_ROWS) -> Boundedness:
    """Test whether F without ridge has a minimiser.

    Up to ``lp_rows`` rows the LP answers exactly; above, only the axes are tested, which can prove that F is unbounded
    and nothing else.
    """
    X = check_features(X)
    v = check_vector("v", v, X.shape[1])
    return lp_test(X, v) if len(X) <= lp_rows else coordinate_test(X, v)


def minimiser_status(X: np.ndarray, v: np.ndarray, link: Link) -> str:
    """Status of `boundedness` alone, of sound X and v: the axes and a Newton fit settle most, the LP the rest.

    Above `LP_ROWS` rows the axes alone are asked. The status is that of any link with means in (0, 1).
    """
    axes = coordinate_test(X, v).status
    if axes != "unknown" or len(X) > LP_ROWS:
        return axes
    objective = Objective(X, v, np.zeros(X.shape[1]), link)
    try:
        point = objective.at(newton(objective).theta)
    except UnboundedObjectiveError as error:
        point = objective.at(error.direction)  # type: ignore[attr-defined]
        if objective.recession(point) < -PROVED_MARGIN * np.abs(point.margins).mean():
            return "unbounded"
    else:
        # One more step makes the means a point a with (1/N) X'a = v: how far inside of (0, 1) is a lower bound.
        step = solve_positive(objective.hessian(point), objective.gradient(point))
        a = point.probabilities - objective.link.slope(point.margins) * (X @ step)
        exact = np.abs(X.T @ a / len(X) - v).max() <= 1e-12 * max(1.0, np.abs(v).max())
        if exact and min(a.min(), 1 - a.max()) > PROVED_MARGIN:
            return "bounded"
    return lp_test(X, v).status


def recession_slope(X: np.ndarray, v: np.ndarray, direction: np.ndarray) -> float:
    """r(d) = (1/N) sum max(0, x_i'd) - v'd."""
    return float(np.maximum(X @ direction, 0.0).sum() / len(X) - v @ direction)


def coordinate_test(X: np.ndarray, v: np.ndarray) -> Boundedness:
    """Slopes along the 2k axes, in O(k) once the column sums are known; a sufficient test of unboundedness.

    With features of at least 0 it asks whether v_j < 0 or v_j > mean(x_j) for some j.
    """
    mean = np.ones(len(X)) @ X / len(X)
    above = mean if X.min() >= 0 else np.maximum(X, 0.0).mean(axis=0)
    below = above - mean
    # Row 0: d = +e_j, row 1: d = -e_j. An axis that moves no margin and no v says nothing.
    slopes = np.stack([above - v, below + v])
    size = np.broadcast_to(above + below, slopes.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.where(slopes == 0, np.where(size > 0, 0.0, np.inf), slopes / size)
    # A direction is proved only beyond the rounding of the column sums.
    scaled = np.where(np.abs(scaled) <= 1e-13, 0.0, scaled)
    sign, j = np.unravel_index(int(np.argmin(scaled)), scaled.shape)
    margin = float(scaled[sign, j])
    if margin > 0:
        return Boundedness("unknown", margin, None, "coordinate")
    direction = np.zeros(X.shape[1])
    direction[j] = 1.0 - 2.0 * sign
    return Boundedness("unbounded" if margin < 0 else "boundary", margin, direction, "coordinate")


def lp_test(X: np.ndarray, v: np.ndarray) -> Boundedness:
    """The exact test: maximise t with (1/N) X'a = v and t <= a_i <= 1 - t.

    t is free, so the program is feasible for every v in the span of the rows; its optimum is the least slope over
    mean |x_i'd| = 1, and the prices of the k equalities are that direction.
    """
    from scipy.optimize import linprog
    from scipy.sparse import bmat, csr_array, identity

    basis, outside = _span(X, v)
    if outside is not None:
        return Boundedness("unbounded", -np.inf, outside, "lp")
    if basis.shape[1] == 0:
        return Boundedness("bounded", 0.5, None, "lp")
    n, rank = len(X), basis.shape[1]
    # Columns of unit mean size keep the solver's absolute tolerances meaningful.
    reduced = X @ basis
    scale = np.abs(reduced).mean(axis=0)
    reduced, target = reduced / scale, (v @ basis) / scale
    # a_i = t + s_i with s_i >= 0 and s_i + 2 t <= 1.
    equalities = np.column_stack([reduced.T / n, reduced.mean(axis=0)])
    rows = bmat([[identity(n), csr_array(np.full((n, 1), 2.0))]], format="csr")
    cost = np.append(np.zeros(n), -1.0)
    bounds = [(0, None)] * n + [(None, None)]
    solution = linprog(cost, rows, np.ones(n), equalities, target, bounds, method="highs")
    if solution.status != 0:
        return Boundedness("unknown", float("nan"), None, "lp")
    prices = basis @ (np.asarray(solution.eqlin.marginals)[:rank] / scale)
    return _boundedness(X, v, -float(solution.fun), prices)


def _boundedness(X: np.ndarray, v: np.ndarray, margin: float, prices: np.ndarray) -> Boundedness:
    """Status from the optimum; a negative margin must be confirmed by the slope along the direction itself."""
    if margin > MARGIN_TOLERANCE:
        return Boundedness("bounded", margin, None, "lp")
    direction = min((prices, -prices), key=lambda d: recession_slope(X, v, d))
    size = float(np.abs(X @ direction).mean())
    slope = recession_slope(X, v, direction) / size if size > 0 else 0.0
    norm = float(np.linalg.norm(direction))
    unit = direction / norm if norm > 0 else None
    return Boundedness("unbounded" if slope < -MARGIN_TOLERANCE else "boundary", margin, unit, "lp")


def _span(X: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Orthonormal basis (k, r) of the span of the rows, and the direction in which v leaves it, if it does."""
    values, vectors = np.linalg.eigh(X.T @ X / len(X))
    basis = vectors[:, values > 1e-13 * max(values[-1], np.finfo(float).tiny)]
    rest = v - basis @ (basis.T @ v)
    length = float(np.linalg.norm(rest))
    return basis, rest / length if length > SPAN_TOLERANCE * max(float(np.linalg.norm(v)), 1e-300) else None
