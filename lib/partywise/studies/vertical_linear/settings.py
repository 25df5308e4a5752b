"""Settings of the cases of vertical linear models; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from ...checks import Count, Natural, NotNegative, Positive, Range, check_fields

Criterion = Literal["CrossEntropyLoss", "RegressionMSELoss"]
CLASSES: Criterion = "CrossEntropyLoss"
NUMBERS: Criterion = "RegressionMSELoss"


@dataclass(frozen=True, kw_only=True)
class CaseSettings:
    """What every case may set.

    dims : ends of the columns of each party, as in the source: [7, 14] deals columns 0 to 6 and 7 to 13; where there
        are none, or the number of parties is another one, all parties get runs as equal as possible
    active : whether the ``last`` or the ``first`` party holds the labels
    criterion : ``CrossEntropyLoss`` (labels 0 and 1) or ``RegressionMSELoss``; by default what the data are for
    test_share : share of the rows that test where there is one fold; 0 for none
    data_size_for_debug : so many random rows, of which ``test_share`` test; 0 for all
    """

    dims: tuple[Count, ...] | None = None
    active: Literal["last", "first"] = "last"
    criterion: Criterion | None = None
    test_share: Annotated[float, Range(0, 1, "[)")] = 0.2
    data_size_for_debug: Natural = 0

    # What the data are for.
    usual: ClassVar[Criterion] = CLASSES

    def __post_init__(self) -> None:
        check_fields(self)
        if self.dims is None:
            return
        if not self.dims or any(later <= end for end, later in pairwise(self.dims)):
            raise ValueError(f"dims is {list(self.dims)}: give the ends of the columns of each party, increasing.")
        if self.dims[-1] != self.n_columns:
            raise ValueError(f"dims is {list(self.dims)}: it must end with {self.n_columns}, the number of columns.")

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        raise NotImplementedError

    @property
    def loss(self) -> Criterion:
        """The criterion in force."""
        return self.usual if self.criterion is None else self.criterion

    @property
    def party_names(self) -> tuple[str, ...]:
        """Names of the parties, where the data give them: otherwise they are numbered."""
        return ()

    def groups(self, n_parties: int) -> tuple[tuple[int, ...], ...]:
        """Columns of each party, in the order of columns; with one party more than columns the active one has none.

        Raises
        ------
        ValueError
            For fewer than two parties, or more than that.
        """
        d = self.n_columns
        if not 2 <= n_parties <= d + 1:
            raise ValueError(f"parties is {n_parties}: there must be 2 to {d + 1} of them for {d} columns.")
        if n_parties > d:
            passive = tuple((column,) for column in range(d))
            return ((), *passive) if self.active == "first" else (*passive, ())
        ends = self.dims if self.dims is not None and len(self.dims) == n_parties else None
        cuts = (0, *ends) if ends else tuple(k * d // n_parties for k in range(n_parties + 1))
        return tuple(tuple(range(start, end)) for start, end in pairwise(cuts))

    def active_index(self, n_parties: int) -> int:
        """Number of the party that holds the labels."""
        return 0 if self.active == "first" else n_parties - 1


@dataclass(frozen=True, kw_only=True)
class GeneratedSettings(CaseSettings):
    """A linear predictor of features that are uniform on [-3, 3].

    n : rows, training and test together; d : features
    signal : standard deviation of the linear predictor; noise : of what is added to it in regression
    """

    n: Annotated[int, Range(4)] = 2000
    d: Count = 14
    signal: Positive = 2.0
    noise: NotNegative = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise != 1.0 and self.loss == CLASSES:
            raise ValueError(f"noise is {self.noise!r}: it is read with criterion {NUMBERS!r} only; leave it out.")

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return self.d


@dataclass(frozen=True, kw_only=True)
class AdultSettings(CaseSettings):
    """Adult: income above 50 000 dollars, from the 14 columns of the source."""

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return 14


@dataclass(frozen=True, kw_only=True)
class AbaloneSettings(CaseSettings):
    """Abalone: rings, a number."""

    usual = NUMBERS

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return 8
