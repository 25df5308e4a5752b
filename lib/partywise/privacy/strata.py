"""Records that a release is about: all of them, or one cell of a partition that public information makes.

The cells of one partition are disjoint, so releases about two of them compose in parallel. Cells of two partitions
share records (a client and a chunk), so releases about them add up.
"""

from __future__ import annotations

EVERYBODY = "*"
JOIN = "/"


def cell_of(partition: str, cell: object) -> str:
    """The stratum of one cell of a partition: ``"clients/north"``."""
    if JOIN in partition:
        raise ValueError(f"partition={partition!r} of a stratum has a {JOIN!r}, which begins the cell: leave it out.")
    return check_stratum(f"{partition}{JOIN}{cell}")


def check_stratum(stratum: str) -> str:
    """The stratum itself; `ValueError` unless it is ``"*"`` or ``"partition/cell"``."""
    partition, _, cell = stratum.partition(JOIN) if isinstance(stratum, str) else ("", "", "")
    if stratum != EVERYBODY and not (partition.strip() and cell.strip() and partition != EVERYBODY):
        raise ValueError(
            f"stratum={stratum!r} must be '*' or 'partition/cell', as in 'clients/north': which cells are disjoint "
            "is known of the cells of one partition only."
        )
    return stratum


def partition_of(stratum: str) -> str:
    """The partition that a stratum is a cell of; ``"*"`` for all records."""
    return stratum.partition(JOIN)[0]
