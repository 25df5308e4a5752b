"""Released curves: the ledger charges what was really drawn, and claims are compared with it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from local_release_driver import CLEAN, NOISY
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.methods.functional.options import CentralOptions, CurvePublishedOptions, LocalOptions
from partywise.methods.functional.protocols import common
from partywise.privacy.accounting.calibration import gaussian_delta, gaussian_epsilon, mu_from_rho
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms import Gaussian, QuantileRadius
from partywise.privacy.statistics.records import clipped_coefficients
from protocol_driver import DELTA, INF, SMALL, make_data, run


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
    options = CurvePublishedOptions(radius="public", coordinates=coordinates, max_steps=2, min_steps=1)
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


PRIVATE = LocalOptions(s_mode="calibrated", radius="dp_quantile", radius_rho=0.05, max_steps=5)


@pytest.mark.parametrize("parties", [1, 4])
def test_private_radii_are_charged_and_claimed(parties):
    done = run(replace(PRIVATE, rho_total=40.0), parties=parties)
    assert done.total().rho_total == pytest.approx(40.0, rel=1e-12)
    assert done.total().n_releases == 4 + 1, "radii, and the budget that pays for all curves"
    assert done.estimate.epsilon_claimed == pytest.approx(done.total().epsilon_certified, rel=1e-12)
    curves = [event for event in done.releases if event.mechanism == "rounded_gaussian"]
    assert len(curves) == 4 and all("budget of all curves" in event.data_dependent_parameters for event in curves)


def scaled(data, factors):
    return replace(data, X=data.X * np.array(factors)[:, None])


@pytest.mark.parametrize("geometry", ["orthonormal", "gram"])
def test_what_private_radii_turn_out_to_be_moves_no_certified_value_of_any_view(geometry):
    """The share of one predictor is seen with the radii; only what all may cost together was fixed before."""
    data, options = make_data(), replace(PRIVATE, rho_total=40.0, geometry=geometry)
    found = {}
    for factors in ((1.0, 1.0, 1.0, 1.0), (20.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 20.0)):
        done = run(options, data=scaled(data, factors), parties=2)
        radii = {event.release_id: event.mu for event in done.releases if event.mechanism == "quantile_radius"}
        assert len(radii) == 4 and all(
            event.certified for event in done.channel.ledger.rows if event.unit == "features"
        )
        ledger = done.channel.ledger
        found[done.estimate.numbers["radius"]] = [
            ledger.total(view, "features", DELTA).mu_total for view in ("active", "party 1", "party 2", ())
        ]
    assert len(found) == 3, "three data sets with three means of the radii"
    first, *others = found.values()
    assert all(other == pytest.approx(first, rel=1e-12) for other in others)
    # An owner knows its own radii, and gets the whole budget of the curves: its part of it is nobody's to know before.
    assert first[1] ** 2 == pytest.approx(first[0] ** 2 - 2 * 2 * 0.05, rel=1e-9)


@pytest.mark.parametrize(("release", "times"), [("once", 1), ("per_fit", 3)])
def test_a_budget_is_paid_once_for_one_release_and_anew_for_every_fit(release, times):
    cells = [run(replace(PRIVATE, rho_total=40.0, release=release), held_out=fold) for fold in range(3)]
    assert union(cells).rho_total == pytest.approx(times * 40.0, rel=1e-12)


def test_levels_in_proportion_to_private_radii_cost_the_same_whatever_they_are():
    options = LocalOptions(
        s_mode="calibrated", calibration="classic", radius="dp_quantile", radius_rho=2.0, max_steps=5
    )
    data = make_data()
    runs = [run(options, data=scaled(data, factors), epsilon=2.0) for factors in ((1.0,) * 4, (20.0, 1.0, 1.0, 5.0))]
    mus = [[event.mu for event in done.releases if event.mechanism == "rounded_gaussian"] for done in runs]
    public = run(LocalOptions(s_mode="calibrated", calibration="classic", max_steps=5), epsilon=2.0)
    assert mus[0] == mus[1] == pytest.approx([event.mu for event in public.releases], rel=1e-12)
    assert runs[0].total().certified and runs[0].total() == runs[1].total()
    levels = [np.std(done.estimate.received_curves - data.X, axis=(0, 2)) for done in runs]
    assert levels[1][0] > 10 * levels[0][0]


def test_the_cost_of_curves_at_a_level_that_ignores_private_radii_is_not_certified():
    """400 curves: each looks cheap beside a small radius, and the largest radius of the grid costs 847 and more."""
    curves = stream(11, "curves").standard_normal((400, 6))
    found = []
    for length in (0.5, 40.0):
        norms = length * np.linalg.norm(curves, axis=1)
        radius = QuantileRadius(0.5)(norms, stream(11, "radius"), owner="p1")
        bounded = clipped_coefficients(length * curves, None, radius)
        release = Gaussian(sigma=2.0)(bounded, stream(11, "noise"), owner="p1")
        found.append(float(gaussian_epsilon(release.event.mu, DELTA)))
        ledger = Ledger([radius.event, release.event])
        assert ledger.total("active", "features", DELTA).epsilon_certified == INF
        preset = Gaussian(mu=1.0)(bounded, stream(11, "noise"), owner="p1")
        ledger = Ledger([radius.event, preset.event])
        assert ledger.total("active", "features", DELTA).mu_total == pytest.approx(math.sqrt(2.0))
    assert found[0] < 136 and found[1] > 847


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


@pytest.mark.parametrize("options", [NOISY, CentralOptions()])
def test_labels_are_unprotected_unless_the_response_is_released(options):
    clear = run(options)
    assert clear.total("label").epsilon_certified == clear.total("row").epsilon_certified == INF
    done = run(replace(options, sy=0.8, y_radius=3.0))
    assert done.total("label").epsilon_certified == pytest.approx(float(gaussian_epsilon(7.5, DELTA)), rel=1e-12)
    assert done.total().rho_total == clear.total().rho_total  # mu_y = 2 * 3 / .8 = 7.5 is a cost of the label alone
    assert done.total("row").rho_total == pytest.approx(clear.total().rho_total + 7.5**2 / 2, rel=1e-12)
    back = [message for message in done.channel.messages if message.name == "operators"]
    assert [(message.kind, message.receiver) for message in back] == [("release", "party 1"), ("release", "party 2")]
    rows = {event.release_id: event for event in done.channel.ledger.rows}
    made_of = (*(f"curves of x{j}" for j in (0, 2, 1, 3)), "response")
    assert {rows[message.event].data_dependent_parameters for message in back} == {made_of}
    assert len([event for event in done.releases if event.unit == "label"]) == 1


def test_a_noisy_response_protects_nothing_where_curves_are_clear():
    done = run(CentralOptions(noise="none", sy=0.8, y_radius=3.0))
    back = [message for message in done.channel.messages if message.name == "operators"]
    assert [(message.kind, message.argument) for message in back] == [("clear", "features")] * 2
    assert done.channel.ledger.total("party 1", "features", DELTA).epsilon_certified == INF
    owners = {event.owner for event in done.channel.ledger.rows if "operators" in event.release_id.split("/")}
    assert owners == {"party 1", "party 2", "active"}
    assert done.channel.ledger.total("party 1", "label", DELTA).mu_total == pytest.approx(7.5)


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
    drawn = [cell.estimate.received_curves for cell in [*anew, run(replace(NOISY, release="per_fit"), parties=4)]]
    assert all(not np.allclose(a, b) for i, a in enumerate(drawn) for b in drawn[:i])


def test_levels_that_cost_more_than_the_budget_of_all_owners_are_refused(monkeypatch):
    """Each owner charges the whole budget for its own curves: whether all together fit is asked before any noise."""
    assert math.isfinite(run(PRIVATE, parties=3, epsilon=4.0).total().epsilon_certified)
    levels = common.noise_levels
    monkeypatch.setattr(common, "noise_levels", lambda *given: 0.999 * levels(*given))
    with pytest.raises(CertificationError, match="the curves of all owners cost mu"):
        run(PRIVATE, parties=3, epsilon=4.0)
