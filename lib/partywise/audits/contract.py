"""The contract of a protocol, tried on a small case: places, ledger, pooling, and neighbours that look alike.

A protocol that keeps it computes nothing where the values are not, spends what its ledger states, gives without noise
what pooled records give, and sends nothing that separates neighbours beyond what its releases certify.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import inf, isfinite, isnan
from operator import attrgetter
from typing import Generic, Protocol, TypeVar

import numpy as np

from ..core.errors import ContractError
from ..federation.channel import Channel
from ..federation.place_checks import PlacedRun, together
from ..federation.run import Run, simulate
from ..privacy.ledger.event import OF_PERSONS
from .noise import check_made, check_noise, check_own_mechanisms, check_seeds, own_distance, untried_mechanisms
from .replay import check_rows, compare, record, replay

Data = TypeVar("Data")
Estimate = TypeVar("Estimate")
UNITS = ("label", "features", "row")
PAIRS, SEEDS = 20, 3


@dataclass(frozen=True)
class Subject(Generic[Data, Estimate]):
    """A protocol on a small case.

    fit : Run -> estimate
    data : seed -> data of the case
    start : (data, seed) -> a run of these data that was not used yet; its channel records contents
    neighbours : (data, unit, count, seed) -> pairs of a name and data that differ in one record of that unit
    delta : at which the ledger is asked
    silent : (data, parties) -> a run of these data without noise, divided among that many parties
    parties : numbers of parties that must give one answer without noise
    answer : estimate -> array that pooled records must give as well
    tolerance : of that answer, relative to its largest entry
    rows_per_user : bound on the rows of one person, in all of which neighbours of a unit of persons may differ
    """

    fit: Callable[[Run], Estimate]
    data: Callable[[int], Data]
    start: Callable[[Data, int], Run]
    neighbours: Callable[[Data, str, int, int], Iterable[tuple[str, Data]]]
    delta: float
    silent: Callable[[Data, int], Run] | None = None
    parties: tuple[int, ...] = ()
    answer: Callable[[Estimate], np.ndarray] = attrgetter("theta")
    tolerance: float = 1e-12
    rows_per_user: int | None = None

    def channel(self, data: Data, seed: int) -> Callable[[], Channel]:
        """A fit that can be recorded."""

        def run() -> Channel:
            started = self.start(data, seed)
            simulate(self.fit, started)
            return started.channel

        return run

    def holder(self, data: Data, seed: int) -> str:
        """Name of the party that holds the labels; empty where none does."""
        return next((party.name for party in self.start(data, seed).parties if party.role == "active"), "")


def check_places(subject: Subject[Data, Estimate]) -> None:
    """Checked place by place, the program does what it does in one process; ContractError or PlaceError."""
    data = subject.data(0)
    plain, placed = subject.start(data, 0), subject.start(data, 0)
    expected, estimate = simulate(subject.fit, plain), together([subject.fit(PlacedRun(placed))])
    agree(plain, expected, placed, estimate, "with the place of every value checked")


def check_ledger(subject: Subject[Data, Estimate]) -> None:
    """One seed gives one transcript, ledger and estimate; every total has a claim next to it; ContractError."""
    data = subject.data(0)
    first, second = subject.start(data, 0), subject.start(data, 0)
    estimates = [simulate(subject.fit, run) for run in (first, second)]
    agree(first, estimates[0], second, estimates[1], "run again with the same seed")
    claim = getattr(estimates[0], "epsilon_claimed", None)
    # nan: the source claims no number; whatever is certified has one.
    silent = isinstance(claim, float) and isnan(claim) and certified(first.channel, "row", subject.delta) == inf
    if not silent and (not isinstance(claim, int | float) or not claim >= 0):
        raise ContractError(
            f"epsilon_claimed={claim!r} of the estimate: give the epsilon of the source's formula, or inf."
        )


def check_pooling(subject: Subject[Data, Estimate]) -> None:
    """Without noise any number of parties gives the pooled answer; ContractError."""
    if subject.silent is None:
        return
    data, answers = subject.data(0), {}
    for count in subject.parties:
        answers[count] = np.asarray(subject.answer(simulate(subject.fit, subject.silent(data, count))), dtype=float)
    (first, pooled), *others = answers.items()
    for count, answer in others:
        size = max(float(np.max(np.abs(pooled), initial=0.0)), 1.0)
        gap = float(np.max(np.abs(answer - pooled), initial=0.0)) if answer.shape == pooled.shape else np.inf
        if not gap <= subject.tolerance * size:
            raise ContractError(
                f"{count} parties and {first} differ by {gap:.3g} without noise: if its estimate depends on who holds "
                "what by design, give its trial one number of parties; if not, the protocol loses something."
            )


def check_neighbours(
    subject: Subject[Data, Estimate], units: Sequence[str] = UNITS, pairs: int = PAIRS, seeds: int = SEEDS
) -> dict[str, float]:
    """Neighbours look alike except for what the releases bound, in every unit that the ledger certifies.

    The check is made for those who see the run, and again for all readers, as if its releases were published: what a
    receiver knew itself reveals nothing to it, and may reveal everything to others.
    """
    tapes, totals = [], dict.fromkeys(units, 0.0)
    for seed in range(seeds):
        data = subject.data(seed)
        first, holder = record(subject.channel(data, seed)), subject.holder(data, seed)
        assert first.channel is not None
        tapes.append(first)
        # Sums that were sent in the clear in place of their release are charged as such, and are not published.
        closed = any(call.closed and first.is_released(call) for call in first.calls)
        published, other_seed = first.published_ledger, None
        for unit in units:
            epsilon = certified(first.channel, unit, subject.delta, subject.rows_per_user)
            public = published.total((), unit, subject.delta, rows_per_user=subject.rows_per_user) if closed else None
            group, farthest = (subject.rows_per_user or 1) if unit in OF_PERSONS else 1, (0.0, first)
            totals[unit] = max(totals[unit], epsilon)
            if not isfinite(epsilon):
                continue
            check_made(first)
            for name, other in subject.neighbours(data, unit, pairs, seed):
                try:
                    second = replay(subject.channel(other, seed), first)
                    compare(first, second, unit, holder, group)
                    if public is not None and isfinite(public.epsilon_certified):
                        compare(first, second, unit, group=group)
                except ContractError as error:
                    raise ContractError(f"unit {unit}, seed {seed}, {name}: {error}") from error
                moved = own_distance(first, second)
                farthest = (moved, second) if moved > farthest[0] else farthest
            if seed == 0:
                other_seed = record(subject.channel(data, seeds)) if other_seed is None else other_seed
                check_seeds(first, other_seed)
                check_rows(first, other_seed, unit, subject.channel(data, seed))
            # Draws are many: the neighbour that moves such a statistic most represents all, of the first data set.
            if seed == 0 and farthest[0]:
                check_own_mechanisms(first, farthest[1], subject.delta)
    if any(map(isfinite, totals.values())):
        check_noise(tapes)
    return totals


class Check(Protocol):
    """One part of the contract; an error names where it is broken."""

    def __call__(self, subject: Subject[Data, Estimate]) -> object:
        """Try it."""


CHECKS: Mapping[str, Check] = {
    "places": check_places,
    "ledger": check_ledger,
    "federation equals pooling": check_pooling,
    "record and replay": check_neighbours,
}


def contract_violations(subject: Subject[Data, Estimate]) -> dict[str, str]:
    """Names of the checks that fail, each with the reason; empty for a protocol that keeps its contract."""
    violations = {}
    for name, check in CHECKS.items():
        try:
            check(subject)
        except Exception as error:
            violations[name] = f"{type(error).__name__}: {error}"
    return violations


def draws_noise(fit: Callable[[Run], object], run: Run) -> bool:
    """Whether a run not used yet has a release of finite cost; one that fails has none, the checks report why."""
    try:
        simulate(fit, run)
    except Exception:
        return False
    costs = [cost for event in run.channel.ledger.rows for cost in (event.mu, event.epsilon)]
    return any(cost is not None and 0 < cost < inf for cost in costs)


def mechanisms_beyond_replay(subject: Subject[Data, Estimate]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Mechanisms of a run whose noise no replay looks at: of the library, and of others, which draws try."""
    known, others = untried_mechanisms(record(subject.channel(subject.data(0), 0)))
    return tuple(sorted(known)), tuple(sorted(others))


def promises(subject: Subject[Data, Estimate]) -> dict[str, float]:
    """Certified epsilon of one run by unit; inf where nothing is proved."""
    channel = subject.channel(subject.data(0), 0)()
    return {unit: certified(channel, unit, subject.delta) for unit in UNITS}


def certified(channel: Channel, unit: str, delta: float, rows_per_user: int | None = None) -> float:
    """Epsilon that the ledger of a run certifies for a unit, for the worst coalition."""
    total = channel.ledger.worst_total(channel.names, unit, delta, rows_per_user=rows_per_user)
    return float(total.epsilon_certified)


def agree(first: Run, expected: object, second: Run, estimate: object, how: str) -> None:
    """Two runs are one to the last bit: transcript, ledger and estimate; ContractError names what is not."""
    rows = first.channel.transcript(), second.channel.transcript()
    for message, counterpart in zip(*rows, strict=False):
        if message != counterpart:
            raise ContractError(f"message {message['step']} is another {how}: {message} and {counterpart}.")
    if len(rows[0]) != len(rows[1]):
        raise ContractError(f"{len(rows[1])} messages cross {how}, and {len(rows[0])} in one process.")
    if first.channel.ledger.digest != second.channel.ledger.digest:
        raise ContractError(f"the ledger is another {how}: {second.channel.ledger.digest}.")
    if not same(expected, estimate):
        raise ContractError(f"the estimate is another {how}.")


def same(first: object, second: object) -> bool:
    """Whether two values, such as estimates, agree to the last bit."""
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return (first.shape, first.dtype, first.tobytes()) == (second.shape, second.dtype, second.tobytes())
    if is_dataclass(first):
        return all(same(getattr(first, f.name), getattr(second, f.name)) for f in fields(first))
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return list(first) == list(second) and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return np.float64(first).tobytes() == np.float64(second).tobytes()
    return bool(first == second)


def changed_records(
    x: np.ndarray, y: np.ndarray, unit: str, count: int, rng: np.random.Generator, *, binary: bool = False
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Data sets (what was done, x, y) that differ in one record: fractions, ties, edges, huge values, zeros, signs.

    Changed are the first and last records, the longest and the shortest, and others by chance. Binary labels of a
    neighbour are the other one.
    """
    lengths = np.linalg.norm(x.reshape(len(x), -1), axis=1)
    order = [0, len(x) - 1, int(np.argmax(lengths)), int(np.argmin(lengths)), *rng.permutation(len(x)).tolist()]
    top, far = float(np.max(np.abs(x), initial=1.0)), float(np.max(np.abs(y), initial=1.0))
    for number in range(count):
        i, j = order[number % len(order)], order[(number + 5) % len(order)]
        ways = (
            ("half a unit further", x[i] + 0.5, y[i] + 0.5),
            ("huge", np.full_like(x[i], 1e9 * top), np.full_like(y[i], 1e9, dtype=float)),
            ("tied with another", x[j], y[j]),
            ("hugely negative", np.full_like(x[i], -1e9 * top), np.full_like(y[i], -1e9, dtype=float)),
            ("zero", np.zeros_like(x[i]), np.zeros_like(y[i])),
            ("all signs turned", -x[i], -y[i]),
            ("corner of the data", np.full_like(x[i], top), np.full_like(y[i], far, dtype=float)),
            ("at an edge", np.round(2 * x[i]) / 2, np.round(2 * y[i]) / 2),
            ("one entry alone", np.where(np.arange(x[i].size).reshape(x[i].shape) == 0, 9 * top, x[i]), y[i] + far),
        )
        name, features, label = ways[number % len(ways)]
        x2, y2 = x.copy(order="K"), y.copy()
        if unit != "label":
            x2[i] = features
        if unit != "features":
            y2[i] = 1 - y[i] if binary else label
        yield f"record {i} {name}", x2, y2
