"""One party's part of a fit: its own block, and of the others nothing but what is public."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...federation.parties import Party
from ...federation.run import Run
from ...federation.secure_streams import SecureStreams
from ...randomness import Streams
from ..cells import execution
from ..data import generate
from .settings import Deployment

RECORDS = "list of records"


@dataclass(frozen=True)
class Part:
    """A run of which one block is here, and the digests that the other parties must have alike.

    ids : names of its records, where they are those of all parties
    """

    run: Run
    facts: dict[str, str]
    ids: tuple[str, ...] = ()


def part(
    deployment: Deployment, configuration: str, me: str, folder: Path, resources: Path = Path("resources")
) -> Part:
    """The run of a data holder or a place without data, from its own files in ``folder``.

    ``configuration`` is the digest of the shared one, the salt of that of the records.
    """
    run, agreed, ids = whole(deployment, me, folder, resources)
    parties = [p if p.name == me else Party(p.name, p.role, {}, p.columns) for p in run.parties]
    facts = {RECORDS: _digest(configuration, (*agreed, ids))} if agreed else {}
    own = Run(
        parties,
        epsilon=run.epsilon,
        fold=run.fold,
        rng_for=run.rng_for,
        spec=run.spec,
        extra=deployment.places,
        real=run.channel.real,
        trusted=run.channel.trusted,
    )
    return Part(own, facts, ids)


def whole(
    deployment: Deployment, me: str, folder: Path, resources: Path = Path("resources")
) -> tuple[Run, tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """The run with the block of a party and what stands in place of those of the others; what must be agreed; ids."""
    network, case = deployment.network, deployment.plan.cases[deployment.network.case]
    assert case.source.apart is not None
    placed = case.source.apart(case.settings, me, deployment.rows, folder)
    # What a program may read of the settings is what all parties have.
    plan = replace(deployment.plan, cases={case.name: replace(case, settings=placed.settings)})
    with placed.read():
        data = generate(plan, case.name, [0], resources)[0]
        run = execution(plan, case.name, network.method, deployment.n_parties, network.fold, deployment.epsilon, data)
    run.spec = replace(run.spec, settings=case.settings)
    if network.mode == "release":
        assert isinstance(run.rng_for, Streams)
        secret: Any = SecureStreams(run.rng_for)
        run.rng_for, run.channel.real, run.channel.trusted = secret, True, frozenset(network.trusted)
    if not placed.common:
        return run, (), ()
    assert hasattr(data, "ids")
    return run, placed.common, tuple(map(str, data.ids))


def _digest(salt: str, lists: Sequence[Sequence[str]]) -> str:
    """SHA-256 of lists of text that nobody finds without the salt."""
    total = hashlib.sha256(salt.encode())
    for texts in lists:
        total.update(f"\n{len(texts)}".encode())
        for text in texts:
            total.update(f"\n{len(text)} {text}".encode())
    return total.hexdigest()
