"""Rows of a ledger in the order in which they were made, chained by SHA-256: in memory, as tables and as files."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

from ...core.checks import Scalar
from ...core.errors import CertificationError
from ...core.files import replacing
from ..accounted_values import UNPROVED
from .event import CLOSED, LATER, POST_PROCESSING, Event, line_of

if TYPE_CHECKING:
    import pandas

Frame: TypeAlias = "pandas.DataFrame"
GENESIS = "0" * 64
# Owners that a short text names.
SHOWN = 4


class EventChain:
    """Append-only list of events, each release once."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._rows: list[Event] = []
        self._position: dict[str, int] = {}
        # Names of the proved rows that others may rest on.
        self._proved: set[str] = set()
        # How many rows the chain covers, and its end: the links between are made again where somebody asks for them.
        self._chained: tuple[int, str] = 0, GENESIS
        for event in events:
            self.append(event)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        owners = list(dict.fromkeys(name for row in self._rows for name in row.held_by))
        whose = ", ".join(owners[:SHOWN]) + f" and {len(owners) - SHOWN} more" * (len(owners) > SHOWN)
        kinds = Counter({"none": "in the clear", CLOSED: "closed"}.get(row.mechanism, "released") for row in self._rows)
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), reverse=True))
        return f"Ledger of {len(self)} row{'s' * (len(self) != 1)}" + (
            f" about data of {whose}: {counts}" if owners else ""
        )

    @property
    def rows(self) -> tuple[Event, ...]:
        """All rows."""
        return tuple(self._rows)

    def append(self, event: Event) -> Event:
        """Add a row, or recognise a release that is already there.

        Parameters
        ----------
        event : Event
            Parameters taken from data must already have their own proved row; otherwise the new row is stored as
            uncertified: silence is never read as safety.

        Returns
        -------
        Event
            The row as stored.

        Raises
        ------
        TypeError
            If it is not an event.
        CertificationError
            If the event's profile cannot be composed, its release id belongs to a different release, or it is computed
            from a release that has no row.

        Examples
        --------
        >>> import partywise as pw
        >>> terms = {"unit": "features", "depends_on": {"features"}}
        >>> ledger, event = pw.Ledger(), pw.Event("sum", "hospital", "gaussian", mu=0.5, **terms)
        >>> ledger.append(event) is ledger.append(event), len(ledger)  # sent twice, drawn once
        (True, 1)
        >>> other = pw.Event("sum", "hospital", "gaussian", mu=0.6, **terms)
        >>> ledger.append(other)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        partywise.core.errors.CertificationError: release_id='sum' is in the ledger with another value or guarantee...
        """
        if not isinstance(event, Event):
            raise TypeError(f"a ledger takes Event rows, got {type(event).__name__}.")
        event.require_composable()
        position = self._position.get(event.release_id)
        if position is not None:
            stored = self._rows[position]
            if stored is event or stored is event.without_proof:
                return stored
            if replace(event, certified=stored.certified and event.certified) != stored:
                raise CertificationError(
                    f"release_id={event.release_id!r} is in the ledger with another value or guarantee; "
                    "a new draw of noise needs a new release_id."
                )
            return stored
        if event.mechanism == POST_PROCESSING:
            self._require_rows(event)
        if event.certified and not self._proved.issuperset(event.data_dependent_parameters):
            event = event.without_proof
        # Whoever names a release so would have what rests on any value in the clear count as proved.
        if event.certified and event.release_id != UNPROVED:
            self._proved.add(event.release_id)
        self._position[event.release_id] = len(self._rows)
        self._rows.append(event)
        return event

    def holds(self, event: Event) -> bool:
        """Whether a release has its row.

        Parameters
        ----------
        event : Event

        Returns
        -------
        bool

        Examples
        --------
        >>> import partywise as pw
        >>> event = pw.Event("sum", "hospital", "gaussian", unit="features", depends_on={"features"}, mu=0.5)
        >>> pw.Ledger().holds(event), pw.Ledger([event]).holds(event)
        (False, True)
        """
        position = self._position.get(event.release_id)
        stored = None if position is None else self._rows[position]
        return stored is not None and (stored is event or stored in (event, event.without_proof))

    def _require_rows(self, event: Event) -> None:
        missing = [name for name in event.data_dependent_parameters if name not in self._position]
        if missing:
            raise CertificationError(
                f"{event.release_id!r} of {event.owner!r} is computed from {missing[0]!r}, which has no row in this "
                "ledger: send the release first, or send the value as Clear(units=...)."
            )

    @property
    def digest(self) -> str:
        """SHA-256 of the whole chain; it changes if a row is removed, altered or moved."""
        count, last = self._chained
        for event in self._rows[count:]:
            last = _link(last, event.line)
        self._chained = len(self._rows), last
        return last

    def to_rows(self) -> list[dict[str, Scalar]]:
        """Flat rows with their step and their links of the hash chain.

        Returns
        -------
        list of dict
            As of `Event.to_row`, with ``step``, ``prev_hash`` and ``hash``.

        Examples
        --------
        >>> import partywise as pw
        >>> terms = {"unit": "features", "depends_on": {"features"}, "mu": 0.5}
        >>> ledger = pw.Ledger([pw.Event(name, "hospital", "gaussian", **terms) for name in ("sum", "squares")])
        >>> first, second = ledger.to_rows()
        >>> second["step"], second["release_id"], second["prev_hash"] == first["hash"]
        (1, 'squares', True)
        """
        rows, last = [], GENESIS
        for k, event in enumerate(self._rows):
            row = event.to_row()
            link = _link(last, line_of(row))
            rows.append({"step": k, **row, "prev_hash": last, "hash": link})
            last = link
        self._chained = len(self._rows), last
        return rows

    def to_frame(self) -> Frame:
        """One row for each release, value in the clear or closed value: the columns of `to_rows`.

        Raises
        ------
        ImportError
            Without pandas; `to_rows` needs none.

        Examples
        --------
        >>> # Needs pandas.
        >>> import partywise as pw
        >>> total = pw.record_sum([[1.0], [3.0]], pw.Public(4.0, because="upper limit of the assay"))
        >>> release = pw.Gaussian(mu=0.5)(total, pw.stream(1, "noise"), owner="hospital", release_id="sum")
        >>> pw.Ledger([release.event]).to_frame()[["release_id", "owner", "mu"]].to_dict("records")
        [{'release_id': 'sum', 'owner': 'hospital', 'mu': 0.5}]
        """
        return frame_of(self.to_rows(), ["step", *(column.name for column in fields(Event)), "prev_hash", "hash"])

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, object]]) -> Self:
        """Rebuild a ledger from `to_rows`.

        Parameters
        ----------
        rows : iterable of mapping

        Returns
        -------
        Ledger

        Raises
        ------
        CertificationError
            If a row was altered, moved or removed from the middle; compare the end with `verify`.

        Examples
        --------
        >>> import partywise as pw
        >>> terms = {"unit": "features", "depends_on": {"features"}, "mu": 0.5}
        >>> ledger = pw.Ledger([pw.Event(name, "hospital", "gaussian", **terms) for name in ("sum", "squares")])
        >>> first, second = ledger.to_rows()
        >>> pw.Ledger.from_rows([first | {"mu": 0.1}, second])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        partywise.core.errors.CertificationError: row 0 of the ledger does not continue its hash chain...
        """
        rows = [dict(row) for row in rows]
        ledger = cls(Event.from_row(row) for row in rows)
        for k, (stored, computed) in enumerate(zip(rows, ledger.to_rows(), strict=False)):
            if (stored["prev_hash"], stored["hash"]) != (computed["prev_hash"], computed["hash"]):
                raise CertificationError(f"row {k} of the ledger does not continue its hash chain: it was altered.")
        if len(ledger) != len(rows):
            raise CertificationError("the rows of the ledger repeat a release; each release is one row.")
        return ledger

    def verify(self, digest: str) -> None:
        """Check that the chain ends in a digest that was noted before.

        Parameters
        ----------
        digest : str

        Raises
        ------
        CertificationError
            If it ends in another one.

        Examples
        --------
        >>> import partywise as pw
        >>> terms = {"unit": "features", "depends_on": {"features"}, "mu": 0.5}
        >>> ledger = pw.Ledger([pw.Event(name, "hospital", "gaussian", **terms) for name in ("sum", "squares")])
        >>> ledger.verify(ledger.digest)
        >>> pw.Ledger(ledger.rows[:1]).verify(ledger.digest)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        partywise.core.errors.CertificationError: the ledger ends in digest...
        """
        if digest != self.digest:
            raise CertificationError(
                f"the ledger ends in digest {self.digest[:16]}..., expected {digest[:16]}...: rows were altered, "
                "moved, added or removed."
            )

    def write(self, path: Path | str) -> str:
        """Write the rows as JSON lines, each with its links of the hash chain.

        Parameters
        ----------
        path : Path or str

        Returns
        -------
        str
            The digest. Note it elsewhere: rows cut off at the end of the file are seen by nothing else.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import partywise as pw
        >>> ledger = pw.Ledger([pw.Event("sum", "hospital", "gaussian", "features", {"features"}, mu=0.5)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "ledger.jsonl")
        ...     print(ledger.write(path) == ledger.digest, len(path.read_text().splitlines()))
        True 1
        """
        with replacing(path) as temporary:
            temporary.write_text("".join(_line(row) + "\n" for row in self.to_rows()), encoding="utf-8")
        return self.digest

    @classmethod
    def read(cls, path: Path | str, digest: str | None = None) -> Self:
        """Read what `write` wrote.

        Parameters
        ----------
        path : Path or str
        digest : str, optional
            What `write` returned.

        Returns
        -------
        Ledger

        Raises
        ------
        CertificationError
            If a row was altered, moved, added or removed; at the end of the file only if ``digest`` is given.

        Examples
        --------
        >>> import tempfile
        >>> import partywise as pw
        >>> ledger = pw.Ledger([pw.Event("sum", "hospital", "gaussian", "features", {"features"}, mu=0.5)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     digest = ledger.write(f"{folder}/ledger.jsonl")
        ...     again = pw.Ledger.read(f"{folder}/ledger.jsonl", digest)
        >>> again.rows == ledger.rows
        True
        """
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        try:
            ledger = cls.from_rows(map(json.loads, lines))
        except CertificationError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise CertificationError(f"{path} holds a row that no ledger wrote ({error}): it was altered.") from error
        if [_line(row) for row in ledger.to_rows()] != lines:
            raise CertificationError(f"{path} differs from the ledger that its rows make: it was altered.")
        if digest is not None:
            ledger.verify(digest)
        return ledger


def frame_of(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> Frame:
    """A data frame of rows with these columns, which it has without rows too; ImportError without pandas."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_frame needs the package pandas: pip install 'partywise[figures]'.") from None
    return pandas.DataFrame(list(rows), columns=list(columns))


def _link(last: str, line: str) -> str:
    """The link of the hash chain of a row, as JSON, after the last one."""
    return hashlib.sha256((last + line).encode()).hexdigest()


def _line(row: Mapping[str, object]) -> str:
    row = {name: value for name, value in row.items() if value or name not in LATER}
    return json.dumps(row, sort_keys=True, separators=(",", ":"))
