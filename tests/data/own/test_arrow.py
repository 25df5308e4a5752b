"""Parquet and Arrow files: the numbers of a CSV file with the same content, and a sentence for other types."""

from __future__ import annotations

import csv
import io
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, ipc, parquet

from own_columns import STUDIES, Columns
from own_data_sets import write_netcdf
from own_mistakes import HOURS, Own
from partywise.core.errors import ConfigError, DataMissing
from partywise.data.own.csv import TextTable, numbers, read_table
from partywise.data.own.drafts.survey import description, survey
from partywise.data.own.grammar import MARKS, TextForm

PLAIN = TextForm()


def parquet_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def stream_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def arrow_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    feather.write_feather(table, sink)
    return sink.getvalue()


def read(form: TextForm = PLAIN, file: str = "t.parquet", **columns: pa.Array) -> TextTable:
    return read_table(parquet_bytes(pa.table(columns)), file, form)


def of_csv(content: bytes) -> bytes:
    """A Parquet file with the types that pyarrow finds in a CSV file; texts of ids stay text."""
    from pyarrow import csv as reader

    table = reader.read_csv(io.BytesIO(content))
    return parquet_bytes(table)


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("write", [parquet_bytes, arrow_bytes, stream_bytes])
def test_data_and_cells_are_those_of_the_csv_files_with_the_same_content(study, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = Columns(tmp_path, study)
    own.grid["folds"] = 1
    as_csv, cell = own.load(), own.fit()
    ending = "parquet" if write is parquet_bytes else "arrow"
    for block, rows in ((own.first, own.shop), (own.second, own.bank)):
        header, *body = rows
        typed: dict[str, Any] = {name: [row[k] for row in body] for k, name in enumerate(header)}
        for name in {"a", "b"} & set(typed):
            typed[name] = list(map(float, typed[name]))
        if "c" in typed:
            typed["c"] = pa.array(typed["c"]).dictionary_encode()
        if "late" in typed:
            typed["late"] = [text == "1" for text in typed["late"]]
        block["file"] = block["file"].replace("csv", ending)
        own.text[block["file"]] = write(pa.table(typed))
    as_typed = own.load()
    np.testing.assert_array_equal(as_typed.X, as_csv.X)
    np.testing.assert_array_equal(as_typed.y, as_csv.y)
    np.testing.assert_array_equal(as_typed.ids, as_csv.ids)
    for name, value in own.fit().items():
        assert cell[name] == value or (cell[name] != cell[name] and value != value), name


def test_curves_are_those_of_the_csv_files_with_the_same_content(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = Own(tmp_path)
    as_csv = own.load()
    for block, file in ((own.settings["response"], "level.csv"), (own.settings["predictors"][0], "rain.csv")):
        block["file"] = file.replace("csv", "pq")
        (tmp_path / block["file"]).write_bytes(of_csv((tmp_path / file).read_bytes()))
    as_typed = own.load()
    for name in ("Y", "X"):
        np.testing.assert_array_equal(getattr(as_typed, name), getattr(as_csv, name))


VALUES = {
    pa.float64(): st.floats(),
    pa.float32(): st.floats(width=32),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.bool_(): st.booleans(),
    pa.decimal128(20, 4): st.decimals(-(10**9), 10**9, places=4),
}


@st.composite
def columns(draw):
    kind = draw(st.sampled_from(list(VALUES)))
    return kind, draw(st.lists(st.one_of(st.none(), VALUES[kind]), min_size=1, max_size=12))


@given(columns())
def test_a_typed_column_has_the_numbers_that_its_text_has(column):
    kind, values = column
    texts = ["" if one is None else str(int(one)) if isinstance(one, bool) else str(one) for one in values]
    table = read(x=pa.array(values, kind))
    known = [k for k, text in enumerate(texts) if text not in MARKS]
    assert [k for k, text in enumerate(table.column("x")) if text not in MARKS] == known
    if not all(np.isfinite(float(texts[k])) for k in known):
        with pytest.raises(DataMissing, match=r"t: x is '-?inf' in row \d+, which is infinite"):
            numbers(table.column("x"), "t: x", lambda k: f"row {k + 1}", table.form, MARKS)
        return
    found, expected = (numbers(one, "t: x", str, PLAIN, MARKS) for one in (table.column("x"), texts))
    np.testing.assert_array_equal(found, expected)


@given(st.lists(st.one_of(st.none(), st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))), min_size=2))
def test_time_stamps_are_the_years_that_their_text_has(stamps):
    table = read(x=pa.array(stamps, pa.timestamp("us")))
    form = TextForm(time_format="%Y-%m-%d %H:%M:%S.%f")
    texts = ["" if one is None else one.strftime(form.time_format) for one in stamps]
    found = numbers(table.column("x"), "t: x", str, table.form, MARKS)
    np.testing.assert_array_equal(found, numbers(texts, "t: x", str, form, MARKS))


@given(st.lists(st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0\r\n")), min_size=1))
def test_levels_of_a_dictionary_are_the_text_of_a_csv_file(texts):
    texts = [*texts, "x"]
    handle = io.StringIO(newline="")
    csv.writer(handle).writerows([["id", "x"], *([str(k), text] for k, text in enumerate(texts))])
    whole = read_table(handle.getvalue().encode(), "t.csv", PLAIN)
    assert read(x=pa.array(texts).dictionary_encode()).column("x") == whole.column("x")


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array([100, None, 102]), ["100", "", "102"]),
        # pandas makes floats of whole numbers with a gap.
        (pa.array([100.0, None, float("nan"), 0.1]), ["100", "", "", "0.1"]),
        (pa.array([2**63 - 1, 2**53 + 1]), ["9223372036854775807", "9007199254740993"]),
        (pa.array([True, False, None]), ["1", "0", ""]),
        (pa.array([Decimal("1.20"), Decimal("1E+2")]), ["1.20", "100.00"]),
        (pa.array([date(2024, 3, 6), None]), ["2024-03-06", ""]),
        (pa.array([datetime(2024, 3, 6), datetime(2024, 3, 7)], pa.timestamp("ns")), ["2024-03-06", "2024-03-07"]),
        (pa.array([datetime(2024, 3, 6, 10, 30)]), ["2024-03-06T10:30:00"]),
        # What a clock on the wall showed.
        (pa.array([datetime(2024, 3, 6, 9, tzinfo=UTC)], pa.timestamp("s", "Europe/Berlin")), ["2024-03-06T10:00:00"]),
        (pa.array([time(10, 30), None]), ["10.5", ""]),
        (pa.array(["b", None, "a"]).dictionary_encode(), ["b", "", "a"]),
        (pa.array([None, None]), ["", ""]),
        (pa.array([" a "], pa.large_string()), ["a"]),
    ],
)
def test_every_type_has_its_text(values, texts):
    assert read(x=values).column("x") == texts


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (pa.array([[1, 2]]), "t.parquet: x holds several values in one entry (list<element: int64>): give each a col"),
        (pa.array([{"a": 1}]), "t.parquet: x holds several values in one entry (struct<a: int64>): give each a column"),
        (pa.array([b"a"]), "t.parquet: x is of the type binary: write it as numbers, text or time stamps, or take the"),
        (pa.array([3], pa.duration("s")), "t.parquet: x is of the type duration[s]: write it as numbers, text or time"),
        (pa.array([2**50], pa.timestamp("ms")), "t.parquet: x has times that no calendar has"),
    ],
)
def test_a_column_that_cannot_be_read_is_refused_by_name_where_it_is_used(values, sentence):
    table = read(x=values, y=pa.array([1.0]))
    assert table.column("y") == ["1"]
    with pytest.raises(DataMissing) as told:
        table.column("x")
    assert str(told.value).startswith(sentence)
    told_at_once = survey(parquet_bytes(pa.table({"x": values, "y": [1.0]})), "t.parquet").faults
    assert any(sentence[:40] in fault for fault in told_at_once)


def test_time_format_writes_time_stamps_and_says_what_it_loses():
    form, stamps = TextForm(time_format="%d.%m.%Y"), pa.array([datetime(2024, 3, 6), datetime(2024, 3, 7)])
    assert read(form, x=stamps).column("x") == ["06.03.2024", "07.03.2024"]
    with pytest.raises(DataMissing, match=r"x has 2024-03-06T10:30:00, of which time_format '%d.%m.%Y' loses a part"):
        read(form, x=pa.array([datetime(2024, 3, 6, 10, 30)])).column("x")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("t.parquet", b"a,b\n1,2\n", "t.parquet cannot be read as a Parquet or Arrow file ("),
        ("t.pq", b"PAR1" + bytes(40), "t.pq cannot be read as a Parquet or Arrow file ("),
        ("t.feather", b"", "t.feather cannot be read as a Parquet or Arrow file ("),
        ("t.parquet", parquet_bytes(pa.table({"a": pa.array([], pa.int64())})), "t.parquet has a header and no rows"),
        ("t.csv", parquet_bytes(pa.table({"a": [1]})), "t.csv is a Parquet file: give it a name that ends in .parquet"),
        ("t.csv", arrow_bytes(pa.table({"a": [1]})), "t.csv is a Feather or Arrow file: give it a name that ends in"),
        (
            "t.arrow",
            stream_bytes(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])),
            "t.arrow has several columns called 'a': give each its own name, or set equal_names to number.",
        ),
    ],
)
def test_a_file_that_cannot_be_read_says_why(name, content, sentence):
    with pytest.raises(DataMissing) as told:
        read_table(content, name, PLAIN)
    assert str(told.value).startswith(sentence)


def test_without_pyarrow_the_error_names_what_to_install(monkeypatch):
    content = parquet_bytes(pa.table({"a": [1]}))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataMissing, match=r"^t.pq needs the package pyarrow: pip install 'partywise\[arrow\]', in a "):
        read_table(content, "t.pq", PLAIN)


@pytest.mark.parametrize(
    ("key", "value"), [("delimiter", ";"), ("encoding", "latin-1"), ("decimal", ","), ("thousands", "'")]
)
def test_keys_of_text_are_refused_for_a_file_with_types(key, value, tmp_path):
    own = Columns(tmp_path, "vertical_linear")
    own.first["file"] = "shop.parquet"
    own.settings[key] = value
    own.plan()  # bank.csv is text
    own.first[key] = value
    with pytest.raises(ConfigError, match=rf"{key} is .*: shop.parquet is a Parquet or Arrow file, whose columns have"):
        own.plan()
    del own.first[key]
    own.second["file"] = "bank.feather"
    with pytest.raises(ConfigError, match=rf"{key} is .*: shop.parquet is a Parquet or Arrow file, whose columns have"):
        own.plan()


def test_check_data_tells_of_typed_files_what_it_tells_of_text():
    days = [date(2024, 1, 1 + k % 28) for k in range(40)]
    table = pa.table(
        {
            "id": pa.array(range(100, 140)),
            "city": pa.array([("Köln", "Bonn")[k % 2] for k in range(40)]).dictionary_encode(),
            "age": pa.array([None if k == 3 else 20 + k for k in range(40)]),
            "born": pa.array(days),
            "seen": pa.array([datetime(2024, 3, 1, 10, k) for k in range(40)]),
            "comma": pa.array([f"{k},5" for k in range(40)]),
        }
    )
    found = survey(parquet_bytes(table), "t.parquet")
    assert description(found) == [
        "t.parquet: 40 rows, 6 columns, columns with types",
        "  id: unique: may be the id",
        "  city: levels; 'Bonn' 20, 'Köln' 20",
        "  age: numbers; missing: '' 1",
        "  born: time stamps; time_format 'iso'",
        "  seen: time stamps; time_format 'iso'",
        "  comma: unique: may be the id",
        "  rows that lack an entry: 1 of 40 rows (2.5%: age 1); the other rows are complete",
    ]
    assert found.faults == ("t.parquet: comma is text with marks inside numbers, as in '10,5': write it as numbers.",)


def test_time_stamps_of_a_typed_file_name_the_records_of_curves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = Own(tmp_path)
    stamps = [datetime(2024, 3, 1 + i, int(hour)) for i in range(24) for hour in (1, 5, 9, 13, 17, 21)]
    values = [float(row[3]) for row in own.response[1:]]
    table = pa.table({"at": pa.array(stamps), "level": values, "week": [row[1] for row in own.response[1:]]})
    Path("level.parquet").write_bytes(parquet_bytes(table))
    own.settings["response"] |= {"file": "level.parquet", "id": "at", "time": "at"}
    own.rain[1:] = [[f"2024-03-{1 + i:02d}", *row[1:]] for i, row in enumerate(own.rain[1:])]
    write_netcdf(tmp_path / "heat.nc", "day", [row[0] for row in own.rain[1:]], HOURS, heat=own.heat)
    data = own.load()
    assert data.record_names.tolist()[:2] == ["2024-03-01", "2024-03-02"]
