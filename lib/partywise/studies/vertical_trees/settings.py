"""Settings of the cases of vertical trees; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from ...checks import Count, Natural, NotNegative, Range, check_fields

Criterion = Literal["CrossEntropyLoss", "RegressionMSELoss"]
CLASSES: Criterion = "CrossEntropyLoss"
NUMBERS: Criterion = "RegressionMSELoss"


@dataclass(frozen=True, kw_only=True)
class PartySettings:
    """What every case may set: how columns are dealt to the parties, and what is learned.

    dims : cumulative ends of the parties' columns, as in the source; where the number of parties is another one, or
        there are none, the columns are cut into runs whose lengths differ by at most one
    active : whether the ``last`` or the ``first`` party holds the labels
    criterion : ``CrossEntropyLoss`` (labels 0 and 1) or ``RegressionMSELoss``; by default what the data are for
    data_size_for_debug : so many random rows, of which ``test_share`` test, or so many training rows where the data
        have test rows of their own; 0 for all
    """

    dims: tuple[Count, ...] | None = None
    active: Literal["last", "first"] = "last"
    criterion: Criterion | None = None
    data_size_for_debug: Natural = 0

    # What the data are for, whether the labels are classes, and which columns no one may declare anything of.
    usual: ClassVar[Criterion] = CLASSES
    columns_without_edges: ClassVar[tuple[int, ...]] = ()
    columns_without_bounds: ClassVar[tuple[int, ...]] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        ends = self.dims
        if ends is None:
            return
        if list(ends) != sorted(set(ends)):
            raise ValueError(f"dims is {list(ends)}: the ends of the parties' columns must be increasing.")
        if not ends or ends[-1] != self.n_columns:
            raise ValueError(
                f"dims is {list(ends)}: its last end must be {self.n_columns}, the number of columns of the data."
            )

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        raise NotImplementedError

    @property
    def loss(self) -> Criterion:
        """The criterion in force."""
        return self.usual if self.criterion is None else self.criterion

    @property
    def party_counts(self) -> tuple[int, ...] | None:
        """Numbers of parties that there may be; None for any up to the number of columns."""
        return None

    def groups(self, n_parties: int) -> tuple[tuple[int, ...], ...]:
        """Columns of each party, in the order of columns.

        Raises
        ------
        ValueError
            For fewer than two parties, or more than there are columns.
        """
        d = self.n_columns
        if not 2 <= n_parties <= d:
            raise ValueError(f"parties is {n_parties}: there must be 2 to {d}, as every party holds a column.")
        if self.dims is not None and len(self.dims) == n_parties:
            ends = (0, *self.dims)
        else:
            ends = tuple(k * d // n_parties for k in range(n_parties + 1))
        return tuple(tuple(range(a, b)) for a, b in pairwise(ends))

    def active_index(self, n_parties: int) -> int:
        """Number of the party that holds the labels."""
        return 0 if self.active == "first" else n_parties - 1

    def party_names(self, n_parties: int) -> tuple[str, ...]:
        """Names of the parties on a channel: the passive ones are numbered from 1."""
        names = [f"passive {k}" for k in range(1, n_parties)]
        names.insert(self.active_index(n_parties), "active")
        return tuple(names)


@dataclass(frozen=True, kw_only=True)
class CaseSettings(PartySettings):
    """Data that are split here. test_share : share of the rows that test where there is one fold; 0 for none."""

    test_share: Annotated[float, Range(0, 1, "[)")] = 0.2


@dataclass(frozen=True, kw_only=True)
class GeneratedSettings(CaseSettings):
    """A score of uniform columns and columns of ten whole numbers, informative in both halves of the columns.

    n : rows, training and test together; d : columns
    signal : standard deviation of the score, which is the log odds of a label 1, or stands beside noise of variance 1
    """

    n: Annotated[int, Range(4)] = 2000
    d: Annotated[int, Range(2)] = 14
    signal: NotNegative = 2.0

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return self.d


@dataclass(frozen=True, kw_only=True)
class AbaloneSettings(CaseSettings):
    """Abalone: rings, a number."""

    usual = NUMBERS

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return 8


@dataclass(frozen=True, kw_only=True)
class AdultSettings(CaseSettings):
    """Adult: income above 50 000 dollars, from the 14 columns of the source."""

    # capital-gain, capital-loss, hours-per-week
    columns_without_edges = (10, 11, 12)

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return 14


@dataclass(frozen=True, kw_only=True)
class AdultSplitSettings(PartySettings):
    """Adult with the division into training and test rows of its authors."""

    columns_without_edges = AdultSettings.columns_without_edges

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return 14


@dataclass(frozen=True, kw_only=True)
class CreditSettings(CaseSettings):
    """Credit cards: default in the next month."""

    # Amounts of bills and of payments.
    columns_without_edges = tuple(range(11, 23))
    columns_without_bounds = columns_without_edges

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return 23
