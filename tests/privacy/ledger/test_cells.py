"""A record pays for the releases that read its cell: fits of a cross-validation, each without its own fold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ledger_driver import DELTA, event
from partywise.privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.ledger import Ledger

PARTIES = ("active", "p1")


def fits(mus, of=None):
    """One release a fold, of a fit that trains on all others, and on records that no fold tests."""
    folds = sorted(set(of or range(len(mus))) | set(range(len(mus))))
    return [
        event(f"fit {k}", mu=mu, cells=tuple(f"folds/{fold}" for fold in folds if fold != k))
        for k, mu in enumerate(mus)
    ]


def epsilon(rows, unit="row", **more):
    ledger = Ledger(rows)
    found = ledger.worst_total(PARTIES, unit, DELTA, **more).epsilon_certified
    assert found == ledger.total((), unit, DELTA, **more).epsilon_certified
    return found


def test_two_folds_cost_what_one_fit_costs():
    mu = float(gdp_mu(4.0, 1e-5))
    total = Ledger(fits([mu, mu])).worst_total(PARTIES, "row", 1e-5)
    assert total.epsilon_certified == pytest.approx(4.0, rel=1e-9) and total.mu_upper == mu
    assert Ledger([event("a", mu=mu), event("b", mu=mu)]).worst_total(
        PARTIES, "row", 1e-5
    ).epsilon_certified == pytest.approx(5.992, abs=0.001)


@pytest.mark.parametrize("seed", range(40))
def test_the_total_is_that_of_the_record_that_pays_most(seed):
    """Brute force: each record of an assignment in turn, the fits that it trains composed by hand."""
    rng = np.random.default_rng(seed)
    mus = rng.uniform(0.05, 2.0, size=rng.integers(2, 6)).tolist()
    of = rng.integers(-1, 5, size=rng.integers(1, 13)).tolist()
    beside = float(rng.uniform(0, 1))
    rows = [*fits(mus, of), event("beside", mu=beside)]
    found = Ledger(rows).worst_total(PARTIES, "row", DELTA).mu_upper
    paid = [math.sqrt(beside**2 + sum(mu**2 for k, mu in enumerate(mus) if k != fold)) for fold in of]
    assert found >= max(paid) * (1 - 1e-12), "never below what some record pays"
    everyone = [math.sqrt(beside**2 + sum(mu**2 for k, mu in enumerate(mus) if k != fold)) for fold in range(len(mus))]
    everyone += [math.sqrt(beside**2 + sum(mu**2 for mu in mus))] * (-1 in of or max(of) >= len(mus))
    assert found == pytest.approx(max(everyone), rel=1e-12)


def test_a_sum_of_drawn_noise_is_no_better_told_than_the_total_says():
    """The likelihood ratio of all releases at once, at neighbours that differ in one record of fold 1."""
    rng, mu, n = np.random.default_rng(5), 1.0, 200_000
    of, rows = np.arange(6) % 3, fits([mu] * 3)
    x = np.zeros(6)
    neighbour = x.copy()
    neighbour[1] = 1.0
    sums = [[data[of != k].sum() for k in range(3)] for data in (x, neighbour)]
    shift = np.subtract(sums[1], sums[0]) * mu
    draws = rng.standard_normal((2, n, 3)) + np.array([0 * shift, shift])[:, None]
    loss = draws @ shift - shift @ shift / 2
    total = Ledger(rows).worst_total(PARTIES, "row", DELTA)
    at = 1.0
    delta = np.mean(np.maximum(1 - np.exp(at - loss[1]), 0.0))
    exact = Ledger(rows).total((), "row", DELTA).compositions[0].delta(at)
    assert total.mu_upper == pytest.approx(math.sqrt(2) * mu, rel=1e-12)
    assert delta == pytest.approx(exact, abs=5 * 0.5 / math.sqrt(n))


def test_who_may_have_records_in_all_cells_pays_for_all():
    rows = fits([1.0, 1.0])
    both = float(gaussian_epsilon(2 * math.sqrt(2), DELTA))
    assert epsilon(rows, "user", rows_per_user=2) == pytest.approx(both, rel=1e-9)
    assert Ledger(rows).odometer("active", "row", DELTA)[-1].epsilon >= epsilon(rows)


def test_an_unproved_row_of_another_cell_leaves_a_record_what_it_has():
    first, second = fits([1.0, 1.0])
    assert math.isinf(epsilon([first, second.without_proof])), "records of fold 0 train the unproved fit"
    third = event("other", mu=1.0, cells=("folds/2",))
    assert math.isinf(epsilon([first.without_proof, third]))


def test_cells_are_part_of_a_row_and_of_its_digest():
    one = fits([1.0, 0.5])[0]
    assert Event.from_row(one.to_row()) == one and '"cells":"folds/1"' in one.line
    assert "cells" not in event("plain", mu=1.0).line
    stated = Ledger([one])
    assert Ledger.from_rows(stated.to_rows()).rows == (one,)


@pytest.mark.parametrize("cells", [("*",), ("folds/0", "clients/a"), ("folds",)])
def test_cells_of_one_partition_are_asked_for(cells):
    with pytest.raises(ValueError, match="partition"):
        event("fit", mu=1.0, cells=cells)
