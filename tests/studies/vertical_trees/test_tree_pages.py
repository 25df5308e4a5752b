"""The page of the study says what runs do."""

from __future__ import annotations

from tree_wire_table import PAGE, written


def test_the_wire_table_of_the_page_is_that_of_a_run():
    text = PAGE.read_text(encoding="utf-8")
    assert written(text) == text, "run python tests/support/tree_wire_table.py to write the table anew"
