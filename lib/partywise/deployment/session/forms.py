"""What messages of one name look like: all of them are of one kind and form, and every number in them is finite.

A name stands for one line of a program, which says the same of all its senders and rounds. Shapes may differ between
them; kind, type of the numbers and number of dimensions may not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ...federation.cipher import Cipher
from ...federation.payloads import KINDS, Payload, content_of, visible

# A list without entries says nothing of what others of its name hold.
EMPTY = "of ()"


class Forms:
    """Kind and form of the messages of every name that reached each receiver.

    Parameters
    ----------
    expected : mapping, optional
        Forms by (receiver, name), as a rehearsal of the program had them (`known`).
    """

    def __init__(self, expected: Mapping[tuple[str, str], str] | None = None) -> None:
        self.known: dict[tuple[str, str], str] = dict(expected or {})
        self._first = dict.fromkeys(self.known, "the program has")

    def problem(self, sender: str, receiver: str, name: str, payload: Payload) -> str:
        """What is wrong with a message as a sentence without its end, empty where nothing is; it is kept then."""
        if not is_finite(payload):
            return "it holds a number that is not finite (NaN or infinity)"
        form, key = form_of(payload), (receiver, name)
        if EMPTY in form:
            return ""
        expected = self.known.setdefault(key, form)
        before = self._first.setdefault(key, f"{sender!r} sent")
        return "" if form == expected else f"it is {form} where {before} {expected}"


def form_of(payload: Payload) -> str:
    """Kind of a payload and form of its value, in words: types of numbers and numbers of dimensions, without shapes.

    What lists, tuples and mappings hold is named once however often they do; of a cipher its scheme is named.
    """
    return f"{KINDS[type(payload)]} ({_form(visible(payload))})"


def is_finite(payload: Payload) -> bool:
    """Whether every floating-point number of a payload is finite; what is closed in a cipher counts as it is."""
    return isinstance(payload, Cipher) or _finite(content_of(payload))


def _form(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.ndim}-dimensional array of {_number(value.dtype)}"
    if isinstance(value, np.generic):
        return _number(value.dtype)
    if isinstance(value, Cipher):
        return f"cipher {value.scheme!r}"
    if isinstance(value, Mapping):
        return f"mapping of {_forms_of([*value, *value.values()])}"
    if isinstance(value, list | tuple):
        return f"{'list' if isinstance(value, list) else 'tuple'} of {_forms_of(value)}"
    names = {bool: "bool", int: "int", float: "float64", str: "str"}
    return names.get(type(value), type(value).__name__)


def _number(dtype: np.dtype[np.generic]) -> str:
    """Name of a type of numbers: integers and text take the room that they need, so theirs is left open."""
    return {"i": "int", "u": "unsigned int", "b": "bool", "S": "bytes", "U": "str"}.get(dtype.kind, dtype.name)


def _forms_of(values: Iterable[object]) -> str:
    return f"({', '.join(sorted({_form(value) for value in values}))})"


def _finite(value: object) -> bool:
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if isinstance(value, float):
        return bool(np.isfinite(value))
    if isinstance(value, Mapping):
        return all(_finite(key) and _finite(item) for key, item in value.items())
    return all(map(_finite, value)) if isinstance(value, list | tuple) else True
