"""The check of the files that a configuration names; the plans check everything else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from partywise.errors import ConfigError
from partywise.experiment.plan import Plan


def check_files(plans: Mapping[str, Plan], folder: Path) -> None:
    """Raise :class:`ConfigError` for the first file that the settings of a case name and that is not in the folder."""
    for study, made in plans.items():
        for name, case in made.cases.items():
            for key, file in getattr(case.settings, "files", {}).items():
                if not (folder / file).is_file():
                    raise ConfigError(
                        f"studies.{study}.cases.{name}.settings.{key} is {file!r}: there is no such file; paths begin "
                        f"in the folder of the run, {folder}."
                    )
