"""Settings of records whose columns lie at several parties: who holds which columns, which rows test, and checks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise

# Any: settings of a source, which may be the user's.
from typing import Annotated, Any, ClassVar, Literal, Protocol

from ...core.checks import Count, Natural, Range, check_fields
from ...core.errors import ConfigError
from ...models.criteria import CLASSES, NUMBERS, Criterion
from ..column_facts import ColumnFacts
from ..shipped_table import ShippedTable


@dataclass(frozen=True, kw_only=True)
class ColumnSettings:
    """Settings of the division of columns among parties.

    dims : cumulative ends of the parties' columns, as in the source: [7, 14] deals columns 0 to 6 and 7 to 13; where
        the number of parties is another one, or there are none, the columns are cut into runs whose lengths differ by
        at most one
    active : whether the ``last`` or the ``first`` party holds the labels
    """

    dims: tuple[Count, ...] | None = None
    active: Literal["last", "first"] = "last"

    # Whether there may be one party more than columns, an active one that has the labels alone.
    labels_alone: ClassVar[bool] = False

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

    def check_undivided(self, why: str) -> None:
        """Raise a named error for a division of columns where the data have their own."""
        for field in fields(self):
            if field.name in ("dims", "active") and getattr(self, field.name) != field.default:
                raise ValueError(f"{field.name} is {getattr(self, field.name)!r}: {why}; leave it out.")

    def check_folds(self, folds: int) -> None:
        """Raise a named error for more folds than there are sure to be records."""

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        raise NotImplementedError

    @property
    def binary_labels(self) -> bool:
        """Whether labels are classes, 0 and 1."""
        raise NotImplementedError

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, where the data give them."""
        return ()

    @property
    def column_facts(self) -> tuple[ColumnFacts, ...]:
        """Public declarations about the columns, where the data have some."""
        return ()

    @property
    def columns_without_edges(self) -> tuple[int, ...]:
        """Columns of which no cuts are declared."""
        return tuple(j for j, facts in enumerate(self.column_facts) if facts.edges is None)

    @property
    def columns_without_bounds(self) -> tuple[int, ...]:
        """Columns of which no range is declared."""
        return tuple(j for j, facts in enumerate(self.column_facts) if facts.bounds is None)

    def levels_of(self, number: int) -> tuple[str, ...]:
        """Names of the levels of a column that is a category, in the order of their codes; of another none."""
        return ()

    def groups(self, n_parties: int) -> tuple[tuple[int, ...], ...]:
        """Columns of each party, in their order; `ValueError` for a number of parties that they do not allow."""
        d = self.n_columns
        if not 2 <= n_parties <= d + self.labels_alone:
            why = f"{d} columns" + (" and one party with the labels alone" if self.labels_alone else "")
            raise ValueError(f"parties is {n_parties}: there must be 2 to {d + self.labels_alone} for {why}.")
        if n_parties > d:
            passive = tuple((column,) for column in range(d))
            return ((), *passive) if self.active == "first" else (*passive, ())
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
class RowSettings(ColumnSettings):
    """Settings of the loss, and of the rows that are used and that test.

    loss : ``CrossEntropyLoss`` (labels 0 and 1) or ``RegressionMSELoss``; by default what the data are for
    test_share : share of the rows that test where there is one fold; 0 for none
    rows : so many random rows, of which ``test_share`` test, or so many training rows where the data have test rows of
        their own; 0 for all
    """

    loss: Criterion | None = None
    test_share: Annotated[float, Range(0, 1, "[)")] = 0.2
    rows: Natural = 0

    @property
    def usual(self) -> Criterion:
        """The loss that is used by default."""
        return CLASSES

    @property
    def loss_in_force(self) -> Criterion:
        """The loss that is set, or else the usual one."""
        return self.usual if self.loss is None else self.loss

    @property
    def binary_labels(self) -> bool:
        """Whether labels are classes, 0 and 1."""
        return self.loss_in_force == CLASSES

    @property
    def own_test_rows(self) -> bool:
        """Whether the data come with rows that test."""
        return False


@dataclass(frozen=True, kw_only=True)
class ShippedColumns(ColumnSettings, ShippedTable):
    """A shipped table, whose natural parties hold its columns where it has some."""

    def __post_init__(self) -> None:
        if not self.table.columns:
            raise ValueError(
                f"dataset is {self.dataset!r}: its columns are made of signals, which no party has; take another table."
            )
        if self.table.holders:
            self.check_undivided(f"dataset {self.dataset!r} has parties of its own")
        super().__post_init__()

    @property
    def n_columns(self) -> int:
        """Columns of the table."""
        return len(self.table.columns)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns of the table."""
        return self.table.names

    @property
    def column_facts(self) -> tuple[ColumnFacts, ...]:
        """Public declarations about the columns of the table."""
        return self.table.column_facts

    def levels_of(self, number: int) -> tuple[str, ...]:
        """Names of the levels of a column that is a category."""
        return self.table.columns[number].levels

    def groups(self, n_parties: int) -> tuple[tuple[int, ...], ...]:
        """Columns of each party: those of its natural parties, or runs of columns."""
        holders = self.table.holders
        if not holders:
            return super().groups(n_parties)
        if n_parties != len(holders):
            names = ", ".join(holder.name for holder in holders)
            raise ValueError(f"parties is {n_parties}: dataset {self.dataset!r} has {len(holders)} ({names}).")
        return self.table.groups

    def active_index(self, n_parties: int) -> int:
        """Number of the party that holds the labels: the first of natural parties."""
        return 0 if self.table.holders else super().active_index(n_parties)

    def party_names(self, n_parties: int) -> tuple[str, ...]:
        """Names of the parties: those of natural parties are their own."""
        return tuple(holder.name for holder in self.table.holders) or super().party_names(n_parties)

    def by_party(self, n_parties: int) -> dict[str, tuple[str, ...]]:
        """Keys of the files of every party, in a distributed run: none, as the table is public."""
        self.groups(n_parties)
        return dict.fromkeys(self.party_names(n_parties), ())


@dataclass(frozen=True, kw_only=True)
class ColumnDatasetSettings(ShippedColumns, RowSettings):
    """A shipped table of which something is learned."""

    def __post_init__(self) -> None:
        self.check_complete()
        if self.own_test_rows and self.test_share != RowSettings.test_share:
            raise ValueError(
                f"test_share is {self.test_share}: dataset {self.dataset!r} has its own test rows; leave it out."
            )
        super().__post_init__()

    @property
    def usual(self) -> Criterion:
        """The loss that fits the response: for classes or for numbers."""
        return self.response_facts.criterion

    @property
    def response_bounds(self) -> tuple[float, float] | None:
        """Public range of a response that is a number; None for classes, also where they are fitted as numbers."""
        return self.response_facts.response_bounds

    @property
    def own_test_rows(self) -> bool:
        """Whether its authors have divided the table."""
        return self.table.divided


class Case(Protocol):
    """The parts of a case in a plan that the checks read."""

    @property
    def settings(self) -> Any:
        """Settings of its source."""

    @property
    def explicit_settings(self) -> tuple[str, ...]:
        """Those that are given or swept."""

    @property
    def parties(self) -> tuple[int, ...]:
        """Numbers of parties."""

    @property
    def folds(self) -> int:
        """Number of folds."""


def check_columns(case: Case, where: str) -> None:
    """Contradictions between the settings of columns at parties and the grid of a case."""
    settings: RowSettings = case.settings
    check_groups(case, where)
    _check_rows(case, settings, where)
    if settings.loss_in_force == CLASSES and settings.usual == NUMBERS:
        raise ConfigError(
            f"{where}.settings.loss is {CLASSES!r}: the labels of these data are numbers, use {NUMBERS!r}."
        )


def check_groups(case: Case, where: str) -> None:
    """Whether the columns allow the numbers of parties, and the records the number of folds."""
    settings: ColumnSettings = case.settings
    for count in case.parties:
        try:
            settings.groups(count)
            settings.check_folds(case.folds)
        except ValueError as error:
            raise ConfigError(f"{where}.grid.{error}") from None
    if settings.dims is not None and len(settings.dims) not in case.parties:
        raise ConfigError(
            f"{where}.settings.dims is {list(settings.dims)}: that makes {len(settings.dims)} parties where "
            f"grid.parties is {list(case.parties)}; give one end for each party."
        )


def _check_rows(case: Case, settings: RowSettings, where: str) -> None:
    """Options of the rows that the folds or the data leave unread."""
    if case.folds > 1:
        if settings.own_test_rows:
            raise ConfigError(f"{where}.grid.folds is {case.folds}: these data have their own test rows, so it is 1.")
        for name in ("test_share", "rows"):
            if name in case.explicit_settings:
                raise ConfigError(
                    f"{where}.settings.{name} is {getattr(settings, name)}: it is read with 1 fold, several folds test "
                    "every row; leave it out."
                )
    # Of generated data the number of rows is a setting.
    n = getattr(settings, "n", None)
    if n is not None and settings.rows > n:
        raise ConfigError(
            f"{where}.settings.rows is {settings.rows}: there are {n} rows; leave it out for all of them."
        )
