"""Own files whose columns lie at two parties, valid for each study that takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from partywise.core.randomness import stream
from partywise.data.own.settings import OwnTables
from partywise.experiment.cells import run
from partywise.experiment.data import complete
from partywise.experiment.plan import Plan, plan
from partywise.experiment.study import available, load
from protocol_driver import data_rng

# All studies that read columns split over parties; the first protocol of one that has no method here.
STUDIES = tuple(
    name
    for name in available()
    if any(issubclass(source.settings, OwnTables) for source in load(name).sources.values())
)
METHOD = {
    "vertical_trees": {"protocol": "feature_gathering", "protect": "dp", "num_of_trees": 2},
    "vertical_linear": {"protocol": "exact"},
    "vertical_glm": {"protocol": "moments", "cipher": "sized"},
}
IDS = [f"c{1000 + i}" for i in range(40)]


class Columns:
    """A folder with shop.csv (id, a, c) and bank.csv (id, person, b, late), and the settings that read them."""

    def __init__(self, folder: Path, study: str) -> None:
        rng = stream(5, "own", "columns")
        self.folder, self.study = folder, study
        self.shop = [["id", "a", "c"]]
        self.bank = [["id", "person", "b", "late"]]
        for i, (name, a, b) in enumerate(zip(IDS, rng.normal(size=40), rng.normal(size=40), strict=True)):
            self.shop.append([name, f"{a:.3f}", "xyz"[i % 3]])
            self.bank.append([name, f"p{i // 4}", f"{b:.3f}", str(int(rng.random() < 1 / (1 + np.exp(-a - b))))])
        self.bank[1:] = [self.bank[1 + i] for i in rng.permutation(40)]
        declared: dict[str, Any] = {"bounds": [-3, 3]}
        cuts = {"edges": [-1.0, 0.0, 1.0]} if study == "vertical_trees" else {}
        columns = [{"name": "a", **declared, **cuts}, {"name": "c", "levels": ["x", "y", "z"]}]
        shop = {"party": "shop", "file": "shop.csv", "columns": columns}
        bank = {"party": "bank", "file": "bank.csv", "columns": [{"name": "b", **declared}]}
        self.settings: dict[str, Any] = {"id": "id", "response": "late", "response_party": "bank"}
        self.settings["tables"] = [shop, bank]
        if study == "vertical_glm":
            self.settings |= {"family": "binomial", "records": "aligned"}
        self.spec: dict[str, Any] = {}
        self.method: dict[str, Any] = dict(METHOD.get(study, {"protocol": next(iter(load(study).methods))}))
        self.grid: dict[str, Any] = {"replicates": 1, "parties": [2], "folds": 2, "epsilon": [1.0]}
        self.text: dict[str, bytes] = {}
        self.case: dict[str, Any] = {"source": "table"}

    @property
    def first(self) -> dict[str, Any]:
        return self.settings["tables"][0]

    @property
    def second(self) -> dict[str, Any]:
        return self.settings["tables"][1]

    def plan(self) -> Plan:
        """What the configuration says."""
        case = self.case | {"settings": self.settings, "grid": {"methods": ["m"], **self.grid}}
        block = {"spec": self.spec, "methods": {"m": self.method}, "cases": {"own": case}}
        return plan(self.study, block, 1)

    def write(self) -> None:
        """The files, as they stand."""
        for name, rows in (("shop.csv", self.shop), ("bank.csv", self.bank)):
            (self.folder / name).write_text("".join(",".join(row) + "\n" for row in rows))
        for name, content in self.text.items():
            (self.folder / name).write_bytes(content)

    def load(self) -> Any:
        """Write the files and make the data, with this folder as the folder of the run."""
        made = self.plan()
        self.write()
        chosen = made.cases["own"]
        drawn = chosen.source.generate(chosen.settings, made.spec, data_rng(), Path("resources"))
        data = complete(made, "own", drawn)
        if made.study.folds is not None:
            made.study.folds(data, chosen.folds, chosen.settings)
        return data

    def fit(self) -> dict[str, Any]:
        """Scalars of the first cell."""
        made, data = self.plan(), self.load()
        return dict(run(made, "own", "m", 2, [0], [0], {0: data})[0].scalars)
