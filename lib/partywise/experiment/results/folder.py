"""The name of the folder of a configuration's results: the one that it gives itself, or that of its file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ...core.errors import ConfigError

RESULTS = "results"
# In the folder of a configuration: runs whose parties were processes of their own, a folder for each.
KEPT = "apart"
NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
# What a file may be called besides: config/my_data.example.yaml belongs to my_data.
ENDINGS = re.compile(r"(\.example)?\.(yaml|yml|json)$", re.IGNORECASE)
DEFAULT = {"config": "default"}


def checked_name(name: object) -> str:
    """The key ``name`` of a configuration; ConfigError when it is not a name."""
    if name is None:
        raise ConfigError("name is missing: studies without a file need one, as in --config name=mine.")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(
            f"name is {name!r}: the folder of the results takes at most 60 of a-z, 0-9 and _, a letter first."
        )
    return name


def result_name(config: Mapping[str, object], path: Path) -> str:
    """The name that a configuration gives itself, or that of its file."""
    return checked_name(config["name"]) if "name" in config else name_of(path)


def name_of(path: Path) -> str:
    """The name that a file gives: signs that do not fit become _; ConfigError when none is left."""
    stem = re.sub(r"[^a-z0-9]+", "_", ENDINGS.sub("", path.name).lower()).strip("_")
    stem = DEFAULT.get(stem, stem)
    if not NAME.fullmatch(stem):
        raise ConfigError(
            f"{path.name} gives the folder of its results no name (at most 60 of a-z, 0-9 and _, a letter first): "
            "write one at its top, as in `name: mine`."
        )
    return stem
