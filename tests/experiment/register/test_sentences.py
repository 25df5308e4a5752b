"""docs/sentences.csv: each sentence of the five documents that can be checked has an entry, a test or a reason."""

from __future__ import annotations

import csv
from collections import Counter
from fnmatch import fnmatch

import pytest

from partywise.experiment.register.printed_source import files, read
from pipeline import ROOT

with (ROOT / "docs" / "sentences.csv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))
DOCUMENTS = {"000", "001", "002", "003", "004"}
IDS = [entry.id for path in files() for entry in read(path).entries if entry.document in DOCUMENTS]


def rows(kind: str) -> list[dict[str, str]]:
    return [row for row in ROWS if row["kind"] == kind]


def test_the_list_is_complete_and_in_order():
    assert {row["document"] for row in ROWS} == DOCUMENTS
    places = [(row["document"], int(row["line"])) for row in ROWS]
    assert places == sorted(places)
    assert Counter((row["document"], row["line"], row["sentence"]) for row in ROWS).most_common(1)[0][1] == 1
    assert {row["kind"] for row in ROWS} == {"entry", "test", "none"}
    assert all(row["answer"] for row in ROWS)


@pytest.mark.parametrize("row", rows("entry"), ids=lambda row: f"{row['document']}-{row['line']}-{row['answer']}")
def test_an_entry_is_in_the_register(row):
    assert any(fnmatch(name, row["answer"]) for name in IDS)


def test_every_entry_answers_a_sentence():
    answers = [row["answer"] for row in rows("entry")]
    assert [name for name in IDS if not any(fnmatch(name, answer) for answer in answers)] == []


@pytest.mark.parametrize("row", rows("test"), ids=lambda row: f"{row['document']}-{row['line']}")
def test_a_test_exists(row):
    path, _, name = row["answer"].partition("::")
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
