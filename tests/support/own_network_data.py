"""Files of one party each for the examples of a network: ``python tests/support/own_network_data.py`` writes them.

They hold rows of the other examples, in ``config/example_data/network``.
"""

from __future__ import annotations

import csv
from pathlib import Path

from own_data_sets import write_csv

ROOT = Path(__file__).resolve().parents[2]
# Rows of each clinic, whole patients.
VISITS = 240


def rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a file."""
    with path.open(newline="", encoding="utf-8") as handle:
        header, *found = csv.reader(handle)
    return header, found


def write(examples: Path, folder: Path) -> None:
    """The clinics and hospitals one by one, and the files of shop and bank with ids that ascend."""
    header, visits = rows(examples / "clinics.csv")
    for clinic in ("north", "river", "old town"):
        own = [row[1:] for row in visits if row[0] == clinic][:VISITS]
        last = own[-1][0]
        write_csv(folder / f"{clinic.replace(' ', '_')}.csv", header[1:], [row for row in own if row[0] != last])
    header, patients = rows(examples / "hospitals.csv")
    for hospital in ("north", "river", "old town"):
        own = [row[1:] for row in patients if row[0] == hospital]
        write_csv(folder / f"{hospital.replace(' ', '_')}_relapses.csv", header[1:], own)
    for name in ("shop", "bank"):
        header, customers = rows(examples / f"{name}.csv")
        write_csv(folder / f"{name}.csv", header, sorted(customers))


if __name__ == "__main__":
    write(ROOT / "config" / "example_data", ROOT / "config" / "example_data" / "network")
