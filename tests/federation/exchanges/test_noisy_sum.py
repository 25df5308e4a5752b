"""Sums with noise in shares: exact in whole numbers, uniform to whoever lacks a word, paid before a word leaves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2

from deployment_driver import Notes, threads
from forked import checked, in_all_ways
from memory_transport import connected
from partywise.core.errors import CertificationError, PartyError
from partywise.core.randomness import Streams, stream
from partywise.deployment.session.outcome import estimate_of
from partywise.federation.account.rows import ReservedRow
from partywise.federation.exchanges.masks import pair_keys
from partywise.federation.exchanges.masks.noisy_sum import SCHEME, decode_integers, encode_integers, noisy_sum
from partywise.federation.exchanges.masks.pair_keys import agree_on_keys
from partywise.federation.exchanges.noisy_sums import noise_factor
from partywise.federation.parties import Party
from partywise.federation.places import by_place
from partywise.federation.run import Run, simulate
from partywise.federation.secure_streams import SecureStreams
from partywise.privacy.accounted_values import Public
from partywise.privacy.ledger.event import SEVERAL
from partywise.privacy.mechanisms.noise_shares import TOTAL_VARIATION, NoiseShares
from partywise.privacy.mechanisms.release import OBSERVER
from partywise.privacy.statistics.whole import whole

STEP = 0.25


@dataclass
class Keys:
    """An observer that keeps the shares of the noise."""

    noise: list = field(default_factory=list)

    def draw(self, bounded, mechanism, owner, draw, rng=None):
        self.closed = bounded
        return draw()

    def add_key(self, key):
        self.noise.append(key)

    def add_event(self, event):
        self.event = event


def total_of(size, squares, weights=None):
    """The public form of a sum of ``size`` entries."""
    return whole(np.zeros(size, dtype=np.int64), Fraction(squares), STEP, "a test", weights=weights)


def start(integers, rng_for=None, record=True):
    parties = [Party(f"clinic {k}", "client", {"k": own}) for k, own in enumerate(integers)]
    more = {"spec": SimpleNamespace(), "extra": ("server",), "record": record}
    return Run(parties, epsilon=1.0, fold=None, rng_for=rng_for or Streams(3, "noisy sum"), **more)


def local_statistic(party, total):
    return replace(total, integers=party.block["k"])


def program(run, total, mu, colluders, largest, names=("sum",)):
    keys = agree_on_keys(run, run.parties, "server")
    own = run.each(run.parties, local_statistic, total)
    given = {"colluders": colluders, "largest": largest}
    return [noisy_sum(run, keys, name, own, total, mu, **given) for name in names]


def observed(run, *given, **more):
    """The releases, and what an observer saw."""
    keys = Keys()
    token = OBSERVER.set(keys)
    try:
        return simulate(lambda run: program(run, *given, **more), run), keys
    finally:
        OBSERVER.reset(token)


@pytest.mark.parametrize(
    "block", [*range(4), *(pytest.param(block, marks=pytest.mark.statistical) for block in range(4, 20))]
)
def test_what_is_opened_is_the_sum_of_integers_and_shares_exactly(block):
    """1,000 cases: negative ones, 2 to 12 senders, words of 64 and 128 bits, secret noise and seeded noise."""
    for case in range(50 * block, 50 * (block + 1)):
        check_case(case)


def check_case(case):
    """One sum, with integers, noise and weights of its own."""
    rng = stream(5, "cases", case)
    senders, size, wide = int(rng.integers(2, 13)), int(rng.integers(1, 5)), case % 2
    most = 2**53 if wide else 2**40
    integers = rng.integers(-most, most + 1, (senders, size))
    weights = None if case % 3 else np.where(np.arange(size) % 2, 2, 1)
    total, mu = total_of(size, 10 ** int(rng.integers(0, 30 if wide else 20)), weights), float(rng.uniform(0.1, 3))
    run = start(integers, SecureStreams(case) if case % 4 == 0 else None)
    colluders = int(rng.integers(1, senders))
    (release,), seen = observed(run, total, mu, colluders, senders * most if not wide else 2**62)
    fine = total.finer(NoiseShares(total, mu, tuple(party.name for party in run.parties), colluders).bits)
    expected = [
        (sum(map(int, own)) << fine.bits) + sum(map(int, shares))
        for own, shares in zip(integers.T, np.array([key.integers for key in seen.noise], dtype=object).T, strict=True)
    ]
    opened = seen.closed.content
    assert [int(k) for k in opened.total] == expected and opened.parts == len(seen.noise) == senders
    np.testing.assert_array_equal(release.value, np.array(expected, dtype=float) * fine.units)
    assert {message.bytes for message in run.channel.messages if message.name == "sum"} == {size * (16 if wide else 8)}
    # Replays and audits read the integers without the noise.
    bare = seen.closed.decrypt(opened, seen.noise).value
    np.testing.assert_allclose(bare, integers.sum(axis=0) * total.units, rtol=1e-15)
    # Without contents that anybody sees, masks are left away: the sum is the same.
    quiet = start(integers, record=False)
    if case % 4:
        assert np.array_equal(observed(quiet, total, mu, colluders, most * senders)[0][0].value, release.value)


def test_any_words_but_those_of_all_are_uniform():
    """Bytes of 6,000 words of each of three senders, of their pairs' sums too: chi-square, p > 1e-4."""
    run = start(np.zeros((3, 6000), dtype=np.int64))
    observed(run, total_of(6000, 1), 1.0, 1, 1)
    words = [value.content for message, value in run.channel.view("server") if message.name == "sum"]
    assert {value.scheme for m, value in run.channel.view("server") if m.name == "sum"} == {SCHEME}
    for one in (*words, words[0] + words[1], words[1] + words[2], words[0] - words[2]):
        counts = np.bincount(one.view(np.uint8), minlength=256)
        assert chi2(255).sf(np.sum((counts - one.nbytes / 256) ** 2) / (one.nbytes / 256)) > 1e-4
    noise = words[0] + words[1] + words[2]
    assert np.std(noise.view(np.int64)) < 100


def test_two_sums_of_a_run_share_no_mask_and_a_name_serves_once():
    run = start(np.zeros((2, 50), dtype=np.int64))
    observed(run, total_of(50, 1), 1.0, 1, 1, names=("one", "two"))
    one, two = ([v.content for m, v in run.channel.view("server") if m.name == name] for name in ("one", "two"))
    assert len(np.unique(one[0] - two[0])) == 50 and np.min((one[0] - two[0]).view(np.int64) ** 2.0) > 1e12
    with pytest.raises(ValueError, match="name='one' was masked before in this run"):
        program(start(np.zeros((2, 1), dtype=np.int64)), total_of(1, 1), 1.0, 1, 1, names=("one", "one"))


@pytest.mark.parametrize(("senders", "colluders", "honest"), [(3, 1, 2), (10, 1, 9), (5, 3, 2), (1, 1, 1), (4, 9, 1)])
def test_the_noise_has_the_deviation_of_all_shares_and_the_row_states_the_honest_ones(senders, colluders, honest):
    """40,000 errors: their deviation over sigma sqrt(K / (K - t)) lies in [.98, 1.02]."""
    total, mu = total_of(40_000, 9 * 4**20), 0.7
    run = start(np.zeros((senders, 40_000), dtype=np.int64), record=False)
    (release,), _ = observed(run, total, mu, colluders, 1)
    sigma = total.certificate.value / mu
    assert 0.98 < np.std(release.value) / (sigma * np.sqrt(senders / honest)) < 1.02
    event = release.event
    assert event in run.channel.ledger.rows and (event.owner, event.mu, event.exact) == (SEVERAL, mu, True)
    assert set(event.weights.values()) == {Fraction(1, honest)} and event.colluders == senders - honest
    assert event.tv == (TOTAL_VARIATION if senders > 1 else 0.0) and event.sampler == "simulation"


def test_no_secret_is_in_what_crosses():
    """Secret keys and keys of pairs of a run with real keys, searched in all bytes."""
    drawn = list[bytes]()

    class Watched(SecureStreams):
        def __call__(self, *names):
            source = super().__call__(*names)
            if names[0] != "secret key":
                return source
            fixed = bytes(sum(map(ord, "".join(map(str, names)))) % 200 + k for k in range(32))
            drawn.append(fixed)
            return SimpleWords(fixed)

    class SimpleWords(type(SecureStreams(1)("x"))):
        def __init__(self, fixed):
            super().__init__()
            self.fixed = fixed

        __slots__ = ("fixed",)

        def _words(self, n):
            return np.frombuffer(bytearray(self.fixed), dtype=np.uint64)[:n]

    run, keys = start(np.ones((3, 5), dtype=np.int64), Watched(3)), list[bytes]()

    def fit(run):
        made = agree_on_keys(run, run.parties, "server")
        keys.extend(key for own in by_place(made.keys).values() for key in own.values())
        total = total_of(5, 1)
        own = run.each(run.parties, local_statistic, total)
        return noisy_sum(run, made, "sum", own, total, 1.0, colluders=1, largest=15)

    simulate(fit, run)
    seen = b"".join(
        (value if isinstance(value, np.ndarray) else value.content).tobytes()
        for _, value in run.channel.view(*run.names)
    )
    assert len(drawn) == 3 and len(set(keys)) == 3 and len(seen) > 3 * 2048
    assert not any(secret in seen for secret in (*drawn, *keys))


def test_words_hold_integers_of_both_signs():
    integers = np.array([0, 1, -1, 2**62, -(2**62), 2**63 - 1, -(2**63)], dtype=object)
    assert decode_integers(encode_integers(integers, 64)).tolist() == list(integers)
    wide = np.array([*integers, 2**100, -(2**100), 2**127 - 1, -(2**127)], dtype=object)
    assert decode_integers(encode_integers(wide, 128)).tolist() == list(wide)


class Book:
    """A payer that keeps what it was asked for."""

    def __init__(self):
        self.paid = []

    def charge(self, *events):
        self.paid += events


@pytest.mark.parametrize("how", [simulate, checked])
def test_in_one_process_the_sum_is_paid_once_and_before_its_shares(how):
    run, book = start(np.ones((3, 4), dtype=np.int64)), Book()
    run.charge_to(book)

    def fit(run):
        (release,) = program(run, total_of(4, 1), 1.0, 1, 12)
        return run.assemble(lambda release: release.event, release)

    if how is checked:
        from partywise.federation.place_checks import PlacedRun

        placed = PlacedRun(start(np.ones((3, 4), dtype=np.int64)))
        placed.charge_to(book)
        event = fit(placed)
    else:
        event = simulate(fit, run)
    assert book.paid == [event]


def test_a_share_of_a_sum_that_was_not_announced_is_not_drawn(monkeypatch):
    run, book = start(np.ones((3, 4), dtype=np.int64)), Book()
    run.charge_to(book)
    monkeypatch.setattr(type(run), "charge", lambda self, holders, *events: None)
    with pytest.raises(CertificationError, match="the sum 'sum' was not announced: no owner has paid"):
        simulate(lambda run: program(run, total_of(4, 1), 1.0, 1, 12), run)
    assert not book.paid and not [m for m in run.channel.messages if m.name == "sum"]


def test_statistics_of_another_form_and_narrow_shares_are_refused(monkeypatch):
    total, run = total_of(4, 1), start(np.ones((2, 4), dtype=np.int64))
    shares = NoiseShares(total, 1.0, ("clinic 0", "clinic 1"), 1)
    event, rng = shares.event("sum", ("*",), "simulation", ""), run.rng_for("a")
    for other in (total_of(4, 2), total_of(3, 1), replace(total, parents=("radius",)), total.finer(1)):
        with pytest.raises(CertificationError, match="not the public ones of the sum"):
            shares.draw(other, event, rng)
    with pytest.raises(CertificationError, match="is not what draws its noise"):
        shares.draw(total, event, SecureStreams(1)("a"))
    monkeypatch.setattr(NoiseShares, "bits", 0)
    with pytest.raises(ValueError, match=r"shares of 1\.0 steps are not Gaussian enough"):
        replace(shares).draw(total, event, rng)


def test_nothing_is_really_released_without_noise_or_against_no_colluder():
    total, owners = total_of(4, 1), ("a", "b")
    for shares in (NoiseShares(total, np.inf, owners, 1), NoiseShares(total, 1.0, owners, 0)):
        shares.event("sum", ("*",), "simulation", "")
        with pytest.raises(CertificationError, match="what is really released needs noise"):
            shares.event("sum", ("*",), "secure", "")
    NoiseShares(total, 1.0, owners[:1], 0).event("sum", ("*",), "secure", "")
    for wrong in ({"mu": 0.0}, {"owners": ()}, {"owners": ("a", "a")}, {"colluders": 2}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            NoiseShares(**{"total": total, "mu": 1.0, "owners": owners, "colluders": 1} | wrong)


def values(release):
    return release.value


def fit(run):
    (release,) = program(run, total_of(4, 1), 1.0, 1, 12)
    return run.assemble(values, release)


@pytest.mark.parametrize(("noise", "factors"), [("central", [1, 1]), ("shared", [4 / 3, 4]), ("local", [4, 4])])
def test_noise_of_a_sum_by_where_it_is_drawn(noise, factors):
    """Of four clients one may collude, or all others."""
    assert [noise_factor(noise, 4, colluders) for colluders in (1, 9)] == factors


def test_one_process_a_place_does_the_same():
    in_all_ways(fit, lambda: start(np.arange(12).reshape(3, 4)))


def fit_big(run):
    (release,) = program(run, total_of(4, 1), 1.0, 1, 2**50)
    return run.assemble(values, release)


def test_parties_of_their_own_agree_on_real_keys_and_each_pays_once_before_its_words_leave():
    big = 2**40 * np.arange(12).reshape(3, 4)
    runs = {name: start(big, SecureStreams(5)) for name in ("clinic 0", "clinic 1", "clinic 2", "server")}
    notes = {name: Notes(name) for name in runs}
    found = threads(fit_big, runs, connected(tuple(runs)), account=notes)
    assert not [error for error in found.values() if isinstance(error, BaseException)]
    # Noise of some steps beside 2^40.
    np.testing.assert_allclose(estimate_of(list(found.values())), big.sum(axis=0) * STEP, rtol=1e-9, atol=100)
    for name, own in notes.items():
        assert [event.release_id for event in own.paid] == ([] if name == "server" else ["sum"])
        kinds = [(type(row).__name__, getattr(row, "name", "")) for row in own.rows]
        # The row stands in every account, the server's as well, before anything that depends on data leaves.
        assert kinds.index(("ReservedRow", "")) < next(k for k, row in enumerate(kinds) if row[1] == "sum")
        assert next(row.event for row in own.rows if isinstance(row, ReservedRow)).sampler == "secure"


def test_processes_whose_keys_are_changed_in_the_middle_end_before_a_word_leaves(monkeypatch):
    """The server hands on a point that everybody knows in the place of a key."""

    def meddled(*given):
        rows = np.stack(given[-1]).copy()
        rows[1, :32] = 0
        return Public(rows, because="a test")

    monkeypatch.setattr(pair_keys, "collected_keys", meddled)
    runs = {
        name: start(np.ones((3, 4), dtype=np.int64), SecureStreams(5))
        for name in ("clinic 0", "clinic 1", "clinic 2", "server")
    }
    notes = {name: Notes(name) for name in runs}
    found = threads(fit, runs, connected(tuple(runs)), account=notes)
    assert all(isinstance(error, PartyError) for error in found.values())
    assert "point of low order" in str(found["clinic 0"])
    assert not [row for own in notes.values() for row in own.rows if getattr(row, "name", "") == "sum"]
    assert not any(own.paid for own in notes.values())
