"""Records of several parties meet: the intersection of their identifiers, in one order, however the program runs."""

from __future__ import annotations

import logging
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forked import in_all_ways
from partywise.core.randomness import stream
from partywise.federation.run import simulate
from partywise.federation.secure_streams import SecureStreams
from unaligned import joined, rows_and_number, unaligned

MODES = ("psi", "hmac", "sha256")
PEOPLE = tuple(f"PATIENT_{number:05d}" for number in range(60))


def lists(count: int, seed: int = 1) -> list[list[str]]:
    """Lists of about two thirds of all people, each in an order of its own."""
    rng = stream(seed, "people", count)
    return [[PEOPLE[place] for place in rng.permutation(60)[: 40 + 3 * k]] for k in range(count)]


def intersection(ids: list[list[str]]) -> set[str]:
    return set.intersection(*map(set, ids))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [2, 3, 5])
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_rows_are_the_intersection_in_one_order(mode, count, data):
    """Any distinct texts, with some that all parties share."""
    texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"], max_codepoint=0x2FF), min_size=1)
    shared = data.draw(st.lists(texts.map(lambda text: f"s{text}"), min_size=1, max_size=6, unique=True))
    alone = st.lists(texts.map(lambda text: f"a{text}"), max_size=6, unique=True)
    ids = [data.draw(st.permutations([*shared, *data.draw(alone)])) for _ in range(count)]
    rows, n = simulate(rows_and_number, unaligned(ids, mode))
    found = joined(ids, rows)
    assert all(own == found[0] for own in found)
    assert Counter(found[0]) == Counter(intersection(ids)) and n == len(found[0])


@pytest.mark.parametrize("mode", MODES)
def test_ways_to_run_agree_to_the_byte(mode):
    in_all_ways(rows_and_number, lambda: unaligned(lists(3), mode))


@pytest.mark.parametrize("mode", MODES)
def test_a_seed_repeats_every_byte_and_the_systems_generator_none_that_is_secret(mode):
    ids = lists(3)

    def contents(rng_for=None) -> list[bytes]:
        run = unaligned(ids, mode, rng_for=rng_for)
        found.append(simulate(rows_and_number, run))
        view = run.channel.view(*run.names)
        return [np.asarray(getattr(value, "content", value)).tobytes() for _, value in view]

    found: list = []
    once, again = contents(), contents()
    secret, other = contents(SecureStreams(1)), contents(SecureStreams(1))
    assert once == again
    changed = sum(one != two for one, two in zip(secret, other, strict=True))
    assert changed == (0 if mode == "sha256" else len(secret) - 4)  # all but the number, told to four
    assert {n for _, n in found} == {len(intersection(ids))}
    for rows, _ in found:
        assert set(joined(ids, rows)[0]) == intersection(ids)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_messages_of_set_intersection_are_those_of_the_table(count):
    """K messages of 32 bytes a record for each list: all ciphers, but what the analyst compares."""
    ids = lists(count)
    run = unaligned(ids, "psi")
    _, n = simulate(rows_and_number, run)
    sent = run.channel.transcript()
    blinded = [row for row in sent if row["name"] in ("blinded list", "fully blinded list")]
    assert sum(row["bytes"] for row in blinded) == sum(32 * len(own) * count for own in ids)
    closed = Counter((row["kind"], row["receiver"] == "analyst") for row in blinded)
    assert closed == {("cipher", False): count * (count - 1), ("clear", True): count}
    told = [row for row in sent if row["name"] == "positions of common entries"]
    assert [row["bytes"] for row in told] == [4 * n] * count
    rest = [row for row in sent if row["sender"] == "analyst" and row not in told]
    assert [row["bytes"] for row in rest] == [8] * (count + 1)
    assert len(sent) == len(blinded) + len(told) + len(rest)


@pytest.mark.parametrize(("mode", "keys"), [("hmac", 2), ("sha256", 0)])
def test_digests_take_32_bytes_a_record(mode, keys):
    ids = lists(3)
    run = unaligned(ids, mode)
    simulate(rows_and_number, run)
    sent = run.channel.transcript()
    digests = [row for row in sent if row["name"] == "digests"]
    assert [(row["kind"], row["argument"], row["bytes"]) for row in digests] == [
        ("clear", "row", 32 * len(own)) for own in ids
    ]
    assert [row["bytes"] for row in sent if row["kind"] == "cipher"] == [32] * keys


def test_published_digests_keep_the_order_of_the_first_party():
    ids = lists(3)
    rows, _ = simulate(rows_and_number, unaligned(ids, "sha256"))
    assert joined(ids, rows)[0] == [name for name in ids[0] if name in intersection(ids)]


def test_aligned_records_are_the_training_records_and_send_nothing():
    run = unaligned([PEOPLE[:12]] * 2, "psi", aligned=True, n_folds=3)
    rows, n = simulate(rows_and_number, run)
    assert n == 8 and all(own.tolist() == [1, 2, 4, 5, 7, 8, 10, 11] for own in rows.values())
    assert not run.channel.transcript()


@pytest.mark.parametrize("mode", MODES)
def test_what_is_wrong_is_said_before_anything_is_sent(mode):
    good, double, lost = lists(3)
    double[3], lost[5] = double[4], ""
    for ids, message in [
        ([good, good, double], "1 of the 43 identifiers of 'party 2' are used by an earlier record already"),
        ([good, lost], "1 of the 46 identifiers of 'party 1' are missing"),
        ([good], "parties has 1"),
    ]:
        run = unaligned(ids, mode)
        with pytest.raises(ValueError, match=message) as told:
            simulate(rows_and_number, run)
        assert not run.channel.transcript()
        assert "PATIENT" not in str(told.value)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_in_common_is_an_error(mode):
    with pytest.raises(ValueError, match="no identifier is common to all of party 0, party 1, party 2"):
        simulate(rows_and_number, unaligned([PEOPLE[:20], PEOPLE[10:30], PEOPLE[20:40]], mode))


def test_unaligned_records_have_no_folds():
    with pytest.raises(ValueError, match="folds=3: records that arrive unaligned"):
        simulate(rows_and_number, unaligned(lists(2), "psi", n_folds=3))


def test_published_digests_are_warned_of_in_the_log_of_every_run(caplog):
    for expected in (1, 2):
        with caplog.at_level(logging.WARNING, logger="partywise"):
            simulate(rows_and_number, unaligned(lists(2), "sha256"))
            simulate(rows_and_number, unaligned(lists(2), "psi"))
        assert sum("sha256" in record.message for record in caplog.records) == expected
