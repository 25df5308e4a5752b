"""Released curves: federation equals pooling, and the ledger charges what was really drawn."""

import math
from dataclasses import replace

import numpy as np
import pytest

from error_rates import accepts_covariance, accepts_sigma
from partywise.functional.boosting import fit_boosting
from partywise.functional.coordinates import make_coordinates
from partywise.functional.moments import Moments
from partywise.functional.protocol_options import CentralOptions, LocalOptions, PublishedOptions
from partywise.functional.solver import solve_kronecker
from partywise.privacy.calibration import gaussian_delta, gaussian_epsilon, mu_from_rho
from partywise.privacy.ledger import Ledger
from partywise.privacy.sensitivity import clip_curves
from protocol_driver import DELTA, INF, SMALL, make_data, noise_rng, run

CLEAN = LocalOptions(noise="none", max_steps=30)
NOISY = LocalOptions(s=0.4, max_steps=30)
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
    return Moments(joint[:P, :P], joint[:P, P:], joint[P:, P:], joint[:P, :P], zero, float(rows.sum()), *means)


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
    assert np.array_equal(done.estimate.released, done.data.X)
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
        PublishedOptions(release="once", max_steps=15),
        CentralOptions(),
    ],
)
def test_predictor_and_joint_learners_are_bit_identical_over_parties(options):
    first = run(options, parties=1)
    for parties, split in SPLITS[1:]:
        other = run(options, settings=replace(SMALL, **split), parties=parties)
        assert np.array_equal(other.estimate.operators, first.estimate.operators)
        assert np.array_equal(other.estimate.released, first.estimate.released)
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


@pytest.mark.parametrize("s", [0.5, 2.0, (0.3, 0.5, 1.0, 2.0)])
@pytest.mark.parametrize("parties", [1, 2, 4])
def test_rho_is_the_sum_over_predictors_whoever_holds_them(s, parties):
    done = run(replace(NOISY, s=s), parties=parties)
    rho = float(np.sum(2 * done.data.radius**2 / np.broadcast_to(s, 4) ** 2))
    total = done.total()
    assert total.rho_total == pytest.approx(rho, rel=1e-12)
    assert total.epsilon_certified == pytest.approx(float(gaussian_epsilon(mu_from_rho(rho), DELTA)), rel=1e-12)
    assert done.estimate.epsilon_claimed == pytest.approx(total.epsilon_certified, rel=1e-12)
    assert total.n_releases == 4 and total.certified and total.trust_model == "local"
    assert [event.sensitivity for event in done.releases] == pytest.approx(list(2 * done.data.radius))


def test_the_published_scaling_divides_the_budget_by_the_number_of_parties():
    rho = {j: run(replace(NOISY, s_mode="sqrt_j"), parties=j).total().rho_total for j in (1, 2, 3, 4)}
    assert [rho[1] / rho[j] for j in (1, 2, 3, 4)] == pytest.approx([1, 2, 3, 4], rel=1e-12)
    claims = [run(replace(NOISY, s_mode="sqrt_j", claim="source"), parties=j).estimate.epsilon_claimed for j in (1, 4)]
    assert claims[0] == claims[1]  # the source says that the total is held constant


@pytest.mark.parametrize("epsilon", [0.5, 8.0, 500.0])
@pytest.mark.parametrize("more", [{}, {"radius": "dp_quantile", "radius_rho": 0.001}, {"radius_value": 2.0}])
@pytest.mark.parametrize("parties", [1, 4])
def test_calibrated_noise_spends_exactly_its_target(epsilon, more, parties):
    done = run(LocalOptions(s_mode="calibrated", max_steps=5, **more), parties=parties, epsilon=epsilon)
    # The root search and the way back round towards safety; 1e-9 is far above their rounding.
    assert epsilon * (1 - 1e-9) <= done.total().epsilon_certified <= epsilon * (1 + 1e-12)
    assert done.estimate.epsilon_claimed == epsilon


def test_calibration_to_a_given_rho_and_without_a_target():
    done = run(LocalOptions(s_mode="calibrated", rho_total=40.0, max_steps=5), epsilon=3.0)
    assert done.total().rho_total == pytest.approx(40.0, rel=1e-12)
    assert run(LocalOptions(s_mode="calibrated", max_steps=5), epsilon=INF).total().epsilon_certified == INF


def classic(epsilon):
    settings = replace(SMALL, p=1, active=(0,))
    options = LocalOptions(s_mode="calibrated", calibration="classic", max_steps=2)
    return run(options, settings=settings, parties=1, epsilon=epsilon)


def test_the_classic_formula_overshoots_above_its_range_and_the_ledger_says_so():
    assert classic(1.0).total().epsilon_certified < 0.8
    assert classic(8.41).total().epsilon_certified < 8.41
    assert classic(8.43).total().epsilon_certified > 8.43
    late = classic(64.0)
    assert late.estimate.epsilon_claimed == 64.0 < late.total().epsilon_certified
    # The real delta of the specification's table at a claim of 1e-5: 3.4e-4 at epsilon 16, .95 at 64 (two digits).
    assert float(gaussian_delta(classic(16.0).total().mu_total, 16.0)) == pytest.approx(3.4e-4, abs=0.5e-5)
    assert float(gaussian_delta(late.total().mu_total, 64.0)) == pytest.approx(0.95, abs=0.005)


@pytest.mark.parametrize(("domain", "ratio", "digits"), [((0.0, 100.0), 20.97, 0.005), ((0.0, 1.0), 2.097e5, 50.0)])
@pytest.mark.parametrize("coordinates", ["raw", "orthonormal"])
def test_the_published_geometry_costs_more_than_its_formula_says(domain, ratio, digits, coordinates):
    settings = replace(SMALL, p=2, n_basis_x=20, domain=domain)
    options = PublishedOptions(radius="public", coordinates=coordinates, max_steps=2, min_steps=1)
    done = run(options, settings=settings)
    nominal = float(np.sum(2 * done.data.radius**2 / 0.2**2))
    assert done.total().rho_total / nominal == pytest.approx(ratio, abs=digits)  # four digits
    right = run(replace(options, geometry="orthonormal"), settings=settings)
    assert right.total().rho_total == pytest.approx(nominal, rel=1e-9)


def test_a_radius_from_the_data_makes_everything_uncertified():
    done = run(replace(NOISY, radius="quantile"))
    total = done.total()
    assert total.epsilon_certified == INF and not total.certified and math.isfinite(done.estimate.epsilon_claimed)
    radius = [np.quantile(np.linalg.norm(done.data.X[:, j], axis=1), 0.95) for j in range(4)]
    assert done.estimate.numbers["radius"] == pytest.approx(np.mean(radius), rel=1e-12)
    assert all(not event.certified for event in done.releases)


@pytest.mark.parametrize("parties", [1, 4])
def test_private_radii_are_charged_and_claimed(parties):
    done = run(replace(NOISY, radius="dp_quantile", radius_rho=0.05), parties=parties)
    curves = sum(2 * (event.sensitivity / 2) ** 2 / 0.4**2 for event in done.releases if event.mechanism == "gaussian")
    assert done.total().rho_total == pytest.approx(curves + 4 * 0.05, rel=1e-12)
    assert done.total().n_releases == 8
    assert done.estimate.epsilon_claimed == pytest.approx(done.total().epsilon_certified, rel=1e-12)
    assert all(event.data_dependent_parameters for event in done.releases if event.mechanism == "gaussian")


def test_a_budget_that_the_radii_use_up_is_refused():
    options = LocalOptions(s_mode="calibrated", rho_total=0.04, radius="dp_quantile", radius_rho=0.01)
    with pytest.raises(ValueError, match=r"rho is 0\.04 and the radii of 4 predictors cost 0\.04: raise it or lower"):
        run(options)


@pytest.mark.parametrize("options", [CLEAN, replace(NOISY, s=0.0), replace(NOISY, s=(0.5, 0.0, 0.5, 0.5))])
def test_curves_without_noise_cost_infinity_for_everybody_who_learns_of_them(options):
    done = run(options)
    assert done.total().epsilon_certified == done.total().rho_total == INF == done.estimate.epsilon_claimed
    # Party 1 gets operators that were computed from party 2's curves in the clear.
    assert done.channel.ledger.total("party 1", "features", DELTA).epsilon_certified == INF


def test_without_noise_nothing_is_clipped_and_nothing_projected():
    done = run(replace(NOISY, s=0.0, radius_value=0.5))
    assert np.array_equal(done.estimate.released, done.data.X)
    assert done.estimate.numbers["clip_share"] == 0 and done.estimate.numbers["projected"] is False


@pytest.mark.parametrize("options", [NOISY, CentralOptions()])
def test_labels_are_unprotected_unless_the_response_is_released(options):
    clear = run(options)
    assert clear.total("label").epsilon_certified == clear.total("row").epsilon_certified == INF
    done = run(replace(options, sy=0.8, y_radius=3.0))
    assert done.total("label").epsilon_certified == pytest.approx(float(gaussian_epsilon(7.5, DELTA)), rel=1e-12)
    assert done.total().rho_total == clear.total().rho_total  # mu_y = 2 * 3 / .8 = 7.5 is a cost of the label alone
    assert done.total("row").rho_total == pytest.approx(clear.total().rho_total + 7.5**2 / 2, rel=1e-12)
    back = [message for message in done.channel.messages if message.name == "operators"]
    assert [(message.kind, message.event) for message in back] == [("release", "response")] * 2
    assert len([event for event in done.releases if event.unit == "label"]) == 1


def test_a_noisy_response_protects_nothing_where_curves_are_clear():
    done = run(CentralOptions(noise="none", sy=0.8, y_radius=3.0))
    back = [message for message in done.channel.messages if message.name == "operators"]
    assert [(message.kind, message.argument) for message in back] == [("clear", "features+label")] * 2
    assert done.channel.ledger.total("party 1", "features", DELTA).epsilon_certified == INF


def test_the_response_reaches_the_fit_clipped_and_noised():
    loud, data = CentralOptions(noise="none", sy=1e-9, y_radius=1.0, lambda_s=0.0, lambda_t=0.0), make_data()
    clipped = replace(data, Y=clip_curves(data.Y, None, 1.0)[0])
    exact = run(CentralOptions(noise="none", lambda_s=0.0, lambda_t=0.0), data=clipped)
    # Noise of 1e-9 on the response moves operators by about 1e-9.
    assert np.abs(run(loud, data=data).estimate.operators - exact.estimate.operators).max() < 1e-8


def test_two_noise_levels_are_one_draw_rescaled():
    data = make_data()
    clipped = np.stack([clip_curves(data.X[:, j], None, data.radius[j])[0] for j in range(4)], axis=1)
    draws = [(run(replace(NOISY, s=s), data=data).estimate.released - clipped) / s for s in (0.1, 0.5, 3.0)]
    assert np.allclose(draws[0], draws[1], atol=1e-12) and np.allclose(draws[1], draws[2], atol=1e-12)
    target = run(LocalOptions(s_mode="calibrated", max_steps=5), data=data, epsilon=20.0).estimate
    assert np.allclose((target.released - clipped) / target.numbers["noise_sd"], draws[0], atol=1e-12)


def test_a_release_is_made_once_for_all_fits():
    first = run(NOISY).estimate.released
    for other in (
        run(NOISY, parties=4),
        run(NOISY, held_out=2),
        run(NOISY, folds=5),
        run(replace(NOISY, learner="party")),
        run(replace(NOISY, stop="aic", nu=0.1)),
        run(CentralOptions(s=0.4)),
    ):
        assert np.array_equal(other.estimate.released, first)
    assert not np.allclose(run(NOISY, replicate=1).estimate.released, first)


def union(cells):
    ledger = Ledger()
    for cell in cells:
        for event in cell.channel.ledger.rows:
            ledger.append(event)
    return ledger.worst_total(cells[0].channel.names, "features", DELTA)


def test_folds_share_one_release_and_the_published_convention_pays_for_each():
    once = [run(NOISY, held_out=fold) for fold in range(3)]
    assert union(once).rho_total == once[0].total().rho_total
    anew = [run(replace(NOISY, release="per_fit", sy=0.5, y_radius=3.0), held_out=fold) for fold in range(3)]
    assert union(anew).rho_total == pytest.approx(3 * anew[0].total().rho_total, rel=1e-12)
    drawn = [cell.estimate.released for cell in [*anew, run(replace(NOISY, release="per_fit"), parties=4)]]
    assert all(not np.allclose(a, b) for i, a in enumerate(drawn) for b in drawn[:i])


def rows_of_noise(options, settings):
    """Noise that reached the active party, one row a curve, in orthonormal coordinates."""
    data = make_data(settings)
    exact = [clip_curves(data.X[:, j], None, data.radius[j])[0] for j in range(settings.p)]
    return (run(options, settings=settings, data=data).estimate.released - np.stack(exact, axis=1)).reshape(-1, 6)


WIDE = replace(SMALL, n=400, p=20)


def test_the_certified_noise_is_isotropic_in_orthonormal_coordinates():
    noise = rows_of_noise(LocalOptions(s=0.7, max_steps=1), WIDE)
    assert accepts_covariance(noise, 0.49 * np.eye(6))
    assert not accepts_sigma(noise, 0.7 * 1.03) and not accepts_sigma(noise, 0.7 / 1.03)


@pytest.mark.parametrize("coordinates", ["raw", "orthonormal"])
def test_the_published_noise_has_the_gram_matrix_as_covariance_of_coefficients(coordinates):
    options = PublishedOptions(s=0.7, radius="public", coordinates=coordinates, max_steps=1, min_steps=1)
    noise = rows_of_noise(options, WIDE)
    gram = make_data(WIDE).basis_x.build().gram
    assert accepts_covariance(noise, 0.49 * gram @ gram)  # M^{1/2} M M^{1/2}
    assert not accepts_covariance(noise, 0.49 * gram @ gram * 1.03**2)
    assert not accepts_covariance(noise, 0.49 * gram)


def test_released_curves_were_clipped_to_the_radius():
    done = run(replace(NOISY, s=1e-9, radius_value=1.5))
    norms = np.linalg.norm(done.estimate.released, axis=2)
    assert norms.max() <= 1.5 + 1e-7 and done.estimate.numbers["clip_share"] > 0.8  # noise of 1e-9
    short = np.linalg.norm(done.data.X, axis=2) < 1.5
    assert np.abs((done.estimate.released - done.data.X)[short]).max() < 1e-7


def test_the_moments_subtract_the_noise_that_was_added(monkeypatch):
    seen = []

    def recording(train, *args, **kwargs):
        seen.append(train)
        return fit_boosting(train, *args, **kwargs)

    monkeypatch.setattr("partywise.functional.local_release.fit_boosting", recording)
    for options in (NOISY, PublishedOptions(radius="public", max_steps=2, min_steps=1)):
        run(options)
    gram = make_data().basis_x.build().gram
    assert np.array_equal(seen[0].noise, 0.4**2 * np.eye(24))
    assert np.allclose(seen[1].noise, np.kron(np.eye(4), 0.2**2 * gram), rtol=1e-12)
    for moments in seen:
        assert np.array_equal(moments.G, moments.raw - moments.noise)


def test_the_moments_subtract_the_noise_of_the_response(monkeypatch):
    seen = []

    def recording(train, *args, **kwargs):
        seen.append((train, kwargs["response_noise"]))
        return fit_boosting(train, *args, **kwargs)

    monkeypatch.setattr("partywise.functional.local_release.fit_boosting", recording)
    options = replace(NOISY, sy=0.5, y_radius=2.0)
    done = run(options)
    noisy = clip_curves(done.data.Y, None, 2.0)[0] + 0.5 * noise_rng()("response").standard_normal((120, 6))
    train, response_noise = seen[0]
    wanted = np.cov(noisy[done.fold.train], rowvar=False) - 0.25 * np.eye(6)
    assert response_noise == 0.25 and np.allclose(train.K, wanted, rtol=0, atol=1e-12)


def test_ties_go_to_the_lowest_predictor_and_not_to_the_first_party():
    data = make_data()
    X = data.X.copy()
    X[:, 2] = X[:, 1]  # party 1 holds predictors 0 and 2, party 2 holds 1 and 3
    same = replace(data, X=X, Y=X[:, 1] @ data.operators[1] + 0.01 * data.Y)
    done = run(replace(CLEAN, max_steps=1), data=same, parties=2)
    assert np.flatnonzero(done.estimate.selected).tolist() == [1]


def test_the_wire_holds_curves_and_operators_and_nothing_else():
    done = run(NOISY, parties=2)
    rows = [(m.sender, m.receiver, m.kind, m.shape) for m in done.channel.messages]
    curves = [(f"party {1 + j % 2}", "active", "release", (120, 6)) for j in (0, 2, 1, 3)]
    assert rows == [*curves, *[("active", f"party {g}", "clear", (2, 6, 6)) for g in (1, 2)]]
    assert done.channel.bytes_total == 8 * (4 * 120 * 6 + 4 * 6 * 6)
    assert done.channel.bytes_from("active") == 8 * 4 * 6 * 6


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
    assert np.flatnonzero(done.estimate.selected).min() == 0
    # The tie between the two copies goes to the lower index in the first step.
    first = run(replace(CLEAN, learner=learner, max_steps=1), data=same, parties=4)
    assert list(np.flatnonzero(first.estimate.selected)) == [0]


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


def test_noise_is_drawn_from_these_addresses_and_no_others():
    asked = []

    def recording(*names):
        asked.append(names)
        return noise_rng()(*names)

    run(replace(NOISY, radius="dp_quantile", sy=0.5, y_radius=3.0), noise=recording)
    assert sorted({names[0] for names in asked}) == ["curves", "probes", "radius", "response"]
