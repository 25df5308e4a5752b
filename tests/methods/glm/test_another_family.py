"""A response family is a row of facts and a class of formulas: every protocol fits it, or refuses it in a sentence."""

from __future__ import annotations

import numpy as np
import pytest

import partywise as pw
from partywise.models.families import FAMILIES, Gamma
from partywise.models.family_facts import FACTS, FamilyFacts


class Invented(Gamma):
    """Gamma under another name, as a family that the protocols do not know."""

    name = "invented"


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
