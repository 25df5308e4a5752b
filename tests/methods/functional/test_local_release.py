"""Released curves: federation equals pooling, whoever holds what; the wire, ties, and what cannot be fitted."""

from dataclasses import replace

import numpy as np
import pytest

from functional_reference import solve_kronecker
from local_release_driver import CLEAN, NOISY
from partywise.methods.functional.boosting import fit_boosting
from partywise.methods.functional.coordinates import make_coordinates
from partywise.methods.functional.moments import CurveMoments
from partywise.methods.functional.options import CentralOptions, CurvePublishedOptions, LocalOptions
from protocol_driver import INF, SMALL, make_data, run

SPLITS = [
    (1, {}),
    (2, {}),
    (3, {}),
    (4, {}),
    (2, {"split": "contiguous"}),
    (3, {"split": "contiguous"}),
    (2, {"split": "explicit", "groups": ((3, 0), (2, 1))}),
    (3, {"split": "explicit", "groups": ((2,), (0, 3), (1,))}),
]


def pooled_moments(X, Y, rows):
    """Plain sample moments of some records, by numpy alone."""
    joint = np.cov(np.hstack([X[rows].reshape(rows.sum(), -1), Y[rows]]), rowvar=False)
    P = X[0].size
    zero = np.zeros((P, P))
    means = X[rows].reshape(rows.sum(), -1).mean(0), Y[rows].mean(0)
    return CurveMoments(joint[:P, :P], joint[:P, P:], joint[P:, P:], joint[:P, :P], zero, float(rows.sum()), *means)


def pooled_fit(data, fold, groups, options):
    """The fit of somebody who holds all predictors."""
    a, b = fold.half(0), fold.half(1)
    penalties = make_coordinates(data.public(), data.X.shape[1]).penalties
    return fit_boosting(*(pooled_moments(data.X, data.Y, rows) for rows in (a | b, a, b)), groups, penalties, options)


@pytest.mark.parametrize(("parties", "split"), SPLITS)
def test_without_noise_any_federation_equals_the_pooled_fit(parties, split):
    done = run(CLEAN, settings=replace(SMALL, **split), parties=parties)
    pooled = pooled_fit(done.data, done.fold, ((0,), (1,), (2,), (3,)), CLEAN)
    # Two ways to sum 80 records differ by rounding only; 1e-12 is the house's bound for it.
    assert np.allclose(done.estimate.operators.reshape(pooled.B.shape), pooled.B, rtol=0, atol=1e-12)
    assert np.allclose(done.estimate.mean_x.ravel(), pooled.mean_x, rtol=0, atol=1e-12)
    assert np.array_equal(done.estimate.received_curves, done.data.X)
    assert done.estimate.numbers["steps"] == pooled.steps > 5


@pytest.mark.parametrize(("parties", "split"), SPLITS)
def test_without_noise_party_learners_equal_the_pooled_fit_of_their_blocks(parties, split):
    options = replace(CLEAN, learner="party")
    done = run(options, settings=replace(SMALL, **split), parties=parties)
    held = {event.owner for event in done.channel.ledger.rows} - {"active"}
    assert len(held) == parties
    groups = (
        tuple(split.get("groups", ()))
        or {
            "round_robin": tuple(tuple(range(g, 4, parties)) for g in range(parties)),
            "contiguous": {2: ((0, 1), (2, 3)), 3: ((0,), (1,), (2, 3))}.get(parties),
        }[split.get("split", "round_robin")]
    )
    pooled = pooled_fit(done.data, done.fold, groups, options)
    assert np.allclose(done.estimate.operators.reshape(pooled.B.shape), pooled.B, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        NOISY,
        LocalOptions(s_mode="calibrated", rho_total=300.0),
        CurvePublishedOptions(release="once", max_steps=15),
        CentralOptions(),
    ],
)
def test_predictor_and_joint_learners_are_bit_identical_over_parties(options):
    first = run(options, parties=1)
    for parties, split in SPLITS[1:]:
        other = run(options, settings=replace(SMALL, **split), parties=parties)
        assert np.array_equal(other.estimate.operators, first.estimate.operators)
        assert np.array_equal(other.estimate.received_curves, first.estimate.received_curves)
        assert other.total().rho_total == first.total().rho_total


def test_one_predictor_a_party_makes_both_learners_the_same_and_fewer_parties_do_not():
    by_predictor, by_party = run(NOISY, parties=4), run(replace(NOISY, learner="party"), parties=4)
    assert np.array_equal(by_party.estimate.operators, by_predictor.estimate.operators)
    fewer = run(replace(NOISY, learner="party"), parties=2)
    assert not np.allclose(fewer.estimate.operators, by_predictor.estimate.operators, atol=1e-3)


def test_the_joint_learner_solves_the_penalised_equation_of_all_predictors():
    done = run(CentralOptions(noise="none", lambda_s=0.02, lambda_t=0.03, lambda_st=0.01))
    moments = pooled_moments(done.data.X, done.data.Y, done.fold.train)
    penalties = make_coordinates(done.data.public(), 4).penalties
    omega = np.zeros_like(moments.G)
    for j, block in enumerate(penalties.omega_x):
        omega[6 * j : 6 * j + 6, 6 * j : 6 * j + 6] = block
    B = solve_kronecker(moments.G, moments.H, omega, penalties.omega_y, (0.02, 0.03, 0.01), h_ridge=0.0)
    # The fit adds a ridge of 1e-8 of the mean variance, here about 1, which moves B by about that share.
    assert np.abs(done.estimate.operators.reshape(B.shape) - B).max() < 1e-7


@pytest.mark.parametrize("options", [NOISY, LocalOptions(s_mode="calibrated", radius="dp_quantile")])
def test_certified_results_do_not_depend_on_the_unit_of_time(options):
    unit = run(options, epsilon=300.0)
    percent = run(options, settings=replace(SMALL, domain=(0.0, 100.0)), epsilon=300.0)
    assert np.abs(unit.estimate.operators - percent.estimate.operators).max() <= 1e-9
    assert unit.total().epsilon_certified == percent.total().epsilon_certified < INF
    assert unit.scalars["excess"] == pytest.approx(percent.scalars["excess"], rel=1e-9)


def test_ties_go_to_the_lowest_predictor_and_not_to_the_first_party():
    data = make_data()
    X = data.X.copy()
    X[:, 2] = X[:, 1]  # party 1 holds predictors 0 and 2, party 2 holds 1 and 3
    same = replace(data, X=X, Y=X[:, 1] @ data.operators[1] + 0.01 * data.Y)
    done = run(replace(CLEAN, max_steps=1), data=same, parties=2)
    assert np.flatnonzero(done.estimate.selected_predictors).tolist() == [1]


def test_the_wire_holds_curves_and_operators_and_nothing_else():
    done = run(NOISY, parties=2)
    rows = [(m.sender, m.receiver, m.kind, m.shape) for m in done.channel.messages]
    curves = [(f"party {1 + j % 2}", "active", "release", (120, 6)) for j in (0, 2, 1, 3)]
    assert rows == [*curves, *[("active", f"party {g}", "clear", (2, 6, 6)) for g in (1, 2)]]
    assert done.channel.bytes_total == 8 * (4 * 120 * 6 + 4 * 6 * 6)
    assert sum(message.bytes for message in done.channel.messages if message.sender == "active") == 8 * 4 * 6 * 6


def test_wrong_lengths_and_counts_are_named():
    with pytest.raises(ValueError, match="s has 2 entries: give one number or one for each of the 4 predictors"):
        run(replace(NOISY, s=(0.1, 0.2)))
    with pytest.raises(ValueError, match="n is 1: second moments need at least 2 records in each part"):
        run(NOISY, settings=replace(SMALL, n=5))
    with pytest.raises(ValueError, match=r"epsilon is 0\.0: a calibrated release needs a positive target"):
        run(LocalOptions(s_mode="calibrated"), epsilon=0.0)
    for parties in (0, 5):
        with pytest.raises(ValueError, match=f"n_parties={parties} "):
            run(NOISY, parties=parties)


@pytest.mark.parametrize("learner", ["predictor", "party"])
def test_constant_and_duplicated_predictors_leave_the_fit_finite(learner):
    data = make_data()
    X = data.X.copy()
    X[:, 3], X[:, 1] = 1.0, X[:, 0]
    same = replace(data, X=X, Y=X[:, 0] @ data.operators[0] + 0.01 * data.Y)
    done = run(replace(CLEAN, learner=learner), data=same, parties=4)
    assert np.isfinite(done.estimate.operators).all() and done.scalars["relative_error"] < 0.05
    assert np.flatnonzero(done.estimate.selected_predictors).min() == 0
    # The tie between the two copies goes to the lower index in the first step.
    first = run(replace(CLEAN, learner=learner, max_steps=1), data=same, parties=4)
    assert list(np.flatnonzero(first.estimate.selected_predictors)) == [0]


def test_a_covariance_that_cannot_be_factored_is_named():
    with pytest.raises(ValueError, match=r"stabiliser is 'none': .* not positive definite .*; use 'project' or raise"):
        run(LocalOptions(s=3.0, stabiliser="none"))


def test_noise_too_large_for_the_published_stabilisers_is_flagged():
    done = run(LocalOptions(s=3.0, stabiliser="published"))
    assert done.scalars["diverged"] and done.scalars["worse_than_mean"]
    assert np.isfinite(done.estimate.operators).all()


def test_with_no_active_predictor_the_mean_curve_is_hard_to_beat():
    done = run(CLEAN, settings=replace(SMALL, n=400, active=()))
    assert done.scalars["sensitivity"] is None
    # 267 training records and 24 coordinates without any signal: chance moves the risk by a few per cent at most.
    assert 0.95 < done.scalars["relative_error"] < 1.05
    assert np.abs(done.estimate.operators).max() < 0.1
