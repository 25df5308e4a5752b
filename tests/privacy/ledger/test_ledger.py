"""What a ledger adds up: composition of profiles, strata in parallel, one row for a release, and how fast."""

import gc
import math
import time
from dataclasses import replace

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from fixed import fixed
from ledger_driver import DELTA, epsilon_of, event
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.privacy.accounted_values import UNPROVED
from partywise.privacy.accounting.calibration import classic_gaussian_sigma, gaussian_epsilon, simple_zcdp_epsilon
from partywise.privacy.accounting.compose import compose
from partywise.privacy.accounting.privacy_profile import PrivacyProfile
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms import Gaussian
from partywise.privacy.statistics.records import clipped_coefficients

MUS = st.floats(1e-3, 20)


def gaussian_rows(mus, **fields):
    return [event(f"r{k}", mu=mu, **fields) for k, mu in enumerate(mus)]


@pytest.mark.parametrize("count", [20, 400])
def test_totals_lie_just_above_the_loss_distribution_oracle(count):
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(dp_accounting.GaussianDpEvent(1 / 0.2), count)
    total = Ledger(gaussian_rows([0.2] * count)).total("active", "row", DELTA)
    assert total.epsilon_certified == pytest.approx(accountant.get_epsilon(DELTA), abs=1e-3)
    assert total.n_releases == count and total.certified
    if count == 20:
        assert total.epsilon_certified == pytest.approx(3.848610, abs=1e-6)
        assert total.epsilons["simple_zcdp"] == pytest.approx(4.6919, abs=5e-5)


@given(st.lists(MUS, min_size=1, max_size=8))
def test_many_releases_are_one_with_the_summed_rho(mus):
    total = Ledger(gaussian_rows(mus)).total("active", "row", DELTA)
    rho = sum(mu * mu / 2 for mu in mus)
    one = epsilon_of([event(mu=math.sqrt(2 * rho))])
    assert total.epsilon_certified == pytest.approx(one, rel=1e-12)
    assert total.rho_total == pytest.approx(rho, rel=1e-12)
    assert total.epsilons["simple_zcdp"] == pytest.approx(simple_zcdp_epsilon(rho, DELTA), rel=1e-12)
    assert total.epsilon_certified_part == total.epsilon_certified


def test_count_composes():
    assert epsilon_of([event(mu=0.2, count=20)]) == pytest.approx(3.848610, abs=1e-6)


def test_a_release_sent_again_is_one_row_and_a_new_draw_is_another():
    ledger = Ledger([event("a"), event("a")])
    assert len(ledger) == 1
    ledger.append(event("b"))
    assert ledger.total("active", "row", DELTA).mu_total == pytest.approx(math.sqrt(2))
    for other in (event("a", mu=2.0), event("a", noise_digest="another draw"), event("a", owner="p2")):
        with pytest.raises(CertificationError, match="'a' is in the ledger with another value"):
            ledger.append(other)


def test_a_redrawn_release_under_its_old_name_is_refused():
    bounded = clipped_coefficients(np.ones((4, 2)), None, fixed(1.0))
    ledger = Ledger()
    for seed in (1, 1):
        ledger.append(Gaussian(sigma=1.0)(bounded, stream(seed, "a"), owner="p1", release_id="curves").event)
    with pytest.raises(CertificationError, match="new release_id"):
        ledger.append(Gaussian(sigma=1.0)(bounded, stream(2, "a"), owner="p1", release_id="curves").event)


def test_strata_compose_in_parallel_and_everybody_else_in_sequence():
    rows = [
        event("a", stratum="hospitals/1", mu=1.0),
        event("b", stratum="hospitals/2", mu=2.0),
        event("c", stratum="hospitals/2", mu=2.0),
        event("d", stratum="*", mu=1.0),
    ]
    assert Ledger(rows).total("active", "row", DELTA).mu_total == pytest.approx(3.0)
    assert Ledger(rows[:2]).total("active", "row", DELTA).mu_total == pytest.approx(2.0)


CELLS = st.sampled_from(("*", "c/A", "c/B", "c/C"))


@given(st.lists(st.tuples(MUS, CELLS), min_size=1, max_size=6), CELLS)
def test_moving_a_row_never_goes_below_the_largest_stratum(rows, target):
    events = [event(f"r{k}", mu=mu, stratum=stratum) for k, (mu, stratum) in enumerate(rows)]
    moved = [event("r0", mu=rows[0][0], stratum=target), *events[1:]]
    largest = max(epsilon_of([e for e in moved if e.stratum in ("*", s)]) for s in ("c/A", "c/B", "c/C"))
    assert epsilon_of(moved) == pytest.approx(largest, rel=1e-12)
    everything = epsilon_of([event(e.release_id, mu=e.mu) for e in events])
    assert epsilon_of(moved) <= everything * (1 + 1e-12)


def mixed_rows():
    return [
        event("a", mu=0.5, stratum="clinics/A"),
        event("b", mu=None, epsilon=1.0, k=5, count=3, stratum="clinics/B"),
        event("c", mu=None, rho=0.01),
        event("d", mu=0.2, delta_numeric=1e-7),
    ]


def test_other_profiles_compose_by_stratum():
    total = Ledger(mixed_rows()).total("active", "row", DELTA)
    common = [PrivacyProfile(rho=0.01), PrivacyProfile(mu=0.2)]
    strata = [[*common, PrivacyProfile(mu=0.5)], [*common, PrivacyProfile(epsilon=1.0, k=5, count=3)]]
    expected = max(compose(profiles, 1e-7).epsilon(DELTA) for profiles in strata)
    assert total.epsilon_certified == total.epsilon_certified_part == expected
    assert math.isnan(total.mu_total)
    assert total.rho_total == pytest.approx(0.01 + 0.02 + 3 * 0.5, rel=1e-12)
    assert total.epsilons["simple_zcdp"] == pytest.approx(simple_zcdp_epsilon(total.rho_total, DELTA), rel=1e-12)
    assert total.n_releases == 4 and total.certified
    # The part of delta that only another stratum uses up is not taken off here.
    elsewhere = Ledger(
        [event("a", mu=1.0, stratum="clinics/A"), event("b", mu=0.1, stratum="clinics/B", delta_numeric=1e-6)]
    )
    assert elsewhere.total("active", "row", DELTA).epsilon_certified == gaussian_epsilon(1.0, DELTA)


def test_an_unproved_row_beside_other_profiles_shows_the_proved_part():
    proved = Ledger(mixed_rows()).total("active", "row", DELTA)
    total = Ledger([*mixed_rows(), event("e", mu=None, certified=False)]).total("active", "row", DELTA)
    assert total.epsilon_certified == total.mu_total == total.rho_total == total.epsilons["simple_zcdp"] == math.inf
    assert total.epsilon_certified_part == proved.epsilon_certified


FINITE = st.tuples(st.floats(0.05, 2), st.sampled_from([None, 3, 50]), st.integers(1, 4))
ROWS = st.one_of(
    st.floats(0.01, 2).map(lambda mu: {"mu": mu}),
    FINITE.map(lambda x: {"mu": None, "epsilon": x[0], "k": x[1], "count": x[2]}),
    st.floats(0.001, 0.5).map(lambda rho: {"mu": None, "rho": rho}),
)


@given(st.lists(st.tuples(ROWS, CELLS), min_size=1, max_size=4), CELLS)
@settings(deadline=None, max_examples=40)
def test_moving_any_row_never_goes_below_the_largest_stratum(rows, target):
    events = [event(f"r{k}", stratum=stratum, **profile) for k, (profile, stratum) in enumerate(rows)]
    moved = [replace(events[0], stratum=target), *events[1:]]
    largest = max(epsilon_of([e for e in moved if e.stratum in ("*", s)]) for s in ("c/A", "c/B", "c/C"))
    assert epsilon_of(moved) == pytest.approx(largest, rel=1e-9)
    # Never above everything in sequence (but for the search of the split of delta and the grid).
    assert epsilon_of(moved) <= epsilon_of([replace(e, stratum="*") for e in events]) * (1 + 1e-3)
    assert epsilon_of(list(reversed(moved))) == epsilon_of(moved)


@pytest.mark.parametrize(("parties", "real"), [(2, 2.69), (4, 1.82), (10, 1.10)])
def test_the_square_root_budget_of_the_source_does_not_hold_a_total(parties, real):
    """Seed 000: noise times sqrt(J) is said to keep the total; predictors compose, parties do not."""
    mu = 1 / (classic_gaussian_sigma(1, DELTA, 1, allow_uncertified=True) * math.sqrt(parties))
    assert epsilon_of(gaussian_rows([mu] * 20)) == pytest.approx(real, abs=0.006)


def test_rows_are_totalled_in_linear_time():
    """Four times the rows take at most eight times the time, apart from Python's collector of cyclic garbage."""
    seconds = {}
    for rows in (10_000, 40_000):
        ledger = Ledger(event(str(k), mu=0.01) for k in range(rows))
        gc.collect()
        gc.disable()
        start = time.process_time()
        total = ledger.total("active", "row", DELTA)
        seconds[rows] = time.process_time() - start
        gc.enable()
    assert seconds[40_000] < 8 * seconds[10_000]
    assert total.mu_total == pytest.approx(2.0, rel=1e-12)


def test_nothing_is_proved_by_a_release_that_has_the_name_of_what_is_in_the_clear():
    named = event(release_id=UNPROVED, mu=1e-9)
    resting = event(release_id="sum", mu=1.0, data_dependent_parameters=(UNPROVED,))
    assert not Ledger([named, resting]).rows[1].certified
    assert Ledger([named, replace(resting, data_dependent_parameters=())]).rows[1].certified
