"""Whether published files are those that follow from configuration and measurements, but for last digits of numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping

# Any: JSON of a statement that somebody else wrote.
from typing import Any

from ...core import documents
from ...core.errors import ConfigError
from ...experiment.plans import plans
from ..settings import Deployment, deployments_of
from ..statement import files
from .release_folder import Rebuilt

# How far a number may be from the one that is computed again: of an estimate, and of a cost.
ESTIMATE, COST = 1e-8, 1e-9
# Keys whose values may be the address of a user's module.
ADDRESSES = ("address", "protocol", "source")


def deployment_in(configuration: bytes, statement: Mapping[str, Any]) -> Deployment:
    """The fit of the block ``network`` of a published configuration that a statement is of; the first if of none."""
    config = documents.decode_json(files.CONFIGURATION, configuration)
    _refuse_foreign_code(config)
    found, told = deployments_of(config, plans(config)), (statement["method"], statement["options"])
    if not found or found[0].network.mode != "release":
        raise ConfigError(f"{files.CONFIGURATION} has no block network with mode release.")

    def is_of_statement(one: Deployment) -> bool:
        fit = one.network
        return told[0] == fit.method and (told[1].get("epsilon"), told[1].get("fold")) == (fit.epsilon, fit.fold)

    return next(filter(is_of_statement, found), found[0])


def _refuse_foreign_code(config: Any) -> None:
    """ConfigError for a configuration that names modules or files: whoever checks it would run or read them."""
    if not all(isinstance(one, Mapping) and "file" not in one for one in config.get("studies", {}).values()):
        raise ConfigError(f"{files.CONFIGURATION} names a file of a study: it must hold the study itself.")
    for key, address in foreign_modules(config):
        raise ConfigError(
            f"{files.CONFIGURATION} has {key}: {address:.80}, a module from outside of partywise: whoever checks a "
            "folder of others runs none."
        )


def foreign_modules(config: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Keys of a configuration that name modules, which making its plans imports, with their addresses."""
    if isinstance(config, Mapping):
        for name, value in config.items():
            yield from foreign_modules(value, str(name))
    elif isinstance(config, list):
        for value in config:
            yield from foreign_modules(value, key)
    elif key in ADDRESSES and ":" in str(config):
        yield key, str(config)


def first_difference(given: Mapping[str, bytes], made: Rebuilt) -> str:
    """What of the files is not what follows from configuration and measurements, as a sentence; empty if all is."""
    shown = made.files.get(files.ESTIMATE)
    if (shown is not None) != (files.ESTIMATE in given):
        return f"{files.ESTIMATE} is {'missing' if shown else 'published'}, and must {'' if shown else 'not '}be there"
    if shown is not None and (where := estimate_differs(given[files.ESTIMATE], shown.value)):
        return f"{files.ESTIMATE} is not what the program makes of the measurements: {where}"
    for name in (files.MEASUREMENTS, files.CONFIGURATION):
        if given[name] != made.files[name].value:
            return f"{name} is not as the program writes it"
    told = documents.decode_json(files.STATEMENT, given[files.STATEMENT])
    # An estimate of another machine may differ in its last digits: its digest is compared with the file.
    wanted = dict(made.statement)
    wanted["files"] = wanted["files"] | {
        name: documents.digest_of(given[name]) for name in (files.ESTIMATE,) if name in given
    }
    path = next(_differences(told, wanted, ()), None)
    return f"{files.STATEMENT} has another {path} than the program states" if path else ""


def _differences(told: Any, wanted: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Where two values of JSON differ by more than the last digits of numbers."""
    name = " of ".join(reversed(path)) or "form"
    if isinstance(told, dict) and isinstance(wanted, dict):
        for key in sorted(told.keys() | wanted.keys()):
            if key not in told or key not in wanted:
                yield f"{key} of {name}" if path else key
            else:
                yield from _differences(told[key], wanted[key], (*path, key))
    elif isinstance(told, list) and isinstance(wanted, list) and len(told) == len(wanted):
        for k, (one, other) in enumerate(zip(told, wanted, strict=True)):
            yield from _differences(one, other, (*path, str(k)))
    elif type(told) is float and isinstance(wanted, float):
        if abs(told - wanted) > COST * max(abs(wanted), 1e-300):
            yield name
    elif type(told) is not type(wanted) or told != wanted:
        yield name


def estimate_differs(given: bytes, wanted: bytes) -> str:
    """The first number of an estimate that is another one, in words; empty where none is."""
    rows, others = ([*csv.reader(io.StringIO(one.decode("utf-8"), newline=""))] for one in (given, wanted))
    if len(rows) != len(others):
        return f"it has {len(rows)} rows, not {len(others)}"
    for row, other in zip(rows, others, strict=True):
        if row[:1] != other[:1] or len(row) != len(other) or not all(map(_near, row[1:], other[1:])):
            return f"{' '.join(row)[:80]} where it has {' '.join(other)[:80]}"
    return ""


def _near(given: str, wanted: str) -> bool:
    if given == wanted:
        return True
    try:
        one, other = float(given), float(wanted)
    except ValueError:
        return False
    return abs(one - other) <= ESTIMATE * max(abs(other), 1.0)
