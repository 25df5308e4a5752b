"""What mechanisms drew in a run: kept where it was drawn, published as a table, planted into the same program again.

The program that made an estimate of releases makes it again of the published ones, on made-up records: nothing of an
estimate that is published can come from anything else.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

# Any: whatever a mechanism draws.
from typing import Any

import numpy as np

from ...privacy.accounted_values import Clear
from ...privacy.ledger.event import Event
from ...privacy.mechanisms.noise_shares import NoiseKey, SharedSum
from ...privacy.mechanisms.release import OBSERVER, OpenedIntegers
from ...privacy.statistics.encrypted_integers import EncryptedIntegers
from .formulas import deviation_of

COLUMNS = ("release", "entry", "value", "sd", "unit", "copies")


class Recorder:
    """Keeps what mechanisms of this process draw or open, by the name of the release, with statistic and event."""

    def __init__(self) -> None:
        self.values, self.statistics, self.events = dict[str, np.ndarray](), dict[str, object](), dict[str, Event]()
        self._copies = dict[str, np.ndarray]()
        self._keys = list[object]()
        self._last: tuple[Any, Any] | None = None

    def draw(self, statistic: object, mechanism: str, owner: str, draw: Callable[[], Any], rng: object = None) -> Any:
        """As of `partywise.privacy.mechanisms.release.Observer`."""
        value = self.value(statistic, draw)
        self._last = statistic, value
        return value

    def value(self, statistic: Any, draw: Callable[[], Any]) -> Any:
        """What is drawn."""
        return draw()

    def add_key(self, key: object) -> None:
        """Keys and noise stay where they are; who adds noise to an entry is public, and so is what was opened."""
        if isinstance(key, OpenedIntegers):
            self.values[key.name] = key.integers
        self._keys.append(key)
        if isinstance(key, NoiseKey) and key.entries is not None:
            self._copies[key.name] = self._copies.get(key.name, 0) + key.entries.ravel().astype(int)

    def add_event(self, event: Event) -> None:
        """Name what was drawn last."""
        assert self._last is not None
        name, (statistic, value) = event.release_id, self._last
        # Shares are opened as integers, everything else in its own units.
        shared = isinstance(getattr(statistic, "content", None), SharedSum)
        scaled = np.asarray(value, dtype=float) * statistic.units if shared else np.asarray(value)
        self.statistics[name], self.events[name] = statistic, event
        # What is closed where it is drawn is measured where it is opened.
        if scaled.dtype.kind in "iuf":
            self.values[name] = scaled

    def foreign_parts(self, name: str) -> tuple[Clear, ...]:
        """Return the data of others than its owner in a release: nothing protects them against who is told now."""
        statistic = self.statistics[name]
        return statistic.foreign_parts(self.events[name].owner) if isinstance(statistic, EncryptedIntegers) else ()

    def copies(self, name: str) -> list[int]:
        """How many parties added all of the noise to each entry of a release."""
        found: list[int] = self._copies.get(name, np.ones(self.values[name].size, dtype=int)).tolist()
        return found

    @contextmanager
    def watching(self) -> Iterator[Recorder]:
        """Every draw of this block is kept."""
        token = OBSERVER.set(self)
        try:
            yield self
        finally:
            OBSERVER.reset(token)


class MeasurementReplay(Recorder):
    """Gives published values in place of draws, and draws nothing; it is asked to pay first, and so told the name."""

    def __init__(self, values: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        self._published, self._next = dict(values), ""

    def charge(self, *events: Event) -> None:
        """Nothing is drawn, so nothing is paid."""
        self._next = events[-1].release_id if events else self._next

    def value(self, statistic: Any, draw: Callable[[], Any]) -> Any:
        """What was published under the name that was charged, or that a sum of shares has; LookupError without one.

        Ciphertexts get what makes the published integers of those that are in them.
        """
        content = getattr(statistic, "content", None)
        if isinstance(statistic, EncryptedIntegers) and statistic.add is not None:
            return statistic.add(self._published[self._next] - statistic.integers(content, self._keys))
        if not isinstance(content, SharedSum):
            flat = self._published[self._next]
            shape = np.shape(getattr(statistic, "value", flat))
            # Rounds over one statistic are drawn together.
            return flat.reshape(shape if flat.size == math.prod(shape) else (-1, *shape))
        flat = self._published[content.name]
        integers = [round(value / unit) for value, unit in zip(flat.ravel(), statistic.units.ravel(), strict=True)]
        return np.array(integers, dtype=np.int64 if max(map(abs, integers), default=0) < 1 << 62 else object).reshape(
            statistic.units.shape
        )


def table_of(recorder: Recorder) -> bytes:
    """All that was drawn as CSV, entry by entry, with the noise of each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name in sorted(recorder.values):
        event, statistic, values = recorder.events[name], recorder.statistics[name], recorder.values[name]
        units = getattr(statistic, "units", None)
        steps = np.full(values.size, "") if units is None else np.broadcast_to(units, values.shape).ravel().tolist()
        for entry, (value, step, copies) in enumerate(
            zip(values.ravel().tolist(), steps, recorder.copies(name), strict=True)
        ):
            sd = deviation_of(event, copies)
            writer.writerow((name, entry, repr(value), "" if sd is None else repr(sd), step, copies))
    return text.getvalue().encode()


def values_in(table: bytes) -> dict[str, np.ndarray]:
    """The values of a published table by release; ValueError naming the row for one that no writer wrote."""
    rows = list(csv.reader(io.StringIO(table.decode("utf-8"), newline="")))
    if not rows or tuple(rows[0]) != COLUMNS:
        raise ValueError(f"its first row is not {','.join(COLUMNS)}")
    found = dict[str, list[float]]()
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(COLUMNS) or row[1] != str(len(found.setdefault(row[0], []))):
            raise ValueError(f"row {number} is missing, stands twice or in another place")
        try:
            found[row[0]].append(int(row[2]) if row[2].lstrip("-").isdigit() else float(row[2]))
        except ValueError:
            raise ValueError(f"row {number} has {row[2]!r:.40} for a value") from None
    return {name: np.array(values) for name, values in found.items()}
