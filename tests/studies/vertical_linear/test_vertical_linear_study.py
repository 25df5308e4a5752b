"""The study: data, parties, folds, metrics, contradictions of a configuration, own tables, the source's own keys."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from own_data_sets import example_tables, write_csv
from partywise.core.errors import ConfigError
from partywise.core.randomness import Streams, stream
from partywise.data.column_facts import ColumnFacts
from partywise.data.descriptions import TABLES
from partywise.data.own.records import draw_rows
from partywise.data.tables import Table
from partywise.experiment.cells import run
from partywise.experiment.configuration.build import build
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan
from partywise.experiment.plans import plans, read_configuration
from partywise.experiment.trial import outcome, trials
from partywise.methods.linear.steps import exact_fit
from partywise.methods.trees.source_config import from_source
from partywise.studies.vertical_linear import cases
from partywise.studies.vertical_linear.cases import own_rows as table
from partywise.studies.vertical_linear.data import folds, split
from partywise.studies.vertical_linear.own_settings import LinearTableSettings
from partywise.studies.vertical_linear.study import LinearGeneratedSettings
from pipeline import ROOT

SIZED = {"protocol": "certified", "cipher": "sized"}
GRID = {"methods": ["tried"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}


def planned(settings=None, grid=None, method=None, source="generated") -> Plan:
    case = {"source": source, "settings": settings or {}, "grid": GRID | (grid or {})}
    block = {"methods": {"tried": {"protocol": "pooled"} | (method or {})}, "cases": {"made": case}, "figures": []}
    return plan("vertical_linear", block, 7)


def cell(parties=2, **words):
    made = planned(grid={"parties": [parties]}, **words)
    data = generate(made, "made", [0], ROOT / "resources")
    return run(made, "made", "tried", parties, [0], [0], data)[0], data[0]


def test_generated_rows_lie_in_their_bounds_and_follow_the_model():
    settings = LinearGeneratedSettings(n=4000, d=3, signal=1.5)
    data = cases.draw_generated(settings, None, lambda *names, **_: stream(7, *names), Path())
    assert data.X.shape == (4000, 3) and np.all(np.abs(data.X) <= data.bounds) and set(data.y) == {0, 1}
    assert data.train.sum() == 3200 and sorted(data.order) == list(range(4000))
    b, _ = exact_fit(data.X, 2 * data.y - 1, "logistic", 0.0, True)
    # The linear predictor of the truth has deviation 1.5; its estimate from 4000 rows is off by some per cent.
    assert np.std(data.X @ b[1:]) == pytest.approx(1.5, rel=0.1) and abs(b[0]) < 0.2
    numbers = LinearGeneratedSettings(n=4000, d=3, signal=1.5, loss="RegressionMSELoss", noise=0.5)
    data = cases.draw_generated(numbers, None, lambda *names, **_: stream(7, *names), Path())
    assert np.abs(data.y).max() <= data.label_bound == pytest.approx(6 * np.hypot(1.5, 0.5))
    assert np.std(data.y) == pytest.approx(np.hypot(1.5, 0.5), rel=0.05)


def test_columns_are_dealt_as_the_source_does_and_to_any_number_of_parties():
    settings = LinearGeneratedSettings(n=20, d=6, dims=(2, 6))
    assert settings.groups(2) == ((0, 1), (2, 3, 4, 5)) and settings.groups(3) == ((0, 1), (2, 3), (4, 5))
    assert settings.groups(7) == ((0,), (1,), (2,), (3,), (4,), (5,), ())
    data = cases.draw_generated(settings, None, lambda *names, **_: stream(7, *names), Path())
    one, two = split(data, 2, None, settings)
    assert (one.name, one.columns, two.name, two.role) == ("passive 1", (0, 1), "active", "active")
    np.testing.assert_array_equal(np.column_stack([one.block["X"], two.block["X"]]), data.X)
    first = LinearGeneratedSettings(n=20, d=6, active="first")
    assert [party.name for party in split(data, 3, None, first)] == ["active", "passive 1", "passive 2"]
    assert first.groups(7)[0] == ()


def test_folds_hold_every_row_once():
    settings = LinearGeneratedSettings(n=50, d=2)
    data = cases.draw_generated(settings, None, lambda *names, **_: stream(7, *names), Path())
    np.testing.assert_array_equal(folds(data, 1, settings) == -1, data.train)
    assert np.bincount(folds(data, 5, settings)).tolist() == [10] * 5
    fewer = LinearGeneratedSettings(n=50, d=2, rows=12)
    kept = cases.draw_generated(fewer, None, lambda *names, **_: stream(7, *names), Path())
    assert kept.train.sum() == 9 and (~kept.train).sum() == 3
    whole = LinearGeneratedSettings(n=50, d=2, test_share=0.0)
    assert cases.draw_generated(whole, None, lambda *names, **_: stream(7, *names), Path()).train.all()


def test_a_table_is_scaled_by_declared_ranges_and_clipped():
    column_facts = (ColumnFacts(None, (0.0, 10.0), "x"), ColumnFacts(None, (-1.0, 3.0), "x"))
    table = Table(
        np.array([[0.0, 1], [5, 3], [20, -9], [10, -1]]),
        np.array([0.0, 40, 15, 30]),
        np.array(["a", "b"]),
        column_facts,
    )
    settings = LinearGeneratedSettings(d=2, loss="RegressionMSELoss", test_share=0.0)
    drawn = cases.deal(4, settings, lambda *names: stream(7, *names))
    data = cases.scale_table(table, settings, drawn, (0.0, 30.0))
    assert data.X.tolist() == [[-1, 0], [0, 1], [1, -1], [1, -1]] and data.y.tolist() == [-1, 1, 0, 1]
    assert data.label_scale == 15 and data.bounds.tolist() == [1, 1] and data.label_bound == 1
    without = Table(table.X, table.y, table.names, (column_facts[0], ColumnFacts(None, None, "x")))
    with pytest.raises(ValueError, match="column b has no declared range"):
        cases.scale_table(without, settings, drawn)


@pytest.mark.parametrize("dataset", ["adult", "abalone"])
def test_real_tables_are_scaled_by_what_their_loaders_declare(dataset, monkeypatch):
    """Rows between the ends of every declared range stand for the table, which other tests read."""
    column_facts = TABLES[dataset].column_facts
    low, high = np.array([column.bounds for column in column_facts]).T
    share = stream(5, "rows").random((200, len(column_facts)))
    share[0], share[1] = 0, 1
    y = np.round(29 * share[:, 0]) if dataset == "abalone" else (share[:, 0] > 0.5).astype(float)
    names = np.array(TABLES[dataset].names)
    table = Table(low + share * (high - low), y, names, column_facts)
    monkeypatch.setattr(cases, "read_table", lambda name, response, resources: table)
    settings = {"dataset": dataset, "test_share": 0.0}
    method = {**SIZED, "total_round_num": 5} | ({"model": "linear"} if dataset == "abalone" else {})
    found, data = cell(source="dataset", method=method, settings=settings)
    np.testing.assert_allclose(data.X, 2 * share - 1, atol=1e-12)
    if dataset == "abalone":
        np.testing.assert_allclose(15 * data.y + 15, y)
    assert found.scalars["max_coefficient_difference"] < 1e-9 and found.scalars["rows_recovered"] == 0


def test_the_published_view_holds_every_row_and_the_certified_one_none():
    settings = {"n": 150, "d": 4}
    published, _ = cell(settings=settings, method={"protocol": "published"})
    certified, data = cell(settings=settings, method=SIZED)
    assert (published.scalars["rows_recovered"], published.scalars["rows_attacked"]) == (50, 50)
    assert (certified.scalars["rows_recovered"], certified.scalars["rows_attacked"]) == (0, 50)
    assert published.scalars["epsilon_server"] == np.inf and certified.scalars["epsilon_server"] == 0
    for found in (published, certified):
        assert found.scalars["max_coefficient_difference"] < 1e-9
        assert found.scalars["epsilon_certified"] == found.scalars["epsilon_claimed"] == np.inf
        assert found.scalars["excess_loss"] > found.scalars["limit_excess"] > 0
    assert data.train.sum() == published.scalars["n_train"] == 120


def test_the_gap_is_to_the_exact_fit_of_the_same_kind():
    settings = {"n": 150, "d": 4}
    for method in ({"protocol": "exact"}, {"protocol": "exact", "ridge": 0.1, "intercept": False}):
        assert cell(settings=settings, method=method)[0].scalars["excess_loss"] == 0
    long = {"protocol": "pooled", "batch_size": None, "total_round_num": 2000, "learning_rate": 0.1}
    found = cell(settings=settings, method=long)[0].scalars
    assert found["excess_loss"] == pytest.approx(found["limit_excess"], abs=1e-9)
    numbers = {"loss": "RegressionMSELoss"} | settings
    found = cell(settings=numbers, method=long | {"model": "linear", "learning_rate": 0.05})[0].scalars
    assert found["excess_loss"] == pytest.approx(0, abs=1e-9) and found["limit_excess"] == pytest.approx(0, abs=1e-12)


def test_a_linear_model_of_labels_predicts_from_one_half_on():
    found = cell(settings={"n": 300, "d": 4}, method={"protocol": "exact", "model": "linear"})[0].scalars
    assert found["accuracy"] > 0.7 and found["mse"] < 0.25 and "log_loss" not in found


@pytest.mark.parametrize(
    "method", [{"protocol": "published"}, SIZED, {"protocol": "exact"}], ids=lambda m: m["protocol"]
)
def test_every_method_keeps_the_contract(method):
    for label, trial in trials("vertical_linear").items():
        found = outcome(label, trial, "vertical_linear", method)
        assert not found.failures and found.pooled
        # Labels never leave their holder where all features come to it.
        label = 0 if method["protocol"] == "exact" else np.inf
        assert (found.totals["features"], found.totals["label"], found.totals["row"]) == (np.inf, label, np.inf)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"settings": {"dims": [7, 13]}}, r"dims is \[7, 13\]: its last end must be 14, the number of columns"),
        ({"settings": {"dims": [7, 7, 14]}}, r"dims is \[7, 7, 14\]: the ends of the parties' columns must be increas"),
        (
            {"settings": {"dims": [7, 14]}, "grid": {"parties": [3]}},
            "2 parties where grid.parties is .3.; give one end",
        ),
        (
            {"grid": {"parties": [16]}},
            r"grid\.parties is 16: there must be 2 to 15 for 14 columns and one",
        ),
        ({"grid": {"parties": [1]}}, r"grid\.parties is 1: there must be 2"),
        ({"settings": {"test_share": 0.1}, "grid": {"folds": 3}}, r"test_share is 0\.1: it is read with 1 fold"),
        ({"settings": {"n": 100, "rows": 101}}, "rows is 101: there are 100 rows"),
        ({"settings": {"noise": 2.0}}, r"noise is 2\.0: it is read with loss 'RegressionMSELoss' only"),
        (
            {"settings": {"loss": "RegressionMSELoss"}},
            "its model is 'logistic', and loss 'RegressionMSELoss'",
        ),
        ({"settings": {"loss": "RegressionMSELoss"}, "method": {"protocol": "published"}}, "needs 'linear'"),
        (
            {"source": "dataset", "settings": {"dataset": "abalone", "loss": "CrossEntropyLoss"}},
            "the labels of these data are numbers",
        ),
        ({"method": {"protocol": "published", "ridge": 0.1}}, r"ridge is unknown"),
        ({"method": {"protocol": "certified", "key_size": 1024}}, "key_size is 1024: it must be at least 2048"),
    ],
)
def test_contradictions_are_named(words, says):
    with pytest.raises(ConfigError, match=says):
        planned(**words)


def own(**more):
    shop = {
        "party": "shop",
        "file": "one.csv",
        "columns": [{"name": "a", "bounds": [-3, 3]}, {"name": "c", "levels": ["x", "y", "z"]}],
    }
    bank = {"party": "bank", "file": "two.csv", "columns": [{"name": "b", "bounds": [0, 4]}]}
    settings = {"id": "id", "response": "late", "response_party": "bank"}
    settings |= {"tables": [shop | more.pop("shop", {}), bank], **more}
    return build(LinearTableSettings, settings, "settings")


def test_own_tables_become_parties_with_their_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(Path("one.csv"), ("id", "a", "c"), [[f"r{i}", i / 10, "xyz"[i % 3]] for i in range(20)])
    write_csv(Path("two.csv"), ("id", "b", "late"), [[f"r{i}", i / 5, i % 2] for i in reversed(range(20))])
    chosen = own()
    data = table(chosen, draw_rows(chosen, None, Streams(7, "own"), Path("resources")))
    assert data.names.tolist() == ["a", "c = y", "c = z", "b"] and chosen.n_columns == 4
    np.testing.assert_allclose(data.X[:, 0], np.arange(20) / 30)
    np.testing.assert_array_equal(data.X[:, 1:3], 2 * np.eye(3)[np.arange(20) % 3][:, 1:] - 1)
    np.testing.assert_array_equal(data.y, np.arange(20) % 2)
    shop, bank = split(data, 2, None, chosen)
    assert (shop.name, shop.role, shop.columns) == ("shop", "passive", (0, 1, 2))
    assert (bank.name, bank.role, bank.columns) == ("bank", "active", (3,))
    numbers = own(loss="RegressionMSELoss", response_bounds=[0, 2])
    data = table(numbers, draw_rows(numbers, None, Streams(7, "own"), Path("resources")))
    assert set(data.y) == {-1.0, 0.0} and data.label_scale == 1


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"shop": {"columns": [{"name": "a"}]}}, "column 'a' has no bounds: a linear model scales it"),
        (
            {"shop": {"columns": [{"name": "a", "bounds": [0, 1], "edges": [0.5]}]}},
            "edges of column 'a' are read by tr",
        ),
        ({"shop": {"party": "server"}}, "tables has the party 'server': that name belongs to a protocol"),
        (
            {"response_bounds": [0, 1]},
            r"response_bounds is \(0\.0, 1\.0\): give the public range of the response with loss",
        ),
        ({"loss": "RegressionMSELoss"}, "response_bounds is None: give the public range"),
        ({"active": "first"}, "active is 'first': tables say who holds what"),
    ],
)
def test_own_tables_that_contradict_themselves_are_named(more, says):
    with pytest.raises(ConfigError, match=says):
        own(**more)


def test_every_cell_of_the_shipped_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example_tables(tmp_path / "config" / "example_data")
    config = read_configuration(ROOT / "config" / "my_tables.example.yaml")
    made = plan("vertical_linear", config["studies"]["vertical_linear"], config["root_seed"])
    data = generate(made, "my_tables", [0], tmp_path)
    found = {m: run(made, "my_tables", m, 2, [0], [0], data)[0].scalars for m in made.cases["my_tables"].methods}
    exact, steps = (found[method] for method in made.cases["my_tables"].methods)
    assert exact["auc"] > 0.75 and 0 < steps["excess_loss"] < 0.1 and steps["max_coefficient_difference"] < 1e-9
    with pytest.raises(ConfigError, match=r"grid\.parties is 3: the settings name 2 files"):
        case = config["studies"]["vertical_linear"]["cases"]["my_tables"]
        case["grid"]["parties"] = [3]
        plan("vertical_linear", config["studies"]["vertical_linear"], 7)


def test_a_configuration_of_the_source_runs():
    found = from_source(
        {
            "use_gpu": False,
            "federate": {"mode": "standalone", "client_num": 2, "total_round_num": 30},
            "model": {"type": "lr", "use_bias": False},
            "train": {"optimizer": {"lr": 0.05}},
            "data": {"type": "vertical_fl_data"},
            "dataloader": {"type": "raw", "batch_size": 50},
            "vertical": {"use": True, "dims": [5, 10], "key_size": 256},
            "trainer": {"type": "none"},
            "eval": {"freq": 5},
        }
    )
    assert (found.study, found.protocol, found.parties) == ("vertical_linear", "published", 2)
    (made,) = plans(found.configuration()).values()
    (case,), (method,) = made.cases, made.methods
    data = generate(made, case, [0], ROOT / "resources")
    scalars = run(made, case, method, 2, [0], [0], data)[0].scalars
    assert scalars["rows_recovered"] == 50 and scalars["n_features"] == 10
    assert made.methods[method].options.total_round_num == 30 and made.methods[method].options.eval_freq == 5
