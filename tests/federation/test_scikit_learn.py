"""scikit-learn's contract: its own checks but for those that are listed, searches, pipelines, one budget for each."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import partywise as pw
from partywise.privacy.rounding import upward
from pipeline import ROOT, environment

OPTIONS = "the options are those of the protocol: with an unknown protocol, which a fit refuses, there are none to get"
ONE_COLUMN = "one column cannot be divided between two parties, and the error says so in the words of parties"
ONE_RECORD = "refused as fewer records than parties, coefficients or degrees of freedom, and the error says which"
WEIGHTS = "has fewer records of positive weight than coefficients, which is refused"
COLUMNS = {"check_set_params": OPTIONS, "check_fit2d_1feature": ONE_COLUMN}
MODELS = {
    "slicing": (
        pw.SlicedInverseRegression("reference", edges=(0.5,), parties=2, random_state=1),
        {"check_set_params": OPTIONS, "check_fit2d_1sample": ONE_RECORD},
    ),
    "labels": (pw.LabelPrivateLogisticRegression("non_private", random_state=1), {"check_set_params": OPTIONS}),
    "labels by one release": (
        pw.LabelPrivateLogisticRegression(epsilon=np.inf, random_state=1),
        {"check_set_params": OPTIONS},
    ),
    "linear classifier": (pw.VerticalLinear("exact", random_state=1), COLUMNS),
    "linear regression": (pw.VerticalLinear("exact", model="linear", random_state=1), COLUMNS),
    "glm": (
        pw.VerticalGLM(random_state=1),
        COLUMNS | {"check_fit2d_1sample": ONE_RECORD, "check_sample_weight_equivalence_on_dense_data": WEIGHTS},
    ),
    "pca": (pw.VerticalPCA(random_state=1), COLUMNS | {"check_fit2d_1sample": ONE_RECORD}),
    "trees": (pw.VerticalBoosting("pooled", num_of_trees=5, random_state=1), COLUMNS),
    "regression trees": (
        pw.VerticalBoosting("pooled", loss="RegressionMSELoss", num_of_trees=20, random_state=1),
        COLUMNS,
    ),
}
CONSTANTS = {"location": 0.5, "scale": 0.3, "statistic": (0, 3)}
rng = pw.stream(1, "scikit-learn")
X = rng.uniform(size=(600, 3))
Y = np.where(rng.random(600) < 1 / (1 + np.exp(3 - 6 * X[:, 0])), "yes", "no")


@pytest.mark.parametrize("name", MODELS)
def test_scikit_learns_own_checks(name):
    """What is excepted fails, too: a reason that no longer holds is seen."""
    model, excepted = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = check_estimator(model, expected_failed_checks=excepted, on_fail=None, on_skip=None)
    told = {row["check_name"]: row for row in rows if row["status"] not in ("passed", "skipped")}
    assert {check: row["status"] for check, row in told.items()} == dict.fromkeys(excepted, "xfail"), told
    assert len(rows) > 40


def test_curves_have_three_axes_which_the_checks_do_not_try():
    model = pw.FunctionalBoosting("baseline", kind="least_squares", parties=2, random_state=1)
    tags = model.__sklearn_tags__()
    assert tags.input_tags.three_d_array and not tags.input_tags.two_d_array and tags.estimator_type == "regressor"
    curves = pw.stream(2, "curves").normal(size=(60, 3, 5))
    Y = curves[:, 0, :3] + 1
    assert cross_val_score(model, curves, Y, cv=3).min() > 0.9
    weights = np.repeat([0.0, 1.0], 30)
    fitted = model.fit(curves, Y)
    assert fitted.score(curves, Y, weights) == pytest.approx(fitted.score(curves[30:], Y[30:]))


def test_what_a_fit_is_given_comes_before_what_the_estimator_has():
    made = pw.VerticalPCA(parties=[[0], [1, 2]], random_state=1)
    told = {len(made.fit(X, **given).transcript_) for given in ({}, {"parties": 3})}
    assert len(told) == 2
    private = pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=1)
    first, other = private.fit(X, Y).ledger_.digest, private.fit(X, Y, rng=2).ledger_.digest
    assert first == clone(private).fit(X, Y, rng=1).ledger_.digest != other
    with pytest.raises(ValueError, match="parties is missing"):
        pw.SlicedInverseRegression("reference", classes=["no", "yes"]).fit(X, Y, rng=1)
    assert pw.VerticalPCA().fit(X).privacy_.seed == "none"


def test_searches_and_pipelines():
    model = pw.LabelPrivateLogisticRegression(epsilon=5.0, random_state=1)
    grid = {"labelprivatelogisticregression__tau": [1.0, 2.0]}
    search = GridSearchCV(make_pipeline(MinMaxScaler(), model), grid, cv=2)
    search.fit(X, Y)
    assert search.classes_.tolist() == ["no", "yes"] and search.score(X, Y) > 0.6
    assert set(search.predict(X)) == {"no", "yes"}
    assert np.allclose(np.exp(search.predict_log_proba(X)), search.predict_proba(X))
    # Other protocols have other options: a clone keeps none that nobody gave.
    search = GridSearchCV(pw.VerticalLinear(random_state=1), {"protocol": ["exact", "pooled"]}, cv=2).fit(X, Y)
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    steps = make_pipeline(StandardScaler(), pw.VerticalPCA(random_state=1)).set_output(transform="pandas")
    assert steps.fit_transform(X).columns.tolist() == ["component1", "component2", "component3"]
    weighted = pw.VerticalBoosting("pooled", num_of_trees=3, random_state=1).fit(X, Y)
    assert weighted.score(X, Y, Y == "no") == np.mean(weighted.predict(X[Y == "no"]) == "no")
    with pytest.raises(NotFittedError, match="call its fit"):
        pw.VerticalGLM().predict(X)


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_a_search_has_one_account():
    budget = pw.Budget(epsilon=3.0, delta=1e-5)
    model = pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=1, shared_budget=budget)
    assert clone(model).shared_budget is budget
    cross_val_score(model, X, Y, cv=4)
    assert (
        budget.fits == 4
        and f"epsilon {upward(budget.epsilon_spent)} of 3 at delta 1e-05 spent by 4 fits, for one label" in repr(budget)
    )
    mus = pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=1).fit(X, Y).privacy_.mu_upper * 2
    assert budget.epsilon_spent == pytest.approx(pw.gaussian_epsilon(mus, 1e-5), rel=1e-9)
    search = GridSearchCV(model, {"tau": [1.0, 2.0]}, cv=2)
    with (
        pytest.warns(FitFailedWarning),
        pytest.raises(pw.BudgetExceeded, match="Of the budget of these fits"),
    ):
        search.fit(X, Y)
    spent = budget.epsilon_spent
    assert 2.15 < spent <= 3.0
    with pytest.raises(pw.BudgetExceeded):
        model.fit(X, Y)
    assert budget.epsilon_spent == spent
    with pytest.raises(pw.BudgetExceeded, match="nothing finite is proved"):
        pw.VerticalGLM(random_state=1, shared_budget=pw.Budget(1.0, 1e-5)).fit(X, X[:, 0] + X[:, 1] ** 2)
    with pytest.raises(ValueError, match="unit='label' of the budget: this estimator protects one row"):
        pw.SlicedInverseRegression(epsilon=1.0, edges=(0.5,), parties=2, random_state=1, shared_budget=budget).fit(
            X, X[:, 0]
        )


def test_a_fit_names_the_search_that_it_ends():
    """The last fit costs epsilon 1, the seven together more, and nothing protects the choice."""
    budget = pw.Budget(50.0, 1e-5, unit="label")
    model = pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=1, shared_budget=budget)
    search = GridSearchCV(model, {"noise": ["shaped", "rr"]}, cv=3).fit(X, Y)
    spent = search.best_estimator_.privacy_
    assert (spent.fits, spent.epsilon_of_fits, spent.epsilon_of_choice) == (7, budget.epsilon_spent, np.inf)
    assert spent.epsilon_of_fits > 5 and spent.epsilon_certified == pytest.approx(1.0)
    assert "the 7 fits of its budget cost epsilon" in repr(spent)
    assert "a choice among them by exact scores epsilon inf" in search.best_estimator_.summary().splitlines()[0]
    alone = pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=1, shared_budget=pw.Budget(9.0, 1e-5))
    assert alone.fit(X, Y).privacy_.fits == 0


def test_pipelines_need_no_seed():
    model = make_pipeline(MinMaxScaler(), pw.LabelPrivateLogisticRegression(epsilon=2.0))
    assert not np.isnan(cross_val_score(model, X, Y, cv=2)).any()
    assert pw.VerticalGLM("gaussian").fit(X, X[:, 0] + X[:, 1] ** 2, parties=2).status_ == "ok"


def test_an_amount_never_falls():
    budget = pw.Budget(2.0, 1e-5, unit="label")
    model = pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=1, shared_budget=budget)
    model.fit(X, Y)
    spent = budget.epsilon_spent
    with pytest.raises(ValueError, match="an amount never falls"):
        budget.charge(pw.PrivacyFilter(2.0, 1e-5, unit="label"), [])
    assert budget.epsilon_spent == spent > 0.9


def test_no_process_counts_on_its_own():
    model = pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=1, shared_budget=pw.Budget(9.0, 1e-5))
    for copied in (model, model.shared_budget):
        with pytest.raises(TypeError, match="one account in one process"):
            pickle.dumps(copied)
    model.shared_budget._process += 1
    with pytest.raises(TypeError, match="one account in one process"):
        model.fit(X, Y)


@pytest.mark.parametrize(
    "model",
    [
        pw.SlicedInverseRegression(epsilon=2.0, edges=(0.3, 0.6), parties=3),
        pw.SlicedInverseRegression("whitened", epsilon=2.0, edges=(0.3, 0.6), parties=[range(100), range(100, 600)]),
        pw.VerticalGLM("gaussian", "moments", epsilon=2.0, **CONSTANTS),
        pw.VerticalGLM("gaussian", "noisy_newton", epsilon=2.0, **CONSTANTS, eta_start=1.0, steps=3),
        pw.VerticalBoosting(epsilon=2.0, public_edges=[[0.3, 0.6]] * 3, cipher="sized", num_of_trees=2),
        pw.FunctionalBoosting(s_mode="calibrated", epsilon=2.0, radius_value=1.0, max_steps=2, parties=2),
    ],
    ids=lambda model: f"{type(model).__name__} {model.protocol}",
)
def test_a_budget_counts_no_less_than_the_ledger_and_repeats_no_noise(model):
    curves = type(model) is pw.FunctionalBoosting
    y = Y if isinstance(model, pw.VerticalBoosting) else X[:, 0] + X[:, 1]
    y = Y if isinstance(model, pw.VerticalBoosting) else X[:, 0] + X[:, 1]
    data = (X[:, :, None], X[:, :1]) if curves else (X, y)
    model = clone(model).set_params(random_state=1, shared_budget=pw.Budget(20.0, 1e-5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [clone(model).fit(*data) for _ in range(2)]
    rows = [event for one in fits for event in one.ledger_.rows]
    alone = fits[0].privacy_
    assert fits[0].ledger_.digest != fits[1].ledger_.digest and len(rows) >= 2
    both = pw.gaussian_epsilon(2**0.5 * pw.gdp_mu(alone.epsilon_certified, 1e-5), 1e-5)
    assert both * (1 - 1e-9) <= model.shared_budget.epsilon_spent
    # What nobody sees in the open is charged, too: that may be more than what the ledger counts.
    if type(model) is pw.SlicedInverseRegression:
        assert model.shared_budget.epsilon_spent <= both * (1 + 1e-9)


def test_estimators_need_no_scikit_learn():
    code = """
import sys
sys.modules["sklearn"] = None
import importlib.util
importlib.util.find_spec = lambda name, find=importlib.util.find_spec: None if name == "sklearn" else find(name)
import numpy as np
import partywise as pw
from partywise.privacy.rounding import upward
X = np.random.default_rng(1).uniform(size=(50, 3))
model = pw.SlicedInverseRegression("reference", edges=(0.5,), parties=2, random_state=1)
try:
    model.transform(X)
except ValueError as error:
    assert "not fitted yet" in str(error)
assert model.fit_transform(X, X[:, 0]).shape == (50, 1) and "parties=2" in repr(model)
assert model.set_params(random_state=2).get_params()["random_state"] == 2
"""
    path = {"PYTHONPATH": str(ROOT / "lib")}
    done = subprocess.run([sys.executable, "-c", code], env=environment() | path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
