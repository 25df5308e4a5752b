"""Set intersection on edwards25519: its arithmetic, what it refuses, and what each participant can compare."""

from __future__ import annotations

import sys
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from nacl import bindings

from partywise.alignment.identifiers import hash_identifiers
from partywise.audits.attacks.messages import attack_ids
from partywise.core.randomness import stream
from partywise.federation.cipher import Cipher
from partywise.federation.exchanges import psi
from partywise.federation.run import simulate
from unaligned import rows_and_number, unaligned

PEOPLE = [f"PATIENT_{number:05d}" for number in range(90)]
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
# The point (0, -1), of order 2.
TWO_TORSION = (2**255 - 20).to_bytes(32, "little")
IDENTITY = (1).to_bytes(32, "little")


def added_up(point: bytes, times: int) -> bytes:
    """A multiple of a point by doublings and additions."""
    total, power = None, point
    while times:
        if times & 1:
            total = power if total is None else bindings.crypto_core_ed25519_add(total, power)
        power, times = bindings.crypto_core_ed25519_add(power, power), times >> 1
    return total


def entries(*points: bytes) -> np.ndarray:
    return np.frombuffer(b"".join(points), dtype=np.uint8).reshape(-1, 32)


def test_multiples_are_sums_without_clamping():
    """Exponents that clamping would change: small, odd, above 2^252."""
    points = psi.points_of(PEOPLE[:3])
    for exponent in (1, 2, 9, 2**251 + 1, GROUP_ORDER - 1):
        found = psi.multiply_points(points, exponent.to_bytes(32, "little"), "a")
        assert [row.tobytes() for row in found] == [added_up(row.tobytes(), exponent) for row in points]


def test_points_are_distinct_of_the_prime_order_and_tagged():
    points = [row.tobytes() for row in psi.points_of(PEOPLE)]
    assert len(set(points)) == len(PEOPLE)
    for point in points[:5]:
        assert added_up(point, GROUP_ORDER + 1) == point != IDENTITY
    assert bindings.crypto_core_ed25519_from_uniform(bytes.fromhex(hash_identifiers(PEOPLE)[0])) not in points


@pytest.mark.parametrize(
    "bad",
    [
        IDENTITY,
        bytes(32),
        b"\xff" * 32,
        TWO_TORSION,
        (2).to_bytes(32, "little"),
        bindings.crypto_core_ed25519_add(psi.points_of(["x"])[0].tobytes(), TWO_TORSION),
    ],
    ids=["identity", "order 4", "not canonical", "order 2", "off the curve", "off the subgroup"],
)
def test_what_is_no_point_of_the_group_is_refused_by_the_name_of_its_owner(bad):
    good = psi.points_of(PEOPLE[:2])
    with pytest.raises(ValueError, match="list of 'hospital' holds an entry that is not a point of the subgroup"):
        psi.multiply_points(np.concatenate([good, entries(bad)]), (5).to_bytes(32, "little"), "hospital")


def test_without_pynacl_the_remedy_is_named_before_anything_is_sent(monkeypatch):
    monkeypatch.setitem(sys.modules, "nacl", None)
    run = unaligned([PEOPLE[:4], PEOPLE[2:6]], "psi")
    with pytest.raises(ImportError, match=r"needs the package PyNaCl: pip install 'partywise\[alignment\]'"):
        simulate(rows_and_number, run)
    assert not run.channel.transcript()


def three() -> list[list[str]]:
    """Three lists whose pairs share more than all three do."""
    rng = stream(1, "three lists")
    return [[PEOPLE[place] for place in rng.permutation(60) + 15 * k] for k in range(3)]


def lists_seen(run: Any, name: str) -> list[set[bytes]]:
    """What lists reached one participant, each as its set of entries."""
    seen = [(message, getattr(value, "content", value)) for message, value in run.channel.view(name)]
    return [{row.tobytes() for row in value} for message, value in seen if "blinded list" in message.name]


def test_no_party_can_compare_two_lists_and_the_analyst_can_only_compare():
    """Neither lists that it gets, nor its own, nor what it makes of them; the analyst finds the overlaps, no more."""
    ids = three()
    run = unaligned(ids, "psi")
    simulate(rows_and_number, run)
    for party, own in zip(run.parties, ids, strict=True):
        exponent = psi.local_exponent(party, run.rng_for)
        received = lists_seen(run, party.name)
        plain = psi.points_of(own)
        known = [*received, {row.tobytes() for row in plain}]
        known += [
            {row.tobytes() for row in psi.multiply_points(entries(*held), exponent, "x")}
            for held in [*received, known[-1]]
        ]
        assert len(received) == 2 and len(known) == 6
        assert not any(one & other for one, other in combinations(known, 2))
    full = lists_seen(run, "analyst")
    shared = [len(set(one) & set(other)) for one, other in combinations(ids, 2)]
    assert [len(one & other) for one, other in combinations(full, 2)] == shared == [45, 30, 45]


def test_with_its_own_list_back_a_party_would_learn_what_two_of_three_share():
    """Why the last party hands a list on to the analyst and its owner never gets it again."""
    ids = three()
    run = unaligned(ids, "psi")
    _, n = simulate(rows_and_number, run)
    own, handed_on, _ = lists_seen(run, "analyst")  # of party 0, and of party 1, which party 0 was the last to blind
    assert len(own & handed_on) == 45 > n == 30


def test_no_dictionary_opens_a_list():
    """Of a party with its exponent, of an analyst with those of all but one; with all of them it finds everybody."""
    ids = three()
    run = unaligned(ids, "psi")
    simulate(rows_and_number, run)
    exponents = [psi.local_exponent(party, run.rng_for) for party in run.parties]

    def found(participant: str, owner: int, *known: bytes) -> float:
        def digest(name: str) -> bytes:
            points = psi.points_of([name])
            for exponent in known:
                points = psi.multiply_points(points, exponent, "x")
            return points.tobytes()

        seen = [entry for held in lists_seen(run, participant) for entry in held]
        return attack_ids(seen, ids[owner], PEOPLE, digest)

    for owner in range(3):
        for party, exponent in zip(run.parties, exponents, strict=True):
            assert found(party.name, owner) == 0 == found("analyst", owner, exponent)
            others = [one for one in exponents if one != exponent]
            assert found("analyst", owner, *others) == 0
        assert found("analyst", owner) == 0 and found("analyst", owner, *exponents) == 1
    for place in range(3):
        # What reaches a party went through others: its own exponent opens none of it; the owner's would.
        for owner in {0, 1, 2} - {place}:
            assert found(f"party {place}", owner, exponents[place]) == 0
    assert found("party 1", 0, exponents[0]) == 1


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (entries(IDENTITY, IDENTITY), "list of 'party 0' holds an entry that is not a point of the subgroup"),
        (np.zeros((2, 33), dtype=np.uint8), r"list of 'party 0' is uint8 of shape \(2, 33\): give \(n, 32\) bytes"),
        (entries(*[psi.points_of(["x"])[0].tobytes()] * 4), "list of 'party 0' has an entry twice"),
    ],
    ids=["identity", "shape", "twice"],
)
def test_a_list_that_does_not_follow_the_protocol_stops_the_run(monkeypatch, sent, message):
    """What a party sends in place of its list, and whose list the others say it is."""
    honest = psi.local_first

    def other(party, points, exponent):
        if party.name != "party 0":
            return honest(party, points, exponent)
        return Cipher(sent, key_holder=psi.NOBODY, scheme=psi.SCHEME)

    monkeypatch.setattr(psi, "local_first", other)
    with pytest.raises(ValueError, match=message):
        simulate(rows_and_number, unaligned([PEOPLE[:4], PEOPLE[2:6]], "psi"))
