"""The formula of a link stands once; what follows from it is right for any link and exact for the logit."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from scipy.special import expit

from doubled_link import DOUBLED
from partywise.core.randomness import stream
from partywise.methods.glm.exact import fit_glm
from partywise.models.families import FAMILIES, Binomial
from partywise.models.links import LOGIT, Link
from pipeline import ROOT

LIB = ROOT / "lib" / "partywise"
Z = np.linspace(-30.0, 30.0, 121)
Y = np.tile([0.0, 1.0], 61)[:121]


def test_the_defaults_of_a_link_agree_with_the_formulas_of_the_logit():
    total, means = LOGIT.total(Z)
    assert total == pytest.approx(Link.total(LOGIT, Z)[0], rel=1e-14)
    np.testing.assert_array_equal(means, LOGIT.mean(Z))
    np.testing.assert_allclose(LOGIT.centred_mean(Z.copy()), Link.centred_mean(LOGIT, Z), atol=1e-15)
    np.testing.assert_array_equal(LOGIT.label(Z), Link.label(LOGIT, Z))
    np.testing.assert_allclose(LOGIT.loss(Z, Y), Link.loss(LOGIT, Z, Y), atol=1e-14)
    np.testing.assert_allclose(np.gradient(LOGIT.antiderivative(Z), Z)[1:-1], means[1:-1], atol=0.02)
    assert LOGIT.slope(Z).max() == LOGIT.largest_slope
    # Where the mean rounds to neither 0 nor 1, up to the digits that 1 - p loses.
    near = np.abs(Z) < 10
    for name in ("information", "score", "residual"):
        given = (Z,) if name == "information" else (Z, Y)
        found, general = getattr(LOGIT, name)(*given), getattr(Link, name)(LOGIT, *given)
        np.testing.assert_allclose(found[near], general[near], rtol=1e-10)


def test_the_logit_loses_no_digits_far_out():
    far = np.array([-700.0, -40.0, 0.0, 40.0, 700.0])
    np.testing.assert_allclose(LOGIT.mean(far), expit(far), rtol=1e-15)
    np.testing.assert_allclose(LOGIT.slope(far), expit(far) * expit(-far), rtol=1e-15)
    np.testing.assert_allclose(LOGIT.inverse(LOGIT.mean(Z[Z < 0])), Z[Z < 0], rtol=1e-12)


@pytest.mark.parametrize("link", [LOGIT, DOUBLED], ids=lambda link: link.name)
def test_score_is_minus_the_derivative_of_the_log_loss(link):
    z, y, h = np.linspace(-6, 6, 50), Y[:50], 1e-6
    slope = (link.log_loss(z + h, y) - link.log_loss(z - h, y)) / (2 * h)
    np.testing.assert_allclose(link.score(z, y), -slope, atol=1e-8)
    mean = (link.mean(z + h) - link.mean(z - h)) / (2 * h)
    np.testing.assert_allclose(link.slope(z), mean, atol=1e-8)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_a_generalised_linear_model_takes_another_link(solver):
    rng = stream(7, "links", "glm")
    X = rng.normal(size=(400, 3))
    y = (rng.random(400) < LOGIT.mean(X @ [1.0, -0.5, 0.0] - 0.3)).astype(float)
    single, doubled = (fit_glm(X, y, Binomial(link), solver=solver) for link in (LOGIT, DOUBLED))
    assert single.status == doubled.status == "ok"
    np.testing.assert_allclose(doubled.coefficients, single.coefficients / 2, rtol=1e-6)
    assert doubled.objective[-1] == pytest.approx(single.objective[-1], rel=1e-10)
    np.testing.assert_array_equal(fit_glm(X, y, FAMILIES["binomial"], solver=solver).beta, single.beta)


def test_the_formula_stands_in_one_file():
    """Privacy has a logistic function of its own: the odds e^epsilon of a guess."""
    formula = {"expit", "log_expit", "logit", "sigmoid", "softplus"}
    offenders = {
        str(file.relative_to(LIB))
        for file in sorted(LIB.rglob("*.py"))
        if file.relative_to(LIB).parts[0] != "privacy"
        for text in [file.read_text()]
        if any(name in text for name in formula)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Name | ast.Attribute)
        and (node.id if isinstance(node, ast.Name) else node.attr) in formula
    }
    assert offenders == {"models/links.py"}
