"""The payer of a generator is asked before noise is drawn: every mechanism, every source, once a draw."""

from __future__ import annotations

import ast
import math
from threading import Thread

import numpy as np
import pytest

from fixed import fixed
from partywise.core.errors import BudgetExceeded, CertificationError
from partywise.core.randomness import stream
from partywise.federation.secure_streams import SecureStreams
from partywise.methods.filters.training import SparseVector
from partywise.methods.logistic.perturbation import objective_perturbation
from partywise.privacy.accounted_values import UNPROVED, Clear, Public
from partywise.privacy.ledger.budget import PrivacyFilter
from partywise.privacy.mechanisms.discrete import DiscreteGaussian
from partywise.privacy.mechanisms.distances.adjustment import AdjustedDistanceExponential
from partywise.privacy.mechanisms.distances.exponential import DistanceExponential
from partywise.privacy.mechanisms.gaussian import Gaussian, SymmetricGaussian
from partywise.privacy.mechanisms.integer import IntegerGaussian
from partywise.privacy.mechanisms.laplace import Geometric, Laplace
from partywise.privacy.mechanisms.mixed_response import MixedResponse
from partywise.privacy.mechanisms.quantiles import PrivateQuantile, QuantileRadius
from partywise.privacy.mechanisms.random import SecureRandom, charge_to, words_of
from partywise.privacy.mechanisms.randomized_response import RandomizedResponse
from partywise.privacy.mechanisms.release import MECHANISMS, charge_and_draw
from partywise.privacy.mechanisms.selection import ReportNoisyMax
from partywise.privacy.payer import OPEN_ACCOUNTS
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate
from partywise.privacy.statistics.counts import membership
from partywise.privacy.statistics.encrypted_integers import EncryptedIntegers
from partywise.privacy.statistics.moments import record_sum, second_moment
from partywise.privacy.statistics.records import entries
from pipeline import ROOT

LIB = ROOT / "lib" / "partywise"
BOTH = frozenset({"label", "features"})


def certificate(norm: str = "l2", grid: float | None = None) -> SensitivityCertificate:
    return SensitivityCertificate(1.0, norm, "row", "replace_one", BOTH, grid=grid)


RECORDS, UNITS = np.full((3, 2), 0.5), np.ones(2)
SCORES, COUNTS = Bounded(np.arange(4.0), certificate("linf")), Bounded(np.arange(3.0), certificate("l1", 1.0))
CLOSED = EncryptedIntegers(certificate(), UNITS, np.zeros(2), lambda content, keys: content)
# Calls by mechanism, for numpy generators; those of `SECURE` take a secure source too.
CALLS = {
    "gaussian": lambda rng, **t: Gaussian(mu=0.5)(record_sum(RECORDS, fixed(1.0)), rng, **t),
    "symmetric_gaussian": lambda rng, **t: SymmetricGaussian(2.0)(second_moment(RECORDS, fixed(1.0)), rng, **t),
    "rounded_gaussian": lambda rng, **t: DiscreteGaussian(mu=0.5)(record_sum(RECORDS, fixed(1.0)), rng, **t),
    "integers": lambda rng, **t: IntegerGaussian(mu=0.5)(membership([1], 4, fixed(2)), rng, **t),
    "discrete_gaussian": lambda rng, **t: DiscreteGaussian(mu=0.5, distribution="discrete")(
        Bounded(UNITS, certificate()), rng
    ),
    "encrypted_rounded_gaussian": lambda rng, **t: DiscreteGaussian(mu=0.5).under_encryption(CLOSED, np.copy, rng, **t),
    "laplace": lambda rng, **t: Laplace(epsilon=0.5)(COUNTS, rng, **t),
    "geometric": lambda rng, **t: Geometric(0.5)(COUNTS, rng, **t),
    "randomized_response": lambda rng, **t: RandomizedResponse(1.0, 2)(entries([0, 1]), rng, **t),
    "mixed_response": lambda rng, **t: MixedResponse(1.0, np.array([2, 3]))(entries([0, 1]), rng, **t),
    "distance_exponential": lambda rng, **t: DistanceExponential(1.0, fixed((0, 9)))(entries([3, 4]), rng, **t),
    "adjusted_distance_exponential": lambda rng, **t: AdjustedDistanceExponential(1.0, 1.0, 2, fixed((0, 9)))(
        entries([3, 4]), rng, **t
    ),
    "report_noisy_max": lambda rng, **t: ReportNoisyMax(1.0, winners=2)(SCORES, rng, **t),
    "private_quantile": lambda rng, **t: PrivateQuantile(1.0, 0.5, fixed((0.0, 1.0)))(entries([0.2, 0.4]), rng, **t),
    "quantile_radius": lambda rng, **t: QuantileRadius(0.5)(np.arange(9.0), rng, **t),
    "objective_perturbation": lambda rng, **t: objective_perturbation(
        RECORDS, np.array([0, 1, 1]), 1.0, 1e-5, rng, **t
    ),
    # As a framework ships it, at the bound that is proved.
    "svt": lambda rng, **t: SparseVector()(Bounded(np.full((2, 4), 2e-6), certificate()), rng, **t),
}
SECURE = ("rounded_gaussian", "discrete_gaussian", "encrypted_rounded_gaussian", "geometric", "randomized_response")
SECURE += ("integers", "mixed_response")


class Book:
    """A payer that writes down what it was asked and how much was drawn until then, and refuses if told to."""

    def __init__(self, drawn=lambda: None, refuse=False):
        self.paid, self.drawn, self.refuse = [], drawn, refuse

    def charge(self, *events):
        if self.refuse:
            raise BudgetExceeded("nothing left")
        self.paid += [(event, self.drawn()) for event in events]


class Counting(SecureRandom):
    """A secure source that counts its words."""

    __slots__ = ("drawn",)

    # In a list: copies that carry a payer count together.
    def _words(self, n):
        self.drawn[0] += n
        return super()._words(n)


def sources(name):
    """A source and a function that tells how far it was drawn from."""
    rng = stream(1, name)
    yield rng, lambda: rng.bit_generator.state["state"]["state"]
    if name in SECURE:
        secure = Counting.__new__(Counting)
        secure.payer, secure.drawn = None, [0]
        yield secure, lambda: secure.drawn[0]


@pytest.mark.parametrize("name", CALLS)
def test_every_mechanism_asks_once_before_it_draws_and_draws_nothing_when_refused(name):
    call = CALLS[name]
    for rng, drawn in sources(name):
        start, book = drawn(), Book(drawn)
        made = call(charge_to(rng, book))
        assert drawn() != start, "the mechanism draws from this source"
        ((paid, place),) = book.paid
        assert place == start, "asked before the first draw"
        assert paid.profile is not None and not paid.noise_digest
        assert paid.certified == made.event.certified
        assert (paid.profile, paid.unit, paid.mechanism) == (made.event.profile, made.event.unit, made.event.mechanism)
        place = drawn()
        with pytest.raises(BudgetExceeded):
            call(charge_to(rng, Book(refuse=True)))
        assert drawn() == place


def test_every_mechanism_of_the_library_is_among_them():
    """Names of profiles are the third argument of `charge_and_draw`, which every mechanism ends in."""
    made = set()
    for text in (path.read_text(encoding="utf-8") for path in sorted(LIB.rglob("*.py"))):
        for node in ast.walk(ast.parse(text)) if "charge_and_draw" in text else ():
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "charge_and_draw"
            if named and len(node.args) >= 6 and isinstance(node.args[2], ast.Constant):
                made.add(node.args[2].value)
    # Mixed responses have the profile of randomised response; rounds on samples stand in the tests of every protocol.
    assert made - {"subsampled_gaussian"} <= set(CALLS) and len(made) >= 10
    assert MECHANISMS - {"subsampled_gaussian"} <= set(CALLS), "and each has its name"
    assert made <= MECHANISMS


@pytest.mark.parametrize(("mechanism", "proved"), [("gaussian", True), ("my_noise", False)])
def test_a_distribution_that_the_library_does_not_know_is_paid_as_unproved(mechanism, proved):
    book, bounded = Book(), record_sum(RECORDS, fixed(1.0))
    rng = charge_to(stream(1, "a"), book)
    charge_and_draw(bounded, {"mu": 0.5}, mechanism, lambda: rng.standard_normal(2), "clinic", {}, rng)
    ((paid, _),) = book.paid
    assert paid.certified == proved


def test_releases_are_made_by_mechanisms_and_noise_is_drawn_by_them_only():
    """Whatever else makes a `Release`, or draws from a source of noise, would be a draw that nobody was asked for."""
    noise = {"integer_noise", "draw_integers", "draw_huge_integers", "draw_wide_integers", "draw_geometric"}
    noise |= {"draw_index", "rare", "largest"}
    homes = {"random", "table", "wide", "laplace", "finite_draws"}
    makers, drawers = set(), set()
    for path in sorted(LIB.rglob("*.py")):
        name, text = path.relative_to(LIB).as_posix(), path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(word in text for word in ("Release", *noise)) else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Release":
                makers.add(name)
            home = (node.module or "").rpartition(".")[2] if isinstance(node, ast.ImportFrom) else ""
            if home in homes and {alias.name for alias in node.names} & noise:
                drawers.add(name)
    # The codec restores what was paid for; what is proved of nothing is charged as such in `unproved_release`.
    others = {"audits/exposure.py", "federation/codec.py"}
    # A sum of shares of noise was announced and paid before any of them was drawn.
    others.add("privacy/mechanisms/noise_shares.py")
    # Whoever publishes or checks a folder puts measurements that were paid for back in their places.
    others |= {"deployment/publication/release_folder.py", "deployment/publication/publishing.py"}
    # Whoever publishes a replay asks for whom its releases cost what: rows of events, without values.
    others.add("audits/replay.py")
    assert makers == {"privacy/mechanisms/release.py"} | others
    # Worlds of an attack hold noise that nobody releases.
    inside = ("privacy/mechanisms/", "privacy/secure/")
    # Printed errors of a published system are computed anew from its noise on printed counts.
    public = {"studies/federated_epidemiology/register/dsvert.py"}
    assert {n for n in drawers if not n.startswith(inside)} == {"studies/vertical_trees/leaks/slots.py"} | public


def test_the_distribution_itself_is_charged_where_the_row_of_a_budget_stands_for_it():
    parent = Gaussian(mu=0.1)(record_sum(RECORDS, fixed(1.0)), stream(1, "a"), release_id="radius")
    budget, book = PrivacyFilter(3.0, 1e-5, unit="features", name="whole"), Book()
    made = Gaussian(sigma=4.0)(
        record_sum(RECORDS, fixed(1.0)),
        charge_to(stream(1, "b"), book),
        budget=budget,
        data_dependent_parameters=(parent,),
    )
    ((paid, _),) = book.paid
    assert made.event.profile.free and made.event.data_dependent_parameters == ("radius", "whole")
    assert paid.certified and paid.profile.mu == pytest.approx(math.sqrt(budget.amount_spent))


@pytest.mark.parametrize("given", ["profile", "preset"])
def test_a_distribution_that_rests_on_a_value_in_the_clear_is_proved_of_nothing(given):
    radius = Clear(1.0, units=("features",), owner="clinic")
    book, mechanism = Book(), Gaussian(mu=0.5) if given == "preset" else Gaussian(sigma=4.0)
    rng = charge_to(stream(1, "a"), book)
    mechanism(record_sum(RECORDS, radius), rng)
    mechanism(record_sum(RECORDS, Public(1.0, because="an option")), rng)
    unproved, proved = (paid for paid, _ in book.paid)
    assert UNPROVED in unproved.data_dependent_parameters and not unproved.certified and proved.certified


def test_the_payer_is_asked_in_any_thread():
    """Three releases of mu = 50 under a budget of 1 were drawn in a thread, and nothing was paid."""
    refused, book = [], Book(refuse=True)

    def draw(rng):
        try:
            Gaussian(mu=50.0)(record_sum(RECORDS, fixed(1.0)), rng)
        except BudgetExceeded as error:
            refused.append(error)

    rng = charge_to(stream(1, "a"), book)
    start = rng.bit_generator.state
    threads = [Thread(target=draw, args=(rng,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 3 and rng.bit_generator.state == start


class Open:
    """What counts as an open account."""


@pytest.fixture
def account():
    one = Open()
    OPEN_ACCOUNTS.add(one)
    yield one
    OPEN_ACCOUNTS.discard(one)


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_drawn_without_a_payer_while_an_account_is_open(name, account):
    for rng, drawn in sources(name):
        start = drawn()
        with pytest.raises(CertificationError, match="carries no payer"):
            CALLS[name](rng)
        assert drawn() == start
        CALLS[name](charge_to(rng, Book()))
        assert drawn() != start


def test_no_secret_generator_without_a_payer_can_be_had_while_an_account_is_open(account):
    with pytest.raises(CertificationError, match=r"charge_to\(rng, account\)"):
        SecureRandom()
    with pytest.raises(CertificationError, match="carries no payer"):
        SecureStreams(1)("noise")
    paying = SecureStreams(1).charge_to(book := Book())("noise")
    DiscreteGaussian(mu=0.5)(record_sum(RECORDS, fixed(1.0)), paying)
    assert [event.mechanism for event, _ in book.paid] == ["rounded_gaussian"]
    OPEN_ACCOUNTS.discard(account)
    assert SecureRandom().payer is None


def test_a_generator_that_carries_a_payer_draws_what_it_drew():
    plain, source = stream(1, "a"), stream(1, "a")
    paying = charge_to(source, Book())
    assert paying.standard_normal() == plain.standard_normal()
    assert np.array_equal(words_of(source)(3), words_of(plain)(3)), "one state, whoever draws from it"
    assert charge_to(paying, Book()).payer is not paying.payer
