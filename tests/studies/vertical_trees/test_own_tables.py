"""Own tables by configuration alone: files to parties, ids, categories, and every mistake told in one sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from own_data_sets import example_tables, write_csv
from partywise.core.errors import CertificationError, ConfigError, DataMissing
from partywise.core.randomness import stream
from partywise.data.own.records import draw_rows
from partywise.experiment.cells import run
from partywise.experiment.configuration.build import build
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.plans import read_configuration
from partywise.studies.vertical_trees.cases import own_rows as table
from partywise.studies.vertical_trees.data import split
from partywise.studies.vertical_trees.own_settings import TreeTableSettings
from pipeline import ROOT, copy_project, snakemake

EXAMPLE = "config/my_tables.example.yaml"
IDS = [f"r{i:02d}" for i in range(30)]
A = np.round(stream(3, "own", "tables").normal(size=(30, 2)), 3)


pytestmark = pytest.mark.usefixtures("folder")


LATE = {"response": "late", "response_party": "bank"}


def first(**more: Any) -> dict[str, Any]:
    columns = [{"name": "a", "edges": [-1, 0, 1], "bounds": [-3, 3]}, {"name": "c", "levels": ["x", "y"]}]
    return {"party": "shop", "file": "one.csv", "columns": columns} | more


def second(**more: Any) -> dict[str, Any]:
    return {"party": "bank", "file": "two.csv", "columns": [{"name": "b"}]} | more


def settings(one: dict[str, Any] | None = None, two: dict[str, Any] | None = None, **more: Any) -> TreeTableSettings:
    return build(
        TreeTableSettings, LATE | {"id": "id", "tables": [one or first(), two or second()], **more}, "settings"
    )


def write(ids_two: list[str] | None = None, **replaced: Any) -> None:
    """Two files; ``replaced`` are entries of the fourth row by column."""
    names = IDS if ids_two is None else ids_two
    one = [[i, a, "xy"[k % 2]] for k, (i, a) in enumerate(zip(IDS, A[:, 0], strict=True))]
    two = {i: [b, k % 3 == 0] for k, (i, b) in enumerate(zip(IDS, A[:, 1], strict=True))}
    rows = [[i, two.get(i, [0.0, 0])[0], int(two.get(i, [0.0, 0])[1])] for i in names]
    for place, name, written in ((1, "a", one), (2, "c", one), (1, "b", rows), (2, "late", rows), (0, "id", rows)):
        if name in replaced:
            written[3][place] = replaced[name]
    write_csv(Path("one.csv"), ("id", "a", "c"), one)
    write_csv(Path("two.csv"), ("id", "b", "late"), rows)


def made(chosen: TreeTableSettings, replicate: int = 0) -> Any:
    drawn = draw_rows(chosen, None, lambda *names: stream(7, "data", replicate, *names), Path("resources"))
    return table(chosen, drawn)


def test_files_become_parties_with_the_names_they_were_given():
    write(ids_two=IDS[::-1])
    chosen = settings()
    data, other = made(chosen), made(chosen, 1)
    np.testing.assert_array_equal(data.X, np.column_stack([A[:, 0], np.arange(30) % 2, A[:, 1]]))
    np.testing.assert_array_equal(data.y, np.arange(30) % 3 == 0)
    assert not np.array_equal(data.train, other.train) and data.train.sum() == 24
    shop, bank = split(data, 2, None, chosen)
    assert (shop.name, shop.role, shop.columns) == ("shop", "passive", (0, 1))
    assert (bank.name, bank.role, bank.columns) == ("bank", "active", (2,)) and "y" in bank.block
    facts = data.public().columns
    assert facts[0].edges.value.tolist() == [-1, 0, 1] and facts[0].bounds.value == (-3, 3)
    assert facts[1].edges.value.tolist() == [0.5] and facts[2].edges is None
    assert chosen.columns_without_edges == chosen.columns_without_bounds == (2,)
    assert chosen.files == {"tables[0].file": "one.csv", "tables[1].file": "two.csv"}


def test_the_active_party_may_come_first_and_ids_may_have_other_names():
    write()
    Path("two.csv").write_text(Path("two.csv").read_text().replace("id,", "number,", 1))
    chosen = build(TreeTableSettings, LATE | {"id": "id", "tables": [second(id="number"), first()]}, "settings")
    data = made(chosen)
    bank, shop = split(data, 2, None, chosen)
    assert (bank.role, bank.columns, shop.columns) == ("active", (0,), (1, 2))


def test_common_ids_are_matched_and_others_refused():
    write(ids_two=[*IDS[2:], "new"])
    with pytest.raises(
        DataMissing, match=r"bank \(two.csv\) and shop \(one.csv\) have different ids: 1 \(new\) only in"
    ):
        made(settings())
    data = made(settings(match="common"))
    np.testing.assert_array_equal(data.X[:, 0], A[2:, 0])
    with pytest.raises(DataMissing, match="28 records are in all files where min_records is 29"):
        made(settings(match="common", min_records=29))


@pytest.mark.parametrize(
    ("replaced", "says"),
    [
        ({"a": ""}, r"one\.csv: a is missing in 1 of 30 rows \(row 5\): fill it in, set missing to drop to"),
        ({"b": "NA"}, r"two\.csv: b is missing in 1 of 30 rows \(row 5\)"),
        ({"late": ""}, r"two\.csv: late is missing in 1 of 30 rows"),
        ({"a": "high"}, r"one\.csv: a is 'high' in row 5, which is not a number"),
        ({"a": "inf"}, r"one\.csv: a is 'inf' in row 5, which is infinite"),
        ({"c": "z"}, r"one\.csv: c is 'z' in row 5: its levels are x, y; correct it, or add the level"),
        ({"id": "r01"}, r"two\.csv has the id 'r01' in row 3 and row 5: keep one"),
        ({"id": ""}, r"two\.csv has no id in row 5: every row needs the id of its record"),
    ],
)
def test_entries_that_do_not_belong_are_named(replaced, says):
    write(**replaced)
    with pytest.raises(DataMissing, match=says):
        made(settings())


def test_labels_are_classes_where_the_criterion_says_so():
    write(late=7)
    with pytest.raises(
        DataMissing, match=r"two\.csv: late is '7' in row 5: labels are 0 and 1; correct it, or name the entry"
    ):
        made(settings())
    assert made(settings(loss="RegressionMSELoss")).y[3] == 7


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"one": first(label="a")}, r"tables\[0\].label is called response now and belongs one block up: move it"),
        ({"response_party": "lab"}, "response_party is 'lab': the tables are of shop, bank"),
        ({"two": second(columns=[{"name": "late"}])}, "response is 'late', which 'bank' has among its columns"),
        ({"two": second(party="shop")}, "tables has the party 'shop' twice"),
        ({"two": second(party="dealer")}, "tables has the party 'dealer': that name belongs to a protocol"),
        ({"two": second(columns=[{"name": "a"}])}, "tables has the column 'a' twice"),
        ({"one": first(columns=[])}, "columns is empty: a party holds at least one"),
        ({"one": first(delimiter=";;")}, "delimiter is ';;': it must be one character"),
        ({"dims": [2, 3]}, r"dims is \(2, 3\): tables say who holds what; leave it out"),
        ({"active": "first"}, "active is 'first': tables say who holds what"),
        (
            {"one": first(columns=[{"name": "a", "edges": [1, 0]}])},
            r"edges is \[1.0, 0.0\]: give at least one, in incr",
        ),
        ({"one": first(columns=[{"name": "a", "edges": []}])}, r"edges is \[\]: give at least one"),
        (
            {"one": first(columns=[{"name": "a", "bounds": [3, 3]}])},
            r"bounds is \[3.0, 3.0\]: it must be finite and inc",
        ),
        (
            {"one": first(columns=[{"name": "a", "levels": ["x"]}])},
            r"levels is \['x'\]: give at least two and none twice",
        ),
        ({"one": first(columns=[{"name": "a", "levels": ["x", "x"]}])}, "give at least two and none twice"),
        (
            {"one": first(columns=[{"name": "a", "levels": ["x", "y"], "edges": [1]}])},
            r"edges is \[1.0\]: levels are bins by themselves",
        ),
        ({"min_records": 1}, "min_records is 1: it must be at least 2"),
        ({"one": first(colour="red")}, r"tables\[0\]\.colour is unknown"),
    ],
)
def test_settings_that_contradict_themselves_are_named(words, says):
    with pytest.raises(ConfigError, match=says):
        settings(**words)


def test_one_file_is_no_federation():
    with pytest.raises(ConfigError, match="tables has 1 files: give one for each of at least two parties"):
        build(TreeTableSettings, LATE | {"id": "id", "tables": [second()]}, "settings")


def configuration(method: dict[str, Any], parties: int = 2) -> Any:
    grid = {"methods": ["tried"], "replicates": 1, "parties": [parties], "folds": 1, "epsilon": [1.0]}
    case = {"source": "table", "settings": LATE | {"id": "id", "tables": [first(), second()]}, "grid": grid}
    return plan("vertical_trees", {"methods": {"tried": method}, "cases": {"own": case}, "figures": []}, 7)


def test_the_grid_has_the_parties_of_the_files():
    assert configuration({"protocol": "pooled"}).n_cells == 1
    with pytest.raises(ConfigError, match=r"cases\.own\.grid\.parties is 3: the settings name 2 files"):
        configuration({"protocol": "pooled"}, 3)


def test_certified_methods_need_what_passive_columns_do_not_declare(monkeypatch):
    """The second party has the label: its columns need nothing, those of the first do."""
    gathering = {"protocol": "feature_gathering", "protect": "dp"}
    assert configuration(gathering).n_cells == 1
    monkeypatch.setitem(globals(), "first", lambda: {"party": "shop", "file": "one.csv", "columns": [{"name": "a"}]})
    for method, what in ((gathering, "edges"), (gathering | {"protect": "op_boost"}, "bounds")):
        with pytest.raises(CertificationError, match=f"column 0 .* has no declared {what}") as caught:
            configuration(method)
        assert isinstance(caught.value, ConfigError)
    assert configuration({"protocol": "feature_gathering"}).n_cells == 1


def test_every_cell_of_the_shipped_example(folder):
    example_tables(folder / "config" / "example_data")
    config = read_configuration(ROOT / EXAMPLE)
    made = plan("vertical_trees", config["studies"]["vertical_trees"], config["root_seed"])
    data = generate(made, "my_tables", [0], folder)
    found = {m: run(made, "my_tables", m, 2, [0], [0], data) for m in made.cases["my_tables"].methods}
    losses = {method: [cell.scalars["log_loss"] for cell in cells] for method, cells in found.items()}
    assert losses["plain"] == pytest.approx(losses["pooled"], abs=1e-12)
    assert losses["pooled"][0] < losses["active_only"][0] and losses["randomised"][2] < losses["active_only"][0]
    assert [cell.scalars["epsilon_certified"] for cell in found["randomised"]] == pytest.approx([1, 4, 16], rel=1e-6)


def test_a_run_by_configuration_alone(folder):
    project = copy_project(folder / "project")
    config = read_configuration(project / EXAMPLE)
    study = config["studies"]["vertical_trees"]
    study["cases"]["my_tables"]["grid"] |= {"methods": ["plain"], "replicates": 1}
    study["figures"], config["studies"] = [], {"vertical_trees": study}
    (project / "mine.yaml").write_text(yaml.safe_dump(config))
    done = snakemake(project, "--configfile", "mine.yaml", "--cores", "2")
    assert done.returncode == 0, done.stderr
    (file,) = (project / "results/mine/logs/vertical_trees/fit").rglob("*.log")
    log = file.read_text()
    assert "records in all files: 400" in log and not re.search(r"[0-9a-f]{64}", log)
