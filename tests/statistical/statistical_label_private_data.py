"""Real tables with labels, fetched as the pipeline fetches them: shape, share of positive labels, logistic fit.

Not collected by the normal run (``./run long``): it downloads what is not yet in resources/ and fails, never skips,
where that cannot be done.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partywise.datasets import fetch as resources
from partywise.datasets.loaders import adult, body_fat, breast_cancer, late_flights
from partywise.logistic.evaluate import auc, log_loss
from partywise.logistic.trainers import penalised_optimum
from partywise.randomness import stream
from partywise.studies.label_private import cases
from partywise.studies.label_private.settings import FlightsSettings, TableSettings

pytestmark = pytest.mark.statistical

RESOURCES = Path(__file__).resolve().parents[2] / "resources"


def loaded(module):
    resources.fetch(module.RESOURCE, RESOURCES / module.RESOURCE)
    return module.load(RESOURCES / module.RESOURCE)


def rng_for(*names, shared=False):
    return stream(7, "data", 0, *names)


@pytest.mark.parametrize(
    ("module", "shape", "positive", "fitted_auc"),
    [
        (adult, (45222, 104), 0.2478, 0.907),
        (late_flights, (325724, 56), 0.2370, 0.713),
        (breast_cancer, (569, 30), 0.6274, 0.999),
        (body_fat, (252, 13), 0.5516, 0.955),
    ],
    ids=lambda value: getattr(value, "RESOURCE", None),
)
def test_real_tables_are_as_described(module, shape, positive, fitted_auc):
    data = loaded(module)
    assert data.X.shape == shape
    assert data.y.mean() == pytest.approx(positive, abs=5e-5)
    X = np.concatenate([np.ones((len(data.y), 1)), data.unit_interval()[0]], axis=1)
    found = auc(X @ penalised_optimum(X, data.y, 1e-6), data.y)
    print(f"{module.RESOURCE}: {shape}, positive {data.y.mean():.4f}, AUC on its own rows {found:.4f}")
    assert found == pytest.approx(fitted_auc, abs=0.01)


def test_held_out_rows_of_adult_and_flights():
    for module in (adult, late_flights):
        loaded(module)
    for name, data, expected in (
        ("adult", cases.draw_adult(TableSettings(), None, rng_for, RESOURCES), 0.9064),
        ("late flights, by days", cases.draw_late_flights(FlightsSettings(), None, rng_for, RESOURCES), 0.70),
    ):
        X, y = data.testing
        theta = penalised_optimum(*data.training, 1e-6)
        found = auc(X @ theta, y)
        print(
            f"{name}: N = {data.train.sum()}, k = {X.shape[1]}, AUC {found:.4f}, log-loss {log_loss(X, y, theta):.4f}"
        )
        assert found == pytest.approx(expected, abs=0.02)
