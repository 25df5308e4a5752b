"""Small own data of each study that takes them, whole in one folder and one folder a party, and what all share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from own_data_sets import write_csv
from partywise.core.randomness import stream
from partywise.deployment.deployments import Deployment, deployments_of
from partywise.experiment.cells import Cell, run
from partywise.experiment.data import generate
from partywise.experiment.plans import plans
from partywise.experiment.study import available, load

# All studies that read the files of parties apart.
STUDIES = tuple(name for name in available() if any(source.apart for source in load(name).sources.values()))
# Table of a party: header and rows; tables by file by party.
Table = tuple[Sequence[str], list[list[str]]]
DAYS, PEOPLE, FIRST_PORT = 24, 60, 47110
# Columns of the organisations of `Columns`.
HELD = {"clinic": ["arm", "sex", "age"], "office": ["died", "years", "cause"]}


class Apart:
    """One case of a study: ``files`` of every party, and the configuration.

    settings, method, grid, spec, network, figures : of the configuration, changed at will before `config` is read
    """

    def __init__(self, study: str) -> None:
        self.study = study
        self.files: dict[str, dict[str, Table]] = {}
        self.settings: dict[str, Any] = {}
        self.spec: dict[str, Any] = {}
        self.figures: list[str] | None = None
        self.grid: dict[str, Any] = {"replicates": 1, "parties": [2], "folds": 1, "epsilon": [2.0]}
        self.network: dict[str, Any] = {"study": study, "case": "own", "method": "m", "mode": "experiment"}
        self.method: dict[str, Any] = {}
        cases = {"functional_boosting": curves, "label_private": labels, "sliced_inverse_regression": clients}
        cases |= {"federated_survival": follow_up, "federated_epidemiology": tables}
        cases |= dict.fromkeys(("vertical_trees", "vertical_linear", "vertical_glm"), columns)
        if study not in cases:
            raise LookupError(
                f"study is {study!r}: it reads files of parties apart and has no small case; write one in "
                "tests/support/deployment_cases.py, and in tests/deployment/test_party_results.py its row "
                "of METHODS, which says who has the estimate."
            )
        cases[study](self)
        self.network["parties"] = {
            name: {"host": "localhost", "port": FIRST_PORT + k} for k, name in enumerate(self.names)
        }

    @property
    def names(self) -> tuple[str, ...]:
        """Everybody on the channel."""
        extra = {"functional_boosting": ("analyst", "dealer"), "label_private": (), "vertical_trees": ("dealer",)}
        helper = "aggregator" if self.method.get("protocol") == "noisy_newton" else "dealer"
        extra |= {"vertical_glm": ("analyst", helper)}
        return (*self.files, *extra.get(self.study, ("server",)))

    def take_newton_steps(self) -> None:
        """Fit by noisy Newton steps, whose records an aggregator sees, in place of the dealer."""
        self.method = {"protocol": "noisy_newton"}
        parties = self.network["parties"]
        parties["aggregator"] = parties.pop("dealer")
        self.network["trusted"] = {"aggregator": "Statistics Office"}

    @property
    def config(self) -> dict[str, Any]:
        """What all parties share."""
        case = {"source": "table", "settings": self.settings, "grid": {"methods": ["m"], **self.grid}}
        block = {"spec": self.spec, "methods": {"m": self.method}, "cases": {"own": case}}
        block |= {} if self.figures is None else {"figures": self.figures}
        return {"root_seed": 5, "studies": {self.study: block}, "network": self.network}

    def protect_labels_alone(self) -> None:
        """State no persons, which a place without data does not know."""
        self.spec = {"unit": "label"}
        del self.settings["user"], self.settings["rows_per_user"]

    def deployment(self) -> Deployment:
        """The checked block of one fit."""
        [found] = self.deployments()
        return found

    def deployments(self) -> tuple[Deployment, ...]:
        """The fits of the checked block."""
        config = self.config
        return deployments_of(config, plans(config))

    def write(self, folder: Path) -> Path:
        """``whole`` with all files, and the folder of each party with its own; the place of the former."""
        for party, tables in self.files.items():
            for file, (header, rows) in tables.items():
                for place in ("whole", party):
                    write_csv(folder / place / file, header, rows)
        return folder / "whole"


def simulated(case: Apart, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Cell:
    """The cell of the same fit where all data lie in one place."""
    monkeypatch.chdir(folder / "whole")
    found = case.deployment()
    network = found.network
    data = generate(found.plan, network.case, [0], "resources")
    cells = run(found.plan, network.case, network.method, found.n_parties, [0], [network.fold], data)
    (cell,) = (one for one in cells if one.coords["epsilon"] == found.epsilon)
    monkeypatch.chdir(folder)
    return cell


def _text(values: np.ndarray) -> list[str]:
    return [f"{value:.3f}" for value in values]


def columns(case: Apart) -> None:
    """Features of a shop; of a bank features and the label."""
    rng = stream(3, "apart", "columns")
    a, b = rng.normal(size=PEOPLE), rng.normal(size=PEOPLE)
    late = (rng.random(PEOPLE) < 1 / (1 + np.exp(-a - b))).astype(int)
    ids, kind = [f"c{100 + i}" for i in range(PEOPLE)], ["xyz"[i] for i in rng.integers(0, 3, PEOPLE)]
    shop = [list(row) for row in zip(ids, _text(a), kind, strict=True)]
    bank = [list(row) for row in zip(ids, _text(b), map(str, late), strict=True)]
    case.files = {"shop": {"shop.csv": (("id", "a", "c"), shop)}, "bank": {"bank.csv": (("id", "b", "late"), bank)}}
    cuts = {"edges": [-1.0, 0.0, 1.0]} if case.study == "vertical_trees" else {}
    declared = [{"name": "a", "bounds": [-3, 3], **cuts}, {"name": "c", "levels": ["x", "y", "z"]}]
    case.settings = {
        "id": "id",
        "response": "late",
        "response_party": "bank",
        "tables": [
            {"party": "shop", "file": "shop.csv", "columns": declared},
            {"party": "bank", "file": "bank.csv", "columns": [{"name": "b", "bounds": [-3, 3]}]},
        ],
    }
    if case.study == "vertical_glm":
        case.settings |= {"family": "binomial", "records": "aligned"}
    case.method = {
        "vertical_trees": {"protocol": "feature_gathering", "protect": "dp", "num_of_trees": 2},
        "vertical_linear": {"protocol": "certified", "cipher": "sized", "total_round_num": 3, "eval_freq": 1},
        "vertical_glm": {"protocol": "moments", "dealer": "dealer"},
    }[case.study]
    case.network |= {"rows": PEOPLE}
    if case.study == "vertical_linear":
        case.grid |= {"epsilon": [1.0]}
    else:
        case.network |= {"epsilon": 2.0}


def labels(case: Apart) -> None:
    """Features of a shop, and labels of a bank; a person has two rows."""
    rng = stream(3, "apart", "labels")
    ids, persons = [f"v{100 + i}" for i in range(PEOPLE)], [f"p{i // 2:02d}" for i in range(PEOPLE)]
    minutes = rng.uniform(0, 60, PEOPLE)
    ordered = np.where(rng.random(PEOPLE) < minutes / 60, "yes", "no")
    kind = ["xyz"[i] for i in rng.integers(0, 3, PEOPLE)]
    shop = [list(row) for row in zip(ids, persons, _text(minutes), kind, strict=True)]
    bank = [list(row) for row in zip(ids, persons, ordered.tolist(), strict=True)]
    case.files = {
        "shop": {"visits.csv": (("id", "person", "minutes", "kind"), shop)},
        "bank": {"orders.csv": (("id", "person", "ordered"), bank)},
    }
    case.settings = {
        "id": "id",
        "tables": [
            {"party": "shop", "file": "visits.csv"},
            {"party": "bank", "file": "orders.csv"},
        ],
        "columns": [{"name": "minutes", "bounds": [0, 60]}, {"name": "kind", "levels": ["x", "y", "z"]}],
        "response": "ordered",
        "response_party": "bank",
        "positive": "yes",
        "user": "person",
        "rows_per_user": 2,
    }
    case.spec, case.method = {"unit": "user_label"}, {"protocol": "walr"}
    case.network |= {"epsilon": 2.0}


def clients(case: Apart) -> None:
    """Rows of two clinics; a patient has two."""
    rng, header = stream(3, "apart", "clients"), ("patient", "age", "smoker", "flow")
    for place, n in (("north", 80), ("south", 60)):
        rows = []
        for i in range(n):
            age, smoker = rng.uniform(20, 80), ("no", "yes")[int(rng.random() < 0.3)]
            flow = 500 - age + rng.normal(0, 8) - 20 * (smoker == "yes")
            rows.append([f"{place[0]}{i // 2}", f"{age:.0f}", smoker, f"{flow:.1f}"])
        case.files[place] = {f"{place}.csv": (header, rows)}
    case.settings = {
        "tables": [{"party": place, "file": f"{place}.csv"} for place in case.files],
        "columns": [{"name": "age", "bounds": [20, 80]}, {"name": "smoker", "levels": ["no", "yes"]}],
        "response": "flow",
        "edges": [440, 460],
        "user": "patient",
        "rows_per_user": 2,
        "least": 50,
        "delta_power": 1.5,
    }
    case.spec, case.method = {"unit": "user"}, {"protocol": "certified"}
    case.network |= {"epsilon": 2.0, "rows": {"north": 80, "south": 60}}


def follow_up(case: Apart) -> None:
    """Patients of three hospitals, followed for up to 24 months."""
    rng, header = stream(3, "apart", "follow-up"), ("patient", "months", "status", "age", "treated")
    for place, n in (("north", 80), ("south", 60), ("west", 50)):
        rows = []
        for i in range(n):
            age, treated = rng.uniform(40, 80), ("no", "yes")[int(rng.random() < 0.5)]
            relapse = rng.exponential(20 * np.exp(-(age - 60) / 30 + 0.8 * (treated == "yes")))
            months = min(relapse, rng.uniform(6, 40), 24.0)
            rows.append([f"{place[0]}{i}", f"{months:.2f}", str(int(months == relapse)), f"{age:.0f}", treated])
        case.files[place] = {f"{place}.csv": (header, rows)}
    case.settings = {
        "tables": [{"party": place, "file": f"{place}.csv"} for place in case.files],
        "id": "patient",
        "time": "months",
        "event": "status",
        "horizon": 24,
        "because": "follow-up of the study",
        "columns": [{"name": "age", "bounds": [40, 80]}, {"name": "treated", "levels": ["no", "yes"]}],
    }
    case.grid |= {"parties": [3], "epsilon": [8.0]}
    case.spec, case.method = {"delta": 1e-4}, {"protocol": "scores"}
    case.network |= {"epsilon": 8.0, "rows": {place: len(case.files[place][f"{place}.csv"][1]) for place in case.files}}


def tables(case: Apart) -> None:
    """Patients of a trial at three hospitals: who they are, and who died."""
    rng, header = stream(3, "apart", "tables"), ("patient", "arm", "sex", "age", "died")
    for place, n in (("north", 300), ("south", 240), ("west", 160)):
        rows = []
        for i in range(n):
            drug, sex, age = (
                rng.random() < 0.5,
                str(rng.choice(["f", "m", ""], p=[0.5, 0.45, 0.05])),
                rng.uniform(40, 80),
            )
            died = rng.random() < 0.25 + 0.2 * drug
            rows.append([f"{place[0]}{i}", ("no", "yes")[int(drug)], sex, f"{age:.0f}", ("no", "yes")[int(died)]])
        case.files[place] = {f"{place}.csv": (header, rows)}
    binary = ["no", "yes"]
    case.settings = {
        "tables": [{"party": place, "file": f"{place}.csv"} for place in case.files],
        "id": "patient",
        "columns": [
            {"name": "arm", "levels": binary},
            {"name": "sex", "levels": ["f", "m"]},
            {"name": "age", "bounds": [40, 80]},
            {"name": "died", "levels": binary},
        ],
        "questions": {
            "by": "arm",
            "table_one": ["sex"],
            "means": ["age"],
            "cross": [["arm", "died"]],
            "complete": ["arm", "died"],
        },
    }
    case.grid |= {"parties": [3], "epsilon": [4.0]}
    case.spec, case.method = {"delta": 1e-5}, {"protocol": "tables"}
    case.network |= {"epsilon": 4.0, "rows": {place: len(case.files[place][f"{place}.csv"][1]) for place in case.files}}


def curves(case: Apart) -> None:
    """The level of a river, the weather in long form, and a gauge upstream in wide form; weeks are held out."""
    rng, hours = stream(3, "apart", "curves"), np.arange(1, 24, 2)
    days = [(f"d{100 + i}", f"w{i // 4}") for i in range(DAYS)]
    level = 1.5 + rng.normal(0, 0.2, (DAYS, 1)) + 0.1 * np.sin(hours / 4 + rng.normal(size=(DAYS, 1)))
    rain = np.abs(rng.normal(1, 1, (DAYS, 1)) + rng.normal(0, 0.2, (DAYS, len(hours))))
    river, weather, gauge = [], [], []
    for i, day in enumerate(days):
        for k, hour in enumerate(hours):
            river.append([*day, str(hour), f"{level[i, k]:.3f}"])
            weather.append([*day, str(hour), f"{rain[i, k]:.3f}", f"{10 + 3 * np.cos(hour / 4 + i):.2f}"])
        gauge.append([*day, *_text(level[i] - 0.3)])
    wide = [f"h{hour:02d}" for hour in hours]
    case.files = {
        "active": {"river.csv": (("day", "week", "hour", "level"), river)},
        "weather office": {"weather.csv": (("day", "week", "hour", "rain", "temperature"), weather)},
        "upstream": {"gauge.csv": (("day", "week", *wide), gauge)},
    }
    long = {"time": "hour"}
    weather_file: dict[str, Any] = {"party": "weather office", "file": "weather.csv", **long}
    case.settings = {
        "id": "day",
        "domain": [0, 24],
        "response": {"file": "river.csv", **long, "value": "level", "centre": 1.5, "scale": 0.5, "range": [0, 5]},
        "predictors": [
            {"name": "rain", **weather_file, "value": "rain", "transform": "sqrt", "centre": 1.0, "scale": 0.5},
            {"name": "temperature", **weather_file, "value": "temperature", "centre": 10, "scale": 5},
            {"name": "above", "party": "upstream", "file": "gauge.csv", "format": "wide", "columns": "h*",
             "times": "names", "centre": 1.2, "scale": 0.5},
        ],
        "radius": 2.0,
        "response_radius": 2.5,
        "n_basis_x": 5,
        "n_basis_y": 5,
        "smoothing": 1e-5,
    }  # fmt: skip
    case.spec, case.method = {"unit": "features"}, {"protocol": "moments", "dealer": "dealer"}
    case.grid |= {"folds": 3, "epsilon": [1000.0]}
    case.network |= {"epsilon": 1000.0, "fold": 1, "rows": DAYS}


def clients_of_kinds() -> Apart:
    """One direction of two normal columns at two clinics, both declared."""
    case, rng = Apart("sliced_inverse_regression"), stream(3, "published intervals", "clients")
    sizes = {"north": 540, "south": 360}
    for place, n in sizes.items():
        X = rng.standard_normal((n, 2))
        flow = X @ [1.0, -0.5] + 0.5 * rng.standard_normal(n)
        case.files[place] = {f"{place}.csv": (("a", "b", "flow"), [_text(row) for row in np.column_stack([X, flow])])}
    normal = {"bounds": [-2, 2], "kind": "normal", "because": "by its meaning"}
    case.settings |= {"columns": [{"name": name} | normal for name in "ab"], "edges": [-1.0, 0.0, 1.0]}
    del case.settings["user"], case.settings["rows_per_user"]
    case.spec, case.method = {"unit": "row"}, {"protocol": "certified", "noise": "shared"}
    case.network |= {"rows": sizes, "epsilon": 8.0, "publisher": "server"}
    case.grid |= {"epsilon": [8.0]}
    return case


class Columns(Apart):
    """A clinic with arms and covariates of 300 patients, an office with their deaths."""

    def __init__(self) -> None:
        super().__init__("federated_epidemiology")
        rng, records = stream(4, "columns apart"), []
        for k in range(300):
            drug, years = rng.random() < 0.5, rng.exponential(4)
            died = "yes" if rng.random() < 0.3 + 0.3 * drug else "no"
            cause = "death" if rng.random() < 0.6 else ""
            sex = str(rng.choice(["f", "m", ""], p=[0.5, 0.45, 0.05]))
            clinic = [f"p{k}", ("no", "yes")[int(drug)], sex, f"{rng.uniform(40, 80):.0f}"]
            records.append((clinic, [f"p{k}", died, f"{years:.2f}", cause]))
        self.files = {
            name: {f"{name}.csv": (("patient", *HELD[name]), [record[place] for record in records])}
            for place, name in enumerate(HELD)
        }
        self.settings["tables"] = [{"party": name, "file": f"{name}.csv"} for name in HELD]
        incidence = {"time": "years", "cause": "cause", "causes": ["death"], "horizon": 8, "bins": 4}
        self.settings["questions"] |= {"column_holders": HELD, "incidence": [incidence]}
        self.grid["parties"], self.method = [2], {"protocol": "products"}
        self.network |= {"rows": 300, "mode": "release", "publisher": "analyst"}
        ports = self.network["parties"].values()
        self.network["parties"] = dict(zip(self.names, ports, strict=False))

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.files, "analyst")
