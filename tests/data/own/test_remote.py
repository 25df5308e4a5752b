"""A party's own files, and what stands in place of the others: each form of own data works, or says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deployment_cases import Apart
from own_data_sets import write_csv
from partywise.core.errors import DataMissing
from partywise.data.own.csv import PLACEHOLDERS
from partywise.data.own.grammar import ColumnBlock
from partywise.data.own.remote import column_of
from partywise.deployment.part import LocalRun, parts
from partywise.experiment.cells import execution
from partywise.experiment.data import generate

GLM, CLIENTS, LABELS, CURVES = "vertical_glm", "sliced_inverse_regression", "label_private", "functional_boosting"


def own(case: Apart, me: str, folder: Path) -> LocalRun:
    return parts((case.deployment(),), "salt", me, folder / me)[0]


def equal_to_the_simulation(case: Apart, folder: Path, monkeypatch: pytest.MonkeyPatch, fold: bool = True) -> None:
    """Blocks, public facts and folds of every party against those of all data."""
    monkeypatch.chdir(case.write(folder))
    deployment = case.deployment()
    network = deployment.network
    data = generate(deployment.plan, network.case, [0], "resources")[0]
    whole = execution(
        deployment.plan, network.case, network.method, deployment.n_parties, network.fold, deployment.epsilon, data
    )
    monkeypatch.chdir(folder)
    for number, me in enumerate(deployment.holders):
        found = own(case, me, folder).run
        if fold:
            np.testing.assert_array_equal(found.fold.of, whole.fold.of)
        assert set(found.parties[number].block) == set(whole.parties[number].block)
        for name, values in found.parties[number].block.items():
            np.testing.assert_array_equal(values, whole.parties[number].block[name])


def test_groups_of_curves_are_held_out_together_where_every_file_names_them(tmp_path, monkeypatch):
    case = Apart(CURVES)
    case.settings["fold_block"], case.method = "week", {"protocol": "boosting", "noise": "none"}
    for key in ("rows", "epsilon"):
        case.network.pop(key)
    for name in ("analyst", "dealer"):
        case.network["parties"].pop(name)
    equal_to_the_simulation(case, tmp_path, monkeypatch)
    header, rows = case.files["upstream"]["gauge.csv"]
    write_csv(tmp_path / "upstream" / "gauge.csv", (header[0], *header[2:]), [[row[0], *row[2:]] for row in rows])
    with pytest.raises(DataMissing, match=r"gauge.csv has no column 'week' \(fold_block\): it decides which records"):
        own(case, "upstream", tmp_path)


def test_one_file_with_a_column_of_clients(tmp_path, monkeypatch):
    case = Apart(CLIENTS)
    del case.settings["tables"]
    case.settings |= {"file": "all.csv", "party": "site", "parties": ["north", "south"]}
    every: list[list[str]] = []
    for name, tables in case.files.items():
        header, rows = tables[f"{name}.csv"]
        own_rows = [[name, *row] for row in rows]
        every += own_rows
        case.files[name] = {"all.csv": (("site", *header), own_rows)}
    case.write(tmp_path)
    write_csv(tmp_path / "whole" / "all.csv", ("site", "patient", "age", "smoker", "flow"), every)
    with monkeypatch.context() as patched:
        patched.setattr(case, "write", lambda folder: folder / "whole")
        equal_to_the_simulation(case, tmp_path, monkeypatch)
    with pytest.raises(DataMissing, match=r"all.csv: site is 'south' in row 82, and this is the file of 'north': in a"):
        parts((case.deployment(),), "salt", "north", tmp_path / "whole")


def test_records_that_arrive_unaligned_need_no_common_ids(tmp_path, monkeypatch):
    case = Apart(GLM)
    case.settings["records"], case.method = "unaligned", {"protocol": "bcd"}
    case.files["bank"]["bank.csv"][1][:20] = []
    for key in ("rows", "epsilon"):
        case.network.pop(key)
    case.network["parties"].pop("dealer")
    equal_to_the_simulation(case, tmp_path, monkeypatch, fold=False)
    assert not own(case, "bank", tmp_path).facts


def test_numbers_as_labels_and_trees_with_cuts_outside_the_bounds(tmp_path, monkeypatch):
    case = Apart("vertical_trees")
    case.settings["tables"][0]["columns"][0]["edges"] = [-9.0, 0.5]
    case.settings["loss"] = "RegressionMSELoss"
    case.settings["tables"][1]["columns"].append({"name": "late2", "edges": [0.5]})
    header, rows = case.files["bank"]["bank.csv"]
    case.files["bank"]["bank.csv"] = ((*header, "late2"), [[*row, row[-1]] for row in rows])
    equal_to_the_simulation(case, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "column",
    [
        {"bounds": (0.0, 1.0)},
        {"levels": ("a", "b", "c")},
        {"edges": (1.0,)},
        {"edges": (1.0, 2.0), "bounds": (0.0, 5.0)},
        {"edges": (7.0, 8.0), "bounds": (0.0, 5.0)},
        {"edges": (-2.0,), "bounds": (0.0, 5.0)},
        {},
    ],
)
@pytest.mark.parametrize("n", [2, 3, 21])
def test_entries_elsewhere_pass_the_checks_of_a_column(column: dict[str, Any], n: int):
    block = ColumnBlock(name="a", **column)
    entries = column_of(block, n)
    assert len(entries) == n and len(set(entries)) > 1
    if block.levels is not None:
        assert set(entries) <= set(block.levels)
        return
    values = np.array(entries, dtype=float)
    if block.bounds is not None:
        assert 2 * np.sum((values < block.bounds[0]) | (values > block.bounds[1])) <= n
    if block.edges is not None:
        assert len(set(np.searchsorted(block.edges, values).tolist())) > 1


def swap(rows: list[list[str]]) -> None:
    rows[3], rows[4] = rows[4], rows[3]


def add(rows: list[list[str]]) -> None:
    rows.append(["zz9", *rows[-1][1:]])


WRONG: list[tuple[str, str, str, Callable[[list[list[str]]], object], str]] = [
    (GLM, "bank", "bank.csv", swap, "bank.csv: id 'c103' follows 'c104': in a distributed run, the ids of ev"),
    (LABELS, "bank", "orders.csv", swap, "orders.csv: id 'v103' follows 'v104': in a distributed run"),
    (CURVES, "upstream", "gauge.csv", swap, "gauge.csv: day 'd103' follows 'd104': in a distributed run"),
    (GLM, "shop", "shop.csv", add, "shop.csv has 61 records that count, and rows of 'shop' is 60 in the configuration"),
    (CURVES, "upstream", "gauge.csv", add, "gauge.csv has 25 records that count, and rows of 'upstream' is 24"),
    (CLIENTS, "north", "north.csv", add, "north.csv has 81 records that count, and rows of 'north' is 80"),
    (CLIENTS, "north", "north.csv", lambda rows: rows[5].__setitem__(1, "old"), "north.csv: age is 'old' in row 7"),
]  # fmt: skip


@pytest.mark.parametrize(("study", "me", "file", "change", "sentence"), WRONG)
def test_a_wrong_own_file_is_one_sentence(study, me, file, change, sentence, tmp_path):
    case = Apart(study)
    change(case.files[me][file][1])
    case.write(tmp_path)
    with pytest.raises(DataMissing) as found:
        own(case, me, tmp_path)
    assert sentence in str(found.value) and str(found.value).endswith(".")
    assert PLACEHOLDERS.get() is None


def test_the_own_file_is_needed_and_no_other_is_looked_for(tmp_path):
    case = Apart(GLM)
    case.write(tmp_path)
    assert own(case, "shop", tmp_path).run.parties[0].block
    with pytest.raises(DataMissing, match=r"nowhere.shop.csv cannot be read \(No such file or directory\)"):
        parts((case.deployment(),), "salt", "shop", tmp_path / "nowhere")
    assert own(case, "analyst", tmp_path).run.parties[0].block == {}
