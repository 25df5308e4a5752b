"""Lines of an account: JSON, each with its number, the digest of the line before and its own.

The digest covers the bytes of the line as written, so that no byte of the file can change unseen, except those of an
unfinished last line: a process died while it wrote, and what the line would have paid for was never
drawn. Lines cut off at the end of the file are seen by nothing but a digest that was noted elsewhere.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# Any: rows of an account, JSON that another process wrote.
from typing import Any

from ...core.errors import AccountError

GENESIS = "0" * 64
END = re.compile(rb',"digest":"([0-9a-f]{64})"\}')
REMEDY = "put back a copy of the file as it was, since what it held was spent; an account is never edited"


@dataclass(frozen=True)
class Row:
    """One line: its number from 0, its kind (``paid``, ``sent``, ...), its run, its fields, its digest."""

    number: int
    kind: str
    run: str
    fields: Mapping[str, Any]
    digest: str


@dataclass(frozen=True)
class Chain:
    """Content of a file.

    rows : all whole rows; torn_bytes : bytes after them, of one that was never finished
    open : whether the last whole row has no line feed yet; digest : of the last row
    """

    rows: tuple[Row, ...]
    torn_bytes: int
    open: bool
    digest: str


class Scan:
    """The rows of a file, one after the other; the attributes are final after the last.

    data : what the file holds, where it was read already
    part : whether the file holds the rows of one run, out of the middle of an account, so that the first may have any
        number

    count : rows of the account so far
    digest : of the last one
    end : bytes that they take
    torn_bytes : bytes after the last whole row, of one that was never finished
    open : whether the last row has no line feed yet
    """

    def __init__(self, path: Path | str, data: bytes | None = None, *, part: bool = False) -> None:
        self.path, self._data, self._part = path, data, part
        self.count, self.digest, self.end, self.torn_bytes, self.open = 0, GENESIS, 0, 0, False

    def __iter__(self) -> Iterator[Row]:
        """AccountError, naming the first row that was changed, is missing, appears twice or is in another place."""
        with Path(self.path).open("rb") if self._data is None else io.BytesIO(self._data) as handle:
            for line in handle:
                if line.endswith(b"\n"):
                    yield self._next(line[:-1], len(line))
                    continue
                whole = max(END.finditer(line), key=re.Match.start, default=None)
                if whole is None or hashlib.sha256(line[: whole.start()]).hexdigest().encode() != whole[1]:
                    self.torn_bytes = len(line)
                    return
                # A row that is whole counts, whatever became of its line feed: what it paid for may have been drawn.
                self.open = True
                yield self._next(line, len(line))

    def _next(self, line: bytes, size: int) -> Row:
        first = self._part and not self.end
        row = _row(self.path, line, *((None, None) if first else (self.count, self.digest)))
        self.count, self.digest, self.end = row.number + 1, row.digest, self.end + size
        return row


def line_of(number: int, previous: str, kind: str, run: str, fields: Mapping[str, object]) -> tuple[bytes, Row]:
    """A line with its line feed, and the row that it holds."""
    entry = {"number": number, "previous": previous, "kind": kind, "run": run, "fields": fields}
    body = json.dumps(entry, separators=(",", ":")).encode()[:-1]
    digest = hashlib.sha256(body).hexdigest()
    return body + b',"digest":"' + digest.encode() + b'"}\n', Row(number, kind, run, fields, digest)


def read_chain(path: Path | str, data: bytes | None = None, *, part: bool = False) -> Chain:
    """All rows of a file; parameters and errors as of `Scan`."""
    scan = Scan(path, data, part=part)
    rows = tuple(scan)
    return Chain(rows, scan.torn_bytes, scan.open, scan.digest)


def _row(path: Path | str, line: bytes, number: int | None, previous: str | None) -> Row:
    """The row of a line in its place, or in any."""
    body, rest = line[:-77], END.fullmatch(line[-77:])
    if rest is None and not number and not line.startswith(b'{"number":'):
        raise AccountError(f"{path} is not an account: name ledger.jsonl of a party, or the folder that holds it.")
    if rest is None or hashlib.sha256(body).hexdigest().encode() != rest[1]:
        raise AccountError(f"row {number or 0} of {path} was changed: its digest is another one; {REMEDY}.")
    entry = _parse_line(body + b"}")
    if entry is None:
        raise AccountError(f"row {number or 0} of {path} is none that an account writes: it was changed; {REMEDY}.")
    number, previous = (entry["number"], entry["previous"]) if number is None else (number, previous)
    if entry["number"] != number:
        raise AccountError(
            f"row {number} of {path} is missing, or is elsewhere: row {entry['number']} is in its place; {REMEDY}."
        )
    if entry["previous"] != previous:
        raise AccountError(f"row {number} of {path} does not follow the one before: {REMEDY}.")
    return Row(number, entry["kind"], entry["run"], entry["fields"], rest[1].decode())


def _parse_line(line: bytes) -> dict[str, Any] | None:
    """Parse a line; None for one that no account wrote and whose digests were made anew."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    kinds = {"number": int, "previous": str, "kind": str, "run": str, "fields": dict}
    whole = isinstance(entry, dict) and all(type(entry.get(name)) is kind for name, kind in kinds.items())
    return entry if whole else None
