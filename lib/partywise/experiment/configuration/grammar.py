"""Grammar of a configuration: the dataclasses that its blocks are read into, and that its JSON schema comes from.

Options of protocols and settings of sources are dataclasses of methods and studies; a study names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated

from ...core.checks import Count, Natural, Range, check_fields

NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Configuration:
    """A configuration file.

    root_seed : seed of everything random
    name : of the folder of the results in ``results/``; by default that of the file
    studies : name of a study -> its block, or the name of the file that holds it
    network : the fit that parties run in processes of their own; ``./run`` checks it and runs nothing of it
    """

    root_seed: Natural
    studies: dict[str, object]
    name: str | None = None
    network: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.studies:
            raise ValueError("studies is empty: give at least one.")


@dataclass(frozen=True)
class Grid:
    """The cells of a case: methods x replicates x parties x folds x epsilon; no value twice on an axis.

    methods : labels of methods; replicates : how often the data are drawn anew
    parties : numbers of parties among which the records are divided
    folds : K of cross-validation; 1 trains and tests on all records
    epsilon : targets of the methods that have one; .inf is the same method without noise
    """

    methods: tuple[str, ...]
    replicates: Annotated[int, Range(1, 10_000)]
    parties: tuple[Count, ...]
    folds: Annotated[int, Range(1, 100)]
    epsilon: tuple[Annotated[float, Range(0, ends="(]", finite=False)], ...]

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("methods", "parties", "epsilon"):
            values = getattr(self, name)
            if len(set(values)) != len(values) or not values:
                raise ValueError(f"{name} is {list(values)}: give at least one value and none twice.")


@dataclass(frozen=True)
class Batch:
    """Size of the work of one job; no result depends on it.

    Of replicates, folds and numbers of parties so many at most; of cases and methods about so many (`batches.runs`).
    """

    replicates_per_job: Annotated[int, Range(1, 1000)] = 10
    folds_per_job: Annotated[int, Range(1, 100)] = 10
    parties_per_job: Annotated[int, Range(1, 1000)] = 1
    cases_per_job: Annotated[int, Range(1, 1000)] = 1
    methods_per_job: Annotated[int, Range(1, 1000)] = 1

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class CaseBlock:
    """A case, or a sweep of cases, as it is written.

    source : where its data come from; by default the key of the case
    settings : of the source
    grid : axes that this case has of its own, see `Grid`
    sweep : setting -> list of its values; a case for each combination
    name : pattern of the names of swept cases, as in ``size_{n}``
    title : what figures call it; braces hold settings
    """

    source: str = ""
    settings: dict[str, object] = field(default_factory=dict)
    grid: dict[str, object] = field(default_factory=dict)
    sweep: dict[str, object] = field(default_factory=dict)
    name: str = ""
    title: str = ""


@dataclass(frozen=True)
class StudyBlock:
    """The block of a study.

    address : ``package.module:NAME`` of a study from elsewhere
    spec : constants of the study: the unit that is protected, and delta
    methods : label -> protocol, its options and a title
    grid : axes for all cases, see `Grid`
    cases : name -> `CaseBlock`
    replicate_factor : so many times the replicates of every case
    batch : how much one job computes, see `Batch`
    figures : which figures are drawn; by default all of the study
    ledger_replicates : of how many replicates every release is kept; by default of all
    trusted_mechanisms : names of mechanisms of own methods whose rows are certified by what they state
    """

    methods: dict[str, object]
    cases: dict[str, object]
    address: str = ""
    spec: dict[str, object] = field(default_factory=dict)
    grid: dict[str, object] = field(default_factory=dict)
    replicate_factor: Annotated[int, Range(1, 1000)] = 1
    batch: Batch = field(default_factory=Batch)
    figures: tuple[str, ...] = ()
    ledger_replicates: Annotated[int, Range(1, advice="or absent for all replicates")] | None = None
    trusted_mechanisms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        _check_names("methods", self.methods)
        _check_names("cases", self.cases)


def _check_names(key: str, names: Iterable[str]) -> None:
    """ValueError for the first name that cannot be one of a folder and of a coordinate."""
    for name in names:
        if not NAME.fullmatch(name):
            raise ValueError(f"{key}.{name} is not a name: a name has a-z, 0-9 and _, a letter first.")
