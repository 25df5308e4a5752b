"""A shipped table whose columns lie at parties is usable by every study of such columns, by its name alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from partywise.core.errors import ConfigError, DataMissing
from partywise.core.randomness import stream
from partywise.data import fetch
from partywise.data.column_facts import ColumnFacts
from partywise.data.columns.settings import ColumnDatasetSettings
from partywise.data.descriptions import TABLES
from partywise.data.division import deal_rows
from partywise.data.shipped_table import ClientRows
from partywise.data.tables import Table
from partywise.experiment.cells import run
from partywise.experiment.configuration.build import build
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.models.criteria import CLASSES, NUMBERS
from pipeline import ROOT

# Tables of follow-up are of one study: others refuse them (`tests/studies/vertical_glm/test_follow_up_cases.py`).
NATURAL = sorted(name for name, table in TABLES.items() if table.holders and not table.responses[0].status)
METHODS = {
    "vertical_trees": {"protocol": "tables", "cipher": "sized", "num_of_trees": 2, "residual_bound": 5.0},
    "vertical_linear": {"protocol": "certified", "cipher": "sized", "total_round_num": 3},
}


def test_every_fact_says_where_it_comes_from():
    for table in TABLES.values():
        silent = [one.name for one in (*table.columns, *table.signals, *table.responses) if not one.because]
        assert not silent and table.record, table.name
        assert bool(table.columns) != bool(table.signals)
        assert not table.holders or table.because


def test_settings_refuse_a_name_that_no_table_has():
    with pytest.raises(
        ConfigError, match="dataset is 'adlut': it must be one of abalone, abalone_two_parties, activity,"
    ):
        build(ColumnDatasetSettings, {"dataset": "adlut"}, "settings")


@pytest.mark.parametrize("dataset", NATURAL)
def test_what_is_public_of_a_table_comes_from_its_description(dataset):
    settings, table = ColumnDatasetSettings(dataset=dataset), TABLES[dataset]
    count = len(table.holders)
    assert settings.party_names(count) == tuple(holder.name for holder in table.holders)
    assert settings.groups(count) == table.groups and settings.active_index(count) == 0
    assert not settings.columns_without_bounds and not settings.columns_without_edges
    assert settings.loss_in_force == (CLASSES if table.responses[0].families[0] == "binomial" else NUMBERS)
    for column, about in zip(table.columns, settings.table.column_facts, strict=True):
        (low, high), edges = about.bounds, np.array(about.edges)
        assert low <= edges[0] and edges[-1] <= high and (np.diff(edges) > 0).all() and about.because == column.because
        if not column.binary:
            np.testing.assert_allclose([(low + high) / 2, high - low], [column.location, 6 * column.scale])
            np.testing.assert_allclose(edges, column.location + column.scale * np.arange(-1.5, 2, 0.5))


def test_a_table_of_trees_is_fitted_by_a_generalised_linear_model():
    fetch.fetch("abalone", ROOT / "resources" / "abalone")
    grid = {"methods": ["one"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}
    case = {"source": "dataset", "settings": {"dataset": "abalone_two_parties"}, "grid": grid}
    block = {"methods": {"one": {"protocol": "reference"}}, "cases": {"real": case}, "figures": []}
    made = plan("vertical_glm", block, 7)
    (cell,) = run(made, "real", "one", [2], [0], [0], generate(made, "real", [0], ROOT / "resources"))
    assert cell.scalars["status"] == "ok" and cell.scalars["n_features"] == 7


GLM = {
    "reference": {"protocol": "reference", "ridge": 1.0},
    "private": {"protocol": "noisy_newton"},
}


def glm_plan(dataset, methods, parties=2, **settings):
    grid = {"methods": methods, "replicates": 1, "parties": [parties], "folds": 1, "epsilon": [8.0]}
    case = {"source": "dataset", "settings": {"dataset": dataset, **settings}, "grid": grid}
    return plan("vertical_glm", {"methods": GLM, "cases": {"real": case}, "figures": []}, 7)


@pytest.mark.parametrize("dataset", ["abalone", "adult"])
def test_columns_without_a_location_are_scaled_by_their_public_range(dataset):
    fetch.fetch(dataset, ROOT / "resources" / dataset)
    made = glm_plan(dataset, ["reference", "private"], rows=400, dims=[3, len(TABLES[dataset].columns)])
    data = generate(made, "real", [0], ROOT / "resources")
    public, bounds = data[0].public(), np.array([about.bounds for about in TABLES[dataset].column_facts])
    # A uniform variable on [a, b] has the mean (a + b) / 2 and the variance (b - a)^2 / 12.
    np.testing.assert_allclose(public.location.value, bounds.mean(axis=1))
    np.testing.assert_allclose(12 * public.scale.value**2, (bounds[:, 1] - bounds[:, 0]) ** 2)
    first, second = made.study.split(data[0], 2, made.spec, made.cases["real"].settings)
    assert (first.role, first.columns, second.role) == ("active", (0, 1, 2), "passive")
    (cell,) = run(made, "real", "private", [2], [0], [0], data)
    assert cell.scalars["status"] == "ok" and 4 < cell.scalars["epsilon_certified"] <= 8


def test_columns_without_a_public_range_are_fitted_without_epsilon_only():
    fetch.fetch("credit_default", ROOT / "resources" / "credit_default")
    with pytest.raises(ConfigError, match="column 'BILL_AMT1' of dataset 'credit_default' has no public range; take"):
        glm_plan("credit_default", ["private"])
    made = glm_plan("credit_default", ["reference"], rows=500)
    data = generate(made, "real", [0], ROOT / "resources")
    (cell,) = run(made, "real", "reference", [2], [0], [0], data)
    assert cell.scalars["status"] == "ok" and data[0].public().location is None


@pytest.mark.parametrize("study", METHODS)
@pytest.mark.parametrize("dataset", NATURAL)
def test_a_table_is_fitted_by_a_study_that_does_not_name_it(dataset, study):
    table = TABLES[dataset]
    fetch.fetch(table.resource, ROOT / "resources" / table.resource)
    numbers = ColumnDatasetSettings(dataset=dataset).loss_in_force == NUMBERS
    given = METHODS[study] | ({"model": "linear"} if study == "vertical_linear" and numbers else {})
    if study == "vertical_trees" and not numbers:
        given = {name: value for name, value in given.items() if name != "residual_bound"}
    grid = {"methods": ["one"], "replicates": 1, "parties": [len(table.holders)], "folds": 1, "epsilon": [1.0]}
    settings = {"dataset": dataset, "rows": 300}
    case = {"source": "dataset", "settings": settings, "grid": grid}
    made = plan(study, {"methods": {"one": given}, "cases": {"real": case}, "figures": []}, 7)
    (cell,) = run(made, "real", "one", grid["parties"], [0], [0], generate(made, "real", [0], ROOT / "resources"))
    assert cell.scalars["status"] == "ok" and np.isfinite(cell.scalars["mse" if numbers else "log_loss"])


@pytest.mark.parametrize("study", ["label_private", "sliced_inverse_regression"])
@pytest.mark.parametrize("dataset", ["hmda", "abalone", "adult_split", "late_flights"])
def test_a_table_of_columns_is_rows_at_clients_and_features_with_labels(dataset, study):
    label_private, numbers = study == "label_private", dataset == "abalone"
    settings = {"dataset": dataset} | ({"rows": 400} if label_private else {"clients": 3, "n": 100, "n_shown": 20})
    methods = {"one": {"protocol": "walr"} if label_private else {"protocol": "certified"}}
    grid = {"methods": ["one"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [8.0]}
    case = {"source": "dataset", "settings": settings, "grid": grid}
    block = {"methods": methods, "cases": {"real": case}, "figures": []}
    if label_private and numbers:
        with pytest.raises(ConfigError, match="dataset is 'abalone': its response is not a label 0 or 1; take another"):
            plan(study, block, 7)
        return
    made = plan(study, block, 7)
    (resource,) = made.cases["real"].resources
    fetch.fetch(resource, ROOT / "resources" / resource)
    data = generate(made, "real", [0], ROOT / "resources")
    (cell,) = run(made, "real", "one", [2], [0], [0], data)
    # A hundred records of a client leave some directions below the noise of slicing.
    assert cell.scalars["status"] == ("ok" if label_private else "singular")
    if not label_private:
        assert data[0].X.shape[0] == 300 and np.abs(data[0].X).max() < 30
        assert data[0].public().n_slices == (5 if numbers else 2)
        shown = data[0].y[data[0].shown_rows]
        assert len(shown) == 20 if numbers else np.bincount(shown.astype(int)).tolist() == [20, 20]


@pytest.mark.parametrize("dataset", ["late_flights", "adult_indicators", "breast_cancer"])
def test_a_table_of_features_with_labels_is_columns_at_parties(dataset):
    resource = TABLES[dataset].resource
    fetch.fetch(resource, ROOT / "resources" / resource)
    trees = {"one": {"protocol": "active_only", "num_of_trees": 2}}
    grid = {"methods": ["one"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}
    case = {"source": "dataset", "settings": {"dataset": dataset, "rows": 300}, "grid": grid}
    made = plan("vertical_trees", {"methods": trees, "cases": {"real": case}, "figures": []}, 7)
    data = generate(made, "real", [0], ROOT / "resources")
    (cell,) = run(made, "real", "one", [2], [0], [0], data)
    assert cell.scalars["status"] == "ok" and np.isfinite(cell.scalars["log_loss"])
    # Of a table with test rows of its own, rows are training rows.
    n_train = 300 if TABLES[dataset].divided else 240
    assert data[0].train.sum() == n_train and (dataset == "late_flights") == TABLES[dataset].divided


@pytest.mark.parametrize(("dataset", "n", "fewest"), [("activity", None, 226), ("flights", 50, 50)])
def test_natural_clients_of_the_pinned_files_are_those_of_the_catalogue(dataset, n, fewest):
    table = TABLES[dataset]
    fetch.fetch(table.resource, ROOT / "resources" / table.resource)
    count, screened = len(table.clients), dataset == "activity"
    methods = {"one": {"protocol": "certified"} | ({"max_size": 10} if screened else {})}
    grid = {"methods": ["one"], "replicates": 1, "parties": [count], "folds": 1, "epsilon": [8.0]}
    settings = {"dataset": dataset, "screen": screened, "delta_power": 1.5} | ({} if n is None else {"n": n})
    block = {"methods": methods, "cases": {"real": {"source": "dataset", "settings": settings, "grid": grid}}}
    made = plan("sliced_inverse_regression", block | {"figures": []}, 7)
    data = generate(made, "real", [0], ROOT / "resources")
    assert len(data[0].sizes) == count and data[0].sizes.min() == fewest
    assert len(data[0].y) == (table.responses[0].rows if n is None else n * count)
    if screened:
        assert set(data[0].y) == set(range(len(table.responses[0].levels)))
    (cell,) = run(made, "real", "one", [count], [0], [0], data)
    # The noise of so few records of a client is above the spread of some directions.
    assert cell.scalars["status"] == "singular"
    # A person has at most 450 windows: without that bound nothing is said of persons.
    assert (cell.scalars["epsilon_user"] is None) == (not screened)


@pytest.mark.parametrize(
    ("study", "protocol", "reason"),
    [
        ("label_private", "walr", "its response is not a label 0 or 1; take another"),
        ("vertical_glm", "reference", "its columns are made of signals, which no party has; take another table"),
        ("vertical_linear", "pooled", "its columns are made of signals, which no party has; take another table"),
        ("vertical_trees", "pooled", "its columns are made of signals, which no party has; take another table"),
    ],
)
def test_a_table_of_many_classes_and_computed_columns_is_refused_where_no_split_fits(study, protocol, reason):
    grid = {"methods": ["one"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}
    case = {"source": "dataset", "settings": {"dataset": "activity"}, "grid": grid}
    with pytest.raises(ConfigError, match=f"dataset is 'activity': {reason}"):
        plan(study, {"methods": {"one": {"protocol": protocol}}, "cases": {"real": case}, "figures": []}, 7)


def test_persons_are_clients_with_a_public_bound_on_their_records():
    every = ClientRows(dataset="activity")
    client = np.repeat(np.arange(10), 200 + 25 * np.arange(10))
    assert (every.n_clients, every.least_size, every.rows_per_user) == (10, 200, 450)
    rows = deal_rows(bare_table(len(client), client, "activity"), every, None)
    assert [len(own) for own in rows] == np.bincount(client).tolist()
    for count, found in ((-1, "199 to 425"), (26, "200 to 451")):
        other = np.sort(np.append(client, [9] * count) if count > 0 else client[1:])
        with pytest.raises(DataMissing, match=f"clients have {found} records where 200 to 450 are expected"):
            deal_rows(bare_table(len(other), other, "activity"), every, None)
    # Dealt windows of a person lie at several clients, so that no client bounds them.
    assert ClientRows(dataset="activity", clients=4).rows_per_user is None


def test_clients_scale_by_public_ranges_alone():
    with pytest.raises(ValueError, match="its column 'BILL_AMT1' has no public range, by which clients would scale it"):
        ClientRows(dataset="credit_default")
    with pytest.raises(ValueError, match="n is 1000: each of 5 clients has 476 records of dataset 'hmda'; give fewer"):
        ClientRows(dataset="hmda", n=1000)
    with pytest.raises(DataMissing, match="clients have 199 to 200 records where 200 to 200 are expected"):
        deal_rows(bare_table(999), ClientRows(dataset="hmda", n=200), lambda *names: stream(7, *names))


def bare_table(rows, client=None, dataset="flights"):
    facts = (ColumnFacts(None, (0.0, 1.0), "a test"),)
    names = () if client is None else TABLES[dataset].clients
    return Table(np.zeros((rows, 1)), np.zeros(rows), np.array(["x"]), facts, client=client, clients=names)


def test_natural_clients_draw_from_their_own_rows_and_a_number_of_clients_shares_all():
    client = stream(7, "clients").permutation(np.repeat(np.arange(11), 30))
    table = bare_table(330, client)
    natural = ClientRows(dataset="flights", n=20)
    rows = deal_rows(table, natural, lambda *names: stream(7, *names))
    assert natural.n_clients == len(rows) == 11 and len(set(np.concatenate(rows))) == 220
    assert all((client[own] == k).all() for k, own in enumerate(rows))
    with pytest.raises(DataMissing, match="clients have 30 to 41 records where 31 to 41 are expected"):
        deal_rows(
            bare_table(341, np.append(client, [0] * 11)), replace(natural, n=31), lambda *names: stream(7, *names)
        )
    dealt = ClientRows(dataset="flights", n=20, clients=4)
    rows = deal_rows(table, dealt, lambda *names: stream(7, *names))
    assert dealt.n_clients == len(rows) == 4 and len(set(np.concatenate(rows))) == 80
    # By chance a client of 20 rows has those of many natural clients.
    assert all(len(own) == 20 and len(set(client[own])) > 3 for own in rows)
    every = ClientRows(dataset="hmda")
    assert [len(own) for own in deal_rows(bare_table(2380), every, lambda *names: stream(7, *names))] == [476] * 5
    assert (ClientRows(dataset="flights").least_size, every.least_size, dealt.least_size) == (5116, 476, 20)


def test_natural_clients_have_all_their_records_by_default():
    client = np.repeat(np.arange(11), 5116 + 3 * np.arange(11))
    rows = deal_rows(bare_table(len(client), client), ClientRows(dataset="flights"), None)
    assert [len(own) for own in rows] == np.bincount(client).tolist()
    assert np.array_equal(np.concatenate(rows), np.arange(len(client)))
