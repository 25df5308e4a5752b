"""What is taken home of the shipped examples of own data: a few fits of each study, stored and collected as jobs do."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

from partywise.experiment.blocks import write_block
from partywise.experiment.cells import run
from partywise.experiment.collect import collect
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan
from partywise.experiment.plans import read_configuration

ROOT = Path(__file__).resolve().parents[2]
OUTPUTS = {"cube": "cube.nc", "predictions": "predictions.csv", "models": "models.json"}
OUTPUTS |= {"dictionary": "dictionary.csv", "findings": "findings.json"}
OUTPUTS |= {name: f"{name}.out" for name in ("tidy", "ledger", "totals", "wire", "summary", "text", "tables")}
# Study, example and methods; every study has one that is certified and one that is not.
EXAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "federated_survival": ("my_survival", {"pooled": None, "noisy_scores": None}),
    "functional_boosting": ("my_data", {"least_squares": None, "local": None}),
    "label_private": ("my_labels", {"planned_release": None, "unprotected": None}),
    "sliced_inverse_regression": (
        "my_clients",
        {"pooled_sir": None, "own_moments": {"protocol": "certified", "size": "estimated"}},
    ),
    "vertical_trees": (
        "my_tables",
        {
            "pooled": {"protocol": "pooled", "num_of_trees": 3},
            "noisy_tables": {"protocol": "tables"},
        },
    ),
    "vertical_linear": ("my_tables", {"exact_fit": None}),
    "vertical_glm": ("my_tables", {"direct": {"protocol": "reference"}, "private_moments": None}),
}


class Taken(NamedTuple):
    """The plan, the data of replicate 0, and what stands in the files of a folder."""

    plan: Plan
    data: Any
    folder: Path
    rows: list[dict[str, str]]
    models: dict[str, Any]

    def fits(self) -> dict[tuple[str, ...], list[dict[str, str]]]:
        """Rows by method, fold and epsilon."""
        found: dict[tuple[str, ...], list[dict[str, str]]] = {}
        for row in self.rows:
            found.setdefault((row["method"], row["fold"], row["epsilon"]), []).append(row)
        return found


def example_plan(study: str, folds: int | None = None) -> Plan:
    """The shipped example of a study with a few methods and one target of epsilon, two replicates."""
    file, methods = EXAMPLES[study]
    written = read_configuration(ROOT / f"config/{file}.example.yaml")
    block = written["studies"][study]
    block["methods"] = {label: entry or block["methods"][label] for label, entry in methods.items()}
    for entry in block["methods"].values():
        if entry.get("without_noise") not in methods:
            entry.pop("without_noise", None)
    block["figures"] = []
    name, case = next(iter(block["cases"].items()))
    block["cases"] = {name: case}
    grid = case["grid"] | {"methods": list(methods), "replicates": 2}
    case["grid"] = grid | {"epsilon": [max(grid["epsilon"])], "folds": folds or min(2, grid["folds"])}
    if study == "vertical_glm":
        case["settings"] |= {"records": "aligned"}
    return plan(study, block, written["root_seed"])


def taken(made: Plan, folder: Path, together: bool = True) -> Taken:
    """Fit, store and collect; ``together`` says whether the folds of a method share a file."""
    (name,) = made.cases
    case = made.cases[name]
    data, paths = generate(made, name, range(2), ROOT / "resources"), []
    for method in case.methods:
        for folds in [range(case.folds)] if together else [[fold] for fold in range(case.folds)]:
            path = folder / f"{method}_{folds[0]}.npz"
            write_block(path, run(made, name, method, case.parties, range(2), folds, data))
            paths.append(path)
    collect(made, paths, {key: folder / file for key, file in OUTPUTS.items()}, code_sha256="c" * 64, root=folder)
    with (folder / "predictions.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    return Taken(made, data[0], folder, rows, json.loads((folder / "models.json").read_text(encoding="utf-8")))


def table(file: str) -> dict[str, dict[str, str]]:
    """An example file by the entries of its first column."""
    with (ROOT / "config/example_data" / file).open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    return {next(iter(row.values())): row for row in rows}
