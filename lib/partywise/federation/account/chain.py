"""Lines of an account: JSON, each with its number, the digest of the line before and its own.

The digest covers the bytes of the line as they stand, so that no byte of the file can change unseen but those of the
last line that never came to its end: a process died while it wrote, and what the line would have paid for was never
drawn. Lines cut off at the end of the file are seen by nothing but a digest that was noted elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import AccountError

__all__ = ["GENESIS", "Chain", "Row", "line_of", "read_chain"]

GENESIS = "0" * 64
END = re.compile(rb',"digest":"([0-9a-f]{64})"\}')
REMEDY = "put back a copy of the file as it was, since what it held was spent; an account is never edited"


@dataclass(frozen=True)
class Row:
    """One line: its number from 0, what it tells (``paid``, ``sent``, ...), of which run, its fields, its digest."""

    number: int
    kind: str
    run: str
    fields: Mapping[str, Any]
    digest: str


@dataclass(frozen=True)
class Chain:
    """What a file holds.

    rows : all whole lines; end : bytes that they take; torn : bytes after them, of a line that was never finished
    open : whether the last whole line has no line feed yet
    """

    rows: tuple[Row, ...]
    end: int
    torn: int = 0
    open: bool = False

    @property
    def digest(self) -> str:
        """Digest of the last line."""
        return self.rows[-1].digest if self.rows else GENESIS


def line_of(number: int, previous: str, kind: str, run: str, fields: Mapping[str, Any]) -> tuple[bytes, Row]:
    """A line with its line feed, and the row that it holds."""
    told = {"number": number, "previous": previous, "kind": kind, "run": run, "fields": fields}
    body = json.dumps(told, separators=(",", ":")).encode()[:-1]
    digest = hashlib.sha256(body).hexdigest()
    return body + b',"digest":"' + digest.encode() + b'"}\n', Row(number, kind, run, fields, digest)


def read_chain(path: Path | str, data: bytes | None = None) -> Chain:
    """All rows of a file.

    Parameters
    ----------
    path : Path or str
    data : bytes, optional
        Its content, where it was read already.

    Raises
    ------
    AccountError
        Naming the first row that was changed, is missing, stands twice or in another place.
    """
    data = Path(path).read_bytes() if data is None else data
    *lines, tail = data.split(b"\n")
    rows, previous = list[Row](), GENESIS
    for line in lines:
        rows.append(_row(path, line, len(rows), previous))
        previous = rows[-1].digest
    end = len(data) - len(tail)
    whole = max(END.finditer(tail), key=re.Match.start, default=None)
    if whole is None or hashlib.sha256(tail[: whole.start()]).hexdigest().encode() != whole[1]:
        return Chain(tuple(rows), end, len(tail))
    # A line that is whole counts, whatever became of its line feed: what it paid for may have been drawn.
    rows.append(_row(path, tail, len(rows), previous))
    return Chain(tuple(rows), len(data), open=True)


def _row(path: Path | str, line: bytes, number: int, previous: str) -> Row:
    """The row of a line in its place."""
    body, rest = line[:-77], END.fullmatch(line[-77:])
    if rest is None or hashlib.sha256(body).hexdigest().encode() != rest[1]:
        raise AccountError(f"row {number} of {path} was changed: its digest is another one; {REMEDY}.")
    told = json.loads(body + b"}")
    if told["number"] != number:
        raise AccountError(
            f"row {number} of {path} is missing, or stands elsewhere: row {told['number']} is in its place; {REMEDY}."
        )
    if told["previous"] != previous:
        raise AccountError(f"row {number} of {path} does not follow the one before: {REMEDY}.")
    return Row(number, told["kind"], told["run"], told["fields"], rest[1].decode())
