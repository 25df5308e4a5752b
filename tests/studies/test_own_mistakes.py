"""Mistakes in own tables whose columns are split: none is silent, each is one sentence with what to do."""

from __future__ import annotations

import pytest

from own_columns import STUDIES, Columns
from own_mistakes_columns import EVERYWHERE
from own_mistakes_studies import ONLY
from partywise.errors import ConfigError, DataMissing

TRIED = [(study, *mistake) for study in STUDIES for mistake in [*EVERYWHERE, *ONLY[study]]]


@pytest.mark.parametrize("study", STUDIES)
def test_the_files_are_valid_before_anything_is_broken(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = Columns(tmp_path, study).load()
    assert len(data.y) == len(data.ids) == 40 and data.X.shape[0] == 40


@pytest.mark.parametrize(
    ("study", "name", "change", "expected"), TRIED, ids=[f"{study}: {name}" for study, name, *_ in TRIED]
)
def test_a_mistake_is_one_sentence(study, name, change, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
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
