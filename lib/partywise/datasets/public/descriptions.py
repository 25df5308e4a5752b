"""What is known of a table whose columns lie at several parties before any record is seen; standard library only.

Private fits scale columns by constants that come from what a column means; the tables lay open while they were chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .declarations import ColumnFacts, levels

RARE, SOME, EVEN, USUAL = (0.1, 0.3), (0.2, 0.4), (0.5, 0.5), (0.8, 0.4)
IN_SIGHT = "chosen with the table in sight"


@dataclass(frozen=True)
class Column:
    """A column of a party.

    location, scale : by which private fits centre and scale it; because : where both come from
    source : column of the file, where its name is another one; levels : entries that count as 1, of an indicator
    log1p : whether the logarithm of one more than the entry is used
    binary : whether it is an indicator, of 0 and 1
    """

    name: str
    location: float
    scale: float
    because: str
    source: str | None = None
    levels: tuple[str, ...] = ()
    log1p: bool = False
    binary: bool = False

    @property
    def read_from(self) -> str:
        """Column of the file."""
        return self.source or self.name

    @property
    def facts(self) -> ColumnFacts:
        """Cuts half a scale apart, and a range of three scales on each side, from the declared location and scale."""
        if self.binary:
            return levels(2, self.because)
        low, high = self.location - 3 * self.scale, self.location + 3 * self.scale
        cuts = tuple(self.location + k * self.scale / 2 for k in range(-3, 4))
        return ColumnFacts(cuts, (low, high), self.because)


def indicator(name: str, public: tuple[float, float] = SOME, levels: tuple[str, ...] = (), source: str = "") -> Column:
    """A column of 0 and 1; ``public`` says how common what it indicates is held to be."""
    because = f"an indicator, {_COMMON.get(public, 'common')} by its meaning"
    return Column(name, *public, because, source, levels, binary=True)


_COMMON = {RARE: "rare", SOME: "less common", EVEN: "as common as not", USUAL: "usual"}


@dataclass(frozen=True)
class Holder:
    """A party with its columns; ``radius`` of its scaled block, where it is not 1.4 times the root of their number."""

    name: str
    columns: tuple[Column, ...]
    radius: float | None = None


@dataclass(frozen=True)
class Response:
    """What may be explained.

    families : of its models, the usual one first
    statistic : public range of the response, of its logarithm where the family is Gamma or inverse Gaussian
    eta_start : linear predictor at which noisy iterations start; because : where both come from
    source, levels : as of a column; log : whether the logarithm of the entry is the response
    positive : whether only records above 0 have it
    """

    name: str
    families: tuple[str, ...]
    statistic: tuple[float, float]
    eta_start: float
    because: str
    source: str | None = None
    levels: tuple[str, ...] = ()
    log: bool = False
    positive: bool = False

    @property
    def read_from(self) -> str:
        """Column of the file."""
        return self.source or self.name


@dataclass(frozen=True)
class TableDescription:
    """A table, its parties and its responses, the active party and the usual response first.

    resource : data set of the catalogue; file : of its members
    rows : complete records by response
    record : what a record of the privacy unit is
    """

    name: str
    resource: str
    file: str
    holders: tuple[Holder, ...]
    responses: tuple[Response, ...]
    rows: Mapping[str, int]
    record: str
    because: str = field(default=f"meaning of the columns, {IN_SIGHT}")

    @property
    def columns(self) -> tuple[Column, ...]:
        """Of all parties, in order."""
        return tuple(column for holder in self.holders for column in holder.columns)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the columns of each party."""
        owner = [k for k, holder in enumerate(self.holders) for _ in holder.columns]
        return tuple(tuple(j for j, k in enumerate(owner) if k == party) for party in range(len(self.holders)))

    def response(self, name: str | None) -> Response:
        """The response of that name, the usual one for None."""
        found = {one.name: one for one in self.responses}
        if name is None:
            return self.responses[0]
        if name not in found:
            raise ValueError(f"response is {name!r}: table {self.name!r} has {', '.join(found)}.")
        return found[name]
