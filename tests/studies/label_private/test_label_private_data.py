"""Tables with labels on small built files, the real file of an installed package, and the replicates made of them."""

from __future__ import annotations

import bz2
import csv
import hashlib
import io
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from partywise.core.errors import ConfigError, DataMissing
from partywise.core.randomness import stream
from partywise.data import fetch as resources
from partywise.data import tables
from partywise.data.catalogue import RESOURCES, Member
from partywise.data.column_facts import ColumnFacts
from partywise.data.descriptions import TABLES
from partywise.data.loaders import adult
from partywise.data.loaders.party_tables import read
from partywise.experiment.plan import plan
from partywise.methods.logistic.evaluate import auc, log_loss
from partywise.methods.logistic.trainers import penalised_optimum
from partywise.studies.label_private import cases
from partywise.studies.label_private.cases import draw_features, draw_logistic, truth
from partywise.studies.label_private.data import LabelData, folds, pack, split
from partywise.studies.label_private.settings import LabelCaseSettings, LabelDatasetSettings, LabelGeneratedSettings


def rng_for(*names, shared=False):
    return stream(7, "data", "shared" if shared else 0, *names)


def table(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def put(folder, name, **contents):
    """Files of a data set, taken as they are found, as a user would put them there."""
    for member in RESOURCES[name].members:
        (folder / member.file).write_bytes(contents.get(member.file.split(".")[0], b""))
    resources.fetch(name, folder)
    return folder


def load(name, folder):
    """A shipped table with its usual response."""
    return read.load(TABLES[name], TABLES[name].responses[0], folder)


def pin(monkeypatch, name, **contents):
    """The catalogue as if the built files were the pinned ones, so that the checks of shape are made."""
    old = RESOURCES[name]
    members = tuple(
        Member(m.file, m.path, hashlib.sha256(contents.get(m.file.split(".")[0], b"")).hexdigest()) for m in old.members
    )
    fixed = replace(old, members=members)
    monkeypatch.setitem(RESOURCES, name, fixed)


# What the loaders share


def test_scaling_uses_public_ranges_and_says_where_it_does_not():
    columns, y = {"a": np.array([2.0, 4.0]), "b": np.array([1.0, 3.0]), "c": np.array([5.0, 5.0])}, np.zeros(2)
    facts = (ColumnFacts(None, (0.0, 8.0), "a test"), *(ColumnFacts(None, None, "a test"),) * 2)
    raw = np.column_stack(list(columns.values()))
    X, from_the_data = tables.Table(raw, y, np.array(list(columns)), facts).unit_interval()
    np.testing.assert_array_equal(X, [[0.25, 0.0, 0.0], [0.5, 1.0, 0.0]])
    assert from_the_data == ("b", "c")


# Adult


def adult_file(rows):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("adult.csv", table(rows))
    return packed.getvalue()


def adult_rows():
    rows = []
    for i in range(6):
        numbers = {"age": 17 + i, "fnlwgt": 10 * i, "education-num": 16, "capital-gain": 0, "capital-loss": 4356}
        numbers |= {"hours-per-week": 50, "sex_Female": i % 2, "sex_Male": 1 - i % 2}
        rows.append({**numbers, "salary_<=50K": int(i < 4), "salary_>50K": int(i >= 4)})
    return rows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"salary_>50K": 1}, "the two columns of the label do not add up to 1"),
        ({"sex_Male": 0.5}, "column sex_Male is not an indicator"),
        ({"age": "old"}, "adult.csv is not numeric"),
    ],
)
def test_adult_rows_that_do_not_belong(tmp_path, change, message):
    rows = adult_rows()
    rows[0] |= change
    with pytest.raises(DataMissing, match=message):
        adult.load(put(tmp_path, "adult", adult=adult_file(rows)))


def test_adult_archives_that_are_none(tmp_path, monkeypatch):
    with pytest.raises(DataMissing, match=r"adult\.csv\.zip holds no adult\.csv: delete the file"):
        adult.load(put(tmp_path, "adult", adult=b"no archive"))
    rows = [{key: value for key, value in row.items() if key != "fnlwgt"} for row in adult_rows()]
    (tmp_path / "second").mkdir()
    with pytest.raises(DataMissing, match="has no column fnlwgt"):
        adult.load(put(tmp_path / "second", "adult", adult=adult_file(rows)))
    content = adult_file(adult_rows())
    pin(monkeypatch, "adult", adult=content)
    (tmp_path / "third").mkdir()
    with pytest.raises(DataMissing, match=r"\(6, 8\) rows and features where \(45222, 104\) are expected"):
        adult.load(put(tmp_path / "third", "adult", adult=content))


# Breast cancer: the real file is a part of an installed package


def test_breast_cancer_is_read_from_the_installed_package(tmp_path):
    resources.fetch("breast_cancer", tmp_path)
    data = load("breast_cancer", tmp_path)
    assert data.X.shape == (569, 30) and data.y.sum() == 357 and len(set(data.names)) == 30
    X, from_the_data = data.unit_interval()
    np.testing.assert_array_equal(X.min(axis=0), 0.0)
    np.testing.assert_array_equal(X.max(axis=0), 1.0)
    assert len(from_the_data) == 30 and data.notes == (TABLES["breast_cancer"].record,)
    assert auc(-data.X[:, 0], data.y) > 0.9, "small radii are benign"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no rows"),
        (b"1,1,a,b\n1,x\n", "is not numeric"),
        (b"2,30,a,b\n1,2\n1\n", "is not numeric"),
        (b"2,1,a,b\n1,0\n2,1\n", "1 features where 30 are expected"),
        (b"3,1,a,b\n1,0\n2,1\n", r"\(2, 2\) values where the first row states \(3, 1\)"),
    ],
)
def test_breast_cancer_files_that_are_none(tmp_path, content, message):
    with pytest.raises(DataMissing, match=message):
        load("breast_cancer", put(tmp_path, "breast_cancer", breast_cancer=content))


# Body fat


def fat_rows():
    fixed = {"brozek": 1, "density": 1, "adipos": 1, "free": 1}
    return [
        {**fixed, "siri": 17.9 + 0.1 * i, **{name: i * (j + 1) for j, name in enumerate(TABLES["body_fat"].names)}}
        for i in range(4)
    ]


def test_body_fat_values(tmp_path, monkeypatch):
    content = bz2.compress(table(fat_rows()))
    data = load("body_fat", put(tmp_path, "body_fat", fat=content))
    np.testing.assert_array_equal(data.y, [0, 0, 1, 1])
    assert tuple(data.names) == TABLES["body_fat"].names and len(TABLES["body_fat"].names) == 13
    np.testing.assert_allclose(data.unit_interval()[0], np.repeat(np.arange(4) / 3, 13).reshape(4, 13))
    pin(monkeypatch, "body_fat", fat=content)
    resources.fetch("body_fat", tmp_path)
    with pytest.raises(DataMissing, match=r"\(4, 13\) records and columns where \(252, 13\) are expected"):
        load("body_fat", tmp_path)
    (tmp_path / "second").mkdir()
    with pytest.raises(DataMissing, match=r"fat\.csv\.bz2 is not a bzip2 file"):
        load("body_fat", put(tmp_path / "second", "body_fat", fat=b"plain"))


# Late flights


def flights_files(flights, weather):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("flights.csv", table(flights))
    return {"flights": packed.getvalue(), "weather": table(weather)}


def flights_tables():
    air = {"temp": 45.5, "dewp": 27.5, "humid": 50, "wind_speed": 10, "precip": 0, "visib": 10}
    weather = [
        {"origin": origin, "month": month, "day": day, "hour": hour, **air}
        for origin in ("EWR", "JFK")
        for month in (1, 11)
        for day in (5, 25)
        for hour in (9, 10)
    ]
    flights = [
        {**{key: row[key] for key in ("origin", "month", "day", "hour")}, "arr_delay": delay, "carrier": carrier}
        for row in weather
        for delay, carrier in ((16, "UA"), (15, "DL"))
    ]
    return flights, weather


def test_late_flights_values(tmp_path):
    data = load("late_flights", put(tmp_path, "nyc_flights", **flights_files(*flights_tables())))
    # Columns are those of the timetable: no flight makes one or takes one away.
    assert tuple(data.names) == TABLES["late_flights"].names and len(data.names) == 56
    np.testing.assert_array_equal(data.y, [1, 0] * 16)
    X, from_the_data = data.unit_interval()
    np.testing.assert_allclose(X[0, :6], [0.5, 0.5, 0.5, 0.1, 0, 1])
    first = {name for name, value in zip(data.names[6:], data.X[0, 6:], strict=True) if value == 1}
    assert first == {"hour_9", "month_1", "carrier_UA", "origin_EWR"}
    assert np.all(data.X[:, 6:].sum(axis=1) == 4)
    assert data.train.tolist() == ([True] * 4 + [False] * 4) * 4 and from_the_data == ()


def test_late_flights_leave_out_what_is_missing(tmp_path):
    flights, weather = flights_tables()
    flights[0]["arr_delay"] = "NA"
    weather[1]["temp"] = "NA"
    del weather[2]
    weather.append({**weather[-1], "temp": -500})
    data = load("late_flights", put(tmp_path, "nyc_flights", **flights_files(flights, weather)))
    assert len(data.y) == 32 - 1 - 2 - 2, "of an hour given twice the first counts"


@pytest.mark.parametrize(
    ("flight", "message"),
    [
        ({"arr_delay": "late"}, "column arr_delay is not numeric"),
        ({"carrier": "XX"}, "carrier has XX, which is none of its levels"),
    ],
)
def test_late_flights_rows_that_do_not_belong(tmp_path, flight, message):
    flights, hours = flights_tables()
    flights[3] |= flight
    with pytest.raises(DataMissing, match=message):
        load("late_flights", put(tmp_path, "nyc_flights", **flights_files(flights, hours)))


def test_pinned_flights_must_have_the_known_shape(tmp_path, monkeypatch):
    content = flights_files(*flights_tables())
    pin(monkeypatch, "nyc_flights", **content)
    with pytest.raises(DataMissing, match=r"\(32, 56\) records and columns where \(325724, 56\) are expected"):
        load("late_flights", put(tmp_path, "nyc_flights", **content))
    with pytest.raises(DataMissing, match=r"flights\.csv\.zip holds no flights\.csv"):
        (tmp_path / "second").mkdir()
        load("late_flights", put(tmp_path / "second", "nyc_flights", flights=b"nothing"))


# The generator


def test_generated_features_are_in_the_box_with_an_intercept():
    X = draw_features(4000, 11, 0.5, 0.05, stream(7, "features"))
    assert X.shape == (4000, 11) and X.min() >= 0 and X.max() <= 1
    np.testing.assert_array_equal(X[:, 0], 1.0)
    binary = [j for j in range(1, 11) if set(np.unique(X[:, j])) <= {0.0, 1.0}]
    assert binary == [2, 4, 6, 8, 10]
    np.testing.assert_allclose(X[:, 10].mean(), 0.05, atol=0.02)
    dependent, free = (
        np.corrcoef(draw_features(4000, 5, d, 0.2, stream(7, "features", str(d)))[:, [1, 3]].T)[0, 1]
        for d in (0.8, 0.0)
    )
    assert dependent > 0.7 and abs(free) < 0.1


def test_generated_labels_have_the_stated_optimum():
    """Non-private AUC .8434 and log-loss .4606 at N = 35 000 and k = 20; an easier or a rarer label is told apart."""
    found = {}
    for name, settings in {
        "default": LabelGeneratedSettings(),
        "stronger": LabelGeneratedSettings(signal=2.2),
        "rarer": LabelGeneratedSettings(positive=0.25),
    }.items():
        X, y, theta = draw_logistic(settings, stream(7, "generated"))
        assert theta == pytest.approx(truth(20, 0.0, 0.065, settings.signal, settings.positive))
        fitted = penalised_optimum(X[:35_000], y[:35_000])
        found[name] = auc(X[35_000:] @ fitted, y[35_000:]), log_loss(X[35_000:], y[35_000:], fitted)
    assert found["default"] == pytest.approx((0.8434, 0.4606), abs=0.012)
    assert found["stronger"][0] > 0.86 and found["rarer"][1] < 0.42


# Replicates


def test_a_replicate_keeps_its_numbers_and_its_split():
    data = cases.draw_generated(LabelGeneratedSettings(n=1000, k=7), None, rng_for, Path("unused"))
    X, y, theta = draw_logistic(LabelGeneratedSettings(n=1000, k=7), rng_for("rows"))
    np.testing.assert_allclose(data.X, X, atol=1e-7)
    np.testing.assert_array_equal(data.labels, y)
    np.testing.assert_array_equal(data.theta, theta)
    assert data.train.sum() == 700 and data.public().n_train == 700 and data.public().n_features == 7
    assert data.training[0].shape == (700, 7) and data.testing[1].shape == (300,)
    other = cases.draw_generated(
        LabelGeneratedSettings(n=1000, k=7), None, lambda *n: stream(7, "data", 1, *n), Path("unused")
    )
    assert not np.array_equal(other.train, data.train) and other.evaluation_key != data.evaluation_key


def test_packed_features_come_back_in_their_places():
    X = np.array([[1.0, 0.25, 0.0, 0.5], [1.0, 0.75, 1.0, 0.0]])
    stored = pack(X)
    assert stored["indicators"].dtype == np.uint8 and stored["indicators"].shape == (2, 2)
    fixed = {"train": np.array([True, False]), "theta": np.zeros(0), "feature_names": np.array(list("abcd"))}
    data = LabelData(y=np.array([0, 1], dtype=np.uint8), **stored, **fixed, from_the_data=0, evaluation_key=1)
    np.testing.assert_array_equal(data.X, X)


def test_real_tables_are_dealt(tmp_path):
    resources.fetch("breast_cancer", tmp_path / "breast_cancer")
    data = cases.draw_dataset(LabelDatasetSettings(dataset="breast_cancer"), None, rng_for, tmp_path)
    assert data.train.sum() == 398 and data.X.shape == (569, 31) and data.from_the_data == 30
    some = LabelDatasetSettings(dataset="breast_cancer", rows=100, test_share=0.5)
    few = cases.draw_dataset(some, None, rng_for, tmp_path)
    assert len(few.y) == 100 and few.train.sum() == 50
    with pytest.raises(ValueError, match="rows is 1000: the table has 569; leave it out"):
        cases.draw_dataset(LabelDatasetSettings(dataset="breast_cancer", rows=1000), None, rng_for, tmp_path)


def test_flights_split_by_days_keeps_days_together(tmp_path):
    put_into = tmp_path / "nyc_flights"
    put_into.mkdir()
    put(put_into, "nyc_flights", **flights_files(*flights_tables()))
    timed = cases.draw_dataset(LabelDatasetSettings(dataset="late_flights"), None, rng_for, tmp_path)
    np.testing.assert_array_equal(timed.train, load("late_flights", put_into).train)
    assert timed.train.sum() == 16
    months = [list(timed.feature_names).index(f"month_{month}") for month in (1, 11)]
    assert (timed.training[0][:, months].sum(axis=0) > 0).all() and (timed.testing[0][:, months].sum(axis=0) > 0).all()
    drawn = cases.draw_dataset(LabelDatasetSettings(dataset="late_flights", split="random"), None, rng_for, tmp_path)
    assert drawn.train.sum() == 22 and not np.array_equal(drawn.train, timed.train)


def test_body_fat_is_a_case(tmp_path):
    (tmp_path / "body_fat").mkdir()
    put(tmp_path / "body_fat", "body_fat", fat=bz2.compress(table(fat_rows())))
    assert cases.draw_dataset(LabelDatasetSettings(dataset="body_fat"), None, rng_for, tmp_path).X.shape == (4, 14)


@pytest.mark.parametrize("source", ["adult", "body_fat", "breast_cancer", "late_flights"])
def test_a_source_of_earlier_versions_names_the_settings_that_replace_it(source):
    case = {"source": source, "grid": {"methods": ["one"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1]}}
    block = {"methods": {"one": {"protocol": "non_private"}}, "cases": {"real": case}, "figures": []}
    with pytest.raises(ConfigError, match=f"source is '{source}': write source: dataset now, .*dataset: {source}"):
        plan("label_private", block, 7)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LabelCaseSettings(test_share=1.0), r"test_share is 1.0: it must lie in \(0, 1\)"),
        (lambda: LabelCaseSettings(delta=0.0), r"delta is 0.0: it must lie in \(0, 1\)"),
        (lambda: LabelCaseSettings(tau=-1.0), "tau is -1.0: it must be a positive finite number"),
        (lambda: LabelGeneratedSettings(n=3), "n is 3: it must be at least 4"),
        (lambda: LabelGeneratedSettings(k=1), "k is 1: it must be at least 2"),
        (lambda: LabelGeneratedSettings(dependence=1.0), r"dependence is 1.0: it must lie in \[0, 1\)"),
        (lambda: LabelGeneratedSettings(rarest=0.0), r"rarest is 0.0: it must lie in \(0, 1\)"),
        (lambda: LabelGeneratedSettings(signal=float("nan")), "signal is nan"),
        (lambda: LabelDatasetSettings(dataset="body_fat", rows=2), "rows is 2: it must be at least 4"),
        (
            lambda: LabelDatasetSettings(dataset="nmes", split="weeks"),
            "split is 'weeks': it must be one of own, random",
        ),
    ],
)
def test_settings_name_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_split_and_folds():
    data = cases.draw_generated(LabelGeneratedSettings(n=40, k=4), None, rng_for, Path("unused"))
    trainer, measurer = split(data, 2, None, None)
    assert (trainer.name, trainer.role, measurer.name, measurer.role) == ("trainer", "passive", "measurer", "active")
    assert set(trainer.block) == {"X"} and set(measurer.block) == {"y"}
    np.testing.assert_array_equal(folds(data, 1, None) == -1, data.train)
    with pytest.raises(ValueError, match="n_parties is 1: there are 2"):
        split(data, 1, None, None)
    with pytest.raises(ValueError, match="n_folds is 2: every replicate has its own split"):
        folds(data, 2, None)
