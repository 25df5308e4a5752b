"""Boosting at its edges: no signal, constant curves, few records, large noise, flags and named errors."""

from dataclasses import replace

import numpy as np
import pytest

from boosting_driver import GROUPS, SINGLES, endless, fit
from curve_functions import predict_curves
from functional_reference import Problem, make_problem, second_difference_penalty
from partywise.methods.functional.boosting import fit_boosting, fit_joint
from partywise.methods.functional.moments import CurveMoments, CurveSums, block_noise, corrected_moments
from partywise.methods.functional.path_options import BoostingOptions
from partywise.methods.functional.paths import Penalties

# ------------------------------------------------------------------------------------------- edge cases and flags


def test_null_model_wins_without_a_signal():
    empty = make_problem(20, n=300, s=0.4, active=())
    fitted = fit(empty, SINGLES, BoostingOptions())
    assert fitted.null_model
    assert fitted.steps == 0
    assert fitted.path == ()
    assert not fitted.B.any()
    np.testing.assert_allclose(
        predict_curves(fitted, empty.Z), np.broadcast_to(empty.Y.mean(0), empty.Y.shape), rtol=1e-12
    )
    active = fit(make_problem(20, n=300, s=0.4, active=(0,)), SINGLES, BoostingOptions())
    assert not active.null_model


def test_zero_response_gives_the_null_model():
    problem = make_problem(21)
    fitted = fit(replace(problem, Y=np.zeros_like(problem.Y)), SINGLES, BoostingOptions())
    assert fitted.null_model
    assert not fitted.diverged


@pytest.mark.parametrize("value", [0.0, 3.7])
@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("lambda_s", [0.0, 1e-3])
def test_a_constant_curve_stays_finite(value, groups, lambda_s):
    problem = make_problem(22, s=0.0, active=(0, 3))
    Z = problem.Z.copy()
    Z[:, 1] = value
    fitted = fit(replace(problem, Z=Z), groups, BoostingOptions(lambda_s=lambda_s))
    assert np.all(np.isfinite(fitted.B))
    assert not fitted.diverged
    assert np.linalg.norm(fitted.B[3:6]) < 1e-3
    # It carries nothing: the fit without it is the same.
    kept = [0, 2, 3]
    penalties = Penalties(problem.penalties.omega_x[kept], problem.penalties.omega_y)
    without = replace(problem, Z=Z[:, kept], s=problem.s[kept], penalties=penalties)
    fewer = ((0,), (1,), (2,)) if groups is SINGLES else ((0, 2), (1,))
    reduced = fit(without, fewer, BoostingOptions(lambda_s=lambda_s))
    assert reduced.steps > 3
    np.testing.assert_allclose(fitted.B.reshape(4, 3, 3)[kept], reduced.B.reshape(3, 3, 3), atol=1e-9)


@pytest.mark.parametrize("s", [0.0, 0.5])
def test_the_joint_fit_projects_only_where_there_is_noise(s):
    """A singular covariance, n < P: rounding below zero is no reason to call the clean one projected."""
    problem = make_problem(23, n=10, q=4, s=s)
    fitted = fit_joint(problem.moments()[0], problem.penalties, BoostingOptions())
    assert fitted.projected == (s > 0)
    assert np.all(np.isfinite(fitted.B))
    assert fitted.path == (0, 1, 2, 3)


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("s", [0.0, 0.5])
def test_fewer_records_than_coordinates_work(groups, s):
    """n_half = 6 <= Qx = 8 and n < P: singular covariances, finite fit."""
    problem = make_problem(23, n=12, q=8, s=s, active=(0,), signal=3.0)
    fitted = fit(problem, groups, BoostingOptions())
    assert np.all(np.isfinite(fitted.B))
    assert fitted.projected == (s > 0)
    assert np.all(np.isfinite(fitted.trace["cv"]))


def test_halves_of_two_records_are_enough_and_of_one_are_named():
    problem = make_problem(24, n=4, s=0.2)
    assert np.all(np.isfinite(fit(problem, SINGLES, BoostingOptions()).B))
    with pytest.raises(ValueError, match=r"n is 1: second moments need at least 2 records in each part"):
        make_problem(24, n=3, s=0.2).moments()


def test_flags_of_the_last_step():
    problem = make_problem(25, s=0.2)
    short = fit(problem, SINGLES, BoostingOptions(max_steps=3))
    assert short.hit_max_steps
    assert short.steps == 3
    assert not short.null_model
    long = fit(problem, SINGLES, BoostingOptions(max_steps=500))
    assert not long.hit_max_steps
    assert len(long.trace["cv"]) == long.steps + 6
    just_enough = fit(problem, SINGLES, BoostingOptions(max_steps=long.steps + 6))
    assert not just_enough.hit_max_steps
    assert just_enough.path == long.path
    assert fit(problem, SINGLES, endless(stop="cv_published")).hit_max_steps


def test_min_steps_walks_on_and_returns_the_best():
    problem = make_problem(20, n=300, s=0.4, active=())
    eager = fit(problem, SINGLES, BoostingOptions(patience=1))
    patient = fit(problem, SINGLES, BoostingOptions(patience=1, min_steps=9))
    assert len(eager.trace["cv"]) == 1
    assert len(patient.trace["cv"]) == 9
    assert patient.null_model


def noisy_problem(s: float) -> Problem:
    """White curves as in the study, small: p = 8, Q = 8, 400 records."""
    rng = np.random.default_rng(27)
    X = rng.standard_normal((400, 8, 8))
    operators = np.zeros((8, 8, 8))
    operators[:2] = rng.standard_normal((2, 8, 8)) / 4
    Y = np.einsum("npq,pqr->nr", X, operators) + 0.3 * rng.standard_normal((400, 8))
    omega = second_difference_penalty(8)
    penalties = Penalties(np.stack([omega] * 8), omega)
    return Problem(X + s * rng.standard_normal(X.shape), Y, np.full(8, s), penalties, np.arange(400) % 2 == 0)


def test_published_stabilisers_diverge_at_large_noise_and_projection_does_not():
    problem, singles = noisy_problem(3.0), tuple((j,) for j in range(8))
    published = fit(
        problem,
        singles,
        BoostingOptions(stabiliser="published", stop="cv_published", max_steps=5000, patience=5000, min_steps=5000),
    )
    assert published.diverged
    certified = fit(problem, singles, BoostingOptions(max_steps=1000))
    assert not certified.diverged
    assert certified.projected
    assert certified.min_eig_before < 0
    assert np.linalg.norm(certified.B) < 10
    quiet = fit(noisy_problem(0.0), singles, BoostingOptions())
    assert not quiet.projected
    assert quiet.min_eig_before > 0


def test_prediction_uses_the_means_of_the_fit_and_both_shapes():
    problem = make_problem(28, s=0.0)
    fitted = fit(problem, SINGLES, BoostingOptions())
    flat = predict_curves(fitted, problem.flat)
    assert np.array_equal(flat, predict_curves(fitted, problem.Z))
    np.testing.assert_allclose(flat.mean(0), problem.Y.mean(0), rtol=1e-10)
    assert np.sum((flat - problem.Y) ** 2) == pytest.approx(fitted.trace["sse_raw"][fitted.steps - 1], rel=1e-9)


# --------------------------------------------------------------------------------------------------------- errors

P29 = make_problem(29)
M29 = P29.moments()
OPTIONS = BoostingOptions()
FLAT = np.zeros((3, 3))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (((0,), (1,), (2,)), r"groups is \(\(0,\), \(1,\), \(2,\)\): every predictor 0..3 must be in exactly one"),
        (((0,), (1,), (2,), (2, 3)), r"groups is .*must be in exactly one non-empty group"),
        (((0, 1, 2, 3), ()), r"groups is .*must be in exactly one non-empty group"),
        (((0,), (1,), (2,), (4,)), r"groups is .*every predictor 0..3"),
        ((), r"groups is \(\): every predictor 0..3"),
    ],
)
def test_groups_must_be_a_partition(groups, message):
    with pytest.raises(ValueError, match=message):
        fit_boosting(*M29, groups, P29.penalties, OPTIONS)


def test_shapes_and_missing_parts_are_named():
    train, a, b = M29
    wide = Penalties(np.zeros((5, 3, 3)), FLAT)
    with pytest.raises(ValueError, match=r"P = 12 and Qy = 3: the penalties expect P = 15 and Qy = 3"):
        fit_boosting(train, a, b, SINGLES, wide, OPTIONS)
    with pytest.raises(ValueError, match=r"P = 12 and Qy = 3: the penalties expect P = 12 and Qy = 2"):
        fit_boosting(train, a, b, SINGLES, Penalties(np.zeros((4, 3, 3)), np.zeros((2, 2))), OPTIONS)
    for halves in ((None, None), (a, None), (None, b)):
        with pytest.raises(ValueError, match=r"crossfit is 'own': give the moments of both halves"):
            fit_boosting(train, *halves, SINGLES, P29.penalties, OPTIONS)
    with pytest.raises(ValueError, match=r"df is 'hutchinson' and rng is None: give a generator"):
        fit_boosting(train, a, b, SINGLES, P29.penalties, BoostingOptions(stop="aic", df="hutchinson"))
    fitted = fit_boosting(train, a, b, SINGLES, P29.penalties, OPTIONS)
    with pytest.raises(ValueError, match=r"X has 9 coordinates a record: the fit was made with 12; use the same basis"):
        predict_curves(fitted, P29.Z[:, :3])


def test_halves_must_fit_the_training_moments():
    train, a, b = M29
    other = make_problem(29, p=3).moments()
    with pytest.raises(ValueError, match=r"half_a .*P = 9 and Qy = 3.*P = 12 and Qy = 3"):
        fit_boosting(train, other[1], b, SINGLES, P29.penalties, OPTIONS)
    with pytest.raises(ValueError, match=r"half_b .*P = 9 and Qy = 3.*P = 12 and Qy = 3"):
        fit_boosting(train, a, other[2], SINGLES, P29.penalties, OPTIONS)


def test_no_halves_are_needed_without_crossfitting():
    fitted = fit_boosting(M29[0], None, None, SINGLES, P29.penalties, BoostingOptions(stop="aic", crossfit="none"))
    assert fitted.steps > 1
    assert np.all(np.isnan(fitted.trace["cv"]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Penalties(FLAT, FLAT), r"omega_x has shape \(3, 3\): give one \(Q, Q\) penalty for each predictor"),
        (lambda: Penalties(np.zeros((2, 3, 2)), FLAT), r"omega_x\[0\] has shape \(3, 2\)"),
        (
            lambda: Penalties(np.stack([FLAT, np.diag([1.0, -1.0, 0.0])]), FLAT),
            r"omega_x\[1\] is not positive semidefinite \(least eigenvalue -1\): repair the penalty",
        ),
        (lambda: Penalties(np.stack([FLAT, np.triu(np.ones((3, 3)))]), FLAT), r"omega_x\[1\] is not symmetric"),
        (lambda: Penalties(np.stack([FLAT]), -np.eye(3)), r"omega_y is not positive semidefinite"),
    ],
)
def test_penalties_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stop": "early"}, r"stop is 'early': it must be one of cv, aic, aicc, cv_published, aic_train, aic_train_dp"),
        ({"sse": "biased"}, r"sse is 'biased': it must be one of debiased, raw"),
        ({"update": "newton"}, r"update is 'newton': it must be one of boost, published, backfit"),
        ({"score": "best"}, r"score is 'best': it must be one of debiased, raw, published"),
        ({"crossfit": "both"}, r"crossfit is 'both': it must be one of own, shared, none"),
        ({"stabiliser": "ridge"}, r"stabiliser is 'ridge': it must be one of project, published, none"),
        ({"df": "count"}, r"df is 'count': it must be one of exact, hutchinson"),
        ({"lambda_s": -1.0}, r"lambda_s is -1.0: it must be a finite number of at least 0"),
        ({"lambda_t": float("nan")}, r"lambda_t is nan: it must be a finite number of at least 0"),
        ({"lambda_st": float("inf")}, r"lambda_st is inf: it must be a finite number of at least 0"),
        ({"projection": -0.1}, r"projection is -0.1: it must be"),
        ({"ridge": -1.0}, r"ridge is -1.0: it must be"),
        ({"h_ridge": -1.0}, r"h_ridge is -1.0: it must be"),
        ({"alpha": 1.5}, r"alpha is 1.5: it must lie in \[0, 1\]"),
        ({"nu": 0.0}, r"nu is 0.0: it must lie in \(0, 1\]"),
        ({"nu": 1.01}, r"nu is 1.01: it must lie in \(0, 1\]"),
        ({"nu": float("nan")}, r"nu is nan: it must lie in \(0, 1\]"),
        ({"max_steps": 0}, r"max_steps is 0: it must be at least 1"),
        ({"patience": 0}, r"patience is 0: it must be at least 1"),
        ({"min_steps": 0}, r"min_steps is 0: it must be at least 1"),
        ({"min_steps": 101}, r"min_steps is 101: it must not exceed max_steps \(100\)"),
        ({"crossfit": "none"}, r"stop is 'cv' with crossfit 'none': use aic or aicc, or cross-fitted halves"),
    ],
)
def test_options_are_checked_when_made(changes, message):
    with pytest.raises(ValueError, match=message):
        BoostingOptions(**changes)


def test_moments_of_a_chunked_fit_give_the_same_path():
    """Sums of five folds by two halves, added up, against the sums of the whole: same path, operator to 1e-10."""
    problem = make_problem(30, n=150, s=0.4)
    fold = np.arange(150) % 5
    noise = block_noise(problem.s**2, 3, 4)
    halves: list[CurveMoments] = []
    totals = []
    for rows in (problem.in_a, ~problem.in_a):
        chunks = [CurveSums.of(problem.flat[rows & (fold == f)], problem.Y[rows & (fold == f)]) for f in range(5)]
        total = chunks[0]
        for chunk in chunks[1:]:
            total = total + chunk
        totals.append(total)
        halves.append(corrected_moments(total, noise))
    chunked = fit_boosting(
        corrected_moments(totals[0] + totals[1], noise), *halves, SINGLES, problem.penalties, OPTIONS
    )
    whole = fit(problem, SINGLES, OPTIONS)
    assert chunked.path == whole.path
    np.testing.assert_allclose(chunked.B, whole.B, atol=1e-10)
