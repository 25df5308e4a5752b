"""Data frames at the estimators of split columns: names instead of numbers, and no silent other order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import partywise as pw
from glm_driver import records

NAMES = ["age", "dose", "stage", "smoker"]
VALUES, Y = records("poisson", 80, 4)
X = pd.DataFrame(VALUES, columns=NAMES)
FITS = {
    "glm": lambda X, **words: pw.VerticalGLM("poisson").fit(X, Y, rng=1, **words),
    "pca": lambda X, **words: pw.VerticalPCA().fit(X, rng=1, **words),
}
CONSTANTS = {"location": 0.0, "scale": 1.0}


def answer(model):
    return model.coef_ if isinstance(model, pw.VerticalGLM) else model.correlation_


@pytest.mark.parametrize("kind", FITS)
def test_parties_hold_columns_by_name(kind):
    named = FITS[kind](X, parties=[["age", "smoker"], ["stage", "dose"]])
    numbered = FITS[kind](VALUES, parties=[[0, 3], [2, 1]])
    np.testing.assert_array_equal(answer(named), answer(numbered))
    assert list(named.names_) == NAMES and numbered.names_ == ("x0", "x1", "x2", "x3")
    labelled = FITS[kind](VALUES, parties=[["a", "b"], ["c", "d"]], names=list("abcd"))
    np.testing.assert_allclose(answer(labelled), answer(numbered), rtol=1e-9)
    with pytest.raises(ValueError, match="parties name the column 'weight', which X does not have: it has"):
        FITS[kind](X, parties=[["age", "weight"], ["stage", "dose", "smoker"]])
    with pytest.raises(ValueError, match=r"is no partition of 0\.\.3"):
        FITS[kind](X, parties=[["age"], ["stage", "dose"]])


@pytest.mark.parametrize("kind", FITS)
def test_unaligned_frames_bring_their_names(kind):
    pytest.importorskip("nacl")
    ids = [[f"P{k}" for k in range(80)], [f"P{k}" for k in range(80)][::-1]]
    model = FITS[kind]([X[NAMES[:2]], X[NAMES[2:]][::-1]], ids=ids)
    assert list(model.names_) == NAMES
    np.testing.assert_allclose(answer(model), answer(FITS[kind](X)), rtol=1e-9)
    with pytest.raises(ValueError, match=r"names=\('age', 'dose', 'age', 'smoker'\): give 4 different ones"):
        FITS[kind]([X[NAMES[:2]], X[["age", "smoker"]]], ids=ids)


@pytest.mark.parametrize("kind", FITS)
def test_records_with_columns_in_another_order_are_refused(kind):
    model = FITS[kind](X)
    ask = model.predict if kind == "glm" else model.transform
    np.testing.assert_array_equal(ask(X), ask(VALUES))
    for other in (X[NAMES[::-1]], X[NAMES[:3]], X.rename(columns={"dose": "doses"})):
        with pytest.raises(
            ValueError, match=r"X has the columns \[.*\]: the fit was made with \['age', 'dose', 'stage'"
        ):
            ask(other)
    # Names that the fit never saw are no other order.
    np.testing.assert_array_equal(ask(X.set_axis(list("wxyz"), axis=1)), ask(VALUES))


@pytest.mark.parametrize("kind", FITS)
def test_what_is_no_number_or_missing_is_named_with_its_column(kind):
    with pytest.raises(ValueError, match=r"X holds values that are no numbers .*'yes'.*: encode them"):
        FITS[kind](X.assign(smoker=["yes", "no"] * 40))
    with pytest.raises(
        ValueError, match=r"not finite, such as nan at \[7, 1\], column 'dose': fill or drop incomplete"
    ):
        FITS[kind](X.assign(dose=X.dose.where(X.index != 7)))


def test_labels_0_and_1_need_no_range():
    y = (np.median(Y) < Y).astype(float)
    fits = [
        pw.VerticalGLM("binomial", "moments", epsilon=3.0, **CONSTANTS, **given).fit(X, y, rng=1)
        for given in ({}, {"statistic": (0.0, 1.0)})
    ]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    with pytest.raises(ValueError, match="statistic=None"):
        pw.VerticalGLM("poisson", "moments", epsilon=3.0, **CONSTANTS).fit(X, Y, rng=1)
