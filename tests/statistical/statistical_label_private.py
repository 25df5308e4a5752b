"""Long statistical checks of label-private logistic regression: utility, choice of the distribution, shares without
minimiser.

Part of ``./run test --long`` alone.  Every number is a mean over replicates (another split or another
data set, and another draw of the noise) and is printed with its standard error over replicates.  One replicate has
one split for all methods and epsilons, so methods are compared on common data.  Adult is read from resources/adult;
if it was not fetched the tests that need it fail with the remedy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from partywise.core.randomness import stream
from partywise.data.loaders.read import read_table
from partywise.methods.logistic.evaluate import auc, log_loss
from partywise.methods.logistic.model import ReleasePlan
from partywise.methods.logistic.newton import fit_many
from partywise.methods.logistic.perturbation import objective_perturbation
from partywise.methods.logistic.planner import fixed_plan, label_noise_plan, plan_label_dp
from partywise.methods.logistic.release import redraw_dot_products, release_dot_product
from partywise.methods.logistic.trainers import fit_walr, gradient_descent, penalised_optimum
from partywise.methods.logistic.zonotope import boundedness
from partywise.privacy.accounting.calibration import gaussian_epsilon
from partywise.privacy.audit.pairs import audit_pair
from partywise.privacy.ledger.compose import epsilon as total
from partywise.studies.label_private.cases import draw_logistic
from partywise.studies.label_private.settings import LabelGeneratedSettings

pytestmark = pytest.mark.statistical

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
REPLICATES = {"generated": 20, "adult": 5, "breast_cancer": 40}
DELTA = {"generated": 1e-5, "adult": 1e-5, "breast_cancer": 1e-3}
TRAIN = {"adult": 31_655, "breast_cancer": 398}
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
# Classic sigma and sqrt(k)/N without ridge (A), with it (B), analytic sigma and max norm (C), planned (P), randomised
# response with a fixed (RR) and a planned ridge (RRp), and the choice between P and RRp.
PLANS: dict[str, Callable[[np.ndarray, float, float], ReleasePlan]] = {
    "A": lambda X, e, d: fixed_plan(X, e, d, sigma="classic", bound="sqrt_k"),
    "B": lambda X, e, d: fixed_plan(X, e, d, sigma="classic", bound="sqrt_k", ridge="fixed"),
    "C": lambda X, e, d: fixed_plan(X, e, d, ridge="fixed"),
    "P": lambda X, e, d: plan_label_dp(X, e, d, distribution="gaussian"),
    "RR": lambda X, e, d: fixed_plan(X, e, d, distribution="rr", ridge="fixed"),
    "RRp": lambda X, e, d: plan_label_dp(X, e, d, distribution="rr"),
    "auto": plan_label_dp,
}


@functools.cache
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All rows of a real table, features in [0, 1] behind an intercept."""
    if name == "adult":
        loaded = read_table("adult_indicators", None, RESOURCES)
        X, y = loaded.unit_interval()[0], loaded.y
    else:
        X, y = load_breast_cancer(return_X_y=True)
        X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    return np.column_stack([np.ones(len(X)), X]), np.asarray(y, dtype=float)


@functools.cache
def split(name: str, replicate: int) -> Split:
    """Training and test part of one replicate."""
    if name == "generated":
        X, y, _ = draw_logistic(LabelGeneratedSettings(n=50_000), stream(7, "statistical", name, replicate))
        return X[:35_000], y[:35_000], X[35_000:], y[35_000:]
    X, y = table(name)
    order = stream(7, "statistical", name, replicate).permutation(len(X))
    train, test = order[: TRAIN[name]], order[TRAIN[name] :]
    return X[train], y[train], X[test], y[test]


def fitted(name: str, method: str, epsilon: float, replicate: int) -> np.ndarray:
    """Coefficients of one method on one replicate."""
    X, y, _, _ = split(name, replicate)
    delta, rng = DELTA[name], stream(7, "statistical", name, "noise", replicate)
    if method == "O":
        # Breast cancer is separable: without this ridge, which the planner takes at epsilon = inf, there is no optimum.
        return penalised_optimum(X, y, plan_label_dp(X, epsilon, delta).ridge)
    if method.startswith("G"):
        relation = "add_remove" if method == "G add_remove" else "replace_one"
        return objective_perturbation(X, y, epsilon, delta, rng, relation=relation).value
    if method in ("F", "S"):
        plan = (
            label_noise_plan(X, epsilon, delta, 50) if method == "F" else label_noise_plan(X, epsilon, delta, 500, 0.02)
        )
        dots = release_dot_product(X, y, plan, rng).value
        return gradient_descent(X, dots, 4 / float(np.linalg.eigvalsh(X.T @ X / len(X))[-1]))
    plan = PLANS[method](X, epsilon, delta)
    release = release_dot_product(X, y, plan, rng)
    assert total([release], delta) <= plan.epsilon * (1 + 1e-12)
    if method == "A":
        batches = stream(7, "statistical", name, "batches", replicate)
        return fit_walr(X, release.value, plan, "hybrid", rng=batches, batch_size=256).theta
    return fit_walr(X, release.value, plan).theta


@functools.cache
def measure(name: str, method: str, epsilon: float) -> tuple[float, float, float, float]:
    """Mean test AUC and log-loss with their standard errors; prints one line of the table."""
    found = []
    for replicate in range(REPLICATES[name]):
        theta, (_, _, X, y) = fitted(name, method, epsilon, replicate), split(name, replicate)
        found.append((auc(X @ theta, y), log_loss(X, y, theta)))
    (area, loss), (area_error, loss_error) = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    print(
        f"{name:14s} epsilon={epsilon:<5g} {method:13s} AUC {area:.4f} +- {area_error:.4f}  "
        f"log-loss {loss:.4f} +- {loss_error:.4f}  ({len(found)} replicates)"
    )
    return float(area), float(area_error), float(loss), float(loss_error)


def loss(name: str, method: str, epsilon: float) -> float:
    return measure(name, method, epsilon)[2]


# Test log-loss that the specification gives (section 5), for data that can be had; its own errors are unknown.
PUBLISHED = {
    ("breast_cancer", 1.0): {"B": 0.365, "C": 0.270, "P": 0.234, "RR": 0.234, "RRp": 0.224},
    ("breast_cancer", 4.0): {"B": 0.237, "C": 0.193, "P": 0.152, "RR": 0.123, "RRp": 0.107},
    ("adult", 1.0): {"A": 0.388, "B": 0.362, "C": 0.346, "P": 0.336, "RR": 0.357, "F": 0.397, "G add_remove": 0.381},
    ("adult", 4.0): {"A": 0.344, "B": 0.345, "C": 0.335, "P": 0.326, "RR": 0.339, "RRp": 0.325, "F": 0.397},
}


@pytest.mark.parametrize(("name", "epsilon"), PUBLISHED)
def test_the_utility_of_the_specification(name, epsilon):
    """Within 0.03 on 171 test rows of breast cancer and 0.01 on Adult, after the difference of the splits (O)."""
    tolerance = {"breast_cancer": 0.03, "adult": 0.01}[name]
    for method, stated in PUBLISHED[name, epsilon].items():
        *_, found, error = measure(name, method, epsilon)
        assert abs(found - stated) <= tolerance + 2 * error, method


def test_generated_data_look_like_those_of_the_specification():
    area, area_error, found, error = measure("generated", "O", np.inf)
    assert abs(area - 0.8434) <= 0.002 + 2 * area_error and abs(found - 0.4606) <= 0.002 + 2 * error


@pytest.mark.parametrize(
    ("name", "epsilon", "method", "most"),
    [("generated", 0.1, "auto", 0.465), ("adult", 1.0, "auto", 0.342), ("breast_cancer", 1.0, "auto", 0.25)],
)
def test_the_planned_release_reaches_the_wanted_log_loss(name, epsilon, method, most):
    found = loss(name, method, epsilon)
    assert found <= most
    published = loss(name, "A", epsilon)
    assert published > most
    gain = (published - loss(name, "O", np.inf)) / (found - loss(name, "O", np.inf))
    print(f"{name} epsilon={epsilon:g}: excess log-loss of the published trainer over the planned: {gain:.1f}")
    assert gain > 4


@pytest.mark.parametrize("epsilon", [0.03, 0.1, 0.3, 1.0, 4.0])
def test_each_correction_helps_on_generated_data(epsilon):
    losses = {method: loss("generated", method, epsilon) for method in ("A", "B", "C", "P", "RR", "RRp", "F", "G")}
    if epsilon <= 0.3:
        assert losses["P"] < losses["C"] < losses["B"] < losses["A"] and losses["P"] < losses["F"]
    assert losses["P"] < losses["G"] and losses["P"] < loss("generated", "O", np.inf) + {0.03: 0.04, 0.1: 0.006}.get(
        epsilon, 0.002
    )


def test_sampled_noisy_gradients_stay_behind():
    assert loss("generated", "S", 0.1) > loss("generated", "P", 0.1) + 0.003
    assert loss("adult", "S", 1.0) > loss("adult", "P", 1.0) + 0.003


def test_the_planner_takes_the_better_distribution():
    """Realised mean log-loss on the training labels over noise draws, against what `auto` chose without labels."""
    cells = [
        ("generated", n, k, e) for n, k in ((100, 10), (500, 10), (2000, 20), (10_000, 20)) for e in (0.3, 1.0, 4.0)
    ]
    cells += [("breast_cancer", 0, 0, e) for e in (0.3, 1.0, 4.0, 8.0)] + [("adult", 0, 0, e) for e in (0.3, 1.0, 4.0)]
    right = []
    for name, n, k, epsilon in cells:
        if name == "generated":
            X, y, _ = draw_logistic(LabelGeneratedSettings(n=2 * n, k=k), stream(7, "choice", n, k))
            X, y, Xt, yt = X[:n], y[:n], X[n:], y[n:]
        else:
            X, y, Xt, yt = split(name, 0)
        losses = {}
        for distribution in ("gaussian", "rr"):
            plan = plan_label_dp(X, epsilon, DELTA[name], distribution=distribution)
            dots = redraw_dot_products(
                X, y, plan, 12 if name == "adult" else 60, stream(7, "choice", distribution, n, k)
            )
            losses[distribution] = float(np.mean([log_loss(Xt, yt, theta) for theta in fit_many(X, dots, plan)]))
        chosen = plan_label_dp(X, epsilon, DELTA[name]).distribution
        right.append(losses[chosen] == min(losses.values()))
        print(f"{name:14s} n={n:<6d} k={k:<3d} epsilon={epsilon:<4g} {losses} chosen {chosen} right {right[-1]}")
    assert np.mean(right) >= 0.9


def share_unbounded(X: np.ndarray, y: np.ndarray, plan: ReleasePlan, draws: int, *names: str | int) -> float:
    dots = redraw_dot_products(X, y, plan, draws, stream(7, "unbounded", *names))
    return float(np.mean([boundedness(X, dot).status in ("unbounded", "boundary") for dot in dots]))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_breast_cancer_is_always_unbounded(epsilon):
    X, y, _, _ = split("breast_cancer", 0)
    assert boundedness(X, y @ X / len(X)).status != "unbounded"
    assert share_unbounded(X, y, fixed_plan(X, epsilon, 1e-3), 30, "breast cancer") == 1.0


@pytest.mark.parametrize(("epsilon", "low", "high"), [(0.03, 1, 1), (1.0, 1, 1), (8.0, 1, 1), (32.0, 0.9, 1)])
def test_adult_is_almost_always_unbounded(epsilon, low, high):
    X, y, _, _ = split("adult", 0)
    share = share_unbounded(X, y, PLANS["A"](X, epsilon, 1e-5), 400, "adult")
    print(f"Adult epsilon={epsilon:g}: {100 * share:.1f} % without minimiser (axes only)")
    assert low <= share <= high


def test_shares_without_minimiser_on_generated_data():
    """The generator is not that of the specification: its shares are printed, their fall is tested."""
    X, y, _, _ = split("generated", 0)
    shares = [share_unbounded(X, y, PLANS["A"](X, e, 1e-5), 400, "large") for e in (0.03, 0.1, 0.3)]
    print("generated, 35 000 rows, epsilon = 0.03, 0.1, 0.3:", shares)
    assert 0.25 < shares[0] < 0.55 and shares[1] < 0.05 and shares[2] == 0
    for epsilon, sizes, surely, rarely in (
        (1.0, (50, 400, 1000, 2000), 400, None),
        (4.0, (50, 100, 400, 1000), 100, 1000),
    ):
        found = []
        for n in sizes:
            X, y, _ = draw_logistic(LabelGeneratedSettings(n=n), stream(7, "unbounded", n))
            found.append(share_unbounded(X, y, PLANS["A"](X, epsilon, 1e-5), 40, n))
        print(f"generated, epsilon={epsilon:g}, rows {sizes}: {found}")
        assert found == sorted(found, reverse=True)
        assert all(share == 1 for n, share in zip(sizes, found, strict=True) if n <= surely)
        assert all(share <= 0.1 for n, share in zip(sizes, found, strict=True) if rarely and n >= rarely)


@pytest.mark.parametrize(
    ("epsilon", "kind", "true"),
    [(0.3, "shaped", 0.3), (1.0, "shaped", 1.0), (1.0, "iid", 1.0), (10.0, "classic", 10.39), (16.0, "classic", 18.90)],
)
def test_the_audit_of_the_release_comes_close_to_mu(epsilon, kind, true):
    """The best attack on the longest row: a bound on mu between 0.95 and 1 of it, and claims that fail."""
    X, y, _, _ = split("breast_cancer", 0)
    plan = {
        "shaped": lambda: plan_label_dp(X, epsilon, 1e-5, distribution="gaussian"),
        "iid": lambda: fixed_plan(X, epsilon, 1e-5),
        "classic": lambda: fixed_plan(X, epsilon, 1e-5, sigma="classic"),
    }[kind]()
    white = np.linalg.solve(plan.covariance, X.T).T
    row = int(np.argmax(np.einsum("ij,ij->i", X, white)))
    other = y.copy()
    other[row] = 1 - other[row]
    toward = white[row] * (1 if other[row] else -1)
    scores = [
        redraw_dot_products(X, labels, plan, 1_000_000, stream(7, "audit", kind, world)) @ toward
        for world, labels in (("here", y), ("there", other))
    ]
    found = audit_pair(*scores, 1e-5)
    print(f"{kind} epsilon={epsilon:g}: mu {plan.mu:.4f}, audited at least {found.mu_lower:.4f}")
    # 1e6 draws a world resolve mu to about 0.005 at this confidence, so small mu allow a wider band.
    assert max(0.95 - 0.005 / plan.mu, 0.85) <= found.mu_lower / plan.mu <= 1
    assert plan.epsilon == pytest.approx(true, abs=0.01)
    if kind == "classic":
        assert gaussian_epsilon(found.mu_lower, 1e-5) > epsilon == plan.epsilon_claimed
