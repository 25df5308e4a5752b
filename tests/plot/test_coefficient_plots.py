"""``pw.plot.coefficients``: marks and bars are the coefficients and intervals that estimators and statsmodels give."""

from __future__ import annotations

import numpy as np
import pytest

import partywise as pw
from invented import invented
from partywise.plot import intervals
from partywise.studies.vertical_glm.figures import coefficients as figure
from shipped import shipped_plans

NAMES = ["age", "dose", "pressure"]


@pytest.fixture(scope="module")
def table():
    X = pw.stream(1, "records").normal(size=(800, 3))
    return X, 0.3 + X @ [0.5, -0.5, 0.0] + pw.stream(1, "errors").normal(size=800)


@pytest.fixture(scope="module")
def fits(table):
    X, y = table
    scales = {"location": 0.0, "scale": 1.0, "statistic": (-5, 5)}
    private = pw.VerticalGLM("gaussian", "moments", epsilon=4.0, cipher="sized", **scales)
    plain = pw.VerticalGLM("gaussian").fit(X, y, parties=[[0, 1], [2]], names=NAMES, rng=7)
    return {"plain": plain, "private": private.fit(X, y, parties=[[0, 1], [2]], names=NAMES, rng=7)}


def bars(ax) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Places of the marks (p, 2) and ends of the bars (p, 2) of each fit."""
    found = {}
    for one in ax.containers:
        mark, _, (segments,) = one.lines
        ends = np.array([[segment[0, 0], segment[1, 0]] for segment in segments.get_segments()])
        found[one.get_label()] = np.array(mark.get_xydata(), float), ends
    return found


@pytest.mark.parametrize("level", [0.95, 0.5])
def test_bars_are_the_intervals_of_the_estimators(fits, level):
    ax = pw.plot.coefficients(fits, level=level)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == NAMES
    for name, (marks, ends) in bars(ax).items():
        wanted = np.asarray(fits[name].conf_int(1 - level))[1:]
        np.testing.assert_allclose(ends, wanted, rtol=1e-12, atol=1e-15)
        centre = fits[name].coef_ if name == "plain" else fits[name].intervals_.centre[1:]
        np.testing.assert_allclose(marks[:, 0], centre)
    (_, plain), (_, private) = bars(ax).values()
    assert (np.diff(private, axis=1) > np.diff(plain, axis=1)).all(), "noise makes intervals longer"
    assert "count the noise" in ax.figure._suptitle.get_text()


def test_a_result_of_statsmodels_is_drawn_as_it_is(table, fits):
    sm = pytest.importorskip("statsmodels.api")
    pd = pytest.importorskip("pandas")
    X, y = table
    for data, names in ((pd.DataFrame(X, columns=NAMES), ["const", *NAMES]), (X, ["const", "x1", "x2", "x3"])):
        result = sm.OLS(y, sm.add_constant(data)).fit()
        ax = pw.plot.coefficients({"theirs": result}, intercept=True)
        assert [tick.get_text() for tick in ax.get_yticklabels()] == names
        marks, ends = bars(ax)["theirs"]
        np.testing.assert_allclose(ends, np.asarray(result.conf_int()), rtol=1e-9)
        np.testing.assert_allclose(marks[:, 0], np.asarray(result.params))


def test_fits_of_other_columns_have_rows_of_their_names(fits):
    other = pw.plot.CoefficientRows(["pressure", "height"], np.array([1.0, 2.0]), np.array([0.5, np.nan]))
    ax = pw.plot.coefficients({"plain": fits["plain"], "other": other})
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [*NAMES, "height"]
    marks, ends = bars(ax)["other"]
    np.testing.assert_allclose(np.round(marks[:, 1]), [2, 3])
    np.testing.assert_allclose(ends, [[0.5, 1.5], [2.0, 2.0]])


def test_private_labels_have_the_intervals_that_the_fit_gives():
    X = pw.stream(2, "features").uniform(size=(4000, 2))
    y = pw.stream(2, "labels").random(4000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    model = pw.LabelPrivateLogisticRegression(epsilon=1.0).fit(X, y, rng=7)
    ((_, ends),) = bars(pw.plot.coefficients(model)).values()
    np.testing.assert_allclose(ends, model.conf_int_[1:])


@pytest.mark.filterwarnings("ignore:the fit is clipped")
def test_an_estimator_without_intervals_says_why(table, fits):
    X, y = table
    slicing = pw.SlicedInverseRegression(epsilon=2.0, edges=(0.0,)).fit(X, y, parties=2, rng=7)
    with pytest.raises(ValueError, match=r"'SlicedInverseRegression' has no intervals: .*CoefficientRows"):
        pw.plot.coefficients(slicing)
    scales = {"location": 0.0, "scale": 1.0, "statistic": (-5, 5), "eta_start": 0.0}
    noisy = pw.VerticalGLM("gaussian", "noisy_gradient", epsilon=4.0, **scales).fit(X, y, parties=[[0, 1], [2]], rng=7)
    with pytest.raises(ValueError, match=r"'noisy' has no intervals: .*noise_errors_"):
        pw.plot.coefficients({"noisy": noisy})
    with pytest.raises(ValueError, match="is not fitted yet"):
        pw.plot.coefficients(pw.LabelPrivateLogisticRegression())
    with pytest.raises(TypeError, match="'list' is of type list, without params and conf_int"):
        pw.plot.coefficients([1, 2])
    with pytest.raises(ValueError, match="level=95"):
        pw.plot.coefficients(fits, level=95)


def test_the_figure_of_coefficients_draws_with_it(monkeypatch):
    calls = []

    def drawing(rows, **named):
        calls.append((rows, named["ax"]))
        return intervals.coefficients(rows, **named)

    monkeypatch.setattr(figure, "coefficients", drawing)
    drawn = figure.coefficient_intervals(invented(shipped_plans()["vertical_glm"], replicates=2))
    assert [ax for _, ax in calls] == [ax for ax in drawn.axes if ax.axison] and calls
    for rows, ax in calls:
        for one, drawn_bars in zip(rows.values(), ax.containers, strict=True):
            np.testing.assert_array_equal(drawn_bars.lines[0].get_xdata(), one.values)


@pytest.mark.filterwarnings("ignore:the fit is not_estimable")
def test_hazard_ratios_have_no_intercept_and_say_why_there_are_no_intervals():
    rng = pw.stream(3, "follow-up")
    X = rng.uniform(-1, 1, size=(1500, 2))
    given = {"horizon": 2.0, "centre": [0, 0], "scale": [1, 1], "parties": 3, "random_state": 7}
    model = pw.FederatedCox(epsilon=8.0, **given).fit(X, rng.exponential(2.0 ** -X[:, 0]))
    ax = pw.plot.coefficients(model)
    assert [one.get_text() for one in ax.get_yticklabels()] == ["x0", "x1"]
    np.testing.assert_array_equal(model.intervals_.bounds(), model.confidence_intervals_)
    few = pw.FederatedCox(epsilon=0.1, **given | {"parties": 1}).fit(X[:40], np.full(40, 3.0))
    with pytest.raises(ValueError, match="do not stand out of their noise"):
        pw.plot.coefficients(few)
