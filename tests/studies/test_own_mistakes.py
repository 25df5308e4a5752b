"""Mistakes in own tables whose columns are split: none is silent, each is one sentence with what to do."""

from __future__ import annotations

import pytest

from own_columns import STUDIES, Columns
from own_mistakes_columns import EVERYWHERE
from own_mistakes_studies import ONLY
from partywise.core.errors import ConfigError, DataMissing

pytestmark = pytest.mark.usefixtures("folder")

TRIED = [(study, *mistake) for study in STUDIES for mistake in [*EVERYWHERE, *ONLY[study]]]


@pytest.mark.parametrize("study", STUDIES)
def test_the_files_are_valid_before_anything_is_broken(study, tmp_path):
    data = Columns(tmp_path, study).load()
    assert len(data.y) == len(data.ids) == 40 and data.X.shape[0] == 40


@pytest.mark.parametrize("study", STUDIES)
def test_one_file_may_be_several_parties(study, tmp_path):
    apart, one = Columns(tmp_path, study), Columns(tmp_path, study)
    expected = apart.load()
    rest = {row[0]: row[1:] for row in one.bank}
    one.text["all.csv"] = "".join(",".join([*row, *rest[row[0]]]) + "\n" for row in one.shop).encode()
    one.first["file"] = one.second["file"] = "all.csv"
    found = one.load()
    assert (found.X == expected.X).all() and (found.y == expected.y).all() and one.plan().cases["own"].parties == (2,)


@pytest.mark.parametrize(
    ("study", "name", "change", "expected"), TRIED, ids=[f"{study}: {name}" for study, name, *_ in TRIED]
)
def test_a_mistake_is_one_sentence(study, name, change, expected, tmp_path):
    own = Columns(tmp_path, study)
    change(own)
    with pytest.raises((ConfigError, DataMissing)) as told:
        own.load()
    message = str(told.value)
    assert expected in message, message
    assert message.endswith(".") and "\n" not in message


@pytest.mark.parametrize("study", STUDIES)
def test_every_source_is_tried_with_more_than_forty(study):
    assert len({name for tried, name, *_ in TRIED if tried == study}) > 40
