"""Values drawn by mechanisms in a run: recorded, published as a table, and replayed in the same program.

The program that made an estimate of releases makes it again of the published ones, on made-up records: nothing of an
estimate that is published can come from anything else. The sensitivity of each release is stated by name and formula.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

# Any: whatever a mechanism draws.
from typing import Any

import numpy as np

from ...privacy.accounted_values import Clear
from ...privacy.ledger.event import Event
from ...privacy.mechanisms.noise_shares import NoiseKey, SharedSum
from ...privacy.mechanisms.release import OBSERVER, OpenedIntegers
from ...privacy.statistics.encrypted_integers import EncryptedIntegers
from ...privacy.statistics.whole import Whole, gram_squares, root_up

COLUMNS = ("release", "entry", "value", "sd", "unit", "copies")
# Of a mechanism whose noise is no Gaussian: entries that a unit can move, each of which is noised by itself.
ENTRIES = "entries"
# What no formula of the list gives.
STATED = "stated"
# How far a printed sensitivity may be from what its formula gives, relatively.
PRINTED = 1e-12


class Recorder:
    """Record of what mechanisms of this process draw or open: statistic and event by the name of the release."""

    def __init__(self) -> None:
        self.values, self.statistics, self.events = dict[str, np.ndarray](), dict[str, object](), dict[str, Event]()
        # Numbers in the clear that are published with the releases, and why all readers may have them.
        self.open_parts = dict[str, tuple[Clear, str]]()
        self._copies = dict[str, np.ndarray]()
        self._keys = list[object]()
        self._last: tuple[Any, Any] | None = None

    def draw(self, statistic: object, mechanism: str, owner: str, draw: Callable[[], Any], rng: object = None) -> Any:
        """Draw and remember the value, as `partywise.privacy.mechanisms.release.Observer`."""
        value = self.value(statistic, draw)
        self._last = statistic, value
        return value

    def value(self, statistic: Any, draw: Callable[[], Any]) -> Any:
        """Return the value of a draw."""
        return draw()

    def add_key(self, key: object) -> None:
        """Keep a key, which stays here, and what is public: opened integers, and who adds noise to an entry."""
        if isinstance(key, OpenedIntegers):
            self.values[key.name] = key.integers
        self._keys.append(key)
        if isinstance(key, NoiseKey) and key.entries is not None:
            self._copies[key.name] = self._copies.get(key.name, 0) + key.entries.ravel().astype(int)

    def add_event(self, event: Event) -> None:
        """Store the last draw under the name of its event."""
        assert self._last is not None
        name, (statistic, value) = event.release_id, self._last
        # Shares are opened as integers, everything else in its own units.
        shared = isinstance(getattr(statistic, "content", None), SharedSum)
        scaled = np.asarray(value, dtype=float) * statistic.units if shared else np.asarray(value)
        self.statistics[name], self.events[name] = statistic, event
        # What is closed where it is drawn is measured where it is opened.
        if scaled.dtype.kind in "iuf":
            self.values[name] = scaled

    def show(self, name: str, part: Clear, because: str) -> Clear:
        """Keep numbers in the clear that are published with the releases."""
        self.values[name], self.open_parts[name] = np.asarray(part.value, dtype=float), (part, because)
        return part

    def foreign_parts(self, name: str) -> tuple[Clear, ...]:
        """Return the data in a release that are not its owner's: nothing protects them against its new readers."""
        statistic = self.statistics[name]
        return statistic.foreign_parts(self.events[name].owner) if isinstance(statistic, EncryptedIntegers) else ()

    def copies(self, name: str) -> list[int]:
        """Count the parties that added all of the noise to each entry of a release."""
        counts: list[int] = self._copies.get(name, np.ones(self.values[name].size, dtype=int)).tolist()
        return counts

    @contextmanager
    def watching(self) -> Iterator[Recorder]:
        """Record every draw of this block."""
        token = OBSERVER.set(self)
        try:
            yield self
        finally:
            OBSERVER.reset(token)


class MeasurementReplay(Recorder):
    """Replay of published values in place of draws: nothing is drawn; `charge` is called first, with the name."""

    def __init__(self, values: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        self._published, self._next = dict(values), ""

    def show(self, name: str, part: Clear, because: str) -> Clear:
        """Return the numbers that were published in the clear."""
        return super().show(name, replace(part, value=self._published[name].astype(float)), because)

    def charge(self, *events: Event) -> None:
        """Remember the name of the release; nothing is drawn, so nothing is paid."""
        self._next = events[-1].release_id if events else self._next

    def value(self, statistic: Any, draw: Callable[[], Any]) -> Any:
        """Return the published value of the release that was charged, or of a sum of shares; LookupError without one.

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
    """Return all recorded values as CSV, entry by entry, with the noise of each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name in sorted(recorder.values):
        event, statistic, values = recorder.events.get(name), recorder.statistics.get(name), recorder.values[name]
        units = getattr(statistic, "units", None)
        steps = np.full(values.size, "") if units is None else np.broadcast_to(units, values.shape).ravel().tolist()
        for entry, (value, step, copies) in enumerate(
            zip(values.ravel().tolist(), steps, recorder.copies(name), strict=True)
        ):
            sd = None if event is None else deviation_of(event, copies)
            writer.writerow((name, entry, repr(value), "" if sd is None else repr(sd), step, copies))
    return text.getvalue().encode()


def values_in(table: bytes) -> dict[str, np.ndarray]:
    """Read a published table: values by release; ValueError names a row that no writer wrote."""
    rows = list(csv.reader(io.StringIO(table.decode("utf-8"), newline="")))
    if not rows or tuple(rows[0]) != COLUMNS:
        raise ValueError(f"its first row is not {','.join(COLUMNS)}")
    entries = dict[str, list[float]]()
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(COLUMNS) or row[1] != str(len(entries.setdefault(row[0], []))):
            raise ValueError(f"row {number} is missing, appears twice or is in another place")
        try:
            entries[row[0]].append(int(row[2]) if row[2].lstrip("-").isdigit() else float(row[2]))
        except ValueError:
            raise ValueError(f"row {number} has {row[2]!r:.40} for a value") from None
    return {name: np.array(values) for name, values in entries.items()}


# Squared move in steps of records of squared length L; how the sources of certificates begin.
FORMULAS: Mapping[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "gram": (gram_squares, ("2 S^4", "sqrt(2)")),
    "sum": (lambda length: 4 * length, ("slice sums",)),
    "dots": (lambda length: length, ("",)),
}


def formula_of(event: Event, statistic: object) -> tuple[str, dict[str, object]]:
    """Name of the formula behind the sensitivity of a release, and what goes in."""
    if event.mu is None or event.sensitivity is None:
        return ENTRIES, {"entries": event.sensitivity}
    if isinstance(statistic, Whole):
        step, squares = statistic.step, statistic.squares
    else:
        step = float(np.min(getattr(statistic, "units", 1.0))) * (1 << _finer(event))
        squares = Fraction(event.sensitivity) ** 2 / Fraction(step) ** 2
    for name, (formula, words) in FORMULAS.items():
        if event.certificate.startswith(words):
            length: int | str = _inverse(formula, squares)
            if name == "dots" and isinstance(statistic, Whole):
                length = str(squares)
            inputs: dict[str, object] = {"squared_length": length, "step": step}
            if is_printed(event.sensitivity, sensitivity(name, inputs)):
                return name, inputs
    return STATED, {}


def sensitivity(name: str, inputs: Mapping[str, Any]) -> float:
    """Sensitivity by a formula of the list, rounded up; ValueError for unknown formulas or unsuitable inputs."""
    if name == ENTRIES:
        entries = inputs["entries"]
        if type(entries) not in (int, float) or not entries >= 0:
            raise ValueError(f"entries={entries!r} is not a number of entries")
        return float(entries)
    if name not in FORMULAS:
        raise ValueError(f"{name!r} is not in the list of formulas")
    length, step = inputs["squared_length"], inputs["step"]
    if type(length) not in (int, str) or not isinstance(step, float) or not 0 <= step < math.inf:
        raise ValueError(f"squared_length={length!r}, step={step!r} are not a squared length and a step")
    squares = Fraction(FORMULAS[name][0](Fraction(length)))
    if squares < 0:
        raise ValueError(f"squared_length={length!r} is negative")
    return root_up(squares, step) if squares and step else 0.0


def is_printed(printed: float, computed: float) -> bool:
    """Whether a sensitivity is what its formula gives, except for its last digits."""
    return abs(printed - computed) <= PRINTED * computed


def deviation_of(event: Event, copies: int = 1) -> float | None:
    """Standard deviation of all noise in an entry: that of the mu that is stated, of all shares; None without a mu."""
    if not event.mu or event.sensitivity is None:
        return None
    total = sum(event.weights.values(), Fraction(0)) if event.shares else Fraction(1)
    return event.sensitivity / event.mu * math.sqrt(total * copies)


def _finer(event: Event) -> int:
    """Return the bits by which the steps of shared noise were made finer, as its certificate states."""
    _, _, words = event.certificate.partition("finer by ")
    return int(words.split()[0]) if words else 0


def _inverse(formula: Callable[[int], int], squares: Fraction) -> int:
    """Return the whole number at which a growing function is nearest to ``squares``."""
    low, high = 0, 1
    while formula(high) < squares:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if formula(middle) <= squares else (low, middle)
    return min((low, high), key=lambda length: abs(formula(length) - squares))
