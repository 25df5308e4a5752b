"""The chain of an account: every changed byte is noticed by the number of its row, a torn line is told apart."""

from __future__ import annotations

import logging
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts import release
from partywise.core.errors import AccountError
from partywise.federation.account.account import FILE, Account
from partywise.federation.account.chain import line_of, read_chain
from partywise.federation.codec import row_of


def written(path: Path, count: int = 12) -> bytes:
    with Account(path, party="clinic") as account:
        account.began("a", "x")
        for k in range(count):
            account.record_sent(k, "server", f"message {k}", row_of(release(f"release {k}", account)), (1,), 8)
        account.record_end("outcome")
    return path.read_bytes()


def test_changed_bytes_and_cut_ends_are_noticed_by_number_or_are_the_torn_line(tmp_path):
    path, chance, seen = tmp_path / FILE, random.Random(7), dict.fromkeys(("changed", "torn", "whole"), 0)
    data = written(path)
    lines, digests = data.splitlines(keepends=True), [row.digest for row in read_chain(path).rows]
    ends = [sum(map(len, lines[: k + 1])) for k in range(len(lines))]
    for number in range(200):
        if number % 2:
            place, mask = chance.randrange(len(data)), 1 << chance.randrange(8)
            path.write_bytes(data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :])
            hurt = next(k for k, end in enumerate(ends) if place < end)
            with pytest.raises(AccountError, match=rf"^row {hurt} of .* was changed.*put back a copy"):
                read_chain(path)
            seen["changed"] += 1
            continue
        place = chance.randrange(1, len(data))
        path.write_bytes(data[:place])
        # A line counts once it is whole, with or without its line feed.
        kept = sum(end - 1 <= place for end in ends)
        chain = read_chain(path)
        assert [row.digest for row in chain.rows] == digests[:kept]
        start = ends[kept - 1] if kept else 0
        assert chain.torn_bytes == max(place - start, 0)
        seen["torn" if chain.torn_bytes else "whole"] += 1
    assert seen["changed"] == 100 and seen["torn"] > 80


def test_every_cut_of_the_last_line_is_torn_until_it_is_whole(tmp_path):
    path = tmp_path / FILE
    data = written(path, 2)
    *_, last = data.splitlines(keepends=True)
    rows = len(read_chain(path).rows)
    for cut in range(len(last)):
        path.write_bytes(data[: len(data) - len(last) + cut])
        chain = read_chain(path)
        whole = cut == len(last) - 1
        assert (len(chain.rows), chain.torn_bytes, chain.open) == (
            rows if whole else rows - 1,
            0 if whole else cut,
            whole,
        )


@pytest.mark.parametrize("change", ["missing", "doubled", "swapped", "first gone", "added"])
def test_rows_that_are_missing_doubled_or_elsewhere_are_refused_by_number(tmp_path, change):
    path = tmp_path / FILE
    lines = written(path).splitlines(keepends=True)
    changed, told = {
        "missing": (lines[:4] + lines[5:], "row 4 of .* row 5 is in its place"),
        "doubled": (lines[:5] + lines[4:], "row 5 of .* row 4 is in its place"),
        "swapped": ([*lines[:4], lines[5], lines[4], *lines[6:]], "row 4 of .* row 5 is in its place"),
        "first gone": (lines[1:], "row 0 of .* row 1 is in its place"),
        "added": ([*lines[:5], line_of(5, "0" * 64, "paid", "a", {})[0], *lines[5:]], "row 5 of .* does not follow"),
    }[change]
    path.write_bytes(b"".join(changed))
    with pytest.raises(AccountError, match=told):
        Account(path, party="clinic")
    assert path.read_bytes() == b"".join(changed), "a refused file is left as it is"


def test_a_row_in_its_place_that_no_account_wrote_is_refused(tmp_path):
    path = tmp_path / FILE
    data, last = written(path, 1), read_chain(path).rows[-1]
    path.write_bytes(data + line_of(last.number + 1, last.digest, "paid", "a", {"event": {"mu": 1}})[0])
    with pytest.raises(AccountError, match=rf"row {last.number + 1} \(paid\) .*is none that an account writes"):
        Account(path, party="clinic")
    assert path.stat().st_size > len(data)


def test_a_torn_line_is_dropped_with_a_note_and_the_chain_goes_on(tmp_path, caplog):
    path = tmp_path / FILE
    data = written(path, 1)
    path.write_bytes(data + b'{"number":6,"previous":"ab')
    with caplog.at_level(logging.WARNING, "partywise"), Account(path, party="clinic") as account:
        assert "torn by a crash and is dropped" in account.notes[0] and account.notes[0] in caplog.text
        account.began("b", "x")
    rows = read_chain(path).rows
    assert [row.kind for row in rows[-4:]] == ["ended", "dropped", "time", "began"]
    assert rows[-3].fields == {"bytes": 26}


def test_a_whole_line_without_its_line_feed_is_kept(tmp_path):
    path = tmp_path / FILE
    data = written(path, 1)
    path.write_bytes(data[:-1])
    with Account(path, party="clinic") as account:
        assert not account.notes
        account.began("b", "x")
    assert path.read_bytes()[: len(data)] == data
    assert [row.kind for row in read_chain(path).rows[-3:]] == ["ended", "time", "began"]


@settings(max_examples=50, deadline=None)
@given(st.text(), st.dictionaries(st.text(), st.floats() | st.text() | st.none() | st.integers()))
def test_a_line_holds_any_content(text, content):
    line, row = line_of(0, "0" * 64, "sent", text, {"digest": "a" * 64} | content)
    (read,) = read_chain("x", line).rows
    assert (read.run, read.digest, repr(read.fields)) == (text, row.digest, repr(dict(row.fields)))
    assert read_chain("x", line[:-1]).open
