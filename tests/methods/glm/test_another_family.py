"""A response family is a row of facts and a class of formulas: every protocol fits it, or refuses it in a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import xlogy
from scipy.stats import nbinom

import partywise as pw
from partywise.core.randomness import stream
from partywise.methods.glm.blocks import PUBLISHED
from partywise.methods.glm.noisy_statistics.submodels import LINKS
from partywise.methods.glm.records import WeightedResponse, response_of
from partywise.methods.glm.secret_shared_link.polynomials import link_of
from partywise.methods.glm.secret_shared_link.terms import MAKERS
from partywise.models.families import FAMILIES, Gamma, LogLink
from partywise.models.family_facts import FACTS, FamilyFacts
from partywise.studies.vertical_glm.cases import responses


class Invented(Gamma):
    """Gamma under another name, as a family that the protocols do not know."""

    name = "invented"


class Overdispersed(LogLink):
    """Negative binomial with theta 2: V(mu) = mu + mu^2 / 2 is no power of the mean, and the dispersion is 1."""

    name = "overdispersed"

    def variance(self, mu):
        return mu + mu**2 / 2

    def weight(self, eta):
        mu = self.mean(eta)
        return mu / (1 + mu / 2)

    def score(self, y, eta):
        mu = self.mean(eta)
        return (y - mu) / (1 + mu / 2)

    def unit_deviance(self, y, eta):
        mu = self.mean(eta)
        return 2 * np.maximum(xlogy(y, y / mu) - (y + 2) * np.log((y + 2) / (mu + 2)), 0)

    def contains(self, y):
        return (y >= 0) & (y == np.floor(y))

    def nearest(self, y):
        return np.floor(np.maximum(y, 0.0))

    def log_density(self, y, mu, dispersion):
        return nbinom.logpmf(y, 2, 2 / (2 + mu))


PROTOCOLS = {
    "joint, opened": {"protocol": "joint"},
    "joint, shared": {"protocol": "joint", "link": "shared", "solver": "lbfgs"},
    "bcd, published": {"protocol": "bcd", "variant": "published"},
    "bcd, corrected": {"protocol": "bcd", "variant": "corrected"},
    "reference": {"protocol": "reference"},
    "moments": {"protocol": "moments", "statistic": [-6.0, 4.0]},
    "noisy_newton": {"protocol": "noisy_newton", "eta_start": 0.0},
    "noisy_gradient": {"protocol": "noisy_gradient", "eta_start": 0.0},
    "noisy_predictor": {"protocol": "noisy_predictor", "eta_start": 0.0},
}
REFUSED = {"joint, shared", "bcd, published", "moments", "noisy_predictor"}


@pytest.fixture
def invented(monkeypatch):
    monkeypatch.setitem(FACTS, "invented", FamilyFacts("invented", "log", "numbers above 0", 2, canonical=False))
    monkeypatch.setitem(FAMILIES, "invented", Invented())


def fitted(family: str, options: dict[str, object]) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    y = rng.gamma(2.0, np.exp(0.2 * X[:, 0]) / 2)
    private = pw.VerticalGLM.methods[options["protocol"]].options.uses_epsilon
    public = {"epsilon": 1e3, "location": 0.0, "scale": 1.0} if private else {}
    return pw.VerticalGLM(family=family, **options, **public).fit(X, y, parties=2, rng=0).coef_


def test_every_protocol_is_asked():
    assert {options["protocol"] for options in PROTOCOLS.values()} == set(pw.VerticalGLM.methods)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_fits_another_family_or_refuses_it_by_name(name, invented):
    if name in REFUSED:
        with pytest.raises(ValueError, match=r"family[ =]'invented'"):
            fitted("invented", PROTOCOLS[name])
    else:
        np.testing.assert_array_equal(fitted("invented", PROTOCOLS[name]), fitted("gamma", PROTOCOLS[name]))


@pytest.fixture
def overdispersed(monkeypatch):
    facts = FamilyFacts("negative binomial", "log", "0, 1, 2, ...", None, canonical=False)
    monkeypatch.setitem(FACTS, "overdispersed", facts)
    monkeypatch.setitem(FAMILIES, "overdispersed", Overdispersed())


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_family_whose_variance_is_no_power_is_fitted_or_refused(name, overdispersed):
    """Noisy steps, from a public start and with clipped scores, are no further from the maximum than Poisson's."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(4000, 2))
    mu = np.exp(0.5 - 0.4 * X[:, 0] + 0.5 * X[:, 1])
    y = rng.negative_binomial(2, 2 / (2 + mu)).astype(float)
    if name in REFUSED:
        with pytest.raises(ValueError, match=r"family[ =]'overdispersed'"):
            off("overdispersed", PROTOCOLS[name], X, y)
    else:
        noisy = name.startswith("noisy")
        assert off("overdispersed", PROTOCOLS[name], X, y) < (off("poisson", PROTOCOLS[name], X, y) if noisy else 1e-3)


def off(family: str, options: dict[str, object], X: np.ndarray, y: np.ndarray) -> float:
    """Largest distance of a fit at epsilon 1000 from the maximum of the likelihood."""
    private = pw.VerticalGLM.methods[options["protocol"]].options.uses_epsilon
    public = {"epsilon": 1e3, "location": 0.0, "scale": 1.0} if private else {}
    model = pw.VerticalGLM(family=family, **options, **public).fit(X, y, parties=2, rng=0)
    best = pw.VerticalGLM(family=family, protocol="reference").fit(X, y, parties=2, rng=0)
    return float(np.max(np.abs(np.r_[model.intercept_ - best.intercept_, model.coef_ - best.coef_])))


PLACES = {
    "shared link": lambda family: link_of(family),
    "terms of the shared link": lambda family: MAKERS[family](
        WeightedResponse(np.ones(2), FAMILIES["gamma"]), np.zeros(2), 0
    ),
    "published blocks": lambda family: PUBLISHED[family],
    "moments": lambda family: LINKS[family],
    "records": lambda family: response_of({"y": np.ones(2)}, np.arange(2), family, "active"),
    "the study's generator": lambda family: responses(family, np.zeros(3), 1.0, stream(1, "responses")),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_unknown_family_is_named(place):
    with pytest.raises(ValueError, match=r"family 'tweedie' has no .*: use one of gaussian, "):
        PLACES[place]("tweedie")


def test_a_new_family_is_not_drawn_as_another(monkeypatch):
    monkeypatch.setitem(FAMILIES, "tweedie", Gamma())
    with pytest.raises(ValueError, match="family 'tweedie' has no draw of responses in the generator"):
        responses("tweedie", np.zeros(3), 1.0, stream(1, "responses"))
