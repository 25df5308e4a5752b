"""Journal by which a party resumes a run after its process was killed: its key, its choices, received frames.

All that a party does follows from its data, from the key of its secret words, and from the frames that it got. A frame
is in the journal before its sender hears that it has come, so all that a sender need not send again is here; a message
that was delivered is made again when the program runs again, and does not leave a second time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock

from ...core.errors import AccountError, PartyError

# Of a record: bytes of its header, of its body, of the digest after it.
HEADER, BODY, DIGEST = 4, 8, 8
# What is said for the moment only: who waits where, and why a run is over.
PASSING = ("waiting", "abort")


class Journal:
    """File of one session of one party, for this user alone; it is removed when the last run of the session has ended.

    shared : what the run was started with, as digests
    replaces : whether the journal of a run that was started with something else gives way to this one, because an
        experiment costs nothing to repeat (one without an agreed run always does)
    goes_on : whether the file was there, because a process before this one was killed

    The account of the party, which is open, keeps other processes away. `AccountError` if the file is of something else
    and is not to give way.
    """

    def __init__(self, path: Path, shared: str, *, replaces: bool = False) -> None:
        self.path, self._lock, self._writes = path, Lock(), True
        self._open()
        if (replaces or not self.is_agreed) and self._chosen.get("shared", shared) != shared:
            self.discard()
            self._open()
        self.goes_on = self._end > 0
        if self.choose("shared", lambda: shared) != shared:
            os.close(self._handle)
            raise AccountError(
                f"{path} is of a run that was started with another configuration or another version and has not "
                "ended: start that one again to end it, or give it up (python -m partywise network status shows how)."
            )

    @classmethod
    def view(cls, path: Path) -> Journal:
        """Read a journal without changing it; empty if there is none."""
        seen = cls.__new__(cls)
        seen.path, seen._lock, seen._writes, seen.goes_on = path, Lock(), False, path.exists()
        seen._open()
        return seen

    def _open(self) -> None:
        self._chosen: dict[str, str] = {}
        self._frames: dict[tuple[str, str], tuple[int, int, str]] = {}
        self._notices: dict[tuple[str, str], bytes] = {}
        self._delivered: set[tuple[str, str]] = set()
        self._handle, self._end = -1, 0
        try:
            if self._writes:
                self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            elif self.path.exists():
                self._handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            self._end = self._read() if self._handle >= 0 else 0
        except OSError as error:
            verb, remedy = ("written", "writable") if self._writes else ("read", "readable")
            raise AccountError(f"{self.path} cannot be {verb} ({error.strerror}): make its folder {remedy}.") from error

    @property
    def is_agreed(self) -> bool:
        """Whether other parties may have begun the run: this party has sent `ready` to one of them."""
        return any(tag == "ready" for _, tag in self._notices)

    def choose(self, name: str, make: Callable[[], str]) -> str:
        """Return this party's choice in this run: made once, and on disk before any other party sees it."""
        with self._lock:
            if name not in self._chosen:
                self._chosen[name] = value = make()
                self._write({"chosen": name, "value": value}, sync=True)
            return self._chosen[name]

    def choice(self, name: str) -> str:
        """Return what this party has chosen under a name; empty if it has chosen nothing."""
        return self._chosen.get(name, "")

    def is_chosen(self, name: str) -> bool:
        """Whether this party has chosen something of that name in this session."""
        return name in self._chosen

    def keep(self, sender: str, tag: str, data: bytes) -> None:
        """Keep a frame that has come."""
        with self._lock:
            begin = self._write({"from": sender, "tag": tag}, data)
            self._frames[sender, tag] = begin, len(data), hashlib.sha256(data).hexdigest()

    @property
    def digests(self) -> dict[tuple[str, str], str]:
        """SHA-256 of the frames that came, by sender and tag."""
        return {key: digest for key, (_, _, digest) in self._frames.items()}

    @property
    def notices(self) -> dict[tuple[str, str], bytes]:
        """Frames of this party that are not messages, by receiver and tag."""
        return dict(self._notices)

    def frame(self, sender: str, tag: str) -> bytes:
        """Read a frame that has come."""
        begin, size, digest = self._frames[sender, tag]
        data = os.pread(self._handle, size, begin)
        if hashlib.sha256(data).hexdigest() != digest:
            raise PartyError(f"{self.path} was changed: {tag!r} of {sender!r} has another digest.")
        return data

    def notice(self, receiver: str, tag: str, data: bytes) -> bytes:
        """Return the frame to send under a tag that is not a message's: the one meant the first time."""
        with self._lock:
            if (receiver, tag) not in self._notices:
                self._write({"to": receiver, "tag": tag}, data)
                self._notices[receiver, tag] = data
            return self._notices[receiver, tag]

    def is_delivered(self, receiver: str, tag: str) -> bool:
        """Whether a frame is known to have come."""
        return (receiver, tag) in self._delivered

    def deliver(self, receiver: str, tag: str) -> None:
        """Record that a frame has reached its receiver."""
        with self._lock:
            self._write({"delivered": receiver, "tag": tag})
            self._delivered.add((receiver, tag))

    def close(self) -> None:
        """Close the file and leave it for a process that goes on; remove it if it has no frame of the run."""
        if self._handle >= 0:
            os.close(self._handle)
            if self._writes and not self._frames and not self._notices:
                self.path.unlink(missing_ok=True)
        self._handle = -1

    def discard(self) -> None:
        """Remove the file, with its key and all else: the run is over."""
        self.close()
        self.path.unlink(missing_ok=True)

    def _write(self, fields: dict[str, object], body: bytes = b"", *, sync: bool = False) -> int:
        """Append a record; return where its body begins."""
        header = json.dumps(fields).encode()
        lengths = len(header).to_bytes(HEADER, "big") + len(body).to_bytes(BODY, "big")
        total = hashlib.sha256(header)
        total.update(body)
        digest, place = total.digest()[:DIGEST], self._end
        for part in (lengths + header, body, digest):
            view = memoryview(part)
            while view:
                count = os.pwrite(self._handle, view, place)
                view, place = view[count:], place + count
        if sync:
            os.fsync(self._handle)
        begin, self._end = self._end + len(lengths) + len(header), place
        return begin

    def _read(self) -> int:
        """Read all whole records and return where the next begins; one that a killed process was writing is dropped."""
        place = 0
        for begin, header, body in self._records():
            fields = json.loads(header)
            if "chosen" in fields:
                self._chosen[fields["chosen"]] = fields["value"]
            elif "from" in fields:
                at = begin + HEADER + BODY + len(header)
                self._frames[fields["from"], fields["tag"]] = at, len(body), hashlib.sha256(body).hexdigest()
            elif "to" in fields:
                self._notices[fields["to"], fields["tag"]] = body
            else:
                self._delivered.add((fields["delivered"], fields["tag"]))
            place = begin + HEADER + BODY + len(header) + len(body) + DIGEST
        if self._writes:
            os.ftruncate(self._handle, place)
        return place

    def _records(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield place, header and body of every whole record."""
        place, size = 0, os.fstat(self._handle).st_size
        while True:
            lengths = os.pread(self._handle, HEADER + BODY, place)
            header, body = int.from_bytes(lengths[:HEADER], "big"), int.from_bytes(lengths[HEADER:], "big")
            end = place + HEADER + BODY + header + body + DIGEST
            if len(lengths) < HEADER + BODY or end > size:
                return
            data = os.pread(self._handle, header + body + DIGEST, place + HEADER + BODY)
            if hashlib.sha256(data[:-DIGEST]).digest()[:DIGEST] != data[-DIGEST:]:
                return
            yield place, data[:header], data[header:-DIGEST]
            place = end
