"""The check of the files and the network that a configuration names; the plans check everything else."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from partywise.core.errors import ConfigError
from partywise.core.files import nearest_file
from partywise.deployment.deployments import deployments_of
from partywise.experiment.plan import Plan

# Seconds by which a file may be dated ahead: clocks of a network file system differ a little.
AHEAD = 2.0


def check_network(config: Mapping[str, Any], plans: Mapping[str, Plan]) -> None:
    """Raise :class:`ConfigError` for the first key of the block ``network`` that is wrong: it runs nothing here."""
    deployments_of(config, plans)


def check_files(plans: Mapping[str, Plan], folder: Path, elsewhere: Collection[tuple[str, str]] = ()) -> None:
    """Raise :class:`ConfigError` for the first file that the settings of a case name and that is not in the folder.

    elsewhere : studies and cases whose files are those of parties that ran apart
    """
    for study, plan in plans.items():
        for name, case in plan.cases.items():
            if (study, name) in elsewhere:
                continue
            for key, file in getattr(case.settings, "files", {}).items():
                if not (folder / file).is_file():
                    raise ConfigError(
                        f"studies.{study}.cases.{name}.settings.{key} is {file!r}: {_absent(file, folder)}."
                    )
                if (ahead := (folder / file).stat().st_mtime - time.time()) > AHEAD:
                    raise ConfigError(
                        f"studies.{study}.cases.{name}.settings.{key} is {file!r}, which is dated {ahead / 60:.1f} "
                        f"minutes ahead of the clock: results made of it would seem older than it; run touch "
                        f"{file}, or set the clock."
                    )


def _absent(file: str, folder: Path) -> str:
    """Why a path names no file, and the remedy."""
    if (folder / file).is_dir():
        return "that is a folder; name a file in it"
    if file.startswith("~"):
        return f"'~' stands for no folder here; write the path out, {Path(file).expanduser()}"
    if "://" in file:
        return "that is an address of the web; download the file, and name it by its path"
    if "\\" in file:
        return f"folders are divided by '/' here; write {file.replace(chr(92), '/')}"
    above = (folder / file).parent
    if not above.is_dir():
        return f"there is no folder {Path(file).parent}; paths begin in the folder of the run, {folder}"
    near = nearest_file(folder / file)
    hint = f"did you mean {str(Path(file).with_name(near.name))!r}? " if near else ""
    return f"{hint}there is no such file; paths begin in the folder of the run, {folder}"
