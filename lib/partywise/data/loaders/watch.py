"""Exercises of the shoulder recorded by a wrist watch: windows of ten persons, with features whose ranges are public.

The file is a NumPy pickle.  Its SHA-256 is compared with the pinned one before it is opened, and it is opened by an
unpickler that knows arrays and nothing else.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path

# Any: what a pickle holds.
from typing import Any

import numpy as np

from ...core.errors import DataMissing
from ..catalogue import RESOURCES
from ..column_facts import ColumnFacts
from ..descriptions import TABLES
from ..fetch import read_files
from ..reading import require
from ..tables import Table

RESOURCE = "watch_activity"
TABLE = TABLES["activity"]
CHANNELS = tuple(signal.name for signal in TABLE.signals)
# As the file calls the levels of the response.
EXERCISES = ("PEN", "ABD", "FEL", "IR", "ER", "TRAP", "ROW")
RECORDINGS, SAMPLES = 140, 244102
WINDOW, STEP = 128, 64
BINS, PARTS = 12, 4
SUMMARIES = ("mean", "sd", "min", "max", "lower quartile", "median", "upper quartile", "mean square", "mean step")
SAFE = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
}
NOTES = (
    "Stands in for the smartphone data of the source, which no package ships: 10 persons for 30, seven exercises for "
    "three levels of activity, a watch at the wrist for a telephone at the waist.",
    TABLE.record,
)


class Unpickler(pickle.Unpickler):
    """Opens arrays in lists and dicts; any other object is refused."""

    def find_class(self, module: str, name: str) -> object:
        """The few names that arrays need."""
        if (module, name) not in SAFE:
            raise DataMissing(f"watch_dataset.npy asks for {module}.{name}, which no array needs: it was not opened.")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def load(folder: str | Path) -> Table:
    """Read ``folder`` (such as ``resources/watch_activity``, filled by ``data.fetch``)."""
    contents, sha256, notes = read_files(RESOURCE, folder)
    member = RESOURCES[RESOURCE].members[0]
    if sha256[member.file] != member.sha256:
        raise DataMissing(f"{member.file} is not the pinned file and may run code when opened: delete it, run again.")
    table = read_recordings(contents[member.file])
    recordings = [np.asarray(recording, dtype=float) for recording in table["X"]]
    require(tuple(table["X_labels"]) == CHANNELS, f"channels are {table['X_labels']}")
    require(tuple(table["y_labels"]) == EXERCISES, f"exercises are {table['y_labels']}")
    require(len(recordings) == RECORDINGS, f"{len(recordings)} recordings where {RECORDINGS} are expected")
    samples = sum(map(len, recordings))
    require(samples == SAMPLES, f"{samples} samples where {SAMPLES} are expected")
    cut = [windows(recording, WINDOW, STEP) for recording in recordings]
    counts, expected = [len(part) for part in cut], TABLE.responses[0].rows
    require(sum(counts) == expected, f"{sum(counts)} windows where {expected} are expected")
    X, names, facts = features(np.concatenate(cut))
    subject = np.repeat(np.asarray(table["subject"], dtype=int) - 1, counts)
    require(set(subject) == set(range(len(TABLE.clients))), "persons are not numbered from 1 to 10")
    return Table(
        X=X,
        y=np.repeat(np.asarray(table["y"], dtype=float), counts),
        client=subject,
        names=names,
        clients=TABLE.clients,
        column_facts=facts,
        sha256=dict(sha256),
        notes=NOTES + notes,
    )


def read_recordings(content: bytes) -> dict[str, Any]:
    """The dict of arrays in the file."""
    handle = io.BytesIO(content)
    try:
        np.lib.format.read_magic(handle)
        np.lib.format.read_array_header_1_0(handle)
        return dict(Unpickler(handle).load().item())
    except (ValueError, pickle.UnpicklingError, AttributeError, EOFError):
        raise DataMissing("watch_dataset.npy holds no dict of arrays: delete it and run again to fetch it.") from None


def windows(recording: np.ndarray, length: int, step: int) -> np.ndarray:
    """(windows, length, 6) of one recording (T, 6); what is left at its end is dropped."""
    views = np.lib.stride_tricks.sliding_window_view(recording, length, axis=0)[::step]
    return views.transpose(0, 2, 1)


def features(parts: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[ColumnFacts, ...]]:
    """Features (windows, 165), their names, and their public ranges."""
    blocks, names, facts = [], [], []

    def add(name: str, values: np.ndarray, low: float, high: float, because: str) -> None:
        blocks.append(values)
        names.append(name)
        facts.append(ColumnFacts(None, (low, high), because))

    spectrum = np.abs(np.fft.rfft(parts, axis=1))[:, 1 : BINS + 1] / parts.shape[1]
    for j, signal in enumerate(TABLE.signals):
        assert signal.bounds is not None
        (low, limit), sensor, why = signal.bounds, signal.name, signal.because
        x = parts[:, :, j]
        quartiles = np.quantile(x, [0.25, 0.5, 0.75], axis=1)
        size = np.sqrt(np.mean(x**2, axis=1))
        steps = np.mean(np.abs(np.diff(x, axis=1)), axis=1)
        values = (x.mean(axis=1), x.std(axis=1), x.min(axis=1), x.max(axis=1), *quartiles, size, steps)
        lows = {"sd": 0.0, "mean square": 0.0, "mean step": 0.0}
        highs = {"sd": limit / 2, "mean step": limit / 10}
        for name, value in zip(SUMMARIES, values, strict=True):
            add(f"{sensor} {name}", value, lows.get(name, low), highs.get(name, limit), why)
        for part, block in enumerate(np.array_split(x, PARTS, axis=1)):
            add(f"{sensor} mean of quarter {part + 1}", block.mean(axis=1), low, limit, why)
        for place in range(BINS):
            add(f"{sensor} frequency {place + 1}", spectrum[:, place, j], 0.0, limit / 4, why)
    centred = parts - parts.mean(axis=1, keepdims=True)
    lengths = np.maximum(np.sqrt(np.sum(centred**2, axis=1)), 1e-12)
    for i in range(len(CHANNELS)):
        for j in range(i):
            product = np.sum(centred[:, :, i] * centred[:, :, j], axis=1) / (lengths[:, i] * lengths[:, j])
            add(f"correlation of {CHANNELS[j]} and {CHANNELS[i]}", product, -1.0, 1.0, "a correlation")
    return np.stack(blocks, axis=1), np.array(names), tuple(facts)
