"""Own data that are not as described: every case ends in one sentence with the file, the place and what to do."""

from __future__ import annotations

import copy
import os
import time

import pytest

from config_check import check_files
from own_contradictory import CONTRADICTORY, P
from own_malformed import MALFORMED
from own_mistakes import Own
from partywise.core.errors import ConfigError, DataMissing
from partywise.experiment.plan import plan


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Own(tmp_path)


def test_the_files_are_valid_before_anything_is_broken(own):
    data = own.load()
    assert data.X.shape == (24, 2, 5) and data.Y.shape == (24, 5)
    assert data.ids.tolist() == [f"d{i:02d}" for i in range(24)]


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_data_are_told_in_one_sentence(own, name):
    change, sentence = MALFORMED[name]
    change(own)
    with pytest.raises(DataMissing) as told:
        own.load()
    message = str(told.value)
    assert sentence in message, message
    assert message.startswith(sentence[:30]) and message.endswith(".") and "\n" not in message


@pytest.mark.parametrize("name", CONTRADICTORY)
def test_bad_settings_are_told_before_any_job(own, name):
    change, sentence = CONTRADICTORY[name]
    change(own)
    with pytest.raises(ConfigError) as told:
        own.plan()
    message = str(told.value)
    assert message.startswith(sentence), message
    assert message.endswith(".") and "\n" not in message


def test_more_folds_than_there_are_sure_to_be_groups(own):
    own.settings["min_blocks"] = 2
    made = own.plan()
    assert made.cases["own"].settings.n_blocks == 2
    block = copy.deepcopy(dict(made.block))
    block["cases"]["own"]["grid"]["folds"] = 3
    with pytest.raises(
        ConfigError, match=r"grid.folds is 3: min_blocks is 2, and no more groups of records are sure before"
    ):
        plan("functional_boosting", block, 1)


def test_a_file_that_is_not_there_is_told_before_any_job(own):
    own.load()
    check_files({"functional_boosting": own.plan()}, own.folder)
    own.first["file"] = "rian.csv"
    with pytest.raises(ConfigError) as told:
        check_files({"functional_boosting": own.plan()}, own.folder)
    begin = f"paths begin in the folder of the run, {own.folder}."
    assert str(told.value) == f"{P}[0].file is 'rian.csv': did you mean 'rain.csv'? there is no such file; {begin}"
    for file, why in (
        ("data\\rain.csv", "folders are divided by '/' here; write data/rain.csv."),
        ("data/rain.csv", f"there is no folder data; {begin}"),
        ("https://a.org/rain.csv", "that is an address of the web; download the file, and name it by its path."),
    ):
        own.first["file"] = file
        with pytest.raises(ConfigError) as told:
            check_files({"functional_boosting": own.plan()}, own.folder)
        assert str(told.value) == f"{P}[0].file is {file!r}: {why}"


def test_a_file_that_is_dated_ahead_of_the_clock_is_told_before_any_job(own):
    """Its results would be older than it: the run ended in the raw text of Snakemake, and its advice failed."""
    own.load()
    path = own.folder / own.first["file"]
    ahead = time.time() + 180
    os.utime(path, (ahead, ahead))
    with pytest.raises(ConfigError) as told:
        check_files({"functional_boosting": own.plan()}, own.folder)
    begin = f"{P}[0].file is 'rain.csv', which is dated 3.0 minutes ahead of the clock: "
    assert str(told.value).startswith(begin) and "run touch rain.csv" in str(told.value)
    os.utime(path)
    check_files({"functional_boosting": own.plan()}, own.folder)
