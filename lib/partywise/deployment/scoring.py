"""Scoring of new records in a distributed run: each party has its part of a model, and its columns in a file."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

# Any: a part of a model, of whichever package the method is.
from typing import Any, NoReturn

import numpy as np

from .. import __version__
from ..core.errors import ModelError
from ..core.files import replacing
from ..federation.estimators.saved_model import plain, read, value_of_type, with_digest
from ..federation.parties import Party
from ..federation.run import Run
from .deployments import Deployment, scoring_address
from .session.outcome import Outcome

MODEL, FORMAT = "model.json", "partywise part 1"
KEYS = ("format", "partywise", "study", "case", "method", "run", "party", "columns", "part", "digest")


def _module(deployment: Deployment) -> Any:
    """Import the module of the program that scores; None if the method has none."""
    address = scoring_address(deployment.plan.methods[deployment.network.method].protocol.fit.address)
    return None if address is None else import_module(address.partition(":")[0])


def keep_part(deployment: Deployment, outcome: Outcome, run: Run, me: str, into: Path) -> None:
    """Write the part of a model that a party has when a fit has ended, if it has one that scores."""
    (into / MODEL).unlink(missing_ok=True)
    module, party = _module(deployment), next((member for member in run.parties if member.name == me), None)
    if module is None or party is None:
        return
    part = module.part_of(outcome.value, party, run.spec)
    if part is None:
        return
    network = deployment.network
    content = {
        "format": FORMAT,
        "partywise": __version__,
        "study": network.study,
        "case": network.case,
        "method": network.method,
        "run": outcome.run,
        "party": me,
        "columns": _column_names(deployment),
        "part": plain(part),
    }
    with replacing(into / MODEL) as temporary, temporary.open("wb") as handle:
        handle.write(with_digest(content))
        handle.flush()
        os.fsync(handle.fileno())


def _column_names(deployment: Deployment) -> list[str]:
    return list(deployment.plan.cases[deployment.network.case].settings.column_names)


def read_part(deployment: Deployment, party: Party, path: Path) -> tuple[object, str]:
    """Read the part of a party from its file, and the id of the run that left it; ModelError for another's."""

    def refuse(key: str, why: str) -> NoReturn:
        raise ModelError(f"{path}: {key} {why}: give the {MODEL} that the fit of this model left this party.")

    content, network = read(path, FORMAT, KEYS), deployment.network
    wanted = {"study": network.study, "party": party.name, "columns": _column_names(deployment)}
    for key, value in wanted.items():
        if content[key] != value:
            refuse(key, f"is {content[key]!r}, and the configuration has {value!r}")
    module = _module(deployment)
    part = value_of_type(content["part"], module.ModelPart, "part", refuse)
    try:
        part.check(party.role, party.columns, len(wanted["columns"]))
    except ValueError as error:
        refuse("part", f"cannot be used ({error})")
    return part, value_of_type(content["run"], str, "run", refuse)


def with_made_up_parts(deployment: Deployment, run: Run) -> Run:
    """Return the run of a rehearsal: records and parts of a model that carry no information, at all parties."""
    module, n = _module(deployment), len(run.fold.of)
    run.parties = tuple(
        _holder(party, np.zeros((n, len(party.columns))), module.made_up_part(party, run.spec.public))
        for party in run.parties
    )
    return run


def with_own_part(deployment: Deployment, run: Run, me: str, X: np.ndarray, part: object) -> None:
    """Give a run this party's own records and part, and nothing of others."""
    run.parties = tuple(
        _holder(party, X, part) if party.name == me else Party(party.name, party.role, {}, party.columns)
        for party in run.parties
    )


def _holder(party: Party, X: np.ndarray, part: object) -> Party:
    block: dict[str, Any] = {"X": X, "part": part}
    return Party(party.name, party.role, block, party.columns)
