"""Settings of the cases of the study of sliced inverse regression; standard library only, checked before any job."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

from ...core.checks import CheckedFields, Count, Positive, Range
from ...data.shipped_table import ClientRows


@dataclass(frozen=True)
class SlicingCaseSettings(CheckedFields):
    """Settings that all cases share: all are public and fixed before data are seen.

    radius : R, every entry is clipped to [-R, R]
    delta_power : delta = n^(-delta_power), n the public least size of a client: of all releases of a client together
        where it is certified, of each of them where it is published; where clients share noise, n is that of all of
        them together
    epsilon_second : epsilon of the second moment, for methods whose epsilon is that of each kind of release; None
        takes that of the grid
    """

    radius: Positive = 1.0
    delta_power: Positive = 1.1
    epsilon_second: Annotated[float, Range(0, ends="(]", finite=False)] | None = None

    @property
    def least_size(self) -> int:
        """Records of the smallest client."""
        raise NotImplementedError

    @property
    def screened(self) -> bool:
        """Whether columns are screened before anything else is released."""
        return False

    @property
    def rows_per_user(self) -> int | None:
        """Public bound on the records of one person; None where a record is a person, or nothing is known."""
        return None

    @property
    def releases(self) -> int:
        """Kinds of release of a client: slice means and second moment, and votes where columns are screened."""
        return 3 if self.screened else 2

    @property
    def delta(self) -> float:
        """delta of every certified total, and of one release as published."""
        return float(float(self.least_size) ** -self.delta_power)

    def of_all(self, clients: int) -> Self:
        """Return the settings of releases about all records of clients: delta = (clients least_size)^(-delta_power)."""
        power = self.delta_power * (1 + math.log(clients) / math.log(self.least_size))
        return replace(self, delta_power=power) if clients > 1 else self

    @property
    def release_delta(self) -> float:
        """delta at which one release of a certified method is calibrated: its share of the total."""
        return self.delta / self.releases

    @property
    def claimed_delta(self) -> float:
        """delta of the published claim, which adds that of every kind of release."""
        return self.releases * self.delta


@dataclass(frozen=True)
class SimulatedSlicingSettings(SlicingCaseSettings):
    """One of the five models of the source.

    model : I to V; n : records of each client; clients : the most that any method gets; p : columns
    n_slices : H, None for that of the model (2 in I, else 8); support : of the second direction where p > active
    active : size s of the true support; None means all columns, and no screening
    row : label of the row of the source's tables that the case is compared with; None: no comparison
    """

    model: Literal["I", "II", "III", "IV", "V"] = "I"
    n: Annotated[int, Range(2)] = 500
    clients: Count = 100
    p: Count = 10
    n_slices: Count | None = None
    active: Count | None = None
    support: Literal["disjoint", "printed"] = "disjoint"
    row: Count | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p < self.n_directions:
            raise ValueError(f"p is {self.p}: model {self.model} has {self.n_directions} directions.")
        if self.model == "I" and self.n_slices not in (None, 2):
            raise ValueError(f"n_slices is {self.n_slices}: model I has the two classes of its response.")
        if self.active is not None and not self.n_directions <= self.active < self.p:
            raise ValueError(f"active is {self.active}: it must lie in [{self.n_directions}, {self.p - 1}].")
        if self.n_directions > self.slices - 1:
            raise ValueError(f"n_slices is {self.slices}: {self.n_directions} directions need more slices.")

    @property
    def n_directions(self) -> int:
        """Structure dimension d of the model."""
        return 1 if self.model in ("I", "II") else 2

    @property
    def slices(self) -> int:
        """Number of slices H."""
        return self.n_slices if self.n_slices is not None else 2 if self.model == "I" else 8

    @property
    def least_size(self) -> int:
        """n."""
        return self.n

    @property
    def screened(self) -> bool:
        """Whether there are null columns."""
        return self.active is not None


@dataclass(frozen=True, kw_only=True)
class SlicingDatasetSettings(ClientRows, SlicingCaseSettings):
    """A shipped table whose rows lie at clients: classes are slices, a number is cut at public edges.

    edges : of the response, or n_slices : equal parts of its public range; by default the edges of the catalogue, or
        5 parts where it has none
    n_shown : records drawn, of classes so many of each; screen : whether columns are screened first
    """

    edges: tuple[Annotated[float, Range()], ...] = ()
    n_slices: Annotated[int, Range(2)] | None = None
    n_directions: Count = 1
    n_shown: Count = 1000
    screen: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        classes = self.response_facts.n_classes
        for key in ("edges", "n_slices"):
            if classes and (value := getattr(self, key)):
                raise ValueError(f"{key} is {value}: dataset {self.dataset!r} has {classes} classes; leave it out.")
        if self.edges and self.n_slices is not None:
            raise ValueError(f"n_slices is {self.n_slices} and edges is {list(self.edges)}: give one of them.")
        if list(self.edges) != sorted(set(self.edges)):
            raise ValueError(f"edges is {list(self.edges)}: give increasing numbers.")
        most = min(self.slices - 1, len(self.table.columns or self.table.signals))
        if self.n_directions > most:
            raise ValueError(f"n_directions is {self.n_directions}: slices of these columns show at most {most}.")

    @property
    def slices(self) -> int:
        """Number of slices H."""
        return self.response_facts.n_classes or len(self.cuts) + 1

    @property
    def screened(self) -> bool:
        """Whether columns are screened before anything else is released."""
        return self.screen

    @property
    def cuts(self) -> tuple[float, ...]:
        """Public slice edges; none of classes."""
        facts = self.response_facts
        if facts.response_bounds is None:
            return ()
        if self.edges or (self.n_slices is None and facts.edges):
            return self.edges or facts.edges
        (low, high), parts = facts.response_bounds, self.n_slices or 5
        return tuple(low + (high - low) * k / parts for k in range(1, parts))
