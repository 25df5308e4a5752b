"""Checked plan of the cells of a study, from its block of the configuration; nothing heavier than dataclasses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import inf, prod

# Any: options, settings and constants are dataclasses of methods and studies, the user's included.
from typing import TYPE_CHECKING, Any, TypedDict

from ..core.errors import ConfigError
from .configuration.build import as_block, build, choices, refuse_unknown
from .configuration.grammar import Batch, Grid, StudyBlock
from .configuration.new_names import DATASET_SOURCES
from .configuration.sweep import CaseEntry, checked_title, fill, written_out
from .study import NO_NOISE, Lazy, Protocol, Source, Study, address_of, load_object

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# Keys of a method that only readers see: no job depends on them.
FOR_READERS = ("title", "short", "without_noise")
# Characters of a short title.
SHORT = 24
GRID = "give methods, replicates, parties, folds and epsilon, here or for all cases under grid of the study"


@dataclass(frozen=True)
class MethodPlan:
    """A method of the configuration: its label, its protocol and the options in force.

    title : how figures call it; protocol_name : as the configuration names it; explicit_options : those that it sets
    module : module that defines the protocol where that is not the study
    short : its title in at most ``SHORT`` characters
    without_noise : labels of methods that fit the same model without noise; the first in a case is the reference
    """

    label: str
    protocol: Protocol
    options: Any
    title: str
    protocol_name: str
    explicit_options: tuple[str, ...] = ()
    module: str | None = None
    short: str = ""
    without_noise: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        """Those who take part without data, by its protocol and its options."""
        return (*self.protocol.extra, *getattr(self.options, "places", ()))

    @property
    def uses_epsilon(self) -> bool:
        """Whether the grid's epsilon is a target of the method."""
        return bool(self.options.uses_epsilon)

    @property
    def draws_noise(self) -> bool:
        """Whether it adds noise, by what its protocol states and its options."""
        return self.protocol.release != NO_NOISE and not getattr(self.options, "noise_free", False)


@dataclass(frozen=True)
class CasePlan:
    """A data-generating setting and its grid.

    title : how figures call it; group : the sweep that it belongs to, or its own name; source_name : as the
        configuration names it; explicit_settings : those that are given or swept
    module : module that defines the source where that is not the study
    """

    name: str
    source: Source
    settings: Any
    grid: Grid
    title: str
    group: str
    source_name: str
    explicit_settings: tuple[str, ...] = ()
    module: str | None = None

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

    @property
    def resources(self) -> tuple[str, ...]:
        """Data sets that the case needs: those of its source, and those that its settings name."""
        return (*self.source.resources, *getattr(self.settings, "resources", ()))


class PlainPlan(TypedDict):
    """Part of a plan that a job may depend on, as it is written."""

    spec: Mapping[str, object]
    methods: Mapping[str, Mapping[str, object]]
    cases: Mapping[str, Mapping[str, object]]


class JobPlan(TypedDict):
    """Arguments of `plan` that a job is given."""

    name: str
    root_seed: int
    block: dict[str, object]


@dataclass(frozen=True)
class Plan:
    """A study with the configuration in force.

    block : that configuration as it was written
    plain : what a job may depend on of it: spec, methods and cases one by one, without titles and sweeps
    module : module that defines the study
    ledger_replicates : of how many replicates every release is kept; None for all of them.  The totals of each cell,
        and the end of the hash chain of its ledger, are in the cube for all.
    trusted_mechanisms : names of mechanisms of own methods whose rows are certified by what they state
    """

    study: Study
    root_seed: int
    spec: Any
    methods: Mapping[str, MethodPlan]
    cases: Mapping[str, CasePlan]
    batch: Batch
    figures: tuple[str, ...]
    block: Mapping[str, object] = field(repr=False)
    module: str
    plain: PlainPlan = field(repr=False)
    ledger_replicates: int | None = None
    trusted_mechanisms: tuple[str, ...] = ()

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

    @property
    def replicates(self) -> str:
        """Numbers of replicates of all cases, in words."""
        return replicates_text(case.replicates for case in self.cases.values())

    def epsilons(self, case: str, method: str) -> tuple[float, ...]:
        """Epsilon slots of a method in a case: the grid's, or inf alone where no target is used."""
        return self.cases[case].epsilon if self.methods[method].uses_epsilon else (inf,)

    def delta(self, case: str, method: str | None = None, parties: int = 1) -> float:
        """delta of a case: its own where its settings give one, else that of the study.

        Of a method whose releases are about the records of all parties together, that of so many parties.
        """
        settings = self.cases[case].settings
        if method is not None and getattr(self.methods[method].options, "shares_noise", False):
            settings = settings.of_all(parties)
        case_delta = getattr(settings, "delta", None)
        return float(self.spec.delta if case_delta is None else case_delta)

    def rows_per_user(self, case: str) -> int | None:
        """Public bound on the records of one person in a case; None where its settings know none."""
        return getattr(self.cases[case].settings, "rows_per_user", None)

    def require_persons(self) -> None:
        """ConfigError for the first case that does not bound the records of a person where the unit is ``user``."""
        for case in self.cases if self.spec.unit == "user" else ():
            if self.rows_per_user(case) is None:
                raise ConfigError(
                    f"studies.{self.study.name}.spec.unit is 'user': case {case} does not state how many records a "
                    "person has; give user and rows_per_user among its settings (source table), or another unit."
                )

    def part(self, methods: Mapping[str, Sequence[str]]) -> JobPlan:
        """Return what a job of some methods per case may depend on, for ``plan(**part, complete=False)``.

        The replicates, party counts and other cases and methods of the whole run are not in it, so that extending a
        grid leaves the jobs alone that it does not touch.
        """
        used, cases = dict[str, object](), dict[str, object]()
        for case, labels in methods.items():
            epsilon = self.cases[case].epsilon if any(self.methods[label].uses_epsilon for label in labels) else (inf,)
            grid = {"folds": self.cases[case].folds, "epsilon": list(epsilon), "methods": list(labels)}
            cases[case] = {**self._data_of(case), "grid": grid}
            used |= {label: self.plain["methods"][label] for label in labels}
        block: dict[str, object] = {"spec": self.plain["spec"], "methods": used, "cases": cases}
        for key in ("address", "ledger_replicates", "trusted_mechanisms"):
            if self.block.get(key) is not None:
                block[key] = self.block[key]
        return {"name": self.study.name, "root_seed": self.root_seed, "block": block}

    def data_part(self, cases: Iterable[str]) -> JobPlan:
        """Return what the data of some cases may depend on, as `part`: neither methods nor anything of the grid."""
        written = {case: self._data_of(case) for case in cases}
        block: dict[str, object] = {"spec": self.plain["spec"], "methods": {}, "cases": written}
        if self.block.get("address") is not None:
            block["address"] = self.block["address"]
        return {"name": self.study.name, "root_seed": self.root_seed, "block": block}

    def _data_of(self, case: str) -> dict[str, object]:
        """Source and settings of a case, as they are written."""
        written = self.plain["cases"][case]
        return {key: written[key] for key in ("source", "settings") if key in written}

    def whole(self) -> JobPlan:
        """Return what a cube may depend on, as plain data: all but how cells are batched and the list of figures."""
        block: dict[str, object] = {
            key: self.block[key] or {} for key in ("address", "spec", "methods", "grid", "cases") if key in self.block
        }
        if self.block.get("replicate_factor", 1) != 1:
            block["replicate_factor"] = self.block["replicate_factor"]
        if self.trusted_mechanisms:
            block["trusted_mechanisms"] = list(self.trusted_mechanisms)
        return {"name": self.study.name, "root_seed": self.root_seed, "block": block}


def replicates_text(replicates: Iterable[int]) -> str:
    """Numbers of replicates in words, from the least to the most: "3 replicates", "2 to 5 replicates"."""
    counts = sorted(set(replicates))
    words = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{words} replicate" + ("" if counts == [1] else "s")


def plan(name: str, block: object, root_seed: int, *, complete: bool = True) -> Plan:
    """Check the block of a study (`StudyBlock`) and make its plan; ``complete`` is False for the `Plan.part` of a job.

    A study is a folder in ``partywise.studies``, or any name with ``address`` in the block. ConfigError for an unknown,
    missing, mistyped or contradictory key: one sentence with key, value and what is allowed.
    """
    where = f"studies.{name}"
    written = as_block(block, where)
    study_block: StudyBlock = build(StudyBlock, written, where)
    address, study = _study(name, study_block.address, where)
    refuse_unknown(study_block.grid, [entry.name for entry in fields(Grid)], f"{where}.grid")
    blocks = {label: as_block(entry, f"{where}.methods.{label}") for label, entry in study_block.methods.items()}
    methods = {label: _method(study, label, entry, f"{where}.methods.{label}") for label, entry in blocks.items()}
    _check_without_noise(methods, f"{where}.methods")
    entries = list(written_out(study_block, f"{where}.cases"))
    study_plan = Plan(
        study=study,
        root_seed=root_seed,
        spec=build(study.spec, study_block.spec, f"{where}.spec"),
        methods=methods,
        cases={entry.name: _case(study, entry, complete) for entry in entries},
        batch=study_block.batch,
        figures=study_block.figures if "figures" in written else tuple(study.figures),
        block=written,
        module=Lazy(address).module,
        plain={
            "spec": study_block.spec,
            "methods": {label: _for_jobs(entry) for label, entry in blocks.items()},
            "cases": {entry.name: entry.block for entry in entries},
        },
        ledger_replicates=study_block.ledger_replicates,
        trusted_mechanisms=study_block.trusted_mechanisms,
    )
    if complete:
        _contradictions(study_plan, where)
    return study_plan


def _check_without_noise(methods: Mapping[str, MethodPlan], where: str) -> None:
    """ConfigError for a method whose reference is not among the methods, or adds noise."""
    quiet = [label for label, method in methods.items() if not method.draws_noise]
    for label, method in methods.items():
        for reference in method.without_noise:
            if reference not in quiet:
                problem = "adds noise" if reference in methods else "is not among the methods"
                raise ConfigError(
                    f"{where}.{label}.without_noise is {reference!r}, which {problem}: give the label of a method that "
                    f"fits the same model without noise; those that add none are {', '.join(quiet) or 'none'}."
                )


def _for_jobs(entry: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in entry.items() if key not in FOR_READERS}


def _study(name: str, address: str, where: str) -> tuple[str, Study]:
    """Address and study of a block; a study from elsewhere has the name of the block."""
    if not address:
        address = address_of(name)
        return address, Lazy(address).target
    study = load_object(address, Study, f"{where}.address")
    if study.name != name:
        raise ConfigError(f"{where}.address is {address!r}: that study is called {study.name!r}, write {study.name}.")
    return address, study


def _method(study: Study, label: str, entry: dict[str, object], where: str) -> MethodPlan:
    options = {key: value for key, value in entry.items() if key not in ("protocol", *FOR_READERS)}
    protocol = entry.get("protocol")
    if protocol is None:
        raise ConfigError(f"{where}.protocol is missing: it must be one of {', '.join(study.methods)}.")
    module = None
    if isinstance(protocol, str) and ":" in protocol:
        chosen, module = load_object(protocol, Protocol, f"{where}.protocol").alone(), Lazy(protocol).module
    elif isinstance(protocol, str) and protocol in study.methods:
        chosen = study.methods[protocol]
    else:
        raise ConfigError(f"{where}.protocol is {protocol!r}: {choices(protocol, study.methods)}.")
    options_in_force: Any = build(chosen.options, options, where)
    title = checked_title(entry.get("title", label.replace("_", " ")), f"{where}.title")
    title = fill(title, _values(options_in_force), f"{where}.title")
    return MethodPlan(
        label,
        chosen,
        options_in_force,
        title,
        protocol,
        tuple(options),
        module,
        _short_title(entry, title, label, _values(options_in_force), where),
        _without_noise(entry.get("without_noise", ()), f"{where}.without_noise"),
    )


def _without_noise(labels: object, where: str) -> tuple[str, ...]:
    """Return the labels of a key that holds one or several."""
    listed = [labels] if isinstance(labels, str) else labels
    if not isinstance(listed, list | tuple) or not all(isinstance(label, str) for label in listed):
        raise ConfigError(f"{where} is {labels!r}: give the label of a method that adds no noise, or a list of labels.")
    return tuple(listed)


def _short_title(entry: Mapping[str, object], title: str, label: str, values: Mapping[str, object], where: str) -> str:
    """Return the short title of a method: as given, else the title where it is short enough, else the label."""
    if "short" in entry:
        short = fill(checked_title(entry["short"], f"{where}.short"), values, f"{where}.short")
    else:
        short = title if len(title) <= SHORT else label.replace("_", " ")
    if len(short) > SHORT:
        raise ConfigError(f"{where}.short is {short!r}: tables have room for {SHORT} characters; give a shorter one.")
    return short


def _case(study: Study, entry: CaseEntry, complete: bool) -> CasePlan:
    where, block = entry.where, entry.block
    source = block.get("source", entry.group)
    module = None
    if isinstance(source, str) and ":" in source:
        chosen, module = load_object(source, Source, f"{where}.source"), Lazy(source).module
    elif isinstance(source, str) and source in study.sources:
        chosen = study.sources[source]
    else:
        has_tables = "dataset" in study.sources
        if has_tables and (now := DATASET_SOURCES.get(str(source))):
            raise ConfigError(f"{where}.source is {source!r}: write source: dataset now, with settings: {{{now}}}.")
        hint = "; a shipped table is source dataset, with its name as settings.dataset" if has_tables else ""
        raise ConfigError(f"{where}.source is {source!r}: {choices(source, study.sources)}{hint}.")
    settings: Any = build(chosen.settings, block.get("settings"), f"{where}.settings")
    grid = block.get("grid")
    if not complete:
        least = {"methods": ["any"], "replicates": 1, "parties": [1], "folds": 1, "epsilon": [inf]}
        grid = least | as_block(grid, f"{where}.grid")
    elif grid is None:
        raise ConfigError(f"{where}.grid is missing: {GRID}.")
    title = fill(entry.title or entry.name.replace("_", " "), {**_values(settings), **entry.words}, f"{where}.title")
    case_grid = build(Grid, grid, f"{where}.grid")
    return CasePlan(
        entry.name, chosen, settings, case_grid, title, entry.group, source, entry.explicit_settings, module
    )


def _values(values: DataclassInstance) -> dict[str, object]:
    """Return the fields of a dataclass by name, which a title may use."""
    return {entry.name: getattr(values, entry.name) for entry in fields(values)}


def _contradictions(study_plan: Plan, where: str) -> None:
    """Raise ConfigError for keys that contradict each other."""
    for key in ("methods", "cases"):
        if not getattr(study_plan, key):
            raise ConfigError(f"{where}.{key} is empty: give at least one.")
    for name, case in study_plan.cases.items():
        for label in case.methods:
            if label not in study_plan.methods:
                at = f"{where}.cases.{name}.grid.methods"
                raise ConfigError(f"{at} lists {label!r}: {choices(label, study_plan.methods)}.")
    for figure in study_plan.figures:
        if figure not in study_plan.study.figures:
            raise ConfigError(f"{where}.figures lists {figure!r}: {choices(figure, study_plan.study.figures)}.")
    if study_plan.study.check is not None:
        study_plan.study.check(study_plan)
