"""A study is data: the parts of an experiment that differ between papers, named but not yet imported.

The pipeline reads a study at parse time, in every job and for the fingerprint of its code.  So its own file imports
dataclasses only: options, settings and measures.  Its functions are found by convention, and imported when they are
called:

data.py        split, folds, and the dataclass of the data
cases.py       one function for each source, of its name; own_cases.py and owner_outputs.py for own files
metrics.py     metrics, example_fits
figures/       one function or declaration (Lines, Bars, Panels) for each figure, of its name
trials.py      TRIALS
protocols/     next to the options of a method, ``fit`` in a file of its name

A study in a single file, outside any package, has all of these in that file.  What lies elsewhere is named by a `Lazy`.
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

# Any: whatever stands at an address, the user's included.
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

from ..core.checks import check_fields
from ..core.errors import ConfigError
from .measures import ExampleFits, Heading, Measure, Measures, measures_of

if TYPE_CHECKING:
    from .plan import Plan

T = TypeVar("T")
Options = TypeVar("Options", covariant=True)
Constants = TypeVar("Constants", covariant=True)
Settings = TypeVar("Settings", covariant=True)


@dataclass(frozen=True)
class Lazy:
    """A function or class by its address ``package.module:name``, imported when it is first called."""

    address: str

    def __post_init__(self) -> None:
        if self.address.count(":") != 1:
            raise ValueError(f"address is {self.address!r}: write it as package.module:name.")

    @property
    def module(self) -> str:
        """Name of the module, the root from which the code fingerprint follows imports."""
        return self.address.partition(":")[0]

    @property
    def target(self) -> Any:
        """The object itself."""
        name = self.address.partition(":")[2]
        try:
            return getattr(importlib.import_module(self.module), name)
        except AttributeError:
            raise ValueError(
                f"address is {self.address!r}: {self.module} defines no {name!r}; give what is meant that name."
            ) from None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Import on first use, then call."""
        return self.target(*args, **kwargs)


# A part of a study that is found by convention.
HERE = Lazy("convention:here")
# The part of a party in a distributed run on a shipped table.
PUBLIC_TABLE = Lazy("partywise.data.own.remote:public_table")
# What a protocol does with mode ``release``; a rehearsal confirms it.
EXACT, NO_NOISE = "exact", "no noise"
# Variable that holds the certified epsilon of a fit, unless a study certifies its own claims.
CERTIFIED = "epsilon_certified"


@dataclass(frozen=True)
class Figure(Lazy):
    """One figure of a study: `Lines`, `Bars`, `Panels`, or a function (cube) -> matplotlib Figure or `TypesetTable`.

    address : file in ``figures/`` that has it under its name, empty for a file ``figures.py``; or a whole
        address ``package.module:name``
    output : ``image`` (SVG, PDF, PNG) or ``table`` (HTML, CSV)
    records : whether it shows single records; reports of own data leave such figures out unless they are asked for
    """

    address: str = ""
    output: Literal["image", "table"] = "image"
    records: bool = False

    def __post_init__(self) -> None:
        if ":" in self.address:
            super().__post_init__()
        check_fields(self)

    @property
    def file_type(self) -> str:
        """Ending of the file that a report shows."""
        return "html" if self.output == "table" else "svg"

    def resolve(self, package: str, name: str) -> Self:
        """Return a copy whose address is complete, in the package of its study."""
        if ":" in self.address:
            return self
        return replace(self, address=f"{package}.figures{'.' if self.address else ''}{self.address}:{name}")


@dataclass(frozen=True)
class FirstRun:
    """First run that a draft for own files suggests (`partywise.check_data`): enough for a figure, in seconds.

    methods : label -> keys of a method; numeric_options : more of them, where the response is a number
    spec, figures : of the study; replicates, folds, epsilon : of the grid
    edges : whether columns of passive parties need cuts, and others nothing, where else all need bounds
    for_classes, for_numbers : keys of settings for a response of two classes, or of numbers; ``?`` is asked
    """

    methods: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    numeric_options: Mapping[str, object] = field(default_factory=dict)
    spec: Mapping[str, object] = field(default_factory=dict)
    figures: tuple[str, ...] = ()
    replicates: int = 2
    folds: int = 1
    epsilon: tuple[float, ...] = (1.0, 4.0, 16.0)
    edges: bool = False
    for_classes: Mapping[str, object] = field(default_factory=dict)
    for_numbers: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """Source of the data of a case.

    settings : dataclass of the keys under ``settings``
    generate : (settings, spec, rng_for, resources: Path) -> data, one replicate; by convention ``draw_<source>`` of
        ``cases.py``.  ``rng_for(*names)`` depends on the replicate,
        ``rng_for(*names, shared=True)`` is the same for all replicates.
    complete : where a file of the data would hold too much (clients that are streamed) or what no file may copy (own
        records): ``generate`` draws a mapping instead, what the data are made of, and every fit makes the data of it,
        (settings, mapping) -> data
    resources : data sets that the rule ``fetch`` puts into the folder ``resources``; settings may name more of them, by
        a property ``resources``, where they choose among several
    owner_outputs : of own data, what its owner has of a fit of replicate 0: (estimate, data, train mask, MethodSpec) to
        a `partywise.experiment.owner_outputs.OwnerReport`
    model : of own data, its numbers by names, of the whole estimate or of what one party has of it: (estimate,
        MethodSpec) to a mapping, the `OwnerReport.model`
    exhibits, question : of own data whose release answers questions: (estimate, MethodSpec) to the texts of files that
        are published next to the estimate, by name; (settings, options, names of the owners) to a
        `partywise.experiment.owner_outputs.CanonicalQuestion`
    predictions : of own data that one party predicts in a distributed run: (estimate, its block, Fold,
        MethodSpec) to (n,) predictions of its records, nan where there is none
    measures, examples : of own data, what of ``metrics`` and ``example_fits`` follows from the estimate, or one party's
        part of it, and public facts alone: (estimate, train mask, MethodSpec); in a distributed run, no party has the
        records of all
    draft : of own data, settings for files that are described: (surveys of the files, the columns that a person
        named, `FirstRun`) to a `partywise.data.own.drafts.parts.Draft`; NotSuited where they do not suit
    first : what a draft runs first
    apart : of own data, what one party makes them from that has its own files only: (settings, name of the party, rows
        of every client, folder) -> `partywise.data.own.remote.PartyFiles`; of a shipped table `PUBLIC_TABLE`
    """

    settings: type
    generate: Lazy = HERE
    complete: Lazy | None = None
    resources: tuple[str, ...] = ()
    owner_outputs: Lazy | None = None
    model: Lazy | None = None
    exhibits: Lazy | None = None
    question: Lazy | None = None
    predictions: Lazy | None = None
    measures: Lazy | None = None
    examples: Lazy | None = None
    draft: Lazy | None = None
    first: FirstRun = field(default_factory=FirstRun, compare=False)
    apart: Lazy | None = None

    @property
    def new_records(self) -> Lazy | None:
        """Function next to `apart` of split columns: (settings, party, file, folder, rows) -> ids, columns (n, p_k)."""
        return None if self.apart is None else Lazy(f"{self.apart.module}:new_records")

    @classmethod
    def of_files(
        cls,
        settings: type,
        layout: Literal["columns", "labels", "clients", "follow_up", "questions", "curves"],
        *,
        first: FirstRun,
        rows: str = "",
        outputs: str = "owner_outputs",
        predicts: bool = False,
        examples: str = "",
        answers: bool = False,
    ) -> Self:
        """Data of the user's own files, which the study reads in ``own_cases.py`` and reports in ``owner_outputs.py``.

        layout : how records lie at parties, of which `partywise.data.own.drafts.draft` drafts settings
        rows : function of ``cases.py`` that makes the data of some rows of own tables, where replicates draw rows alone
        outputs : file with `owner_outputs` and `model`
        first : what a draft for files runs first
        predicts : whether a party predicts its own records in a distributed run
        examples : file with `estimate_examples`, where a fit shows anything without records
        answers : whether ``outputs`` has ``exhibits`` and ``question``
        """
        package = settings.__module__.rpartition(".")[0]
        return cls(
            settings,
            generate=Lazy("partywise.data.own.records:draw_rows" if rows else f"{package}.own_cases:draw"),
            complete=Lazy(f"{package}.cases:{rows}" if rows else f"{package}.own_cases:table"),
            owner_outputs=Lazy(f"{package}.{outputs}:owner_outputs"),
            model=Lazy(f"{package}.{outputs}:model"),
            exhibits=Lazy(f"{package}.{outputs}:exhibits") if answers else None,
            question=Lazy(f"{package}.{outputs}:question") if answers else None,
            predictions=Lazy(f"{package}.{outputs}:own_predictions") if predicts else None,
            measures=Lazy(f"{package}.metrics:estimate_measures"),
            examples=Lazy(f"{package}.{examples}:estimate_examples") if examples else None,
            draft=Lazy(f"partywise.data.own.drafts.draft:draft_{layout}"),
            first=first,
            apart=Lazy(f"partywise.data.own.remote:{'curve_' if layout == 'curves' else ''}placeholders"),
        )

    def resolve(self, package: str, name: str) -> Self:
        """Return a copy with the address of its function, in the package of its study."""
        return replace(self, generate=Lazy(f"{package}.cases:draw_{name}")) if self.generate is HERE else self

    @property
    def fits(self) -> tuple[Lazy, ...]:
        """Functions that fits on these data call by address, in addition to the protocol: part of their code."""
        return tuple(part for part in (self.complete, self.owner_outputs) if part is not None)


@dataclass(frozen=True)
class Protocol:
    """A method before its options are chosen.

    options : dataclass of the keys next to ``protocol``; its ``uses_epsilon`` is whether the grid's epsilon is a
        target (otherwise the method has one slot, inf)
    fit : (Run) -> estimate with ``epsilon_claimed``; its ``spec`` is a `MethodSpec`.  By convention it is in the folder
        ``protocols`` next to the module of the options; of a protocol that stands for itself, in that module
    extra : names on the channel of those who take part without data, such as an aggregator; options may have more
        ``places``
    study : whose data it takes, for a protocol from outside the package, which `check-method` tries on them
    file : of ``protocols``, where it has not the name of the method
    release : what it does with mode ``release``: `EXACT` noise, `NO_NOISE` at all, or the reason why it is refused
    reads_training_records : whether noisy releases of a fit rest on the training records of its fold alone, so that a
        record pays for the fits that it trains; tests change held-out records and compare all releases
    precision : dataclass of the keys under ``model`` of a design, a
        `partywise.federation.estimators.precision.PrecisionModel`; None where the method is not designed yet
    """

    options: type
    fit: Lazy = HERE
    extra: tuple[str, ...] = ()
    study: str | None = None
    file: str = ""
    release: str = EXACT
    reads_training_records: bool = False
    precision: Lazy | None = None

    @property
    def refusal(self) -> str:
        """Why it never releases, as it is stated; empty where it may."""
        return "" if self.release in (EXACT, NO_NOISE) else self.release

    def resolve(self, name: str) -> Self:
        """Return a copy with the address of its function, as a method of a study."""
        package = self.options.__module__.rpartition(".")[0]
        return replace(self, fit=Lazy(f"{package}.protocols.{self.file or name}:fit")) if self.fit is HERE else self

    def alone(self) -> Self:
        """Return a copy with the address of its function, for a protocol outside any study."""
        return replace(self, fit=Lazy(f"{self.options.__module__}:fit")) if self.fit is HERE else self


@dataclass(frozen=True)
class MethodSpec(Generic[Options, Constants, Settings]):
    """Options, constants, settings and public facts that a protocol, a metric or an example fit may know.

    options : of the method; study : the study's constants; settings : of the case; public : what everyone knows
    source : where the data of the case come from; n_parties : among how many they were split
    """

    options: Options
    study: Constants
    settings: Settings
    public: object
    source: Source | None = None
    n_parties: int = 1


@dataclass(frozen=True, kw_only=True)
class Study:
    """The parts of an experiment that differ between papers.

    module : ``__name__`` of the file that makes it, next to which its parts are looked for
    name, title, references : by default the name of its folder, and title and source document of its cubes
    question : what it asks, in one sentence of its page and of reports
    spec : dataclass of the study's constants, the ``unit`` that is protected, and ``delta`` unless the settings of
        every source have their own
    sources, methods : what the configuration may name as ``source`` of a case and ``protocol`` of a method
    measures : dataclass of its numbers, a `Measures`, so that nothing else may enter the cube
    examples : dataclass of the arrays of its example fits, an `ExampleFits`
    data_class : dataclass of named arrays and plain values in ``data.py``, one replicate, with a method ``public()``;
        or its whole address. Files of the data keep its fields: arrays, numbers, text, None, and tuples and dataclasses
        of these
    split : (data, n_parties, spec, settings) -> list of Party
    metrics : (estimate, data, train mask (N,), MethodSpec) -> an instance of ``measures``
    reads : modules that the file of the study reads without an import statement, part of the code of all its jobs
    ledger : (ledger, names, MethodSpec) -> an instance of ``measures``, further questions to the ledger of a cell
    folds : (data, n_folds, settings) -> fold of every record (N,), -1 for never tested, and floor(i K / N) where it is
        None
    example_fits : same arguments as ``metrics`` -> an instance of ``examples``, asked for replicate 0 and fold 0 only
    figures : name -> `Figure`
    check : (`partywise.experiment.plan.Plan`) -> None, which raises :class:`ConfigError` on contradictions that need
        knowledge of the study
    trials : small cases on which any method of the study can be tried (name -> `partywise.experiment.trial.Trial`)
    units : unit of a guarantee -> how readers call it, where that differs from
        `partywise.experiment.tables.screen.UNITS`
    folds_share : whether folds draw from the same streams and may re-use a release, so that addresses and names of
        releases distinguish fits where each draws anew, while by default every fold has streams and releases of its own
    """

    module: str = field(kw_only=False)
    name: str = ""
    title: str
    question: str = ""
    references: str
    spec: type
    sources: Mapping[str, Source]
    methods: Mapping[str, Protocol]
    measures: type[Measures]
    examples: type[ExampleFits] | None = None
    data_class: str = "Data"
    split: Lazy = HERE
    metrics: Lazy = HERE
    reads: tuple[str, ...] = ()
    ledger: Lazy | None = None
    folds: Lazy | None = HERE
    example_fits: Lazy | None = HERE
    figures: Mapping[str, Figure] = field(default_factory=dict)
    check: Callable[[Plan], None] | None = None
    trials: Lazy | None = HERE
    units: Mapping[str, str] = field(default_factory=dict)
    folds_share: bool = False

    def __post_init__(self) -> None:
        for name, figure in self.figures.items():
            if not isinstance(figure, Figure):
                raise ValueError(
                    f"figures gives {name!r} as a {type(figure).__name__}: fits read this file and draw "
                    f"nothing; put it into a file of figures/ as {name} and give Figure with the name of that file."
                )
        if not issubclass(self.measures, Measures):
            raise ValueError(f"measures is {self.measures.__name__}: it must be a dataclass of Measures.")
        places = Counter(measure.headline for measure in measures_of(self.measures).values() if measure.headline)
        if shared := [place for place, count in places.items() if count > 1]:
            raise ValueError(f"headline={shared[0]} is given to {places[shared[0]]} measures: give each its own place.")
        package = self.module.rpartition(".")[0]
        has_trials = bool(package) and find_spec(f"{package}.trials") is not None
        lazy_parts: dict[str, Lazy | None] = {
            "split": self._part("data", "split"),
            "folds": self._part("data", "folds"),
            "metrics": self._part("metrics", "metrics"),
            "example_fits": self._part("metrics", "example_fits") if self.examples else None,
            "trials": self._part("trials", "TRIALS") if has_trials else None,
        }
        parts: dict[str, object] = {key: part for key, part in lazy_parts.items() if getattr(self, key) is HERE}
        parts["name"] = self.name or package.rpartition(".")[2]
        parts["sources"] = {name: source.resolve(package, name) for name, source in self.sources.items()}
        parts["methods"] = {name: method.resolve(name) for name, method in self.methods.items()}
        parts["figures"] = {name: figure.resolve(package, name) for name, figure in self.figures.items()}
        for key, part in parts.items():
            object.__setattr__(self, key, part)

    def _part(self, file: str, name: str) -> Lazy:
        """A function in one of its files."""
        package = self.module.rpartition(".")[0]
        return Lazy(f"{package}.{file}:{name}" if package else f"{self.module}:{name}")

    @property
    def data(self) -> Lazy:
        """Dataclass of its data."""
        return Lazy(self.data_class) if ":" in self.data_class else self._part("data", self.data_class)

    @cached_property
    def own_measures(self) -> Mapping[str, Measure]:
        """Its own measures and arrays by their names, in their order; not those of every study."""
        common = measures_of(Measures)
        numbers = {name: measure for name, measure in measures_of(self.measures).items() if name not in common}
        return numbers | (measures_of(self.examples) if self.examples else {})

    @cached_property
    def variables(self) -> Mapping[str, tuple[str, str]]:
        """Meaning and unit of what its cube may hold."""
        return {name: measure.quantity.entry for name, measure in self.own_measures.items()}

    @cached_property
    def summary(self) -> tuple[str, ...]:
        """Variables of the printed summary, the error that matters most first."""
        return tuple(name for name, measure in self.own_measures.items() if measure.summary)

    @cached_property
    def headings(self) -> Mapping[str, Heading]:
        """Public names of the variables of summary and screen; another is known by its own name and not judged."""
        names = {*self.summary, *self.headline, self.certified}
        return {name: measure.quantity.known_as for name, measure in self.own_measures.items() if name in names}

    @cached_property
    def headline(self) -> tuple[str, ...]:
        """Variables of the screen at the end of a run, of a group of cases the first that has values there.

        Its best fit by the direction of its heading; of a flag that is not judged, in how many rows of each method it
        is up.
        """
        places = {measure.headline: name for name, measure in self.own_measures.items() if measure.headline}
        return tuple(places[place] for place in sorted(places))

    @cached_property
    def certified(self) -> str:
        """Variable that holds the certified epsilon of a fit."""
        return next((name for name, measure in self.own_measures.items() if measure.certified), CERTIFIED)


def available() -> tuple[str, ...]:
    """Names of all studies, one for each folder in ``partywise.studies`` with a ``study.py``."""
    return tuple(sorted(path.parent.name for path in Path(__file__).parents[1].joinpath("studies").glob("*/study.py")))


def address_of(name: str) -> str:
    """Address of a study of this package."""
    if name not in available():
        known = ", ".join(available())
        raise ConfigError(
            f"studies.{name} is unknown: the studies are {known}; for one of your own give its address, as in "
            "address: my_package.my_study:STUDY."
        )
    return f"partywise.studies.{name}.study:STUDY"


def load(name: str) -> Study:
    """The study of that name of this package, without its numerics; ConfigError when there is none."""
    study: Study = Lazy(address_of(name)).target
    return study


def load_object(address: str, kind: type[T], where: str) -> T:
    """An object of the user's by its address ``package.module:NAME``, of the kind that the key ``where`` needs.

    Its module is looked for among what is installed, then in the folder of the run.
    """
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
        importlib.invalidate_caches()
    try:
        target = Lazy(address).target
    except ValueError as error:
        raise ConfigError(f"{where} is {address!r}: {error}") from None
    except Exception as error:
        # By name, so that no job depends on the table of earlier addresses.
        addresses = importlib.import_module("partywise.core.addresses")
        name = addresses.present_name(error) if isinstance(error, ImportError) else ""
        module, _, inner = address.partition(":")
        if module.endswith(".py"):
            name += f"; an address names a module and not a file: write {module.removesuffix('.py')}:{inner}"
        raise ConfigError(
            f"{where} is {address!r}: importing it ends with {type(error).__name__}: {error}{name}; modules are looked "
            f"for among the installed ones and in the folder of the run, {folder}."
        ) from error
    if not isinstance(target, kind):
        raise ConfigError(f"{where} is {address!r}: that is a {type(target).__name__}, give a {kind.__name__}.")
    return target
