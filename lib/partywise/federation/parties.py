"""Parties and what they hold: the splits of columns (vertical) and of rows (horizontal), and columns together again."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

import numpy as np

from ..core.checks import name_problem

ROLES = ("active", "passive", "client")


class Participant(Protocol):
    """Public side of a party: who it is, not what it holds."""

    @property
    def name(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def columns(self) -> tuple[int, ...]: ...


class ClipCounts:
    """Entries or records of one party that lie beyond public bounds, by the argument that declares the bounds.

    They depend on the data without any noise: they stay in the process that holds the records. No message, saved model,
    outcome or account reads them.
    """

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, int]] = {}
        self._losses: dict[str, float] = {}

    def add(self, bound: str, number: int, units: int, loss: float = 0.0) -> None:
        """Count ``number`` of ``units`` entries or records beyond the bounds of an argument.

        loss : share of their squared length that clipping takes (`lost_squares`), where a fit may have intervals
        """
        before = self._counts.get(bound, (0, 0))
        self._counts[bound] = before[0] + number, before[1] + units
        self._losses[bound] = max(loss, self._losses.get(bound, 0.0))

    def add_share(self, bound: str, share: float, units: int) -> None:
        """Count a share of ``units`` entries or records."""
        self.add(bound, round(share * units), units)

    def clear(self) -> None:
        """Count from nothing, as before each fit of the same records."""
        self._counts.clear()
        self._losses.clear()

    @property
    def counts(self) -> Mapping[str, tuple[int, int]]:
        """Number beyond the bounds and number in all, by the name of the argument."""
        return dict(self._counts)

    @property
    def largest(self) -> Mapping[str, float]:
        """Share beyond the bounds, of records or of their squared length, whichever is larger, by argument."""
        return {
            bound: max(number / units, self._losses[bound]) for bound, (number, units) in self._counts.items() if units
        }


def lost_squares(unclipped: np.ndarray, clipped: np.ndarray) -> float:
    """Largest share that clipping takes of the squares of a column of records (n, p), as a fit may notice it.

    A slope moves by about so large a share of itself. Below 1 / (2 sqrt n) sampling hides that: it counts as 0.
    """
    if not unclipped.size:
        return 0.0
    # No square overflows, however far a record lies beyond its bounds.
    scale = np.maximum(np.max(np.abs(unclipped), axis=0), np.finfo(float).tiny)
    before, after = (np.sum(np.square(records / scale), axis=0) for records in (unclipped, clipped))
    loss = float(np.max(1 - after / np.maximum(before, np.finfo(float).tiny), initial=0.0, where=before > 0))
    return loss if loss > 0.5 / np.sqrt(len(unclipped)) else 0.0


def clip_shares(parties: Sequence["Party"]) -> dict[str, float]:
    """Share of the entries or records of all parties together beyond their bounds, by the argument that declares them.

    Only for the process that holds these records.
    """
    totals = ClipCounts()
    for party in parties:
        for bound, counts in party.clips.counts.items():
            totals.add(bound, *counts)
    return {bound: number / units for bound, (number, units) in totals.counts.items() if units}


def largest_clip_shares(parties: Sequence["Party"]) -> dict[str, float]:
    """Largest share of a party's own records, or of their squares, beyond their bounds, by the argument of these.

    Only for the process that holds these records. One party's column biases a fit, for any share of its
    entries in those of all parties.
    """
    largest = dict[str, float]()
    for party in parties:
        for bound, share in party.clips.largest.items():
            largest[bound] = max(share, largest.get(bound, 0.0))
    return largest


@dataclass(frozen=True, eq=False)
class Party:
    """The holder of a private block of data.

    Parameters
    ----------
    name : str
        Address of the party on a channel.
    role : {"active", "passive", "client"}
        Holder of the labels, holder of features only, holder of whole rows.
    block : mapping of str to ndarray
        The private arrays, stored read-only; they reach another party through a channel or not at all.
    columns : tuple of int
        Global numbers of the columns (predictors) of the block in a vertical split; empty otherwise.

    Raises
    ------
    ValueError
        If the name is empty or no plain text, the role unknown, or a column number is negative or repeated.

    Examples
    --------
    >>> import numpy as np
    >>> import partywise as pw
    >>> clinic = pw.Party("clinic", "passive", {"X": np.array([[63.0, 1.2], [41.0, 0.8]])}, columns=(0, 1))
    >>> clinic.block["X"].shape, clinic.columns
    ((2, 2), (0, 1))
    >>> clinic.block["X"][0, 0] = 64.0
    Traceback (most recent call last):
        ...
    ValueError: assignment destination is read-only
    """

    name: str
    role: str
    block: Mapping[str, np.ndarray] = field(repr=False)
    columns: tuple[int, ...] = ()
    # What its statistics clipped, for the process that holds the block.
    clips: ClipCounts = field(default_factory=ClipCounts, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"name={self.name!r} of a party must be a non-empty string.")
        if problem := name_problem(self.name):
            raise ValueError(f"name={self.name!r} of a party: {problem}.")
        if self.role not in ROLES:
            raise ValueError(f"role={self.role!r} of party {self.name!r} is unknown; use one of {ROLES}.")
        columns = tuple(int(column) for column in self.columns)
        if len(set(columns)) != len(columns) or any(column < 0 for column in columns):
            raise ValueError(f"columns={columns} of party {self.name!r} must be distinct and at least 0.")
        arrays = {}
        for key, value in self.block.items():
            arrays[key] = _lock(np.asarray(value))
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "block", MappingProxyType(arrays))


def split_columns(
    n_columns: int,
    n_parties: int,
    how: str = "round_robin",
    groups: Sequence[Sequence[int]] | None = None,
) -> tuple[tuple[int, ...], ...]:
    """Distribute columns (predictors) over parties.

    Parameters
    ----------
    n_columns, n_parties : int
        ``1 <= n_parties <= n_columns``.
    how : {"round_robin", "contiguous", "explicit"}
        Column ``j`` to party ``j mod n_parties``; runs whose lengths differ by at most one; or ``groups`` as given.
    groups : sequence of sequences of int, optional
        Required by, and only allowed with, ``how="explicit"``: one group of column numbers per party.

    Returns
    -------
    tuple of tuple of int
        A partition of ``0 .. n_columns - 1`` into ``n_parties`` non-empty groups.

    Raises
    ------
    ValueError
        If a count is out of range, ``how`` is unknown, or ``groups`` is missing, superfluous or no partition.

    Examples
    --------
    >>> import partywise as pw
    >>> pw.split_columns(5, 2)
    ((0, 2, 4), (1, 3))
    >>> pw.split_columns(5, 2, "contiguous")
    ((0, 1), (2, 3, 4))
    >>> pw.split_columns(5, 2, "explicit", groups=[[0], [1, 2, 3, 4]])  # one column against four
    ((0,), (1, 2, 3, 4))
    """
    _check_counts("n_columns", n_columns, n_parties)
    if (groups is not None) != (how == "explicit"):
        raise ValueError(f"groups={groups!r} with how={how!r}: groups go with how='explicit' and only with it.")
    if how == "round_robin":
        return tuple(tuple(range(party, n_columns, n_parties)) for party in range(n_parties))
    if how == "contiguous":
        return tuple(tuple(rows) for rows in split_rows(n_columns, n_parties))
    if how != "explicit" or groups is None:
        raise ValueError(f"how={how!r} is unknown; use 'round_robin', 'contiguous' or 'explicit'.")
    parts = tuple(tuple(int(column) for column in group) for group in groups)
    if len(parts) != n_parties:
        raise ValueError(f"groups has {len(parts)} groups for n_parties={n_parties}; give one group per party.")
    if not all(parts) or sorted(column for part in parts for column in part) != list(range(n_columns)):
        raise ValueError(
            f"groups={parts} is not a partition of 0..{n_columns - 1}; "
            "every column must be in exactly one group and no group may be empty."
        )
    return parts


def split_rows(n_rows: int, n_parties: int) -> tuple[range, ...]:
    """Distribute rows over parties in contiguous runs whose lengths differ by at most one.

    Parameters
    ----------
    n_rows, n_parties : int
        ``1 <= n_parties <= n_rows``.

    Returns
    -------
    tuple of range
        Party ``k`` holds the rows ``floor(k n_rows / n_parties) .. floor((k + 1) n_rows / n_parties) - 1``.

    Raises
    ------
    ValueError
        If a count is out of range.

    Examples
    --------
    >>> import partywise as pw
    >>> [list(rows) for rows in pw.split_rows(8, 3)]
    [[0, 1], [2, 3, 4], [5, 6, 7]]
    """
    _check_counts("n_rows", n_rows, n_parties)
    edges = [k * n_rows // n_parties for k in range(n_parties + 1)]
    return tuple(range(start, stop) for start, stop in itertools.pairwise(edges))


def client_sizes(n_rows: int, n_parties: int, natural: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the numbers of rows of so many clients: those of the natural ones, else runs of nearly equal length.

    ValueError for another number of parties than there are natural clients, or more of them than rows.
    """
    if natural:
        if n_parties != len(natural):
            raise ValueError(f"n_parties is {n_parties}: there are {len(natural)} clients of their own.")
        return tuple(natural)
    if not 1 <= n_parties <= n_rows:
        raise ValueError(f"n_parties is {n_parties}: it must lie in 1..{n_rows}, the number of records.")
    ends = [-(-k * n_rows // n_parties) for k in range(n_parties + 1)]
    return tuple(after - before for before, after in itertools.pairwise(ends))


def column_order(columns: Sequence[Sequence[int]]) -> np.ndarray:
    """Places of the columns 0 .. p - 1 among those of all parties one after the other."""
    return np.argsort(np.concatenate([np.asarray(group, dtype=int) for group in columns]))


def merge_blocks(parts: Sequence[np.ndarray], columns: Sequence[Sequence[int]]) -> np.ndarray:
    """(n, p) columns of several parties in the order of their global numbers."""
    return np.ascontiguousarray(np.concatenate(parts, axis=1)[:, column_order(columns)])


def _lock(array: np.ndarray) -> np.ndarray:
    """Return the memory read-only for good: over a read-only buffer, numpy refuses to set the write flag again."""
    if array.dtype.kind in "mM":  # dates have no buffer of their own
        return _lock(array.view(np.int64)).view(array.dtype)
    return np.asarray(array.data.toreadonly())


def _check_counts(name: str, count: int, n_parties: int) -> None:
    if n_parties < 1:
        raise ValueError(f"n_parties={n_parties} must be at least 1.")
    if n_parties > count:
        raise ValueError(f"n_parties={n_parties} exceeds {name}={count}; every party must hold at least one.")
