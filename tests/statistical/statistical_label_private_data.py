"""Real tables with labels, fetched as the pipeline fetches them: shape, share of positive labels, logistic fit.

Part of ``./run test --long`` alone: it downloads what is not yet in resources/ and fails, never skips,
where that cannot be done.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partywise.core.randomness import stream
from partywise.data import fetch as resources
from partywise.data.descriptions import TABLES
from partywise.data.loaders.read import read_table
from partywise.methods.logistic.evaluate import auc, log_loss
from partywise.methods.logistic.trainers import penalised_optimum
from partywise.studies.label_private import cases
from partywise.studies.label_private.settings import LabelDatasetSettings

pytestmark = pytest.mark.statistical

RESOURCES = Path(__file__).resolve().parents[2] / "resources"


def loaded(name):
    resource = TABLES[name].resource
    resources.fetch(resource, RESOURCES / resource)
    return read_table(name, None, RESOURCES)


def rng_for(*names, shared=False):
    return stream(7, "data", 0, *names)


@pytest.mark.parametrize(
    ("name", "shape", "positive", "fitted_auc"),
    [
        ("adult_indicators", (45222, 104), 0.2478, 0.907),
        ("late_flights", (325724, 56), 0.2370, 0.713),
        ("breast_cancer", (569, 30), 0.6274, 0.999),
        ("body_fat", (252, 13), 0.5516, 0.955),
    ],
)
def test_real_tables_are_as_described(name, shape, positive, fitted_auc):
    data = loaded(name)
    assert data.X.shape == shape
    assert data.y.mean() == pytest.approx(positive, abs=5e-5)
    for column, about in zip(data.X.T, data.column_facts, strict=True):
        low, high = about.bounds or (-np.inf, np.inf)
        assert low <= column.min() and column.max() <= high, "no value is clipped to its public range"
    X = np.concatenate([np.ones((len(data.y), 1)), data.unit_interval()[0]], axis=1)
    found = auc(X @ penalised_optimum(X, data.y, 1e-6), data.y)
    print(f"{name}: {shape}, positive {data.y.mean():.4f}, AUC on its own rows {found:.4f}")
    assert found == pytest.approx(fitted_auc, abs=0.01)


def test_held_out_rows_of_adult_and_flights():
    for name in ("adult_indicators", "late_flights"):
        loaded(name)
    for name, expected in (("adult_indicators", 0.9064), ("late_flights", 0.70)):
        data = cases.draw_dataset(LabelDatasetSettings(dataset=name), None, rng_for, RESOURCES)
        X, y = data.testing
        theta = penalised_optimum(*data.training, 1e-6)
        found = auc(X @ theta, y)
        print(
            f"{name}: N = {data.train.sum()}, k = {X.shape[1]}, AUC {found:.4f}, log-loss {log_loss(X, y, theta):.4f}"
        )
        assert found == pytest.approx(expected, abs=0.02)
