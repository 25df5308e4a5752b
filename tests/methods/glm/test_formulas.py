"""Formulas: each party makes its own columns; the fit is that of statsmodels by the same formula."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from sklearn.base import clone

import partywise as pw

rng = pw.stream(1, "formulas")
FRAME = pd.DataFrame(
    {
        "age": rng.normal(50, 10, 300),
        "smoker": rng.integers(0, 2, 300),
        "region": rng.choice(["east", "north", "west"], 300),
        "dose": rng.uniform(1, 3, 300),
    }
)
Y = rng.poisson(np.exp(0.02 * (FRAME.age - 50) + 0.4 * FRAME.smoker - 0.3 * np.log(FRAME.dose)))
HELD = [["age", "smoker"], ["region", "dose"]]
RIGHT = "age * smoker + C(region) + np.log(dose)"


@pytest.mark.parametrize("protocol", ["joint", "reference"])
def test_a_formula_is_that_of_statsmodels(protocol):
    model = clone(pw.VerticalGLM("poisson", protocol, formula=RIGHT, parties=HELD, random_state=1)).fit(FRAME, Y)
    given = smf.glm(f"y ~ {RIGHT}", FRAME.assign(y=Y), family=sm.families.Poisson()).fit(tol=1e-15, maxiter=300)
    expected = given.params.rename({"Intercept": "intercept"})
    assert set(model.params.index) == set(expected.index)
    assert np.allclose(model.params, expected[model.params.index], rtol=1e-7, atol=1e-9)
    assert np.allclose(model.bse, given.bse.rename({"Intercept": "intercept"})[model.bse.index], rtol=1e-6)
    # Other records have the levels of the fit, also where they have not all of them.
    few = FRAME[FRAME.region == "north"]
    assert np.allclose(model.predict(few), given.predict(few), rtol=1e-7)
    assert model.score(FRAME, Y) == pytest.approx(model.deviance_r2_, rel=1e-9)


def test_a_private_fit_takes_no_levels_from_records():
    given = {"location": 0.0, "scale": 1.0, "statistic": (0.0, 9.0), "parties": HELD}
    with pytest.raises(ValueError, match="a private fit takes public ones"):
        pw.VerticalGLM("poisson", "moments", epsilon=1.0, formula=RIGHT, **given).fit(FRAME, Y, rng=1)


@pytest.mark.parametrize(
    ("formula", "given", "words"),
    [
        ("age * dose", {}, r"the term 'age:dose' of the formula needs the columns \['age', 'dose'\], which no party"),
        ("age + I(age * dose)", {}, "which no party has together"),
        ("y ~ age", {}, "has a response"),
        ("0 + age", {}, "has no intercept"),
        ("age + dose", {"parties": 2}, "the columns of each party"),
        ("age + dose", {"names": ["a", "b"]}, "leave ids and names out"),
    ],
)
def test_what_no_party_can_make_is_refused(formula, given, words):
    with pytest.raises(ValueError, match=words):
        pw.VerticalGLM("poisson", formula=formula).fit(FRAME, Y, rng=1, **{"parties": HELD} | given)
