"""A person's own tables: files whose rows arrive in any order, with weights, offset and rules for ids, become a fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm

from own_data_sets import example_tables, write_csv
from partywise.core.errors import ConfigError, DataMissing
from partywise.core.randomness import Streams, stream
from partywise.experiment.cells import run
from partywise.experiment.configuration.build import build
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.plans import read_configuration
from partywise.studies.vertical_glm.data import split
from partywise.studies.vertical_glm.own_cases import draw, table
from partywise.studies.vertical_glm.own_settings import GlmTableSettings
from pipeline import ROOT

pytestmark = pytest.mark.usefixtures("folder")

N = 60


def given(**more):
    clinic = {"party": "clinic", "file": "clinic.csv", "columns": [{"name": "a"}, {"name": "c", "levels": list("xyz")}]}
    insurer = {"party": "insurer", "file": "insurer.csv", "columns": [{"name": "b"}]}
    clinic |= more.pop("clinic", {})
    insurer |= more.pop("insurer", {})
    response = {"response": "visits", "response_party": "insurer"}
    return response | {"id": "person", "family": "poisson", "tables": [clinic, insurer], **more}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Sixty persons; each party lacks five of them and has its own order."""
    monkeypatch.chdir(tmp_path)
    rng = stream(5, "own files")
    people = {
        "id": np.array([f"P{i:03d}" for i in range(N)]),
        "a": rng.standard_normal(N),
        "c": rng.choice(list("xyz"), N),
        "b": rng.standard_normal(N),
        "weights": rng.integers(1, 4, N),
        "exposure": rng.normal(0, 0.3, N),
    }
    people["visits"] = rng.poisson(np.exp(0.5 + 0.4 * people["a"] - 0.3 * people["b"] + (people["c"] == "z")))
    orders = rng.permutation(N)[5:], rng.permutation(N)[5:]
    clinic, insurer = ("id", "a", "c"), ("id", "b", "weights", "exposure", "visits")
    for name, columns, order in (("clinic", clinic, orders[0]), ("insurer", insurer, orders[1])):
        rows = [[people[column][i] for column in columns] for i in order]
        write_csv(Path(f"{name}.csv"), ("person", *columns[1:]), rows)
    return people, orders


def cell(settings, method):
    case = {"source": "table", "settings": settings}
    case["grid"] = {"methods": ["tried"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}
    made = plan("vertical_glm", {"methods": {"tried": method}, "cases": {"own": case}, "figures": []}, 7)
    data = generate(made, "own", [0], Path("resources"))
    return run(made, "own", "tried", 2, [0], [0], data)[0].scalars, data[0]


@pytest.mark.parametrize("records", ["unaligned", "aligned"])
def test_files_become_the_fit_of_the_persons_in_all_of_them(files, records):
    people, orders = files
    more = {"records": records} | ({"match": "common"} if records == "aligned" else {})
    settings = given(insurer={"weights": "weights", "offset": "exposure"}, **more)
    common = np.intersect1d(*orders)
    columns = [np.ones(len(common)), people["a"][common]]
    columns += [people["c"][common] == level for level in "yz"] + [people["b"][common]]
    exact = sm.GLM(
        people["visits"][common],
        np.column_stack(columns).astype(float),
        family=sm.families.Poisson(),
        var_weights=people["weights"][common],
        offset=people["exposure"][common],
    ).fit(tol=1e-12)
    scalars, data = cell(settings, {"protocol": "joint"})
    assert scalars["deviance"] == pytest.approx(exact.deviance, rel=1e-6)
    assert scalars["coefficient_error"] < 1e-8 and scalars["se_error"] < 1e-8
    assert scalars["n_train"] == len(common) and scalars.get("common_records") == (
        len(common) if records == "unaligned" else None
    )
    assert data.names.tolist() == ["a", "c = y", "c = z", "b"]
    clinic, insurer = split(data, 2, None, build(GlmTableSettings, settings, "settings"))
    assert (clinic.name, clinic.role, insurer.name, insurer.role) == ("clinic", "passive", "insurer", "active")
    if records == "unaligned":
        assert clinic.block["ids"].tolist() == people["id"][orders[0]].tolist()
        np.testing.assert_array_equal(insurer.block["y"], people["visits"][orders[1]])


def test_private_methods_scale_by_what_is_declared(files):
    declared = {"clinic": {"columns": [{"name": "a", "bounds": [-3, 3]}, {"name": "c", "levels": list("xyz")}]}}
    declared |= {"insurer": {"columns": [{"name": "b", "bounds": [-2, 4]}], "radius": 2.0}, "response_bounds": [0, 10]}
    scalars, data = cell(given(**declared), {"protocol": "moments", "cipher": "sized"})
    public = data.public()
    np.testing.assert_allclose(public.location.value, [0, 1 / 3, 1 / 3, 1])
    np.testing.assert_allclose(public.scale.value, [6 / 12**0.5, 2**0.5 / 3, 2**0.5 / 3, 6 / 12**0.5])
    assert public.radii["insurer"].value == 2.0 and public.eta_start.value == np.log(5)
    # Who takes part is disclosed, the released matrix is not.
    assert scalars["epsilon_certified"] == np.inf and scalars["epsilon_certified_part"] == pytest.approx(1, abs=1e-9)
    aligned, _ = cell(given(**declared, records="aligned", match="common"), {"protocol": "moments", "cipher": "sized"})
    assert aligned["epsilon_certified"] == pytest.approx(1, abs=1e-9)


def data_of(**more):
    settings = build(GlmTableSettings, given(**more), "settings")
    return table(settings, draw(settings, None, Streams(7, "own"), Path("resources")))


def test_ids_are_compared_as_the_rules_say():
    numbers = range(40)
    write_csv(Path("clinic.csv"), ("person", "a", "c"), [[f"{i}", i % 7, "xyz"[i % 3]] for i in numbers])
    write_csv(Path("insurer.csv"), ("person", "b", "visits"), [[f" {i:04d}", i % 5, i % 4] for i in numbers])
    with pytest.raises(DataMissing, match="0 records are in all files where min_records is 20"):
        data_of()
    found = data_of(identifiers={"as_text": "04d"})
    assert sorted(found.identifiers) == [f"{i:04d}" for i in numbers] and len(found.files[0]) == 40
    write_csv(Path("clinic.csv"), ("person", "a", "c"), [[f"  nr{i} ", i % 7, "xyz"[i % 3]] for i in numbers])
    write_csv(Path("insurer.csv"), ("person", "b", "visits"), [[f"NR{i}", i % 5, i % 4] for i in numbers])
    with pytest.raises(DataMissing, match="0 records are in all files"):
        data_of()
    assert len(data_of(identifiers={"normalise": True}).identifiers) == 40


def test_rows_with_double_or_missing_ids_are_refused_or_left_out():
    ids = [*(f"P{i}" for i in range(30)), "P3", ""]
    write_csv(Path("clinic.csv"), ("person", "a", "c"), [[name, k, "xyz"[k % 3]] for k, name in enumerate(ids)])
    write_csv(Path("insurer.csv"), ("person", "b", "visits"), [[f"P{i}", i % 5, i % 4] for i in range(30)])
    with pytest.raises(DataMissing, match=r"clinic\.csv: 1 of the 32 identifiers of 'clinic' are missing"):
        data_of()
    with pytest.raises(DataMissing, match=r"clinic\.csv: 1 of the 31 identifiers of 'clinic' are used by an earlier"):
        data_of(identifiers={"missing": "drop"})
    first = data_of(identifiers={"missing": "drop", "duplicates": "first"})
    assert len(first.files[0]) == 30 and first.X[list(first.identifiers).index("P3"), 0] == 3
    dropped = data_of(identifiers={"missing": "drop", "duplicates": "drop"})
    assert len(dropped.files[0]) == 29 and np.isnan(dropped.X[list(dropped.identifiers).index("P3"), 0])


@pytest.mark.parametrize(
    ("family", "values", "says"),
    [
        ("poisson", [0.5, 1, 2], r"insurer\.csv: visits has the value 0\.5: family 'poisson' takes 0, 1, 2"),
        (
            "binomial",
            [0, 1, 2],
            r"insurer\.csv: visits is '2' in row 4: labels are 0 and 1; correct it",
        ),
        ("gamma", [0, 1, 2], r"value 0: family 'gamma' takes numbers above 0"),
    ],
)
def test_a_response_outside_its_family_is_named_with_those_that_fit(family, values, says):
    write_csv(Path("clinic.csv"), ("person", "a", "c"), [[f"P{i}", i, "xyz"[i % 3]] for i in range(30)])
    write_csv(Path("insurer.csv"), ("person", "b", "visits"), [[f"P{i}", i % 5, values[i % 3]] for i in range(30)])
    with pytest.raises(DataMissing, match=says):
        data_of(family=family)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"clinic": {"weights": "a"}}, "weights is 'a': only the party with the response has some"),
        ({"insurer": {"offset": "b"}}, "offset is 'b': that column is used already"),
        ({"clinic": {"party": "analyst"}}, "tables has the party 'analyst': that name belongs to a protocol"),
        ({"clinic": {"party": "a + b"}}, r"party is 'a \+ b': leave out"),
        ({"clinic": {"columns": [{"name": "a", "edges": [1.0]}]}}, "edges of column 'a' are read by trees only"),
        ({"clinic": {"radius": 0.0}}, r"radius is 0\.0: it must be a positive finite number"),
        ({"clinic": {"columns": []}}, "columns is empty: a party holds at least one"),
        ({"response_bounds": [5, 5]}, r"response_bounds is \[5\.0, 5\.0\]"),
        (
            {"family": "gamma", "response_bounds": [0, 5]},
            r"response_bounds is \[0\.0, 5\.0\]: responses of gamma are above 0",
        ),
        ({"family": "binomial", "response_bounds": [0, 1]}, "labels of binomial are 0 and 1; leave it out"),
        ({"match": "common"}, "match is 'common': it is read with records 'aligned' only"),
        (
            {"records": "aligned", "identifiers": {"normalise": True}},
            "identifiers are read with records 'unaligned' only",
        ),
        ({"identifiers": {"as_text": "6"}}, "as_text is '6': it must be 'd', or '06d'"),
    ],
)
def test_settings_that_contradict_themselves_are_named(more, says):
    with pytest.raises(ConfigError, match=says):
        build(GlmTableSettings, given(**more), "settings")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({}, "a private method scales columns by public constants, never by data, and column 'a' has no bounds"),
        (
            {
                "clinic": {"columns": [{"name": "a", "bounds": [0, 1]}]},
                "insurer": {"columns": [{"name": "b", "bounds": [0, 1]}]},
            },
            "response_bounds is missing; declare the range of the response",
        ),
        (
            {
                "clinic": {"columns": [{"name": "a", "bounds": [0, 1]}]},
                "insurer": {"columns": [{"name": "b", "bounds": [0, 1]}], "weights": "w"},
                "response_bounds": [0, 9],
            },
            "there is the column 'w'; leave it out",
        ),
    ],
)
def test_a_private_method_without_constants_is_refused_before_any_job(more, says):
    with pytest.raises(ConfigError, match=says):
        cell(given(**more), {"protocol": "moments", "cipher": "sized"})


def test_every_cell_of_the_shipped_example(tmp_path):
    example_tables(tmp_path / "config" / "example_data")
    config = read_configuration(ROOT / "config" / "my_tables.example.yaml")
    block = config["studies"]["vertical_glm"]
    made = plan("vertical_glm", block, config["root_seed"])
    data = generate(made, "my_tables", [0], tmp_path)
    found = {m: run(made, "my_tables", m, 2, [0], [0], data)[-1].scalars for m in made.cases["my_tables"].methods}
    newton, published, private = (found[method] for method in made.cases["my_tables"].methods)
    assert newton["coefficient_error"] < 1e-8 and newton["deviance_r2"] > 0.4
    assert published["coefficient_error"] < 1e-4 and 0 < private["excess_deviance"] < 0.5
    assert len(data[0].ids) == 400
    block["cases"]["my_tables"]["grid"]["parties"] = [3]
    with pytest.raises(ConfigError, match=r"grid\.parties is 3: the settings name 2 files"):
        plan("vertical_glm", block, 7)


def written(clinic_ids, insurer_ids, **columns):
    write_csv(Path("clinic.csv"), ("person", "a", "c"), [[name, i, "xyz"[i % 3]] for i, name in enumerate(clinic_ids)])
    given = {
        "b": [i % 5 for i in range(len(insurer_ids))],
        "visits": [i % 4 for i in range(len(insurer_ids))],
    } | columns
    write_csv(Path("insurer.csv"), ("person", *given), list(zip(insurer_ids, *given.values(), strict=True)))


def test_ids_that_a_rule_would_match_are_told_with_the_rule():
    written([str(i) for i in range(30)], [f"{i:04d}" for i in range(30)])
    with pytest.raises(DataMissing, match=r"0 records .* \(identifiers: \{as_text: 04d\} makes numbers of 4 digits"):
        data_of()
    assert len(data_of(identifiers={"as_text": "04d"}).identifiers) == 30
    written([f"p{i} " for i in range(30)], [f"P{i}" for i in range(30)])
    with pytest.raises(
        DataMissing, match=r"0 records .* \(identifiers: \{normalise: true\} leaves out blanks and case"
    ):
        data_of()
    assert len(data_of(identifiers={"normalise": True}).identifiers) == 30
    written([f"p{i}" for i in range(30)], [f"q{i}" for i in range(30)])
    with pytest.raises(DataMissing, match="write ids alike in all files, or lower min_records"):
        data_of()


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ("unaligned", r"\(duplicates='first' or 'drop' under identifiers\)\."),
        ("aligned", r"clinic\.csv has the person 'P1' in row 2 and row 3: keep one"),
    ],
)
def test_remedies_for_ids_name_keys_of_the_configuration(records, says):
    written(["P1", "P1", *(f"P{i}" for i in range(2, 30))], [f"P{i}" for i in range(30)])
    with pytest.raises(DataMissing, match=says):
        data_of(records=records, min_records=2)


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([1] * 7 + [-2] + [1] * 22, r"insurer\.csv: w is -2 in row 9: a weight is at least 0; correct it, or give 0"),
        ([0] * 30, r"insurer\.csv: w is 0 in all rows: some weights must be above 0"),
    ],
)
def test_weights_are_looked_at_where_they_are_read(weights, says):
    ids = [f"P{i}" for i in range(30)]
    written(ids, ids, w=weights)
    with pytest.raises(DataMissing, match=says):
        data_of(insurer={"weights": "w"})


def test_exposures_in_place_of_their_logarithms_are_named():
    ids = [f"P{i}" for i in range(30)]
    written(ids, ids, days=[30 * (i % 12 + 1) for i in range(30)])
    with pytest.raises(RuntimeError, match=r"offset of 'insurer' lies between 30 and 360: .* logarithm of an exposure"):
        cell(given(insurer={"offset": "days"}), {"protocol": "joint"})
