"""SHA-256 of private data without a salt, which confirms a guess of the data, and the files that have one."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np

# Hexadecimal digits of the shortest digest that is shown anywhere.
SHORTEST = 12


def digests_of_file(path: Path) -> dict[str, str]:
    """Digests of a CSV file, of each of its columns as text and as numbers, and of all numbers; what each is of."""
    content = path.read_bytes()
    header, *rows = csv.reader(content.decode().splitlines())
    found, numbers = {sha256(content).hexdigest(): path.name}, list[np.ndarray]()
    for name, column in zip(header, zip(*rows, strict=True), strict=True):
        for separator in ("", "\n", ","):
            found[sha256(separator.join(column).encode()).hexdigest()] = f"{path.name}, {name} as text"
        try:
            numbers.append(np.array(column, dtype=float))
        except ValueError:
            continue
        found |= digests_of_array(numbers[-1], f"{path.name}, {name}")
    return found | (digests_of_array(np.column_stack(numbers), f"{path.name}, all numbers") if numbers else {})


def digests_of_array(array: np.ndarray, what: str) -> dict[str, str]:
    """Digests of an array by rows and by columns, as it is and as float64."""
    forms = [values.tobytes(order) for values in (array, array.astype(float)) for order in ("C", "F")]
    return {sha256(form).hexdigest(): what for form in forms}


def artifacts_with(digests: Mapping[str, str], paths: Iterable[Path]) -> list[str]:
    """Each file that has the first digits or the first bytes of one of these digests, and what that is of."""
    signs = {sign: what for digest, what in digests.items()
             for sign in (digest[:SHORTEST].encode(), bytes.fromhex(digest)[:SHORTEST])}  # fmt: skip
    contents = ((path, path.read_bytes()) for path in paths if path.is_file())
    return [f"{path.name}: digest of {what}" for path, content in contents
            for sign, what in signs.items() if sign in content]  # fmt: skip
