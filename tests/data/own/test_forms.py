"""How entries are written: decimal commas, thousands, time stamps and ids are read by keys, in every reader."""

from __future__ import annotations

import numpy as np
import pytest
from test_remote import CLIENTS, CURVES, GLM, LABELS, equal_to_the_simulation

from deployment_cases import Apart
from own_columns import STUDIES, Columns
from own_mistakes import HOURS, Own
from partywise.core.errors import ConfigError, DataMissing
from partywise.data.own.csv import numbers
from partywise.data.own.grammar import TextForm

EUROPE = TextForm(decimal=",", thousands=".")


def read(form: TextForm, *texts: str) -> list[float]:
    found: list[float] = numbers(texts, "a.csv: x", lambda i: f"row {i + 2}", form, ("k.A.",)).tolist()
    return found


@pytest.mark.parametrize(
    ("form", "texts", "expected"),
    [
        (EUROPE, ("1.234,5", "-0,5", "12", "1.234.567", "1,5e3"), [1234.5, -0.5, 12.0, 1234567.0, 1500.0]),
        (TextForm(decimal=",", thousands=" "), ("1 234,5", "1\u202f234", "7"), [1234.5, 1234.0, 7.0]),
        (TextForm(thousands=","), ("1,234.5", "12,345"), [1234.5, 12345.0]),
        (TextForm(time_format="%d.%m.%Y"), ("02.07.2024", "01.01.2023"), [2024.5, 2023.0]),
        (TextForm(time_format="%H:%M"), ("10:30", "00:00"), [10.5, 0.0]),
        # Entries that are numbers stay numbers.
        (TextForm(time_format="%Y"), ("2024", "1999"), [2024.0, 1999.0]),
    ],
)
def test_entries_are_read_as_they_are_written(form, texts, expected):
    assert read(form, *texts) == pytest.approx(expected, abs=1e-12)
    found = read(form, *texts, "k.A.")
    assert np.isnan(found[-1]) and found[:-1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("form", "text", "sentence"),
    [
        (EUROPE, "1.5", "a.csv: x is '1.5' in row 3, which has a point where decimal is ',': write it as the others"),
        (EUROPE, "12.34,5", "a.csv: x is '12.34,5' in row 3, which is not a number: correct it"),
        (TextForm(), "0,5", "which is not a number: write it with a decimal point, or set decimal to ','"),
        (
            TextForm(time_format="%H:%M"),
            "2024-03-06",
            "which is no time stamp of the form '%H:%M': correct it, or time_f",
        ),
    ],
)
def test_an_entry_of_another_form_is_told(form, text, sentence):
    with pytest.raises(DataMissing) as told:
        read(form, "1", text)
    assert sentence in str(told.value)


@pytest.mark.parametrize("study", STUDIES)
def test_dirty_columns_are_those_of_clean_ones(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = Columns(tmp_path, study)
    clean = own.load()
    own.settings |= {"decimal": ",", "thousands": ".", "delimiter": ";", "encoding": "latin-1", "id_as_text": "06d"}
    own.first["columns"][1]["levels"] = ["Köln", "y", "z"]
    shop = [[name, a.replace(".", ","), c.replace("x", "Köln")] for name, a, c in own.shop]
    bank = [[name, person, b.replace(".", ","), late] for name, person, b, late in own.bank]
    for row in shop[1:]:
        row[0] = row[0].removeprefix("c")
    for row in bank[1:]:
        row[0] = f"00{row[0].removeprefix('c')}"
    for name, rows in (("shop.csv", shop), ("bank.csv", bank)):
        own.text[name] = "".join(";".join(row) + "\n" for row in rows).encode("latin-1")
    dirty = own.load()
    np.testing.assert_array_equal(dirty.X, clean.X)
    np.testing.assert_array_equal(dirty.y, clean.y)
    assert dirty.ids.tolist() == [f"00{name.removeprefix('c')}" for name in clean.ids]
    own.settings["id_as_text"] = ""
    with pytest.raises(
        DataMissing, match=r"no id is in all files .*; id_as_text: 06d makes numbers of 6 digits of them\."
    ):
        own.load()


def test_a_time_stamp_is_the_record_and_the_time_in_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = Own(tmp_path)
    days = [f"2024-03-{k + 1:02d}" for k in range(24)]
    own.settings["match"] = "refuse"
    for row in own.rain[1:]:
        row[0] = days[int(row[0].removeprefix("d"))]
    own.settings["predictors"].pop()
    clean = own.response
    renamed = [[days[int(row[0].removeprefix("d"))], *row[1:]] for row in clean[1:]]
    own.response = [clean[0], *renamed]
    own.plan = lambda plan=own.plan, own=own: _one_party(plan, own)  # type: ignore[method-assign]
    expected = own.load()
    own.response = [["stamp", "week", "level"]]
    for day, week, hour, level in renamed:
        own.response.append([f"{day[8:]}.{day[5:7]}.2024 {int(float(hour)):02d}:00", week, level.replace(".", ",")])
    own.text["level.csv"] = "\n".join(";".join(row) for row in own.response).encode()
    own.settings["response"] |= {"id": "stamp", "time": "stamp", "time_format": "%d.%m.%Y %H:%M"}
    own.settings["response"] |= {"delimiter": ";", "decimal": ","}
    found = own.load()
    assert found.ids.tolist() == expected.ids.tolist() == days and len(HOURS) == 6
    np.testing.assert_array_equal(found.Y, expected.Y)
    own.settings["response"].pop("time_format")
    with pytest.raises(DataMissing, match="stamp is the id and the time: set time_format, which splits a time stamp"):
        own.load()


def _one_party(plan, own):
    """With the grid of one predictor."""
    from partywise.experiment.plan import plan as checked

    grid = {"methods": ["m"], "replicates": 1, "parties": [1], "folds": 2, "epsilon": [1.0]}
    case = {**own.case, "settings": own.settings, "grid": grid}
    return checked(CURVES, {"methods": {"m": {"protocol": "moments", "cipher": "sized"}}, "cases": {"own": case}}, 1)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"decimal": ";"}, "decimal is ';': it must be '.' or ','"),
        ({"thousands": "x"}, "thousands is 'x': it must be one of"),
        ({"thousands": "."}, "thousands is '.', and so is decimal: they must differ"),
        ({"time_format": "YYYY-MM-DD"}, "time_format is 'YYYY-MM-DD': write the parts of a time stamp as Python does"),
        ({"id_as_text": "6"}, "id_as_text is '6': it must be 'd', or '06d' for six digits"),
    ],
)
def test_a_key_that_no_text_has_is_told_before_any_job(keys, sentence, tmp_path):
    own = Columns(tmp_path, "vertical_glm")
    for block in (own.settings, own.first):
        block |= keys
        with pytest.raises(ConfigError, match=f"own.settings.*{sentence[:20]}") as told:
            own.plan()
        assert sentence in str(told.value)
        for key in keys:
            block.pop(key)


@pytest.mark.parametrize("study", [GLM, LABELS, CLIENTS, CURVES])
def test_parties_apart_honour_the_form_of_their_files(study, tmp_path, monkeypatch):
    case = Apart(study)
    case.settings |= {"decimal": ",", "thousands": "."}
    for files in case.files.values():
        for _, rows in files.values():
            for row in rows:
                row[:] = [text.replace(".", ",") for text in row]
    equal_to_the_simulation(case, tmp_path, monkeypatch)
