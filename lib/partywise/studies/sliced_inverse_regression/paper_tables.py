"""The numbers that the source prints in its Tables 1 to 4: data in a file, compared with its checksum when read.

``paper_tables.csv`` was transcribed by ``tests/tools/paper_tables.py`` from seed 001, section 5.2.
"""

from __future__ import annotations

import csv
import hashlib
from functools import cache
from pathlib import Path
from typing import NamedTuple, get_type_hints

from ...errors import DataMissing

__all__ = ["Printed", "printed", "printed_table"]

FILE = Path(__file__).with_name("paper_tables.csv")
# Stated here so that another file is another version of the code.
SHA256 = "243185064077a525790e70f68f4a474f62f8e98c2bbc2c1faa07d6cae2d4a9ff"


class Printed(NamedTuple):
    """One entry of a table: table, epsilon, model, row label (n or p), column, clients; mean and bracket as printed.

    The source calls the bracket a standard error; its size is that of the standard deviation over replicates.
    """

    table: int
    epsilon: float
    model: str
    row: int
    column: str
    clients: int
    mean: float
    bracket: float


@cache
def printed_table() -> dict[tuple[bool, float, str, int, str, int], Printed]:
    """All 560 entries by (of tables 3 and 4, epsilon, model, row label, column, clients).

    Raises
    ------
    DataMissing
        If the file is not the transcription that this module names.
    """
    content = FILE.read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise DataMissing(f"{FILE.name} is not the pinned transcription: restore it from the repository.")
    kinds = get_type_hints(Printed)
    rows = csv.DictReader(content.decode().splitlines())
    entries = [Printed(**{name: kinds[name](value) for name, value in row.items()}) for row in rows]
    return {(e.table > 2, e.epsilon, e.model, e.row, e.column, e.clients): e for e in entries}


def printed(epsilon: float, model: str, row: int, column: str, clients: int, *, high: bool = False) -> Printed | None:
    """The entry of a cell, or None where the source prints none.

    Parameters
    ----------
    epsilon : float
        Of each of the two releases.
    model : {"I", "II", "III", "IV", "V"}
    row : int
        n in tables 1 and 2, p in tables 3 and 4 (``high``).
    column : {"FSIR-IID", "FSIR-VGM"}
    clients : int
        K.
    high : bool
        Whether tables 3 and 4 (many columns) are meant: 500 and 1000 are labels of both kinds.
    """
    return printed_table().get((high, float(epsilon), model, row, column, clients))
