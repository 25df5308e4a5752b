"""The JSON schemas of configurations, from the dataclasses that check them: ``config/schema/*.json``, for editors.

``.venv/bin/python docs/_schema.py`` writes them anew.  A shipped configuration names its schema in its first line.  A
schema shows keys, types, ranges and meanings in an editor; the reader checks rules between keys, before any job.
"""

from __future__ import annotations

import json
import sys
from dataclasses import MISSING, fields, is_dataclass
from math import inf
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from partywise.core.checks import Matrix, OneOfCiphers, Range, field_types
from partywise.deployment.settings import Listener, NetworkSettings
from partywise.deployment.site.policy import Site
from partywise.experiment.configuration.grammar import NAME, CaseBlock, Configuration, Grid, StudyBlock
from partywise.experiment.design.block import DesignBlock
from partywise.experiment.plan import SHORT
from partywise.experiment.study import Study, available, load

sys.path.insert(0, str(Path(__file__).parent))
from _generate import meanings

FOLDER = Path(__file__).resolve().parents[1] / "config" / "schema"
DRAFT = "http://json-schema.org/draft-07/schema#"
TYPES = {int: "integer", float: "number", bool: "boolean", str: "string", dict: "object", NoneType: "null"}
NAMES = {"pattern": f"^{NAME.pattern}$"}
ADDRESS = {"type": "string", "pattern": ":"}
# Rows of numbers, a list of matrices, or a file that holds them.
MATRIX = {
    "anyOf": [
        {"type": "array", "items": {"type": "array"}},
        {
            "type": "object",
            "properties": {"file": {"type": "string", "pattern": "\\.(csv|npz)$"}},
            "required": ["file"],
            "additionalProperties": False,
        },
    ]
}
LONGEST = 200

Schema = dict[str, Any]


def schemas() -> dict[str, str]:
    """Text of every schema by the name of its file: of a configuration, a site, and the block of each study."""
    content = {"configuration": configuration(), "site": site(), "design": design()} | {
        name: study(load(name)) for name in available()
    }
    return {f"{name}.json": f"{laid_out(schema)}\n" for name, schema in content.items()}


def configuration() -> Schema:
    """Schema of a configuration file."""
    blocks = {
        name: {
            "anyOf": [
                {"type": "string"},
                {
                    "allOf": [{"$ref": f"{name}.json#/definitions/block"}],
                    "anyOf": [{"required": ["file"]}, {"required": ["methods", "cases"]}],
                },
            ]
        }
        for name in available()
    }
    definitions: Schema = {}
    top = block(Configuration, definitions)
    network = block(NetworkSettings, definitions)
    # Nothing after the name where NVFlare connects the parties.
    address = {"anyOf": [block(Listener, definitions), {"type": "null"}]}
    network["properties"]["parties"] |= {"additionalProperties": address}
    top["properties"]["network"] |= network
    top["properties"]["studies"] |= {"properties": blocks, "additionalProperties": {"type": ["string", "object"]}}
    return {"$schema": DRAFT, "title": "A configuration of partywise", **top, "definitions": definitions}


def site() -> Schema:
    """Schema of the file of a site."""
    definitions: Schema = {}
    top = block(Site, definitions)
    return {"$schema": DRAFT, "title": "What a site consents to", **top, "definitions": definitions}


def design() -> Schema:
    """Schema of a file of designs."""
    definitions: Schema = {}
    designs = {"type": "object", "additionalProperties": block(DesignBlock, definitions)}
    top = {"type": "object", "properties": {"design": designs}, "required": ["design"]}
    return {"$schema": DRAFT, "title": "Designs before data", **top, "definitions": definitions}


def study(declaration: Study) -> Schema:
    """Schema of the file of a study; ``definitions/block`` is that of a block which may name such a file."""
    definitions: Schema = {}
    whole = block(StudyBlock, definitions)
    required = whole.pop("required")
    keys = whole["properties"]
    keys["file"] = {"type": "string", "description": "file that holds the block; keys next to it override it"}
    keys["spec"] |= block(declaration.spec, definitions)
    keys["spec"].pop("required", None)
    keys["methods"] |= {"propertyNames": NAMES, "additionalProperties": {"$ref": "#/definitions/method"}}
    # A case without keys is its source, by the name.
    empty: Schema = {"if": {"type": "null"}, "else": {"$ref": "#/definitions/case"}}
    keys["cases"] |= {"propertyNames": NAMES, "additionalProperties": empty}
    keys["grid"] |= block(Grid, definitions, required=False)
    keys["figures"]["items"] = {"enum": list(declaration.figures)}
    definitions |= {"block": whole, "method": method(declaration, definitions), "case": case(declaration, definitions)}
    label = {"properties": {"methods": {"additionalProperties": {"required": ["protocol"]}}, "file": False}}
    return {
        "$schema": DRAFT,
        "title": declaration.title,
        "allOf": [{"$ref": "#/definitions/block"}, {"required": required, **label}],
        "definitions": definitions,
    }


def method(declaration: Study, definitions: Schema) -> Schema:
    """A method: its options by its protocol."""
    keys: Schema = {
        "protocol": {
            "anyOf": [{"enum": list(declaration.methods)}, ADDRESS],
            "description": "how its estimate is computed",
        },
        "title": {"type": "string", "description": "what figures call it; braces hold options"},
        "short": {"type": "string", "description": f"its title in tables, at most {SHORT} characters"},
        "without_noise": {
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            "description": "methods that fit the same model without noise; the first in a case is the reference",
        },
    }
    branches = []
    for name, protocol in declaration.methods.items():
        options = block(protocol.options, definitions)
        then = options | {"properties": dict.fromkeys(keys, True) | options["properties"]}
        branches.append({"if": _is("protocol", name), "then": then})
    return {"type": "object", "properties": keys, "allOf": branches}


def case(declaration: Study, definitions: Schema) -> Schema:
    """A case: its settings by its source; what a sweep gives is not missing."""
    whole = block(CaseBlock, definitions)
    keys = whole["properties"]
    keys["source"] = {
        "anyOf": [{"enum": list(declaration.sources)}, ADDRESS],
        "description": keys["source"]["description"],
    }
    keys["grid"] |= block(Grid, definitions, required=False)
    values = {"anyOf": [{"type": "array", "minItems": 1}, {"type": "object", "minProperties": 1}]}
    keys["sweep"] |= {"additionalProperties": values, "minProperties": 1}
    branches = []
    for name, source in declaration.sources.items():
        settings = block(source.settings, definitions)
        settings.pop("required", None)
        branches.append({"if": _is("source", name), "then": {"properties": {"settings": settings}}})
    return whole | {"allOf": branches}


def _is(key: str, word: str) -> Schema:
    return {"properties": {key: {"const": word}}, "required": [key]}


def block(cls: type, definitions: Schema, *, required: bool = True) -> Schema:
    """A dataclass as a block of keys; dataclasses inside it go to the definitions."""
    descriptions, properties, needed = meanings(cls), {}, []
    for entry in fields(cls):  # type: ignore[arg-type]
        content = value(field_types(cls)[entry.name], definitions)
        content = {"allOf": [content]} if "$ref" in content else content
        properties[entry.name] = content | (
            {"description": descriptions[entry.name]} if descriptions[entry.name] else {}
        )
        if entry.default is MISSING and entry.default_factory is MISSING:
            needed.append(entry.name)
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": needed} if needed and required else {})


def value(hint: Any, definitions: Schema) -> Schema:
    """A type as a schema."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if isinstance(args[1], OneOfCiphers):
            # A package may register others.
            return {"anyOf": [{"enum": list(args[1].library)}, value(args[0], definitions)]}
        limits = [note for note in args[1:] if isinstance(note, Range)]
        return value(args[0], definitions) | {key: bound for limit in limits for key, bound in _bounds(limit)}
    if origin is Literal:
        return {"enum": list(args)}
    if hint is Matrix:
        return MATRIX
    if origin in (Union, UnionType):
        return {"anyOf": [value(arg, definitions) for arg in args]}
    if origin is tuple and args[-1] is Ellipsis:
        return {"type": "array", "items": value(args[0], definitions)}
    if origin is tuple:
        items = [value(arg, definitions) for arg in args]
        return {"type": "array", "items": items, "minItems": len(items), "maxItems": len(items)}
    if is_dataclass(hint) and isinstance(hint, type):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}
            definitions[hint.__name__] |= block(hint, definitions)
        return {"$ref": f"#/definitions/{hint.__name__}"}
    return {"type": TYPES[origin or hint]}


def _bounds(limit: Range) -> list[tuple[str, float]]:
    """Ends of a range; infinity is not a number of JSON."""
    low = ("minimum" if limit.ends[0] == "[" else "exclusiveMinimum", limit.low)
    high = ("maximum" if limit.ends[1] == "]" else "exclusiveMaximum", limit.high)
    return [(key, bound) for key, bound in (low, high) if abs(bound) < inf]


def laid_out(node: Any, indent: str = "") -> str:
    """Return JSON with each value that fits on a line on one line, so that a diff shows the place of a change."""
    text = json.dumps(node, ensure_ascii=False)
    if len(indent) + len(text) <= LONGEST or not isinstance(node, dict | list) or not node:
        return text
    inner = indent + " "
    if isinstance(node, list):
        return "[\n" + ",\n".join(inner + laid_out(element, inner) for element in node) + f"\n{indent}]"
    pairs = (f"{inner}{json.dumps(key)}: {laid_out(element, inner)}" for key, element in node.items())
    return "{\n" + ",\n".join(pairs) + f"\n{indent}}}"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, text in schemas().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
