"""A family without a closed density has a link, a variance and a deviance: exact protocols fit it, without an AIC."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import TweedieRegressor

import partywise as pw
from partywise.models.families import FAMILIES, LogLink, total
from partywise.models.family_facts import FACTS, FamilyFacts

K = 1.5


class Tweedie(LogLink):
    """Compound Poisson sums of Gamma variables with the log link: V(mu) = mu^1.5, zeros among positive numbers."""

    name = "tweedie"

    def variance(self, mu):
        return mu**K

    def weight(self, eta):
        return self.mean(eta) ** (2 - K)

    def score(self, y, eta):
        return (y - self.mean(eta)) * self.mean(eta) ** (1 - K)

    def unit_deviance(self, y, eta):
        mu = self.mean(eta)
        return 2 * (y ** (2 - K) / ((1 - K) * (2 - K)) - y * mu ** (1 - K) / (1 - K) + mu ** (2 - K) / (2 - K))

    def contains(self, y):
        return y >= 0

    def nearest(self, y):
        return np.maximum(y, 0.0)


@pytest.fixture
def tweedie(monkeypatch):
    monkeypatch.setitem(FACTS, "tweedie", FamilyFacts("Tweedie", "log", "numbers from 0", K, canonical=False))
    monkeypatch.setitem(FAMILIES, "tweedie", Tweedie())


def records():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 3))
    mu = np.exp(0.4 + X @ [0.3, -0.2, 0.1])
    return X, np.array([rng.gamma(2.0, 0.5, size=count).sum() for count in rng.poisson(mu)])


@pytest.mark.parametrize("protocol", ["joint", "reference", "bcd"])
def test_a_family_without_a_density_is_fitted(protocol, tweedie):
    X, y = records()
    options = {"variant": "corrected"} if protocol == "bcd" else {}
    fit = pw.VerticalGLM(family="tweedie", protocol=protocol, **options).fit(X, y, parties=2, rng=0)
    expected = TweedieRegressor(power=K, link="log", alpha=0, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(np.r_[fit.intercept_, fit.coef_], np.r_[expected.intercept_, expected.coef_], rtol=1e-4)
    assert fit.status_ == "ok" and fit.llf is None and fit.aic is None


def test_an_intercept_with_an_offset_solves_the_score(monkeypatch):
    """Also of a family whose variance is not a power of the mean, for which there is no closed form."""
    _, y = records()
    offset, weights = np.linspace(-2, 3, len(y)), np.linspace(0.5, 1.5, len(y))
    for power in (K, None):
        monkeypatch.setitem(FACTS, "tweedie", FamilyFacts("Tweedie", "log", "numbers from 0", power, canonical=False))
        b = Tweedie().start(y, weights, offset)
        assert abs(total(Tweedie().score(y, b + offset), weights)) < 1e-8 * total(y, weights)
