"""Noisy sums of products of columns of several parties without a dealer: exact but for noise nobody knows all of."""

from __future__ import annotations

import time
from collections import defaultdict
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from error_rates import accepts_sigma
from forked import in_all_ways
from partywise.core.randomness import Streams, stream
from partywise.federation.cipher import Cipher
from partywise.federation.exchanges.column_sums import openings
from partywise.federation.exchanges.column_sums.layout import CONSTANT, SumGroup, SumLayout
from partywise.federation.exchanges.column_sums.openings import Chunk, NoisySum
from partywise.federation.exchanges.homomorphic.column_products import LARGEST
from partywise.federation.exchanges.private_products import Encryption, private_products
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.federation.secure_streams import SecureStreams
from partywise.privacy.mechanisms.noise_shares import NoiseShares
from partywise.privacy.mechanisms.random import SecureRandom
from partywise.privacy.mechanisms.release import OBSERVER
from partywise.privacy.statistics.whole import whole

# The second party has the first column: blocks lie in another order than their numbers.
GROUPS = ((2, 1), (0,), (3, 4, 5))
# D2 of sums that are certified by hand: noise of 2^20 steps at mu = 1/2.
SQUARES = Fraction(2**38)


def layout_of(groups) -> SumLayout:
    """All products, and in a second part the sums of all columns."""
    size = sum(map(len, groups))
    first, second = np.triu_indices(size)
    parts = (first, second), (np.full(size, CONSTANT), np.arange(size))
    names = tuple(f"p{k}" for k in range(len(groups)))
    return SumLayout(names, tuple(groups), tuple(SumGroup(*part) for part in parts))


def a_run(X, groups=GROUPS, rng_for=None, mu=0.5, kind="sized", rows=None, key_size=512) -> Run:
    parties = [
        Party(f"p{k}", "passive" if k else "active", {"X": X[:, list(group)]}, group) for k, group in enumerate(groups)
    ]
    spec = SimpleNamespace(kind=kind, rows=rows or (slice(0, len(X)),), key_size=key_size)
    rng_for = rng_for or Streams(3, "products")
    return Run(parties, epsilon=mu, fold=None, rng_for=rng_for, spec=spec, extra=("analyst",), record=True)


def local_block(party: Party) -> np.ndarray:
    return party.block["X"]


def as_made(releases) -> tuple:
    return releases


def fit(run: Run):
    """All releases at the first party; ``epsilon`` of the run is the Gaussian-DP parameter of every one."""
    layout, chunks = layout_of([party.columns for party in run.parties]), []
    for c, rows in enumerate(run.spec.rows):
        sums = []
        for part, name in zip(layout.parts, ("products", "sums"), strict=True):
            total = whole(np.zeros(len(part.first), dtype=np.int64), SQUARES, 1.0, "a test", stratum=f"c/{c}")
            sums.append(NoisySum(f"{name} of chunk {c}", total, run.epsilon))
        chunks.append(Chunk(rows, tuple(sums)))
    names = [one.name for chunk in chunks for one in chunk.sums]
    columns, encryption = run.each(run.parties, local_block), Encryption(run.spec.kind, run.spec.key_size)
    made = private_products(run, encryption, columns, chunks, layout, "analyst")
    return run.gather(("analyst",), run.parties[0], lambda _: tuple(names), as_made, made)


def extreme(n: int, p: int, seed: int = 1) -> np.ndarray:
    """Values among +-2^15, 0 and 1."""
    return stream(seed, "extreme", n, p).choice(np.array([-LARGEST, LARGEST, 0, 1]), (n, p))


def expected(X: np.ndarray, rows=None) -> list[np.ndarray]:
    found = []
    for part in rows or (slice(0, len(X)),):
        inside = X[part]
        found += [(inside.T @ inside)[np.triu_indices(X.shape[1])], inside.sum(axis=0)]
    return found


class Keys:
    """An observer that only keeps the noise of every party."""

    def __init__(self) -> None:
        self.noise = defaultdict(list)

    def add_key(self, key) -> None:
        if hasattr(key, "integers"):
            self.noise[key.name].append(key.integers)

    def draw(self, bounded, mechanism, owner, draw, rng=None):
        return draw()

    def add_event(self, event) -> None:
        pass


def with_noise(run: Run):
    """What a run releases, and by the name of the release the noise that each party drew."""
    observer = Keys()
    token = OBSERVER.set(observer)
    try:
        (values,) = simulate(fit, run)
    finally:
        OBSERVER.reset(token)
    return values, observer.noise


@pytest.mark.parametrize(
    ("n", "groups"),
    [
        (1, ((0,), (1,))),
        (1, GROUPS),
        (2, (tuple(range(14)), (14,), (15, 16, 17))),
        (3, ((0,), tuple(range(1, 15)))),
        (50, GROUPS),
        (50, ((4, 2, 0), (1, 3))),
    ],
)
@pytest.mark.parametrize("kind", ["paillier", "sized"])
def test_sums_are_exact_but_for_the_noise_of_both_parties(kind, n, groups):
    X = extreme(n, sum(map(len, groups)))
    values, noise = with_noise(a_run(X, groups, kind=kind))
    for value, exact, (name, drawn) in zip(values, expected(X), noise.items(), strict=True):
        assert len(drawn) == len(groups), name
        np.testing.assert_array_equal(value, exact + sum(drawn))


def test_two_thousand_records_take_two_seconds():
    X = extreme(2_000, 10)
    run = a_run(X, ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9)), kind="paillier", key_size=2048)
    start = time.process_time()
    values, noise = with_noise(run)
    seconds = time.process_time() - start
    for value, exact, drawn in zip(values, expected(X), noise.values(), strict=True):
        np.testing.assert_array_equal(value, exact + sum(drawn))
    # The key is drawn once a run, in another half second or so of its own.
    assert seconds <= 2 + 2


def test_every_party_of_a_sum_adds_noise_of_the_full_variance_and_nobody_else_does():
    groups = tuple(range(10)), tuple(range(10, 16)), tuple(range(16, 20))
    X, layout = np.zeros((2, 20), dtype=np.int64), layout_of(groups)
    held = [np.split(layout.is_held(place), [210]) for place in range(3)]
    drawn = []
    for seed in range(40):
        _, noise = with_noise(a_run(X, groups, rng_for=Streams(seed, "noise")))
        for number, parts in enumerate(noise.values()):
            for place, one in enumerate(parts):
                assert not one[~held[place][number]].any()
                drawn.append(one[held[place][number]])
    drawn = np.concatenate(drawn) / (2 * float(SQUARES) ** 0.5)
    assert accepts_sigma(drawn, 1.0) and not accepts_sigma(drawn, 1.05) and not accepts_sigma(drawn, 0.95)


@pytest.mark.parametrize("kind", ["paillier", "sized"])
def test_every_mode_gives_the_same_sums_and_messages(kind):
    in_all_ways(fit, lambda: a_run(extreme(8, 6), kind=kind, rows=(slice(0, 3), slice(3, 8))))


def test_chunks_are_summed_apart():
    X, rows = extreme(40, 6), (slice(0, 15), slice(15, 40))
    (values,) = simulate(fit, a_run(X, rows=rows, mu=np.inf))
    for value, exact in zip(values, expected(X, rows), strict=True):
        np.testing.assert_array_equal(value, exact)


def test_the_two_kinds_send_as_many_bytes_and_release_the_same():
    X, rows = extreme(8, 6), (slice(0, 3), slice(3, 8))
    runs = [a_run(X, kind=kind, rows=rows) for kind in ("paillier", "sized")]
    (one,), (other,) = (simulate(fit, run) for run in runs)
    for first, second in zip(one, other, strict=True):
        np.testing.assert_array_equal(first, second)
    sizes = [[(m.sender, m.receiver, m.name, m.bytes) for m in run.channel.messages] for run in runs]
    assert sizes[0] == sizes[1]
    # Three slots fit into a ciphertext of 128 bytes. p0 closes its columns for p1, p2 its own for both others.
    by_name = defaultdict(int)
    for *_, name, size in sizes[0]:
        by_name[name] += size
    assert by_name["closed columns"] == 8 * 128 * 3 and by_name["masked products"] == 2 * 128 * 4
    # Of every chunk 21 products and 6 sums; 11 products concern two parties, and both send a word.
    assert by_name["noisy words"] == 2 * 8 * (21 + 11 + 6)


def test_every_coalition_pays_what_is_stated():
    run = a_run(extreme(8, 6), rows=(slice(0, 3), slice(3, 8)))
    simulate(fit, run)
    ledger, names = run.channel.ledger, run.channel.names
    rows = [event for event in ledger.rows if event.profile is not None]
    assert [event.owners for event in rows] == [("p0", "p1", "p2")] * 4
    assert all(event.exact and not event.knows and event.audience == ("*",) for event in rows)
    # p0 closes its columns for the one of p1, p2 its own for the two and the one of the others: 1 + 2 + 1 come back.
    assert [event.tv for event in rows] == [11 * 2.0**-120 + 4 * 2.0**-128, 0.0] * 2
    views = [(), ("p0",), ("p1", "p2"), ("analyst", "p0", "p2"), ("analyst",)]
    # Chunks are disjoint, so a record pays for the two releases of its own.
    assert {ledger.total(view, "row", 1e-5).mu_total for view in views} == {np.sqrt(0.5)}
    worst = ledger.worst_total(names, "row", 1e-5)
    assert (worst.mu_total, worst.colluders) == (np.sqrt(0.5), 2)
    assert worst.trust == "encryption under the keys of p0, p1 and p2 holds (a computational assumption)"
    assert worst.epsilon_any == worst.epsilon_certified == pytest.approx(worst.epsilon_public, rel=1e-9)
    # Words of masks hold for groups as they are.
    assert ledger.worst_total(names, "user", 1e-5, rows_per_user=3).mu_total == pytest.approx(3 * np.sqrt(0.5))


def test_large_epsilons_stay_finite_beside_masks():
    """What masks show at their ends adds to delta: e^100 times 1e-35 would be all of it."""
    run = a_run(extreme(8, 6), mu=20.0)
    simulate(fit, run)
    total = run.channel.ledger.worst_total(run.channel.names, "row", 1e-5)
    assert 400 < total.epsilon_certified < np.inf


def test_rows_stand_before_anything_leaves():
    run, before = a_run(extreme(8, 6)), []
    send = run.channel.send

    def watch(*given):
        before.append(len([event for event in run.channel.ledger.rows if event.profile is not None]))
        return send(*given)

    run.channel.send = watch
    simulate(fit, run)
    assert set(before) == {2}


def test_secure_runs_share_no_ciphertext_and_no_word():
    X, seen = extreme(5, 6), []
    for _ in range(2):
        run = a_run(X, rng_for=SecureStreams(3), kind="paillier")
        simulate(fit, run)
        assert {event.sampler for event in run.channel.ledger.rows if event.profile is not None} == {"secure"}
        ciphers = [value for _, value in run.channel.view(*run.channel.names) if isinstance(value, Cipher)]
        words = [np.ascontiguousarray(one.content).reshape(len(one.content), -1) for one in ciphers]
        seen.append({row.tobytes() for rows in words for row in rows})
    assert seen[0] and not seen[0] & seen[1]
    assert isinstance(SecureStreams(3)("noise of products", "products of chunk 0", "p0"), SecureRandom)


def test_no_noise_is_refused_to_secure_streams():
    with pytest.raises(ValueError, match="needs noise"):
        simulate(fit, a_run(extreme(5, 6), rng_for=SecureStreams(3), mu=np.inf))


def test_what_does_not_fit_is_refused_before_anything_leaves(monkeypatch):
    run, made = a_run(extreme(5, 6), mu=2.0**-40), NoisySum
    with pytest.raises(OverflowError, match="64 bits"):
        simulate(fit, run)
    assert not run.channel.messages
    with pytest.raises(ValueError, match="less than 16 steps"):
        simulate(fit, a_run(extreme(5, 6), mu=2.0**16))
    monkeypatch.setitem(fit.__globals__, "NoisySum", lambda name, total, mu: made("one name", total, mu))
    with pytest.raises(ValueError, match="repeat"):
        simulate(fit, a_run(extreme(5, 6)))


def test_without_the_noise_of_one_party_the_other_opens_its_sums(monkeypatch):
    """The opener and one party know its noise: what is left is the noise of the other, or nothing."""

    class Silent(NoiseShares):
        def draw(self, statistic, event, rng, entries=None):
            drawn = super().draw(statistic, event, rng, entries)
            return np.asarray(statistic.integers) if event.release_id.startswith("products") and self.skips else drawn

    X = extreme(5, 2)
    for skips in (False, True):
        Silent.skips = skips
        monkeypatch.setattr(openings, "NoiseShares", Silent)
        (values,) = simulate(fit, a_run(X, ((0,), (1,))))
        assert np.array_equal(values[0], expected(X)[0]) == skips


def test_words_alone_are_uniform_at_the_opener():
    """Products cross under masks of one party in words of two: either alone is uniform over runs."""
    X, shares = extreme(5, 2), []
    for seed in range(300):
        run = a_run(X, ((0,), (1,)), rng_for=Streams(seed, "uniform"))
        simulate(fit, run)
        words = [value.content for m, value in run.channel.view("analyst") if m.name == "noisy words"]
        # Own square, product, and sum of either party.
        shares.append([words[0][1], words[1][0]])
    shares = np.array(shares, dtype=float) * 2.0**-64
    assert np.abs(shares.mean(axis=0) - 1 / 2).max() < 6 * np.sqrt(1 / 12 / 300)
    assert np.abs((shares**2).mean(axis=0) - 1 / 3).max() < 6 * np.sqrt(4 / 45 / 300)


def test_a_column_beyond_its_bound_is_refused():
    with pytest.raises(OverflowError, match="clip records"):
        simulate(fit, a_run(extreme(3, 6) + LARGEST))


def test_the_noise_is_the_same_at_every_mu():
    X, drawn = extreme(5, 6), []
    for mu in (0.5, 0.25):
        values, _ = with_noise(replace_mu(a_run(X), mu))
        drawn.append([(value - exact) * mu for value, exact in zip(values, expected(X), strict=True)])
    for one, other in zip(*drawn, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=2.0)


def replace_mu(run: Run, mu: float) -> Run:
    run.epsilon = mu
    return run
