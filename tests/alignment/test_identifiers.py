"""How identifiers must be written: what is compared, what is refused, and that no message shows one."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from partywise.alignment.identifiers import prepare_identifiers
from partywise.alignment.options import IdentifierRules


def texts(values, **rules) -> list[str]:
    return prepare_identifiers(values, IdentifierRules(**rules), "hospital")[0]


def refused(values, **rules) -> str:
    with pytest.raises(ValueError) as told:
        texts(values, **rules)
    return str(told.value)


def test_one_text_in_two_unicode_forms_is_one_identifier():
    assert texts(["Zoe\u0301", "\u212b"]) == ["Zoé", "Å"]
    assert "1 of the 2 identifiers of 'hospital' are used by an earlier record" in refused(["Zoé", "Zoe\u0301"])


def test_blanks_and_case_count_unless_told_otherwise():
    assert texts([" a", "a", "A", "a ", "STRASSE", "straße"]) == [" a", "a", "A", "a ", "STRASSE", "straße"]
    assert texts([" Anna\t", "STRASSE"], normalise=True) == ["anna", "strasse"]
    assert texts(["ANNA", "Straße"], normalise=True) == ["anna", "strasse"]
    # Folding takes these apart: a letter with a mark is one identifier, however it is written.
    assert texts(["\u01f0", "\u1fb4"], normalise=True) == texts(["J\u030c", "\u0391\u0345\u0301"], normalise=True)


def test_whole_numbers_need_a_format():
    said = r"[12] of the 2 identifiers of 'hospital' are whole numbers: '42' is not '042'"
    for numbers in ([7, 42], np.array([7, 42]), pd.Series([7, 42]), ["7", 42]):
        assert re.match(said, refused(numbers))
    assert texts(np.array([7, 42], dtype=np.int16), as_text="04d") == ["0007", "0042"]
    assert texts([7, "0042"], as_text="04d") == ["0007", "0042"]
    assert texts([7, 123456], as_text="d") == ["7", "123456"]
    for form in ("s", ".1f", "x", "0d", "6d", "04d}"):
        with pytest.raises(ValueError, match=re.escape(f"as_text is {form!r}: it must be 'd', or '06d'")):
            IdentifierRules(as_text=form)


def test_missing_identifiers_are_an_error_or_left_out():
    given = ["a", None, "b", float("nan"), "", pd.NA, pd.NaT, np.float64("nan"), "c"]
    assert "6 of the 9 identifiers of 'hospital' are missing" in refused(given)
    kept_texts, kept = prepare_identifiers(given, IdentifierRules(missing="drop"), "hospital")
    assert kept_texts == ["a", "b", "c"] and kept.tolist() == [0, 2, 8]
    assert "no identifiers of 'hospital' are left of 2" in refused([None, ""], missing="drop")


@pytest.mark.parametrize(("rule", "expected"), [("first", [0, 1, 4]), ("drop", [1])])
def test_double_identifiers_keep_the_first_record_or_none(rule, expected):
    given = ["a", "b", "a", "a", "c", "c"]
    assert "3 of the 6 identifiers" in refused(given)
    found, kept = prepare_identifiers(given, IdentifierRules(duplicates=rule), "hospital")
    assert kept.tolist() == expected and found == [given[place] for place in expected]


def test_doubles_are_counted_as_they_are_compared():
    assert texts(["a", "A ", "b"], normalise=True, duplicates="first") == ["a", "b"]
    assert texts([7, "07"], as_text="02d", duplicates="first") == ["07"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.5, "a"], "1 of the 2 identifiers of 'hospital' are neither text nor whole numbers"),
        ([b"a", True], "2 of the 2 identifiers of 'hospital' are neither text nor whole numbers"),
        (["a\0", "\ud800", "b"], "2 of the 3 identifiers of 'hospital' are empty, or hold a NUL or half a surrogate"),
        ("abc", "identifiers of 'hospital': give a list"),
        (np.array([["a"]]), "identifiers of 'hospital': give a list"),
        ([], "no identifiers of 'hospital' are left of 0"),
    ],
)
def test_what_is_no_identifier_is_counted(given, message):
    assert message in refused(given)


def test_no_message_shows_an_identifier():
    name = "Ada Lovelace"
    for bad in ([name, name], [name, None], [name, 3], [name, 1.5], [name, f"{name}\0"], [name, f"{name}\ud800"]):
        assert "Ada" not in refused(bad)


@pytest.mark.parametrize("rules", [{"duplicates": "last"}, {"missing": "first"}])
def test_unknown_rules_are_refused(rules):
    with pytest.raises(ValueError, match="it must be one of"):
        IdentifierRules(**rules)
