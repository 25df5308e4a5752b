"""Own data as described, and changes that break them: what the tables of mistakes are made of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from own_data_sets import write_netcdf
from partywise.experiment.plan import Plan, plan
from partywise.studies.functional_boosting.own_cases import draw, table
from protocol_driver import data_rng

IDS = [f"d{i:02d}" for i in range(24)]
HOURS = [1.0, 5.0, 9.0, 13.0, 17.0, 21.0]
Change = Callable[["Own"], object]


def level(i: int, k: int) -> float:
    return round(np.sin(i + k / 2) + 0.1 * i, 3)


class Own:
    """A folder with the files of a valid configuration: response (long), rain (wide), heat (NetCDF)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.response = [["day", "week", "hour", "level"]]
        self.rain = [["day", *(f"h{hour:g}" for hour in HOURS)]]
        for i, day in enumerate(IDS):
            self.response += [[day, f"w{i // 4}", f"{hour:g}", f"{level(i, k)}"] for k, hour in enumerate(HOURS)]
            self.rain.append([day, *(f"{level(2 * i, k) + 1:.3f}" for k in range(6))])
        self.heat = np.array([[level(3 * i, k) for k in range(6)] for i in range(24)])
        write_netcdf(folder / "heat.nc", "day", IDS, HOURS, heat=self.heat)
        scale: dict[str, Any] = {"scale": 2.0, "range": [-10, 10]}
        self.settings: dict[str, Any] = {
            "id": "day",
            "domain": [0, 24],
            "radius": 2.0,
            "response_radius": 2.0,
            "smoothing": 1e-5,
            "n_basis_x": 5,
            "n_basis_y": 5,
            "fold_block": "week",
            "response": {"file": "level.csv", "time": "hour", "value": "level", "unit": "m", **scale},
            "predictors": [
                {
                    "name": "rain",
                    "party": "gauge",
                    "file": "rain.csv",
                    "format": "wide",
                    "columns": "h*",
                    "times": "names",
                    **scale,
                },
                {
                    "name": "heat",
                    "party": "office",
                    "file": "heat.nc",
                    "format": "netcdf",
                    "time": "time",
                    "value": "heat",
                    **scale,
                },
            ],
        }
        self.text: dict[str, bytes] = {}
        self.case: dict[str, Any] = {"source": "table"}

    @property
    def first(self) -> dict[str, Any]:
        return self.settings["predictors"][0]

    @property
    def second(self) -> dict[str, Any]:
        return self.settings["predictors"][1]

    def plan(self) -> Plan:
        grid = {"methods": ["m"], "replicates": 1, "parties": [2], "folds": 2, "epsilon": [1.0]}
        block = {
            "methods": {"m": {"protocol": "moments", "cipher": "sized"}},
            "cases": {"own": {**self.case, "settings": self.settings, "grid": grid}},
        }
        return plan("functional_boosting", block, 1)

    def load(self) -> Any:
        """Write the files and make the data, with this folder as the folder of the run."""
        for name, rows in (("level.csv", self.response), ("rain.csv", self.rain)):
            (self.folder / name).write_text("".join(",".join(row) + "\n" for row in rows))
        for name, content in self.text.items():
            (self.folder / name).write_bytes(content)
        settings = self.plan().cases["own"].settings
        return table(settings, draw(settings, None, data_rng(), Path("resources")))


def cell(row: int, column: int, value: str, table: str = "response") -> Change:
    return lambda own: getattr(own, table)[row].__setitem__(column, value)


def raw(name: str, content: bytes) -> Change:
    return lambda own: own.text.update({name: content})


def setting(**keys: Any) -> Change:
    return lambda own: own.settings.update(keys)


def response(**keys: Any) -> Change:
    return lambda own: own.settings["response"].update(keys)


def first(**keys: Any) -> Change:
    return lambda own: own.first.update(keys)


def second(**keys: Any) -> Change:
    return lambda own: own.second.update(keys)


def many(*changes: Change) -> Change:
    def change(own: Own) -> None:
        for one in changes:
            one(own)

    return change


def every(column: int, value: str, table: str = "response") -> Change:
    def change(own: Own) -> None:
        for row in getattr(own, table)[1:]:
            row[column] = value

    return change


def netcdf(ids: list[str] = IDS, time: list[float] = HOURS, **values: np.ndarray) -> Change:
    return lambda own: write_netcdf(own.folder / "heat.nc", "day", ids, time, **(values or {"heat": own.heat}))


def without(table: str, keep: Callable[[list[str]], bool]) -> Change:
    def change(own: Own) -> None:
        rows = getattr(own, table)
        rows[1:] = [row for row in rows[1:] if keep(row)]

    return change
