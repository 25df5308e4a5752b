"""Noisy sums of products of columns of several parties: exact but for the dealer's noise, and nothing else leaves."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from forked import in_all_ways
from partywise.core.randomness import Streams, stream
from partywise.federation.cipher import Cipher
from partywise.federation.exchanges.column_sums.layout import CONSTANT, SumGroup, SumLayout
from partywise.federation.exchanges.column_sums.noisy_moments import noisy_moments
from partywise.federation.exchanges.column_sums.openings import Chunk, NoisySum
from partywise.federation.exchanges.sharing import DEALER
from partywise.federation.parties import Party
from partywise.federation.payloads import content_of
from partywise.federation.run import Run, simulate
from partywise.federation.secure_streams import SecureStreams
from partywise.privacy.mechanisms.random import SecureRandom, words_of
from partywise.privacy.secure.wide import draw_wide_integers
from partywise.privacy.statistics.whole import whole

N = 40
# The second party has the first column: blocks lie in another order than their numbers.
GROUPS = ((2, 1), (0,), (3, 4, 5))
ROWS = (slice(0, 15), slice(15, N))
NAMES = tuple(f"{part} of chunk {c}" for c in range(2) for part in ("products", "means"))


def part(pairs) -> SumGroup:
    first, second = np.array(pairs).T
    return SumGroup(first, second)


# The last party's last column is multiplied with others only.
PRODUCTS = [(i, j) for i in range(6) for j in range(i, 6) if (i, j) != (5, 5)]
PARTS = (part(PRODUCTS), part([(CONSTANT, j) for j in range(5)]))
# Every sum moves by 2 ** 20 steps at most, says the test.
SQUARES, STEP = 4**20, 2.0**-19


def a_run(X: np.ndarray, rng_for=None, mu: float = np.inf) -> Run:
    roles = ("active", "passive", "passive")
    parties = [Party(f"p{k}", roles[k], {"X": X[:, list(group)]}, group) for k, group in enumerate(GROUPS)]
    return Run(
        parties,
        epsilon=mu,
        fold=None,
        rng_for=rng_for or Streams(3, "exchange"),
        spec=SimpleNamespace(),
        extra=("analyst", DEALER),
        record=True,
    )


def local_block(party: Party) -> np.ndarray:
    return party.block["X"]


def as_made(releases) -> tuple:
    return releases


def fit(run: Run):
    """All releases at the first party; ``epsilon`` of the run is the Gaussian-DP parameter of every draw."""
    chunks, names = [], iter(NAMES)
    for c, rows in enumerate(ROWS):
        told = {"source": "a test", "depends_on": ("features",), "stratum": f"c/{c}"}
        totals = [whole(np.zeros(len(one.first), dtype=int), SQUARES, STEP, **told) for one in PARTS]
        chunks.append(Chunk(rows, tuple(NoisySum(next(names), total, run.epsilon) for total in totals)))
    layout = SumLayout(tuple(party.name for party in run.parties), GROUPS, PARTS)
    made = noisy_moments(run, run.each(run.parties, local_block), chunks, layout, "analyst")
    return run.gather(("analyst",), run.parties[0], lambda _: NAMES, as_made, made)


def integers(seed: int = 1) -> np.ndarray:
    """Records in whole steps."""
    return np.rint(stream(seed, "noisy moments").standard_normal((N, 6)) * 2.0**12).astype(np.int64)


def expected(X: np.ndarray) -> list[np.ndarray]:
    found = []
    for rows in ROWS:
        square, means = X[rows].T @ X[rows], X[rows].sum(axis=0)
        found += [np.array([square[i, j] for i, j in PRODUCTS]) * STEP, means[:5] * STEP]
    return found


def test_sums_without_noise_are_exact():
    (values,) = simulate(fit, a_run(integers()))
    for value, exact in zip(values, expected(integers()), strict=True):
        np.testing.assert_array_equal(value, exact)


def test_every_mode_gives_the_same_sums_and_messages():
    in_all_ways(fit, lambda: a_run(integers(), mu=0.5))


def test_noise_is_drawn_by_address_and_is_in_every_sum():
    (values,) = simulate(fit, a_run(integers(), mu=0.5))
    for name, value, exact in zip(NAMES, values, expected(integers()), strict=True):
        words = words_of(Streams(3, "exchange")("noise of products", name, DEALER))
        drawn = draw_wide_integers(words, 2.0**20 / 0.5, len(exact))
        np.testing.assert_array_equal(value - exact, STEP * drawn)


def test_a_release_per_draw_is_charged_to_every_view():
    run = a_run(integers(), mu=0.5)
    simulate(fit, run)
    ledger = run.channel.ledger
    assert [event.release_id for event in ledger.rows if event.mechanism != "cipher"] == list(NAMES)
    totals = [ledger.total((name,), "features", 1e-5) for name in run.channel.names if name != DEALER]
    # Chunks are disjoint, so a record pays for the two releases of its own.
    assert {total.mu_total for total in totals} == {np.sqrt(0.5)}
    assert {total.trust_model for total in totals} == {"distributed"}
    # The dealer knows the noise, and the masks.
    assert ledger.total(DEALER, "features", 1e-5).epsilon_certified == np.inf
    worst = ledger.worst_total(run.channel.names, "features", 1e-5)
    assert (worst.mu_total, worst.trust) == (np.sqrt(0.5), "dealer does not collude")


def test_before_the_releases_everything_is_closed():
    run = a_run(integers(), mu=0.5)
    simulate(fit, run)
    kinds = [(message.kind, message.receiver) for message in run.channel.messages]
    assert kinds[-len(NAMES) :] == [("release", "p0")] * len(NAMES)
    assert {kind for kind, _ in kinds[: -len(NAMES)]} == {"cipher"}
    assert all(isinstance(value, Cipher) for _, value in run.channel.view("analyst"))


def test_no_share_alone_tells_anything():
    """Records move every share by a constant that the dealer's uniform numbers hide: over dealers they look alike."""
    one, other = (
        [content_of(v) for m, v in view if m.name == "shares of sums"]
        for view in (view_of_the_analyst(integers(), 1), view_of_the_analyst(9 * integers(2), 2))
    )
    for first, second in zip(one, other, strict=True):
        for shares in (first, second):
            # Around 0, uniform on +-2^19: deviation 2^20 / sqrt(12).
            assert abs(shares.std() / (2.0**20 / np.sqrt(12)) - 1) < 6 * 0.45 / np.sqrt(shares.size)


def view_of_the_analyst(X: np.ndarray, seed: int):
    run = a_run(X, Streams(seed, "exchange"))
    simulate(fit, run)
    return run.channel.view("analyst")


def test_the_view_of_the_analyst_is_a_function_of_the_noisy_sums():
    """Other records with the same sums, and other shares of everything: the analyst gets the same totals only."""
    X = integers()
    moved = np.concatenate([X[rows][::-1] for rows in ROWS])
    (one,), (other,) = simulate(fit, a_run(X, mu=0.5)), simulate(fit, a_run(moved, mu=0.5))
    for first, second in zip(one, other, strict=True):
        np.testing.assert_array_equal(first, second)


def test_what_is_not_asked_for_leaves_nobody():
    sizes = {(m.sender, m.name): m.shape for m in messages()}
    own = {"p0": 3 + 2, "p1": 1 + 1, "p2": 5 + 2}
    across = {"p0": 2 * 4, "p1": 1 * 5, "p2": 3 * 3}
    for name in own:
        assert sizes[name, "shares of sums"][1:] == (2, own[name] + across[name])
    assert sizes[DEALER, "share of the noise"][1:] == (2, sum(own.values()))


def messages():
    run = a_run(integers())
    simulate(fit, run)
    return run.channel.messages


def test_secure_streams_draw_masks_and_noise_from_the_system():
    (one,), (other,) = (simulate(fit, a_run(integers(), SecureStreams(3), mu=0.5)) for _ in range(2))
    assert not np.array_equal(one[0], other[0])
    run = a_run(integers(), SecureStreams(3), mu=0.5)
    simulate(fit, run)
    assert {event.sampler for event in run.channel.ledger.rows if event.profile is not None} == {"secure"}
    assert isinstance(SecureStreams(3)("noise", 0, 0), SecureRandom)
