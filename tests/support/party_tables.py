"""Real tables whose columns lie at several parties, where the package index gives them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from partywise.datasets import fetch as resources
from partywise.datasets.loaders.party_tables.read import load
from partywise.datasets.loaders.party_tables.tables import TABLES
from partywise.errors import DataMissing
from pipeline import ROOT


@cache
def arrays(table: str, response: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns (n, p) and response (n,); skips, with the reason, only where the package index cannot be reached."""
    about = TABLES[table]
    folder = ROOT / "resources" / about.resource
    if not (folder / "provenance.json").is_file():
        try:
            resources.fetch(about.resource, folder)
        except DataMissing as error:
            pytest.skip(f"the files of {about.resource} are not in resources/: {error}")
    (wanted,) = (one for one in about.responses if one.name == response)
    found = load(about, wanted, folder)
    return found.X, found.y
