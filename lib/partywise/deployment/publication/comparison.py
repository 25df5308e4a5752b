"""Comparison of published files with what follows from configuration and measurements, except for last digits."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

# Any: JSON of a statement that somebody else wrote.
from typing import Any

from ...core import documents
from ...core.errors import ConfigError
from ...experiment.plans import plans
from ..deployments import Deployment, deployments_of
from ..statement import files
from .release_folder import Rebuilt

# How far a number may be from the one that is computed again: of an estimate, of a cost, and of an interval, as a share
# of half its length.
ESTIMATE, COST, BOUND = 1e-8, 1e-9, 1e-6
# Keys whose values may be the address of a user's module.
ADDRESSES = ("address", "protocol", "source")


def deployment_in(configuration: bytes, statement: Mapping[str, Any]) -> Deployment:
    """Return the fit that a statement is of, in a published configuration; the first if it is of none."""
    config = documents.decode_json(files.CONFIGURATION, configuration)
    _refuse_foreign_code(config)
    deployments, terms = deployments_of(config, plans(config)), (statement["method"], statement["options"])
    if not deployments or deployments[0].network.mode != "release":
        raise ConfigError(f"{files.CONFIGURATION} has no block network with mode release.")

    def is_of_statement(deployment: Deployment) -> bool:
        fit = deployment.network
        return terms[0] == fit.method and (terms[1].get("epsilon"), terms[1].get("fold")) == (fit.epsilon, fit.fold)

    return next(filter(is_of_statement, deployments), deployments[0])


def _refuse_foreign_code(config: Any) -> None:
    """Raise ConfigError for a configuration that names modules or files, which a check would run or read."""
    if not all(isinstance(study, Mapping) and "file" not in study for study in config.get("studies", {}).values()):
        raise ConfigError(f"{files.CONFIGURATION} names a file of a study: it must hold the study itself.")
    for key, address in foreign_modules(config):
        raise ConfigError(
            f"{files.CONFIGURATION} has {key}: {address:.80}, a module from outside of partywise: a check of a folder "
            "from others does not run such a module."
        )


def foreign_modules(config: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys of a configuration that name modules, which making its plans imports, with their addresses."""
    if isinstance(config, Mapping):
        for name, value in config.items():
            yield from foreign_modules(value, str(name))
    elif isinstance(config, list):
        for value in config:
            yield from foreign_modules(value, key)
    elif key in ADDRESSES and ":" in str(config):
        yield key, str(config)


def first_difference(contents: Mapping[str, bytes], rebuilt: Rebuilt) -> str:
    """Describe the first file that does not follow from configuration and measurements; empty if all do."""
    estimate = rebuilt.files.get(files.ESTIMATE)
    if (estimate is not None) != (files.ESTIMATE in contents):
        presence = "missing, and must be" if estimate else "published, and must not be"
        return f"{files.ESTIMATE} is {presence} there"
    if estimate is not None and (where := estimate_differs(contents[files.ESTIMATE], estimate.value)):
        return f"{files.ESTIMATE} is not what the program makes of the measurements: {where}"
    for name in rebuilt.files.keys() - {files.ESTIMATE, files.STATEMENT, files.TEXT}:
        if contents.get(name) != rebuilt.files[name].value:
            return f"{name} is not as the program writes it"
    statement = documents.decode_json(files.STATEMENT, contents[files.STATEMENT])
    # An estimate of another machine may differ in its last digits: its digest is compared with the file.
    wanted = dict(rebuilt.statement)
    wanted["files"] = wanted["files"] | {
        name: documents.digest_of(contents[name]) for name in (files.ESTIMATE,) if name in contents
    }
    path = next(_differences(statement, wanted, ()), None)
    return f"{files.STATEMENT} has another {path} than the program states" if path else ""


def _differences(value: Any, wanted: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Yield the places where two values of JSON differ by more than the last digits of numbers."""
    name = " of ".join(reversed(path)) or "form"
    if isinstance(value, dict) and isinstance(wanted, dict):
        for key in sorted(value.keys() | wanted.keys()):
            if key not in value or key not in wanted:
                yield f"{key} of {name}" if path else key
            else:
                yield from _differences(value[key], wanted[key], (*path, key))
    elif isinstance(value, list) and isinstance(wanted, list) and len(value) == len(wanted):
        for k, (element, other) in enumerate(zip(value, wanted, strict=True)):
            yield from _differences(element, other, (*path, str(k)))
    elif type(value) is float and isinstance(wanted, float):
        if abs(value - wanted) > COST * max(abs(wanted), 1e-300):
            yield name
    elif type(value) is not type(wanted) or value != wanted:
        yield name


def estimate_differs(content: bytes, wanted: bytes) -> str:
    """Describe the first row in which two estimates differ; empty if none does."""
    rows, others = ([*csv.reader(io.StringIO(table.decode("utf-8"), newline=""))] for table in (content, wanted))
    if len(rows) != len(others):
        return f"it has {len(rows)} rows, not {len(others)}"
    names = others[0] if others else []
    for row, other in zip(rows, others, strict=True):
        if len(row) != len(other) or not all(map(_near, row, other, _tolerances(names, other))):
            return f"{' '.join(row)[:80]} where it has {' '.join(other)[:80]}"
    return ""


def _tolerances(names: Sequence[str], row: Sequence[str]) -> list[float | None]:
    """Return how far each entry of a row may be off; None of numbers that may be off by their own size."""
    entries = dict(zip(names, row, strict=False))
    try:
        width = BOUND * (float(entries["upper"]) - float(entries["lower"])) / 2
    except (KeyError, ValueError):
        return [None] * len(row)
    return [width if name in ("lower", "upper", "centre") else None for name in names]


def _near(text: str, wanted: str, tolerance: float | None) -> bool:
    if text == wanted:
        return True
    try:
        number, other = float(text), float(wanted)
    except ValueError:
        return False
    return abs(number - other) <= (ESTIMATE * max(abs(other), 1.0) if tolerance is None else tolerance)
