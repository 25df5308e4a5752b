"""Numbers that the source's formulas give and no fit of the study reports, and comparisons of a few small fits."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import inf
from pathlib import Path

# Any: options of a method by their names.
from typing import Any, Literal

import numpy as np

from ....core.checks import Scalar
from ....core.randomness import Rng, stream
from ....experiment.cells import Coords, execution, recompute
from ....experiment.plan import Plan, plan
from ....experiment.register.replicates import ratio
from ....methods.functional.boosting import Walk
from ....methods.functional.coordinates import make_coordinates
from ....methods.functional.moments import CurveSums, block_noise, corrected_moments
from ....methods.functional.options import CurvePublishedOptions
from ....methods.functional.path_options import BoostingOptions
from ....methods.functional.paths import PathState, Rotation, noise_floor, path_covariances
from ....privacy.accounting.calibration import classic_gaussian_sigma, gaussian_epsilon
from ..cases import draw_simulated
from ..settings import SimulatedCurveSettings

ROOT_SEED, DRAWS = 20240601, 6
# An orthonormal basis: the noise N(0, s^2 M) compares with coefficients of variance 1, whatever the unit of time.
BASIS: Literal["fourier"] = "fourier"
# The systems of all predictors are factored before the first step.
SYSTEMS = {"solver": "kronecker", "stabiliser": "none", "s": 2.0, "max_steps": 1, "min_steps": 1}


def total_rho_ratio(parties: int, first: int = 2, predictors: int = 20) -> float:
    """Total rho of all predictors at s sqrt(J), at J = ``parties`` against J = ``first``: Delta^2 / (2 s^2) each."""
    total = {count: predictors / count for count in (parties, first)}
    return total[parties] / total[first]


def classic_epsilon(epsilon: float, delta: float) -> float:
    """Exact epsilon of the noise that the classic formula asks for."""
    sigma = float(classic_gaussian_sigma(epsilon, delta, 1.0, allow_uncertified=True))
    return float(gaussian_epsilon(1 / sigma, delta))


def corrected_moment(n: int = 400, draws: int = 400, s: float = 0.5) -> float:
    """N/(N-1) times the centred moment of noised numbers of variance 1, less s^2: its mean over draws."""
    rng = stream(1, "printed", "corrected_moment")
    noised = rng.standard_normal((draws, n)) + s * rng.standard_normal((draws, n))
    return float((noised.var(axis=1) * n / (n - 1) - s**2).mean())


def _plan(options: Mapping[str, object], n: int = 1000, folds: int = 1) -> Plan:
    """A study of one case, 20 predictors and folds or fresh test records, and of one method as published."""
    method = {"protocol": "published", "penalty_scale": "spectral"} | dict(options)
    grid = {"methods": ["fit"], "replicates": DRAWS, "parties": [2], "folds": folds, "epsilon": [inf]}
    settings = {"n": n, "n_test": 1000 if folds == 1 else 0, "basis": BASIS}
    case = {"source": "simulated", "settings": settings, "grid": grid}
    block = {"spec": {}, "methods": {"fit": method}, "cases": {"case": case}, "figures": []}
    return plan("functional_boosting", block, ROOT_SEED)


@lru_cache
def _fits(variable: str, n: int = 1000, parties: int = 2, **options: Any) -> np.ndarray:
    """A measure of fits (DRAWS,), one for each draw of the data and of the noise."""
    study_plan, values = _plan(options, n), list[Scalar]()
    for replicate in range(DRAWS):
        where = Coords(case="case", method="fit", replicate=replicate, parties=parties, fold=0, epsilon=inf)
        values.append(recompute(study_plan, where, "resources").scalars[variable])
    return np.array(values, dtype=float)


def _differences(first: Mapping[str, Any], second: Mapping[str, Any], variable: str = "relative_error") -> np.ndarray:
    """A measure of fits with some options less that with others, draw by draw."""
    return np.asarray(_fits(variable, **first) - _fits(variable, **second))


def noise_costs(s: float, larger: float) -> np.ndarray:
    """Error at noise s less that at a larger one, draw by draw."""
    return _differences({"s": s}, {"s": larger})


def slow_steps_cost(nu: float, larger: float, steps: int) -> np.ndarray:
    """Error after so many steps at shrinkage nu less that at a larger one."""
    options = {"max_steps": steps, "min_steps": steps}
    return _differences(options | {"nu": nu}, options | {"nu": larger})


def growing_records(parties: int, n: int, fewer_parties: int, fewer: int) -> np.ndarray:
    """Error with more parties and more records less that with fewer of both."""
    return _differences({"n": n, "parties": parties}, {"n": fewer, "parties": fewer_parties})


def crossfit_gain(s: float) -> np.ndarray:
    """Error of cross-fitted selection less that of selection on the training records, both stopped by AIC."""
    options = {"s": s, "stop": "aic_train"}
    return _differences(options, options | {"crossfit": "none"})


def solver_fallbacks(lambda_s: float, smaller: float) -> np.ndarray:
    """Systems without a Cholesky factor, of 20 in a fit, less those at a smaller lambda_s."""
    return _differences(SYSTEMS | {"lambda_s": lambda_s}, SYSTEMS | {"lambda_s": smaller}, "solver_fallbacks")


def moved_folds(parties: int, fewer: int) -> float:
    """Records whose fold differs between two numbers of parties."""
    study_plan = _plan({}, folds=4)
    data = draw_simulated(study_plan.cases["case"].settings, None, streams(0), Path())
    of = [execution(study_plan, "case", "fit", count, 0, inf, data).fold.of for count in (parties, fewer)]
    return float(np.count_nonzero(of[0] != of[1]))


def crossed_moment(n: int = 400, draws: int = 400, s: float = 0.5) -> np.ndarray:
    """N/(N-1) times the centred moment of noised numbers with a response, over the true one: draw by draw."""
    rng = stream(1, "printed", "crossed_moment")
    x, noise = rng.standard_normal((2, draws, n))
    y = 0.5 * x + rng.standard_normal((draws, n))
    noised = x + s * noise
    moments = np.mean((noised - noised.mean(1, keepdims=True)) * y, axis=1)
    return np.asarray(moments * n / (n - 1) / 0.5)


def default_is_cross_validation() -> float:
    """1 if the published options stop by cross-validation unless they state another criterion."""
    return float(CurvePublishedOptions().stop == "cv_published")


def streams(replicate: int) -> Rng:
    """Generators of the data of a draw."""
    return lambda *names, shared=False: stream(ROOT_SEED, "printed", "shared" if shared else replicate, *names)


def optimism_ratio(s: float, steps: int) -> np.ndarray:
    """Optimism of cross-fitted selection over that of selection on the training records."""
    shared, none = (
        np.array([_optimism(replicate, crossfit, s, steps) for replicate in range(DRAWS)])
        for crossfit in ("shared", "none")
    )
    return ratio(shared, none)


def _optimism(replicate: int, crossfit: str, s: float, steps: int) -> float:
    """Gain of the chosen candidates on the records that chose them, less that on fresh ones, over some steps."""
    settings = SimulatedCurveSettings(n_test=1000, basis=BASIS)
    data = draw_simulated(settings, None, streams(replicate), Path())
    options = BoostingOptions(crossfit="shared" if crossfit == "shared" else "none", stop="aic")
    coordinates = make_coordinates(data.public(), settings.p, coordinates="raw")
    noise = block_noise(np.tile(s**2 * coordinates.gram_noise, (settings.p, 1, 1)), settings.n_basis_x, settings.p)
    clean, Y = coordinates.predictors(data.X).reshape(len(data.X), -1), coordinates.response(data.Y)
    drawn = streams(replicate)("noise").standard_normal((settings.n, len(noise)))
    Z = clean[: settings.n] + drawn @ np.linalg.cholesky(noise).T
    sums = [CurveSums.of(Z[half::2], Y[half : settings.n : 2]) for half in (0, 1)]
    train, *halves = (corrected_moments(part, noise) for part in (sums[0] + sums[1], *sums))
    halves = halves if crossfit == "shared" else []
    covariances = path_covariances([train, *halves], options, noise_floor(train, settings.n_basis_x))[0]
    groups = tuple((j,) for j in range(settings.p))
    rotation = Rotation(covariances[0], groups, coordinates.penalties, options)
    walk = Walk(PathState(rotation, covariances, train, halves), train, halves, options, 0.0, None)
    fresh = corrected_moments(CurveSums.of(clean[settings.n :], Y[settings.n :]), np.zeros_like(noise))
    G, H = rotation.gram(fresh.G), rotation.cross(fresh.H)
    total = 0.0
    for _ in range(steps):
        block, _, changes, score = walk.selection()
        assert block is not None
        rows, paths = rotation.slices[block], [1, 2] if halves else [0]
        for path in paths:
            change = changes[path, rows]
            gradient = (H - G @ walk.state.coef[path])[rows]
            total += float(np.sum(change * (G[rows, rows] @ change - 2 * gradient))) / len(paths)
        total -= score / len(paths)
        walk.state.advance(block, np.broadcast_to(changes[0, rows], changes[:, rows].shape), options.nu)
    return total
