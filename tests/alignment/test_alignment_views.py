"""What participants of an alignment see: attack A6 from recorded views, orders, and what the ledger says of it."""

from __future__ import annotations

import hmac
import math

import numpy as np
import pytest

from partywise.audits.attacks.messages import attack_ids
from partywise.core.randomness import stream
from partywise.federation.cipher import Cipher
from partywise.federation.exchanges import psi
from partywise.federation.exchanges.common_tokens import local_order
from partywise.federation.run import simulate
from unaligned import rows_and_number, unaligned

EVERYBODY = [f"PATIENT_{number:05d}" for number in range(100_000)]


def drawn(count: int, size: int) -> list[list[str]]:
    """Lists of so many of the first people, each in an order of its own."""
    rng = stream(1, "views", count, size)
    return [[EVERYBODY[place] for place in rng.permutation(size + size // 2)[:size]] for _ in range(count)]


def digests(run, name: str) -> list[np.ndarray]:
    return [value for message, value in run.channel.view(name) if message.name == "digests"]


def hexadecimal(lists: list[np.ndarray]) -> list[str]:
    return [row.tobytes().hex() for rows in lists for row in rows]


def test_a6_the_published_hashes_of_a_hundred_thousand_people_are_read():
    """The whole identifier space of the source's example, from what the analyst received."""
    rng = stream(1, "everybody")
    ids = [[EVERYBODY[place] for place in rng.permutation(len(EVERYBODY))], EVERYBODY[:10]]
    run = unaligned(ids, "sha256")
    _, n = simulate(rows_and_number, run)
    seen = hexadecimal(digests(run, "analyst")[:1])
    assert n == 10 and len(seen) == 100_000
    assert attack_ids(seen, ids[0], EVERYBODY) == 1
    # The example of the source, whose page prints a3f8c9d2e1b7.
    assert seen[ids[0].index("PATIENT_00042")].startswith("a85743c33cea")


def test_a_key_stops_the_analyst_and_not_who_has_it():
    ids = drawn(3, 200)
    run = unaligned(ids, "hmac")
    simulate(rows_and_number, run)
    seen = hexadecimal(digests(run, "analyst"))
    assert len(seen) == 600 and attack_ids(seen, ids[1], EVERYBODY[:300]) == 0
    keys = [value for message, value in run.channel.view("party 2") if message.name == "key of the digests"]
    (key,) = [sealed.decrypt("every party").tobytes() for sealed in keys]

    def keyed(name: str) -> str:
        return hmac.digest(key, name.encode(), "sha256").hex()

    assert attack_ids(seen, ids[1], EVERYBODY[:300], keyed) == 1
    assert not [message for message, _ in run.channel.view("analyst") if message.name == "key of the digests"]
    for party in run.parties:
        assert not digests(run, party.name)


@pytest.mark.parametrize("mode", ["psi", "hmac", "sha256"])
def test_what_is_no_cipher_is_a_list_for_the_analyst_or_its_answer(mode):
    run = unaligned(drawn(3, 30), mode)
    simulate(rows_and_number, run)
    lists = {"digests", "fully blinded list"}
    answers = {"positions of common entries", "number of common entries"}
    for name in run.names:
        for message, value in run.channel.view(name):
            if isinstance(value, Cipher):
                assert name != "analyst" and message.kind == "cipher"
            else:
                assert message.name in (lists if name == "analyst" else answers) and message.argument == "row"
    assert {message.name for message, _ in run.channel.view("dealer")} == {"number of common entries"}


@pytest.mark.parametrize(("mode", "shuffled"), [("hmac", True), ("sha256", False)])
def test_places_in_a_list_tell_nothing_of_the_order_of_records(mode, shuffled):
    """Entry by entry by the key, which the test knows: rank correlation of 2,000, at most 6 standard deviations."""
    ids = drawn(2, 2000)
    run = unaligned(ids, mode)
    simulate(rows_and_number, run)
    key = b""
    for message, value in run.channel.view("party 1"):
        if message.name == "key of the digests":
            key = value.decrypt("every party").tobytes()
    for own, rows in zip(ids, digests(run, "analyst"), strict=True):
        hashed = [hmac.digest(key, name.encode(), "sha256") if key else None for name in own]
        if shuffled:
            place = {digest: k for k, digest in enumerate(hashed)}
            records = np.array([place[row.tobytes()] for row in rows])
        else:
            found = hexadecimal([rows])
            records = np.array([attack_ids([entry], [own[k]], [own[k]]) * k for k, entry in enumerate(found)])
        correlation = np.corrcoef(records, np.arange(2000))[0, 1]
        assert abs(correlation) < 6 / math.sqrt(2000) if shuffled else correlation > 0.999


def test_the_blinded_list_is_in_the_shuffled_order_too():
    """Recomputed from all exponents, which nobody has: the order is drawn for the party, not that of its records."""
    ids = drawn(2, 60)
    run = unaligned(ids, "psi")
    simulate(rows_and_number, run)
    full = [value for message, value in run.channel.view("analyst") if message.name == "fully blinded list"]
    exponents = [psi.local_exponent(party, run.rng_for) for party in run.parties]
    for party, own, rows in zip(run.parties, ids, full, strict=True):
        points = psi.points_of(own)
        for exponent in exponents:
            points = psi.multiply_points(points, exponent, "x")
        order = local_order(party, own, run.rng_for)
        np.testing.assert_array_equal(rows, points[order])
        assert not np.array_equal(order, np.arange(60)) and sorted(order) == list(range(60))


@pytest.mark.parametrize("mode", ["psi", "hmac", "sha256"])
def test_who_takes_part_is_disclosed_and_the_ledger_says_so(mode):
    run = unaligned(drawn(3, 30), mode)
    simulate(rows_and_number, run)
    for name in ("analyst", "party 1", "dealer"):
        assert run.channel.ledger.total(name, "row", 1e-5).epsilon_certified == math.inf
    owners = {row.owner for row in run.channel.ledger.rows}
    assert owners == {party.name for party in run.parties}
