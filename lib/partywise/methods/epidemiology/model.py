"""Public facts before a release of tables, and the estimate that every protocol returns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from ...federation.parties import client_sizes
from .consistency import ReleasedTables, consistent_tables
from .contributions import Contributions, Distribution, contributions
from .options import WeightRule
from .questions import Questions

# Scalars of a fit by name.
Numbers: TypeAlias = dict[str, float | int | bool | str | None]


@dataclass(frozen=True, eq=False)
class EpidemiologyFacts:
    """Facts that everyone knows before data are seen.

    records : n, of all parties together
    questions : the question set, with its levels, edges and ranges
    natural_sizes : records of each natural party; empty where records are dealt among any number of parties
    """

    records: int
    questions: Questions
    natural_sizes: tuple[int, ...] = ()

    def sizes(self, parties: int) -> tuple[int, ...]:
        """Records n_k of each of so many parties, as of `client_sizes`."""
        return client_sizes(self.records, parties, self.natural_sizes)


@dataclass(frozen=True, eq=False)
class EpidemiologyEstimate:
    """Result of every protocol of tables.

    epsilon_claimed : the target of private protocols; nan where the source claims no number
    names : of the parties; sizes : records of each, which are public, or once those of all, of parties with columns
    sums : (d,) of all items in steps of the contributions
    noise_sd : standard deviation of the noise of an entry, in steps, or of each item; 0 without noise
    excess : excess kurtosis of that noise
    radius : half-width, in counts, of the box around all cells from which regions are read; 0 for our own intervals
    weights, distribution : rule of the weights, and the noise that they are for
    numbers : further scalars of the fit
    status, reason : ``ok``, or why the estimate is not to be used, and the sentence on it
    """

    epsilon_claimed: float = float("nan")
    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    sums: np.ndarray = field(default_factory=lambda: np.zeros(0))
    noise_sd: float | tuple[float, ...] = 0.0
    excess: float = 0.0
    radius: float = 0.0
    weights: WeightRule = "auto"
    distribution: Distribution = "gaussian"
    numbers: Numbers = field(default_factory=dict)
    status: str = "ok"
    reason: str = ""

    @property
    def interval_reason(self) -> str:
        """Empty: every number has an interval, or is named as not determined."""
        return ""

    def tables(self, questions: Questions) -> ReleasedTables:
        """Tables and moments that agree on their common margins, or as they are where regions are read from a box."""
        terms = contributions(questions.layout(self.names), self.weights, self.distribution)
        by_party = self.sizes if questions.by_party else None
        parts = terms.layout.split(self.sums)
        allowed, parts = _allowed_items(terms, parts)
        # Every table may be refused.
        sums = np.concatenate([np.zeros(0), *(part.ravel() for part in parts)])
        sd, excess = (0.0, 0.0) if self.radius else (self.noise_sd, self.excess)
        released = consistent_tables(allowed, sums, sd, sum(self.sizes), by_party, excess=excess)
        refused = tuple(item for item in terms.layout.items if item not in allowed.layout.items)
        return replace(released, radius=self.radius, refusals=refused)


def _allowed_items(terms: Contributions, parts: list[np.ndarray]) -> tuple[Contributions, list[np.ndarray]]:
    """Contributions to the items that were not refused, and their sums; means need a table of their groups."""
    layout = terms.layout
    allowed = [bool(np.isfinite(part).all()) for part in parts]
    if all(allowed):
        return terms, parts
    tables = tuple(table for table, known in zip(layout.tables, allowed, strict=False) if known)
    group = () if layout.by is None else (layout.by,)

    def has(*names: str) -> bool:
        return any(set(names) <= set(table.names) for table in tables)

    incidence = tuple(name for name in layout.incidence if has(*group, name))
    # Person-time is for rates alone: without the curves of its incidence it is not a mean that was asked for.
    ends, kept_ends = ({layout.variables[name].columns[0] for name in names} for names in (layout.incidence, incidence))
    # Means of a column that may be empty need the number of its known values as well.
    known = {name for item in layout.moments for name in (item.column, f"{item.column} known") if has(*group, name)}
    read = [
        has(*group)
        and item.column not in ends - kept_ends
        and (not item.may_be_missing or not known.isdisjoint((item.column, f"{item.column} known")))
        for item in layout.moments
    ]
    mask = [*allowed[: len(layout.tables)], *read]
    layout = replace(
        layout,
        by=layout.by if has(*group) else None,
        tables=tables,
        table_one=tuple(name for name in layout.table_one if has(*group, name)),
        cross=tuple(names for names in layout.cross if has(*names)),
        incidence=incidence,
        moments=tuple(item for item, known in zip(layout.moments, read, strict=True) if known),
    )
    weights = tuple(weight for weight, known in zip(terms.weights, mask, strict=True) if known)
    return replace(terms, layout=layout, weights=weights), [
        part for part, known in zip(parts, mask, strict=True) if known
    ]
