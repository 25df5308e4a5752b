"""The table that a statistician expects of a fit, as text."""

from __future__ import annotations

# Any: an estimator with its results, which come after it.
from typing import Any

import numpy as np

from ...models.intervals import CONDITION, noise_line
from ...privacy.rounding import upward
from .diagnostics import Wald
from .model import GlmEstimate


def summary_of(fitted: Any, estimate: GlmEstimate, tests: Wald | None) -> str:
    """Lines on the fit, then a row for each coefficient.

    fitted : estimator with ``family``, ``protocol``, ``names_``, ``n_records_``, ``privacy_`` and its results
    tests : of the coefficients, with intervals of 95 %; None without standard errors
    """
    q, absent = len(estimate.coefficients), getattr(fitted, "n_absent_", 0)
    left_out = f" ({absent} without weight or trials are left out)" if absent else ""
    lines = [
        f"{fitted.family} by {fitted.protocol}: {fitted.n_records_} records{left_out}, {q} coefficients, "
        + fitted.status_
        + ("" if estimate.iterations is None else f" after {estimate.iterations} iterations"),
    ]
    if fitted.deviance_r2_ is not None:
        lines.append(
            f"deviance {_number(fitted.deviance_)} of {_number(fitted.null_deviance_)} without columns, "
            f"explained {fitted.deviance_r2_:.3f}"
        )
    rest = {"dispersion": fitted.dispersion_, "AIC": fitted.aic}
    lines.append(", ".join(f"{name} {_number(value)}" for name, value in rest.items() if value is not None))
    spent = fitted.privacy_
    lines.append(f"epsilon {upward(spent.epsilon_certified)} at delta {spent.delta:g}, for one {spent.unit}")
    if (cov_type := getattr(fitted._options(), "cov_type", "nonrobust")) != "nonrobust" and tests is not None:
        lines.append(f"standard errors: {cov_type}, from squared scores, with normal tests")
    if estimate.numbers.get("penalised"):
        lines.append("penalised: standard errors leave out the bias of the ridge")
    lines += _approximations(fitted, estimate)
    return "\n".join([*filter(None, lines), "", *_table(fitted, estimate, tests)])


def _approximations(fitted: Any, estimate: GlmEstimate) -> list[str]:
    """Return the lines on approximations, and on the noise of privacy."""
    lines = []
    if estimate.numbers.get("approximate"):
        lines.append("approximate: a polynomial or a formula for normal columns stands in for the link")
    if not fitted._options().uses_epsilon or np.isinf(estimate.epsilon_claimed):
        return lines
    lines.append(noise_line(estimate.noise_errors_reason))
    reason = fitted.intervals_.reason
    some = f"intervals: over records and noise, shrinkage taken off, {CONDITION}"
    lines.append(f"no intervals: {reason}" if reason else some)
    return lines


def _table(fitted: Any, estimate: GlmEstimate, tests: Wald | None) -> list[str]:
    names = ("intercept", *fitted.names_)
    width = max(map(len, names))
    if tests is None or estimate.standard_errors is None:
        entries = {"coef": estimate.coefficients}
        if estimate.noise_errors is not None:
            entries["noise sd"] = estimate.noise_errors
        if (bounds := fitted.intervals_.bounds()) is not None:
            entries |= {"2.5 %": bounds[:, 0], "97.5 %": bounds[:, 1]}
        head = f"{'':{width}}  " + " ".join(f"{title:>11}" for title in entries)
        values = zip(names, zip(*entries.values(), strict=True), strict=True)
        return [head, *(f"{name:{width}}  " + " ".join(f"{b:11.4g}" for b in row) for name, row in values)]
    known = ("coef", "std err", "z or t", "p", "2.5 %", "97.5 %")
    columns = np.column_stack(
        [estimate.coefficients, estimate.standard_errors, tests.statistic, tests.p_values, tests.interval]
    )
    rows = [f"{'':{width}}  " + " ".join(f"{title:>11}" for title in known)]
    return [
        *rows,
        *(
            f"{name:{width}}  " + " ".join(f"{value:11.4g}" for value in row)
            for name, row in zip(names, columns, strict=True)
        ),
    ]


def _number(value: float) -> str:
    return f"{value:.6g}"
