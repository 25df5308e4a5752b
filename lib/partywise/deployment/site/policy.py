"""Policy of a site: keys of ``site.yaml``, read before anything of a run, and asked at each step of it.

An organisation consents to them independently of the configuration that all share. What they forbid is one sentence at
this party; others hear that it refuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

import numpy as np

from ...core.checks import CheckedFields, Count, Delta, Positive, Range, check_fields
from ...core.documents import TIME
from ...core.errors import BudgetExceeded, ConfigError, PolicyError
from ...core.files import READ_POLICY, ReadPolicy, bin_names
from ...experiment.configuration.build import build, choices
from ...experiment.plans import FILE, read_file
from ...experiment.study import available, load
from ...federation.account.account import Account
from ...federation.account.chain import Row
from ...federation.account.interface import EXPERIMENT
from ...federation.account.reading import charged_event, event_of, mode_of
from ...federation.account.spending import AccountBudget, Spending
from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.ledger.event import Event
from ..deployments import Deployment
from ..part import LocalRun
from ..publication.comparison import foreign_modules
from ..settings import KEY, Questions, listen_address

NAME = "site.yaml"
# Arrays of a block that have a row for each record.
RECORDS = ("X", "Y", "y", "times", "events", "covariates", "groups")


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


class SitePolicy(ReadPolicy):
    """Policy of a site, asked at each step of a party's run: PolicyError for what its file forbids."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ConfigError(f"--site is {path}: that file does not exist; name the site.yaml of this organisation.")
        try:
            self.site, self.path = build(Site, read_file(path), ""), path
        except ConfigError as error:
            raise ConfigError(str(error) if str(error).startswith(str(path)) else f"{path}: {error}") from None
        self.folder = path.parent / self.site.data
        # Records in a cell at least: of so many persons, where a person may have several.
        self._least = self.site.min_cell
        # Files of this party, and not what stands in place of others.
        self._opened = dict[str, SiteFile]()

    def _error(self, sentence: str, remedy: str = "") -> PolicyError:
        return PolicyError(
            f"{self.path} forbids it: {sentence}; {remedy or 'ask the person responsible for the file'}."
        )

    def check_configuration(self, config: Mapping[str, object], file: Path) -> None:
        """Check a configuration before its modules are imported: addresses of code, and paths except those of data."""
        allowed = [name for entry in self.site.methods for name in entry.protocols]
        for key, address in foreign_modules(config):
            if key != "protocol" or address not in allowed:
                raise self._error(f"the configuration has {key}: {address:.80}, and methods does not list that module")
        studies, network = read_file(file).get("studies"), config.get(KEY)
        for name, block in studies.items() if isinstance(studies, Mapping) else ():
            self._require_inside(block.get(FILE) if isinstance(block, Mapping) else block, file.parent, f"study {name}")
        if isinstance(network, Mapping):
            self._require_inside(network.get("registration"), Path(), f"{KEY}.registration")

    def check_deployment(self, deployment: Deployment, me: str, publisher: str) -> None:
        """Check mode, method and publisher (empty if there is none) before a file is opened."""
        network, site = deployment.network, self.site
        protocol = deployment.plan.methods[network.method].protocol_name
        if network.mode not in site.modes:
            raise self._error(f"{KEY}.mode is {network.mode!r}, and modes lists {_enumerate(site.modes)}")
        if protocol not in next((entry.protocols for entry in site.methods if entry.study == network.study), ()):
            raise self._error(f"{KEY}.method is {protocol!r} of {network.study}, and methods does not list it")
        if publisher not in ("", me):
            self.check_receiver(publisher, "release")
        rows = deployment.plan.rows_per_user(network.case)
        self._least = site.min_cell * (rows or 1)
        for k, cap in enumerate(site.epsilon):
            if network.mode == EXPERIMENT:
                raise self._error(f"{KEY}.mode is 'experiment', which costs infinity, and epsilon has a cap")
            if cap.rows_per_user is not None and (rows is None or rows > cap.rows_per_user):
                raise self._error(f"rows_per_user of the case is {rows}, and of epsilon[{k}] {cap.rows_per_user}")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Have readers of this party's own files ask this policy, inside the block."""
        token = READ_POLICY.set(self)
        try:
            yield
        finally:
            READ_POLICY.reset(token)

    def check_file(self, file: str) -> None:
        """Require that a path of the configuration leads to a listed file in the data folder."""
        self._require_inside(file, self.folder, "a path")
        listed = [entry for entry in self.site.files if PurePosixPath(entry.file) == PurePosixPath(file)]
        if not listed:
            raise self._error(
                f"the file is {file!r}, and files lists {_enumerate([entry.file for entry in self.site.files])}"
            )
        self._opened[file] = listed[0]

    def check_column(self, file: str, name: str) -> None:
        """Require that a column of an own file is listed with it."""
        if file in self._opened:
            columns = self._opened[file].columns
            if name not in columns and not any(fnmatchcase(name, pattern) for pattern in columns):
                raise self._error(f"the column is {name!r} of {file}, and files lists {_enumerate(columns)}")

    def check_cells(self, file: str, name: str, values: np.ndarray, levels: Sequence[str]) -> None:
        """Require enough records at every level or bin of a column, or with other values than its commonest."""
        if file in self._opened:
            self._require_cells(f"{name} of {file}", values, levels)

    def check_records(self, part: LocalRun, me: str) -> None:
        """Check records and columns of a party's own block, as they train, before anything is sent."""
        party = next((member for member in part.run.parties if member.name == me), None)
        if party is None:
            return
        rows = training_rows(part.run, party)
        n = min(map(len, rows.values()), default=0)
        if n < self.site.min_records:
            raise self._error(
                f"{n} own records train, and min_records is {self.site.min_records}", "bring more records"
            )
        widths = [rows[key].shape[1] for key in ("X", "covariates") if key in rows]
        p = max(sum(len(member.columns) for member in part.run.parties), *widths, 0)
        if p > self.site.largest_p_over_n * n:
            raise self._error(
                f"{p} columns on {n} own records that train are more than largest_p_over_n "
                f"({self.site.largest_p_over_n:g})",
                "take fewer columns, or bring more records",
            )
        for key, table in rows.items():
            for j, values in enumerate(table.T):
                self._require_cells(f"column {j} of {key}", values)
        # Slices of a response are cells too.
        if "y" in rows and (cuts := getattr(part.run.spec.settings, "cuts", ())):
            self._require_cells("the response", np.searchsorted(cuts, rows["y"][:, 0]), bin_names(cuts))

    def check_receiver(self, receiver: str, kind: str) -> None:
        """Require that a peer may receive what is about to be sent."""
        kinds = next((entry.kinds for entry in self.site.receivers if entry.party == receiver), ())
        if kind not in kinds:
            raise self._error(f"{receiver!r} would receive a {kind}, and receivers gives it {_enumerate(kinds)}")

    def _require_cells(self, what: str, values: np.ndarray, levels: Sequence[str] = ()) -> None:
        """Require no or enough records at each level, or off the commonest value: one could be read off a sum."""
        asked = f"min_cell asks for {self._least}"
        if not levels and 0 < (few := rows_apart(values)) < self._least:
            raise self._error(
                f"{what} has one value in all records but {few}, and {asked}", "leave it out, or widen bounds"
            )
        for number, level in enumerate(levels):
            if 0 < (few := int(np.count_nonzero(values == number))) < self._least:
                raise self._error(f"{what} is {level!r} in {few} records, and {asked}", "join levels or bins")

    def _require_inside(self, file: object, folder: Path, what: str) -> None:
        """Require that a path stays in a folder, links followed; what is not a path is an error elsewhere."""
        if isinstance(file, str):
            path = Path(file)
            inside = (folder / path).resolve().is_relative_to(folder.resolve())
            if path.is_absolute() or ".." in path.parts or not inside:
                raise self._error(f"{what} of the configuration is {file!r}, which leads out of {folder}")


def training_rows(run: Run, party: Party) -> dict[str, np.ndarray]:
    """Return the tables (n, columns) of a party's own block by name, as they train."""
    block = party.block
    # Columns by their own names, such as those of tables: numbers and text.
    columns = all(isinstance(values, np.ndarray) and values.ndim == 1 for values in block.values())
    keys = block if columns and len(set(map(len, block.values()))) == 1 else [key for key in RECORDS if key in block]
    arrays = {
        key: np.unique(block[key], return_inverse=True)[1] if _is_text(block[key]) else block[key] for key in keys
    }
    tables = {key: values.reshape(len(values), -1) for key, values in arrays.items()}
    train = run.fold.train
    return {key: table[train] if len(train) == len(table) else table for key, table in tables.items()}


def _is_text(values: np.ndarray) -> bool:
    return values.dtype.kind in "US"


def rows_apart(values: np.ndarray) -> int:
    """Return how many rows differ from the most frequent value: a sum over few of them reveals these rows."""
    return len(values) - int(np.unique(values, return_counts=True)[1].max(initial=0))


def check_exact_sums(run: Run, me: str, least: int) -> None:
    """Refuse own columns in which fewer rows than ``least`` differ from all others, before an exact sum leaves."""
    party = next((member for member in run.parties if member.name == me), None)
    if party is None:
        return
    names = getattr(run.spec.public, "names", ())
    for key, table in training_rows(run, party).items():
        for j, values in enumerate(table.T):
            if 0 < (few := rows_apart(values)) < least:
                place = party.columns[j] if key == "X" and j < len(party.columns) else None
                column = repr(names[place]) if place is not None and place < len(names) else f"{j} of {key}"
                raise PolicyError(
                    f"party {me!r}: column {column} has one value in all records but {few}, and the sums of this "
                    f"method, which have no noise, need {least} others: leave the column out or join levels, or set "
                    f"min_cell in {NAME}."
                )


def policy_of(file: Path | None, data: Path | None, account: Path | None) -> SitePolicy | None:
    """Return the policy of a site: of the given file, or ``site.yaml`` with the data; None without one."""
    path = file or (data or Path()) / NAME
    if file is None and not path.exists():
        return None
    policy = SitePolicy(path)
    if data is not None and data.resolve() != policy.folder.resolve():
        raise ConfigError(f"--data is {data}: the data folder of {path} is {policy.folder}; leave --data out.")
    if account is not None and policy.site.epsilon:
        raise ConfigError(
            f"--account is {account}: the caps epsilon of {path} are those of the account with the data; leave it out, "
            "or give records that are scored a folder of their own (--data) with its own site.yaml."
        )
    return policy


def _enumerate(entries: Sequence[str]) -> str:
    return ", ".join(entries) or "nothing"


class SiteAccount(Account):
    """Account of a party under the policy of its site: its caps, and who may receive what. See `Account`."""

    def __init__(self, path: Path, policy: SitePolicy, *, party: str, budget: AccountBudget | None = None) -> None:
        super().__init__(path, party=party, budget=budget)
        self._policy = policy
        self._caps = cap_spendings(policy.site, self.rows(), party)

    def require(self, run: str, events: Sequence[Event]) -> None:
        """Check as `Account.require`; PolicyError if a cap has no room."""
        for k, (cap, spending) in enumerate(zip(self._policy.site.epsilon, self._caps, strict=True)):
            try:
                spending.require(run, events)
            except BudgetExceeded as error:
                days = "" if cap.days is None else f" of {cap.days:g} days"
                raise PolicyError(f"{self._policy.path} forbids it: the cap epsilon[{k}]{days}: {error}") from error
        super().require(run, events)

    def require_receiver(self, receiver: str, kind: str) -> None:
        """Check as `Account.require_receiver`; PolicyError if the receiver may not have it."""
        self._policy.check_receiver(receiver, kind)


def cap_spendings(site: Site, rows: Sequence[Row], party: str) -> list[Spending]:
    """Return what the rows of an account have spent of each cap of a site."""
    budgets = [
        AccountBudget(cap.epsilon, cap.delta, cap.unit, cap.rows_per_user, numeric_reserve=cap.numeric_reserve)
        for cap in site.epsilon
    ]
    pairs = zip(site.epsilon, budgets, strict=True)
    return [Spending(budget, _payments_within(cap.days, rows), party=party) for cap, budget in pairs]


def _payments_within(days: float | None, rows: Sequence[Row]) -> Iterator[tuple[str, Event]]:
    """Yield payments of the last ``days`` days, or all; those of a run without a recorded time always count."""
    since = "" if days is None else (datetime.now(UTC) - timedelta(days=days)).strftime(TIME)
    # An account that was begun with an earlier version has times of some runs only.
    time, mode = "", EXPERIMENT
    for row in rows:
        if row.kind == "time":
            time = row.fields["time"]
        elif row.kind == "began":
            mode = mode_of(row)
        elif row.kind == "ended":
            time = ""
        elif row.kind == "paid" and (not time or time >= since):
            yield row.run, charged_event(event_of(row), mode)
