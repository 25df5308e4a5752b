"""Two real data sets, dealt to parties: men at three clinics, and columns of tumours at a hospital and a laboratory.

Bounds, levels and edges are from the meaning of a column, in its unit, and not from the data.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from partywise.data.carriers import bzip2
from partywise.data.catalogue import RESOURCES
from partywise.data.descriptions import TABLES
from partywise.data.fetch import fetch_folder, read_files
from partywise.data.reading import read_columns
from partywise.federation.parties import split_rows

SEED, CASE, METHOD, FIRST_PORT = 20240601, "real", "certified", 47200
MEN = (
    ("age", [20, 80], "years"),
    ("weight", [100, 300], "pounds"),
    ("height", [40, 80], "inches"),
    ("abdom", [60, 140], "centimetres around the waist"),
    ("wrist", [14, 22], "centimetres around the wrist"),
)
NUCLEI = {
    "hospital": (("mean radius", [5, 30]), ("mean texture", [5, 45]), ("mean smoothness", [0.04, 0.18])),
    "laboratory": (("worst radius", [5, 40]), ("worst texture", [10, 55]), ("worst smoothness", [0.06, 0.25])),
}
# Noise by a dealer: the demonstration has a place that sees no data and draws it.
MOMENTS = {"protocol": "moments", "dealer": "dealer"}


@dataclass(frozen=True)
class DemonstrationCase:
    """A case: what it is, the file of every data holder, and the configuration that all parties share."""

    name: str
    description: str
    files: dict[str, tuple[str, bytes]]
    config: dict[str, Any] = field(repr=False)


def clients(resources: Path) -> DemonstrationCase:
    """Study 001: three clinics hold different men; the direction of their measurements that predicts body fat."""
    contents, _, _ = read_files("body_fat", fetch_folder("body_fat", resources))
    member = RESOURCES["body_fat"].members[0].file
    header = ("siri", *(name for name, _, _ in MEN))
    columns = read_columns(bzip2(contents[member], member), header, member)
    men = list(zip(*(columns[name] for name in header), strict=True))
    places, files, rows = ("north", "middle", "south"), {}, {}
    for place, positions in zip(places, split_rows(len(men), len(places)), strict=True):
        files[place] = f"{place}.csv", csv_bytes(header, [men[k] for k in positions])
        rows[place] = len(positions)
    settings = {
        "tables": [{"party": place, "file": file} for place, (file, _) in files.items()],
        "columns": [{"name": name, "bounds": bounds, "because": why} for name, bounds, why in MEN],
        "response": "siri",
        "edges": [12, 18, 25],
        "least": 80,
        "delta_power": 1.5,
    }
    config = configuration("sliced_inverse_regression", {"unit": "row"}, {"protocol": "certified"}, settings, 3, 8.0)
    config["network"] |= {"rows": rows, "parties": addresses((*places, "server"))}
    return DemonstrationCase("clients", f"body fat of {len(men)} men, whose rows lie at three clinics", files, config)


def tables(resources: Path) -> DemonstrationCase:
    """Study 004: a hospital has a patient's diagnosis and some measurements, a laboratory has others."""
    contents, _, _ = read_files("breast_cancer", fetch_folder("breast_cancer", resources))
    rows = list(csv.reader(io.StringIO(contents[RESOURCES["breast_cancer"].members[0].file].decode())))[1:]
    names = TABLES["breast_cancer"].names
    ids, files, own_tables = [f"p{1000 + k}" for k in range(len(rows))], {}, []
    for place, nuclei in NUCLEI.items():
        numbers = [names.index(name) for name, _ in nuclei] + [len(names)] * (place == "hospital")
        header = ["patient", *(name for name, _ in nuclei), *(["benign"] if place == "hospital" else [])]
        records = [[patient, *(row[k] for k in numbers)] for patient, row in zip(ids, rows, strict=True)]
        files[place] = f"{place}.csv", csv_bytes(header, records)
        columns = [{"name": name, "bounds": bounds, "because": "cell nuclei"} for name, bounds in nuclei]
        own_tables.append({"party": place, "file": f"{place}.csv", "columns": columns})
    settings = {"id": "patient", "family": "binomial", "records": "aligned", "tables": own_tables}
    settings |= {"response": "benign", "response_party": "hospital"}
    config = configuration("vertical_glm", {"delta": 1e-4, "unit": "row"}, MOMENTS, settings, 2, 4.0)
    config["network"] |= {"rows": len(rows), "parties": addresses((*NUCLEI, "analyst", "dealer"))}
    return DemonstrationCase(
        "tables", f"{len(rows)} tumours, whose columns lie at a hospital and a laboratory", files, config
    )


def configuration(
    study: str, spec: dict[str, Any], method: dict[str, Any], settings: dict[str, Any], parties: int, epsilon: float
) -> dict[str, Any]:
    """Return the configuration of one case and one method for a distributed run, without the addresses."""
    grid = {"methods": [METHOD], "replicates": 1, "parties": [parties], "folds": 1, "epsilon": [epsilon]}
    case = {"source": "table", "settings": settings, "grid": grid}
    block = {"spec": spec, "methods": {METHOD: method}, "cases": {CASE: case}}
    network = {"study": study, "case": CASE, "method": METHOD, "epsilon": epsilon, "mode": "experiment", "patience": 30}
    return {"root_seed": SEED, "studies": {study: block}, "network": network}


def addresses(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return a port of this machine for every party."""
    return {name: {"host": "localhost", "port": FIRST_PORT + k} for k, name in enumerate(names)}


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """A CSV file."""
    handle = io.StringIO(newline="")
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return handle.getvalue().encode()
