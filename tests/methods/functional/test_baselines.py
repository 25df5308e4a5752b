"""Reference points: what they compute, and that they are charged for sending everything."""

from dataclasses import replace

import numpy as np
import pytest

from partywise.methods.functional.coordinates import make_coordinates
from partywise.methods.functional.options import BaselineOptions
from protocol_driver import INF, SMALL, make_data, run


def test_the_mean_curve_needs_nobody_and_costs_nothing():
    done = run(BaselineOptions(kind="mean"))
    mean = done.data.Y[done.fold.train].mean(0)
    assert np.array_equal(done.estimate.predict(done.data.X), np.broadcast_to(mean, done.data.Y.shape))
    assert done.channel.messages == () and done.total().epsilon_certified == 0 == done.estimate.epsilon_claimed
    assert done.scalars["excess"] == 1 and done.scalars["relative_error"] == 1
    assert done.scalars["worse_than_mean"] is False and done.scalars["n_selected"] == 0


@pytest.mark.parametrize("parties", [1, 2, 4])
def test_least_squares_is_that_of_the_pooled_training_records(parties):
    done = run(BaselineOptions(kind="least_squares", lambda_s=0.0, lambda_t=0.0), parties=parties)
    train = done.fold.train
    design = np.hstack([np.ones((train.sum(), 1)), done.data.X[train].reshape(train.sum(), -1)])
    solution = np.linalg.lstsq(design, done.data.Y[train], rcond=None)[0]
    fitted = solution[0] + done.data.X.reshape(120, -1) @ solution[1:]
    # The ridge of 1e-8 of the mean variance moves fitted values of size 1 by about as much.
    assert np.abs(done.estimate.predict(done.data.X) - fitted).max() < 1e-6
    assert done.total().epsilon_certified == INF == done.estimate.epsilon_claimed
    assert done.total("label").epsilon_certified == 0  # the fit stays with the active party
    assert done.channel.bytes_total == 120 * 4 * 6 * 8


def test_penalties_shrink_least_squares():
    def roughness(weight):
        done = run(BaselineOptions(kind="least_squares", lambda_s=weight, lambda_t=weight))
        penalties = make_coordinates(done.data.public(), 4).penalties
        B = done.estimate.operators
        return float(np.sum(B * (penalties.omega_x @ B)) + np.sum(B * (B @ penalties.omega_y)))

    free, light, heavy = (roughness(weight) for weight in (0.0, 0.1, 100.0))
    assert light < 0.95 * free and heavy < 0.01 * free


def test_the_oracle_has_the_generating_operators():
    done = run(BaselineOptions(kind="oracle"))
    assert np.array_equal(done.estimate.operators, done.data.operators)
    assert done.scalars["excess"] == 0
    assert done.scalars["sensitivity"] == done.scalars["specificity"] == 1


def test_the_oracle_of_unknown_operators_is_refused():
    data = replace(make_data(), operators=np.zeros((0, 6, 6)), active=np.zeros(0, dtype=bool))
    with pytest.raises(ValueError, match="kind is 'oracle' and the true operators are unknown: use it on simulated"):
        run(BaselineOptions(kind="oracle"), data=data)
    done = run(BaselineOptions(kind="least_squares"), data=data)
    assert "excess" not in done.scalars and "sensitivity" not in done.scalars


@pytest.mark.parametrize("kind", ["mean", "least_squares", "oracle"])
def test_baselines_do_not_depend_on_parties_or_target(kind):
    options = BaselineOptions(kind=kind)
    first = run(options).estimate.operators
    assert np.array_equal(run(options, parties=4).estimate.operators, first)
    assert np.array_equal(run(options, epsilon=1.0).estimate.operators, first)
    assert options.uses_epsilon is False


def test_another_basis_or_number_of_predictors_is_refused_when_predicting():
    done = run(BaselineOptions(kind="least_squares"))
    for shape in ((5, 3, 6), (5, 4, 7)):
        with pytest.raises(ValueError, match=r"X has .* predictors and coordinates: the fit was made with \(4, 6\)"):
            done.estimate.predict(np.zeros(shape))
    assert done.estimate.predict(np.zeros((0, SMALL.p, SMALL.n_basis_x))).shape == (0, 6)
