"""Own rows as described, for the studies whose records are rows, and changes that break them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from config_check import check_files
from own_data_sets import write_csv
from partywise.core.randomness import stream
from partywise.experiment.cells import Cell, run
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan

PERSONS, EACH = 40, 3
Change = Callable[["OwnRows"], object]
COLUMNS = [{"name": "age", "bounds": [18, 80]}, {"name": "kind", "levels": ["x", "y", "z"]}]
SETTINGS: dict[str, dict[str, Any]] = {
    "label_private": {"response": "late"},
    "sliced_inverse_regression": {
        "party": "site",
        "parties": ["north", "south"],
        "response": "flow",
        "edges": [1, 2, 3],
        "least": 40,
        "delta_power": 1.5,
    },
    "federated_survival": {
        "party": "site",
        "parties": ["north", "south"],
        "time": "flow",
        "event": "late",
        "horizon": 4,
        "because": "follow-up of the study",
    },
    "federated_epidemiology": {
        "party": "site",
        "parties": ["north", "south"],
        "user": None,
        "rows_per_user": None,
        "columns": [
            {"name": "age", "bounds": [18, 80], "edges": [18, 40, 60, 80]},
            {"name": "kind", "levels": ["x", "y", "z"]},
            {"name": "late", "levels": ["0", "1"]},
        ],
        "questions": {
            "by": "late",
            "table_one": ["kind", "age"],
            "means": ["age"],
            "incidence": [{"time": "flow", "cause": "person", "causes": ["p01", "p02"], "horizon": 4, "bins": 3}],
            "complete": ["late"],
        },
    },
}
METHODS = {"label_private": {"protocol": "walr"}, "sliced_inverse_regression": {"protocol": "certified"}}
METHODS["federated_survival"] = {"protocol": "scores"}
METHODS["federated_epidemiology"] = {"protocol": "tables"}
UNITS = {"label_private": "user_label", "sliced_inverse_regression": "user", "federated_survival": "user"}
UNITS["federated_epidemiology"] = "row"


class OwnRows:
    """The files and the configuration of a valid case in a folder; a person has three rows, at one client."""

    def __init__(self, study: str, folder: Path) -> None:
        self.study, self.folder = study, folder
        rng = stream(5, "own rows")
        self.rows = [["id", "site", "person", "age", "kind", "late", "flow"]]
        for i in range(PERSONS * EACH):
            person = i % PERSONS
            age, kind = float(np.round(rng.uniform(18, 80), 1)), "xyz"[i % 3]
            late, flow = int(rng.random() < 0.5), float(np.round(age / 20 + rng.normal(0, 0.3), 3))
            site = "north" if person % 2 else "south"
            self.rows.append([f"r{i:03d}", site, f"p{person:02d}", f"{age}", kind, f"{late}", f"{flow}"])
        self.settings: dict[str, Any] = {
            "file": "data.csv",
            "columns": copy.deepcopy(COLUMNS),
            "id": "id",
            "user": "person",
            "rows_per_user": 3,
            **copy.deepcopy(SETTINGS[study]),
        }
        grid = {"methods": ["m"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}
        self.block: dict[str, Any] = {
            "spec": {"unit": UNITS[study]},
            "methods": {"m": dict(METHODS[study])},
            "cases": {"own": {"source": "table", "settings": self.settings, "grid": grid}},
        }
        self.text: dict[str, bytes] = {}

    @property
    def grid(self) -> dict[str, Any]:
        return self.block["cases"]["own"]["grid"]

    def plan(self) -> Plan:
        return plan(self.study, self.block, 1)

    def write(self) -> None:
        """All files: the rows in one, and in two by what they hold or by whose they are."""
        header, rows = self.rows[0], self.rows[1:]
        write_csv(self.folder / "data.csv", header, rows)
        write_csv(self.folder / "features.csv", header[:5], [row[:5] for row in rows])
        write_csv(self.folder / "labels.csv", ("id", "late"), [[row[0], row[5]] for row in reversed(rows)])
        for site in ("north", "south"):
            write_csv(self.folder / f"{site}.csv", header, [row for row in rows if row[1] == site])
        for name, content in self.text.items():
            (self.folder / name).write_bytes(content)

    def data(self) -> Any:
        """The first replicate, with this folder as the folder of the run."""
        self.write()
        return generate(self.plan(), "own", [0], self.folder)[0]

    def fit(self) -> list[Cell]:
        """The plan, the check of its files, and the cells of the first replicate; the files are written."""
        made = self.plan()
        check_files({self.study: made}, self.folder)
        data = generate(made, "own", [0], self.folder)
        return [
            one for method in made.methods for one in run(made, "own", method, self.grid["parties"], [0], [0], data)
        ]


def cell(row: int, column: str, value: str) -> Change:
    return lambda own: own.rows[row].__setitem__(own.rows[0].index(column), value)


def every(column: str, value: str) -> Change:
    def change(own: OwnRows) -> None:
        for row in own.rows[1:]:
            row[own.rows[0].index(column)] = value

    return change


def raw(content: bytes, name: str = "data.csv") -> Change:
    return lambda own: own.text.update({name: content})


def setting(**keys: Any) -> Change:
    return lambda own: own.settings.update(keys)


def without(*keys: str) -> Change:
    return lambda own: [own.settings.pop(key) for key in keys]


def column(place: int, **keys: Any) -> Change:
    return lambda own: own.settings["columns"][place].update(keys)


def grid(**keys: Any) -> Change:
    return lambda own: own.grid.update(keys)


def spec(**keys: Any) -> Change:
    return lambda own: own.block["spec"].update(keys)


def method(**keys: Any) -> Change:
    return lambda own: own.block["methods"]["m"].update(keys)


def figures(*names: str) -> Change:
    return lambda own: own.block.update(figures=list(names))


def many(*changes: Change) -> Change:
    def change(own: OwnRows) -> None:
        for one in changes:
            one(own)

    return change


def kept(count: int) -> Change:
    return lambda own: own.rows.__delitem__(slice(count + 1, None))


def header(old: str, new: str) -> Change:
    return lambda own: own.rows[0].__setitem__(own.rows[0].index(old), new)
