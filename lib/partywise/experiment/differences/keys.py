"""Keys of two configurations that differ, by their dotted paths."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

ABSENT = "(absent)"


@dataclass(frozen=True)
class Key:
    """A key whose value differs; ``(absent)`` where a configuration does not have it."""

    path: str
    first: str
    second: str


def differing_keys(first: str, second: str) -> Iterator[Key]:
    """Keys that differ between the ``config_json`` of two cubes, in the order in which they were written.

    What only one of them has, such as a case, is one key, however much is below it.
    """
    old, new = _as_written(first), _as_written(second)
    yield from _differing(old, new, "")


def root_seed(text: str) -> object:
    """The root seed of a ``config_json``."""
    return json.loads(text).get("root_seed")


def _as_written(text: str) -> dict[str, object]:
    """The tree of keys as a configuration file has it."""
    config = dict(json.loads(text))
    study, seed = config.pop("study", ""), config.pop("root_seed", None)
    return {"root_seed": seed, "studies": {study: config}}


def _differing(old: object, new: object, path: str) -> Iterator[Key]:
    if old is not _NOTHING and new is not _NOTHING and old == new:
        return
    first, second = _children(old), _children(new)
    if not first or not second:
        yield Key(path, _value_text(old), _value_text(new))
        return
    for key in dict.fromkeys([*first, *second]):
        below = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")
        yield from _differing(first.get(key, _NOTHING), second.get(key, _NOTHING), below)


_NOTHING = object()


def _children(value: object) -> Mapping[str | int, object]:
    """Return the children of a mapping, or of a list that has mappings, by key or index; else none."""
    if isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        return dict(enumerate(value))
    return value if isinstance(value, Mapping) else {}


def _value_text(value: object) -> str:
    if value is _NOTHING:
        return ABSENT
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return text.replace("Infinity", ".inf")
