"""A method tried for its contract: the small cases of its study, neighbours of their data, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import inf, isfinite
from pathlib import Path

# Any: trials of a study that is known by its name only.
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from ..audits.contract import (
    PAIRS,
    SEEDS,
    Subject,
    contract_violations,
    draws_noise,
    mechanisms_beyond_replay,
    promises,
)
from ..audits.noise import DRAWS
from ..core.errors import ConfigError
from ..core.randomness import Streams, stream
from ..federation.folds import Fold
from ..federation.run import Run
from ..privacy.rounding import upward
from .data import generate
from .plan import Plan, plan
from .study import MethodSpec, Protocol, Study, available, load, load_object

if TYPE_CHECKING:
    from .data import Replicate

ROOT_SEED = 7
Data = TypeVar("Data")
Settings = TypeVar("Settings")
Estimate = TypeVar("Estimate")


def same_data(data: Data, *_: object) -> Data:
    """Return the data unchanged."""
    return data


@dataclass(frozen=True)
class Trial(Generic[Data, Settings, Estimate]):
    """A small case of a study on which any method of it can be tried.

    source : source of the data, with its ``settings``
    parties : numbers of parties, the first of which is tried, while without noise all must give the same answer
    epsilon : target of methods that have one
    neighbours : (data, settings, unit, count, rng) -> pairs of a name and data that differ in one record of that unit
    answer : estimate -> array that does not depend on how records are divided
    prepare : (data, settings) -> the same replicate in a form that neighbours can change
    divide : (data, settings, parties) -> the same records, divided among that many parties
    """

    source: str
    settings: Mapping[str, object]
    parties: tuple[int, ...]
    epsilon: float
    neighbours: Callable[[Data, Settings, str, int, np.random.Generator], Iterable[tuple[str, Data]]]
    answer: Callable[[Estimate], np.ndarray]
    prepare: Callable[[Data, Settings], Data] = same_data
    divide: Callable[[Data, Settings, int], Data] = same_data
    tolerance: float = field(default=1e-8, kw_only=True)


# Of a study that is known by its name only.
AnyTrial = Trial[Any, Any, Any]


def trials(study: str) -> Mapping[str, AnyTrial]:
    """The trials of a study of this package, by name; ConfigError when it has none."""
    chosen = load(study).trials
    if chosen is None:
        raise ConfigError(f"study={study!r} has no trials: its methods are not checked by one command.")
    by_name: Mapping[str, AnyTrial] = chosen.target
    return by_name


def execution(
    study_plan: Plan,
    case: str,
    method: str,
    data: Replicate,
    seed: int = 0,
    count: int | None = None,
    epsilon: float | None = None,
) -> Run:
    """A run of a method of a plan on some data, not used yet, whose channel records contents.

    ``count`` of parties and ``epsilon`` are by default the first ones of the case.
    """
    chosen, case_plan = study_plan.methods[method], study_plan.cases[case]
    count = case_plan.parties[0] if count is None else count
    epsilon = study_plan.epsilons(case, method)[0] if epsilon is None else epsilon
    folds = study_plan.study.folds
    of = (
        np.zeros(len(getattr(data, fields(data)[0].name)), int) if folds is None else folds(data, 1, case_plan.settings)
    )
    return Run(
        study_plan.study.split(data, count, study_plan.spec, case_plan.settings),
        epsilon=epsilon,
        fold=Fold(of, 0, 1),
        rng_for=Streams(study_plan.root_seed, study_plan.study.name, case, "noise", seed),
        spec=MethodSpec(chosen.options, study_plan.spec, case_plan.settings, data.public(), case_plan.source, count),
        extra=chosen.places,
        record=True,
    )


def subject(study_plan: Plan, case: str, method: str, trial: AnyTrial) -> Subject[Replicate, object]:
    """A method of a plan as the contract takes it."""
    settings = study_plan.cases[case].settings

    def data(seed: int) -> Replicate:
        data: Replicate = trial.prepare(generate(study_plan, case, [seed], Path("resources"))[seed], settings)
        return data

    def neighbours(data: Replicate, unit: str, count: int, seed: int) -> Iterable[tuple[str, Replicate]]:
        return trial.neighbours(data, settings, unit, count, stream(ROOT_SEED, "neighbours", seed))

    def silent(data: Replicate, count: int) -> Run:
        return execution(study_plan, case, method, trial.divide(data, settings, count), 0, count=count, epsilon=inf)

    fit, first = study_plan.methods[method].protocol.fit, trial.parties[0]
    quiet = len(trial.parties) > 1 and not draws_noise(fit, silent(data(0), first))
    return Subject(
        fit=fit,
        data=data,
        start=lambda data, seed: execution(study_plan, case, method, data, seed),
        neighbours=neighbours,
        delta=study_plan.delta(case, method, first),
        silent=silent if quiet else None,
        parties=trial.parties if quiet else (),
        answer=trial.answer,
        tolerance=trial.tolerance,
        rows_per_user=study_plan.rows_per_user(case),
    )


@dataclass(frozen=True)
class TrialOutcome:
    """Result of one trial of a method.

    totals : certified epsilon by unit, at the target of the trial
    failures : reason by name of the check; pooled : whether the pooled answer was asked for
    library_mechanisms, own_mechanisms : names of mechanisms whose noise the replay does not look at
    """

    name: str
    trial: AnyTrial
    totals: Mapping[str, float]
    failures: Mapping[str, str]
    pooled: bool
    library_mechanisms: tuple[str, ...] = ()
    own_mechanisms: tuple[str, ...] = ()


def try_method(
    address: str, study: str | None = None, options: Mapping[str, object] | None = None
) -> Iterator[TrialOutcome]:
    """Try a method, or every method of a study, by its address on every trial of the study."""
    address = address if ":" in address else f"{address}:PROTOCOL"
    target = load_object(address, object, "method")
    if isinstance(target, Study):
        yield from _try_study(address, target, dict(options or {}))
        return
    protocol = load_object(address, Protocol, "method").alone()
    name = study or protocol.study
    if name is None:
        raise ConfigError(f"method is {address!r}: it names no study; add --study, one of {', '.join(available())}.")
    for label, trial in trials(name).items():
        yield outcome(label, trial, name, {"protocol": address} | dict(options or {}))


def _try_study(address: str, study: Study, options: dict[str, object]) -> Iterator[TrialOutcome]:
    """Every method of a study from outside, with its defaults and these options, on all its trials."""
    if study.trials is None:
        raise ConfigError(f"method is {address!r}: the study has no trials; give it a file trials.py with TRIALS.")
    for label, trial in study.trials.target.items():
        for name in study.methods:
            yield outcome(f"{name}, {label}", trial, study.name, {"protocol": name} | options, address=address)


def outcome(label: str, trial: AnyTrial, study: str, entry: Mapping[str, object], **elsewhere: str) -> TrialOutcome:
    """Try one method on one trial of a study; ``address`` of one from outside."""
    grid = {"methods": ["own"], "replicates": 1, "parties": [trial.parties[0]], "folds": 1, "epsilon": [trial.epsilon]}
    case = {"source": trial.source, "settings": dict(trial.settings), "grid": grid}
    study_plan = plan(
        study, {"methods": {"own": dict(entry)}, "cases": {"tried": case}, "figures": []} | elsewhere, ROOT_SEED
    )
    method = subject(study_plan, "tried", "own", trial)
    failures = contract_violations(method)
    whole = "ledger" not in failures
    mechanisms = mechanisms_beyond_replay(method) if whole else ((), ())
    return TrialOutcome(
        label, trial, promises(method) if whole else {}, failures, method.silent is not None, *mechanisms
    )


def report(outcomes: Sequence[TrialOutcome]) -> str:
    """The outcomes as a person reads them: one line per check, the reason below a check that failed."""
    lines = []
    for outcome in outcomes:
        settings = ", ".join(f"{key} {value}" for key, value in outcome.trial.settings.items())
        lines.append(f"{outcome.name}: {outcome.trial.source} ({settings}), {outcome.trial.parties[0]} parties")
        proved = [f"{unit} {upward(value)}" for unit, value in outcome.totals.items() if isfinite(value)]
        details = {
            "places": "no value is used where it is not",
            "ledger": f"certified at the target {outcome.trial.epsilon:g}: {', '.join(proved) or 'nothing'}",
            "federation equals pooling": _pooling(outcome),
            "record and replay": f"{PAIRS} neighbours of {SEEDS} data sets for {_units(proved)}{_mechanisms(outcome)}",
        }
        for check, detail in details.items():
            failed = outcome.failures.get(check)
            lines.append(f"  {'FAILS' if failed else 'keeps'}  {check}: {failed or detail}")
    return "\n".join(lines)


def _pooling(outcome: TrialOutcome) -> str:
    if outcome.pooled:
        return f"one answer for {' and '.join(map(str, outcome.trial.parties))} parties"
    if len(outcome.trial.parties) == 1:
        return f"not asked, the trial has {outcome.trial.parties[0]} parties only"
    return "not asked, the method draws noise where no target is set"


def _mechanisms(outcome: TrialOutcome) -> str:
    """Report which mechanisms that the replay does not know were tried, and which were not."""
    text = ""
    if outcome.own_mechanisms:
        text += (
            f"; {', '.join(outcome.own_mechanisms)}: not a mechanism of the library, {DRAWS} draws on two neighbours "
            "do not refute it, "
            "that it holds was not checked; its rows are unproved in a study that does not name it under "
            "trusted_mechanisms"
        )
    if outcome.library_mechanisms:
        text += (
            f"; the noise of {', '.join(outcome.library_mechanisms)} was not checked here, the library's own tests do"
        )
    return text


def _units(proved: Sequence[str]) -> str:
    return "the certified units" if proved else "no unit, since nothing is certified"
