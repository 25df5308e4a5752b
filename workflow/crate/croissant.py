"""Croissant metadata (MLCommons, 1.0) of a ``tidy.csv``: its columns with the meanings of ``dictionary.csv``."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from netCDF4 import Dataset

from partywise.experiment.results.labels import dim_of
from partywise.experiment.results.provenance_record import sha256
from partywise.experiment.tables.dictionary import KEYS

VERSION = "http://mlcommons.org/croissant/1.0"
# Words of the vocabulary; those in CODED have values that are JSON or words themselves.
TERMS = "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes isLiveDataset "
TERMS += "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source "
TERMS += "subField transform"
CODED = {"data": "@json", "dataType": "@vocab", "examples": "@json"}
PREFIXES = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
}
TABLE, FITS = "tidy.csv", "fits"


def croissant(folder: Path, cube: Dataset, day: str, licence: str, authors: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the metadata of the table next to a cube, whose types are those of the ``cube``.

    folder : of a study, with ``tidy.csv`` and ``dictionary.csv``
    day, licence, authors : when the table was made, the address of its terms, and entities of those who made it
    """
    with (folder / "dictionary.csv").open(newline="", encoding="utf-8") as handle:
        columns = [row for row in csv.DictReader(handle) if row["table"] == TABLE]
    table = {
        "@type": "cr:FileObject",
        "@id": TABLE,
        "name": TABLE,
        "description": "One row for each fit",
        "contentUrl": TABLE,
        "contentSize": f"{(folder / TABLE).stat().st_size} B",
        "encodingFormat": "text/csv",
        "sha256": sha256(folder / TABLE),
    }
    fits = {
        "@type": "cr:RecordSet",
        "@id": FITS,
        "name": FITS,
        "description": "One record for each fit; what it does not have is empty",
        "key": [{"@id": f"{FITS}/{name}"} for name in KEYS],
        "field": [_field(row, data_type(cube, dim_of(row["column"]))) for row in columns],
    }
    context = PREFIXES | {term: f"cr:{term}" for term in TERMS.split()}
    context |= {term: {"@id": f"cr:{term}", "@type": kind} for term, kind in CODED.items()}
    names = ", ".join(author["name"] for author in authors)
    about = {
        "@context": context,
        "@type": "sc:Dataset",
        "name": cube.getncattr("id"),
        "description": f"{cube.getncattr('title')}. {cube.getncattr('summary')}",
        "conformsTo": VERSION,
        "license": licence,
        "version": cube.getncattr("source").partition(",")[0].removeprefix("partywise "),
        "datePublished": day,
        "creator": [{key: author[key] for key in ("@type", "name")} for author in authors],
        "citeAs": f"{names}: {cube.getncattr('title')}, {cube.getncattr('id')}",
        "distribution": [table],
        "recordSet": [fits],
    }
    return (json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode()


def _field(row: Mapping[str, str], kind: str) -> dict[str, Any]:
    """A column: its meaning, its unit where it has one, its type."""
    unit = f" [{row['unit']}]" if row["unit"] not in ("", "1") else ""
    return {
        "@type": "cr:Field",
        "@id": f"{FITS}/{row['column']}",
        "name": row["column"],
        "description": row["meaning"] + unit,
        "dataType": kind,
        "source": {"fileObject": {"@id": TABLE}, "extract": {"column": row["column"]}},
    }


def data_type(cube: Dataset, name: str) -> str:
    """Text, whole numbers that every fit has, or numbers.

    Words are numbers with meanings in a cube; ``false`` and ``true`` are 0 and 1 in the table.
    """
    variable = cube[name]
    words = getattr(variable, "flag_meanings", "false true") != "false true"
    if words or variable.dtype.kind not in "iuf":
        return "sc:Text"
    fits = cube["status"][:] > 0 if variable.dimensions == cube["status"].dimensions else ...
    return "sc:Integer" if variable.dtype.kind in "iu" and not np.ma.is_masked(variable[:][fits]) else "sc:Float"
