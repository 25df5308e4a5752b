"""Budgets are charged before noise is drawn; owners may be left out; simulation sources only where they belong."""

import math
from dataclasses import replace

import numpy as np
import pytest

from fixed import fixed
from partywise.core.errors import BudgetExceeded
from partywise.core.randomness import stream
from partywise.privacy.ledger.budget import PrivacyFilter
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms import (
    Gaussian,
    PrivateQuantile,
    QuantileRadius,
    RandomizedResponse,
    ReportNoisyMax,
    SymmetricGaussian,
)
from partywise.privacy.mechanisms.integer import IntegerGaussian
from partywise.privacy.mechanisms.random import SecureRandom
from partywise.privacy.mechanisms.release import charge_and_draw, derive, digest_of
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate
from partywise.privacy.statistics.counts import membership
from partywise.privacy.statistics.moments import record_sum, second_moment
from partywise.privacy.statistics.records import entries

SCORES = Bounded(np.arange(4.0), SensitivityCertificate(1.0, "linf", "row", "replace_one", {"label", "features"}))


def test_a_real_filter_stops_the_release_that_does_not_fit():
    budget, rng = PrivacyFilter(2.5, 0.0, rule="pure"), stream(1, "a")
    mechanism, bits = RandomizedResponse(1.0, 2), entries([0, 1, 1])
    for _ in range(2):
        mechanism(bits, rng, budget=budget)
    place = rng.bit_generator.state
    with pytest.raises(BudgetExceeded):
        mechanism(bits, rng, budget=budget)
    assert rng.bit_generator.state == place and budget.amount_spent == 2.0


class Book:
    """A budget that writes down what it was asked, and refuses if told to."""

    def __init__(self, refuse=False):
        self.spent, self.refuse = [], refuse

    def spend(self, event):
        if self.refuse:
            raise BudgetExceeded("nothing left")
        self.spent.append(event)


CALLS = {
    "gaussian": lambda rng, **terms: Gaussian(sigma=2.0)(record_sum(np.ones((3, 2)), fixed(1.0)), rng, **terms),
    "symmetric_gaussian": lambda rng, **t: SymmetricGaussian(2.0)(second_moment(np.ones((3, 2)), fixed(1.0)), rng, **t),
    "randomized_response": lambda rng, **terms: RandomizedResponse(1.0, 2)(entries([0, 1]), rng, **terms),
    "report_noisy_max": lambda rng, **terms: ReportNoisyMax(1.0, winners=2)(SCORES, rng, **terms),
    "rounded_gaussian": lambda rng, **terms: IntegerGaussian(mu=1.0)(membership([1], 4, fixed(2)), rng, **terms),
    "private_quantile": lambda rng, **terms: PrivateQuantile(1.0, 0.5, fixed((0, 1)))(
        entries([0.1, 0.2]), rng, **terms
    ),
    "quantile_radius": lambda rng, **terms: QuantileRadius(0.5)(np.ones(5), rng, **terms),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_budget_is_charged_the_events_cost_once_and_changes_no_draw(name):
    book = Book()
    release, plain = CALLS[name](stream(1, "a"), budget=book), CALLS[name](stream(1, "a"))
    assert np.array_equal(release.value, plain.value) and release.event == plain.event
    (spent,) = book.spent
    for field in ("mechanism", "mu", "rho", "epsilon", "k", "count", "unit", "relation", "stratum", "sampler", "owner"):
        assert getattr(spent, field) == getattr(release.event, field), field
    assert spent.noise_digest == "" and release.event.noise_digest
    assert release.event.mechanism == name and release.event.owner == "unnamed"
    assert release.event.release_id.startswith(name + "-")


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_drawn_for_a_release_that_does_not_fit(name):
    rng = stream(1, "a")
    with pytest.raises(BudgetExceeded, match="nothing left"):
        CALLS[name](rng, budget=Book(refuse=True))
    assert rng.random() == stream(1, "a").random()


def test_gaussian_noise_has_no_secure_sampler_and_the_message_says_what_to_use():
    for name in ("gaussian", "symmetric_gaussian"):
        with pytest.raises(TypeError, match="DiscreteGaussian or RandomizedResponse"):
            CALLS[name](SecureRandom())


def test_the_helper_states_any_distribution_and_keeps_the_type_of_its_value():
    bounded = record_sum(np.ones((3, 2)), fixed(1.0))
    distribution = {"rho": 0.5, "delta_numeric": 1e-30, "count": 2}
    release = charge_and_draw(
        bounded, distribution, "discrete", lambda: np.array(3, dtype=np.int64), "p1", {}, SecureRandom()
    )
    assert (release.event.rho, release.event.delta_numeric, release.event.count) == (0.5, 1e-30, 2)
    assert release.event.sampler == "secure" and release.value == 3 and type(release.value) is int
    named = charge_and_draw(
        bounded, {"mu": math.inf}, "none at all", lambda: 1.5, "p1", {"release_id": "x"}, stream(1, "a")
    )
    assert named.event.release_id == "x" and type(named.value) is float


def merged_of(parts, certified=True):
    """A ledger of some releases and of one that was computed from them, and the release."""
    ledger = Ledger()
    for part in parts:
        ledger.append(part.event if certified else replace(part.event, certified=False))
    merged = derive(sum(part.value for part in parts), parts, name="merged", owner="server")
    ledger.append(merged.event)
    return ledger, merged


def moments_of(client: str):
    statistic = second_moment(np.eye(3), fixed(1.0))
    return Gaussian(mu=0.5)(statistic, stream(1, client), owner=client, release_id=f"moments of {client}")


def test_what_is_computed_from_releases_is_free_and_leads_back_to_them():
    parts = [moments_of("a"), moments_of("b")]
    ledger, merged = merged_of(parts)
    assert ledger.total("c", "row", 1e-5).mu_total == pytest.approx(np.hypot(0.5, 0.5))
    later = Gaussian(mu=0.5)(
        second_moment(np.eye(3), fixed(1.0)),
        stream(2, "a"),
        owner="a",
        data_dependent_parameters=(merged,),
        audience=("c",),
    )
    assert later.event.data_dependent_parameters == ("merged",)
    ledger.append(later.event)
    assert ledger.rows[-1].certified
    assert ledger.total("c", "row", 1e-5).mu_total == pytest.approx(np.sqrt(0.75))


def test_a_release_for_few_leads_back_through_what_was_computed_to_releases_they_never_got():
    hidden = Gaussian(mu=0.5)(
        second_moment(np.eye(3), fixed(1.0)), stream(1, "a"), owner="a", release_id="hidden", audience=("server",)
    )
    merged = derive(hidden.value, [hidden], name="merged", owner="server")
    ledger = Ledger([hidden.event, merged.event])
    assert ledger.total("c", "row", 1e-5).mu_total == pytest.approx(0.5)


def test_what_is_computed_from_an_unproved_release_is_unproved():
    ledger, _ = merged_of([moments_of("a"), moments_of("b")], certified=False)
    assert not ledger.rows[-1].certified
    assert ledger.total("c", "row", 1e-5).epsilon_certified == math.inf


def test_post_processing_needs_something_to_process():
    with pytest.raises(ValueError, match="at least one value"):
        derive(np.ones(2), [], name="merged", owner="server")


def test_the_digest_of_few_bits_cannot_be_guessed():
    """Without a salt whoever sees the ledger tries both values of a bit."""
    bits = [RandomizedResponse(1.0, 2)(entries([1]), rng) for rng in (SecureRandom(), stream(1, "a"), stream(1, "a"))]
    guesses = {digest_of(np.array([bit])) for bit in (0, 1)}
    assert not guesses & {bit.event.noise_digest for bit in bits}
    one, two, three = bits
    assert two.event.noise_digest == three.event.noise_digest, "one seed, one digest"
    again = [RandomizedResponse(math.inf, 2)(entries([1]), SecureRandom()).event.noise_digest for _ in range(2)]
    assert again[0] != again[1], "a secret salt for every draw"
    after = stream(1, "a")
    RandomizedResponse(1.0, 2)(entries([1]), after)
    plain = stream(1, "a")
    plain.random(1), plain.integers(0, 1, 1)
    assert after.random() == plain.random(), "the salt draws nothing"
    free = derive(one.value, [one], name="bit", owner="p1")
    assert free.event.noise_digest not in guesses | {digest_of(one.value)}
