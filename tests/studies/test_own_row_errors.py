"""Own rows that are not as described: every mistake ends in one sentence with the key, the value and what to do."""

from __future__ import annotations

import pytest

from own_row_mistakes import MISTAKES, expected, told
from own_rows import UNITS, OwnRows

pytestmark = pytest.mark.usefixtures("folder")

CASES = [(study, name) for study, mistakes in MISTAKES.items() for name in mistakes]


@pytest.mark.parametrize("study", MISTAKES)
def test_the_case_is_valid_before_anything_is_broken(study, tmp_path):
    own = OwnRows(study, tmp_path)
    own.write()
    (cell,) = own.fit()
    assert cell.scalars["unit"] == UNITS[study] and cell.scalars["epsilon_certified"] <= 2 * (1 + 1e-9)
    assert len(MISTAKES[study]) >= 60


@pytest.mark.parametrize(("study", "name"), CASES)
def test_a_mistake_is_told_in_one_sentence(study, name, tmp_path):
    said, _ = told(study, name, tmp_path)
    # Of what a job meets, the cell comes before the sentence.
    sentence = said.rpartition("Error: ")[2] if said.startswith("cell (") else said
    assert sentence.startswith(expected(study, name, UNITS[study])), said
    assert sentence.endswith(".") and "\n" not in sentence
