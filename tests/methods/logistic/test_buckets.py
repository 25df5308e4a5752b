"""Breakdown buckets: their cells, their sensitivity by all flips, and that they are WALR on indicators."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from label_driver import make_data, run
from partywise import LabelPrivateLogisticRegression, load
from partywise.core.errors import CertificationError, ConfigError
from partywise.core.randomness import stream
from partywise.experiment.configuration.build import build
from partywise.methods.logistic.cells import Cells
from partywise.methods.logistic.options import BucketsOptions
from partywise.methods.logistic.planner import fixed_plan
from partywise.methods.logistic.release import WholeRows
from partywise.methods.logistic.trainers import fit_walr
from partywise.privacy.audit.pairs import audit_pair
from partywise.privacy.mechanisms.integer import IntegerGaussian

# Two numbers, one indicator, and three indicators of one variable.
VARIABLES = (-1, 7, -1, 9, 9, 9)


def table(n: int = 8) -> np.ndarray:
    rng = stream(7, "cells")
    X = np.zeros((n, 7))
    X[:, 0], X[:, 1], X[:, 2], X[:, 3] = 1.0, rng.random(n), rng.integers(0, 2, n), rng.random(n)
    level = rng.integers(0, 4, n)
    for column in range(3):
        X[:, 4 + column] = level == column + 1
    return X


def test_a_record_is_in_one_cell_of_every_table_and_in_the_total():
    for pairs, tables in ((False, 4), (True, 4 + 6)):
        cells = Cells.of(VARIABLES, 3, pairs)
        assert cells.levels == (3, 2, 3, 4) and len(cells.tables) == tables
        Z = cells.indicators(table())
        assert Z.shape == (8, cells.count) and np.all(Z.sum(axis=1) == tables + 1) and np.all(Z[:, 0] == 1)
        start = 1
        for one in cells.tables:
            size = math.prod(cells.levels[place] for place in one)
            assert np.all(Z[:, start : start + size].sum(axis=1) == 1)
            start += size
    generated = Cells.of([-1 if j % 2 else j for j in range(1, 20)], 4, True)
    assert len(generated.tables) == 19 + 171


def test_cells_are_the_parts_of_the_interval_and_the_levels():
    cells = Cells.of((-1, 3), 4, True)
    X = np.array([[1, 0.0, 0], [1, 0.2499, 1], [1, 0.25, 0], [1, 1.0, 1]])
    expected = np.zeros((4, 1 + 4 + 2 + 8))
    expected[:, 0] = 1
    for row, (part, level) in enumerate([(0, 0), (0, 1), (1, 0), (3, 1)]):
        expected[row, [1 + part, 5 + level, 7 + 2 * part + level]] = 1
    np.testing.assert_array_equal(cells.indicators(X), expected)


@pytest.mark.parametrize("pairs", [False, True])
def test_the_squared_sensitivity_is_the_number_of_tables_and_one_by_all_flips(pairs):
    """Every labelling of a small table, and every flip of one label."""
    cells, X = Cells.of(VARIABLES, 3, pairs), table(6)
    Z = cells.indicators(X)
    moves = set()
    for labels in product((0, 1), repeat=len(X)):
        y = np.array(labels, dtype=float)
        for i in range(len(X)):
            other = y.copy()
            other[i] = 1 - y[i]
            moves.add(int(np.square(y @ Z - other @ Z).sum()))
    rows = WholeRows.of(Z, fixed_plan(Z, 1.0, 1e-5, bound=cells.clip))
    assert moves == {len(cells.tables) + 1} == {rows.squares} and rows.step == 1.0


def test_rows_that_are_no_cells_are_refused():
    cells, Z = Cells.of(VARIABLES, 3, False), Cells.of(VARIABLES, 3, False).indicators(table())
    plan = fixed_plan(Z, 1.0, 1e-5, bound=cells.clip)
    for spoiled in (2 * Z, np.zeros_like(Z)):
        with pytest.raises((CertificationError, ValueError)):
            WholeRows.of(spoiled, plan)


@pytest.mark.statistical
@pytest.mark.parametrize("pairs", [False, True])
def test_an_audit_of_one_flip_finds_the_stated_mu(pairs):
    """The attacker adds the cells of one record, on which the flip moves the counts."""
    draws = 400_000
    cells, X = Cells.of(VARIABLES, 3, pairs), table(40)
    Z, y = cells.indicators(X), stream(7, "y").integers(0, 2, 40).astype(float)
    plan = fixed_plan(Z, 4.0, 1e-5, bound=cells.clip)
    y[0], other, worlds = 0.0, y.copy(), []
    other[0] = 1.0
    for world, labels in (("there", other), ("here", y)):
        rows = WholeRows.of(Z, plan)
        total = labels @ rows.steps @ Z[0]
        noise = IntegerGaussian(mu=plan.mu)
        chunks = []
        for part in range(20):
            counts = noise.draw(rows.whole(np.tile(labels @ rows.steps, (draws // 20, 1))), stream(7, world, part))
            chunks.append(counts @ Z[0])
        worlds.append(np.concatenate(chunks))
        assert abs(worlds[-1].mean() * len(X) - total) < 10
    mu = audit_pair(*worlds, 1e-5, gaussian=True).mu_lower
    assert 0.97 * plan.mu <= mu <= plan.mu


def test_buckets_are_walr_on_the_indicators_of_cells():
    found = run("buckets", 1.0, bins=4, ridge="fixed")
    X, y = found.data.training
    cells = found.estimate.cells
    assert cells.levels == (4, 2, 4, 2, 4) and found.estimate.theta.shape == (cells.count,)
    Z = cells.indicators(X)
    plan = fixed_plan(Z, 1.0, 1e-5, bound=cells.clip, ridge="fixed")
    counts = found.estimate.noisy_dot * len(y)
    # Steps finer than one where the noise is narrow are still whole parts of it.
    assert np.allclose(counts * 2**12, np.rint(counts * 2**12), atol=1e-6)
    np.testing.assert_allclose(fit_walr(Z, found.estimate.noisy_dot, plan).theta, found.estimate.theta, atol=1e-9)
    free = run("buckets", math.inf, bins=4).estimate
    np.testing.assert_allclose(free.noisy_dot, y @ Z / len(y), rtol=1e-15)


@pytest.mark.parametrize("options", [{}, {"bins": 2, "pairs": "all"}, {"shape": "planned"}, {"sigma": "classic"}])
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_buckets_cost_their_target_for_a_label(options, epsilon):
    found = run("buckets", epsilon, **options)
    certified = found.total().epsilon_certified
    assert certified <= epsilon and found.estimate.epsilon_claimed == epsilon
    assert "sigma" in options or certified == pytest.approx(epsilon, rel=1e-9)
    assert [m.name for m in found.channel.messages] == ["features", "noisy dot-product"]
    assert found.scalars["n_coefficients"] == found.estimate.cells.count
    assert np.isfinite(found.scalars["log_loss"]) and found.scalars["excess_risk"] > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": 1}, "bins is 1: it must be at least 2"),
        ({"pairs": "some"}, "pairs is 'some': it must be one of none, all"),
        ({"radius": 3.0}, "radius is 3.0: it is read with ridge 'fixed' only"),
        ({"shape": "planned", "sigma": "classic"}, "sigma is 'classic': it is read with shape 'iid' only"),
        ({"shape": "planned", "ridge": "fixed"}, "ridge is 'fixed': shape 'planned' is planned together"),
        ({"publish_shape": True}, "publish_shape is True: it is read with shape 'planned' only"),
        ({"colluders": 2}, "colluders is 2: it is read with holders 'rows' only"),
        ({"noise_draws": 1}, "noise_draws is 1: it needs at least 2 draws"),
    ],
)
def test_options_of_buckets_name_what_is_wrong(options, message):
    with pytest.raises(ConfigError, match=rf"^at\.{message}"):
        build(BucketsOptions, options, "at")


def test_too_many_cells_and_features_outside_the_box_are_refused():
    with pytest.raises(ValueError, match=r"pairs of these features have 499849 cells, more than 20000: use fewer bins"):
        Cells.of((-1,) * 2, 706, True).indicators(table())
    cells = Cells.of((-1,), 4, False)
    with pytest.raises(ValueError, match=r"X runs from 0.0 to 1.5: cells are cut from features in \[0, 1\]"):
        cells.indicators(np.array([[1.0, 1.5], [1.0, 0.0]]))
    # Whatever the columns of a variable hold, a record is in one of its cells.
    odd = np.array([[1.0, 1.0, 1.0], [1.0, 0.2, 0.6], [1.0, 0.5, 0.5]])
    np.testing.assert_array_equal(Cells.of((3, 3), 4, False).indicators(odd)[:, 1:], np.eye(3)[[1, 2, 0]])


def test_the_estimator_predicts_through_its_cells(tmp_path):
    X = stream(1, "records").uniform(size=(2000, 2))
    y = (np.abs(X[:, 0] - 0.5) < 0.25).astype(int)
    model = LabelPrivateLogisticRegression("buckets", epsilon=4.0, random_state=7).fit(X, y)
    line = LabelPrivateLogisticRegression("walr", epsilon=4.0, random_state=7).fit(X, y)
    assert model.score(X, y) > 0.9 > line.score(X, y), "cells bend where features do not"
    assert len(model.coef_) == model.estimate_.cells.count - 1 and model.conf_int_ is None
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_further_draws_are_of_the_cells():
    found = run("buckets", 1.0, bins=3, noise_draws=3, data=make_data())
    assert found.scalars["expected_log_loss"] == pytest.approx(found.scalars["log_loss"], abs=0.2)
    assert found.scalars["noise_sd_log_loss"] > 0
