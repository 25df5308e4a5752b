"""Bad input: a ValueError that names the argument and its value, from every public function that takes it."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import partywise.methods.logistic as package
from fingerprint import imports
from logit_data import logistic
from partywise.core.randomness import stream
from partywise.methods.logistic.evaluate import auc, log_loss
from partywise.methods.logistic.model import dot_product, ridge_vector
from partywise.methods.logistic.newton import fit_many
from partywise.methods.logistic.perturbation import objective_perturbation
from partywise.methods.logistic.planner import fixed_plan, label_noise_plan, plan_label_dp
from partywise.methods.logistic.release import redraw_dot_products, release_dot_product
from partywise.methods.logistic.trainers import fit_walr, gradient_descent, ordinary_mini_batch, penalised_optimum
from partywise.methods.logistic.zonotope import boundedness
from partywise.models.newton import newton
from partywise.models.objective import Objective

X, Y = logistic(40, 3)
PLAN = fixed_plan(X, 1.0, 1e-5, ridge=0.1)
LIB = Path(package.__file__).parents[2]


def spoiled(value: float) -> np.ndarray:
    bad = X.copy()
    bad[4, 1] = value
    return bad


FEATURES = {
    "plan": lambda X: plan_label_dp(X, 1.0, 1e-5),
    "fixed": lambda X: fixed_plan(X, 1.0, 1e-5),
    "rounds": lambda X: label_noise_plan(X, 1.0, 1e-5, 3),
    "release": lambda X: release_dot_product(X, Y, PLAN, stream(7, "r")),
    "redraw": lambda X: redraw_dot_products(X, Y, PLAN, 2, stream(7, "r")),
    "fit": lambda X: fit_walr(X, np.zeros(3), PLAN),
    "many": lambda X: fit_many(X, np.zeros((2, 3)), PLAN),
    "bounded": lambda X: boundedness(X, np.zeros(3)),
    "optimum": lambda X: penalised_optimum(X, Y),
    "descent": lambda X: gradient_descent(X, np.zeros((2, 3)), 0.1),
    "perturbation": lambda X: objective_perturbation(X, Y, 1.0, 1e-5, stream(7, "r")),
    "log loss": lambda X: log_loss(X, Y, np.zeros(3)),
}


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_features_must_be_finite(name, value):
    with pytest.raises(ValueError, match=rf"X\[4, 1\]={value}.* is not finite"):
        FEATURES[name](spoiled(value))


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("shape", [(0, 3), (40,), (40, 0)])
def test_features_must_be_a_table(name, shape):
    with pytest.raises(ValueError, match=r"X has shape"):
        FEATURES[name](np.zeros(shape))


LABELS = {
    "release": lambda y: release_dot_product(X, y, PLAN, stream(7, "r")),
    "redraw": lambda y: redraw_dot_products(X, y, PLAN, 2, stream(7, "r")),
    "dot": lambda y: dot_product(X, y),
    "optimum": lambda y: penalised_optimum(X, y),
    "ordinary": lambda y: ordinary_mini_batch(X, y, 0.1, stream(7, "r"), batch_size=4),
    "perturbation": lambda y: objective_perturbation(X, y, 1.0, 1e-5, stream(7, "r")),
    "log loss": lambda y: log_loss(X, y, np.zeros(3)),
    "auc": lambda y: auc(np.zeros(40), y),
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("value", [-1.0, 0.5, 2.0, math.nan])
def test_labels_are_zero_or_one(name, value):
    bad = Y.copy()
    bad[7] = value
    with pytest.raises(ValueError, match=rf"y\[7\]={value} is not a label"):
        LABELS[name](bad)


@pytest.mark.parametrize("name", LABELS)
def test_one_label_an_example(name):
    with pytest.raises(ValueError, match=r"y has shape \(39,\) for N=40"):
        LABELS[name](Y[:39])


@pytest.mark.parametrize("make", [plan_label_dp, fixed_plan, lambda *a: label_noise_plan(*a, 3)])
def test_privacy_parameters(make):
    for epsilon in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match=rf"epsilon={epsilon}.* must be positive"):
            make(X, epsilon, 1e-5)
    for delta in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match=rf"delta={delta} must lie in \(0, 1\) for Gaussian noise"):
            make(X, 1.0, delta)


def test_randomised_response_needs_no_delta():
    assert (
        plan_label_dp(X, 1.0, 0.0, distribution="rr").distribution
        == fixed_plan(X, 1.0, 0.0, distribution="rr").distribution
        == "rr"
    )


@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_the_bound_sqrt_k_needs_the_unit_box_and_clips_nothing(value):
    with pytest.raises(ValueError, match=rf"X\[4, 1\]={value}.*outside \[0, 1\].*sqrt\(k\)/N"):
        fixed_plan(spoiled(value), 1.0, 1e-5, bound="sqrt_k")
    with pytest.raises(ValueError, match=rf"X\[4, 1\]={value}.*outside \[0, 1\]"):
        objective_perturbation(spoiled(value), Y, 1.0, 1e-5, stream(7, "r"))
    assert fixed_plan(spoiled(value), 1.0, 1e-5).mu > 0


def test_ridges():
    for ridge in (-0.1, math.nan, math.inf):
        with pytest.raises(ValueError, match=rf"ridge={ridge}.* finite and at least 0"):
            ridge_vector(ridge, 3)
        with pytest.raises(ValueError, match=rf"ridge={ridge}"):
            fixed_plan(X, 1.0, 1e-5, ridge=ridge)
    with pytest.raises(ValueError, match=r"ridge\[1\]=.*-2.0.* positive semi-definite"):
        Objective(X, np.zeros(3), np.array([0.0, -2.0, 1.0]))
    with pytest.raises(ValueError, match=r"ridge has shape \(2,\) for k=3"):
        Objective(X, np.zeros(3), np.zeros(2))
    with pytest.raises(ValueError, match="ridge='planned' is unknown"):
        fixed_plan(X, 1.0, 1e-5, ridge="planned")


def test_dot_products():
    with pytest.raises(ValueError, match=r"noisy_dot has shape \(2,\) for k=3"):
        fit_walr(X, np.zeros(2), PLAN)
    with pytest.raises(ValueError, match=r"noisy_dot=.*nan.* not finite"):
        fit_walr(X, np.array([0.0, np.nan, 0.0]), PLAN)
    with pytest.raises(ValueError, match=r"noisy_dots has shape \(3,\)"):
        fit_many(X, np.zeros(3), PLAN)
    with pytest.raises(ValueError, match=r"noisy_dots\[1\]=.*inf"):
        fit_many(X, np.array([[0.0] * 3, [np.inf] * 3]), PLAN)
    with pytest.raises(ValueError, match=r"noisy_dots has shape \(2, 2\)"):
        gradient_descent(X, np.zeros((2, 2)), 0.1)
    with pytest.raises(ValueError, match=r"start has shape \(1,\)"):
        newton(Objective(X, np.zeros(3), np.ones(3)), start=np.zeros(1))


def test_options_of_the_trainers():
    v, rng = np.zeros(3), stream(7, "r")
    for call, message in (
        (lambda: fit_walr(X, v, PLAN, "sgd"), "solver='sgd' is unknown"),
        (lambda: fit_walr(X, v, PLAN, "hybrid", rng=rng, batch_size=41), "batch_size=41 must lie between 1 and N=40"),
        (lambda: fit_walr(X, v, PLAN, "hybrid", rng=rng, batch_size=0), "batch_size=0"),
        (lambda: fit_walr(X, v, PLAN, "hybrid", batch_size=4), "rng=None"),
        (lambda: fit_walr(X, v, PLAN, "full_batch", steps=0), "steps=0"),
        (lambda: fit_walr(X, v, PLAN, "full_batch", learning_rate=-1.0), "learning_rate=-1.0"),
        (lambda: gradient_descent(X, np.zeros((1, 3)), 0.0), "learning_rate=0.0"),
        (lambda: gradient_descent(X, np.zeros((1, 3)), 0.1, rng, batch_size=41), "batch_size=41"),
        (lambda: label_noise_plan(X, 1.0, 1e-5, 0), "rounds=0"),
        (lambda: label_noise_plan(X, 1.0, 1e-5, 3, rate=1.5), "rate=1.5"),
        (lambda: plan_label_dp(X, 1.0, 1e-5, tau=0.0), "tau=0.0"),
        (lambda: plan_label_dp(X, 1.0, 1e-5, distribution="laplace"), "distribution='laplace' is unknown"),
        (lambda: fixed_plan(X, 1.0, 1e-5, distribution="auto"), "distribution='auto' is unknown"),
        (lambda: fixed_plan(X, 1.0, 1e-5, sigma="exact"), "sigma='exact' is unknown"),
        (lambda: fixed_plan(X, 1.0, 1e-5, bound="l1"), "bound='l1' is unknown"),
        (lambda: redraw_dot_products(X, Y, PLAN, 0, rng), "draws=0"),
        (lambda: objective_perturbation(X, Y, 1.0, 1e-5, rng, relation="label_flip"), "relation='label_flip'"),
        (lambda: objective_perturbation(X, Y, 1.0, 1e-5, rng, ridge=-1.0), "ridge=-1.0"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_the_names_of_the_package_are_found_lazily_and_not_by_the_library():
    for name in package.__all__:
        assert callable(getattr(package, name))
    with pytest.raises(AttributeError, match="nothing"):
        _ = package.nothing
    hidden = {f"partywise.methods.logistic.{name}" for name in package.__all__}
    for path in LIB.rglob("*.py"):
        module = ".".join(path.relative_to(LIB.parent).with_suffix("").parts)
        used = imports(path, module.removesuffix(".__init__")) & hidden
        assert not used, f"{module}: reruns would miss {used}; import from the module itself"


def test_importing_the_numerics_brings_no_optimiser_and_no_statistics():
    code = (
        "import sys; from partywise.methods.logistic import newton, release, trainers;"
        "print([m for m in ('scipy.stats', 'scipy.optimize', 'sklearn', 'xarray', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(LIB.parent)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
