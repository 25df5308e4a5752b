"""State of a party before it connects: its end of the network, its part of every fit, places of the estimate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from ..core.documents import now
from ..core.errors import ConfigError
from ..experiment.configuration.build import choices
from ..federation.account.account import FILE
from ..privacy.ledger.event import Event
from .deployments import Deployment
from .part import LocalRun, parts
from .publication.publishing import check_signer, registrations_of
from .publication.release_folder import publisher_of
from .rehearsal import check_cost, estimate_ahead, published_charges, rehearse
from .settings import KEY, NetworkSettings, addresses_of
from .site.policy import MIN_CELL, SitePolicy, check_exact_sums
from .wire.interface import Transport
from .wire.journal import Journal


def connect(
    network: NetworkSettings,
    me: str,
    certificates: Path,
    journal: Journal | None = None,
    listen: tuple[str, int] | None = None,
) -> Transport:
    """Connect a party to the network; ``listen`` is where it listens itself, if others reach it elsewhere."""
    from .wire.network import PATIENCE
    from .wire.network import Network as Connections

    addresses = {name: (address.host, address.port) for name, address in addresses_of(network).items()}
    for name in network.parties.keys() - addresses.keys():
        raise ConfigError(f"{KEY}.parties.{name} has no host and port: add them, or let NVFlare connect all parties.")
    return Connections(
        me,
        addresses,
        certificates,
        largest=network.largest_message,
        patience=min(PATIENCE, network.patience),
        listen=listen,
        pins=network.certificates,
        journal=journal,
    )


Connect = Callable[[NetworkSettings, str, Path, Journal | None], Transport]


@dataclass(frozen=True)
class PartyStart:
    """State of a party at its start: fits, folders and settings.

    deployments : the fits of the configuration that all share, in their order
    configuration : digest of it; me : its name; data, certificates, into : folders
    account : file of its account over all runs, by default next to its data, or its outputs where it has none
    configuration_file : the shared configuration itself, as it is published
    policy : of its site, where it has one
    connect : its end of the connections to all others
    model : its part of the model by which new records are scored, by default ``model.json`` next to its data
    again : whether a new run is begun where one of this configuration has ended
    """

    deployments: tuple[Deployment, ...]
    configuration: str
    me: str
    data: Path
    certificates: Path
    into: Path
    account: Path | None = None
    configuration_file: bytes = b""
    policy: SitePolicy | None = None
    connect: Connect = connect
    model: Path | None = None
    again: bool = False

    @property
    def deployment(self) -> Deployment:
        """First fit, for what all of them have alike."""
        return self.deployments[0]

    @property
    def fits(self) -> tuple[PartyStart, ...]:
        """Start of each fit alone; each of several has a folder of its own in that of all."""
        if len(self.deployments) == 1:
            return (self,)
        return tuple(
            replace(self, deployments=(deployment,), into=self.into / deployment.label, account=self.ledger)
            for deployment in self.deployments
        )

    @property
    def ledger(self) -> Path:
        """File of the party's account."""
        if self.account is not None:
            return self.account / FILE if self.account.is_dir() else self.account
        return (self.data if self.me in self.deployment.holders else self.into) / FILE

    @property
    def journal(self) -> Path:
        """File by which a run goes on."""
        return self.ledger.with_suffix(".journal")

    @property
    def last_frames(self) -> Path:
        """File with the last frames of runs that have ended, for late peers."""
        return self.ledger.with_suffix(".ended")

    @property
    def delta(self) -> float:
        """Smallest delta of the fits, at which their costs are reported."""
        return min(deployment.delta for deployment in self.deployments)

    @property
    def where(self) -> str:
        """Beginning of sentences about this party."""
        return f"party {self.me!r}"


@dataclass(frozen=True)
class Preparation:
    """Data of a party before it connects: by fit its part and forms of messages, of all fits the rest.

    registrations : files of all owners by name; start_time : when this process was about to open data
    estimates : as of `Foresight`
    charges : by fit, the units that publishing its result leaves unprotected, by owner
    """

    parts: list[LocalRun]
    forms: list[dict[tuple[str, str], str] | None]
    registrations: dict[str, bytes]
    start_time: str
    estimates: dict[str, str]
    charges: list[Mapping[str, tuple[str, ...]]]

    @property
    def n(self) -> int:
        """Number of records of the party's part."""
        return len(self.parts[0].run.fold.of)


def prepare(start: PartyStart) -> Preparation:
    """Prepare a party before it connects; refuse every fit that the site, or the mode, does not allow."""
    deployment, policy, me = start.deployment, start.policy, start.me
    if me not in deployment.names:
        raise ConfigError(f"--me is {me!r}: {choices(me, deployment.names)}.")
    if policy is not None:
        for fit in start.deployments:
            policy.check_deployment(fit, me, publisher(fit))
    if any(map(publisher, start.deployments)):
        check_signer(deployment, start.certificates, me)
    # What is refused is refused before data are opened, but where only they say how many records there are.
    ahead = deployment.network.mode == "release" and bool(deployment.rows)
    forms = rehearse_all(start.deployments, 0) if ahead else None
    opened, registrations = now(), registrations_of(deployment, start.configuration, start.certificates)
    with nullcontext() if policy is None else policy.reading():
        own_parts = parts(start.deployments, start.configuration, me, start.data, model=start.model)
    if policy is not None:
        for part in own_parts:
            policy.check_records(part, me)
    elif deployment.network.score is None:
        for fit, part in zip(start.deployments, own_parts, strict=True):
            if not plan_draws(fit):
                rows = fit.plan.rows_per_user(fit.network.case)
                check_exact_sums(part.run, me, MIN_CELL * (rows or 1))
    n = len(own_parts[0].run.fold.of)
    if deployment.network.mode == "release" and forms is None:
        forms = rehearse_all(start.deployments, n)
    estimates = dict[str, str]()
    for fit, part in zip(start.deployments, own_parts, strict=True):
        if fit.network.method not in estimates:
            estimates[fit.network.method] = estimate_ahead(fit, part.run, n)
    charges = published_all(start.deployments, n)
    return Preparation(own_parts, forms or [None] * len(own_parts), registrations, opened, estimates, charges)


def rehearse_all(deployments: Sequence[Deployment], n: int) -> list[dict[tuple[str, str], str] | None]:
    """Return the forms of messages of every fit; those that differ in their fold alone are rehearsed once."""
    seen = {(fit.network.method, fit.network.epsilon): fit for fit in reversed(deployments)}
    rows = {key: list[Event]() for key in seen}
    forms = {key: rehearse(fit, n, rows[key]) for key, fit in reversed(seen.items())}
    if len(deployments) > 1:
        check_cost(deployments, [rows[fit.network.method, fit.network.epsilon] for fit in deployments])
    return [forms[fit.network.method, fit.network.epsilon] for fit in deployments]


def published_all(deployments: Sequence[Deployment], n: int) -> list[Mapping[str, tuple[str, ...]]]:
    """Return what publishing each fit leaves unprotected; fits that differ in their fold alone are alike."""
    seen = {(fit.network.method, fit.network.epsilon): fit for fit in reversed(deployments)}
    charges = {key: published_charges(fit, n) if publisher(fit) else {} for key, fit in reversed(seen.items())}
    return [charges[fit.network.method, fit.network.epsilon] for fit in deployments]


def publisher(deployment: Deployment) -> str:
    """Name the party that writes the folder of a release; empty if there is none."""
    published = deployment.network.mode == "release" and plan_draws(deployment)
    return (publisher_of(deployment) or "") if published else ""


def plan_draws(deployment: Deployment) -> bool:
    """Whether the method of a deployment adds noise."""
    return deployment.plan.methods[deployment.network.method].draws_noise
