"""For whom a ledger adds up, and what it refuses to call safe: silence is never safety."""

import math

import numpy as np
import pytest

from fixed import fixed
from ledger_driver import DELTA, epsilon_of, event
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.privacy.accounting.calibration import gaussian_epsilon
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.ledger.reach import clear_event
from partywise.privacy.mechanisms import Gaussian, QuantileRadius
from partywise.privacy.statistics.records import clipped_coefficients


def test_the_worst_view_weighs_different_profiles_by_their_epsilon():
    ledger = Ledger(
        [
            event("a", audience=("x",), mu=0.4),
            event("b", audience=("y",), mu=None, epsilon=3.0, k=2),
            event("c", audience=("z",), mu=None, epsilon=1.0, count=2),
        ]
    )
    worst = ledger.worst_total(["p1", "x", "y", "z"], "row", DELTA)
    assert worst.view_worst == "x+y+z" and worst.epsilon_certified > 3.0
    each = {name: ledger.total(name, "row", DELTA).epsilon_certified for name in "xyz"}
    assert max(each, key=each.get) == "y"


def test_a_view_counts_what_it_sees_and_does_not_own():
    ledger = Ledger(
        [
            event("a", owner="p1", audience=("active",), mu=1.0),
            event("b", owner="p2", audience=("active",), mu=2.0),
            event("c", owner="p1", audience=("p2",), mu=4.0),
            event("d", owner="active", audience="*", mu=8.0),
        ]
    )

    def mu(view):
        return ledger.total(view, "row", DELTA).mu_total

    assert mu(["active"]) == pytest.approx(math.sqrt(1 + 4))
    assert mu("p1") == 8.0 and mu([]) == 8.0
    assert mu(["p2"]) == pytest.approx(math.sqrt(16 + 64))
    assert mu(["active", "p2"]) == pytest.approx(math.sqrt(1 + 16))
    assert mu(["active", "p1", "p2"]) == 0.0
    assert ledger.total(["p2", "active"], "row", DELTA).view_worst == "active+p2"
    assert ledger.total([], "row", DELTA).view_worst == "public"
    worst = ledger.worst_total(["active", "p1", "p2"], "row", DELTA)
    assert (worst.view_worst, worst.mu_total) == ("p2", pytest.approx(math.sqrt(80)))


def test_the_worst_view_may_be_a_coalition():
    ledger = Ledger([event("a", audience=("x",), mu=3.0), event("b", audience=("y",), mu=4.0)])
    worst = ledger.worst_total(["p1", "x", "y"], "row", DELTA)
    assert (worst.view_worst, worst.mu_total) == ("x+y", 5.0)
    assert ledger.worst_total(["p1", "x", "y"], "row", DELTA) == ledger.worst_total(["p1", "x", "y"], "row", DELTA)


def test_one_unproved_row_outranks_any_finite_cost():
    ledger = Ledger([event("a", audience=("x",), mu=50.0), clear_event("c", "p1", ("label",), "y")])
    worst = ledger.worst_total(["p1", "x", "y", "z"], "row", DELTA)
    assert worst.epsilon_certified == math.inf and worst.view_worst == "x+y"
    assert worst.epsilon_certified_part == gaussian_epsilon(50.0, DELTA)
    assert worst.trust_model == "local;none"


def test_an_empty_transcript_costs_nothing():
    total = Ledger().worst_total(["a", "b"], "row", DELTA)
    assert (total.epsilon_certified, total.mu_total, total.certified, total.n_releases) == (0, 0, True, 0)
    assert (total.trust_model, total.sampler) == ("none", "none")


def test_unproved_rows_make_the_total_infinite_and_the_proved_part_is_shown():
    ledger = Ledger([event("a", mu=0.5), event("b", certified=False), clear_event("c", "p1", ("row",), "active")])
    total = ledger.total("active", "row", DELTA)
    assert total.epsilon_certified == total.mu_total == total.rho_total == total.epsilons["simple_zcdp"] == math.inf
    assert total.epsilon_certified_part == gaussian_epsilon(0.5, DELTA)
    assert not total.certified and total.n_releases == 3


def test_an_unproved_row_about_another_field_is_no_cost():
    row = event(unit="label", depends_on=("label",), certified=False)
    assert epsilon_of([row], "features") == 0 and epsilon_of([row], "label") == math.inf


def test_a_release_without_noise_is_infinite_though_its_mechanism_is_known():
    total = Ledger([event(mu=math.inf)]).total("active", "row", DELTA)
    assert total.epsilon_certified == math.inf and total.certified and total.rho_total == math.inf


def test_a_distribution_that_cannot_be_composed_is_refused_and_not_dropped():
    response = event("flip", mechanism="randomized_response", mu=None)
    with pytest.raises(CertificationError, match="'randomized_response' carries no mu"):
        Ledger([response])
    unproved = event("flip", mechanism="randomized_response", mu=None, certified=False)
    assert epsilon_of([unproved]) == math.inf


def curves(radius, rng, **terms):
    bounded = clipped_coefficients(stream(1, "c").standard_normal((50, 3)), None, fixed(radius))
    return Gaussian(mu=2.0)(bounded, rng, owner="p1", audience=("active",), **terms)


def test_an_uncharged_data_dependent_radius_makes_the_release_unproved():
    release = curves(2.5, stream(1, "e"), data_dependent_parameters=("95 % quantile of the norms",))
    stored = Ledger().append(release.event)
    assert release.event.certified and not stored.certified
    assert epsilon_of([release.event], "features") == math.inf
    clear = clear_event("95 % quantile of the norms", "p1", ("features",), "active")
    assert epsilon_of([clear, release.event], "features") == math.inf


def test_a_charged_radius_is_added_even_for_views_that_never_got_it():
    radius = QuantileRadius(0.02)(np.ones(50), stream(1, "r"), owner="p1", audience=("p2",), release_id="radius")
    release = curves(2.5, stream(1, "e"), data_dependent_parameters=(radius,))
    ledger = Ledger([radius.event, release.event])
    assert ledger.total("active", "features", DELTA).mu_total == pytest.approx(math.sqrt(2**2 + 0.2**2))
    assert ledger.total("p2", "features", DELTA).mu_total == pytest.approx(0.2)
    assert len(ledger) == 2 and ledger.append(release.event).certified
    # The charge must come first: a release cannot rest on a row that is not there yet.
    assert epsilon_of([release.event, radius.event], "features") == math.inf


def test_a_chain_of_parameters_is_followed():
    rows = [
        event("a", mu=1.0, audience=("z",)),
        event("b", mu=2.0, audience=("z",), data_dependent_parameters=("a",)),
        event("c", mu=2.0, audience=("active",), data_dependent_parameters=("b",)),
    ]
    assert Ledger(rows).total("active", "row", DELTA).mu_total == 3.0
    broken = [event("a", certified=False, audience=("z",)), *rows[1:]]
    assert epsilon_of(broken) == math.inf
