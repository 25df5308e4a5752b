"""Polynomials of shared vectors: those of the plain vector, in every mode."""

from __future__ import annotations

import numpy as np
import pytest

from forked import in_all_ways
from partywise.federation.cipher import Cipher
from partywise.federation.exchanges.cross_product import private, product, reveal, send_masked
from partywise.federation.exchanges.dealing import dealing
from partywise.federation.exchanges.polynomials import polynomials, shared_between
from partywise.federation.exchanges.residues import ring_for
from partywise.federation.run import simulate
from products_driver import N, a_run, blocks, parts

LOW, HIGH = 20, 220
# Of degree 9 and of degree 2, in the same shares of powers.
COEFFICIENTS = (np.array([0.5, 0.3, 0.0, -0.02, 0.1, 0.0, 0.0, 0.01, 0.0, -0.004]), np.array([1.0, 0.0, -2.0]))


def local_first(party) -> np.ndarray:
    return party.block["X"][:, :1]


def program(run):
    """p(u) and p'(u) summed at the analyst, u the sum of one column of each of three parties, of which two hold it."""
    dealt = dealing(run, run.parties, ring_for(1e9, HIGH))
    own = [private(run, dealt, party, run.at(party, local_first), (N, 1), LOW) for party in run.parties]
    holders = run.parties[:2]
    third = shared_between(run, dealt, own[2], holders, "third column")
    u = (own[0] + own[1] + third).evaluate(run, LOW)
    u = send_masked(run, dealt, u, "u", holders)
    both = polynomials(run, dealt, u, COEFFICIENTS, "p", HIGH, slopes=True)
    sums = [opened_sum(run, dealt, value, f"sum {k}") for k, value in enumerate(both)]
    assert dealt.products == 8 * N + 4 * N
    return run.assemble(np.array, sums)


def opened_sum(run, dealt, value, name):
    """By way of a product with ones, which hides the shares."""
    ones = private(run, dealt, run.parties[2], run.at(run.parties[2], local_ones), (N, 1), 0)
    ones, value = (
        send_masked(run, dealt, ones, f"ones {name}", run.parties),
        send_masked(run, dealt, value, name, run.parties),
    )
    return reveal(run, product(run, dealt, ones, value, f"product {name}"), "analyst", name, parts(run))


def local_ones(party) -> np.ndarray:
    return np.ones((N, 1))


def expected(X: np.ndarray) -> list[float]:
    """In integers, as the vector and the coefficients are rounded."""
    u = [sum(int(v) for v in np.rint(row * 2.0**LOW)) for row in X[:, [0, 2, 3]]]
    steps = [[round(np.ldexp(c, HIGH - k * LOW)) for k, c in enumerate(one)] for one in COEFFICIENTS]
    values = [sum(c * v**k for v in u for k, c in enumerate(one)) / 2**HIGH for one in steps]
    slopes = [sum(k * c * v ** (k - 1) for v in u for k, c in enumerate(one) if k) for one in steps]
    return [*values, *(slope / 2 ** (HIGH - LOW) for slope in slopes)]


def test_polynomials_are_those_of_the_plain_vector():
    X = blocks()
    np.testing.assert_allclose(simulate(program, a_run(X)).ravel(), expected(X), rtol=1e-14)


def test_chunks_of_records_give_the_same_shares(monkeypatch):
    runs = [a_run(blocks()) for _ in range(2)]
    one = simulate(program, runs[0])
    monkeypatch.setattr("partywise.federation.exchanges.polynomials.CHUNK", 7)
    np.testing.assert_array_equal(simulate(program, runs[1]), one)
    first, second = (run.channel.view(*run.channel.names) for run in runs)
    for (_, a), (_, b) in zip(first, second, strict=True):
        assert np.array_equal(*(v.content if isinstance(v, Cipher) else v for v in (a, b)))


def test_same_transcript_in_every_mode():
    in_all_ways(program, lambda: a_run(blocks()))


def test_no_record_crosses_open():
    run = a_run(blocks())
    simulate(program, run)
    for message, value in run.channel.view(*run.channel.names):
        if max(message.shape, default=0) >= N:
            assert isinstance(value, Cipher)


def test_too_few_bits_and_wrong_owners_are_refused():
    run = a_run(blocks())
    dealt = dealing(run, run.parties, ring_for(1e9, HIGH))
    own = private(run, dealt, run.parties[0], run.at(run.parties[0], local_first), (N, 1), LOW)
    with pytest.raises(ValueError, match="bits=40"):
        polynomials(run, dealt, send_masked(run, dealt, own, "u", run.parties), COEFFICIENTS, "p", 40)
    with pytest.raises(ValueError, match="not one other party's"):
        shared_between(run, dealt, own, run.parties[:2], "u again")
