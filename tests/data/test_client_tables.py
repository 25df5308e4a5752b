"""Loaders of tables that clients hold: flights by airline, windows of a watch; on small built files."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from partywise.core.errors import DataMissing
from partywise.core.randomness import stream
from partywise.data import catalogue
from partywise.data import fetch as resources
from partywise.data.carriers import digest
from partywise.data.loaders import flights, watch
from partywise.methods.inverse_regression.subspace import coordinates, separation

# Entries of test_flights_by_airline.
SEEN = ("UA", "AA", "six small airlines")
COLUMNS = (*flights.TABLE.names, flights.RESPONSE, "carrier")


def flights_folder(folder, rows):
    """A folder with these flights and empty other files, as ``fetch`` leaves it."""
    folder.mkdir(parents=True)
    text = "\n".join([",".join(COLUMNS), *(",".join(map(str, row)) for row in rows)])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("flights.csv", text)
    for name, content in (("flights.csv.zip", packed.getvalue()), ("weather.csv", b""), ("planes.csv", b"")):
        (folder / name).write_bytes(content)
    resources.fetch("nyc_flights", folder)
    return folder


def test_flights_by_airline(tmp_path):
    rows = [(1, 1, -5, 830, 1845, 227, 1400, 11, "UA")] * 3 + [(12, 31, 75, 1, 2400, 40, 200, 33, "AA")] * 2
    rows += [(6, 16, 15, 1500, 1500, 150, 1000, -3, carrier) for carrier in ("OO", "HA", "FL", "AS")]
    rows += [(6, 16, 15, 1500, 1500, 150, 1000, -3, one) for one in flights.TABLE.clients if one not in SEEN]
    rows += [(6, 16, "NA", 1500, 1500, 150, 1000, -3, "UA")]
    table = flights.load(flights_folder(tmp_path / "nyc", rows))
    X = table.symmetric_interval()
    assert X.shape == (17, 7) and X.dtype == np.float32
    # The order is that of the catalogue, whatever a file holds: UA first, AA fifth, the pooled ones before the last.
    assert table.clients == flights.TABLE.clients
    assert np.bincount(table.client).tolist() == [3, 1, 1, 1, 2, 1, 1, 1, 1, 4, 1]
    united = X[table.client == 0][0]
    # 8:30 is half past eight, 18:45 a quarter to seven; 1 January, five minutes early.
    wanted = [-1, -1, -20 / 60, (8.5 - 15) / 9, (18.75 - 15) / 9, 77 / 150, 0.4]
    assert np.allclose(united, wanted, atol=1e-6)
    assert table.y[table.client == 4].tolist() == [33.0, 33.0]
    assert "flights.csv.zip is not the pinned file: it is used as it was found." in table.notes


def test_an_airline_that_the_catalogue_does_not_know(tmp_path):
    folder = flights_folder(tmp_path / "nyc", [(1, 1, -5, 830, 1845, 227, 1400, 11, "ZZ")])
    with pytest.raises(DataMissing, match="there is no airline ZZ"):
        flights.load(folder)


def test_flights_that_are_none(tmp_path):
    folder = flights_folder(tmp_path / "nyc", [(1, 1, -5, 830, 1845, 227, 1400, 11, "UA")])
    (folder / "flights.csv.zip").write_bytes(b"no archive")
    (folder / resources.PROVENANCE).unlink()
    resources.fetch("nyc_flights", folder)
    with pytest.raises(DataMissing, match=r"flights.csv.zip holds no flights.csv: delete the file"):
        flights.load(folder)


class Command:
    """A pickle that runs something when it is opened."""

    def __reduce__(self):
        return (print, ("opened",))


def npy(thing) -> bytes:
    out = io.BytesIO()
    np.save(out, np.array(thing, dtype=object), allow_pickle=True)
    return out.getvalue()


def recordings(count=140, samples=244102):
    """A dict of the shape of the real one."""
    rng = stream(7, "watch")
    lengths = np.full(count, samples // count)
    lengths[: samples % count] += 1
    return {
        "X": [rng.standard_normal((length, 6)) for length in lengths],
        "X_labels": list(watch.CHANNELS),
        "y": np.arange(count) % 7,
        "y_labels": list(watch.EXERCISES),
        "subject": np.arange(count) % 10 + 1,
        "side": np.zeros(count),
    }


def watch_folder(folder, monkeypatch, content, pinned=True):
    folder.mkdir(parents=True)
    (folder / "watch_dataset.npy").write_bytes(content)
    if pinned:
        known = catalogue.RESOURCES["watch_activity"]
        member = replace(known.members[0], sha256=digest(content))
        monkeypatch.setitem(catalogue.RESOURCES, "watch_activity", replace(known, members=(member,)))
    resources.fetch("watch_activity", folder)
    return folder


def test_windows_of_a_watch(tmp_path, monkeypatch):
    per_recording = [len(part) // 256 for part in recordings()["X"]]
    monkeypatch.setattr(watch, "WINDOW", 256)
    monkeypatch.setattr(watch, "STEP", 256)
    folder = watch_folder(tmp_path / "watch", monkeypatch, npy(recordings()))
    with pytest.raises(DataMissing, match="840 windows where 3605 are expected"):
        watch.load(folder)
    response = replace(watch.TABLE.responses[0], rows=sum(per_recording))
    monkeypatch.setattr(watch, "TABLE", replace(watch.TABLE, responses=(response,)))
    table = watch.load(folder)
    assert len(table.y) == sum(per_recording) and table.X.shape[1] == len(table.names) == 165
    assert len(set(table.names.tolist())) == 165
    first = recordings()["X"][0][:256]
    at = {name: float(value) for name, value in zip(table.names, table.symmetric_interval()[0], strict=True)}
    assert at["ax mean"] == pytest.approx(first[:, 0].mean() / 2, abs=1e-6)
    assert at["wz max"] == pytest.approx(first[:, 5].max() / 5, abs=1e-6)
    assert at["correlation of ax and az"] == pytest.approx(np.corrcoef(first[:, 0], first[:, 2])[0, 1], abs=1e-6)
    amplitude = np.abs(np.sum(first[:, 1] * np.exp(-2j * np.pi * 3 * np.arange(256) / 256))) / 256
    assert at["ay frequency 3"] == pytest.approx((amplitude - 0.25) / 0.25, abs=1e-5)
    assert table.clients[0] == "person 1" and set(np.unique(table.client)) == set(range(10))
    assert watch.windows(first, 100, 50).shape == (4, 100, 6)
    assert np.array_equal(watch.windows(first, 100, 50)[1], first[50:150])


def test_a_pickle_is_opened_only_if_it_is_the_pinned_one_and_holds_arrays(tmp_path, monkeypatch, capsys):
    with pytest.raises(DataMissing, match="is not the pinned file and may run code when opened"):
        watch.load(watch_folder(tmp_path / "other", monkeypatch, npy(recordings()), pinned=False))
    harmful = watch_folder(tmp_path / "harmful", monkeypatch, npy(Command()))
    with pytest.raises(DataMissing, match=r"asks for builtins.print, which no array needs: it was not opened"):
        watch.load(harmful)
    assert "opened" not in capsys.readouterr().out
    with pytest.raises(DataMissing, match="holds no dict of arrays"):
        watch.load(watch_folder(tmp_path / "text", monkeypatch, b"no array"))
    with pytest.raises(DataMissing, match="139 recordings where 140 are expected"):
        watch.load(watch_folder(tmp_path / "few", monkeypatch, npy(recordings(139))))


def test_projected_records_depend_on_the_span_alone():
    rng = stream(7, "projection")
    codes = rng.integers(0, 3, 500)
    X = rng.standard_normal((500, 5))
    X[:, 0] += codes
    basis, turn = np.eye(5)[:, :2], np.array([[2.0, 1.0], [-0.5, 3.0]])
    first, second = coordinates(X, codes, basis), coordinates(X, codes, basis @ turn)
    assert np.allclose(first, second, atol=1e-9)
    assert np.allclose(first.T @ first / 500, np.eye(2), atol=1e-9)
    assert np.corrcoef(first[:, 0], codes)[0, 1] > 0.5
    groups = [X[codes == c, 0] for c in range(3)]
    between = sum(len(g) * (g.mean() - X[:, 0].mean()) ** 2 for g in groups) / np.sum((X[:, 0] - X[:, 0].mean()) ** 2)
    assert separation(X, codes, np.eye(5)[:, :1]) == pytest.approx(between, rel=1e-9)
    # A constant column adds a direction without variance, which is not an error.
    X[:, 4] = 1.0
    assert np.allclose(coordinates(X, codes, np.eye(5)[:, [0, 4]])[:, 1], 0)
