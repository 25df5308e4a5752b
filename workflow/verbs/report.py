"""The verb ``./run report``: the report of the last run, or of the configuration that its words name.

With ``--records`` it holds figures that show single records of own data, too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from netCDF4 import Dataset
from snakemake.cli import parse_config
from snakemake.utils import update_config

import launch
from last_run import read
from launching.surroundings import display
from launching.words import HELP, Refused, configuration, default, options
from partywise.core.errors import ConfigError
from partywise.core.project import command, exit_code
from partywise.core.verbs import new_parser
from partywise.experiment.configuration.text import read_file
from partywise.experiment.plan import Plan
from partywise.experiment.plans import plans
from partywise.experiment.results.provenance import config_json
from place import Place, shipped

# Of figures that show single records of own data.
RECORDS = "--records"


def main(words: Sequence[str]) -> int:
    """Write the report of one configuration into the folder of its results; Snakemake's exit code, or 2."""
    if HELP & set(words):
        parser = new_parser("report")
        parser.add_argument("--configfile", metavar="FILE", help="report of this configuration's run")
        parser.add_argument(RECORDS, action="store_true", help="with figures of single records of your own data")
        parser.print_help()
        return 0
    records = ["--report-partywise-records"] if RECORDS in words else []
    words = [word for word in words if word != RECORDS]
    folder = Path(options(words).directory or ".")
    words = with_configuration(words, folder)
    try:
        if words and not words[0].startswith("-"):
            raise Refused(f"{words[0]} is not an option of a report: name a configuration by --configfile FILE.")
        place, _ = configuration(words, options(words), folder)
        if not (folder / place.folder).is_dir():
            raise Refused(f"{place.folder} is not there: run {place.configuration} first, by `{command()}`.")
        study_plans = in_force(words, folder)
        refuse_others(place, study_plans, folder)
        present, missing = outputs(place, study_plans, folder)
    except Refused as reason:
        print(reason, file=sys.stderr)
        return 2
    except ConfigError as reason:
        print(f"Configuration error: {reason}", file=sys.stderr)
        return 2
    path = f"{place.folder}/report.html"
    asked = ["--reporter", "partywise", "--report-partywise-path", path, *records]
    if missing:
        # Snakemake describes a part of the results if it is named, in front of options that take several words.
        words = [*present, *words, "--report-partywise-missing", ",".join(missing)]
    code = launch.main([*words, *asked, *display(options(words))])
    if code == 0:
        print(f"Report of {place.configuration}: {folder / path}")
        if missing:
            print(
                f"Without {', '.join(missing)}, which the results lack: `{command()}` with the same words makes them."
            )
    return code


def outputs(place: Place, plans: Mapping[str, Plan], folder: Path) -> tuple[list[str], list[str]]:
    """Files that a report shows, as far as they are there, and the names of the others: ``study`` or ``study/figure``.

    Refused where no study has its tables.
    """
    present, missing = list[str](), list[str]()
    for study, plan in plans.items():
        tables = f"{place.folder}/{study}/tables.html"
        if not (folder / tables).exists():
            missing.append(study)
            continue
        present.append(tables)
        for name in plan.figures:
            figure = f"{place.folder}/figures/{study}/{name}.{plan.study.figures[name].file_type}"
            if (folder / figure).exists():
                present.append(figure)
            else:
                missing.append(f"{study}/{name}")
    if not present:
        raise Refused(
            f"{folder / place.folder} has no results of {place.configuration}: run it first, then the report."
        )
    return present, missing


def with_configuration(words: Sequence[str], folder: Path) -> list[str]:
    """Words that name a configuration: those of the last run where the words themselves name none."""
    arguments = options(words)
    last = read(folder)
    if arguments.configfile or arguments.config or last is None:
        return list(words)
    then = options(last.words)
    named = ["--configfile", *then.configfile] if then.configfile else []
    return [*named, *(["--config", *then.config] if then.config else []), *words]


def in_force(words: Sequence[str], folder: Path) -> dict[str, Plan]:
    """The plans of the configuration that these words name, merged as Snakemake does it."""
    arguments, config = options(words), dict[str, Any]()
    files = [shipped(path) for path in arguments.configfile]
    for path in files:
        update_config(config, read_file(path))
    try:
        update_config(config, parse_config(arguments.config))
    except ValueError:
        raise Refused(f"--config is {' '.join(arguments.config)}: write key=value, as in --config name=mine.") from None
    if "studies" in config:
        return plans(config, files)
    path = default(folder)
    whole = read_file(path)
    update_config(whole, config)
    return plans(whole, [path, *files])


def refuse_others(place: Place, plans: Mapping[str, Plan], folder: Path) -> None:
    """Raise :class:`Refused` where a cube was made by another configuration than the one in force."""
    for study, plan in plans.items():
        path = folder / place.folder / study / "cube.nc"
        if path.exists() and made_by(path) != json.loads(config_json(plan)):
            raise Refused(
                f"{place.folder}/{study}/cube.nc is of another text of {place.configuration} than the one in force: "
                f"run it (`{command()}` with the same words) and ask for the report then."
            )


def made_by(path: Path) -> Any:
    """The configuration in the attributes of a cube; None where nothing can be read."""
    try:
        with Dataset(path) as cube:
            return json.loads(cube.getncattr("config_json"))
    except (OSError, AttributeError, ValueError):
        return None


if __name__ == "__main__":
    sys.exit(exit_code(lambda: main(sys.argv[1:])))
