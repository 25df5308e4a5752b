"""Verdicts on a fit: one status, and one sentence that names the argument or column, the value and the remedy.

They are for the process that holds the records. No message, saved model or outcome carries what is computed from these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

STATUSES = (
    *("ok", "not_converged", "diverged", "not_finite", "separated", "singular", "clipped", "constant_response"),
    *("too_few_events", "empty_group", "one_slice", "more_columns_than_records", "not_estimable", "uninformative"),
)
# Verdicts that are exact of records: they stay with whoever holds these.
OF_RECORDS = ("clipped", "constant_response", "one_slice")
# Shares of entries or records beyond their public bounds: of a warning, and of a refusal.
WARNED, REFUSED = 0.05, 0.5
# Largest share, of records and of their squared length, at which intervals hold: so little clipping moves coefficients
# by less than their errors. Of normal records, 0.3 % beyond a radius have 0.6 % of the squares; of lognormal ones 5 %.
TOLERATED = 0.01
# Sums over so many records or more count as normal.
LEAST_RECORDS = 300
# A fit with noise has diverged if its loss on its own records is so many times that of the start, at coefficients of 0;
# one without noise if its loss is above that of the start, except for rounding.
GROWN, GROWN_WITHOUT_NOISE = 10.0, 1 + 1e-9


@dataclass(frozen=True)
class Verdict:
    """Why an estimate is not to be used, or not yet.

    status : one of `STATUSES`; reason : a sentence without its full stop, empty where the status is ``ok``
    """

    status: str = "ok"
    reason: str = ""


OK = Verdict()


def first_fault(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the first verdict that is not ``ok``."""
    return next((verdict for verdict in verdicts if verdict.status != "ok"), OK)


def estimate_verdict(estimate: Any) -> Verdict:
    """Return the verdict that an estimate carries: it follows from what the protocol released or opened."""
    status = getattr(estimate, "status", "ok")
    if status == "ok":
        return OK
    reason = getattr(estimate, "reason", "") or "give more steps, a ridge or fewer columns"
    return Verdict(status, reason.rstrip("."))


def public_verdict(estimate: Any) -> Verdict:
    """Return the verdict that an estimate carries, unless it is exact of records."""
    verdict = estimate_verdict(estimate)
    return OK if verdict.status in OF_RECORDS else verdict


def finite_verdict(arrays: Mapping[str, np.ndarray]) -> Verdict:
    """Judge whether all entries of a fit's attributes, by name, are finite."""
    for name, array in arrays.items():
        entries = np.asarray(array, dtype=float)
        if not np.isfinite(entries).all():
            count = int(np.count_nonzero(~np.isfinite(entries)))
            return Verdict(
                "not_finite",
                f"{name} has {count} entries of {entries.size} that are not finite: give a smaller step length, scale "
                "the columns, or take fewer of them",
            )
    return OK


def growth_verdict(loss: float, start: float, remedy: str, *, noise: bool = True) -> Verdict:
    """Judge whether a fit's loss on its own records has grown from that of its start.

    noise : whether the fit has some, which alone may make it worse than its start
    """
    if not loss > (GROWN if noise else GROWN_WITHOUT_NOISE) * start:
        return OK
    return Verdict(
        "diverged",
        f"the loss on the fit's own records is {loss:.3g}, and {start:.3g} where all coefficients are 0: {remedy}",
    )


def response_verdict(name: str, response: np.ndarray) -> Verdict:
    """Judge whether a response (n, ...) has more than one value."""
    if len(response) < 2 or np.any(response != response[:1]):
        return OK
    return Verdict(
        "constant_response",
        f"{name} is {response.ravel()[0]!s} in all {len(response)} records: check that it is the right column",
    )


def size_verdict(n: int, p: int) -> Verdict:
    """Judge whether n records determine the coefficients of p columns."""
    if p < n:
        return OK
    return Verdict(
        "more_columns_than_records",
        f"X has {p} columns and {n} records, which do not determine the fit: give fewer columns, or a ridge",
    )


def rank_verdict(dependent: Sequence[str]) -> Verdict:
    """Judge a fit without ridge by the names of its columns that add nothing to those before them."""
    if not dependent:
        return OK
    is_or_are, depends, them = ("is", "depends", "it") if len(dependent) == 1 else ("are", "depend", "them")
    return Verdict(
        "singular",
        f"{', '.join(map(repr, dependent))} {is_or_are} constant, or {depends} on the columns before {them}: drop "
        f"{them}, or give ridge > 0",
    )


def bounds_verdict(shares: Mapping[str, float]) -> Verdict:
    """Judge the shares of entries or records beyond their public bounds, by the argument that declares these."""
    return _clip_verdict(
        shares,
        WARNED,
        "{percent:.3g} % of the records or entries lie beyond their public bounds ({bound}) and count as the nearest "
        "values inside: declare bounds that suit the data",
    )


def intervals_verdict(shares: Mapping[str, float]) -> Verdict:
    """Judge whether public bounds clip so few of a party's records, and so little of these, that intervals hold."""
    return _clip_verdict(
        shares,
        TOLERATED,
        "{percent:.3g} % of the records, or of their squared length, lie beyond public bounds ({bound}): more than "
        "{limit:g} % biases coefficients, so that intervals do not hold; declare wider bounds",
    )


def _clip_verdict(shares: Mapping[str, float], limit: float, sentence: str) -> Verdict:
    """Judge the largest of the shares that were clipped, by the argument that declares the bound.

    limit : largest share that is ``ok``; sentence : takes ``percent``, ``bound`` and, in per cent, ``limit``
    """
    bound = max(shares, key=lambda name: shares[name], default=None)
    if bound is None or not shares[bound] > limit:
        return OK
    return Verdict("clipped", sentence.format(percent=100 * shares[bound], bound=bound, limit=100 * limit))
