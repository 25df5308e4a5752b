"""The page of requirements and expected output: what a run takes, study by study, and the screen that it ends with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from partywise.experiment.register import table
from partywise.experiment.register.table import RegisterRow
from partywise.experiment.tables.templates import pipe_table

from . import expected
from .measured import DATA, TABLE, StudyCost, read

PAGE = expected.PAGE
NAMES = {DATA: "data sets"}
HEAD = ("study", "fits", "jobs", "minutes of one core", "CPU s", "peak MB of a job", "MB on disk")
PEAK = "peak_megabytes"
FORMATS = {"fits": "{:,}", "jobs": "{}", "minutes": "{:.1f}", "cpu_seconds": "{:.0f}"}
FORMATS |= {PEAK: "{:.0f}", "disk_megabytes": "{:.1f}"}
# What cannot be read from results: environments, and the configuration of hours.
SETUP = """
| what | disk | time |
|---|---|---|
| `.venv` of `./run` | at most 450 MB (tested) | under a minute with pip, seconds with uv |
| the same with the tools of tests, after `./run test` | 1.2 GB | not measured: about three times as many packages |
| `.venv-frameworks` of `./run test --frameworks` | 320 MB | half a minute with pip |
| `config/claims.yaml`, all that the claims register reads | not measured | {minutes:.0f} CPU minutes of fits |
| `config/paper.yaml`, the sources' own settings | not measured | hours: a night, or a [cluster](scaling.md#cluster) |

Python 3.11 or newer with pip, and git are needed. A graphics card, root rights, a compiler and services are not. The
network is used by the set-up, for the packages of the lock, and by the first run, for the
[data sets](sources.md#data-sets) of its configuration. `config/smoke.yaml` downloads no data.

| system | the library alone | `./run`, the pipeline, distributed runs |
|---|---|---|
| Linux, x86_64 | tested | tested |
| macOS | not tried | not tried |
| Windows | not tried | does not run; WSL 2 was not tried |

The pipeline needs `sh` and `flock`. The library imports without modules that only Unix has, which is tested on Linux.
"""
HEADING = "Set-up, and what takes longer"
NOTE = """\
Each job uses one core, so two cores take a little more than half of the minutes. Each job needs its memory. Minutes may
include other work of the machine. CPU seconds are sampled: a job of less than a second may count with its wall time, or
in part.
"""
INTRODUCTION = """\
# Requirements and output

This page states what `./run` needs and what it prints, for those who install or review this project.
`./run check --artifact --write` makes it from `{table}` and the screens next to it. With
`--measure results/default` it takes the numbers of a finished run.
"""


def page(root: Path) -> str:
    """The whole of ``docs/requirements.md``."""
    rows = read(root)
    names = sorted({row.configuration for row in rows})
    parts = [line for name in names for line in _table(name, [row for row in rows if row.configuration == name])]
    setup = SETUP.format(minutes=cpu_minutes(table.read(root / "docs" / table.NAME)))
    text = [INTRODUCTION.format(table=TABLE), f"## {HEADING}", setup, *parts, NOTE, expected.block(root)]
    return "\n".join(text)


def cpu_minutes(rows: Iterable[RegisterRow]) -> float:
    """Return the CPU minutes of all fits behind some rows of the register, each case and method once."""
    minutes = {(row.study, row.case, row.method): float(row.cpu_minutes) for row in rows if row.cpu_minutes}
    return sum(minutes.values())


def _table(name: str, rows: Sequence[StudyCost]) -> list[str]:
    whole = {key: (max if key == PEAK else sum)(getattr(row, key) for row in rows) for key in FORMATS}
    named = [*((NAMES.get(row.study, f"`{row.study}`"), vars(row)) for row in rows), ("all", whole)]
    lines = [(name, *(form.format(values[key]) for key, form in FORMATS.items())) for name, values in named]
    first = rows[0]
    return [
        f"## `results/{name}`",
        "",
        pipe_table(HEAD, lines),
        "",
        f"Measured on {first.machine}, {first.cores} cores, {first.memory_gb} GB of memory, Python {first.python}.",
        "",
    ]


def total(root: Path, name: str) -> tuple[float, float, float, float] | None:
    """Minutes of one core, CPU seconds, peak and disk megabytes of a configuration, if it was measured."""
    rows = [row for row in read(root) if row.configuration == name]
    if not rows:
        return None
    minutes, seconds, disk = (
        sum(getattr(row, key) for row in rows) for key in ("minutes", "cpu_seconds", "disk_megabytes")
    )
    return minutes, seconds, max(row.peak_megabytes for row in rows), disk
