"""What every protocol of the study promises, by the command that tries any method: places, ledger, pooling, replay."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.core.randomness import stream
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.trial import outcome, trials
from partywise.methods.glm.noisy_statistics import scaling

SHARED = {"protocol": "joint", "solver": "lbfgs", "link": "shared"}
# Gaussian data: the others differ in numerics only, which tests of the protocols try.
CERTAIN = [{"protocol": "reference"}, {"protocol": "bcd", "variant": "corrected"}, {"protocol": "joint"}, SHARED]
CERTAIN += [{"protocol": "correlation"}]
PRIVATE = [
    {"protocol": "moments", "cipher": "sized"},
    {"protocol": "noisy_newton"},
    {"protocol": "noisy_gradient", "steps": 4},
]


def tried(method, family="gaussian"):
    return outcome(family, trials("vertical_glm")[family], "vertical_glm", method)


@pytest.mark.parametrize("method", CERTAIN, ids=lambda m: "-".join(m.values()))
def test_fits_without_noise_are_those_of_pooled_records_and_certify_nothing(method):
    found = tried(method)
    assert found.pooled and not found.failures
    label = 0 if method["protocol"] == "correlation" else np.inf
    assert found.totals == {"label": label, "features": np.inf, "row": np.inf}


@pytest.mark.parametrize("method", PRIVATE, ids=lambda m: m["protocol"])
def test_private_fits_certify_their_target_and_are_pooled_ones_where_no_party_clips(method, monkeypatch):
    # Sums are integers of a grid that the total radius sets: radii that add up alike give every split one grid.
    monkeypatch.setattr(scaling, "default_radius", lambda columns, rule: 3 * np.sqrt(columns))
    found = tried(method)
    assert found.pooled and not found.failures
    assert all(total == pytest.approx(1, abs=1e-9) for total in found.totals.values())


@pytest.mark.parametrize(
    ("method", "family"),
    [({"protocol": "block_svd"}, "gaussian"), ({"protocol": "noisy_predictor", "cipher": "sized"}, "binomial")],
    ids=["block_svd", "noisy_predictor"],
)
def test_the_architecture_of_the_source_depends_on_who_holds_what(method, family):
    """Its correlations are those of rotated columns, and one sweep over blocks is not a joint step."""
    found = tried(method, family)
    assert list(found.failures) == ["federation equals pooling"]
    assert found.totals["row"] == (np.inf if method["protocol"] == "block_svd" else pytest.approx(1, abs=1e-9))


def test_neighbours_differ_in_one_record_of_the_unit():
    case = {"source": "generated", "settings": {"family": "poisson", "n": 40, "p": 3}}
    case["grid"] = {"methods": ["one"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}
    made = plan("vertical_glm", {"methods": {"one": {"protocol": "bcd"}}, "cases": {"c": case}, "figures": []}, 7)
    data = generate(made, "c", [0], "resources")[0]
    for unit, moves in (("label", (False, True)), ("features", (True, False)), ("row", (True, True))):
        found = list(trials("vertical_glm")["gaussian"].neighbours(data, None, unit, 5, stream(3, unit)))
        assert len(found) == 5
        for name, other in found:
            i = int(name.split()[1])
            assert (bool(np.any(data.X[i] != other.X[i])), data.y[i] != other.y[i]) == moves
            np.testing.assert_array_equal(np.delete(data.X, i, 0), np.delete(other.X, i, 0))
            np.testing.assert_array_equal(np.delete(data.y, i), np.delete(other.y, i))
            assert other.y[i] >= 0 and other.y[i] == np.floor(other.y[i])
