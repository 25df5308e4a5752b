"""The hash chain of a ledger: rows survive a file, and what was altered, removed or moved is noticed."""

import csv
import hashlib
import io
import json
import math
import tracemalloc
from dataclasses import replace

import pytest

from ledger_driver import event
from partywise.core.errors import CertificationError
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.ledger.reach import clear_event


def chained():
    return Ledger(
        [
            event("a", epsilon_claimed=1.0, sensitivity=2.0, audience=("x", "y")),
            event("b", mu=math.inf, data_dependent_parameters=("a",)),
            clear_event("c", "p1", ("label", "features"), "x"),
        ]
    )


def test_rows_survive_a_round_trip_through_json_and_csv():
    ledger = chained()
    rows = ledger.to_rows()
    assert [row["step"] for row in rows] == [0, 1, 2]
    assert Ledger.from_rows(json.loads(json.dumps(rows))).rows == ledger.rows
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    again = Ledger.from_rows(csv.DictReader(io.StringIO(text.getvalue())))
    assert again.rows == ledger.rows and again.digest == ledger.digest
    again.verify(ledger.digest)


def test_altering_removing_or_moving_a_row_is_noticed():
    ledger = chained()
    rows = ledger.to_rows()
    altered = [{**rows[0], "mu": 0.1}, *rows[1:]]
    for tampered in (altered, rows[1:], [rows[0], rows[2]], [rows[0], rows[2], rows[1]]):
        with pytest.raises(CertificationError, match="hash chain"):
            Ledger.from_rows(tampered)
    with pytest.raises(CertificationError, match="repeat a release"):
        Ledger.from_rows([*rows, rows[0]])
    with pytest.raises(CertificationError, match="removed"):
        Ledger.from_rows(rows[:-1]).verify(ledger.digest)
    digests = {Ledger(order).digest for order in (ledger.rows, ledger.rows[:2], ledger.rows[:1], ())}
    assert len(digests) == 4


@pytest.mark.parametrize("position", [0, 1])
def test_a_chain_that_was_rebuilt_after_an_early_row_was_altered_ends_in_another_digest(position, tmp_path):
    """Whoever can rewrite the file can compute every hash again; the digest that was noted elsewhere refuses."""
    ledger = chained()
    digest = ledger.write(tmp_path / "ledger.jsonl")
    rows = list(ledger.rows)
    rows[position] = replace(rows[position], mu=0.1)
    forged = Ledger(rows)
    forged.write(tmp_path / "ledger.jsonl")
    again = Ledger.read(tmp_path / "ledger.jsonl")
    assert again.rows == tuple(rows) and again.rows[-1] == ledger.rows[-1]
    for read in (again, Ledger.from_rows(forged.to_rows())):
        with pytest.raises(CertificationError, match="rows were altered"):
            read.verify(digest)
    with pytest.raises(CertificationError, match="rows were altered"):
        Ledger.read(tmp_path / "ledger.jsonl", digest)


def test_every_link_hashes_the_whole_past():
    """Each hash is the SHA-256 of the one before and its own row: two ledgers that end alike differ at the end."""
    rows, previous = chained().to_rows(), "0" * 64
    for row, event_ in zip(rows, chained().rows, strict=True):
        assert row["prev_hash"] == previous
        previous = hashlib.sha256((previous + event_.line).encode()).hexdigest()
        assert row["hash"] == previous
    ends = {Ledger([event("a", mu=mu), event("b", mu=2.0)]).digest for mu in (0.5, 1.0, 2.0)}
    assert len(ends) == 3


def test_a_file_of_rows_is_read_back(tmp_path):
    ledger = Ledger([*chained().rows, event("d", mu=None, epsilon=0.5, k=7, delta_numeric=1e-9, epsilon_distance=0.1)])
    digest = ledger.write(tmp_path / "ledger.jsonl")
    assert digest == ledger.digest
    again = Ledger.read(tmp_path / "ledger.jsonl", digest)
    assert again.rows == ledger.rows and again.digest == digest
    assert [json.loads(line)["step"] for line in (tmp_path / "ledger.jsonl").read_text().splitlines()] == [0, 1, 2, 3]
    assert Ledger().write(tmp_path / "empty.jsonl") == Ledger().digest
    assert len(Ledger.read(tmp_path / "empty.jsonl")) == 0


@pytest.mark.parametrize(
    "tamper",
    [
        lambda lines: lines[1:],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: lines[:-1],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [*lines, lines[0]],
        lambda lines: [lines[0].replace('"mu":1.0', '"mu":0.1'), *lines[1:]],
        lambda lines: [lines[0].replace('"mu":1.0', '"mu":-1.0'), *lines[1:]],
        lambda lines: [lines[0].replace('"step":0', '"step":5'), *lines[1:]],
        lambda lines: [lines[0].replace('"mu":1.0,', ""), *lines[1:]],
        lambda lines: [lines[0].replace('"owner":"p1"', '"owner":"p2"'), *lines[1:]],
        lambda lines: [*lines[:-1], lines[-1][:40]],
        lambda lines: [],
    ],
)
def test_a_tampered_file_is_noticed(tmp_path, tamper):
    path = tmp_path / "ledger.jsonl"
    digest = chained().write(path)
    lines = path.read_text().splitlines()
    assert tamper(lines) != lines
    path.write_text("".join(line + "\n" for line in tamper(lines)))
    with pytest.raises(CertificationError):
        Ledger.read(path, digest)


def test_only_the_digest_sees_rows_that_were_cut_off_at_the_end(tmp_path):
    path = tmp_path / "ledger.jsonl"
    digest = chained().write(path)
    path.write_text("".join(line + "\n" for line in path.read_text().splitlines()[:-1]))
    assert len(Ledger.read(path)) == 2
    with pytest.raises(CertificationError, match="removed"):
        Ledger.read(path, digest)


def test_the_digest_does_not_depend_on_when_it_is_asked():
    early, late = Ledger(), Ledger()
    for row in chained().rows:
        early.append(row)
        assert early.digest
        late.append(row)
    assert early.digest == late.digest == chained().digest


def test_a_digest_leaves_nothing_behind_in_any_row():
    """A line and a link of each of a million rows were 2 GB."""
    ledger = Ledger(event(f"release {k}") for k in range(2000))
    tracemalloc.start()
    first = ledger.digest
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert first == ledger.to_rows()[-1]["hash"]
    assert taken < 10 * len(ledger)


def test_events_of_one_distribution_share_it():
    """Whole numbers and floats are told apart: a profile says what its event says."""
    profiles = [event(f"release {k}", mu=mu).profile for k, mu in enumerate([0.5, 0.5, 1, 1.0])]
    assert profiles[0] is profiles[1] and profiles[2] is not profiles[3]
    assert [type(profile.mu) for profile in profiles] == [float, float, int, float]
