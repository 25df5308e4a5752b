"""What every study says of clipped records, of fits that lose against a trivial predictor, and of held-out records."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import log_loss

from partywise.methods.functional.model import CurveEstimate
from partywise.methods.inverse_regression.model import SlicingEstimate
from partywise.methods.inverse_regression.options import SlicingPublishedOptions
from partywise.methods.inverse_regression.subspace import projection_loss
from partywise.methods.linear.model import LinearEstimate
from partywise.methods.linear.options import LinearExactOptions
from partywise.studies.functional_boosting.metrics import metrics as of_curves
from partywise.studies.sliced_inverse_regression.metrics import metrics as of_subspaces
from partywise.studies.sliced_inverse_regression.metrics import random_loss
from partywise.studies.sliced_inverse_regression.settings import SimulatedSlicingSettings
from partywise.studies.vertical_linear import metrics as linear
from protocol_driver import make_data
from slicing_driver import simulated


@pytest.mark.parametrize("train", [np.ones(120, dtype=bool), np.arange(120) >= 40])
def test_curves_without_held_out_records_are_in_sample(train):
    data = make_data()
    p, q, qy = data.operators.shape
    fit = CurveEstimate(data.operators, np.zeros((p, q)), np.zeros(qy), np.ones(p, dtype=bool), 1.0)
    assert of_curves(fit, data, train, None).in_sample == train.all()


@pytest.mark.parametrize(("p", "d"), [(6, 1), (7, 3)])
def test_the_loss_of_a_random_subspace(p, d):
    rng = np.random.default_rng(3)
    losses = [projection_loss(*(np.linalg.qr(rng.normal(size=(p, d)))[0] for _ in range(2))) for _ in range(4000)]
    mean, error = np.mean(np.square(losses)), np.std(np.square(losses)) / np.sqrt(len(losses))
    assert abs(mean - random_loss(p, d) ** 2) < 5 * error


def test_subspaces_lose_against_a_random_one():
    settings = SimulatedSlicingSettings(model="III", n=300, clients=4, p=6, radius=1.0)
    data = simulated(settings)
    apart = np.linalg.qr(np.hstack([data.beta, np.eye(6)]))[0][:, 2:4]

    def found(basis):
        fit = SlicingEstimate(basis=basis, epsilon=1.0, epsilon_claimed=1.0, clients=3)
        return of_subspaces(
            fit,
            data,
            np.ones(4, dtype=bool),
            SimpleNamespace(
                settings=settings,
                options=SlicingPublishedOptions(mechanism="iid"),
                study=SimpleNamespace(unit="row"),
                public=data.facts,
            ),
        )

    assert not found(data.beta).worse_than_random and found(apart).worse_than_random
    assert "in_sample" not in found(data.beta).as_dict(), "the truth is known"


def test_linear_models_against_the_mean_label():
    y = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    test = np.arange(7) >= 4
    assert linear.base_loss(0.3, y) == pytest.approx(log_loss(y, np.full(7, 0.3)))
    assert linear.base_loss(1.0, y[test]) == 0.0 and linear.base_loss(0.0, y[test]) == np.inf
    X = (2 * y - 1)[:, None]
    data = SimpleNamespace(X=X, y=y, criterion="CrossEntropyLoss", label_scale=1.0)
    fits = {sign: LinearEstimate(coefficients=np.array([0.0, sign]), epsilon_claimed=np.inf) for sign in (1.0, -1.0)}
    for model in ("logistic", "linear"):
        worse = [linear.prediction_measures(fits[sign], data, test, model).worse_than_mean for sign in (1.0, -1.0)]
        assert worse == [False, True], model
    assert LinearExactOptions().model == "logistic"
