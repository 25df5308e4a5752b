"""Data frames at the estimators of split columns: names instead of numbers, and no silent other order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import partywise as pw
from glm_driver import records
from partywise.federation.estimators.estimator import Estimator

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
    with pytest.raises(ValueError, match=r"is not a partition of 0\.\.3"):
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
    # A fit of arrays knows no names.
    np.testing.assert_array_equal(getattr(FITS[kind](VALUES), ask.__name__)(X[NAMES]), ask(VALUES))


@pytest.mark.parametrize("kind", FITS)
def test_what_is_no_number_or_missing_is_named_with_its_column(kind):
    with pytest.raises(ValueError, match=r"X contains values that are not numbers .*'yes'.*: encode them"):
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


# Every estimator that takes a table, fitted to a frame or an array with four columns.
TABLES = {
    "VerticalGLM": FITS["glm"],
    "VerticalPCA": FITS["pca"],
    "VerticalBoosting": lambda X: pw.VerticalBoosting("pooled", num_of_trees=2).fit(X, LABELS, parties=2, rng=1),
    "VerticalLinear": lambda X: pw.VerticalLinear("exact").fit(X, LABELS, parties=2, rng=1),
    "LabelPrivateLogisticRegression": lambda X: pw.LabelPrivateLogisticRegression("non_private").fit(X, LABELS, rng=1),
    "SlicedInverseRegression": lambda X: pw.SlicedInverseRegression("reference", classes=[0, 1]).fit(
        X, LABELS, parties=2, rng=1
    ),
    "FederatedLogistic": lambda X: pw.FederatedLogistic(epsilon=4.0).fit(X, LABELS, parties=2, rng=1),
}
LABELS = (np.median(Y) < Y).astype(int)


def test_every_estimator_of_tables_is_tried():
    """Curves are arrays of three axes, which no frame holds; fits of durations have tests of their own."""
    known = {
        name for name in dir(pw) if isinstance(getattr(pw, name), type) and issubclass(getattr(pw, name), Estimator)
    }
    assert set(TABLES) == known - {
        "FunctionalBoosting",
        "Estimator",
        "FederatedCox",
        "FederatedEpidemiology",
        "FederatedKaplanMeier",
    }


@pytest.mark.parametrize("name", TABLES)
def test_names_of_a_fit_are_kept_and_compared(name):
    """Scores of trees and labels of a logistic fit came from the wrong columns, without a word."""
    model = TABLES[name](X)
    assert model.feature_names_in_.tolist() == NAMES and model.n_features_in_ == 4
    asked = [
        ask for ask in ("predict", "predict_proba", "decision_function", "transform", "score") if hasattr(model, ask)
    ]
    assert asked
    for ask in asked:
        call = getattr(model, ask)
        more = () if ask != "score" else (Y if name == "VerticalGLM" else LABELS,)
        try:
            expected = call(X, *more)
        except AttributeError:
            continue  # what another kind of model answers
        np.testing.assert_array_equal(expected, call(VALUES, *more))
        for other in (
            X[NAMES[::-1]],
            X.rename(columns={"dose": "doses"}),
            X.set_axis(list("wxyz"), axis=1),
            X[NAMES[:3]],
        ):
            with pytest.raises(ValueError, match=r"X has the columns \[.*the fit was made with \['age', .*this order"):
                call(other, *more)
    # A fit of an array, also after one of a frame, knows no names.
    plain = TABLES[name](VALUES)
    assert not hasattr(plain, "feature_names_in_")
    call = getattr(plain, asked[0])
    np.testing.assert_array_equal(call(X[NAMES]), call(VALUES))
