"""Block ``network`` of a configuration: which parties run which fits apart, their addresses, and budgets.

All parties have the same file. ``./run --configfile`` of it simulates the study and checks this block, no more.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from ..core.checks import Count, Delta, Natural, Positive, Range, check_fields
from ..core.errors import ConfigError
from ..experiment.configuration.build import build

KEY = "network"
# What the host of a party begins with that a translated configuration leaves to be filled in.
PLACEHOLDER = "HOST OF "
Questions = Literal["row", "label", "features", "user", "user_label"]
Target = Annotated[float, Range(0, ends="(]", finite=False)]


@dataclass(frozen=True, kw_only=True)
class Listener:
    """Address of a party. host : name or number of its machine; port : of the one connection that all others make"""

    host: str
    port: Annotated[int, Range(1, 65535)]

    def __post_init__(self) -> None:
        check_fields(self)
        name, _, port = self.host.rpartition(":")
        if name and ":" not in name and port.isdecimal():
            raise ValueError(f"host is {self.host!r}: give {name}, and its port under port.")
        if not self.host or any(mark.isspace() or mark in "/@" for mark in self.host):
            raise ValueError(f"host is {self.host!r}: give the name or number of a machine, such as hospital.example.")


@dataclass(frozen=True, kw_only=True)
class PartyBudget:
    """Budget of every party for its own data, over all runs of its ledger together, per ``unit``.

    numeric_reserve : part of delta for what profiles do not cover, such as masks of ciphertexts
    against : of noise in shares, so many colluders as a method declares (``declared``) or ``any`` others
    """

    epsilon: Positive
    delta: Delta
    unit: Questions
    numeric_reserve: Annotated[float, Range(0, 1)] = 0.0
    against: Literal["declared", "any"] = "declared"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.numeric_reserve >= self.delta:
            raise ValueError(f"numeric_reserve is {self.numeric_reserve:g}: it must be below delta ({self.delta:g}).")


@dataclass(frozen=True, kw_only=True)
class NamedFit:
    """One of several fits. method, epsilon, fold : of replicate 0; epsilon where the method has a target"""

    method: str
    epsilon: Target | None = None
    fold: Natural = 0

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """Keys of the block.

    study, case, method, epsilon, fold : the fit that is run, of replicate 0; epsilon where the method has a target
    fits : in place of method, epsilon and fold: several, run one after the other in one session, or ``grid`` for all of
        the case with these parties, in the order of ``./run``
    mode : ``experiment`` (all draw from streams of ``root_seed``, so that a simulation has the same numbers, and each
        could compute the noise of the others: it costs infinity) or ``release`` (what is secret comes from the
        operating system)
    rows : records of every client that count; where columns are split, one number of records for all
    patience : seconds that a party waits for another that is there; largest_message : bytes of the largest one
    deadline : seconds that the run may take once all are there; it ends for all then, and goes on if all start again
    same_platform : whether parties are refused whose version of Python, architecture, C library or kernels of numpy and
        OpenBLAS differ, so that last bits may; without it a difference is reported
    largest_epsilon : in mode ``release`` a method that certifies more than this for its unit is refused
    trusted : who runs a place that sees records (``aggregator``) or knows the noise (``dealer``), by the place; in mode
        ``release`` such a place must be named, and what all pay is infinite against it
    budget : see `PartyBudget`, of mode ``release``; without it nothing is refused
    parties : host and port of every data holder and every place without data, each once; nothing after the name where
        NVFlare connects them
    certificates : SHA-256 of the certificate of each of them, as ``network certificates`` prints it: keys that parties
        agree on are taken with these alone; needed with mode ``release`` where noise comes in shares
    publisher : who writes the folder ``release``, with mode ``release``; by default the first place without data
    unprotected_units : units of which an estimate that is made of the publisher's own data may cost everything
    data_version : of each data holder, the version of its data, such as "2026-11", with mode ``release``: the same
        question to the same versions has the stored answer and is paid once. A version names an extract that does not
        change; the next one comes on a public schedule
    score : in place of a fit, new records are scored by the model that one left: the file of each data holder with its
        columns of them, and ``rows`` is their number
    registration : folder with the registrations of all data holders, without which no party opens its file
    """

    study: str
    case: str
    method: str = ""
    epsilon: Target | None = None
    fold: Natural = 0
    fits: Literal["grid"] | tuple[NamedFit, ...] | None = None
    mode: Literal["experiment", "release"]
    rows: Count | dict[str, object] | None = None
    patience: Annotated[float, Range(1, 86400)] = 60.0
    deadline: Annotated[float, Range(1, 31_536_000)] | None = None
    largest_message: Annotated[int, Range(10_000, 2**40)] = 2**28
    same_platform: bool = False
    largest_epsilon: Positive = 20.0
    trusted: dict[str, str] = field(default_factory=dict)
    budget: PartyBudget | None = None
    parties: dict[str, object]
    certificates: dict[str, str] | None = None
    publisher: str | None = None
    unprotected_units: tuple[Literal["label", "features"], ...] = ()
    registration: str | None = None
    data_version: dict[str, str] = field(default_factory=dict)
    score: dict[str, str] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.method and self.fits is None:
            raise ValueError("method is missing: name that of the one fit that is run, or give several in fits.")
        for key, value in (("method", self.method), ("epsilon", self.epsilon), ("fold", self.fold)):
            if self.fits is not None and value not in ("", None, 0):
                raise ValueError(f"{key} is {value!r} with fits given: it is a key of each of the fits; leave it out.")
        if self.score is not None and self.fits is not None:
            raise ValueError("score is given with fits: records are scored by one model; name its method instead.")
        if self.fits == ():
            raise ValueError("fits is empty: give at least one, or 'grid'.")
        if self.mode == "experiment" and self.budget is not None:
            raise ValueError(
                "budget is given with mode experiment: all parties know the seeds of its noise, so that no budget "
                "covers what it releases; take mode release, or leave the budget out for data that are not secret."
            )
        for name, version in self.data_version.items():
            if self.mode == "experiment":
                raise ValueError(
                    f"data_version.{name} is {version!r} with mode experiment: a simulation stores no answers, its "
                    "noise follows from root_seed; take mode release, or leave it out."
                )
            if not isinstance(version, str) or not version.strip():
                raise ValueError(f"data_version.{name} is {version!r}: give text, such as '2026-11', in quotes.")


def digest(config: Mapping[str, object]) -> str:
    """SHA-256 of the content of a configuration: everything except comments, layout and the order of keys.

    A configuration with another number, another host or another title anywhere in it has another digest.
    """
    return hashlib.sha256(json.dumps(config, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def addresses_of(network: NetworkSettings) -> dict[str, Listener]:
    """Return the addresses of all parties, in the order of names; none if NVFlare connects them."""
    blocks = {name: block for name, block in sorted(network.parties.items()) if block is not None}
    hosts = {name: str(block.get("host")) for name, block in blocks.items() if isinstance(block, Mapping)}
    if blank := [name for name, host in hosts.items() if host.startswith(PLACEHOLDER)]:
        raise ConfigError(
            " ".join(f"{KEY}.parties.{name}.host is {hosts[name]!r}: give the machine of {name!r}." for name in blank)
        )
    return {name: build(Listener, block, f"{KEY}.parties.{name}") for name, block in blocks.items()}


def listen_address(text: str, where: str, port: int) -> tuple[str, int]:
    """Parse the host and port on which a party listens: ``0.0.0.0:8443``, ``[::]:8443`` or ``0.0.0.0``."""
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\s/@:\[\]]+)(?::(\d{1,5}))?", text)
    if match is None or not 0 < int(match[2] or port) < 2**16:
        raise ConfigError(f"{where} is {text!r}: give HOST or HOST:PORT of this machine, such as 0.0.0.0:8443.")
    return match[1].strip("[]"), int(match[2] or port)
