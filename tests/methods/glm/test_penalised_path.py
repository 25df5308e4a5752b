"""Penalised paths: scikit-learn's from exact moments, the unpenalised fit behind them, selection, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge

import partywise as pw
from forked import in_all_ways
from glm_driver import fitted, records, start
from noisy_driver import noise_row
from partywise.core.errors import ConfigError
from partywise.core.randomness import stream
from partywise.experiment.cells import recompute
from partywise.experiment.plan import plan
from partywise.methods.glm.model import GlmEstimate
from partywise.methods.glm.noisy_statistics.moments import MomentScale, NoisyMoments
from partywise.methods.glm.options import GlmMomentsOptions, GlmReferenceOptions, JointOptions
from partywise.methods.glm.penalised_path import path_of_estimate
from partywise.methods.glm.protocols import joint, reference
from partywise.models.coordinate_descent import descend
from partywise.models.newton_step import Line, StepPoint, line_search, proximal_direction
from partywise.privacy.statistics.isometry import to_vector

RADII = (40.0, 40.0)
# Of `moments`: wide enough that nothing is clipped, so that without noise the moments are exact but for their grid.
FACTS = {"location": 0.0, "scale": 1.0, "radii": RADII, "statistic": (-30.0, 30.0), "cipher": "sized"}


def data(n=2000, p=8, seed=1):
    """Correlated columns, of which two count."""
    rng = stream(seed, "penalised")
    X = 0.6 * rng.normal(size=(n, 1)) + rng.normal(size=(n, p)) * np.linspace(0.7, 1.3, p)
    return X, 1 + X[:, 0] - 0.5 * X[:, -1] + rng.normal(size=n)


def scikit_learn(X, y, penalty, alpha, value, plain=False):
    """Coefficients of standardised columns, or of plain ones, brought back to the given ones."""
    means, scales = X.mean(axis=0), np.ones(X.shape[1]) if plain else X.std(axis=0)
    model = {
        "lasso": lambda: Lasso(value, tol=1e-14, max_iter=100_000),
        "elastic_net": lambda: ElasticNet(value, l1_ratio=alpha, tol=1e-14, max_iter=100_000),
        "ridge": lambda: Ridge(value * len(y), solver="cholesky"),
    }[penalty]()
    model.fit((X - means) / scales, y)
    slopes = model.coef_ / scales
    return np.append(model.intercept_ - means @ slopes, slopes)


@pytest.mark.parametrize("protocol", ["reference", "joint"])
@pytest.mark.parametrize(("penalty", "alpha"), [("lasso", None), ("elastic_net", 0.4), ("ridge", None)])
def test_paths_of_exact_sums_are_those_of_scikit_learn(protocol, penalty, alpha):
    X, y = data()
    model = pw.VerticalGLM("gaussian", protocol, parties=3, random_state=1).fit(X, y)
    path = model.path(penalty, alpha=alpha, choose="bic")
    assert len(path.lambdas) == 40 and np.all(np.diff(path.lambdas) < 0)
    for place in (0, 5, 12, 25, 39):
        expected = scikit_learn(X, y, penalty, alpha, path.lambdas[place])
        np.testing.assert_allclose(path.coefficients[place], expected, rtol=0, atol=1e-6)


def exact_moments(X, y):
    """Moments of records in public units, without noise and without a grid."""
    n, p = X.shape
    public = MomentScale(100.0, p, 0.0, 50.0)
    v = np.column_stack([X / 2, public.weight * y])
    vector = np.concatenate([to_vector(v.T @ v), np.sqrt(2) * public.constant * v.sum(axis=0)]) / n
    return NoisyMoments.of(vector, n, noise_row(0.0), np.ones((p + 1, p + 1)), public, np.zeros(p), np.full(p, 2.0))


@pytest.mark.parametrize("penalty", ["lasso", "elastic_net", "ridge"])
def test_the_path_of_noise_free_moments_is_that_of_scikit_learn(penalty):
    """Of centred columns in their public units, here halves, and the response as given."""
    X, y = data()
    alpha = 0.3 if penalty == "elastic_net" else None
    values = np.array([0.5, 0.1, 0.02])
    estimate = GlmEstimate(np.zeros(9), moments=exact_moments(X, y))
    path = path_of_estimate(estimate, "gaussian", 2000, penalty, alpha, values, 0.1, [f"x{j}" for j in range(8)])
    for value, found in zip(values, path.coefficients, strict=True):
        expected = scikit_learn(X / 2, y, penalty, alpha, value, plain=True)
        np.testing.assert_allclose(found, expected / np.append(1, np.full(8, 2.0)), rtol=0, atol=1e-6)
    assert path.lambdas[path.place] == 0.1 and not path.approximate


@pytest.mark.parametrize("parties", [2, 3])
def test_the_option_of_joint_opens_sums_alone_and_chooses_as_the_path_does(parties):
    X, y = data()
    model = pw.VerticalGLM("gaussian", "joint", penalty="lasso", parties=parties, random_state=1).fit(X, y)
    plain = pw.VerticalGLM("gaussian", "joint", parties=parties, random_state=1).fit(X, y)
    path = plain.path()
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), path.choice, rtol=0, atol=1e-9)
    assert model.estimate_.numbers["record_openings"] == 0 < plain.estimate_.numbers["record_openings"]
    assert model.bse is None and model.conf_int() is None and model.aic is None
    assert "unpenalised" in model.intervals_.reason and "no standard errors" in model.summary()
    assert path.columns == ("x0", "x7")
    fit = y - model.predict(X)
    assert model.deviance_ == pytest.approx(float(fit @ fit), rel=1e-9)
    pooled = pw.VerticalGLM("gaussian", "reference", penalty="lasso", parties=parties).fit(X, y)
    np.testing.assert_allclose(pooled.coef_, model.coef_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("parties", [2, 3])
def test_a_lasso_of_a_binomial_response_is_that_of_scikit_learn(solver, parties):
    X, y = records("binomial", 600, 6)
    value = 0.03
    split = np.array_split(np.arange(6), parties)
    options = JointOptions(solver=solver, penalty="lasso", choose=value, tolerance=1e-9)
    found, _ = fitted(joint.fit, X, y, [part.tolist() for part in split], options, family="binomial")
    means, scales = X.mean(axis=0), X.std(axis=0)
    oracle = LogisticRegression(l1_ratio=1, C=1 / (600 * value), solver="saga", tol=1e-12, max_iter=100_000)
    oracle.fit((X - means) / scales, y)
    slopes = oracle.coef_[0] / scales
    np.testing.assert_allclose(found.coefficients[1:], slopes, rtol=0, atol=1e-6)
    assert found.coefficients[0] == pytest.approx(oracle.intercept_[0] - means @ slopes, abs=1e-6)
    assert found.status == "ok" and found.standard_errors is None
    assert np.array_equal(found.coefficients[1:] == 0, slopes == 0)


@pytest.mark.parametrize("family", ["poisson", "gamma", "inverse_gaussian"])
def test_a_lasso_meets_its_conditions(family):
    """Slopes of the deviance equal the penalty at kept columns, and do not exceed it at others."""
    X, y = records(family, 500, 6)
    value, groups = {"poisson": 0.2, "gamma": 0.15, "inverse_gaussian": 0.05}[family], [[0, 1, 2], [3, 4, 5]]
    options = GlmReferenceOptions(penalty="lasso", choose=value)
    pooled, _ = fitted(reference.fit, X, y, groups, options, family=family, extra=("analyst",))
    found, _ = fitted(joint.fit, X, y, groups, JointOptions(penalty="lasso", choose=value), family=family)
    np.testing.assert_allclose(found.coefficients, pooled.coefficients, rtol=0, atol=1e-7)
    mu = np.exp(found.predictor(X))
    score = (y - mu) / mu ** {"poisson": 0, "gamma": 1, "inverse_gaussian": 2}[family]
    slopes = ((X - X.mean(axis=0)) / X.std(axis=0)).T @ score / 500
    kept = found.coefficients[1:] != 0
    assert 0 < kept.sum() < 6
    np.testing.assert_allclose(slopes[kept], value * np.sign(found.coefficients[1:][kept]), atol=1e-6)
    assert np.all(np.abs(slopes[~kept]) <= value)


def test_the_debiased_coefficients_are_the_unpenalised_fit():
    """b + S^-1 (q - S b) is S^-1 q: the summary shows that fit, with its errors."""
    X, y = data()
    model = pw.VerticalGLM("gaussian", parties=2, random_state=1).fit(X, y)
    path = model.path()
    np.testing.assert_array_equal(path.unpenalised_fit, model.estimate_.coefficients)
    text = path.summary().splitlines()
    assert text[0].startswith("lasso, lambda ") and text[0].endswith("2 of 8 columns")
    assert text[1] == "standard errors and intervals are of the unpenalised fit and do not account for the choice"
    assert [line.split()[0] for line in text[-3:]] == ["intercept", "x0", "x7"]
    noisy = pw.VerticalGLM("poisson", "moments", epsilon=4.0, parties=2, random_state=1, **FACTS)
    with pytest.warns(UserWarning, match="approximate"):
        noisy.fit(X, np.round(np.abs(y)))
    text = noisy.path().summary()
    assert "no intervals: not identified: noise hides how column" in text and noisy.path().approximate


def test_moments_choose_in_the_fit_as_along_the_path():
    X, y = data(6000)
    facts = FACTS | {"radii": (6.0, 6.0), "statistic": (-6.0, 8.0)}
    plain = pw.VerticalGLM("gaussian", "moments", epsilon=4.0, parties=2, random_state=1, **facts).fit(X, y)
    chosen = pw.VerticalGLM("gaussian", "moments", epsilon=4.0, penalty="lasso", parties=2, random_state=1, **facts)
    chosen.fit(X, y)
    path = plain.path()
    np.testing.assert_array_equal(np.append(chosen.intercept_, chosen.coef_), path.choice)
    assert path.columns == ("x0", "x7") and chosen.noise_errors_ is None and chosen.conf_int() is None
    assert chosen.privacy_.epsilon_certified == plain.privacy_.epsilon_certified == pytest.approx(4.0, rel=1e-9)
    assert len(chosen.transcript_) == len(plain.transcript_)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"penalty": "lasso", "ridge": 0.1}, "ridge is 0.1 with penalty 'lasso'"),
        ({"penalty": "lasso", "cov_type": "HC0"}, "cov_type is 'HC0' with penalty 'lasso'"),
        ({"penalty": "lasso", "dispersion": "pearson"}, "dispersion is 'pearson' with penalty 'lasso'"),
        ({"alpha": 0.5}, "alpha is 0.5: it is read with a penalty only"),
        ({"choose": "bic"}, "choose is 'bic': it is read with a penalty only"),
        ({"penalty": "elastic_net"}, "alpha is None with penalty 'elastic_net'"),
        ({"penalty": "lasso", "alpha": 0.5}, "alpha is 0.5 with penalty 'lasso'"),
        ({"penalty": "elastic_net", "alpha": 1.5}, r"alpha is 1.5: it must lie in \(0, 1\)"),
        ({"penalty": "ridge"}, "choose is 'universal': it is a threshold of absolute penalties"),
        ({"penalty": "lasso", "choose": -1.0}, "choose is -1.0: lambda must be positive"),
        ({"penalty": "least"}, "penalty is 'least': it must be one of ridge, lasso, elastic_net"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        GlmReferenceOptions(**options)


@pytest.mark.parametrize(
    ("family", "method", "sentence"),
    [
        (
            "binomial",
            {"protocol": "joint", "penalty": "lasso"},
            "penalty is 'lasso' and choose 'universal' with family",
        ),
        ("poisson", {"protocol": "reference", "penalty": "lasso", "choose": "bic"}, "penalty is 'lasso' and choose 'b"),
        (
            "gamma",
            {"protocol": "joint", "penalty": "ridge", "choose": 0.1},
            "penalty is 'ridge' and choose 0.1 with fa",
        ),
        ("gaussian", {"protocol": "joint", "penalty": "lasso", "solver": "lbfgs"}, "solver is 'lbfgs' with a penalty"),
        ("gaussian", {"protocol": "joint", "penalty": "lasso", "max_iter": 3}, "max_iter is 3: it is read with a pen"),
        ("gaussian", {"protocol": "joint", "penalty": "lasso", "tolerance": 0.1}, "tolerance is 0.1: it is read with"),
    ],
)
def test_penalties_that_a_family_does_not_have_are_refused_before_any_job(family, method, sentence):
    grid = {"methods": ["tried"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}
    case = {"source": "generated", "settings": {"family": family}, "grid": grid}
    with pytest.raises(ConfigError, match=f"cases.made with method tried: {sentence}"):
        plan("vertical_glm", {"methods": {"tried": method}, "cases": {"made": case}, "figures": []}, 7)


def test_what_a_path_does_not_have_is_refused():
    X, y = data(200)
    with pytest.raises(ValueError, match="link is 'shared' with penalty"):
        JointOptions(solver="lbfgs", link="shared", penalty="lasso", choose=0.1)
    assert GlmMomentsOptions(penalty="ridge", choose="bic").penalty == "ridge"
    labels = (y > 1).astype(float)
    for options in ({"choose": "universal"}, {"penalty": "ridge", "choose": 0.1}):
        with pytest.raises(ValueError, match="with family 'binomial': give 'lasso' and lambda as a number"):
            pw.VerticalGLM("binomial", **({"penalty": "lasso"} | options)).fit(X, labels, rng=1)
    with pytest.raises(ValueError, match="'newton' opens what it needs"):
        pw.VerticalGLM("gaussian", solver="lbfgs", penalty="lasso").fit(X, y, rng=1)
    with pytest.raises(ValueError, match="fit without a ridge"):
        pw.VerticalGLM("gaussian", ridge=1.0).fit(X, y, rng=1).path()
    with pytest.raises(ValueError, match="has no covariance"):
        pw.VerticalGLM("gaussian", "bcd").fit(X, y, rng=1).path()
    model = pw.VerticalGLM("gaussian").fit(X, y, rng=1)
    with pytest.raises(ValueError, match=r"lambdas=.* give finite numbers"):
        model.path(lambdas=[np.nan], choose="bic")
    with pytest.raises(ValueError, match="penalty='least' is unknown"):
        model.path("least")
    with pytest.raises(ValueError, match="choose is 'aic'"):
        model.path(choose="aic")


def test_coordinate_descent_meets_its_conditions_and_leaves_an_intercept_free():
    rng = stream(3, "descent")
    A = rng.normal(size=(40, 5))
    S, q = A.T @ A / 40, rng.normal(size=5)
    lasso, ridge = np.array([0.0, 0.4, 0.4, 0.4, 0.4]), np.full(5, 0.1)
    b = descend(S, q, lasso, ridge, np.zeros(5))
    slope = q - S @ b - ridge * b
    assert abs(slope[0]) < 1e-10 and np.all(np.abs(slope[1:]) <= 0.4 + 1e-10)
    assert 0 < np.sum(b[1:] != 0) < 4
    np.testing.assert_allclose(slope[1:][b[1:] != 0], 0.4 * np.sign(b[1:][b[1:] != 0]), atol=1e-10)


def test_a_proximal_step_lowers_the_penalised_objective():
    """The chord stands in for |b| along the line, so that what Armijo accepts lowers the objective itself."""
    rng = stream(4, "proximal")
    A = rng.normal(size=(30, 4))
    S, q, lasso = A.T @ A, 30 * rng.normal(size=4), 10.0

    def deviance(b):
        return float(b @ S @ b - 2 * q @ b) + 200.0

    beta = np.array([0.2, 1.0, -1.0, 0.0])
    point = StepPoint.at(beta, deviance(beta), q - S @ beta, 0.0, lasso)
    assert point.value == pytest.approx(deviance(beta) + 2 * lasso * 2.0)
    direction = 4 * proximal_direction(point, S, lasso)
    line = Line.along(point, direction, 0.0, lasso)
    step, bound = line_search(line, lambda t: deviance(beta + t * direction))
    end = beta + step * direction
    assert deviance(end) + 2 * lasso * np.abs(end[1:]).sum() <= bound < point.value and step < 1
    assert replace(line, slope=0.0).objective(deviance(beta), 0.0) == pytest.approx(point.value)


@pytest.mark.parametrize(("family", "choose"), [("gaussian", "universal"), ("poisson", 0.1)])
def test_one_process_a_place_does_the_same(family, choose):
    X, y = records(family, 60, 4)
    options = JointOptions(penalty="lasso", choose=choose)
    expected, _ = in_all_ways(joint.fit, lambda: start(X, y, [[0, 1], [2], [3]], options, family=family))
    assert expected.standard_errors is None and expected.numbers["secure_products"] > 0


def test_a_configuration_has_the_measures_of_a_penalised_fit():
    penalised = {"penalty": "elastic_net", "alpha": 0.5}
    methods = {
        "reference": {"protocol": "reference"} | penalised,
        "joint": {"protocol": "joint"} | penalised,
        "moments": {"protocol": "moments", "cipher": "sized"} | penalised,
    }
    grid = {"methods": list(methods), "replicates": 1, "folds": 1, "parties": [3], "epsilon": [4.0]}
    case = {"source": "generated", "settings": {"n": 300, "p": 6}, "grid": grid}
    block = {"spec": {"delta": 1e-5, "unit": "row"}, "methods": methods, "cases": {"c": case}, "figures": []}
    made = plan("vertical_glm", block, 7)
    place = {"case": "c", "parties": 3, "fold": 0, "replicate": 0}
    cells = {
        name: recompute(made, place | {"method": name, "epsilon": 4.0 if name == "moments" else np.inf}, "resources")
        for name in methods
    }
    scalars = {name: cell.scalars for name, cell in cells.items()}
    assert scalars["joint"]["excess_deviance"] == pytest.approx(scalars["reference"]["excess_deviance"], rel=1e-9)
    assert 0 < scalars["joint"]["excess_deviance"] < 1 and scalars["joint"]["record_openings"] == 0
    assert scalars["moments"]["epsilon_certified"] == pytest.approx(4.0, rel=1e-9)
