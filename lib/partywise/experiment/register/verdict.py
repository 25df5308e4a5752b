"""The rule by which an entry of the register gets its status: written here once, in code and in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite, isnan, nan, sqrt
from typing import Literal

from .numbers import Number
from .printed_source import Entry

Status = Literal["reproduced", "differs", "refuted", "not reproducible"]
STATUSES: tuple[Status, ...] = ("reproduced", "differs", "refuted", "not reproducible")
Z, SHARE, ROUNDING = 3.0, 0.05, 1e-9
# Largest resolution at which agreement within standard errors counts.
COARSE = 0.5

RULE = f"""\
A printed **number** is *reproduced* if ours is within {SHARE:.0%} of it, or within {Z:g} standard errors. The
standard error is that of both sides: ours over replicates, and the source's bracket over the square root of its
number of replicates (its brackets have the size of standard deviations). Both distances are taken from the nearest
number that rounds to the printed one. The column `resolution` is {Z:g} standard errors as a share of the printed
number: the difference that a comparison could have missed. Above {COARSE:.0%} agreement within standard errors is
uninformative, and the number is *not reproducible*. At {Z:g} standard errors one true number in 370 differs by
chance. A **bound** or a comparison ("at most", "better than", "20 to 100") is judged by our estimate itself, without
a margin. A **claim of privacy** is *refuted* in three cases. An attack of the audit proves a larger epsilon than is
claimed (each bound at 99.9 % confidence, or exact). An attack finds what is claimed to be hidden. Our number, in
exact arithmetic, is beyond a claimed bound. The claim is *reproduced* if the ledger or that number certifies it, and
otherwise *not reproducible*. If our number is undefined, a printed number or a claim that something is hidden is *not
reproducible*. Each entry that *differs* or is *not reproducible* has a reason, written by hand. The generator stops
at an entry without one, and at a reason that no entry needs."""


@dataclass(frozen=True)
class PrintedVerdict:
    """Status, distance in standard errors, share of the printed number, and what the comparison could have missed."""

    status: Status
    z: float = nan
    relative: float = nan
    resolution: float = nan


def half_unit(printed: str) -> float:
    """Half a unit of the last digit of a number as it is printed; 0 for a whole number, which counts something."""
    _, point, decimals = printed.partition(".")
    return 0.5 * 10.0 ** -len(decimals) if point else 0.0


def verdict(entry: Entry, number: Number | None) -> PrintedVerdict:
    """Judge an entry by the rule for its kind."""
    if entry.kind == "none" or number is None:
        return PrintedVerdict("not reproducible")
    rules = {"value": _value, "epsilon": _epsilon, "hidden": _hidden_share}
    rules |= dict.fromkeys(("claimed_at_most", "claimed_at_least"), _claimed_bound)
    return rules.get(entry.kind, _bound)(entry, number)


def _value(entry: Entry, number: Number) -> PrintedVerdict:
    if isnan(number.value):
        return PrintedVerdict("not reproducible")
    printed = float(entry.printed)
    distance = number.value - printed
    gap = max(0.0, abs(distance) - half_unit(entry.printed))
    source = float(entry.spread) / sqrt(entry.spread_of) if entry.spread else 0.0
    error = sqrt(_error(number) ** 2 + source**2)
    z = 0.0 if gap <= ROUNDING * abs(printed) else gap / error if error else inf
    relative = gap / abs(printed) if printed else (0.0 if gap <= ROUNDING else inf)
    resolution = Z * error / abs(printed) if printed else nan
    status: Status = "reproduced" if relative <= SHARE or z <= Z else "differs"
    if relative > SHARE and z <= Z and resolution > COARSE:
        status = "not reproducible"
    return PrintedVerdict(status, z if distance >= 0 else -z, relative, resolution)


def _bound(entry: Entry, number: Number) -> PrintedVerdict:
    bounds = [float(part) for part in entry.printed.split(" to ")]
    low, high = {
        "at_most": (-inf, bounds[-1]),
        "at_least": (bounds[0], inf),
        "between": (bounds[0], bounds[-1]),
    }[entry.kind.removeprefix("claimed_")]
    outside = number.value - high if number.value > high else number.value - low if number.value < low else 0.0
    nearest = min((number.value - bound for bound in (low, high) if isfinite(bound)), key=abs)
    z = nearest / _error(number) if _error(number) else nan
    return PrintedVerdict("reproduced" if outside == 0 and not isnan(number.value) else "differs", z)


def _claimed_bound(entry: Entry, number: Number) -> PrintedVerdict:
    if isnan(number.value):
        return PrintedVerdict("not reproducible")
    outcome = _bound(entry, number)
    return replace(outcome, status="refuted") if outcome.status == "differs" else outcome


def _error(number: Number) -> float:
    """Our standard error; what rounding leaves of a constant is none."""
    error = number.error or 0.0
    return error if error > ROUNDING * abs(number.value) else 0.0


def _hidden_share(entry: Entry, number: Number) -> PrintedVerdict:
    if isnan(number.value):
        # No attack was made: that it did not succeed is no evidence.
        return PrintedVerdict("not reproducible")
    return PrintedVerdict("refuted" if number.value > float(entry.printed) else "reproduced")


def _epsilon(entry: Entry, number: Number) -> PrintedVerdict:
    further = number.further or {}
    claimed = float(entry.printed)
    if further["claim_refuted"] > 0:
        return PrintedVerdict("refuted")
    certified = further["certified_for_claim"]
    return PrintedVerdict("reproduced" if certified <= claimed * (1 + ROUNDING) else "not reproducible")
