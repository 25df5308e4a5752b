"""Additive shares over Z_2^64 against Python's integers; what leaves a place says nothing about what is shared."""

from __future__ import annotations

import numpy as np
import pytest

from error_rates import ALPHA
from forked import checked, forked
from partywise.core.randomness import stream
from partywise.federation.exchanges.sharing import (
    DEALER,
    decode_words,
    encode_words,
    multiply_words,
    share_words,
    split,
)
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.privacy.mechanisms.random import SecureRandom

N = 40


def run(parties: int, x: np.ndarray | None = None, seed: int = 0) -> Run:
    rng = stream(7, "words", parties)
    blocks = [{"w": rng.integers(0, 2**64, (2, N), dtype=np.uint64)} for _ in range(parties)]
    if x is not None:
        blocks = [{"w": x} for _ in range(parties)]
    holders = [Party(f"p{k}", "passive", block, (k,)) for k, block in enumerate(blocks)]
    return Run(
        holders,
        epsilon=1.0,
        fold=None,
        rng_for=lambda *names: stream(8, seed, *names),
        spec=None,
        extra=(DEALER,),
        record=True,
    )


def local_words(party):
    return party.block["w"]


def opened(*shares):
    """Sums of the shares of all holders, which only the driver of a test can form."""
    return [sum(each.values(), np.uint64(0)) for each in shares]


def sums_and_products(run):
    """(x + y + ..., x y) of the words of all parties, and of the first and the last."""
    parts = [
        share_words(run, party, run.parties, f"words of {party.name}", run.at(party, local_words), run.rng_for)
        for party in run.parties
    ]
    total = run.each(run.parties, lambda holder, words: sum(words, np.uint64(0)), parts)
    product = multiply_words(run, run.parties, "first by last", parts[0], parts[-1], (2, N), run.rng_for)
    twice = multiply_words(run, run.parties, "by first again", product, parts[0], (2, N), run.rng_for)
    return run.assemble(opened, total, product, twice)


@pytest.mark.parametrize("parties", [2, 3, 5])
@pytest.mark.parametrize("mode", [simulate, checked, forked], ids=["plain", "checking", "processes"])
def test_sums_and_products_are_those_of_pythons_integers(mode, parties):
    one = run(parties)
    words = [party.block["w"].ravel().tolist() for party in one.parties]
    total, product, twice = (found.ravel().tolist() for found in mode(sums_and_products, one))
    assert total == [sum(column) % 2**64 for column in zip(*words, strict=True)]
    assert product == [x * y % 2**64 for x, y in zip(words[0], words[-1], strict=True)]
    assert twice == [x * y * x % 2**64 for x, y in zip(words[0], words[-1], strict=True)]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_shares_add_up_and_all_but_the_first_know_nothing_of_the_value(count):
    words = stream(9, "words").integers(0, 2**64, (3, 4), dtype=np.uint64)
    shares = split(words, count, stream(9, "shares"))
    assert [sum(column) % 2**64 for column in zip(*(s.ravel().tolist() for s in shares), strict=True)] == (
        words.ravel().tolist()
    )
    others = split(words + np.uint64(5), count, stream(9, "shares"))
    assert all(np.array_equal(a, b) for a, b in zip(shares[1:], others[1:], strict=True))
    assert np.array_equal(others[0] - shares[0], np.full((3, 4), 5))


def test_real_shares_come_from_the_system():
    words = np.arange(12, dtype=np.uint64).reshape(3, 4)
    one, two = (split(words, 3, SecureRandom()) for _ in range(2))
    for shares in (one, two):
        assert np.array_equal(sum(shares, np.uint64(0)), words)
    assert all((a != b).all() for a, b in zip(one, two, strict=True))


def received(one: Run, *names: str) -> list[tuple[str, np.ndarray]]:
    return [(m.name, value.content) for m, value in one.channel.view(*names)]


def test_messages_are_closed_uniform_and_of_the_stated_size():
    runs = [run(2, np.full((2, N), value, dtype=np.uint64)) for value in (0, 2**63 + 11)]
    for one in runs:
        simulate(sums_and_products, one)
        assert {(m.kind, m.argument) for m in one.channel.messages} == {("cipher", "key: no single party")}
        assert {(row.owner, row.key_holders) for row in one.channel.ledger.rows} >= {("p0", ("p0", "p1"))}
        assert one.channel.ledger.worst_total(one.names, "features", 1e-5).epsilon_certified == 0
        assert not one.channel.view(DEALER)
    low, high = (received(one, "p1") for one in runs)
    # Shares and triples are the same words whatever is shared; the differences move with what they hide.
    for (name, first), (_, second) in zip(low, high, strict=True):
        assert np.array_equal(first, second) != name.startswith("differences")
    names = [name for name, _ in low]
    assert names == [
        "words of p0",
        "triples: first by last",
        "differences: first by last",
        "triples: by first again",
        "differences: by first again",
    ]
    sizes = [content.nbytes for _, content in low]
    assert sizes == [16 * N, 48 * N, 32 * N, 48 * N, 32 * N]


def test_opened_differences_are_uniform_bits():
    """Of two zeros, over all 64 bits: a mask that is missing, or short, is caught."""
    words = np.concatenate([_differences(seed) for seed in range(40)])
    ones = np.unpackbits(words.view(np.uint8)).reshape(len(words), 64).sum(axis=0)
    limit = np.sqrt(len(words) * np.log(2 * 64 / ALPHA) / 2)
    assert np.abs(ones - len(words) / 2).max() < limit
    missing = np.abs(np.zeros(64) - len(words) / 2).max()
    assert missing > limit


def _differences(seed: int) -> np.ndarray:
    one = run(2, np.zeros((2, N), dtype=np.uint64), seed)
    simulate(sums_and_products, one)
    sent = [value.content for m, value in one.channel.view("p0", "p1") if m.name == "differences: first by last"]
    assert len(sent) == 2
    return sum(sent).ravel()


def test_numbers_pass_words_and_come_back():
    values = np.array([0.0, -0.5, 1.25, -(2.0**30), 2.0**31 - 2.0**-20])
    assert np.array_equal(decode_words(encode_words(values, 32), 32), values)
    assert np.abs(decode_words(encode_words([0.1, -0.3], 32), 32) - [0.1, -0.3]).max() <= 2.0**-33
    for bad in (2.0**31, -(2.0**31) - 1, np.inf, np.nan):
        with pytest.raises(OverflowError, match="do not fit words with bits=32"):
            encode_words([bad], 32)
