"""From one study's block of the configuration to a checked plan of its cells; nothing heavier than dataclasses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, prod
from typing import Any

from ..errors import ConfigError
from .config import as_block, build, choices, convert, refuse_unknown
from .study import Lazy, Protocol, Source, Study, address_of, own

NAME = re.compile(r"[a-z][a-z0-9_]*")
BLOCK_KEYS = ("address", "spec", "methods", "cases", "batch", "figures", "ledger_replicates")


@dataclass(frozen=True)
class Batch:
    """How many replicates, folds and numbers of parties one job computes; no result depends on it."""

    replicates_per_job: int = 10
    folds_per_job: int = 10
    parties_per_job: int = 1

    def __post_init__(self) -> None:
        for name in ("replicates_per_job", "folds_per_job", "parties_per_job"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: it must be at least 1.")


@dataclass(frozen=True)
class Grid:
    """The cells of a case: methods x replicates x parties x folds x epsilon."""

    methods: tuple[str, ...]
    replicates: int
    parties: tuple[int, ...]
    folds: int
    epsilon: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("replicates", "folds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: it must be at least 1.")
        for name in ("methods", "parties", "epsilon"):
            values = getattr(self, name)
            if len(set(values)) != len(values) or not values:
                raise ValueError(f"{name} is {list(values)}: give at least one value and none twice.")
        for count in self.parties:
            if count < 1:
                raise ValueError(f"parties is {count}: a number of parties must be at least 1.")
        for value in self.epsilon:
            if not value > 0:
                raise ValueError(f"epsilon is {value}: it must be positive; .inf stands for no target.")


@dataclass(frozen=True)
class MethodPlan:
    """A method of the configuration: its label, its protocol and the options in force.

    home : module that defines the protocol where that is not the study
    """

    label: str
    protocol: Protocol
    options: Any
    home: str | None = None

    @property
    def uses_epsilon(self) -> bool:
        """Whether the grid's epsilon is a target of the method."""
        return bool(self.options.uses_epsilon)


@dataclass(frozen=True)
class CasePlan:
    """A data-generating setting and its grid."""

    name: str
    source: Source
    settings: Any
    grid: Grid

    @property
    def methods(self) -> tuple[str, ...]:
        """Labels of the methods of this case."""
        return self.grid.methods

    @property
    def replicates(self) -> int:
        """Number of replicates."""
        return self.grid.replicates

    @property
    def parties(self) -> tuple[int, ...]:
        """Numbers of parties."""
        return self.grid.parties

    @property
    def folds(self) -> int:
        """Number of folds K; 1 trains and tests on all records."""
        return self.grid.folds

    @property
    def epsilon(self) -> tuple[float, ...]:
        """Targets of the methods that use one."""
        return self.grid.epsilon


@dataclass(frozen=True)
class Plan:
    """A study with the configuration in force; ``block`` is that configuration as it was written.

    home : module that defines the study
    ledger_replicates : of how many replicates every release is kept; None for all of them.  The totals of each cell,
        and the end of the hash chain of its ledger, are in the cube for all.
    """

    study: Study
    root_seed: int
    spec: Any
    methods: Mapping[str, MethodPlan]
    cases: Mapping[str, CasePlan]
    batch: Batch
    figures: tuple[str, ...]
    block: Mapping[str, Any] = field(repr=False)
    home: str
    ledger_replicates: int | None = None

    @property
    def n_cells(self) -> int:
        """Number of fits that the cube holds."""
        return sum(
            case.replicates * len(case.parties) * case.folds * len(self.epsilons(name, method))
            for name, case in self.cases.items()
            for method in case.methods
        )

    @property
    def n_dense(self) -> int:
        """Product of the lengths of the six dims: what a variable of the cube takes when it is read whole."""
        cases = self.cases.values()
        methods = {label for case in cases for label in case.methods}
        parties = {count for case in cases for count in case.parties}
        slots = {e for name, case in self.cases.items() for label in case.methods for e in self.epsilons(name, label)}
        lengths = (len(self.cases), len(methods), len(parties), len(slots))
        return prod(lengths) * max(case.replicates for case in cases) * max(case.folds for case in cases)

    def epsilons(self, case: str, method: str) -> tuple[float, ...]:
        """Epsilon slots of a method in a case: the grid's, or inf alone where no target is used."""
        return self.cases[case].epsilon if self.methods[method].uses_epsilon else (inf,)

    def delta(self, case: str) -> float:
        """delta of a case: its own where its settings give one, else that of the study."""
        own = getattr(self.cases[case].settings, "delta", None)
        return self.spec.delta if own is None else own

    def part(self, case: str, method: str | None = None) -> dict[str, Any]:
        """What one job may depend on, as plain data: feed it back with ``plan(**part, complete=False)``.

        The replicates, party counts and other cases and methods of the whole run are not in it, so that extending a
        grid leaves the jobs alone that it does not touch.
        """
        chosen = self.block["cases"][case]
        part: dict[str, Any] = {key: chosen[key] for key in ("source", "settings") if key in chosen}
        block: dict[str, Any] = {"spec": self.block.get("spec") or {}, "methods": {}, "cases": {case: part}}
        if "address" in self.block:
            block["address"] = self.block["address"]
        if method is not None:
            grid = chosen["grid"]
            part["grid"] = {"folds": grid["folds"], "epsilon": list(self.epsilons(case, method)), "methods": [method]}
            block["methods"] = {method: self.block["methods"][method]}
            if self.ledger_replicates is not None:
                block["ledger_replicates"] = self.ledger_replicates
        return {"name": self.study.name, "root_seed": self.root_seed, "block": block}


def plan(name: str, block: Mapping[str, Any], root_seed: int, *, complete: bool = True) -> Plan:
    """Check the block of a study and make its plan.

    Parameters
    ----------
    name : str
        Study, a folder in ``partywise.studies``, or any name with ``address`` in the block.
    block : mapping
        ``address`` (``package.module:NAME`` of a study from elsewhere),
        ``spec``, ``methods`` (label -> protocol and options), ``cases`` (name -> source, settings, grid), ``batch``,
        ``figures``, ``ledger_replicates``.
    root_seed : int
        Seed of the whole run.
    complete : bool
        False for the :meth:`Plan.part` of a job, which holds only the keys that the job may depend on.

    Raises
    ------
    ConfigError
        For an unknown, missing, mistyped or contradictory key: one sentence with key, value and what is allowed.
    """
    where = f"studies.{name}"
    block = as_block(block, where)
    refuse_unknown(block, BLOCK_KEYS, where)
    address, study = _study(name, block, where)
    if isinstance(root_seed, bool) or not isinstance(root_seed, int) or root_seed < 0:
        raise ConfigError(f"root_seed is {root_seed!r}: it must be a whole number of at least 0.")
    methods = {
        label: _method(study, label, entry, f"{where}.methods.{label}")
        for label, entry in _named(block, "methods", where).items()
    }
    cases = {
        case: _case(study, case, entry, f"{where}.cases.{case}", complete)
        for case, entry in _named(block, "cases", where).items()
    }
    figures = convert(block.get("figures", list(study.figures)), tuple[str, ...], f"{where}.figures")
    made = Plan(
        study=study,
        root_seed=root_seed,
        spec=build(study.spec, block.get("spec"), f"{where}.spec"),
        methods=methods,
        cases=cases,
        batch=build(Batch, block.get("batch"), f"{where}.batch"),
        figures=figures,
        block=block,
        home=Lazy(address).module,
        ledger_replicates=_ledger_replicates(block, f"{where}.ledger_replicates"),
    )
    if complete:
        _contradictions(made, where)
    return made


def _study(name: str, block: Mapping[str, Any], where: str) -> tuple[str, Study]:
    """Address and study of a block; a study from elsewhere bears the name under which the block stands."""
    if "address" not in block:
        address = address_of(name)
        return address, Lazy(address).target
    address = convert(block["address"], str, f"{where}.address")
    study = own(address, Study, f"{where}.address")
    if study.name != name:
        raise ConfigError(f"{where}.address is {address!r}: that study is called {study.name!r}, write {study.name}.")
    return address, study


def _ledger_replicates(block: Mapping[str, Any], where: str) -> int | None:
    kept = convert(block.get("ledger_replicates"), int | None, where)
    if kept is not None and kept < 1:
        raise ConfigError(f"{where} is {kept}: it must be at least 1, or absent for all replicates.")
    return kept


def _named(block: dict[str, Any], key: str, where: str) -> dict[str, Any]:
    if key not in block:
        raise ConfigError(f"{where}.{key} is missing: give a block of {key} by name.")
    entries = as_block(block[key], f"{where}.{key}")
    for name in entries:
        if not NAME.fullmatch(name):
            raise ConfigError(f"{where}.{key}.{name} is not a usable name: use a-z, 0-9 and _, a letter first.")
    return entries


def _method(study: Study, label: str, entry: Any, where: str) -> MethodPlan:
    entry = as_block(entry, where)
    protocol = entry.pop("protocol", None)
    if protocol is None:
        raise ConfigError(f"{where}.protocol is missing: it must be one of {', '.join(study.methods)}.")
    if isinstance(protocol, str) and ":" in protocol:
        chosen = own(protocol, Protocol, f"{where}.protocol")
        return MethodPlan(label, chosen, build(chosen.options, entry, where), home=Lazy(protocol).module)
    if protocol not in study.methods:
        raise ConfigError(f"{where}.protocol is {protocol!r}: {choices(protocol, study.methods)}.")
    chosen = study.methods[protocol]
    return MethodPlan(label, chosen, build(chosen.options, entry, where))


def _case(study: Study, name: str, entry: Any, where: str, complete: bool) -> CasePlan:
    entry = as_block(entry, where)
    refuse_unknown(entry, ("source", "settings", "grid"), where)
    source = entry.get("source", name)
    if source not in study.sources:
        raise ConfigError(f"{where}.source is {source!r}: {choices(source, study.sources)}.")
    chosen = study.sources[source]
    settings: Any = build(chosen.settings, entry.get("settings"), f"{where}.settings")
    grid = entry.get("grid")
    if not complete:
        grid = {"methods": ["any"], "replicates": 1, "parties": [1], "folds": 1, "epsilon": [inf]} | (grid or {})
    elif grid is None:
        raise ConfigError(f"{where}.grid is missing: give methods, replicates, parties, folds and epsilon.")
    return CasePlan(name, chosen, settings, build(Grid, grid, f"{where}.grid"))


def _contradictions(made: Plan, where: str) -> None:
    """What no key shows on its own."""
    for key in ("methods", "cases"):
        if not getattr(made, key):
            raise ConfigError(f"{where}.{key} is empty: give at least one.")
    for name, case in made.cases.items():
        for label in case.methods:
            if label not in made.methods:
                at = f"{where}.cases.{name}.grid.methods"
                raise ConfigError(f"{at} lists {label!r}: {choices(label, made.methods)}.")
    for figure in made.figures:
        if figure not in made.study.figures:
            raise ConfigError(f"{where}.figures lists {figure!r}: {choices(figure, made.study.figures)}.")
    if made.study.check is not None:
        made.study.check(made)
