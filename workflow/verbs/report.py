"""The verb ``./run report``: the report of the last run, or of the configuration that its words name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import launch
from last_run import read
from launching.words import Refused, configuration, options
from partywise.errors import ConfigError


def main(words: Sequence[str]) -> int:
    """Write the report of one configuration into the folder of its results; Snakemake's exit code, or 2."""
    folder = Path(options(words).directory or ".")
    words = with_configuration(words, folder)
    try:
        place, _ = configuration(words, options(words), folder)
    except Refused as reason:
        print(reason, file=sys.stderr)
        return 2
    except ConfigError as reason:
        print(f"Configuration error: {reason}", file=sys.stderr)
        return 2
    path = f"{place.folder}/report.html"
    code = launch.main([*words, "--reporter", "partywise", "--report-partywise-path", path])
    if code == 0:
        print(f"Report of {place.configuration}: {folder / path}")
    return code


def with_configuration(words: Sequence[str], folder: Path) -> list[str]:
    """Words that name a configuration: those of the last run where the words themselves name none."""
    given = options(words)
    last = read(folder)
    if given.configfile or given.config or last is None:
        return list(words)
    then = options(last.words)
    found = ["--configfile", *then.configfile] if then.configfile else []
    return [*found, *(["--config", *then.config] if then.config else []), *words]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
