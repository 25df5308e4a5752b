"""The checks of a configuration, all before the first job: schema, dataclasses of the study, contradictions.

Every violation of the schema is told as one sentence; the other two are in ``partywise.experiment.plan``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from partywise.errors import ConfigError
from partywise.experiment.config import choices
from partywise.experiment.plan import Plan, plan

SCHEMA = Path(__file__).parent / "schemas" / "config.schema.yaml"
KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "array": "a list",
    "object": "a block of keys",
}


@cache
def schema() -> dict[str, Any]:
    """The schema as data."""
    return yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))


def checked_plans(config: Mapping[str, Any]) -> dict[str, Plan]:
    """One plan for each study of a configuration.

    Raises
    ------
    ConfigError
        For the first key that is unknown, missing, mistyped, out of range or contradicts another.
    """
    check_schema(config)
    return {name: plan(name, block, config["root_seed"]) for name, block in config["studies"].items()}


def check_files(plans: Mapping[str, Plan], folder: Path) -> None:
    """Raise :class:`ConfigError` for the first file that the settings of a case name and that is not in the folder."""
    for study, made in plans.items():
        for name, case in made.cases.items():
            for key, file in getattr(case.settings, "files", {}).items():
                if not (folder / file).is_file():
                    raise ConfigError(
                        f"studies.{study}.cases.{name}.settings.{key} is {file!r}: there is no such file; paths begin "
                        f"in the folder of the run, {folder}."
                    )


def check_schema(config: Mapping[str, Any]) -> None:
    """Raise :class:`ConfigError` for the first violation: key path, value, and what is allowed."""
    error = best_match(Draft202012Validator(schema()).iter_errors(config))
    if error is not None:
        raise ConfigError(sentence(error))


def sentence(error: ValidationError) -> str:
    """One sentence about a violation."""
    where = ".".join(str(part) for part in error.absolute_path)
    value, wanted = error.instance, error.validator_value
    dot = f"{where}." if where else ""
    match error.validator:
        case "additionalProperties":
            allowed = error.schema.get("properties", {})
            unknown = next(key for key in value if key not in allowed)
            return f"{dot}{unknown} is unknown: {choices(unknown, allowed)}."
        case "required":
            missing = next(key for key in wanted if key not in value)
            return f"{dot}{missing} is missing: give {_described(error.schema['properties'].get(missing, {}))}."
        case "type":
            return f"{where or 'the configuration'} is {value!r}: it must be {KINDS[wanted]}{_advice(value, wanted)}."
        case "pattern":
            return f"{where or value} is {value!r}: a name has a-z, 0-9 and _, a letter first."
        case "uniqueItems":
            return f"{where} is {value!r}: no value may be given twice."
        case "minItems" | "minProperties":
            return f"{where} is empty: give at least one."
        case "minimum":
            return f"{where} is {value!r}: it must be at least {wanted}."
        case "maximum":
            return f"{where} is {value!r}: it must be at most {wanted}."
        case "exclusiveMinimum":
            return f"{where} is {value!r}: it must be greater than {wanted}."
        case _:
            return f"{where} is {value!r}: {error.message}."


def _described(entry: Mapping[str, Any]) -> str:
    return KINDS.get(entry.get("type", ""), "a name")


def _advice(value: Any, wanted: str) -> str:
    """YAML 1.1 reads 1e-5 as text."""
    if wanted == "number" and isinstance(value, str):
        return " (numbers with an exponent need a point, as in 1.0e-5; infinity is .inf)"
    return ""
