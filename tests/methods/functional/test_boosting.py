"""Boosting in Gram space against an independent path on the records: scores, limits, df, criteria, symmetries."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from boosting_driver import GROUPS, LAMBDAS, SINGLES, UNEVEN, endless, fit, make_walk, relative
from functional_reference import Problem, ReferencePath, make_problem, solve_kronecker
from partywise.federation.parties import split_columns
from partywise.methods.functional.bases import BSplineBasis, FourierBasis
from partywise.methods.functional.boosting import fit_boosting, fit_joint
from partywise.methods.functional.moments import CurveSums, corrected_moments
from partywise.methods.functional.path_options import BoostingOptions
from partywise.methods.functional.paths import PathState, Penalties, Rotation, noise_floor, path_covariances
from partywise.methods.functional.protocols.common import active_groups
from partywise.methods.functional.solver import spectral_scale

# ---------------------------------------------------------------------------------------------- path and scores


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("score", ["debiased", "raw", "published"])
@pytest.mark.parametrize("update", ["boost", "backfit", "published"])
@pytest.mark.parametrize("crossfit", ["own", "shared"])
def test_every_score_is_the_difference_of_validation_losses(groups, score, update, crossfit):
    """At five states of a path: the Gram-space scores are losses of the records after minus before each full step."""
    problem = make_problem(1)
    options = endless(score=score, update=update, crossfit=crossfit, **LAMBDAS)
    walk, reference = make_walk(problem, groups, options), ReferencePath(problem, groups, options)
    for block in (0, 2, 1, 0, 2):
        targets, changes = walk._candidates()
        scores, expected = walk._scores(targets, changes), reference.scores()
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
        walk._step(block, targets, changes, float(scores[block]))
        reference.step(block)
    assert np.linalg.norm(reference.B[0]) > 0.1


def test_the_three_scores_differ_by_the_noise_they_leave_out():
    problem = make_problem(2, s=0.6)
    walk = make_walk(problem, SINGLES, endless())
    for block in (0, 2, 0):
        walk._step(block, *walk._candidates(), 0.0)
    targets, changes = walk._candidates()
    found = {}
    for score in ("debiased", "raw", "published"):
        walk.options = endless(score=score)
        found[score] = walk._scores(targets, changes)
    assert np.all(found["raw"] > found["published"] + 1e-3)
    assert np.abs(found["published"] - found["debiased"]).max() > 1e-3


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("update", ["boost", "backfit"])
@pytest.mark.parametrize("crossfit", ["own", "shared"])
@pytest.mark.parametrize("s", [0.0, 0.3, 1.5])
def test_sse_paths_and_operator_equal_those_of_the_records(groups, update, crossfit, s):
    problem = make_problem(3, s=s)
    options = endless(update=update, crossfit=crossfit, stop="cv_published", **LAMBDAS)
    fitted, reference = fit(problem, groups, options), ReferencePath(problem, groups, options)
    assert fitted.steps == 12
    assert fitted.projected == (s > 1)
    for step, block in enumerate(fitted.path):
        reference.step(block)
        raw, debiased = reference.training_sse()
        scale = reference.parts[0].sse(np.zeros_like(reference.B[0]))
        assert abs(fitted.trace["sse_raw"][step] - raw) <= 1e-9 * scale
        assert abs(fitted.trace["sse_debiased"][step] - debiased) <= 1e-9 * scale
        assert abs(fitted.trace["cv"][step] - reference.cross_validated()) <= 1e-9 * scale / len(problem.Y)
    assert relative(fitted.B, reference.B[0]) <= 1e-9


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("score", ["debiased", "raw", "published"])
def test_the_path_follows_the_lowest_score_and_returns_the_best_state(groups, score):
    problem = make_problem(4, s=0.5, active=(0, 1, 2, 3))
    options = BoostingOptions(score=score, max_steps=60, patience=4, **LAMBDAS)
    fitted, reference = fit(problem, groups, options), ReferencePath(problem, groups, options)
    losses, operators = [reference.cross_validated()], [reference.B[0].copy()]
    for _ in range(len(fitted.trace["cv"])):
        reference.step(int(np.argmin(reference.scores())))
        losses.append(reference.cross_validated())
        operators.append(reference.B[0].copy())
    best = int(np.argmin(losses))
    assert fitted.steps == best > 5
    assert len(fitted.trace["cv"]) == min(best + 4, 60)
    assert relative(fitted.B, operators[best]) <= 1e-9


def test_published_criterion_is_the_corrected_partial_residual_loss():
    """Sum over halves of ||Z_j D_j - R_-j||^2 per (n - 1) less the candidate's own noise, at the selected block."""
    problem = make_problem(5, s=0.5)
    options = endless(score="published", update="published", crossfit="shared", stop="cv_published", max_steps=4)
    fitted, reference = fit(problem, SINGLES, options), ReferencePath(problem, SINGLES, options)
    for step, block in enumerate(fitted.path):
        expected = 0.0
        for path in (1, 2):
            rows, other, target = reference.rows[block], reference.parts[3 - path], None
            target, _ = reference.candidate(path, block)
            rest = reference.B[path].copy()
            rest[rows] = 0.0
            partial = other.Y - other.Z @ rest
            own = problem.noise[np.ix_(rows, rows)]
            expected += np.sum((other.Z[:, rows] @ target - partial) ** 2) / other.divisor
            expected -= np.sum(target * (own @ target))
        assert fitted.trace["criterion"][step] == pytest.approx(expected, rel=1e-9)
        reference.step(block)
    assert len(fitted.path) == 4


def test_published_update_grows_beyond_the_solution_and_boost_does_not():
    """One predictor: each visit adds nu B*, so ten visits give about 3 B* (the counter-example of the source)."""
    problem = make_problem(6, p=1, s=0.0, active=(0,))
    grown = fit(problem, ((0,),), endless(update="published", stop="cv_published", max_steps=10))
    steady = fit(problem, ((0,),), endless(stop="cv_published", max_steps=10))
    target = np.linalg.solve(problem.moments()[0].G, problem.moments()[0].H)
    assert relative(grown.B, 3 * target) < 0.05
    assert relative(steady.B, (1 - 0.7**10) * target) < 0.05


# ------------------------------------------------------------------------------------------------------- limits


def limit(problem: Problem, groups, **changes):
    """The last state of a long path that selects on the training moments themselves."""
    train = problem.moments()[0]
    options = BoostingOptions(stop="cv_published", max_steps=400, patience=401, nu=1.0, **changes)
    return fit_boosting(train, train, train, groups, problem.penalties, options)


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("penalised", [False, True])
@pytest.mark.parametrize("s", [0.0, 0.4])
def test_boost_limit_is_corrected_least_squares(groups, penalised, s):
    problem = make_problem(7, n=200, s=s)
    train = problem.moments()[0]
    lambdas = {"lambda_s": 0.05, "lambda_t": 0.1} if penalised else {"lambda_s": 0.0, "lambda_t": 0.0}
    fitted = limit(problem, groups, stabiliser="none", **lambdas)
    target = np.linalg.solve(train.raw - problem.noise, train.H)
    assert relative(fitted.B, target) <= 1e-10
    if s:
        assert relative(fitted.B, np.linalg.solve(train.raw, train.H)) > 0.01


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("s", [0.0, 0.4])
def test_backfit_limit_is_the_joint_penalised_solution(groups, s):
    """Cyclic visits: the greedy choice looks at the unpenalised loss and may leave a block that the penalty moves."""
    problem = make_problem(8, n=200, s=s)
    train = problem.moments()[0]
    walk = make_walk(problem, groups, endless(update="backfit", stabiliser="none", nu=1.0, **LAMBDAS))
    for block in itertools.islice(itertools.cycle(range(len(groups))), 300):
        walk._step(block, *walk._candidates(), 0.0)
    B = walk.state.rotation.operator(walk.state.coef[0])
    omega = np.zeros((12, 12))
    for j in range(4):
        omega[3 * j : 3 * j + 3, 3 * j : 3 * j + 3] = problem.penalties.omega_x[j]
    lambdas = tuple(LAMBDAS.values())
    joint = solve_kronecker(train.G, train.H, omega, problem.penalties.omega_y, lambdas, h_ridge=0.0)
    assert relative(B, joint) <= 1e-6
    assert relative(B, np.linalg.solve(train.G, train.H)) > 0.01
    central = fit_joint(train, problem.penalties, BoostingOptions(projection=0.0, **LAMBDAS))
    assert relative(central.B, joint) <= 1e-6
    assert not central.projected


# ----------------------------------------------------------------------------------------- degrees of freedom


def dense_df(problem: Problem, groups, options: BoostingOptions, path: tuple[int, ...]) -> np.ndarray:
    """Trace of the (n Qy, n Qy) hat matrix after each step of a frozen path, one unit response at a time."""
    n, qy = problem.Y.shape
    traces = np.zeros(len(path))
    for i, r in itertools.product(range(n), range(qy)):
        unit = np.zeros((n, qy))
        unit[i, r] = 1.0
        reference = ReferencePath(replace(problem, Y=unit), groups, options)
        for step, block in enumerate(path):
            reference.step(block)
            traces[step] += reference.parts[0].Z[i] @ reference.B[0][:, r]
    return traces


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("update", ["boost", "backfit"])
@pytest.mark.parametrize("s", [0.0, 0.8])
def test_exact_df_is_the_trace_of_the_dense_hat_matrix(groups, update, s):
    problem = make_problem(9, n=16, s=s, qy=2)
    path = (0, 2, 1, 0, 2, 2, 1)
    walk = make_walk(problem, groups, endless(update=update, stop="aic", **LAMBDAS))
    for block in path:
        walk._step(block, *walk._candidates(), 0.0)
    expected = dense_df(problem, groups, walk.options, path)
    assert np.all(np.diff(expected[:3]) > 0.1)
    np.testing.assert_allclose(walk.trace["df"], expected, rtol=1e-8)


def test_df_reaches_the_rank_of_least_squares():
    """Without noise and penalty the limit projects on 12 coordinates for each of 3 responses."""
    problem = make_problem(10, n=60, s=0.0)
    train = problem.moments()[0]
    options = endless(stop="aic", sse="raw", nu=1.0, lambda_s=0.0, lambda_t=0.0, max_steps=400)
    fitted = fit_boosting(train, train, train, SINGLES, problem.penalties, options)
    assert fitted.trace["df"][-1] == pytest.approx(36.0, rel=1e-6)


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("update", ["boost", "backfit"])
def test_hutchinson_df_is_unbiased(groups, update):
    problem = make_problem(11, n=40, s=0.5)
    options = endless(update=update, stop="aic", max_steps=6, **LAMBDAS)
    exact = fit(problem, groups, options).trace["df"]
    hutchinson = replace(options, df="hutchinson")
    draws = np.stack(
        [fit(problem, groups, hutchinson, rng=np.random.default_rng(seed)).trace["df"] for seed in range(100)]
    )
    z = (draws.mean(0) - exact) / (draws.std(0, ddof=1) / np.sqrt(len(draws)))
    assert np.abs(z).max() < 4
    # The source omits nu: its value would be far outside.
    wrong = (draws.mean(0) / options.nu - exact) / (draws.std(0, ddof=1) / np.sqrt(len(draws)))
    assert np.abs(wrong).min() > 4


# --------------------------------------------------------------------------------------------------- criteria


@pytest.mark.parametrize("stop", ["aic", "aicc"])
@pytest.mark.parametrize("sse", ["debiased", "raw"])
def test_information_criteria(stop, sse):
    problem = make_problem(12, s=0.5)
    fitted = fit(problem, SINGLES, endless(stop=stop, sse=sse))
    cells, trace = problem.Y.size, fitted.trace
    factor = 1.0 if stop == "aic" else cells / (cells - trace["df"] - 1)
    expected = cells * np.log(trace[f"sse_{sse}"] / cells) + 2 * trace["df"] * factor
    np.testing.assert_allclose(trace["criterion"], expected, rtol=1e-12)
    assert fitted.steps == 1 + int(np.argmin(expected))


def test_published_information_criteria_subtract_nothing_or_the_own_term():
    problem = make_problem(12, s=0.5)
    cells = problem.Y.size
    plain = fit(problem, SINGLES, endless(stop="aic_train", max_steps=1))
    own = fit(problem, SINGLES, endless(stop="aic_train_dp", max_steps=1))
    df, raw = plain.trace["df"][0], plain.trace["sse_raw"][0]
    assert plain.trace["criterion"][0] == pytest.approx(
        cells * np.log(raw / cells) + 2 * df * cells / (cells - df - 1), rel=1e-12
    )
    reference = ReferencePath(problem, SINGLES, endless())
    _, change = reference.candidate(0, own.path[0])
    corrected = raw - (len(problem.Y) - 1) * problem.s[own.path[0]] ** 2 * np.sum(change**2)
    assert own.trace["criterion"][0] == pytest.approx(
        cells * np.log(corrected / cells) + 2 * df * cells / (cells - df - 1), rel=1e-9
    )


def test_noise_on_the_response_is_left_out_of_debiased_losses():
    """K is corrected by s_y^2, so debiased losses do not move in the mean and raw ones carry s_y^2 Qy."""
    problem = make_problem(13, s=0.4)
    sums = [CurveSums.of(problem.flat[rows], problem.Y[rows]) for rows in (problem.in_a, ~problem.in_a)]
    parts = [corrected_moments(x, problem.noise, 0.09 * np.eye(3)) for x in (sums[0] + sums[1], *sums)]
    fitted = fit_boosting(*parts, SINGLES, problem.penalties, endless(stop="cv_published"), response_noise=0.27)
    plain = fit(problem, SINGLES, endless(stop="cv_published"))
    np.testing.assert_allclose(fitted.trace["sse_raw"], plain.trace["sse_raw"], rtol=1e-12)
    np.testing.assert_allclose(
        fitted.trace["sse_debiased"], plain.trace["sse_debiased"] - (len(problem.Y) - 1) * 0.27, rtol=1e-12
    )
    np.testing.assert_allclose(fitted.trace["cv"], plain.trace["cv"] - 0.27, rtol=1e-11)
    assert np.array_equal(fitted.B, plain.B)


def test_projection_floor_and_untouched_validation():
    """All path eigenvalues reach 2 mean(s^2) sqrt(Q / n); validation keeps the indefinite covariance."""
    problem = make_problem(14, n=40, s=1.5)
    train, a, b = problem.moments()
    floor = 2 * np.mean(problem.s**2) * np.sqrt(3 / 40)
    assert noise_floor(train, 3) == pytest.approx(floor, rel=1e-12)
    covariances, least, moved = path_covariances([train, a, b], BoostingOptions(), floor)
    assert least == pytest.approx(np.linalg.eigvalsh(train.G)[0])
    assert moved
    for covariance in covariances:
        assert np.linalg.eigvalsh(covariance)[0] == pytest.approx(floor, rel=1e-9)
    rotation = Rotation(covariances[0], SINGLES, problem.penalties, BoostingOptions())
    state = PathState(rotation, covariances, train, [a, b])
    expected = rotation.gram(b.G)
    for block, rows in enumerate(rotation.slices):
        np.testing.assert_allclose(state.check_blocks[0].blocks[block], expected[rows, rows], atol=1e-12)
    assert np.linalg.eigvalsh(b.G)[0] < 0


# ---------------------------------------------------------------------------------------------------- symmetries


def test_permuting_predictors_permutes_selections():
    problem = make_problem(15, s=0.4, active=(1, 3))
    order = [2, 0, 3, 1]
    penalties = Penalties(problem.penalties.omega_x[order], problem.penalties.omega_y)
    permuted = replace(problem, Z=problem.Z[:, order], s=problem.s[order], penalties=penalties)
    options = BoostingOptions(max_steps=60, **LAMBDAS)
    first, second = fit(problem, SINGLES, options), fit(permuted, SINGLES, options)
    assert len(set(first.path)) > 1
    assert tuple(order[j] for j in second.path) == first.path
    there = second.B.reshape(4, 3, 3)[np.argsort(order)]
    np.testing.assert_allclose(there, first.B.reshape(4, 3, 3), atol=1e-10)


def test_renaming_groups_does_not_change_the_operator():
    problem = make_problem(16, s=0.4)
    options = BoostingOptions(**LAMBDAS)
    first = fit(problem, UNEVEN, options)
    second = fit(problem, ((2,), (0, 3), (1,)), options)
    named = {0: 1, 1: 2, 2: 0}
    assert tuple(named[k] for k in first.path) == second.path
    np.testing.assert_allclose(first.B, second.B, atol=1e-11)


def test_a_party_of_its_own_for_each_predictor_is_the_predictor_learner():
    problem = make_problem(17, s=0.4)
    columns = split_columns(4, 4, "round_robin")
    options = BoostingOptions(**LAMBDAS)
    party = fit(problem, active_groups(columns, "party"), options)
    predictor = fit(problem, active_groups(columns, "predictor"), options)
    assert party.path == predictor.path
    assert np.array_equal(party.B, predictor.B)
    two = [split_columns(4, 2, how) for how in ("round_robin", "contiguous")]
    for held in two:
        again = fit(problem, active_groups(held, "predictor"), options)
        assert np.array_equal(again.B, predictor.B)
        assert relative(fit(problem, active_groups(held, "party"), options).B, predictor.B) > 1e-3


@pytest.mark.parametrize("seed", range(10))
def test_a_tie_of_duplicated_predictors_goes_to_the_lowest_index(seed):
    problem = make_problem(seed, s=0.0, active=(2,))
    Z = problem.Z.copy()
    Z[:, 3] = Z[:, 2]
    omega = problem.penalties.omega_x.copy()
    omega[3] = omega[2]
    tied = replace(problem, Z=Z, penalties=Penalties(omega, problem.penalties.omega_y))
    fitted = fit(tied, SINGLES, BoostingOptions())
    assert 2 in fitted.path
    assert 3 not in fitted.path
    assert np.all(np.isfinite(fitted.B))


def test_stretching_the_domain_changes_nothing_in_orthonormal_coordinates():
    """[0, 1] to [0, 100]: the scaled penalties and so the whole fit agree to 1e-9."""
    for make in (BSplineBasis, FourierBasis):
        fits = []
        for domain in ((0, 1), (0, 100)):
            basis = make(domain, 9)
            omega = basis.inverse_root @ basis.penalty @ basis.inverse_root
            omega = spectral_scale((omega + omega.T) / 2)
            problem = make_problem(18, n=150, p=3, q=9, qy=9)
            stretched = replace(problem, penalties=Penalties(np.stack([omega] * 3), omega))
            fits.append(fit(stretched, ((0,), (1,), (2,)), BoostingOptions(**LAMBDAS)))
        assert fits[0].path == fits[1].path
        assert np.abs(fits[0].B - fits[1].B).max() <= 1e-9
        assert fits[0].steps > 3


def test_stretched_curves_give_the_same_fit_and_raw_coordinates_do_not():
    """The same coefficients on a longer domain: z is scaled for X and Y alike, so only lambda's scale is felt."""
    rng = np.random.default_rng(19)
    c, d = rng.standard_normal((150, 2, 8)), rng.standard_normal((150, 8))
    d = d + c[:, 0]
    fits = []
    for domain in ((0, 1), (0, 100)):
        basis = BSplineBasis(domain, 8)
        scale = np.sqrt(domain[1] - domain[0])
        Z, Y = c @ basis.root / scale, d @ basis.root / scale
        omega = basis.inverse_root @ basis.penalty @ basis.inverse_root
        omega = spectral_scale((omega + omega.T) / 2)
        problem = Problem(Z, Y, np.zeros(2), Penalties(np.stack([omega] * 2), omega), np.arange(150) % 2 == 0)
        fits.append(fit(problem, ((0,), (1,)), BoostingOptions(**LAMBDAS)))
    assert np.abs(fits[0].B - fits[1].B).max() <= 1e-9
