"""Keys of ``site.yaml``: what an organisation consents to, independent of the configuration that all share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...core.checks import CheckedFields, Count, Delta, Positive, Range, check_fields
from ...experiment.configuration.build import choices
from ...experiment.study import available, load
from ..settings import Questions, listen_address


@dataclass(frozen=True, kw_only=True)
class SiteFile(CheckedFields):
    """File that may be read.

    file : its path in the data folder
    columns : that may be used, ids and persons among them, by their names or patterns such as ``h*``
    """

    file: str
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SiteMethods(CheckedFields):
    """Methods that may run. study : by its name; protocols : of it, or the address of one of your own"""

    study: str
    protocols: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SiteReceiver(CheckedFields):
    """Peer and what it may receive. party : its name; kinds : of what is sent to it"""

    party: str
    kinds: tuple[Literal["release", "cipher", "public", "clear"], ...]


@dataclass(frozen=True, kw_only=True)
class SiteCap:
    """Limit on what all runs in the account may cost together.

    epsilon, delta, unit : what may be spent, and of what
    days : so many before today count; by default all ever
    rows_per_user : of a unit of persons, the most rows of one
    numeric_reserve : part of delta for what profiles do not cover, such as masks of ciphertexts
    """

    epsilon: Positive
    delta: Delta
    unit: Questions
    days: Positive | None = None
    rows_per_user: Count | None = None
    numeric_reserve: Annotated[float, Range(0, 1)] = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.numeric_reserve >= self.delta:
            raise ValueError(f"numeric_reserve is {self.numeric_reserve:g}: it must be below delta ({self.delta:g}).")
        if self.unit.startswith("user") != (self.rows_per_user is not None):
            raise ValueError(
                f"rows_per_user is {self.rows_per_user!r} with unit {self.unit!r}: give the most rows of a person for "
                "the units user and user_label, and for no other."
            )


# Of a site, and of a party without one whose method opens sums without noise.
MIN_CELL = 3


@dataclass(frozen=True, kw_only=True)
class Site:
    """Keys of ``site.yaml``.

    data : folder of all files that may be read, from the folder of ``site.yaml``
    files, methods, modes, receivers : all that may be read, run and sent; what is not listed is refused
    listen : host, or host and port, on which the party listens where others reach it at another, as ``0.0.0.0:8443``
    epsilon : caps of what all runs in the account may cost; each holds
    min_records : fewest own records that train
    min_cell : fewest own records at each level of a category, in each bin or slice between ``edges``, or with a
        value other than the most frequent one of a column, bounds applied; times ``rows_per_user`` of the case
    largest_p_over_n : columns of all parties for each own record that trains, at most
    """

    data: str = "."
    files: tuple[SiteFile, ...]
    methods: tuple[SiteMethods, ...]
    modes: tuple[Literal["experiment", "release"], ...]
    receivers: tuple[SiteReceiver, ...]
    listen: str | None = None
    epsilon: tuple[SiteCap, ...] = ()
    min_records: Annotated[int, Range(1)] = 20
    min_cell: Annotated[int, Range(1)] = MIN_CELL
    largest_p_over_n: Positive = 0.33

    def __post_init__(self) -> None:
        check_fields(self)
        if self.listen is not None:
            listen_address(self.listen, "listen", 1)
        for key, entries in (
            ("files", [entry.file for entry in self.files]),
            ("methods", [entry.study for entry in self.methods]),
            ("receivers", [entry.party for entry in self.receivers]),
        ):
            for again in {entry for entry in entries if entries.count(entry) > 1}:
                raise ValueError(f"{key} has {again!r} twice: list it once.")
        for k, entry in enumerate(self.methods):
            protocols = [name for name in entry.protocols if ":" not in name]
            if protocols and entry.study not in available():
                raise ValueError(f"methods[{k}].study is {entry.study!r}: {choices(entry.study, available())}.")
            for name in protocols:
                if name not in (known := load(entry.study).methods):
                    raise ValueError(f"methods[{k}].protocols has {name!r}: {choices(name, known)}.")
