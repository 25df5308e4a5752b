"""Estimators are the protocols: the bytes of the pipeline's cells, pooled fits without noise, scikit-learn's ways."""

from __future__ import annotations

import inspect
import json
import math
import warnings
from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.base import clone

import partywise as pw
from curve_functions import fit_central
from partywise.audits.contract import same
from partywise.core.randomness import Streams
from partywise.experiment import cells
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan
from partywise.experiment.trial import execution
from partywise.federation.run import simulate
from partywise.methods.functional.model import BasisSpec
from partywise.methods.functional.path_options import BoostingOptions
from partywise.methods.inverse_regression import projection_loss, sir
from partywise.methods.logistic import penalised_optimum
from partywise.privacy.accounted_values import Public
from partywise.studies.sliced_inverse_regression.cases import client_statistics
from pipeline import ROOT

ESTIMATORS = (pw.FunctionalBoosting, pw.SlicedInverseRegression, pw.LabelPrivateLogisticRegression)
FUNCTIONAL = {"n": 90, "p": 4, "n_basis_x": 7, "n_basis_y": 5, "active": [0, 1], "basis": "fourier"}
SLICING = {"model": "III", "n": 300, "clients": 3}
LABELS = {"n": 300, "k": 4}


def planned(study: str, source: str, settings: dict, method: dict, parties: int, epsilon: float) -> Plan:
    """One case with one method."""
    grid = {"methods": ["m"], "replicates": 1, "folds": 1, "parties": [parties], "epsilon": [epsilon]}
    case = {"source": source, "settings": settings, "grid": grid}
    return plan(study, {"spec": {}, "methods": {"m": method}, "cases": {"c": case}, "figures": []}, 7)


def cell_and_estimate(made: Plan, change=lambda data: data):
    """The pipeline's cell of a plan, and the estimate and data behind it."""
    data = {0: change(generate(made, "c", [0], ROOT / "resources")[0])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (cell,) = cells.run(made, "c", "m", made.cases["c"].parties, [0], [0], data)
    estimate = simulate(made.methods["m"].protocol.fit, execution(made, "c", "m", data[0]))
    return cell, estimate, data[0]


def noise(study: str) -> Streams:
    """Where the pipeline's noise of the case comes from."""
    return Streams(7, study, "c", "noise", 0)


def assert_same(fitted, cell, estimate):
    assert same(fitted.estimate_, estimate)
    assert fitted.ledger_.digest == cell.scalars["ledger_sha256"]
    assert fitted.transcript_ == cell.wire
    for name in ("epsilon_certified", "mu_upper", "tpr_at_1_percent", "tpr_at_0_1_percent", "view_worst"):
        assert getattr(fitted.privacy_, name) == cell.scalars[name]
    assert fitted.epsilon_claimed_ == cell.scalars["epsilon_claimed"]


@pytest.mark.parametrize(
    ("protocol", "options", "epsilon"),
    [
        ("boosting", {"s": 0.5, "radius_value": 3.0, "max_steps": 8}, None),
        ("boosting", {"s_mode": "calibrated", "radius_value": 3.0, "max_steps": 8, "learner": "party"}, 8.0),
        ("published", {"max_steps": 12, "s": 0.4}, None),
        ("moments", {"radius_value": 3.0, "response_radius": 4.0, "max_steps": 8, "cipher": "sized"}, 8.0),
        ("roundwise", {"s": 0.5, "radius_value": 3.0, "max_steps": 3}, None),
        ("central", {"s": 0.5, "radius_value": 3.0}, None),
        ("baseline", {"kind": "least_squares"}, None),
    ],
)
def test_functional_boosting_is_the_cell(protocol, options, epsilon):
    study = "functional_boosting"
    made = planned(study, "simulated", FUNCTIONAL, {"protocol": protocol, **options}, 3, epsilon or 1.0)
    cell, estimate, data = cell_and_estimate(made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = pw.FunctionalBoosting(protocol, epsilon=epsilon, delta=made.spec.delta, **options)
        fitted.fit(data.X, data.Y, parties=3, rng=noise(study))
    assert_same(fitted, cell, estimate)
    assert np.array_equal(fitted.predict(data.X), estimate.predict(data.X))
    assert np.allclose(fitted.intercept_, estimate.predict(np.zeros_like(data.X[:1]))[0])
    assert fitted.noise_errors_ is None
    assert ("standard deviation of its noise is not computed" in fitted.summary()) == (protocol != "baseline")
    assert ("along a path" in fitted.summary()) == (protocol not in ("central", "baseline"))


def with_records(data, settings):
    """Simulated data as arrays: the records themselves instead of what their clients keep of them."""
    facts = data.public()
    records = [facts.records(client.block, facts, settings, "signs").records() for client in data.clients]
    X, y = (np.concatenate(part) for part in zip(*records, strict=True))
    return replace(
        data,
        X=np.ascontiguousarray(X),
        y=y,
        **client_statistics([], 1, data.public_slices, X.shape[1], settings.radius),
    )


@pytest.mark.parametrize(
    ("protocol", "options", "epsilon"),
    [
        ("certified", {}, 1.0),
        ("certified", {"calibrate": "total", "second": "mirrored"}, 4.0),
        ("whitened", {}, 2.0),
        ("published", {"mechanism": "iid"}, 1.0),
        ("reference", {"clipped": False}, None),
    ],
)
def test_sliced_inverse_regression_is_the_cell(protocol, options, epsilon):
    study = "sliced_inverse_regression"
    made = planned(study, "simulated", SLICING, {"protocol": protocol, **options}, 3, epsilon or 1.0)
    settings = made.cases["c"].settings
    cell, estimate, data = cell_and_estimate(made, lambda data: with_records(data, settings))
    X, y = data.X, data.y
    fitted = pw.SlicedInverseRegression(
        protocol,
        epsilon=epsilon,
        delta=settings.delta,
        n_directions=2,
        edges=data.edges,
        radius=settings.radius,
        **{name: value for name, value in options.items() if name != "clipped"},
    )
    # The case clips its records, and so do they; at epsilon 1 the noise hides eigenvalues of so few records.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the fit is (clipped|singular)")
        fitted.fit(X, y, parties=3, rng=noise(study))
    assert_same(fitted, cell, estimate)
    assert np.array_equal(fitted.transform(X), X @ estimate.basis)


@pytest.mark.parametrize(
    ("protocol", "options", "epsilon"),
    [
        ("walr", {}, 1.0),
        ("walr", {"noise": "iid", "ridge": "none", "trainer": "hybrid", "steps": 20}, 1.0),
        ("noisy_gradient", {"rounds": 5}, 1.0),
        ("label_sgd", {"rounds": 5, "rate": 0.2}, 1.0),
        ("objective_perturbation", {}, 1.0),
        ("non_private", {}, None),
    ],
)
def test_label_private_regression_is_the_cell(protocol, options, epsilon):
    study = "label_private"
    made = planned(study, "generated", LABELS, {"protocol": protocol, **options}, 2, epsilon or 1.0)
    cell, estimate, data = cell_and_estimate(made)
    X, y = data.training
    fitted = pw.LabelPrivateLogisticRegression(protocol, epsilon=epsilon, delta=made.spec.delta, **options)
    fitted.fit(X[:, 1:], y, rng=noise(study))
    assert_same(fitted, cell, estimate)
    assert np.allclose(fitted.decision_function(X[:, 1:]), X @ estimate.theta)


def curves(n: int = 120):
    rng = pw.stream(1, "curves")
    X = rng.normal(size=(n, 3, 5))
    Y = np.einsum("npq,pqr->nr", X, rng.normal(size=(3, 5, 3))) + 0.1 * rng.normal(size=(n, 3))
    return X, Y


def test_functional_boosting_without_noise_is_the_pooled_fit():
    X, Y = curves()
    fits = [
        pw.FunctionalBoosting("central", noise="none").fit(X, Y, parties=parties, rng=1)
        for parties in (1, 3, [[2], [0, 1]])
    ]
    unused = Public(1.0, because="a test")
    bases = BasisSpec("fourier", (0.0, 1.0), 5), BasisSpec("fourier", (0.0, 1.0), 3)
    options = BoostingOptions(lambda_s=fits[0].get_params()["lambda_s"], lambda_t=fits[0].get_params()["lambda_t"])
    pooled, _, _ = fit_central(X, Y, *bases, pw.stream(1, "none"), s=0.0, radius=unused, options=options)
    for fitted in fits:
        assert np.allclose(fitted.coef_.reshape(15, 3), pooled.B, rtol=0, atol=1e-10)
        assert fitted.privacy_.epsilon_certified == math.inf and fitted.score(X, Y) > 0.9


def slicing(n: int = 3000):
    rng = pw.stream(2, "slicing")
    X = rng.uniform(-1, 1, size=(n, 5))
    y = X[:, 0] + X[:, 1] + 0.2 * rng.normal(size=n)
    return X, y


def test_sliced_inverse_regression_without_noise_is_the_pooled_fit():
    X, y = slicing()
    direction = np.array([[1.0, 1, 0, 0, 0]]).T
    edges = (-0.8, 0.0, 0.8)
    one, many = (
        pw.SlicedInverseRegression("certified", epsilon=math.inf, delta=1e-6, edges=edges).fit(
            X, y, parties=parties, rng=1
        )
        for parties in (1, 6)
    )
    assert projection_loss(one.components_.T, many.components_.T) < 1e-7
    # The certified estimator takes uncentred moments: pooled, they differ from the classical fit by what centring does.
    assert projection_loss(one.components_.T, sir(X, y, 4, 1, edges=np.array(edges))) < 0.05
    assert projection_loss(one.components_.T, direction) < 0.1
    assert one.fit_transform(X, y, parties=2, rng=1).shape == (3000, 1)


def labels(n: int = 2000):
    rng = pw.stream(3, "labels")
    X = rng.uniform(size=(n, 3))
    y = (rng.random(n) < 1 / (1 + np.exp(-(4 * X[:, 0] - 3 * X[:, 1])))).astype(float)
    return X, y


def test_label_private_regression_without_noise_is_the_pooled_fit():
    X, y = labels()
    fitted = pw.LabelPrivateLogisticRegression("non_private", ridge=1e-6).fit(X, y, rng=1)
    pooled = penalised_optimum(np.column_stack([np.ones(len(X)), X]), y, 1e-6)
    assert np.allclose(np.r_[fitted.intercept_, fitted.coef_], pooled, rtol=0, atol=1e-10)
    assert np.allclose(fitted.predict_proba(X).sum(1), 1) and fitted.score(X, y) > 0.6
    assert fitted.privacy_.epsilon_certified == math.inf
    private = pw.LabelPrivateLogisticRegression(epsilon=2.0).fit(X, y, parties=("clinic", "registry"), rng=1)
    assert private.privacy_.epsilon_certified <= 2.0 * (1 + 1e-9) and private.privacy_.unit == "label"
    assert {row["sender"] for row in private.transcript_} == {"clinic", "registry"}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parameters_in_scikit_learns_way(kind):
    for protocol, method in kind.methods.items():
        made = kind(protocol, delta=1e-6)
        names = {one.name for one in fields(method.options)}
        own = set(inspect.signature(kind.__init__).parameters) - {"self", "options"}
        assert set(made.get_params()) == names | own
        assert made.get_params() == kind(**made.get_params()).get_params() == clone(made).get_params()
        assert clone(made) is not made and clone(made).protocol == protocol
    made.set_params(epsilon=3.0)
    assert made.get_params()["epsilon"] == 3.0 and "epsilon=3.0" in repr(made)
    with pytest.raises(TypeError, match="'nonsense' is not a parameter"):
        made.set_params(nonsense=1)
    with pytest.raises(TypeError, match="'nonsense' is not a parameter"):
        kind(nonsense=1)


def fit_small(kind, rng=1, **changes):
    if kind is pw.FunctionalBoosting:
        return kind(**({"s": 0.5, "radius_value": 3.0, "max_steps": 3} | changes)).fit(*curves(40), parties=2, rng=rng)
    if kind is pw.SlicedInverseRegression:
        # With fewer records the noise hides eigenvalues of the covariance, and the fit warns that it is singular.
        return kind(**({"epsilon": 1.0, "edges": (0.0,)} | changes)).fit(*slicing(), parties=2, rng=rng)
    return kind(**({"epsilon": 1.0} | changes)).fit(*labels(200), rng=rng)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_seed_decides_the_noise(kind):
    first, again, other = (fit_small(kind, rng=rng) for rng in (1, np.int64(1), 2))
    assert first.ledger_.digest == again.ledger_.digest != other.ledger_.digest
    drawn = [fit_small(kind, rng=np.random.default_rng(5)) for _ in range(2)]
    assert drawn[0].ledger_.digest == drawn[1].ledger_.digest
    assert first.privacy_.seed == "given" and "seed" not in repr(first.privacy_)
    for wrong in (1.5, "1", True):
        with pytest.raises(TypeError, match="rng="):
            fit_small(kind, rng=wrong)


@pytest.mark.parametrize("kind", (pw.SlicedInverseRegression, pw.LabelPrivateLogisticRegression))
def test_without_a_seed_every_fit_draws_anew(kind, tmp_path):
    """The fit and its file state that there was no seed."""
    fits = [fit_small(kind, rng=None) for _ in range(2)]
    assert fits[0].ledger_.digest != fits[1].ledger_.digest
    assert fits[0].privacy_.seed == "none" and repr(fits[0].privacy_).endswith("; seed: none")
    assert {row.sampler for row in fits[0].ledger_.rows if row.mechanism != "none"} <= {"secure", ""}
    fits[0].save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["privacy"]["seed"] == "none"
    assert pw.load(tmp_path / "model.json").privacy_ == fits[0].privacy_


def test_noise_in_floating_point_needs_a_seed():
    with pytest.raises(ValueError, match=r"random_state=None .* protocol='published' draws .* give a seed"):
        pw.SlicedInverseRegression("published", epsilon=1.0, edges=(0.0,)).fit(*slicing(200), parties=2)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_nothing_is_predicted_before_a_fit(kind):
    made = kind(delta=1e-6)
    method = made.transform if hasattr(made, "transform") else made.predict
    data = curves(5)[0] if kind is pw.FunctionalBoosting else np.zeros((5, 3))
    with pytest.raises(ValueError, match="not fitted yet"):
        method(data)


def test_a_delta_of_one_in_n_is_told():
    with pytest.warns(UserWarning, match="publishing a random record"):
        fit_small(pw.SlicedInverseRegression, delta=0.01)


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        (pw.FunctionalBoosting, {"radius_value": None}, "radius_value is missing"),
        (pw.FunctionalBoosting, {"epsilon": 1.0}, "epsilon=1.0 is not read"),
        (pw.FunctionalBoosting, {"protocol": "nonsense"}, "protocol='nonsense'"),
        (pw.FunctionalBoosting, {"s": -1.0}, "s is -1.0"),
        (pw.SlicedInverseRegression, {"epsilon": None}, "epsilon is missing"),
        (pw.SlicedInverseRegression, {"epsilon": -1.0}, "epsilon=-1.0"),
        (pw.SlicedInverseRegression, {"edges": None}, "give one of them"),
        (pw.SlicedInverseRegression, {"edges": (1.0, 0.0)}, "edges="),
        (pw.SlicedInverseRegression, {"n_directions": 2}, "n_directions=2"),
        (pw.SlicedInverseRegression, {"screened": True}, "active is missing"),
        (pw.SlicedInverseRegression, {"radius": 0.0}, "radius"),
        (pw.SlicedInverseRegression, {"delta": 1.0}, "delta=1.0"),
        (pw.LabelPrivateLogisticRegression, {"noise_draws": 5}, "noise_draws=5"),
        (pw.LabelPrivateLogisticRegression, {"tau": 0.0}, "tau"),
    ],
)
def test_bad_parameters_are_named(kind, changes, words):
    with pytest.raises(ValueError, match=words):
        fit_small(kind, **changes)


@pytest.mark.parametrize(
    ("X", "y", "parties", "words"),
    [
        (np.ones((4, 2)), np.ones(4), 1, "X has shape"),
        (np.ones((4, 2, 3)), np.ones((3, 3)), 1, "y has 3 records"),
        (np.full((4, 2, 3), np.nan), np.ones((4, 3)), 1, "not finite"),
        (np.ones((4, 2, 3)), np.ones((4, 3)), 5, "parties=5"),
        (np.ones((4, 2, 3)), np.ones((4, 3)), [[0], [0]], "not a partition"),
    ],
)
def test_bad_arrays_are_named(X, y, parties, words):
    with pytest.raises(ValueError, match=words):
        pw.FunctionalBoosting("baseline").fit(X, y, parties=parties, rng=1)


def test_columns_are_screened_at_the_clients():
    rng = pw.stream(4, "screening")
    X = rng.uniform(-1, 1, size=(4000, 40))
    y = 2 * X[:, 3] + 2 * X[:, 7] + 0.1 * rng.normal(size=4000)
    fitted = pw.SlicedInverseRegression(epsilon=20.0, edges=(-1.0, 0.0, 1.0), screened=True, max_size=6)
    fitted.fit(X, y, parties=2, rng=1)
    assert {3, 7} <= set(fitted.columns_.tolist()) and len(fitted.columns_) == 6
    assert np.count_nonzero(fitted.components_) == 6
