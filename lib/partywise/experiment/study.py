"""A study is data: the parts of an experiment that differ between papers, named but not yet imported.

The pipeline reads a study at parse time, in every job and for the fingerprint of its code.  So a study names its
numerics by :class:`Lazy` references, and its own file imports nothing but option dataclasses.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from ..checks import check_fields
from ..errors import ConfigError

T = TypeVar("T")


@dataclass(frozen=True)
class Lazy:
    """A function or class by its address ``package.module:name``, imported when it is first called.

    Raises
    ------
    ValueError
        When the address has no colon; at the call, when the module or the name does not exist.
    """

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
            raise ValueError(f"address is {self.address!r}: {self.module} defines no {name!r}.") from None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Import on first use, then call."""
        return self.target(*args, **kwargs)


@dataclass(frozen=True)
class Figure(Lazy):
    """One figure of a study: a function (cube) -> matplotlib Figure, or `partywise.experiment.plotting.typeset.Table`.

    output : ``image`` (SVG, PDF, PNG) or ``table`` (HTML, CSV)
    records : whether it shows single records; reports of own data leave such figures out unless they are asked for
    """

    output: Literal["image", "table"] = "image"
    records: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fields(self)


@dataclass(frozen=True)
class Source:
    """Where the data of a case come from.

    settings : dataclass of the keys under ``settings``
    generate : (settings, spec, rng_for, resources: Path) -> data, one replicate.  ``rng_for(*names)`` depends on the
        replicate, ``rng_for(*names, shared=True)`` is the same for all replicates.
    complete : where a file of the data would hold too much (clients that are streamed) or what nobody may copy (own
        records): ``generate`` draws a mapping instead, what the data are made of, and every fit makes the data of it,
        (settings, mapping) -> data
    resources : data sets that the rule ``fetch`` puts into the folder ``resources``; settings may name more of them, by
        a property ``resources``, where they choose among several
    home : of own data, what the owner takes home of a fit of replicate 0: (estimate, data, train mask, MethodSpec) ->
        `partywise.experiment.owner_outputs.report.OwnerReport`
    apart : of own data, what one party makes them from that has its own files only: (settings, name of the party, rows
        of every client, folder) -> `partywise.datasets.own.remote.placeholders.PartyFiles`
    """

    settings: type
    generate: Lazy
    complete: Lazy | None = None
    resources: tuple[str, ...] = ()
    home: Lazy | None = None
    apart: Lazy | None = None

    @property
    def fits(self) -> tuple[Lazy, ...]:
        """What fits on these data call by reference, beside the protocol: part of their code."""
        return tuple(part for part in (self.complete, self.home) if part is not None)


@dataclass(frozen=True)
class Protocol:
    """A method before its options are chosen.

    options : dataclass of the keys beside ``protocol``; its ``uses_epsilon`` says whether the grid's epsilon is a
        target (otherwise the method has one slot, inf)
    fit : (Run) -> estimate with ``epsilon_claimed``; its ``spec`` is a `MethodSpec`
    extra : names on the channel of those who take part without data, such as an aggregator
    study : whose data it takes, for a protocol from outside the package, which `check-method` tries on them
    """

    options: type
    fit: Lazy
    extra: tuple[str, ...] = ()
    study: str | None = None


@dataclass(frozen=True)
class MethodSpec:
    """What a protocol, a metric or an example fit may know besides the data.

    options : of the method; study : the study's constants; settings : of the case; public : what everyone knows
    source : where the data of the case come from; n_parties : among how many they were split
    """

    options: Any
    study: Any
    settings: Any
    public: Any
    source: Source | None = None
    n_parties: int | None = None


@dataclass(frozen=True)
class Heading:
    """How a reader knows a variable of the summary.

    words : its public name, over its column
    better : which values are better, the ``lower`` or the ``higher`` ones; ``neither`` where it is not judged
    """

    words: str
    better: Literal["lower", "higher", "neither"]

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Study:
    """The parts of an experiment that differ between papers.

    Parameters
    ----------
    name, title, references : str
        Name of the folder in ``partywise.studies``; title and source document of its cubes.
    spec : type
        Dataclass of the study's constants: the ``unit`` that is protected, and ``delta`` unless the settings of every
        source have their own.
    sources, methods : mapping
        What the configuration may name as ``source`` of a case and ``protocol`` of a method.
    data : Lazy
        Dataclass of named arrays and plain values, one replicate, with a method ``public()``. Files of the data keep
        its fields: arrays, numbers, text, None, and tuples and dataclasses of these.
    split : Lazy
        (data, n_parties, spec, settings) -> list of Party.
    metrics : Lazy
        (estimate, data, train mask (N,), MethodSpec) -> scalars: float, int, bool, str or None (undefined).  A scalar
        ``status`` (``ok``, ``not_converged``, ``diverged``) becomes the status of the cell.
    variables : mapping
        Name of a scalar or of an array of the example fits -> (long_name, units); nothing else may enter the cube.
    reads : tuple of str
        Modules that the file of the study reads without an import statement: part of the code of all its jobs.
    ledger : Lazy, optional
        (ledger, names, MethodSpec) -> scalars, like ``metrics``: further questions to the ledger of a cell.
    folds : Lazy, optional
        (data, n_folds, settings) -> fold of every record (N,), -1 for never tested.  By default floor(i K / N).
    example_fits : Lazy, optional
        Same arguments as ``metrics`` -> name -> (dims, array); asked for replicate 0 and fold 0 only.
    figures : mapping
        Name -> `Figure`.
    check : callable, optional
        (`partywise.experiment.plan.Plan`) -> None; raises :class:`ConfigError` on contradictions that need knowledge
        of the study.
    summary : tuple of str
        Variables shown in the printed summary, the error that matters most first.
    headings : mapping
        Name of a variable of the summary -> `Heading`; without one its name is printed, and it is not judged.
    headline : tuple of str
        Variables of the screen at the end of a run, of a group of cases the first that has values there: its best fit
        by the direction of its heading; of a flag that is not judged, in how many rows of each method it is up.
    certified : str
        Variable that holds the certified epsilon of a fit: one of the study's where its claims have units of their own.
    trials : Lazy, optional
        Small cases on which any method of the study can be tried (name -> `partywise.experiment.trial.Trial`).
    folds_share : bool
        Whether folds draw from the same streams and may re-use a release: addresses and names of releases then tell
        fits apart where each draws anew. By default every fold has streams and releases of its own.
    """

    name: str
    title: str
    references: str
    spec: type
    sources: Mapping[str, Source]
    methods: Mapping[str, Protocol]
    data: Lazy
    split: Lazy
    metrics: Lazy
    variables: Mapping[str, tuple[str, str]]
    reads: tuple[str, ...] = ()
    ledger: Lazy | None = None
    folds: Lazy | None = None
    example_fits: Lazy | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)
    check: Callable[[Any], None] | None = None
    summary: tuple[str, ...] = ()
    headings: Mapping[str, Heading] = field(default_factory=dict)
    headline: tuple[str, ...] = ()
    certified: str = "epsilon_certified"
    trials: Lazy | None = None
    folds_share: bool = False

    def __post_init__(self) -> None:
        unknown = [name for name in self.summary if name not in self.variables]
        if unknown:
            raise ValueError(f"summary names {unknown[0]!r}: it must be one of the study's variables.")
        for key, names in (("headings", tuple(self.headings)), ("headline", self.headline)):
            for name in names:
                if name not in self.variables:
                    raise ValueError(f"{key} names {name!r}: it must be one of the study's variables.")
        for name, figure in self.figures.items():
            if not isinstance(figure, Figure):
                raise ValueError(f"figures gives {name!r} as a {type(figure).__name__}: it must be a Figure.")
        if self.certified not in ("epsilon_certified", *self.variables):
            raise ValueError(f"certified is {self.certified!r}: it must be epsilon_certified or one of its variables.")


def available() -> tuple[str, ...]:
    """Names of all studies, one for each folder in ``partywise.studies`` with a ``study.py``."""
    return tuple(sorted(path.parent.name for path in Path(__file__).parents[1].joinpath("studies").glob("*/study.py")))


def address_of(name: str) -> str:
    """Address of a study of this package.

    Raises
    ------
    ConfigError
        When there is no such study; the message lists those that exist.
    """
    if name not in available():
        known = ", ".join(available())
        raise ConfigError(
            f"studies.{name} is unknown: the studies are {known}; for one of your own give its address, as in "
            "address: my_package.my_study:STUDY."
        )
    return f"partywise.studies.{name}.study:STUDY"


def load(name: str) -> Study:
    """The study of that name of this package, without its numerics; ConfigError when there is none."""
    return Lazy(address_of(name)).target


def own(address: str, kind: type[T], where: str) -> T:
    """An object of the user's by its address ``package.module:NAME``.

    Parameters
    ----------
    address : str
        Its module is looked for among what is installed, then in the folder of the run.
    kind : type
        What it must be: `Study`, `Protocol` or `Source`.
    where : str
        Key of the configuration that names it, for messages.

    Raises
    ------
    ConfigError
        When the module cannot be imported, or the object is absent or of another kind.
    """
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
        importlib.invalidate_caches()
    try:
        found = Lazy(address).target
    except ValueError as error:
        raise ConfigError(f"{where} is {address!r}: {error}") from None
    except Exception as error:
        raise ConfigError(
            f"{where} is {address!r}: importing it ends with {type(error).__name__}: {error}; modules are looked for "
            f"among the installed ones and in the folder of the run, {folder}."
        ) from error
    if not isinstance(found, kind):
        raise ConfigError(f"{where} is {address!r}: that is a {type(found).__name__}, give a {kind.__name__}.")
    return found
