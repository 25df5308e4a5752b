"""Cells of replicates, which a fit job computes.  No result depends on how cells are batched."""

from __future__ import annotations

import math
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from ..core.notes import collected_notes
from ..core.randomness import Streams
from ..core.verdicts import OK, STATUSES, Verdict, estimate_verdict, first_fault, intervals_verdict
from ..federation.channel import Channel
from ..federation.estimators.estimate_rows import interval_status
from ..federation.folds import Fold
from ..federation.parties import Party, largest_clip_shares
from ..federation.places import Place, name_of
from ..federation.run import Run, simulate
from ..privacy.ledger.event import CLOSED, POST_PROCESSING, Event
from ..privacy.ledger.ledger import Ledger
from ..privacy.ledger.total import MEANINGS
from ..privacy.mechanisms.release import MECHANISMS
from ..privacy.strata import cell_of as stratum_of
from . import measures
from .data import NamedErrors, generate
from .measures import Arrays
from .owner_outputs import OwnerReport, with_interval_reason
from .plan import Plan
from .study import MethodSpec, Study

if TYPE_CHECKING:
    from ..core.checks import Scalar
    from ..federation.payloads import TranscriptRow
    from .batches import PlainShare
    from .data import Replicate
    from .jobs import Timings

# How a fit ended, by its number in a cube: a cell without a fit, then the verdicts.
STATUS = ("not_in_design", *STATUSES)

IN_SAMPLE = "in_sample"
# Whether the estimate has intervals, or the short name of the reason why not.
INTERVAL = "interval"
# Of a fit whose parties were processes of their own.
RUN_APART, RUN_MODE = "run_apart", "run_mode"
# Scalars of every cell of every study: long_name, units.
COMMON: dict[str, tuple[str, str]] = {
    "epsilon_claimed": measures.EPSILON_CLAIMED.entry,
    **{name: (meaning, "1") for name, meaning in MEANINGS.items()},
    "delta_claimed": measures.DELTA_CLAIMED.entry,
    "n_protected": measures.N_PROTECTED.entry,
    "delta_exceeds_1_over_n": measures.DELTA_EXCEEDS.entry,
    IN_SAMPLE: measures.IN_SAMPLE.entry,
    INTERVAL: ("known where numbers of the estimate have 95 % intervals, else why they have none", "1"),
    "bytes_measured": measures.BYTES_MEASURED.entry,
    "ledger_sha256": measures.LEDGER_SHA256.entry,
    RUN_APART: measures.RUN_APART.entry,
    RUN_MODE: measures.RUN_MODE.entry,
}


class Coords(TypedDict):
    """Coordinates of a fit in the cube."""

    case: str
    method: str
    replicate: int
    parties: int
    fold: int
    epsilon: float


@dataclass(frozen=True)
class Cell:
    """One fit: its place in the cube, its numbers, and what it released and sent.

    coords : case, method, replicate, parties, fold, epsilon
    scalars : name -> float, int, bool, str or None, with ``status``
    example_fits : name -> (dims, array); empty except for replicate 0 and fold 0
    ledger : its releases in order, None where the plan keeps only the totals; names : everyone on its channel
    wire : rows of its transcript, for replicate 0 and fold 0 only
    owner_report : of own data, what the owner takes home, for replicate 0 only
    notes : of own data, sentences on records that are left out or clipped
    """

    coords: Coords
    scalars: Mapping[str, Scalar]
    example_fits: Mapping[str, tuple[tuple[str, ...], np.ndarray]]
    ledger: tuple[Event, ...] | None
    names: tuple[str, ...]
    wire: list[TranscriptRow]
    owner_report: OwnerReport | None = None
    notes: tuple[str, ...] = ()


def compute(plan: Plan, share: PlainShare, data_of: Callable[[str, int], Replicate], timings: Timings) -> list[Cell]:
    """The cells of one case in a job: the data of every replicate are read once and fitted by all methods."""
    case, cells = share["case"], list[Cell]()
    for replicate in share["replicates"]:
        where = NamedErrors("data", study=plan.study.name, case=case, replicate=replicate)
        with where, collected_notes() as notes:
            data = {replicate: data_of(case, replicate)}
        noise = noise_of(plan, case, replicate)
        for method in share["methods"]:
            with timings.measure(case, method) as cost:
                fits = run(plan, case, method, share["parties"], [replicate], share["folds"], data, noise)
                cost.cells = len(fits)
            cells += [replace(fit, notes=tuple(notes)) for fit in fits] if notes else fits
    return cells


def noise_of(plan: Plan, case: str, replicate: int, *fold: str | int) -> Streams:
    """Noise depends on the replicate, never on method, parties or epsilon, unless they are among the names.

    It depends on the ``fold`` as well where folds share no release: one draw on two statistics, and their difference
    would be free of noise.
    """
    return Streams(plan.root_seed, plan.study.name, case, "noise", replicate, *fold)


def of_fold(releases: Iterable[Event], fold: int, trained: Iterable[int] = ()) -> tuple[Event, ...]:
    """Releases of a fit by names of its own: those of all folds are in one ledger. Values in the clear stay.

    trained : folds that alone the noisy releases have read, where the protocol states so
    """
    rows = tuple(releases)
    cells = tuple(stratum_of("folds", read) for read in trained)
    names = {row.release_id: f"{row.release_id}, fold {fold}" for row in rows if row.mechanism != "none"}
    return tuple(
        replace(
            row,
            release_id=names[row.release_id],
            data_dependent_parameters=tuple(names.get(name, name) for name in row.data_dependent_parameters),
            cells=() if row.mechanism == CLOSED else cells,
        )
        if row.release_id in names
        else row
        for row in rows
    )


def run(
    plan: Plan,
    case: str,
    method: str,
    n_parties: int | Iterable[int],
    replicates: Iterable[int],
    folds: Iterable[int],
    data: Mapping[int, Replicate],
    noise: Streams | None = None,
) -> list[Cell]:
    """Fit and judge some cells of one method: numbers of parties x replicates x folds x its epsilon slots.

    ``noise`` are the streams of the one replicate, where several methods share what they draw alike. RuntimeError names
    the cell (study, case, method, replicate, parties, fold, epsilon) and the reason.
    """
    counts = (n_parties,) if isinstance(n_parties, int) else tuple(n_parties)
    folds = tuple(folds)
    cells = []
    for replicate in replicates:
        drawn = noise or noise_of(plan, case, replicate)
        for count in counts:
            fits = _Fits(plan, case, method, count, replicate, data[replicate], drawn)
            for fold in folds:
                cells += [fits.cell(fold, epsilon) for epsilon in plan.epsilons(case, method)]
    return cells


def recompute(study_plan: Plan, where: Coords, resources: Path | str) -> Cell:
    """One cell computed anew, its data included."""
    case, replicate = where["case"], [where["replicate"]]
    data = generate(study_plan, case, replicate, resources)
    cells = run(study_plan, case, where["method"], where["parties"], replicate, [where["fold"]], data)
    return next(cell for cell in cells if cell.coords["epsilon"] == where["epsilon"])


def execution(plan: Plan, case: str, method: str, n_parties: int, fold: int, epsilon: float, data: Replicate) -> Run:
    """The run of one fit of replicate 0, not begun: what its cell in the cube is computed by."""
    return executions(plan, case, method, n_parties, data)(fold, epsilon)


def executions(plan: Plan, case: str, method: str, n_parties: int, data: Replicate) -> Callable[[int, float], Run]:
    """`execution` of a method by fold and epsilon: the data are divided among parties once."""
    return _Fits(plan, case, method, n_parties, 0, data, noise_of(plan, case, 0)).execution


class _Fits:
    """The cells that share one replicate, party count and method."""

    def __init__(
        self, plan: Plan, case: str, method: str, n_parties: int, replicate: int, data: Replicate, noise: Streams
    ) -> None:
        self.noise, self.by_fold = noise, dict[int, Streams]()
        self.plan, self.study, self.case = plan, plan.study, plan.cases[case]
        self.method, self.replicate, self.n_parties, self.data = plan.methods[method], replicate, n_parties, data
        with self._error_context(fold="any", epsilon="any"):
            self.parties = self.study.split(data, n_parties, plan.spec, self.case.settings)
            self.of = self._folds()
        arguments = (self.method.options, plan.spec, self.case.settings, data.public(), self.case.source)
        self.spec = MethodSpec(*arguments, n_parties=n_parties)

    def _error_context(self, **where: object) -> NamedErrors:
        coords = {"case": self.case.name, "method": self.method.label, "replicate": self.replicate}
        return NamedErrors("cell", study=self.study.name, **coords, parties=self.n_parties, **where)

    def _folds(self) -> np.ndarray:
        if self.study.folds is not None:
            of: np.ndarray = self.study.folds(self.data, self.case.folds, self.case.settings)
            return of
        n = len(getattr(self.data, fields(self.data)[0].name))
        return np.arange(n) * self.case.folds // n

    def cell(self, held_out: int, epsilon: float) -> Cell:
        """One fit with everything that is reported about it."""
        with self._error_context(fold=held_out, epsilon=epsilon):
            execution = self.execution(held_out, epsilon)
            for party in self.parties:
                party.clips.clear()
            estimate = simulate(self.method.protocol.fit, execution)
            arguments = estimate, self.data, execution.fold.train, self.spec
            clipped = _intervals_verdict(estimate, self.parties)
            verdict: dict[str, Scalar] = {"status": first_fault((estimate_verdict(estimate), clipped)).status}
            verdict[INTERVAL] = interval_status(estimate, self.spec.options) if clipped == OK else clipped.status
            numbers = verdict | measure_values(self.study, "metrics", self.study.metrics(*arguments))
            coords: Coords = {
                "case": self.case.name,
                "method": self.method.label,
                "replicate": self.replicate,
                "parties": self.n_parties,
                "fold": held_out,
                "epsilon": epsilon,
            }
            example_fits: Arrays = {}
            if is_example(coords) and self.study.example_fits is not None:
                example_fits = example_arrays(self.study, self.study.example_fits(*arguments))
            return cell_of(
                self.plan,
                self.spec,
                coords,
                execution.channel,
                numbers | {"epsilon_claimed": float(estimate.epsilon_claimed)},
                example_fits,
                self._owner_report(estimate, execution.fold.train),
                execution.fold.training_folds if self.method.protocol.reads_training_records else (),
            )

    def execution(self, held_out: int, epsilon: float) -> Run:
        """The run of one fit, not begun."""
        fold, noise = Fold(self.of, held_out, self.case.folds), self._noise(held_out)
        extra = self.method.places
        return Run(self.parties, epsilon=epsilon, fold=fold, rng_for=noise, spec=self.spec, extra=extra)

    def _owner_report(self, estimate: object, train: np.ndarray) -> OwnerReport | None:
        source = self.case.source
        if source.owner_outputs is None or self.replicate != 0:
            return None
        report: OwnerReport = source.owner_outputs(estimate, self.data, train, self.spec)
        return replace(report, model=with_interval_reason(report.model, estimate, self.spec.options))

    def _noise(self, held_out: int) -> Streams:
        if folds_share_randomness(self.plan, self.case.name):
            return self.noise
        if held_out not in self.by_fold:
            self.by_fold[held_out] = noise_of(self.plan, self.case.name, self.replicate, "fold", held_out)
        return self.by_fold[held_out]


def _intervals_verdict(estimate: object, parties: Sequence[Party]) -> Verdict:
    """Judge by the records of a simulation whether the intervals of an estimate hold, where it has some."""
    intervals = getattr(estimate, "intervals", None)
    needs_little = getattr(intervals, "needs_little_clipping", False)
    return intervals_verdict(largest_clip_shares(parties)) if needs_little else OK


def cell_of(
    plan: Plan,
    spec: MethodSpec[object, object, object],
    coords: Coords,
    channel: Channel,
    numbers: Mapping[str, Scalar],
    example_fits: Arrays,
    owner_report: OwnerReport | None,
    trained: Iterable[int] = (),
) -> Cell:
    """The cell of a fit, wherever its parties ran.

    channel : what crossed and what was released; its ledger gets what the evaluator of the study discloses
    numbers : what is known of the estimate, with ``epsilon_claimed``
    trained : as of `of_fold`
    """
    study, case = plan.study, coords["case"]
    channel.ledger = doubt_unknown(channel.ledger, plan.trusted_mechanisms)
    more: dict[str, Scalar] = {}
    # The study enters what its evaluator discloses before anything is added up.
    if study.ledger is not None:
        more = measure_values(study, "ledger", study.ledger(channel.ledger, channel.names, spec))
    scalars = {**numbers, **_privacy(plan, coords, channel), **more}
    scalars |= delta_scalars(scalars)
    scalars["status"] = _status(scalars)
    wire = channel.transcript() if is_example(coords) else []
    limit = plan.ledger_replicates
    releases = channel.ledger.rows if limit is None or coords["replicate"] < limit else None
    if releases is not None and not folds_share_randomness(plan, case):
        releases = of_fold(releases, coords["fold"], trained)
    return Cell(coords, scalars, example_fits, releases, channel.names, wire, owner_report)


def is_example(coords: Coords) -> bool:
    """Whether a fit is the one of its method and case whose arrays and messages are kept."""
    return coords["replicate"] == 0 and coords["fold"] == 0


def folds_share_randomness(plan: Plan, case: str) -> bool:
    """Whether all folds of a case have one source of randomness."""
    return plan.cases[case].folds == 1 or plan.study.folds_share


def _privacy(plan: Plan, coords: Coords, channel: Channel) -> dict[str, Scalar]:
    group = plan.rows_per_user(coords["case"])
    delta = plan.delta(coords["case"], coords["method"], coords["parties"])
    total = channel.ledger.worst_total(channel.names, plan.spec.unit, delta, rows_per_user=group)
    return total.to_row() | {
        "bytes_measured": channel.bytes_total,
        "ledger_sha256": channel.ledger.digest,
    }


def measure_values(study: Study, part: str, values: object) -> dict[str, Scalar]:
    """Return the values that a function of the study reports, by name; TypeError if they are not its measures."""
    if not isinstance(values, study.measures):
        raise TypeError(f"{part} returns a {type(values).__name__}: give a {study.measures.__name__}.")
    return values.as_dict()


def example_arrays(study: Study, examples: object) -> Arrays:
    """Arrays of an example fit by name."""
    kind = study.examples
    if kind is None or not isinstance(examples, kind):
        raise TypeError(f"example_fits returns a {type(examples).__name__}: give a dataclass that is its examples.")
    return examples.arrays()


def doubt_unknown(ledger: Ledger, trusted: Iterable[str]) -> Ledger:
    """Return a ledger whose rows prove nothing if neither the library nor the study vouches for their mechanism."""
    known = MECHANISMS.union(trusted, (POST_PROCESSING, "budget", "none"))
    if all(event.mechanism in known for event in ledger.rows):
        return ledger
    return Ledger(event if event.mechanism in known else event.without_proof for event in ledger.rows)


def delta_scalars(scalars: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Deltas of a cell, and whether one is so large that its epsilon promises nothing; warns of it.

    With delta = 1/n, publishing one of n records drawn at random is (0, delta)-DP.  The test is on totals, which are
    larger than the delta of one release.
    """
    n, claimed = scalars.get("n_protected"), "delta_claimed" if "delta_claimed" in scalars else "delta"
    deltas = {"epsilon_certified": _number(scalars, "delta"), "epsilon_claimed": _number(scalars, claimed)}
    entries: dict[str, Scalar] = {"delta_claimed": deltas["epsilon_claimed"]}
    if n is None:
        return entries
    least = 1 / _number(scalars, "n_protected")
    delta_at_least_1_over_n = {
        name: value for name, value in deltas.items() if math.isfinite(_number(scalars, name)) and value >= least
    }
    for name, value in delta_at_least_1_over_n.items():
        warnings.warn(
            f"{name} is at a total delta of {value:.3g}, which is not below 1/n = {least:.3g}: publishing a random "
            "record meets it; lower delta.",
            UserWarning,
            stacklevel=2,
        )
    return entries | {"delta_exceeds_1_over_n": bool(delta_at_least_1_over_n)}


def _number(scalars: Mapping[str, Scalar], name: str) -> float:
    """A scalar that is a number."""
    value = scalars[name]
    if value is None or isinstance(value, str):
        raise TypeError(f"{name} is {value!r}: it must be a number.")
    return value


def _status(scalars: Mapping[str, Scalar]) -> str:
    status = scalars.get("status") or "ok"
    if not isinstance(status, str) or status not in STATUSES:
        raise ValueError(f"status is {status!r}: it must be one of {', '.join(STATUSES)}.")
    if status == "ok" and scalars.get("diverged"):
        return "diverged"
    return status


# Events of a fit before its data, on records that are made up.


class OutOfTime(BaseException):
    """End of a trial that has taken long enough."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` after ``seconds``; without a limit outside of the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def enough(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, enough)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def watch_announcements(run: Run, keep: Callable[[tuple[str, ...], tuple[Event, ...]], None]) -> None:
    """Have a run hand what it announces to a function: the names of those that pay, and the events."""
    charge = run.charge

    def keep_and_charge(holders: Sequence[Place], *events: Event) -> None:
        keep(tuple(map(name_of, holders)), events)
        charge(holders, *events)

    vars(run)["charge"] = keep_and_charge


@dataclass(frozen=True)
class EventsAhead:
    """Events of a program on the records of a run, those until then where it ended early.

    announcements : what holders were to pay before anything left them, in order; releases : rows of the ledger
    error : what ended the program early, `OutOfTime` included; estimate : what it returned where nothing did
    """

    announcements: tuple[Event, ...]
    releases: tuple[Event, ...]
    error: BaseException | None = None
    estimate: object = None


def events_ahead(fit: Callable[[Run], object], run: Run) -> EventsAhead:
    """Return what a program announces and releases; its errors are returned: made-up records refute nothing."""
    announcements = list[Event]()
    estimate, error = None, None
    watch_announcements(run, lambda _, events: announcements.extend(events))
    try:
        estimate = simulate(fit, run)
    except (OutOfTime, Exception) as early:
        error = early
    return EventsAhead(tuple(announcements), tuple(run.channel.ledger.rows), error, estimate)
