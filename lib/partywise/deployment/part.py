"""Part of one party in fits: its own block, and of the others nothing but what is public."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

# Any: generators of a run become secret ones in place.
from typing import Any

import numpy as np

from ..core.randomness import Streams
from ..experiment.cells import executions
from ..experiment.data import generate
from ..federation.parties import Party
from ..federation.run import Run
from ..federation.secure_streams import SecureStreams
from .deployments import Deployment
from .scoring import MODEL, read_part, with_made_up_parts, with_own_part

RECORDS = "list of records"
# Name of a party whose records are not among those of a run.
NOBODY = ""


@dataclass(frozen=True)
class LocalRun:
    """Run with one block here, and the digests that the other parties must have alike.

    ids : names of its records, where they are those of all parties
    """

    run: Run
    facts: dict[str, str]
    ids: tuple[str, ...] = ()


def parts(
    deployments: Sequence[Deployment],
    configuration: str,
    me: str,
    folder: Path,
    resources: Path = Path("resources"),
    model: Path | None = None,
) -> list[LocalRun]:
    """Return the runs of a data holder or a place without data, from its files in ``folder``, which are read once.

    ``deployments`` are fits of one block; ``configuration`` is the digest of the shared one, the salt of that of the
    records; ``model`` is the file with the party's part of a model, where new records are scored.
    """
    if deployments[0].network.score is not None:
        return [_scored_part(deployments[0], configuration, me, folder, model or folder / MODEL)]
    runs, agreed, ids = wholes(deployments, me, folder, resources)
    facts, own_parts = {RECORDS: _digest(configuration, (*agreed, ids))} if agreed else {}, list[LocalRun]()
    for run in runs:
        own_run = Run(
            [p if p.name == me else Party(p.name, p.role, {}, p.columns) for p in run.parties],
            epsilon=run.epsilon,
            fold=run.fold,
            rng_for=run.rng_for,
            spec=run.spec,
            extra=deployments[0].places,
            real=run.channel.real,
            trusted=run.channel.trusted,
        )
        own_parts.append(LocalRun(own_run, facts, ids))
    return own_parts


def _scored_part(deployment: Deployment, configuration: str, me: str, folder: Path, model: Path) -> LocalRun:
    """Return the run that scores new records, from a party's file of them and its part of the model."""
    run, _, _ = whole(deployment, NOBODY, folder)
    party, files = next((holder for holder in run.parties if holder.name == me), None), deployment.network.score
    assert files is not None
    if party is None:
        with_own_part(deployment, run, me, np.empty(0), None)
        return LocalRun(run, {})
    part, fitted = read_part(deployment, party, model)
    case = deployment.plan.cases[deployment.network.case]
    assert case.source.new_records is not None
    ids, X = case.source.new_records(case.settings, me, files[me], folder, deployment.rows)
    with_own_part(deployment, run, me, X, part)
    return LocalRun(run, {RECORDS: _digest(configuration, (ids,)), "model that scores": fitted}, ids)


def whole(
    deployment: Deployment, me: str, folder: Path, resources: Path = Path("resources")
) -> tuple[Run, tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return the run with a party's block and placeholders for the others, what all must agree on, and ids."""
    (run,), agreed, ids = wholes((deployment,), me, folder, resources)
    return run, agreed, ids


def made_up_run(deployment: Deployment, n: int) -> Run:
    """Return the run on records made of the public settings; ``n`` records a party, if these do not give them."""
    rows = deployment.rows or dict.fromkeys(deployment.holders, n)
    run, _, _ = whole(replace(deployment, rows=rows), NOBODY, Path())
    return run


def wholes(
    deployments: Sequence[Deployment], me: str, folder: Path, resources: Path = Path("resources")
) -> tuple[list[Run], tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return the runs of fits of one block, as `whole` does; the data are read once."""
    first = deployments[0]
    network, case = first.network, first.plan.cases[first.network.case]
    if network.score is not None:
        case, me = replace(case, settings=replace(case.settings, min_records=2)), ""
    assert case.source.apart is not None
    placed = case.source.apart(case.settings, me, first.rows, folder)
    # What a program may read of the settings is what all parties have.
    plan = replace(first.plan, cases={case.name: replace(case, settings=placed.settings)})
    runs, begun = list[Run](), dict[str, Callable[[int, float], Run]]()
    with placed.read():
        data = generate(plan, case.name, [0], resources)[0]
        for deployment in deployments:
            method = deployment.network.method
            if method not in begun:
                begun[method] = executions(plan, case.name, method, first.n_parties, data)
            runs.append(begun[method](deployment.network.fold, deployment.epsilon))
    for run in runs:
        run.spec = replace(run.spec, settings=case.settings)
        if network.mode == "release":
            assert isinstance(run.rng_for, Streams)
            secret: Any = SecureStreams(run.rng_for)
            run.rng_for, run.channel.real, run.channel.trusted = secret, True, frozenset(network.trusted)
    if network.score is not None:
        return [with_made_up_parts(first, run) for run in runs], (), ()
    if not placed.common:
        return runs, (), ()
    return runs, placed.common, tuple(map(str, getattr(data, "ids", ())))


def _digest(salt: str, lists: Sequence[Sequence[str]]) -> str:
    """Salted SHA-256 of lists of text: without the salt, guesses of the text cannot be tested."""
    total = hashlib.sha256(salt.encode())
    for texts in lists:
        total.update(f"\n{len(texts)}".encode())
        for text in texts:
            total.update(f"\n{len(text)} {text}".encode())
    return total.hexdigest()
