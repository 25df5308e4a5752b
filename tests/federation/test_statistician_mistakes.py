"""Mistakes of statisticians at estimators and arrays: each ends in one sentence before any work is done."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import partywise as pw
from mistakes import Mistake, faults
from partywise.core.errors import CertificationError, ModelError

pandas = pytest.importorskip("pandas")
N = 120
X = pw.stream(9, "records").uniform(-1, 1, size=(N, 3))
Y = X[:, 0] + 0.1 * pw.stream(9, "noise").normal(size=N)
LABELS, TIMES = (Y > 0).astype(int), np.exp(Y)
FRAME = pandas.DataFrame(X, columns=["age", "income", "dose"])
ROW = np.arange(N)[:, None] == 3


def glm(X=X, y=Y, family="gaussian", protocol="moments", **more):
    usual = {"epsilon": 4.0, "location": 0.0, "scale": 1.0, "statistic": (-2, 2), "cipher": "sized", "parties": 2}
    return pw.VerticalGLM(family, protocol, **usual | {"random_state": 1} | more).fit(X, y)


def walr(X=X, y=LABELS, **more):
    return pw.LabelPrivateLogisticRegression(**{"epsilon": 1.0, "random_state": 1} | more).fit(X, y)


def cox(times=TIMES, events=None, **more):
    usual = {"epsilon": 8.0, "horizon": 2.0, "centre": [0] * 3, "scale": [1] * 3, "random_state": 1, "parties": 2}
    return pw.FederatedCox(**usual | more).fit(X, times, events)


def slices(**more):
    usual = {"epsilon": 8.0, "edges": (-0.5, 0.0, 0.5), "random_state": 1, "parties": 2}
    return pw.SlicedInverseRegression("certified", **usual | more).fit(X, Y)


def text(folder, name, content):
    (folder / name).write_text(content)
    return folder / name


DATES = pandas.Series(pandas.date_range("2020-01-01", periods=N))
MISTAKES = {
    "decimal comma": Mistake(lambda _: glm(epsilon="1,0"), "must be a number, not str: write it w", ("epsilon='1,0'",)),
    "epsilon nan": Mistake(lambda _: glm(epsilon=float("nan")), "must be positive", ("epsilon=nan",)),
    "epsilon in a list": Mistake(lambda _: walr(epsilon=[1.0]), "give one number", ("epsilon=[1.0]",)),
    "protocol": Mistake(lambda _: glm(protocol="momnets"), "use one of ('joint'", ("protocol='momnets'",)),
    "family": Mistake(lambda _: glm(family="gausian"), "use one of ('gaussian'", ("family='gausian'",)),
    "keyword": Mistake(lambda _: glm(epsilonn=1.0), "it has family, protocol, epsilon,", ("'epsilonn'",)),
    "text column": Mistake(
        lambda _: glm(FRAME.assign(town="x")), "encode them, a factor as indicators", ("X", "column 'town'", "'x'")
    ),
    "missing cell": Mistake(lambda _: glm(np.where(ROW, np.nan, X)), "fill or drop", ("X", "nan at [3, 0]")),
    "dates": Mistake(lambda _: cox(DATES), "give numbers, such as days since", ("durations holds dates",)),
    "y too short": Mistake(lambda _: walr(y=LABELS[:-1]), "give one per row", ("y has 119", "120 rows of X")),
    "three labels": Mistake(
        lambda _: walr(y=np.array(["yes", "no", "maybe"])[np.arange(N) % 3]), "give two labels", ("y", "'maybe'")
    ),
    "more parties than columns": Mistake(lambda _: glm(parties=5), "must lie in 1..3", ("parties=5",)),
    "parties by name": Mistake(
        lambda _: glm(FRAME, parties={"shop": ["age"], "bank": ["income", "dose"]}),
        "give a number of parties, or the list of each",
        ("parties={'shop'",),
    ),
    "column of two parties": Mistake(lambda _: glm(parties=[[0, 1], [1, 2]]), "exactly one group", ("parties=[(0, 1",)),
    "unknown column": Mistake(
        lambda _: glm(FRAME, parties=[["age"], ["incme", "dose"]]), "it has ['age', 'income'", ("parties", "'incme'")
    ),
    "seed as text": Mistake(lambda _: walr(random_state="seven"), "give random_state=7", ("random_state='seven'",)),
    "no fit": Mistake(
        lambda _: pw.LabelPrivateLogisticRegression(epsilon=1.0).predict(X),
        "call its fit first",
        ("LabelPrivateLogisticRegression",),
    ),
    "other columns": Mistake(
        lambda _: walr(FRAME).predict(FRAME.rename(columns={"dose": "does"})), "give these in this order", ("'does'",)
    ),
    "negative durations": Mistake(lambda _: cox(-TIMES), "count time from the start", ("durations", "such as -")),
    "events 1 and 2": Mistake(
        lambda _: cox(events=1 + LABELS), "give 1 for an event and 0 for a cens", ("event_observed", "such as 2")
    ),
    "budget as text": Mistake(
        lambda _: pw.Budget(epsilon="1", delta=1e-5), "write it without quotes", ("epsilon='1'",)
    ),
    "budget as number": Mistake(lambda _: walr(shared_budget=1.5), "give a pw.Budget(", ("shared_budget=1.5",)),
    "noise on an array": Mistake(
        lambda _: pw.Gaussian(mu=0.5)(X.sum(0), pw.stream(1, "n"), owner="a"), "make one by pw.record_sum", ("ndarray",)
    ),
    "radius as text": Mistake(lambda _: slices(radius="1"), "write it without quotes", ("radius='1'",)),
    "clip as text": Mistake(
        lambda _: pw.CertifiedFilter("1", mu=0.1, unit="row", budget=(1.0, 1e-5), owner="north"),
        "write it without quotes",
        ("clip='1'",),
    ),
    "calibration of text": Mistake(
        lambda _: pw.analytic_gaussian_sigma("1", 1e-5, 1.0), "write it without quotes", ("epsilon='1'",)
    ),
    "capital letters": Mistake(lambda _: pw.VerticalGlm, "did you mean VerticalGLM?", ("'VerticalGlm'",)),
    "a folder as model": Mistake(lambda folder: pw.load(folder), "name a file that save wrote", ("Is a directory",)),
    "a table as model": Mistake(
        lambda folder: pw.load(text(folder, "a.csv", "a,b\n1,2\n")), "save the model again", ("a.csv",)
    ),
}
RAISED = (TypeError, ValueError, AttributeError, CertificationError, ModelError)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_with_argument_value_and_remedy(name, tmp_path):
    with warnings.catch_warnings(), pytest.raises(RAISED) as caught:
        warnings.simplefilter("ignore")
        MISTAKES[name].make(tmp_path)
    assert faults(str(caught.value), MISTAKES[name]) == [], caught.value
