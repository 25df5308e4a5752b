"""The only way to publish: files are written of what exact and secret noise released, and of nothing else."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from ..core.errors import CertificationError
from ..core.files import replacing
from ..privacy.accounted_values import UNPROVED, AccountedValue, Clear, open_charges
from ..privacy.ledger.event import POST_PROCESSING, Event
from ..privacy.ledger.reach import clear_event
from ..privacy.mechanisms.random import require_secure
from ..privacy.mechanisms.release import MECHANISMS, Release

# How rows of what everybody is to see are called.
ROW = "publication"


def publish(value: AccountedValue, file: Path, unprotected: Collection[str] = ()) -> None:
    """Write the bytes of an exact, secure and certified release, or of what is made of such and public values.

    ``unprotected`` are the units that the configuration names as protected by nothing (a key of the block ``network``).
    For everything else `CertificationError`, before anything is written.
    """
    require_publishable(value, file.name, unprotected)
    if not isinstance(value.value, bytes):
        raise CertificationError(f"{file.name} would hold a {type(value.value).__name__}: publish the bytes of a file.")
    with replacing(file) as temporary:
        temporary.write_bytes(value.value)


def require_publishable(value: object, name: str, unprotected: Collection[str] = ()) -> None:
    """CertificationError unless everything that a value is made of may be seen by all."""
    if not isinstance(value, AccountedValue):
        raise CertificationError(
            f"{name} would hold a bare {type(value).__name__}, which does not state what it cost: publish "
            "releases, and functions of them (derive)."
        )
    if isinstance(value, Clear):
        open_units = [unit for unit in value.units if unit not in unprotected]
        if open_units:
            raise CertificationError(
                f"{name} is made of values in the clear, so that nothing protects the unit {open_units[0]}: leave it "
                "out, or name the unit in network.unprotected_units."
            )
    elif isinstance(value, Release):
        _require_release(value, name)
    for part in value.made_of:
        require_publishable(part, name, unprotected)


def _require_release(release: Release, name: str) -> None:
    event = release.event
    require_secure(release)
    if event.mechanism == POST_PROCESSING:
        named = {part.event.release_id for part in _nearest(release)}
        if not named or not set(event.data_dependent_parameters) <= named:
            raise CertificationError(f"{name} is computed from {event.data_dependent_parameters}, which it lacks.")
    elif reason := missing_proof(event):
        raise CertificationError(f"{name} would hold release {event.release_id!r}, {reason}.")


def _nearest(release: Release) -> list[Release]:
    parts = list(release.made_of)
    for part in parts:
        if not isinstance(part, Release):
            parts.extend(part.made_of)
    return [part for part in parts if isinstance(part, Release)]


def missing_proof(event: Event) -> str:
    """Why nothing finite is proved of a release, as the end of a sentence; empty where something is."""
    if not event.certified or UNPROVED in event.data_dependent_parameters:
        return "of which nothing finite is proved"
    if event.mechanism not in MECHANISMS:
        return f"whose mechanism {event.mechanism!r} is not one of this library"
    parameters = [parameter for parameter in (event.mu, event.rho, event.epsilon) if parameter is not None]
    return "" if parameters and all(map(math.isfinite, parameters)) else "which has no finite cost"


def charges_of(parts: Iterable[tuple[str, AccountedValue]]) -> dict[str, tuple[str, ...]]:
    """Return the unprotected units by owner in values, each given with its sender."""
    units_by_owner = dict[str, set[str]]()
    for sender, part in parts:
        for owner, units in open_charges(part, sender).items():
            units_by_owner.setdefault(owner, set()).update(units)
    return {owner: tuple(sorted(units)) for owner, units in sorted(units_by_owner.items())}


def open_rows(charges: Mapping[str, tuple[str, ...]], *owners: str) -> list[Event]:
    """Return the rows of data that a publication leaves unprotected: one for each owner, or for each of some."""
    return [
        clear_event(f"{ROW} in the clear of {owner}", owner, units, "*")
        for owner, units in charges.items()
        if not owners or owner in owners
    ]
