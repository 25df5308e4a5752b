"""Columns and response on public scales, clipped to public radii: what every private release of records rests on.

A party centres and scales its columns by location and scale that are public by the meaning of the columns, and clips
each record of its block to its radius c_k (`default_radius` where none is given). A record of all blocks is then no
longer than S, S^2 = sum of c_k^2, however the columns are dealt. An `AccountedValue` states where these numbers come
from; nothing here is computed from data. One budget is divided among releases before anything is sent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import gammaincinv

from ....alignment.rows import columns_of
from ....core.errors import BudgetExceeded
from ....federation.parties import Participant, Party, lost_squares
from ....federation.roles import records_per_person
from ....federation.run import Run
from ....models.family_facts import FACTS
from ....models.kinds import Kind
from ....privacy.accounted_values import AccountedValue, Public, parameter
from ....privacy.accounting.calibration import gdp_mu
from ....privacy.rounding import bounded_entries
from ....privacy.statistics.clips import NormClip
from ....privacy.statistics.geometry import lengths
from ..model import GlmFacts
from ..options import RadiusRule
from ..records import response_of
from .moments import MomentScale

# Share of independent normal records of unit variance that the default radius leaves as they are.
KEPT = 0.997
SMALL = 1.4
BECAUSE_RADIUS: Mapping[RadiusRule, str] = {
    "chi": "length that 0.3 % of normal records exceed, of the number of columns of the party",
    "small": "1.4 times the root of the number of columns of the party",
}
BECAUSE_SCALED = "a radius on the public scales of the columns"
BECAUSE_TOTAL = "root of the sum of squares of the radii of all parties"
NEEDED = {
    "location": "the centre of each column",
    "scale": "the typical deviation of each column",
    "statistic": "the least and the largest value of the response statistic",
    "eta_start": "the linear predictor at which iterations start",
}


def facts_of(run: Run) -> GlmFacts:
    """Return the public facts of a private run, with the rule of its options for radii that are not given."""
    records = records_per_person(run.spec)
    return replace(run.spec.public, radius_rule=run.spec.options.radius_rule, records_per_person=records)


def default_radius(columns: int, rule: RadiusRule = "chi") -> float:
    """The 0.997 quantile of the length of so many independent standard normal numbers: 2.97, 3.41, 4.24 of 1, 2, 5.

    By the rule ``small`` 1.4 times the root of their number.
    """
    if rule == "small":
        return SMALL * math.sqrt(columns)
    return float(np.sqrt(2 * gammaincinv(columns / 2, KEPT)))


def radius_of(public: GlmFacts, party: Participant) -> AccountedValue:
    """Radius c_k to which a record of the party's scaled block is clipped; it rests on location and scale as well."""
    default = Public(default_radius(len(party.columns), public.radius_rule), because=BECAUSE_RADIUS[public.radius_rule])
    radius = public.radii.get(party.name, default)
    parts = (radius, *(fact for fact in (public.location, public.scale) if fact is not None))
    return Public(float(parameter("radii", radius)), because=BECAUSE_SCALED, made_of=parts)


def total_radius(public: GlmFacts, parties: Sequence[Participant]) -> AccountedValue:
    """Radius S of a record of all blocks, S^2 = sum of c_k^2."""
    parts = [radius_of(public, party) for party in parties]
    return Public(float(lengths(np.array([part.value for part in parts]))), because=BECAUSE_TOTAL, made_of=parts)


def local_scaled_block(party: Party, rows: np.ndarray, public: GlmFacts) -> np.ndarray:
    """Records (n, p_k) of the party's block: centred and scaled by the public constants, clipped to its radius."""
    z = local_scaled_columns(party, rows, public)
    clipped = NormClip(radius_of(public, party)).of(z)
    party.clips.add("location, scale, radii", clipped.number, clipped.units, lost_squares(z, clipped.records))
    return clipped.records


def local_clipped(party: Party, rows: np.ndarray, public: GlmFacts) -> np.ndarray:
    """(n,) which records of the party's block its radius shrinks; it stays with the party."""
    z = local_scaled_columns(party, rows, public)
    return np.any(NormClip(radius_of(public, party)).of(z).records != z, axis=1)


def local_scaled_columns(party: Party, rows: np.ndarray, public: GlmFacts) -> np.ndarray:
    """(n, p_k) the party's block, centred and scaled."""
    columns = list(party.columns)
    location, scale = (constant(public, name)[columns] for name in ("location", "scale"))
    X = columns_of(party.block, rows, [public.names[column] for column in columns], party.name)
    with np.errstate(over="ignore"):
        z = (X - location) / scale
    return bounded_entries(z)


def local_response(active: Party, rows: np.ndarray, public: GlmFacts) -> np.ndarray:
    """The response (n,) of some records, values outside the family's domain as the nearest ones inside."""
    extras = sorted({"weights", "offset", "trials"} & set(active.block))
    if extras:
        raise ValueError(
            f"{' and '.join(extras)} of party {active.name!r}: private protocols take records without them; leave the "
            "columns out, or use a protocol that is not private."
        )
    return bounded_entries(response_of(active.block, rows, public.family, active.name, nearest=True).y)


def statistic(y: np.ndarray, family: str) -> np.ndarray:
    """The response statistic t (n,): y, or its logarithm for Gamma and inverse Gaussian."""
    return np.log(y) if FACTS[family].is_positive else np.asarray(y, dtype=float)


def statistic_range(public: GlmFacts) -> tuple[float, float]:
    """Centre t_0 and half-width B of the public range of the response statistic."""
    low, high = constant(public, "statistic").tolist()
    return (low + high) / 2, (high - low) / 2


def check_columns(public: GlmFacts, parties: Sequence[Participant]) -> None:
    """Public constants of all columns and radii of all parties are there and in range."""
    for name in ("location", "scale"):
        values = constant(public, name)
        if values.shape != (len(public.names),) or not np.all(np.isfinite(values)):
            raise ValueError(
                f"{name} has shape {values.shape} or entries that are not finite: give one finite number for each of "
                f"the {len(public.names)} columns."
            )
        for column, value in zip(public.names, values, strict=True):
            if name == "scale" and not value > 0:
                raise ValueError(f"scale={value} of column {column!r} must be positive: give its typical deviation.")
    names = [party.name for party in parties]
    for name in public.radii:
        if name not in names:
            raise ValueError(f"radii name {name!r}, which is not a party: the parties are {names}.")
    for party in parties:
        value = radius_of(public, party).value
        if not 0 < value < np.inf:
            raise ValueError(f"radii={value} of party {party.name!r} must be a positive finite number.")


def check_statistic(public: GlmFacts) -> None:
    """The public range of the response statistic is there and not empty; ValueError or TypeError otherwise."""
    ends = constant(public, "statistic")
    if ends.shape != (2,) or not -np.inf < ends[0] < ends[1] < np.inf:
        raise ValueError(f"statistic={ends.tolist()} is not a range: give two finite numbers, the smaller one first.")


def check_eta_start(public: GlmFacts) -> None:
    """The public linear predictor at which iterations start is there and finite; ValueError or TypeError otherwise."""
    value = constant(public, "eta_start")
    if value.shape or not np.isfinite(value):
        raise ValueError(f"eta_start={value} must be one finite number, {NEEDED['eta_start']}.")


def unscale_coefficients(beta: np.ndarray, public: GlmFacts) -> np.ndarray:
    """Coefficients (1 + p,), the intercept first, of the columns as they were given, from those of scaled columns."""
    slopes = beta[1:] / constant(public, "scale")
    return np.concatenate([[beta[0] - slopes @ constant(public, "location")], slopes])


def record_scale(public: GlmFacts, parties: Sequence[Participant], step: float = 0.0) -> MomentScale:
    """Return the public facts of scaled records; ``step`` is that of columns in whole steps, 0 of other ones."""
    return MomentScale(
        float(total_radius(public, parties).value),
        len(public.names),
        *((0.0, math.inf) if public.statistic is None else statistic_range(public)),
        step=step,
        blocks=tuple((party.columns, float(radius_of(public, party).value)) for party in parties),
        kinds=scaled_kinds(public),
        records_per_person=public.records_per_person,
    )


def scaled_kinds(public: GlmFacts) -> tuple[Kind | None, ...]:
    """Kinds of the scaled columns, as they were declared; None of a column, or empty, where they were not."""
    constants = zip(public.kinds, constant(public, "location"), constant(public, "scale"), strict=False)
    return tuple(kind and kind.in_units(location, scale) for kind, location, scale in constants)


def constant(public: GlmFacts, name: str) -> np.ndarray:
    """The numbers of a public constant; ValueError if it was not given, TypeError if it does not state its origin."""
    value = getattr(public, name)
    if value is None:
        raise ValueError(
            f"{name}=None of the public facts: a private protocol takes its scales from public constants, never from "
            f"the data; give {NEEDED[name]}."
        )
    return np.asarray(parameter(name, value), dtype=float)


def split_budget(epsilon: float, delta: float, shares: Sequence[float], group: int = 1) -> tuple[float, ...]:
    """Gaussian-DP parameters of releases that together cost epsilon at delta."""
    if not epsilon > 0:
        raise ValueError(f"epsilon is {epsilon}: a calibrated release needs a positive target.")
    if not all(share > 0 for share in shares):
        raise ValueError(f"shares={list(shares)} of a budget must all be positive: a release needs a part of it.")
    spent = math.fsum(shares)
    if spent > 1 + 1e-12:
        raise BudgetExceeded(
            f"shares of {len(shares)} releases are {spent:.6g} of the squared budget of epsilon = {epsilon:.6g} "
            f"at delta = {delta:.3g}: they must come to 1."
        )
    mu = float(gdp_mu(epsilon, delta)) / group
    # Equal to the last digit or below: a sum of many squares rounds either way.
    return tuple(mu * math.sqrt(share / max(spent, 1.0)) * (1 - 1e-15) for share in shares)
