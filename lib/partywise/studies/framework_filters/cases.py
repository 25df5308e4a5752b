"""The cases of the study: patients of four hospitals, and many clients of Adult."""

from __future__ import annotations

import csv
import io
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...core.randomness import Rng, draw_root
from ...data.fetch import read_files
from ...data.loaders.read import read_table
from ...data.reading import require
from ...models.links import LOGIT
from .data import FilterData
from .settings import (
    HOSPITALS,
    TEST_ROWS,
    FilterGeneratedSettings,
    HeartSettings,
    ManyClientsSettings,
    MasksSettings,
    StatisticsSettings,
)

RESOURCE, FILE, ROWS = "heart", "heart_disease_uci.csv", 740
# Columns and the ranges to which they are clipped: usual ranges of the field, chosen without the table.
RANGES = {
    "age": (20.0, 90.0),
    "trestbps": (80.0, 200.0),
    "chol": (0.0, 600.0),
    "thalch": (60.0, 210.0),
    "oldpeak": (-3.0, 7.0),
}
FLAGS = {"sex": "Male", "fbs": "TRUE", "exang": "TRUE"}
LEVELS = {"cp": ("typical angina", "atypical angina", "non-anginal"), "restecg": ("normal", "st-t abnormality")}
# First edge, width and end of the bins that tile a column: whole numbers, tenths of oldpeak.
SPANS = {
    "age": (-0.5, 1.0, 100.5),
    "trestbps": (-0.5, 1.0, 250.5),
    "chol": (-0.5, 1.0, 700.5),
    "thalch": (-0.5, 1.0, 250.5),
    "oldpeak": (-3.05, 0.1, 10.05),
}
TRAIN_SHARE = 0.66


@lru_cache(maxsize=1)
def read_heart(resources: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features (740, 14), labels, number of the hospital, and raw columns (740, 5), hospital by hospital."""
    contents, _, _ = read_files(RESOURCE, resources / RESOURCE)
    needed = (*RANGES, *FLAGS, *LEVELS)
    table = csv.DictReader(io.StringIO(contents[FILE].decode()))
    rows = [row for row in table if all(row[name] for name in needed)]
    require(len(rows) == ROWS, f"{FILE} has {len(rows)} complete records where {ROWS} are expected")
    rows.sort(key=lambda row: HOSPITALS.index(row["dataset"]))
    raw = np.array([[float(row[name]) for name in RANGES] for row in rows])
    low, high = np.array(list(RANGES.values())).T
    parts = [2 * (np.clip(raw, low, high) - low) / (high - low) - 1]
    parts.append(np.array([[1.0 if row[name] == level else -1.0 for name, level in FLAGS.items()] for row in rows]))
    indicators = [(name, level) for name, levels in LEVELS.items() for level in levels]
    parts.append(np.array([[float(row[name] == level) for name, level in indicators] for row in rows]))
    X = np.concatenate([*parts, np.ones((len(rows), 1))], axis=1)
    y = np.array([int(row["num"]) > 0 for row in rows], dtype=np.uint8)
    return X, y, np.array([HOSPITALS.index(row["dataset"]) for row in rows]), raw


def draw_generated(settings: FilterGeneratedSettings, spec: object, rng_for: Rng, resources: Path) -> FilterData:
    """New records: features uniform in [-1, 1], effects that alternate in sign."""
    rng, trained = rng_for("records"), settings.clients * settings.rows
    n = trained + settings.test_rows
    X = np.column_stack([rng.uniform(-1, 1, (n, settings.features - 1)), np.ones(n)])
    effects = np.where(np.arange(settings.features) % 2, -2.0, 2.0)
    y = (rng.random(n) < LOGIT.mean(X @ effects)).astype(np.uint8)
    return FilterData(
        y,
        X,
        np.full(settings.clients, settings.rows),
        draw_root(rng_for("evaluation")),
        holder=np.arange(n) % settings.clients,
        columns=rng.integers(20, 90, (n, 1)).astype(float),
        spans=np.array([SPANS["age"]]),
        column_names=("age",),
        names=tuple(f"client {number + 1}" for number in range(settings.clients)),
    )


def draw_heart(settings: HeartSettings, spec: object, rng_for: Rng, resources: Path) -> FilterData:
    """Two thirds of the patients of each hospital and class train; the only one of a class tests."""
    X, y, site, _ = read_heart(Path(resources))
    rng, train = rng_for("split"), np.zeros(len(y), dtype=bool)
    for hospital in range(len(HOSPITALS)):
        for label in (0, 1):
            rows = np.flatnonzero((site == hospital) & (y == label))
            train[rng.permutation(rows)[: min(round(TRAIN_SHARE * len(rows)), len(rows) - 1)]] = True
    order = np.concatenate([np.flatnonzero(train), np.flatnonzero(~train)])
    sizes = np.bincount(site[train], minlength=len(HOSPITALS))
    return FilterData(y[order], X[order], sizes, draw_root(rng_for("evaluation")), holder=site[order], names=HOSPITALS)


def draw_statistics(settings: StatisticsSettings, spec: object, rng_for: Rng, resources: Path) -> FilterData:
    """All patients of all hospitals, with their raw columns."""
    X, y, site, raw = read_heart(Path(resources))
    return FilterData(
        y,
        X,
        np.bincount(site),
        draw_root(rng_for("evaluation")),
        columns=raw,
        spans=np.array(list(SPANS.values())),
        column_names=tuple(SPANS),
        names=HOSPITALS,
    )


def draw_masks(settings: MasksSettings, spec: object, rng_for: Rng, resources: Path) -> FilterData:
    """All patients of the first hospitals."""
    X, y, site, _ = read_heart(Path(resources))
    names = settings.natural_clients
    rows = site < len(names)
    return FilterData(y[rows], X[rows], np.bincount(site[rows]), draw_root(rng_for("evaluation")), names=names)


def draw_many_clients(settings: ManyClientsSettings, spec: object, rng_for: Rng, resources: Path) -> FilterData:
    """Records dealt at random, and others that test."""
    table = read_table("adult_indicators", None, Path(resources))
    trained = settings.clients * settings.rows
    rows = rng_for("deal").permutation(len(table.y))[: trained + TEST_ROWS]
    features, _ = table.unit_interval()
    X = np.concatenate([features[rows], np.ones((len(rows), 1))], axis=1).astype(np.float32)
    sizes = np.full(settings.clients, settings.rows)
    return FilterData(table.y[rows].astype(np.uint8), X, sizes, draw_root(rng_for("evaluation")))
