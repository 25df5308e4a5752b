"""What the tests of boosting share: groups, options that never stop early, a fit and a walk of a problem."""

import numpy as np

from functional_reference import Problem
from partywise.methods.functional.boosting import Walk, fit_boosting
from partywise.methods.functional.path_options import BoostingOptions
from partywise.methods.functional.paths import PathState, Rotation, noise_floor, path_covariances

SINGLES = ((0,), (1,), (2,), (3,))
UNEVEN = ((0, 3), (1,), (2,))
GROUPS = [SINGLES, UNEVEN]
LAMBDAS = {"lambda_s": 0.3, "lambda_t": 0.2, "lambda_st": 0.1}


def relative(left: np.ndarray, right: np.ndarray) -> float:
    return float(np.linalg.norm(left - right) / np.linalg.norm(right))


def endless(**changes) -> BoostingOptions:
    """Options that walk exactly ``max_steps`` steps: patience never runs out."""
    steps = changes.pop("max_steps", 12)
    return BoostingOptions(max_steps=steps, patience=steps + 1, **changes)


def fit(problem: Problem, groups, options: BoostingOptions, **more):
    return fit_boosting(*problem.moments(), groups, problem.penalties, options, **more)


def make_walk(problem: Problem, groups, options: BoostingOptions) -> Walk:
    """The walk of a fit before its first step, to be led along a given path."""
    train, a, b = problem.moments()
    floor = noise_floor(train, problem.Z.shape[2])
    covariances = path_covariances([train, a, b], options, floor)[0]
    rotation = Rotation(covariances[0], groups, problem.penalties, options)
    return Walk(PathState(rotation, covariances, train, [a, b]), train, [a, b], options, 0.0, None)
