"""Dataclasses from configuration: unknown, missing, mistyped and refused keys are one sentence each."""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from functools import cache

# Any: a hint of a field, and the value that it asks for.
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ...core.checks import Matrix
from ...core.errors import ConfigError
from .new_names import OTHER_WORDS, RENAMED, RENAMED_VALUES

T = TypeVar("T")

KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    tuple: "a list",
    dict: "a block of keys",
    type(None): "null",
    Matrix: "rows of numbers, a list of matrices, or a block `file: NAME.csv`",
}
# Text that YAML would read as a number without its quotes, and numbers as much of Europe writes them.
QUOTED_NUMBER = re.compile(r"[-+]?(\d+|\d+\.\d*|\.\d+|\d+\.\d*[eE][-+]\d+)")
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")


def build(cls: type[T], mapping: object, where: str) -> T:
    """Make a dataclass from a block of the configuration, whose place ``where`` an error names.

    Fields are int, float, bool, str, tuples of these, dataclasses, or unions with None: lists become tuples, whole
    numbers are taken where a float is wanted, nothing else is converted.
    """
    block = as_block(mapping, where)
    kind: type = cls
    hints = _hints(kind)
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    refuse_unknown(block, known, where)
    for outer, holder in block.items():
        at, listed = _path(where, outer), list(holder) if isinstance(holder, list | tuple) else None
        inner_blocks = {at: holder} if listed is None else {f"{at}[{k}]": element for k, element in enumerate(listed)}
        for path, inside in inner_blocks.items():
            for inner in inside if isinstance(inside, Mapping) else ():
                if new := RENAMED.get(f"{outer}.{inner}"):
                    raise ConfigError(f"{path}.{inner} is called {new} now and belongs one block up: move it.")
    for name, entry in known.items():
        if name not in block and entry.default is MISSING and entry.default_factory is MISSING:
            raise ConfigError(f"{_path(where, name)} is missing: give {describe(hints[name])}.")
    values = {name: convert(value, hints[name], _path(where, name)) for name, value in block.items()}
    try:
        return cls(**values)
    except ConfigError:
        raise
    except ValueError as error:
        begins_with_key = re.split(r"[ .[]", str(error), maxsplit=1)[0] in known
        raise ConfigError(_path(where, str(error)) if begins_with_key or not where else f"{where}: {error}") from None


@cache
def _hints(cls: type) -> dict[str, Any]:
    """Types of the fields of a dataclass: a plan asks for those of a few classes a thousand times."""
    return get_type_hints(cls)


def _path(where: str, name: str) -> str:
    """Path of a key of a block; the keys of the whole configuration have their names alone."""
    return f"{where}.{name}" if where else name


def refuse_misread(number: str, where: str) -> None:
    """Raise a named error for a number that YAML reads to another base than people: 010 as 8, 1:30 as 90."""
    if re.fullmatch(r"[-+]?0[0-9_]+|[-+]?[0-9][0-9_]*(:[0-9]+)+(\.[0-9_]*)?", number):
        raise ConfigError(
            f"{where} has the number {number}, which YAML reads to the base {60 if ':' in number else 8}: write a "
            "number without zeros before it and without colons, or text in quotes."
        )


def as_block(value: object, where: str) -> dict[str, object]:
    """The value as a dict with text keys, or a named error; a key without a value counts as an empty block."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} is {value!r}: a block of keys is needed here.")
    for key in value:
        if not isinstance(key, str):
            raise ConfigError(f"{_path(where, str(key))} is unknown: keys are text.")
    return dict(value)


def refuse_unknown(block: Collection[str], allowed: Collection[str], where: str = "") -> None:
    """Raise a named error for the first key that is not allowed, with its new name or the nearest allowed one."""
    for key in block:
        if key not in allowed:
            if (new := RENAMED.get(key)) in allowed:
                raise ConfigError(f"{_path(where, key)} is called {new} now: rename the key.")
            if new is not None:
                raise ConfigError(
                    f"{_path(where, key)} is called {new} now, which is not a key of this block: "
                    f"allowed here: {', '.join(sorted(allowed)) or 'nothing'}."
                )
            raise ConfigError(f"{_path(where, key)} is unknown: {choices(key, allowed)}.")


def choices(value: object, allowed: Collection[str]) -> str:
    """List the allowed names, the nearest first if the value looks like a misspelling; or return the new name."""
    if (now := RENAMED_VALUES.get(str(value))) in allowed:
        return f"it is called {now} now"
    near = difflib.get_close_matches(str(value), allowed, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    if same := other_word(value, allowed):
        hint = f"here that is {same}; "
    return f"{hint}allowed here: {', '.join(sorted(allowed)) or 'nothing'}"


def other_word(value: object, allowed: Collection[object]) -> str:
    """The word of ours for one of other programs, where it is allowed; else empty."""
    return next((word for word in OTHER_WORDS.get(str(value).lower(), ()) if word in allowed), "")


def describe(hint: Any) -> str:
    """A type in words."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(map(str, args))}"
    if origin in (Union, types.UnionType):
        return " or ".join(describe(arg) for arg in args)
    if origin is tuple and args:
        inner = describe(args[0]).removeprefix("a ") + "s"
        inner = inner.replace("block of keyss", "blocks of keys")
        return f"a list of {inner}" if args[-1] is Ellipsis else f"a list of {len(args)} {inner}"
    return KINDS.get(origin or hint, "a block of keys")


def convert(value: object, hint: Any, where: str) -> Any:
    """The value as the hinted type, or a named error; a block of keys may be empty."""
    if get_origin(hint) is dict:
        return as_block(value, where)
    result = _convert(value, hint, where)
    if result is not MISSING:
        return result
    advice = _advice(value, hint)
    raise ConfigError(f"{where} is {value!r}: it must be {describe(hint)}{f' ({advice})' if advice else ''}.")


def _advice(value: object, hint: Any) -> str:
    """Return a hint on what was probably meant and how YAML reads it; empty without a guess."""
    wanted = describe(hint)
    if isinstance(value, str) and "number" in wanted and "list" not in wanted:
        if QUOTED_NUMBER.fullmatch(value):
            return "write it without quotes"
        if DECIMAL_COMMA.fullmatch(value):
            return "write it with a decimal point"
        if _is_number(value):
            return f"YAML reads {value} as text; write it with a point, as in 1.0e-5, and infinity as .inf"
    if isinstance(value, str | int | float) and wanted.startswith("a list") and "blocks" not in wanted:
        pair = "list of 2" in wanted
        return "write a list in brackets, as in [0, 30]" if pair else f"write it in brackets, as [{value}]"
    if isinstance(value, bool) and "text" in wanted:
        return "YAML reads yes, no, on and off as true and false; put quotes around them"
    if isinstance(value, int | float) and wanted.startswith("text"):
        return "put quotes around it"
    if str(value).lower() in ("true", "false") and wanted.startswith("true or false"):
        return "write it without quotes"
    words = [word for arg in (hint, *get_args(hint)) if get_origin(arg) is Literal for word in get_args(arg)]
    if (now := RENAMED_VALUES.get(str(value))) in words:
        return f"it is called {now} now"
    if same := other_word(value, words):
        return f"here that is {same}"
    near = difflib.get_close_matches(str(value).lower(), [word for word in words if isinstance(word, str)], 1)
    return f"did you mean {near[0]}?" if near else ""


def _convert(value: object, hint: Any, where: str) -> object:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return value if any(value == word and type(value) is type(word) for word in args) else MISSING
    if origin in (Union, types.UnionType):
        tried = (_convert(value, arg, where) for arg in args)
        return next((result for result in tried if result is not MISSING), MISSING)
    if hint is Matrix:
        try:
            return MISSING if value is None else Matrix.of(where, value)
        except ValueError:
            return MISSING
    if origin is tuple:
        if not isinstance(value, list | tuple):
            return MISSING
        inner = [args[0]] * len(value) if args[-1] is Ellipsis else list(args)
        if len(inner) != len(value):
            return MISSING
        return tuple(convert(v, t, f"{where}[{i}]") for i, (v, t) in enumerate(zip(value, inner, strict=True)))
    if hasattr(hint, "__dataclass_fields__"):
        key = next((key for key in ("file" if "." in str(value) else "name", "name") if key in known_keys(hint)), "")
        if isinstance(value, str) and key:
            raise ConfigError(f"{where} is {value!r}: a block of keys is needed here, as in `{key}: {value}`.")
        return build(hint, value, where)
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if hint is bool or isinstance(value, bool):
        return value if hint is bool and isinstance(value, bool) else MISSING
    if hint is types.NoneType:
        return None if value is None else MISSING
    return value if isinstance(value, origin or hint) else MISSING


def known_keys(cls: Any) -> list[str]:
    """Names of the fields of a dataclass."""
    return [entry.name for entry in fields(cls)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
