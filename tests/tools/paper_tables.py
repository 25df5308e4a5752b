"""Transcribe Tables 1 to 4 of seed 001 from its text into ``paper_tables.csv`` of the study.

``python tests/tools/paper_tables.py SEED.txt > paper_tables.csv``, beside its module; then state the printed SHA-256 in
``partywise.studies.sliced_inverse_regression.paper_tables``.  Run once, and again only if the source is corrected.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import sys
from pathlib import Path

HEADER = ("table", "epsilon", "model", "row", "column", "clients", "mean", "bracket")
TITLE = re.compile(r"^Table (\d): .*=(\d)\.$")
ENTRY = re.compile(r"(\d\.\d{3}) \((\d\.\d\d)\)")
COLUMNS = [(column, clients) for column in ("FSIR-IID", "FSIR-VGM") for clients in (1, 10, 50, 100)]
# A row without the name of a model belongs to the model above it.
ROW = re.compile(r"^(?:(I|II|III|IV|V) )?(\d+) ((?:\d\.\d{3} \(\d\.\d\d\) ?){8})$")


def rows(text: str) -> list[tuple[str, ...]]:
    """All entries of the four tables, in the order of the source."""
    found, table, epsilon, model = [], "", "", ""
    for line in text.splitlines():
        if title := TITLE.match(line):
            table, epsilon = title.groups()
        elif table and (row := ROW.match(line)):
            model, label = row.group(1) or model, row.group(2)
            for (column, clients), (mean, bracket) in zip(COLUMNS, ENTRY.findall(row.group(3)), strict=True):
                found.append((table, epsilon, model, label, column, str(clients), mean, bracket))
    return found


def as_csv(entries: list[tuple[str, ...]]) -> str:
    """The entries as CSV text."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([HEADER, *entries])
    return out.getvalue()


if __name__ == "__main__":
    text = as_csv(rows(Path(sys.argv[1]).read_text(encoding="utf-8")))
    sys.stdout.write(text)
    print(hashlib.sha256(text.encode()).hexdigest(), file=sys.stderr)
