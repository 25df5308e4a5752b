"""Mistakes in own tables whose columns are split: what is done to valid files and settings, and the words that follow.

Every mistake is (name, change, expected words); those of ``EVERYWHERE`` are tried against each study.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from own_columns import Columns

Change = Callable[[Columns], object]
Mistake = tuple[str, Change, str]
DRAW = bytes(range(1, 30))


def cell(row: int, column: int, value: str, table: str = "shop") -> Change:
    return lambda own: getattr(own, table)[row].__setitem__(column, value)


def every(column: int, value: str, table: str = "shop") -> Change:
    return lambda own: [row.__setitem__(column, value) for row in getattr(own, table)[1:]]


def raw(name: str, content: bytes) -> Change:
    return lambda own: own.text.update({name: content})


def setting(**keys: Any) -> Change:
    return lambda own: own.settings.update(keys)


def shop(**keys: Any) -> Change:
    return lambda own: own.first.update(keys)


def bank(**keys: Any) -> Change:
    return lambda own: own.second.update(keys)


def column(place: int, **keys: Any) -> Change:
    return lambda own: own.first["columns"][place].update(keys)


def grid(**keys: Any) -> Change:
    return lambda own: own.grid.update(keys)


def text(**lines: str) -> Change:
    return lambda own: own.text.update({f"{name}.csv": written.encode() for name, written in lines.items()})


def drop(table: str, keep: Callable[[list[str]], bool]) -> Change:
    def change(own: Columns) -> None:
        rows = getattr(own, table)
        rows[1:] = [row for row in rows[1:] if keep(row)]

    return change


FILES: list[Mistake] = [
    ("misspelt file", shop(file="shpo.csv"), "shpo.csv cannot be read (No such file or directory)"),
    ("folder", shop(file="."), ". is a folder: name a file in it"),
    ("empty file", raw("shop.csv", b""), "shop.csv is empty: its first row must name the columns"),
    ("header only", text(shop="id,a,c\n"), "shop.csv has a header and no rows"),
    ("Excel workbook", raw("shop.csv", b"PK\x03\x04[Content_Types].xml"), "is an Excel workbook (.xlsx): open it and"),
    ("old Excel workbook", raw("shop.csv", b"\xd0\xcf\x11\xe0" + DRAW), "is an old Excel workbook (.xls) or another"),
    ("OpenDocument", raw("shop.csv", b"PK\x03\x04mimetypeapplication/vnd.oasis.opendocument.spreadsheet"), "(.ods)"),
    ("zip", raw("shop.csv", b"PK\x03\x04" + DRAW), "shop.csv is a zip archive: unpack it"),
    ("gzip", raw("shop.csv", b"\x1f\x8b" + DRAW), "shop.csv is compressed by gzip: unpack it"),
    ("Parquet", raw("shop.csv", b"PAR1" + DRAW), "shop.csv is a Parquet file: give it a name that ends in .parquet"),
    ("SPSS", raw("shop.csv", b"$FL2@(#)"), "shop.csv is an SPSS file (.sav): in SPSS save it as CSV"),
    ("R", raw("shop.csv", b"X\n\x00\x00"), "shop.csv is a file of R (.rds): in R write it with write.csv"),
    ("UTF-16", raw("shop.csv", "id,a,c\nc1,1,x\n".encode("utf-16")), "is UTF-16 text, as Windows writes it: set enc"),
    ("latin-1", raw("shop.csv", "id,a,c\nc1,1,é\n".encode("latin-1")), "is not utf-8 text (byte 0xe9 in row 2)"),
    ("semicolons", text(shop="id;a;c\nc1;1;x\n"), "set delimiter to ';', which separates its names"),
    ("header twice", cell(0, 2, "a"), "shop.csv has several columns called 'a': give each its own name"),
    (
        "a mark beyond the bounds",
        cell(3, 1, "-9999"),
        "shop.csv: a is -9999 in row 4, which often stands for a missing value, beyond its bounds [-3, 3] by more than",
    ),
    ("far beyond the bounds", cell(5, 1, "9.5"), "shop.csv: a is 9.5 in row 6, beyond its bounds [-3, 3] by more than"),
    ("row names of R", cell(0, 0, ""), "shop.csv has no column 'id': its columns are , a, c; the first column has no "),
    (
        "row names of write.table",
        lambda own: [row.insert(0, str(i)) for i, row in enumerate(own.shop[1:])],
        "all rows have one field more (row names of write.table in R?)",
    ),
    (
        "trailing delimiter",
        lambda own: [row.append("") for row in own.shop[1:]],
        "all rows end in a delimiter; take it",
    ),
    (
        "ragged row",
        cell(3, 2, "x,y"),
        "shop.csv has 4 fields in row 4 where the header names 3 columns: correct the row",
    ),
    ("open quote", cell(3, 2, '"x'), "shop.csv has an entry that begins in row 4 and ends in row"),
]
ENTRIES: list[Mistake] = [
    ("word for a number", cell(3, 1, "many"), "shop.csv: a is 'many' in row 4, which is not a number: correct it"),
    ("decimal comma", cell(3, 1, '"0,5"'), "a is '0,5' in row 4, which is not a number: write it with a decimal point"),
    ("thousands", cell(3, 1, '"1,234.5"'), "a is '1,234.5' in row 4, which has separators between thousands"),
    ("underscores", cell(3, 1, "1_000"), "a is '1_000' in row 4, which has separators between thousands"),
    ("timestamp", cell(3, 1, "2024-03-06 10:30"), "row 4, which is a date or a time of day: write a number"),
    ("percentage", cell(3, 1, "12 %"), "a is '12 %' in row 4, which is a percentage: write the number alone"),
    ("unit", cell(3, 1, "3 kg"), "a is '3 kg' in row 4, which has a unit: write the number alone"),
    ("limit", cell(3, 1, "<0.5"), "a is '<0.5' in row 4, which is a limit and not a value"),
    ("quotes of a spreadsheet", cell(3, 1, "'3"), 'a is "\'3" in row 4, which is a number in quotes'),
    ("a formula", cell(3, 1, "=A1+1"), "a is '=A1+1' in row 4, which is a formula: write its value"),
    ("an error of a spreadsheet", cell(3, 1, "#REF!"), "a is '#REF!' in row 4, which is an error of a spreadsheet"),
    ("a long dash", cell(3, 1, "\u22121.5"), "in row 4, which begins with a long dash: write the minus sign '-'"),
    ("two values", cell(3, 1, "1-2"), "a is '1-2' in row 4, which is a range: write one value"),
    ("a fraction", cell(3, 1, "1/2"), "a is '1/2' in row 4, which is a fraction: write it as a decimal"),
    ("infinite", cell(3, 1, "inf"), "a is 'inf' in row 4, which is infinite: correct it"),
    ("missing value", cell(3, 1, "NA"), "shop.csv: a is missing in 1 of 40 rows (row 4): fill it in, set missing"),
    ("missing label", cell(3, 3, "", "bank"), "bank.csv: late is missing in 1 of 40 rows (row 4)"),
    ("unknown level", cell(3, 2, "q"), "shop.csv: c is 'q' in row 4: its levels are x, y, z; correct it, or add"),
    (
        "case of a level",
        cell(3, 2, "X"),
        "shop.csv: c is 'X' in row 4: did you mean 'x'? its levels are x, y, z; correct it",
    ),
    (
        "label in words",
        cell(3, 3, "yes", "bank"),
        "late is 'yes' in row 4: labels are 0 and 1; correct it, or name the entry that counts as 1 under positive",
    ),
    ("label of three classes", cell(3, 3, "2", "bank"), "bank.csv: late "),
    ("one class", every(3, "0", "bank"), "bank.csv: late is '0' in all 40 rows: both classes are needed"),
    ("constant column", every(1, "1.5"), "shop.csv: a is '1.5' in all 40 rows"),
    ("no id column", setting(id="customer"), "shop.csv has no column 'customer': its columns are id, a, c"),
    (
        "case of the id column",
        setting(id="ID"),
        "shop.csv has no column 'ID': did you mean 'id'? its columns are id, a",
    ),
    (
        "ids of a spreadsheet",
        lambda own: [
            row.__setitem__(0, row[0][1:] + end)
            for table, end in ((own.shop, ".0"), (own.bank, ""))
            for row in table[1:]
        ],
        "write the ids in the same way everywhere; id_as_text: d makes whole numbers of them.",
    ),
    ("no header", text(shop="c1000,1,x\nc1001,2,y\n"), "these look like entries: the first row must name the columns"),
    (
        "a title",
        text(shop="Customers\n\nid,a,c\nc1,1,x\n"),
        "the first row must name the columns; set lines_above",
    ),
    ("blanks between", text(shop="id a c\nc1 1 x\n"), "set delimiter to ' ', which separates its names"),
    ("rows in quotes", text(shop='"id,a,c"\n"c1,1,x"\n'), "whole rows are in quotes: write quotes around single"),
    ("empty id", cell(3, 0, ""), "shop"),
    ("ids in other form", lambda own: [row.__setitem__(0, row[0].upper()) for row in own.shop[1:]], "no id is in all"),
    (
        "ids that differ",
        drop("shop", lambda row: row[0] != "c1007"),
        "have different ids: 1 (c1007) only in the former",
    ),
    (
        "few common ids",
        lambda own: [setting(match="common")(own), drop("shop", lambda row: row[0] < "c1010")(own)],
        "10 r",
    ),
    (
        "misspelt column",
        column(0, name="aa"),
        "shop.csv has no column 'aa': did you mean 'a'? its columns are id, a, c",
    ),
    ("misspelt label", setting(response="lat"), "bank.csv has no column 'lat': did you mean 'late'?"),
    (
        "other unit",
        lambda own: [row.__setitem__(1, str(5000 + i)) for i, row in enumerate(own.shop[1:])],
        "is it in another unit?",
    ),
]
KEYS: list[Mistake] = [
    ("old word", lambda own: own.case.update(source="tables"), "source is 'tables': did you mean table?"),
    ("no tables", lambda own: own.settings.pop("tables"), "settings.tables is missing: give a list of blocks of keys"),
    ("one file", lambda own: own.settings["tables"].pop(0), "tables has 1 files: give one for each of at least two"),
    ("no id", lambda own: own.settings.pop("id"), "settings.id is missing: give text"),
    (
        "another party's response",
        setting(response_party="lab"),
        "response_party is 'lab': the tables are of shop",
    ),
    ("a label in a block", shop(label="c"), "tables[0].label is called response now and belongs one block up: move it"),
    ("label predicts itself", bank(columns=[{"name": "late", "bounds": [0, 1]}]), "it cannot predict itself"),
    ("party twice", shop(party="bank"), "tables has the party 'bank' twice: give each its own name"),
    ("column twice", shop(columns=[{"name": "b", "bounds": [0, 1]}]), "tables has the column 'b' twice"),
    ("no columns", shop(columns=[]), "tables[0].columns is empty: a party holds at least one"),
    ("misspelt key", shop(colums=[]), "tables[0].colums is unknown: did you mean columns?"),
    ("bounds the wrong way", column(0, bounds=[3, -3]), "bounds is [3.0, -3.0]: it must be finite and increasing"),
    ("one level", column(1, levels=["x"]), "levels is ['x']: give at least two and none twice"),
    ("numbers as levels", column(1, levels=[1, 2]), "levels[0] is 1: it must be text"),
    (
        "quoted bounds",
        column(0, bounds=["-3", "3"]),
        "bounds[0] is '-3': it must be a number (write it without quotes)",
    ),
    (
        "bounds in words",
        column(0, bounds="-3 to 3"),
        "bounds is '-3 to 3': it must be a list of 2 numbers or null (write",
    ),
    ("one bound", column(0, bounds=3), "bounds is 3: it must be a list of 2 numbers or null (write a list in brackets"),
    ("a level alone", column(1, levels="x"), "levels is 'x': it must be a list of texts or null (write it in brackets"),
    ("a number as party", shop(party=12), "party is 12: it must be text (put quotes around it)"),
    ("a word for yes as positive", setting(positive=True), "positive is True: it must be "),
    ("a name as a column", shop(columns=["a"]), "columns[0] is 'a': a block of keys is needed here, as in `name: a`."),
    (
        "a path as a table",
        setting(tables=["shop.csv"]),
        "tables[0] is 'shop.csv': a block of keys is needed here, as in",
    ),
    ("a word of others for the response", setting(target="late"), "settings.target is unknown: here that is response;"),
    ("a word of others for bounds", column(0, min=0), "columns[0].min is unknown: here that is bounds; allowed here:"),
    (
        "a word of others for the source",
        lambda own: own.case.update(source="csv"),
        "source is 'csv': here that is table;",
    ),
    ("inner join", setting(match="inner"), "match is 'inner': it must be one of refuse, common (here that is common)"),
    (
        "missing left out",
        setting(missing="ignore"),
        "missing is 'ignore': it must be one of refuse, drop (here that is",
    ),
    ("level and bounds", column(1, bounds=[0, 1]), "bounds is [0.0, 1.0]: levels are bins by themselves"),
    ("delimiter of two", shop(delimiter=";;"), "delimiter is ';;': it must be one character"),
    ("unknown encoding", shop(encoding="utf-9"), "encoding is 'utf-9': it must be one that Python knows"),
    ("id twice", cell(3, 0, "c1000"), "shop.csv has the id 'c1000' in row 2 and row 4: keep one"),
    ("dims", setting(dims=[1, 3]), "dims is (1, 3): tables say who holds what; leave it out"),
    ("match", setting(match="all"), "match is 'all': it must be one of refuse, common"),
    ("parties", grid(parties=[3]), "grid.parties is 3"),
    ("folds", grid(folds=30), "grid.folds is 30: min_records is 20 and no more are sure before the files are read"),
    ("no folds", grid(folds=0), "folds is 0"),
    ("epsilon", grid(epsilon=[-1.0]), "epsilon"),
    ("replicates without end", grid(replicates=10**9), "replicates is 1000000000"),
    ("persons without a bound", setting(user="person"), "user is 'person' and rows_per_user is None: give both"),
]
EVERYWHERE = FILES + ENTRIES + KEYS
