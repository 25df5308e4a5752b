"""Fits of the block ``network``, checked against the plans of their configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from ..core.errors import ConfigError
from ..data.shipped_table import ShippedTable
from ..experiment.configuration.build import build, choices, convert
from ..experiment.plan import CasePlan, Plan
from ..experiment.study import NO_NOISE, Lazy
from ..federation.cipher import SCHEMES
from .settings import KEY, Listener, NamedFit, NetworkSettings, addresses_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from ..experiment.cells import Coords

T = TypeVar("T")
# Name of a cipher option that leaves values as they are.
UNCLOSED = "identity"


@dataclass(frozen=True)
class Deployment:
    """One fit of the block with what it names.

    network : the block, as that of this fit alone
    n_parties : as the grid counts them
    holders : data holders in the order of the protocol; places : those without data
    addresses : of those that listen; rows : records of the holders, as far as they are public
    """

    network: NetworkSettings
    plan: Plan
    n_parties: int
    holders: tuple[str, ...]
    places: tuple[str, ...]
    addresses: Mapping[str, Listener]
    rows: Mapping[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parties and places, as on the channel."""
        return (*self.holders, *self.places)

    @property
    def hosts(self) -> dict[str, str]:
        """Hosts of all parties by name; the name itself for one that listens nowhere."""
        return {name: self.addresses[name].host if name in self.addresses else name for name in self.names}

    @property
    def label(self) -> str:
        """Name of the fit among others of its case, used for its folder."""
        target = "" if self.network.epsilon is None else f"_epsilon{self.network.epsilon}"
        return f"{self.network.method}{target}_fold{self.network.fold}"

    @property
    def delta(self) -> float:
        """Value of delta at which costs are certified."""
        return self.plan.delta(self.network.case, self.network.method, self.n_parties)

    @property
    def epsilon(self) -> float:
        """Slot of the grid."""
        target = self.network.epsilon
        return self.plan.epsilons(self.network.case, self.network.method)[0] if target is None else target

    @property
    def coords(self) -> Coords:
        """Place of the fit in a cube."""
        network = self.network
        return {
            "case": network.case,
            "method": network.method,
            "replicate": 0,
            "parties": self.n_parties,
            "fold": network.fold,
            "epsilon": self.epsilon,
        }


def deployments_of(config: Mapping[str, object], plans: Mapping[str, Plan]) -> tuple[Deployment, ...]:
    """Return the fits of a configuration's block in their order, checked against its plans; none without a block."""
    if KEY not in config:
        return ()
    network = build(NetworkSettings, config[KEY], KEY)
    plan = _lookup("study", network.study, plans)
    case = _lookup("case", network.case, plan.cases)
    fits = tuple(_grid(plan, case)) if network.fits == "grid" else network.fits
    if fits is None or isinstance(fits, str):
        fits, places = (NamedFit(method=network.method, epsilon=network.epsilon, fold=network.fold),), [KEY]
    else:
        places = [f"{KEY}.fits[{k}]" for k in range(len(fits))]
    deployments = dict[str, Deployment]()
    for where, fit in zip(places, fits, strict=True):
        method = _lookup("method", fit.method, {label: plan.methods[label] for label in case.methods}, where)
        first = plan.methods[fits[0].method]
        if method.places != first.places:
            raise ConfigError(
                f"{where}.method is {fit.method!r}, with the places without data {', '.join(method.places) or 'none'}, "
                f"and {fits[0].method!r} has {', '.join(first.places) or 'none'}: all fits of one session have the "
                "same; run them by two configurations."
            )
        deployment = _deployment(replace(network, **vars(fit), fits=None), plan, where)
        if deployment.label in deployments:
            raise ConfigError(
                f"{where} is {deployment.label}, which is listed before it: one fit, one payment; leave it out."
            )
        deployments[deployment.label] = deployment
    return tuple(deployments.values())


def _grid(plan: Plan, case: CasePlan) -> Iterator[NamedFit]:
    """Yield the fits of a case for one number of parties, in the order of `partywise.experiment.cells.compute`."""
    for method in plan.methods:
        for fold in range(case.folds if method in case.methods else 0):
            for slot in plan.epsilons(case.name, method):
                yield NamedFit(method=method, epsilon=slot if plan.methods[method].uses_epsilon else None, fold=fold)


def _deployment(network: NetworkSettings, plan: Plan, where: str) -> Deployment:
    """Build one fit, checked against its plan; ``where`` is its key in the configuration."""
    method = plan.methods[network.method]
    _check_cell(network, plan, where)
    _check_evaluator(network, method.options)
    _check_shipped(network, plan.cases[network.case].settings)
    n_parties, holders = _holders(network, plan, method.places)
    if network.score is not None:
        plan = _scoring_plan(network, plan, holders)
    addresses = addresses_of(network)
    _check_addresses(network, addresses)
    if network.publisher is not None:
        _lookup("publisher", network.publisher, network.parties)
    places = method.places
    _check_certificates(network, (*holders, *places))
    if network.mode == "release":
        _check_pins(network, addresses, holders, (*holders, *places))
    if network.mode == "release" and getattr(method.options, "shares_noise", False):
        _check_shares(network, method.options, holders)
    _check_versions(network, plan.cases[network.case].source.question, holders)
    _check_trusted(network, (*places, *(cipher for _, cipher in unjudged_ciphers(method.options))))
    return Deployment(network, plan, n_parties, holders, places, addresses, _rows(network, plan, holders, places))


def scoring_address(fit: str) -> str | None:
    """Address of the program that scores next to that of a fit, in a module ``scoring``; None if there is none."""
    module = f"{fit.partition(':')[0].rpartition('.')[0]}.scoring"
    return f"{module}:fit" if find_spec(module) is not None else None


def _scoring_plan(network: NetworkSettings, plan: Plan, holders: tuple[str, ...]) -> Plan:
    """Return the plan of a run that scores, with the program for that; ConfigError if the method cannot."""
    assert network.score is not None
    method, where = plan.methods[network.method], f"{KEY}.score"
    address = scoring_address(method.protocol.fit.address)
    if address is None:
        raise ConfigError(
            f"{where} is given with method {network.method}: in a distributed run new records are scored by trees "
            "and generalised linear models alone; leave it out."
        )
    if reason := import_module(address.partition(":")[0]).refusal(method.options):
        raise ConfigError(f"{where} is given, and method {network.method} {reason}.")
    for table in plan.cases[network.case].settings.tables:
        if offset := table.label_columns.get("offset"):
            raise ConfigError(
                f"{where} is given, and {table.party!r} has the offset {offset!r}: scores of new records have none; "
                "leave one of them out."
            )
    for name in (*network.score, *holders):
        if name not in holders or name not in network.score:
            raise ConfigError(
                f"{where} names {', '.join(network.score) or 'nobody'}: give a file of {', '.join(holders)}."
            )
    if not isinstance(network.rows, int) or network.rows < 2:
        raise ConfigError(f"{KEY}.rows is {network.rows!r}: give the number of new records, at least 2.")
    open_units = [unit for unit in ("label", "features") if unit not in network.unprotected_units]
    if network.mode == "release" and open_units:
        raise ConfigError(
            f"{where} is given with mode 'release': scores reveal every new record to the active party, and splits "
            f"those that trained to their owners, without any noise; name {' and '.join(open_units)} in "
            f"{KEY}.unprotected_units if all of you agree to that, or leave it out."
        )
    if network.budget is not None:
        raise ConfigError(
            f"{KEY}.budget is given with score: scores of new records have no noise, so that no budget covers them; "
            "leave it out, and put the new records into a folder of their own (--data), where their account lies."
        )
    protocol = replace(method.protocol, fit=Lazy(address), release=NO_NOISE)
    return replace(plan, methods={**plan.methods, method.label: replace(method, protocol=protocol)})


def _lookup(key: str, name: str, allowed: Mapping[str, T], where: str = KEY) -> T:
    if name not in allowed:
        raise ConfigError(f"{where}.{key} is {name!r}: {choices(name, allowed)}.")
    return allowed[name]


def _check_cell(network: NetworkSettings, plan: Plan, where: str) -> None:
    """Raise for a fold or an epsilon that is not in the grid of the case, and a unit without a bound on persons."""
    case, slots = plan.cases[network.case], plan.epsilons(network.case, network.method)
    if network.fold >= case.folds:
        raise ConfigError(f"{where}.fold is {network.fold}: case {network.case} has the folds 0 to {case.folds - 1}.")
    if plan.methods[network.method].uses_epsilon and network.epsilon not in slots:
        raise ConfigError(
            f"{where}.epsilon is {network.epsilon!r}: method {network.method} has a target; take one of the grid's, "
            f"{', '.join(f'{slot:g}' for slot in slots)}."
        )
    if not plan.methods[network.method].uses_epsilon and network.epsilon is not None:
        raise ConfigError(
            f"{where}.epsilon is {network.epsilon!r}: method {network.method} has no target; leave it out."
        )
    if network.budget and network.budget.unit.startswith("user") and plan.rows_per_user(network.case) is None:
        raise ConfigError(
            f"{KEY}.budget.unit is {network.budget.unit!r}: case {network.case} does not state how many records a "
            "person has; give user and rows_per_user among its settings, or another unit."
        )


def _check_evaluator(network: NetworkSettings, options: object) -> None:
    """Raise ConfigError for an option that an evaluator with the data of all parties reads: apart there is none."""
    for key, without in getattr(options, "read_by_evaluator", {}).items():
        if (value := getattr(options, key)) != without:
            raise ConfigError(
                f"studies.{network.study}.methods.{network.method}.{key} is {value!r}: it is read by an evaluator that "
                f"has held-out rows of all parties, and a distributed deployment has none; leave {key} out, or take "
                f"another method in {KEY}.method."
            )


def _check_shipped(network: NetworkSettings, settings: object) -> None:
    """Raise ConfigError for what is asked of own data where all parties have one public table."""
    if not isinstance(settings, ShippedTable):
        return
    public = f"case {network.case} is a shipped table, of which every party has all"
    if network.mode == "release":
        raise ConfigError(f"{KEY}.mode is 'release': {public}, so that nothing is secret; take mode experiment.")
    for key, value in (("score", network.score), ("rows", network.rows)):
        if value is not None:
            raise ConfigError(f"{KEY}.{key} is {value!r}: {public}; leave it out.")


def named_ciphers(options: DataclassInstance) -> list[tuple[str, str]]:
    """List options that name a cipher, with its name."""
    return [(field.name, getattr(options, field.name)) for field in fields(options) if field.name.endswith("cipher")]


def unjudged_ciphers(options: DataclassInstance) -> list[tuple[str, str]]:
    """List options that name a cipher of another package, with its name."""
    return [(key, cipher) for key, cipher in named_ciphers(options) if cipher not in (*SCHEMES, UNCLOSED)]


def _check_trusted(network: NetworkSettings, places: tuple[str, ...]) -> None:
    """Raise ConfigError for a name that is not a place of the method, or a place without the name of who runs it."""
    for place, name in network.trusted.items():
        if place not in places:
            raise ConfigError(
                f"{KEY}.trusted has {place!r}: method {network.method} has "
                f"{'no place without data' if not places else ', '.join(places)}; leave it out."
            )
        if not name.strip():
            raise ConfigError(f"{KEY}.trusted.{place} is {name!r}: give the name of who runs it, as people know it.")


def _holders(network: NetworkSettings, plan: Plan, extra: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """Return how the grid counts the parties, and the data holders: as many as it has and ``parties`` names."""
    case, where = plan.cases[network.case], f"studies.{network.study}.cases.{network.case}"
    if case.source.apart is None:
        raise ConfigError(
            f"{KEY}.case is {network.case!r}: its source {case.source_name!r} makes the data of all parties in one "
            "place; take a case of own data (source: table), or of a shipped table."
        )
    try:
        ways = [tuple(case.settings.by_party(count)) for count in case.parties]
    except ValueError as error:
        raise ConfigError(f"{where}.settings.{error}") from None
    every = max(ways, key=len)
    for name in network.parties:
        if name not in (*every, *extra):
            raise ConfigError(f"{KEY}.parties has {name!r}: {choices(name, (*every, *extra))}.")
    for name in extra:
        if name not in network.parties:
            raise ConfigError(f"{KEY}.parties lacks {name!r}, a place without data of method {network.method}: add it.")
    holders = tuple(name for name in every if name in network.parties)
    if holders not in ways:
        raise ConfigError(
            f"{KEY}.parties has the data holders {', '.join(holders) or 'none'}: the grid of case {network.case} takes "
            f"{' or '.join(', '.join(names) for names in ways)}."
        )
    return case.parties[ways.index(holders)], holders


def _check_certificates(network: NetworkSettings, names: tuple[str, ...]) -> None:
    """Raise ConfigError for an invalid fingerprint, or one of an unknown party."""
    for name, fingerprint in (network.certificates or {}).items():
        if name not in names:
            raise ConfigError(f"{KEY}.certificates has {name!r}: {choices(name, names)}.")
        if not isinstance(fingerprint, str) or not re.fullmatch(r"[0-9a-f]{64}", fingerprint):
            raise ConfigError(
                f"{KEY}.certificates.{name} is {fingerprint!r}: give the SHA-256 of its certificate, 64 hexadecimal "
                "digits, as the verb network certificates prints it."
            )


def _check_pins(
    network: NetworkSettings, addresses: Mapping[str, Listener], holders: Sequence[str], names: Sequence[str]
) -> None:
    """Raise ConfigError for a certificate that is not named where its authority alone would vouch for it.

    A relay of frames that has the authority's key could pose as any party; readers of a publication have no connection
    to its signers.
    """
    relayed = len(addresses) < len(network.parties)
    for name in names if relayed else holders if network.publisher else ():
        if name not in (network.certificates or {}):
            why = "NVFlare relays frames between" if relayed else f"{KEY}.publisher publishes what is signed by"
            raise ConfigError(
                f"{KEY}.certificates lacks {name!r}: in mode release {why} parties that are known by the certificates "
                "it names alone; add the SHA-256 of each (the verb network certificates prints it, openssl x509 "
                "-fingerprint -sha256 for others)."
            )


def _check_shares(network: NetworkSettings, options: object, holders: tuple[str, ...]) -> None:
    """Raise ConfigError unless shared noise has what it needs in mode release: certificates and a colluder."""
    for name in holders:
        if len(holders) > 1 and name not in (network.certificates or {}):
            raise ConfigError(
                f"{KEY}.certificates lacks {name!r}: in mode release clients that share noise take each other's keys "
                "with the certificates that it names alone; add what the verb network certificates prints."
            )
    if len(holders) > 1 and getattr(options, "colluders", 1) == 0:
        raise ConfigError(
            f"studies.{network.study}.methods.{network.method}.colluders is 0 with {KEY}.mode 'release': each client "
            "knows its own share of the noise, so that one alone is a coalition; give 1 or more."
        )


def _check_versions(network: NetworkSettings, question: object, holders: tuple[str, ...]) -> None:
    """Raise ConfigError for versions of data of some holders alone, or where no answer is stored."""
    for name in network.data_version:
        if name not in holders:
            raise ConfigError(f"{KEY}.data_version has {name!r}: {choices(name, holders)}.")
    for name in holders if network.data_version else ():
        if name not in network.data_version:
            raise ConfigError(f"{KEY}.data_version lacks {name!r}: each of {', '.join(holders)} declares a version.")
        if question is None:
            raise ConfigError(
                f"{KEY}.data_version is given, and answers of study {network.study} are not stored: leave it out."
            )


def _check_addresses(network: NetworkSettings, addresses: Mapping[str, Listener]) -> None:
    """Raise ConfigError for a name that no certificate or folder can have, and for a port that two parties share."""
    from .wire.tls import check_names

    try:
        check_names(tuple(sorted(network.parties)))
    except ValueError as error:
        raise ConfigError(f"{KEY}.parties has a {error}") from None
    taken: dict[Listener, str] = {}
    for name, address in addresses.items():
        if taken.setdefault(address, name) != name:
            raise ConfigError(
                f"{KEY}.parties.{name}.port is {address.port} at {address.host}, where {taken[address]} listens: give "
                "each party its own."
            )


def _rows(network: NetworkSettings, plan: Plan, holders: tuple[str, ...], places: tuple[str, ...]) -> dict[str, int]:
    """Return the records of every data holder, if the block states them."""
    settings = plan.cases[network.case].settings
    by_name = getattr(settings, "rows_differ", False)
    rows, where = network.rows, f"{KEY}.rows"
    if by_name and not isinstance(rows, dict):
        raise ConfigError(
            f"{where} is {rows!r}: clients hold different records, and how many is public; give {{client: number}}."
        )
    if not by_name and isinstance(rows, dict):
        raise ConfigError(f"{where} is {rows!r}: all parties hold the same records; give their number.")
    if isinstance(rows, dict):
        for name in rows:
            if name not in holders:
                raise ConfigError(f"{where} has {name!r}: {choices(name, holders)}.")
        for name in holders:
            if name not in rows:
                raise ConfigError(f"{where} lacks {name!r}: give the number of its records.")
        return {name: _at_least_one(convert(count, int, f"{where}.{name}"), name) for name, count in rows.items()}
    _check_groups(settings, f"studies.{network.study}.cases.{network.case}.settings", () if by_name else places)
    if rows is not None:
        return dict.fromkeys(holders, rows)
    if places and getattr(settings, "aligned", True) and not isinstance(settings, ShippedTable):
        raise ConfigError(f"{where} is missing: {places[0]} has no data and is to know the number of records; give it.")
    return {}


def _check_groups(settings: object, where: str, places: tuple[str, ...]) -> None:
    """Raise ConfigError if a place without data would need to know which records are held out together."""
    for key in ("user", "fold_block"):
        name = getattr(settings, key, None)
        if places and name is not None:
            raise ConfigError(
                f"{where}.{key} is {name!r}: records of one entry are held out together, and {places[0]}, which has no "
                f"data, does not know the entries; leave it out, or take a method without {places[0]}."
            )


def _at_least_one(count: int, name: str) -> int:
    if count < 1:
        raise ConfigError(f"{KEY}.rows.{name} is {count}: it must be at least 1.")
    return count
