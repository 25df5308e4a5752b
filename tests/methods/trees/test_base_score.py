"""Where boosting starts: at the mean of numbers, at a public number with noise, at 0 as in the source's program."""

from __future__ import annotations

import numpy as np
import pytest

import partywise as pw
from partywise.data.columns.settings import ColumnDatasetSettings
from partywise.methods.trees.ensemble import base_of
from partywise.methods.trees.options import GatheringOptions, ScatteringOptions, TablesOptions, TreePooledOptions
from partywise.models.criteria import CLASSES, NUMBERS
from partywise.studies.vertical_trees.data import TreeData

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (240, 4))
HEIGHTS = 1013 + 5 * X[:, 0]
RARE = (X[:, 3] > 0.94).astype(int)
COMMON = {"num_of_trees": 10, "eta": 0.1, "random_state": 1, "parties": [[0, 1], [2, 3]]}
DECLARED = {"public_edges": [np.array([-0.5, 0.0, 0.5])] * 4, "public_bounds": [(-1.0, 1.0)] * 4}
# Options of every protocol: those whose start is exact, and those whose start is public, with their epsilon.
EXACT = {
    "pooled": {},
    "active_only": {},
    "feature_gathering": {},
    "label_scattering": {"cipher": "sized", "residual_bound": 50.0},
}
PUBLIC = {
    "tables": {"cipher": "sized", "residual_bound": 20.0, "epsilon": 8.0},
    "local_tables": {"residual_bound": 20.0, "epsilon": 8.0},
    "bins": {"protect": "dp", "epsilon": 8.0},
    "OpBoost": {"protect": "op_boost", "epsilon": 8.0},
}
NAMES = {"bins": "feature_gathering", "OpBoost": "feature_gathering"}


def boosted(label, y, **changes):
    options = COMMON | DECLARED | {**EXACT, **PUBLIC}[label] | changes
    return pw.VerticalBoosting(NAMES.get(label, label), **options).fit(X, y)


@pytest.mark.parametrize("label", EXACT)
def test_exact_protocols_start_at_the_mean_of_the_response(label):
    model = boosted(label, HEIGHTS, loss=NUMBERS)
    assert model.ensemble_.base == HEIGHTS.mean()
    assert model.predict(X).mean() == pytest.approx(HEIGHTS.mean(), abs=0.1)


@pytest.mark.parametrize("label", PUBLIC)
def test_protocols_with_noise_start_in_the_middle_of_public_bounds_or_at_0(label):
    model = boosted(label, HEIGHTS, loss=NUMBERS, public_response_bounds=(1000.0, 1030.0))
    assert model.ensemble_.base == 1015.0
    assert model.predict(X).mean() == pytest.approx(HEIGHTS.mean(), abs=3)
    assert boosted(label, X[:, 0], loss=NUMBERS).ensemble_.base == 0.0


@pytest.mark.parametrize("label", [*EXACT, *PUBLIC])
def test_every_protocol_starts_where_it_is_told(label):
    assert boosted(label, HEIGHTS, loss=NUMBERS, base_score=1010.0).ensemble_.base == 1010.0
    model = boosted(label, RARE, base_score=0.25)
    assert model.ensemble_.base == pytest.approx(-np.log(3), rel=1e-15)
    assert boosted(label, RARE).ensemble_.base == 0.0


@pytest.mark.parametrize("label", EXACT)
def test_the_mean_of_labels_is_the_share_of_label_1(label):
    model = boosted(label, RARE, base_score="mean")
    assert model.ensemble_.base == pytest.approx(np.log(RARE.mean() / (1 - RARE.mean())), rel=1e-12)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(RARE.mean(), abs=0.01)
    assert boosted(label, RARE).predict_proba(X)[:, 1].mean() > 0.1 > 2 * RARE.mean()


@pytest.mark.parametrize("label", PUBLIC)
def test_a_start_that_must_be_public_is_never_the_mean(label):
    with pytest.raises(ValueError, match="base_score is 'mean': the start of this protocol is public"):
        boosted(label, RARE, base_score="mean")


def test_the_programs_of_the_source_start_at_0():
    for options in (TreePooledOptions(algo="gbdt", as_published=True), ScatteringOptions(ties="position")):
        assert base_of(HEIGHTS, options, NUMBERS, bounds=(1000.0, 1030.0)) == 0.0
    published = GatheringOptions(protect="dp", edges="quantile", n_bins=5, ties="position", budget="feature")
    assert base_of(HEIGHTS, published, NUMBERS, bounds=(1000.0, 1030.0)) == 0.0
    assert base_of(HEIGHTS, TreePooledOptions(algo="rf"), NUMBERS) == 0.0
    assert base_of(HEIGHTS, TablesOptions(), NUMBERS) == 0.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base_score": 0.0}, r"base_score is 0\.0: of labels it is the probability of label 1, between 0 and 1"),
        ({"base_score": 2.0}, r"base_score is 2\.0: of labels it is the probability"),
        ({"base_score": "median"}, r"base_score is 'median': it must be one of mean"),
        (
            {"base_score": 0.3, "algo": "rf", "eta": 0.5},
            r"base_score is 0\.3: it is read with algo 'xgb' or 'gbdt' only",
        ),
        ({"base_score": float("inf"), "loss": NUMBERS}, r"base_score is inf: it must be a finite number"),
        ({"public_response_bounds": (0, 1)}, r"public_response_bounds=\(0, 1\): labels have no range"),
        ({"public_response_bounds": (1, 0), "loss": NUMBERS}, r"public_response_bounds=\(1, 0\): give two increasing"),
    ],
)
def test_starts_that_cannot_be_are_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        boosted("pooled", RARE, **changes)


def test_more_than_two_classes_start_at_equal_probabilities():
    three = RARE + (X[:, 0] > 0)
    assert boosted("pooled", three).ensemble_.base == 0.0
    with pytest.raises(ValueError, match=r"base_score is 0\.3: 3 classes start at equal probabilities"):
        boosted("pooled", three, base_score=0.3)


def test_a_start_near_the_response_lets_tables_have_less_noise():
    """Residuals of the same response need a bound of 20 from its middle, and of 1,030 from 0."""
    options = {"loss": NUMBERS, "num_of_trees": 1, "epsilon": 1.0}
    near = boosted("tables", HEIGHTS, public_response_bounds=(1000.0, 1030.0), **options)
    far = boosted("tables", HEIGHTS, **options | {"residual_bound": 1030.0})
    assert near.estimate_.numbers["sigma"] < far.estimate_.numbers["sigma"] / 10


def test_the_study_knows_the_public_range_of_a_shipped_response():
    settings = ColumnDatasetSettings(dataset="abalone")
    rows = {"y": np.array([9.0, 11.0]), "X": np.zeros((2, 0)), "train": np.ones(2, dtype=bool), "order": np.arange(2)}
    data = TreeData(
        **rows, names=np.array([]), column_facts=(), criterion=NUMBERS, response_bounds=settings.response_bounds
    )
    assert data.public().response_bounds == (0.0, 30.0)
    assert ColumnDatasetSettings(dataset="adult", loss=CLASSES).response_bounds is None
