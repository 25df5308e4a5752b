"""Mistakes against the sources of own rows: what is done to a valid case, and how the sentence that follows begins.

``python tests/support/own_row_mistakes.py`` makes each of them and prints what is said, and after how many seconds.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from own_rows import (
    Change,
    OwnRows,
    cell,
    column,
    every,
    figures,
    grid,
    many,
    method,
    raw,
    setting,
    spec,
    without,
)

C = "studies.{study}.cases.own.settings."
NAMES = "id, site, person, age, kind, late, flow"
# Of both sources.
BOTH: dict[str, tuple[Change, str]] = {
    "file that is not there": (
        setting(file="dta.csv"),
        C + "file is 'dta.csv': did you mean 'data.csv'? there is no such file; paths begin in",
    ),
    "neither file nor tables": (
        without("file"),
        C + "file is None and tables has 0 entries: give one file, or a table",
    ),
    "response that is the user": (
        setting(response="person"),
        C + "user is 'person', which is the response too: give an",
    ),
    "user that is the id": (setting(user="id", id="id"), C + "user is 'id', which is the id too: give another column."),
    "empty file": (raw(b""), "data.csv is empty: its first row must name the columns."),
    "header only": (raw(b"id,site,person,age,kind,late,flow\n"), "data.csv has a header and no rows: "),
    "semicolons": (raw(b"id;age\nr0;3\n"), "data.csv has the one column 'id;age' when it is split at ',': set delim"),
    "latin-1": (raw("id,age\nMärz,3\n".encode("latin-1")), "data.csv is not utf-8 text (byte 0xe4 in row 2): save"),
    "row with a field more": (
        raw(b"id,site,person,age,kind,late,flow\nr0,north,p0,5,5,x,0,1\n"),
        "data.csv has 8 fields in row 2 where the header names 7 columns: correct the row (a quote or a delimiter",
    ),
    "misspelt column": (
        column(0, name="aeg"),
        f"data.csv has no column 'aeg': did you mean 'age'? its columns are {NAMES}",
    ),
    "misspelt user": (setting(user="persn"), "data.csv has no column 'persn': did you mean 'person'? "),
    "misspelt id": (setting(id="nr"), f"data.csv has no column 'nr': its columns are {NAMES}."),
    "word for a number": (
        cell(3, "age", "old"),
        "data.csv: age is 'old' in row 4, which is not a number: correct it, ",
    ),
    "decimal comma": (
        cell(3, "age", "30,5"),
        "data.csv: age is '30,5' in row 4, which is not a number: write it with a decimal point, or set ",
    ),
    "infinite": (cell(3, "age", "inf"), "data.csv: age is 'inf' in row 4, which is infinite: correct it, or list it"),
    "unknown level": (cell(3, "kind", "w"), "data.csv: kind is 'w' in row 4: its levels are x, y, z; correct it, or"),
    "missing entry": (
        many(cell(3, "age", ""), cell(7, "age", "NA")),
        "data.csv: age is missing in 2 of 120 rows (row 4, 8): fill it in, set missing to drop to leave these rows",
    ),
    "missing person": (cell(3, "person", ""), "data.csv: person is missing in 1 of 120 rows (row 4): fill it in, set"),
    "missing id": (cell(3, "id", "NA"), "data.csv: id is missing in 1 of 120 rows (row 4): fill it in, set missing"),
    "column without entries": (
        many(every("kind", ""), setting(missing="drop")),
        "data.csv has no row with an entry in all of age, kind",
    ),
    "id twice": (
        cell(3, "id", "r000"),
        "data.csv has the id 'r000' in row 2 and row 4: keep one; where rows of one per",
    ),
    "wrong unit": (
        column(0, bounds=[0.18, 0.8]),
        "data.csv: age is outside its bounds [0.18, 0.8] in 120 of 120 rows (",
    ),
    "a mark beyond the bounds": (
        cell(3, "age", "-9999"),
        "data.csv: age is -9999 in row 4, which often stands for a missing value, beyond its bounds [",
    ),
    "constant column": (
        every("kind", "x"),
        "data.csv: kind is 'x' in all 120 rows: it has no information; take it out, or",
    ),
    "too few records": (
        many(setting(min_records=500)),
        "120 records are left where min_records is 500: bring more records, or lower min_records.",
    ),
    "no bounds": (column(0, bounds=None), C + "columns[0] (age) has neither bounds nor levels: a column is scaled by"),
    "bounds turned": (column(0, bounds=[80, 18]), C + "columns[0].bounds is [80.0, 18.0]: it must be finite and incr"),
    "infinite bounds": (column(0, bounds=[0, float("inf")]), C + "columns[0].bounds is [0.0, inf]: it must be finite"),
    "one bound": (column(0, bounds=[18]), C + "columns[0].bounds is [18]: it must be a list of 2 numbers or null."),
    "one level": (column(1, levels=["x"]), C + "columns[1].levels is ['x']: give at least two and none twice."),
    "levels that YAML read as truth": (
        column(1, levels=[False, True]),
        C + "columns[1].levels[0] is False: it must be text (YAML reads yes, no, on and off as true and false; put quo",
    ),
    "edges of a tree": (column(0, edges=[30, 50]), C + "columns[0].edges is [30.0, 50.0]: they are read by trees only"),
    "column twice": (
        lambda own: own.settings["columns"].append(own.settings["columns"][0]),
        C + "columns has 'age' twice: list it once.",
    ),
    "no columns": (setting(columns=[]), C + "columns is empty: list at least one."),
    "misspelt key": (setting(delimitor=";"), C + "delimitor is unknown: did you mean delimiter? allowed here: "),
    "two characters": (
        setting(delimiter=";;"),
        C + "delimiter is ';;': it must be one character, such as ';' or '\\t'.",
    ),
    "encoding that is none": (setting(encoding="utf8-ish"), C + "encoding is 'utf8-ish': it must be one that Python"),
    "person without a bound": (
        without("rows_per_user"),
        C + "user is 'person' and rows_per_user is None: give both, the column that names a person and the public",
    ),
    "bound without a person": (without("user"), C + "user is None and rows_per_user is 3: give both, the column that"),
    "no rows of a person": (setting(rows_per_user=0), C + "rows_per_user is 0: it must be at least 1."),
    "half a row": (setting(rows_per_user=2.5), C + "rows_per_user is 2.5: it must be a whole number or null."),
    "unit of persons without persons": (
        without("user", "rows_per_user"),
        "studies.{study}.spec.unit is '{unit}': case own does not state how many r",
    ),
    "rule that is none": (
        setting(missing="ignore"),
        C + "missing is 'ignore': it must be one of refuse, drop (here that is drop).",
    ),
    "two folds": (grid(folds=2), "studies.{study}.cases.own.grid.folds is 2: "),
    "user among the columns": (
        lambda own: own.settings["columns"].append({"name": "person", "bounds": [0, 1]}),
        C + "columns has 'person', which is the user: take it out of one of them.",
    ),
    "old name of the source": (
        lambda own: own.block["cases"]["own"].update(source="tables"),
        "studies.{study}.cases.own.source is 'tables': did you mean table? allowed here: ",
    ),
}

TWO = [
    {"party": "shop", "file": "features.csv"},
    {"party": "bank", "file": "labels.csv"},
]


def two(**keys: object) -> Change:
    """The features in one file and the labels in another."""

    def change(own: OwnRows) -> None:
        own.settings.pop("file")
        own.settings |= {"tables": [dict(one) for one in TWO], "response_party": "bank"}
        own.settings.update(keys)

    return change


LABELS: dict[str, tuple[Change, str]] = {
    "words for labels": (
        cell(3, "late", "yes"),
        "data.csv: late is 'yes' in row 4: labels are 0 and 1; correct it, or",
    ),
    "a third class": (cell(3, "late", "2"), "data.csv: late is '2' in row 4: labels are 0 and 1; correct it, or name "),
    "positive in other letters": (
        many(every("late", "no"), cell(3, "late", "yes"), setting(positive="Yes")),
        "data.csv: late has no entry 'Yes', which positive names: its entries are no, yes; write it as in the file",
    ),
    "a typing error in a label": (
        many(every("late", "no"), cell(3, "late", "yes"), cell(4, "late", "noo"), setting(positive="yes")),
        "data.csv: late has the entries no, yes, noo ('noo' in row 5): a label has two; correct them, or bring",
    ),
    "positive that YAML read as truth": (
        setting(positive=True),
        C + "positive is True: it must be text or a number or null (YAML reads yes, no, on and off as true and false;",
    ),
    "one class only": (every("late", "0"), "data.csv: late is '0' in all 120 rows: both classes are needed; bring row"),
    "label among the columns": (
        lambda own: own.settings["columns"].append({"name": "late", "bounds": [0, 1]}),
        C + "columns has 'late', which is the response: take it out of one of them.",
    ),
    "no response": (without("response"), C + "response is missing: give text."),
    "missing label": (
        cell(3, "late", ""),
        "data.csv: late is missing in 1 of 120 rows (row 4): fill it in, set missing",
    ),
    "file and tables": (many(two(), setting(file="data.csv")), C + "file is 'data.csv' and tables has 2 entries: give"),
    "one table": (
        two(tables=TWO[:1]),
        C + "tables has 1 entries: give two, one with features and one with the labels",
    ),
    "nobody has the labels": (
        two(response_party="lab"),
        C + "response_party is 'lab': the tables are of shop and bank.",
    ),
    "role of an earlier version": (
        two(tables=[TWO[0], TWO[1] | {"holds": "labels"}]),
        C + "tables[1].holds is called response_party now and belongs one block up: move it.",
    ),
    "one party twice": (
        two(tables=[TWO[0], TWO[1] | {"party": "shop"}]),
        C + "tables has the name 'shop' twice: give each party its own.",
    ),
    "tables without ids": (many(two(), without("id")), C + "id is None: two tables are matched by ids; name their col"),
    "other ids": (
        many(two(), raw(b"id,late\nx1,0\nr001,1\n", "labels.csv")),
        "bank (labels.csv) and shop (features.csv) have different ids: 1 (x1) only in the former, 119 (r000, r002, ",
    ),
    "no common id": (
        many(two(), raw(b"id,late\nx1,0\nx2,1\n", "labels.csv")),
        "no id is in all files (shop (features.csv) has r000, r001; bank (labels.csv) has x1, x2): write the ids",
    ),
    "id twice in the labels": (
        many(two(), raw(b"id,late\nr000,0\nr000,1\n", "labels.csv")),
        "labels.csv has the id 'r000' in row 2 and row 3: keep one; ",
    ),
    "match of one file": (
        setting(match="common"),
        C + "match is 'common': it is read with two tables only; leave it out",
    ),
    "nobody to test": (setting(test_share=1.5), C + "test_share is 1.5: it must lie in (0, 1)."),
    "three parties": (
        grid(parties=[3]),
        "studies.label_private.cases.own.grid.parties is [3]: it must be [2], the tra",
    ),
    "a client's key": (setting(party="site"), C + "party is unknown: allowed here: below, columns, "),
    "a figure of generated data": (
        figures("excess_by_size"),
        "studies.label_private.figures lists 'excess_by_size': it shows a sweep of generated data, and all cases here",
    ),
    "whole persons": (
        spec(unit="user"),
        "studies.label_private.spec.unit is 'user': it must be one of row, label, fea",
    ),
}

SITES = [{"party": "north", "file": "north.csv"}, {"party": "south", "file": "south.csv"}]


def sites(**keys: object) -> Change:
    """A file for each client."""

    def change(own: OwnRows) -> None:
        for key in ("file", "party", "parties"):
            own.settings.pop(key)
        own.settings["tables"] = [dict(one) for one in SITES]
        own.settings.update(keys)

    return change


CLIENTS: dict[str, tuple[Change, str]] = {
    "client that is not listed": (
        cell(3, "site", "nroth"),
        "data.csv: site is 'nroth' in row 4: did you mean 'north'? parties are north, south; correct it, or list it",
    ),
    "client without records": (
        setting(parties=["north", "south", "east"]),
        "data.csv: client 'east' has 0 records where least is 40: lower least, which sets delta, or leave the client",
    ),
    "client that is too small": (setting(least=61), "data.csv: client 'north' has 60 records where least is 61: lower"),
    "person at two clients": (
        cell(2, "site", "south"),
        "person 'p01' has rows at north and at south: what is certified for a person needs all their rows at one cli",
    ),
    "column of the client is absent": (setting(party="clinic"), "data.csv has no column 'clinic': its columns are id"),
    "word for a response": (
        cell(3, "flow", "high"),
        "data.csv: flow is 'high' in row 4, which is not a number: correct",
    ),
    "edges in another unit": (
        setting(edges=[100, 200]),
        "data.csv: flow falls into one of 3 slices in all 120 rows: place the edges where its values are.",
    ),
    "response in another unit": (
        many(without("edges"), setting(response_bounds=[100, 400], n_slices=4)),
        "data.csv: flow is outside its response_bounds [100, 400] in 120 of 120 rows (",
    ),
    "unknown class": (
        many(
            without("edges"), setting(response="kind", levels=["x", "y"], columns=[{"name": "age", "bounds": [0, 90]}])
        ),
        "data.csv: kind is 'z' in row 7: its levels are x, y; correct it, or add the level.",
    ),
    "no slices": (
        without("edges"),
        C + "response 'flow' is sliced in 0 ways: give edges, or response_bounds with n_sl",
    ),
    "edges and levels": (setting(levels=["a", "b"]), C + "response 'flow' is sliced in 2 ways: give edges, or"),
    "edges turned": (setting(edges=[3, 2, 1]), C + "edges is [3.0, 2.0, 1.0]: give increasing numbers."),
    "bounds without a number of slices": (
        many(without("edges"), setting(response_bounds=[0, 4])),
        C + "response_bounds is (0.0, 4.0) and n_slices is None: give both, the public range of the response and into",
    ),
    "class twice": (
        many(without("edges"), setting(levels=["a", "a"])),
        C + "levels is ['a', 'a']: give at least two and",
    ),
    "too many directions": (setting(n_directions=4), C + "n_directions is 4: 4 slices of 3 columns show at most 3."),
    "response among the columns": (
        lambda own: own.settings["columns"].append({"name": "flow", "bounds": [0, 4]}),
        C + "columns has 'flow', which is the response: take it out of one of them.",
    ),
    "client's column that is the user": (setting(party="person"), C + "party is 'person', which is the user too: give"),
    "no least": (without("least"), C + "least is missing: give a whole number."),
    "least of one": (setting(least=1), C + "least is 1: it must be at least 2."),
    "file and tables": (
        many(sites(), setting(file="data.csv")),
        C + "file is 'data.csv' and tables has 2 entries: give one file, or a table of each party.",
    ),
    "file without party": (without("party"), C + "party is None and parties is ['north', 'south']: name the column of"),
    "file without parties": (without("parties"), C + "party is 'site' and parties is []: name the column of the clien"),
    "tables with party": (many(sites(), setting(party="site")), C + "party is 'site': every table has its own party; "),
    "one file twice": (
        sites(tables=[SITES[0], SITES[1] | {"file": "north.csv"}]),
        "tables has the file 'north.csv' twice: its records would count at two clients.",
    ),
    "one party twice": (
        sites(tables=[SITES[0], SITES[1] | {"party": "north"}]),
        C + "tables has the name 'north' twice: ",
    ),
    "name of the server": (
        sites(tables=[SITES[0], SITES[1] | {"party": "server"}]),
        C + "tables has the name 'server': it belongs to a protocol; choose another.",
    ),
    "name that a spreadsheet runs": (
        sites(tables=[SITES[0], SITES[1] | {"party": "=1"}]),
        C + "tables[1].party is '=1': a spreadsheet takes what begins so for a formula; begin otherwise.",
    ),
    "radius of nothing": (setting(radius=0), C + "radius is 0.0: it must be a positive finite number."),
    "more parties than clients": (
        grid(parties=[3]),
        "studies.sliced_inverse_regression.cases.own.grid.parties is 3: the case has 2 clients.",
    ),
    "discriminant of four slices": (
        method(protocol="reference", estimator="lda"),
        "studies.sliced_inverse_regression.cases.own.grid.methods lists m, whose estimator is 'lda': the case has 4",
    ),
    "screening without a number of columns": (
        setting(screen=True),
        "studies.sliced_inverse_regression.cases.own.grid.methods lists m, which screens columns: the true support is",
    ),
    "a figure of the source": (
        figures("table_1"),
        "studies.sliced_inverse_regression.figures lists 'table_1': it shows cases of the source, and all cases here",
    ),
    "labels of persons": (
        spec(unit="user_label"),
        "studies.sliced_inverse_regression.spec.unit is 'user_label': it must be one of row, label, features, user",
    ),
    "quantile slices": (
        method(slices="quantile"),
        "studies.sliced_inverse_regression.methods.m: 'quantile edges' has no certificate: one",
    ),
    "a bound that takes all of epsilon": (
        many(setting(rows_per_user=10**6), grid(epsilon=[0.01])),
        "epsilon is 0.01: the share of one release of one of 1000000 records is below what delta",
    ),
}
M = "studies.federated_survival.cases.own.grid.methods lists m: "
KIND = {"columns": [{"name": "age", "bounds": [18, 80]}], "group_by": "kind"}
FOLLOW_UP: dict[str, tuple[Change, str]] = {
    "time that is negative": (
        cell(3, "flow", "-1.5"),
        "data.csv: flow is -1.5 in row 4, which is negative: count time from the start of follow-up, and correct it.",
    ),
    "time that is a word": (cell(3, "flow", "long"), "data.csv: flow is 'long' in row 4, which is not a number: corr"),
    "time that is infinite": (
        cell(3, "flow", "inf"),
        "data.csv: flow is 'inf' in row 4, which is infinite: correct it",
    ),
    "time that is missing": (cell(3, "flow", "NaN"), "data.csv: flow is missing in 1 of 120 rows (row 4): fill it in"),
    "event that is not declared": (
        cell(3, "late", "2"),
        "data.csv: late is '2' in row 4: its levels are 0, 1; correct it, or add the level.",
    ),
    "events that are censored": (
        setting(events=["1", "0"]),
        C + "events is ['1', '0'] and censoring is ['0']: give at least one entry of 'late' each, and none twice.",
    ),
    "no horizon": (without("horizon"), C + "horizon is None: give a public end of follow-up, from the plan of the st"),
    "horizon of nothing": (setting(horizon=0), C + "horizon is 0.0: it must be a positive finite number"),
    "horizon by the data": (setting(horizon="max"), C + "horizon is 'max': it must be a number or null"),
    "no reason": (without("because"), C + "because is missing: give text."),
    "edges that begin late": (setting(edges=[1, 4]), C + "edges is [1.0, 4.0]: give increasing numbers from 0 to the"),
    "edges that turn": (setting(edges=[0, 3, 2, 4]), C + "edges is [0.0, 3.0, 2.0, 4.0]: give increasing numbers from"),
    "edges that end early": (setting(edges=[0, 3]), C + "edges is [0.0, 3.0]: the last one must be the horizon, 4."),
    "edges of scores": (
        setting(edges=[0, 2, 4]),
        M + "protocol scores has bins of equal width and one group; leave ed",
    ),
    "edges and bins": (
        many(setting(edges=[0, 2, 4]), method(protocol="table", bins=6)),
        M + "it has bins, and the case has edges; give one of them.",
    ),
    "radius of nothing": (setting(radius=0), C + "radius is 0.0: it must be a positive finite number."),
    "groups without entries": (
        setting(**KIND),
        C + "group_by is 'kind' and groups is []: give both, the column of the group and at least two public entries",
    ),
    "group that is not declared": (
        many(setting(**KIND, groups=["x", "y"]), method(protocol="table")),
        "data.csv: kind is 'z' in row 7: its levels are x, y; correct it, or add the level.",
    ),
    "groups of scores": (
        setting(**KIND, groups=["x", "y", "z"]),
        M + "protocol scores has bins of equal width and one group; leave groups out.",
    ),
    "groups of a tree": (
        many(setting(**KIND, groups=["x", "y", "z"]), method(protocol="tree_breslow")),
        M + "a tree is of one group, and the case has several.",
    ),
    "scores without covariates": (setting(columns=[]), M + "protocol scores needs covariates, and the case has none."),
    "left truncation": (
        setting(entry="age"),
        C + "entry is 'age': left truncation is not offered: a record would be in two cells",
    ),
    "strata": (
        setting(strata="kind"),
        C + "strata is 'kind': strata are not offered; for curves of several groups dec",
    ),
    "one bin": (
        method(protocol="table", bins=1),
        "studies.federated_survival.methods.m.bins is 1: it must be at least 2",
    ),
    "no bins of an unknown number of records": (
        method(protocol="table", relation="add_remove"),
        "studies.federated_survival.methods.m.bins is None: with relation 'add_remove' no number of records is public",
    ),
    "scores of an unknown number of records": (
        method(relation="add_remove"),
        "studies.federated_survival.methods.m.relation is 'add_remove': scores are released for a public number of re",
    ),
    "time among the columns": (column(0, name="flow"), C + "columns has 'flow', which is the time: take it out of one"),
    "event that is the time": (setting(event="flow"), C + "event is 'flow', which is the time too: give another colu"),
    "client that is not listed": CLIENTS["client that is not listed"],
    "client without records": (
        setting(parties=["north", "south", "east"]),
        "studies.federated_survival.cases.own.grid.parties is 2: the case has the clients north, south, east; give 3.",
    ),
    "client whose rows are missing": (
        many(setting(parties=["north", "south", "east"]), grid(parties=[3])),
        "data.csv: client 'east' has no records: leave the client out, or bring its rows.",
    ),
    "person at two clients": CLIENTS["person at two clients"],
    "client with the name of a place": (
        setting(parties=["north", "aggregator"]),
        C + "parties has the name 'aggregator': it belongs to a protocol; choose another.",
    ),
}
# A curve needs no columns, and there is no response.
OTHERWISE = ("no columns", "response that is the user")
MISTAKES = {"label_private": BOTH | LABELS, "sliced_inverse_regression": BOTH | CLIENTS}
MISTAKES["federated_survival"] = {name: one for name, one in BOTH.items() if name not in OTHERWISE} | FOLLOW_UP


def told(study: str, name: str, folder: Path) -> tuple[str, float]:
    """What is said of a mistake, and after how many seconds; the folder is the one of the run."""
    own = OwnRows(study, folder)
    MISTAKES[study][name][0](own)
    own.write()
    begin = time.perf_counter()
    try:
        own.fit()
    except Exception as error:
        return str(error), time.perf_counter() - begin
    return "", time.perf_counter() - begin


def expected(study: str, name: str, unit: str) -> str:
    """How the sentence begins."""
    return MISTAKES[study][name][1].replace("{study}", study).replace("{unit}", unit)


def main() -> None:
    """A table in Markdown for each source."""
    for study, mistakes in MISTAKES.items():
        print(f"\n| `{study}`, source `table`: {len(mistakes)} mistakes | what is said | seconds |\n|---|---|---|")
        for name in mistakes:
            with tempfile.TemporaryDirectory() as folder:
                before = Path.cwd()
                os.chdir(folder)
                said, seconds = told(study, name, Path(folder))
                os.chdir(before)
            print(
                f"| {name} | {(said or 'NOTHING').replace('|', chr(92) + '|').replace(folder, '...')} | {seconds:.3f} |"
            )


if __name__ == "__main__":
    sys.exit(main())
