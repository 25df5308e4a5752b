"""Documents that are digested or signed: JSON is written in one way and read with care, as are times."""

from __future__ import annotations

import hashlib
import json
import math
from datetime import UTC, datetime

# Any: JSON that somebody else wrote.
from typing import Any

# Bytes of the largest file that is read.
LARGEST = 2**28
TIME = "%Y-%m-%dT%H:%M:%SZ"


class FileProblem(ValueError):
    """Fault of a file, as a sentence."""


def digest_of(data: bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def encode_json(value: object) -> bytes:
    """JSON with sorted keys, UTF-8, numbers that are finite (infinity is the text "inf")."""
    return (json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def decode_json(name: str, data: bytes) -> Any:
    """Inverse of `encode_json`; FileProblem for keys that occur twice, numbers that are not finite, other encodings."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            raise FileProblem(f"{name} has a key that occurs twice")
        return mapping

    def refuse(word: str) -> float:
        raise FileProblem(f"{name} holds {word}, which is not a finite number")

    def number(digits: str) -> float:
        return value if math.isfinite(value := float(digits)) else refuse(digits)

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=once, parse_constant=refuse, parse_float=number)
    except FileProblem:
        raise
    except (ValueError, RecursionError) as error:
        raise FileProblem(f"{name} cannot be read as JSON in UTF-8 ({type(error).__name__})") from None


def now() -> str:
    """The time of this machine, to the second."""
    return datetime.now(UTC).strftime(TIME)


def is_time(text: object) -> bool:
    """Whether a text is a time as `now` writes it."""
    try:
        return isinstance(text, str) and datetime.strptime(text, TIME).strftime(TIME) == text
    except ValueError:
        return False
