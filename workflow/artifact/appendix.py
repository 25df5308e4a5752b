"""The artifact appendix that PoPETs asks of an artifact, written from the claims register and from measurements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from partywise.experiment.register import table
from partywise.experiment.register.table import RegisterRow, counts
from partywise.experiment.register.text import chance
from partywise.experiment.register.verdict import RULE, STATUSES
from partywise.experiment.tables.templates import pipe_table

from . import expected
from .bibliography import documents
from .measured import DATA, TABLE, StudyCost, read

PAGE = expected.PAGE
# A text that has counts of the register and of the default run in its sentences.
PAPER = "docs/paper/paper.md"
TEXT = Path(__file__).with_name("appendix.md")
PRIVACY = ("epsilon", "claimed_at_most", "claimed_at_least", "hidden")
CONFIGURATION = "config/claims.yaml"
PEAK = "peak_megabytes"
COLUMNS = {"fits": ("fits", "{:,}"), "jobs": ("jobs", "{}"), "minutes": ("minutes of one core", "{:.1f}")}
COLUMNS |= {"cpu_seconds": ("CPU s", "{:.0f}"), PEAK: ("peak MB of a job", "{:.0f}")}
COLUMNS |= {"disk_megabytes": ("MB on disk", "{:.1f}")}
# What cannot be read from results: environments, and the configuration of hours.
SET_UP = (
    ("set-up of `./run`, `.venv`", "1 with pip, seconds with uv", "", "at most 450 (tested)"),
    ("set-up of `./run test`, more packages", "not measured: about three times as many packages", "", "1,200"),
    ("set-up of `./run test --frameworks`, `.venv-frameworks`", "0.5", "", "320"),
)
LONGEST = ("`config/paper.yaml`, the sources' own settings", "a night, or a [cluster](scaling.md#cluster)", "", "")


@dataclass(frozen=True)
class Experiment:
    """One claim of the artifact and what shows it.

    what : whose lines of the register; studies : whose cubes they read; minutes : CPU minutes of their fits
    """

    what: str
    rows: Sequence[RegisterRow]
    studies: Sequence[str]
    minutes: float


def page(root: Path) -> str:
    """The whole of ``docs/artifact_appendix.md``."""
    rows, measured = table.read(root / "docs" / table.NAME), read(root)
    entries = experiments(rows)
    return TEXT.read_text(encoding="utf-8").format(
        measured=TABLE,
        documents=len(documents()),
        machine=_machine(measured),
        times=_times(rows, measured),
        studies=_studies([row for row in measured if row.configuration == "default"]),
        expected=expected.block(root),
        last=len(entries),
        claims=_claims(entries),
        chance=chance(rows),
        rule=RULE,
        unreproducible=counts(rows)["not reproducible"],
    )


def experiments(rows: Sequence[RegisterRow]) -> list[Experiment]:
    """One per document for what it prints, and one for the claims of privacy of all of them."""
    printed = [row for row in rows if row.kind not in PRIVACY]
    entries = [_of([row for row in printed if row.source == key], f"document {key}") for key in documents()]
    return [*entries, _of([row for row in rows if row.kind in PRIVACY], "privacy, all sources")]


def _of(rows: Sequence[RegisterRow], what: str) -> Experiment:
    studies = dict.fromkeys(row.study for row in rows if row.configuration == CONFIGURATION)
    return Experiment(what, rows, tuple(studies), cpu_minutes(rows))


def cpu_minutes(rows: Iterable[RegisterRow]) -> float:
    """Return the CPU minutes of all fits behind some rows of the register, each case and method once."""
    minutes = {(row.study, row.case, row.method): float(row.cpu_minutes) for row in rows if row.cpu_minutes}
    return sum(minutes.values())


def _claims(entries: Sequence[Experiment]) -> str:
    lines = [
        (
            f"E{place}, C{place}",
            entry.what,
            len(entry.rows),
            *counts(entry.rows).values(),
            f"{entry.minutes:.1f}",
            ", ".join(f"`{study}`" for study in entry.studies),
        )
        for place, entry in enumerate(entries, 1)
    ]
    rows = [row for entry in entries for row in entry.rows]
    lines.append(("all", "", len(rows), *counts(rows).values(), f"{cpu_minutes(rows):.1f}", ""))
    return pipe_table(("experiment, claim", "of", "lines", *STATUSES, "CPU minutes", "cubes"), lines)


def paper(root: Path) -> str:
    """Return the text of the paper with the counts of the register and of the measured default run."""
    rows = table.read(root / "docs" / table.NAME)
    statuses, whole = counts(rows), total([row for row in read(root) if row.configuration == "default"])
    counted = {
        r"Of \d+ (?=printed numbers)": f"Of {len(rows)} ",
        r"\d+ are reproduced": f"{statuses['reproduced']} are reproduced",
        r"\d+ claims of privacy are refuted": f"{statuses['refuted']} claims of privacy are refuted",
        r"\d+ differ and": f"{statuses['differs']} differ and",
        r"\d+ cannot be reproduced": f"{statuses['not reproducible']} cannot be reproduced",
        r"[\d,]+ cells in \d+ jobs and \d+ CPU": f"{whole['fits']:,} cells in {whole['jobs']} jobs and "
        f"{whole['cpu_seconds']:.0f} CPU",
    }
    text = (root / PAPER).read_text(encoding="utf-8")
    for pattern, words in counted.items():
        text = re.sub(pattern, words, text)
    return text


def _machine(measured: Iterable[StudyCost]) -> str:
    kinds = dict.fromkeys((row.machine, row.cores, row.memory_gb, row.python) for row in measured)
    return "; ".join(
        f"{machine}, {cores} cores, {memory} GB of memory, Python {python}" for machine, cores, memory, python in kinds
    )


def _times(rows: Sequence[RegisterRow], measured: Sequence[StudyCost]) -> str:
    """A table: what, minutes of one core, peak and disk."""
    lines = list(SET_UP)
    for name, command in (("smoke", "./run --configfile config/smoke.yaml"), ("default", "./run")):
        if mine := [row for row in measured if row.configuration == name]:
            whole = total(mine)
            data = sum(row.disk_megabytes for row in mine if row.study == DATA)
            of_data = f", {data:.1f} of them data sets" if data else ""
            disk = f"{whole['disk_megabytes']:.1f}{of_data}"
            lines.append((f"`{command}`", f"{whole['minutes']:.1f}", f"{whole[PEAK]:.0f}", disk))
    claims = (f"`{CONFIGURATION}`, experiments E1 to the last", f"{cpu_minutes(rows):.0f}, of the fits", "", "")
    return pipe_table(("what", "minutes of one core", "peak MB of a job", "MB on disk"), [*lines, claims, LONGEST])


def total(measured: Sequence[StudyCost]) -> dict[str, float]:
    """Sums over the studies of a configuration, of the peak the largest."""
    return {key: (max if key == PEAK else sum)(getattr(row, key) for row in measured) for key in COLUMNS}


def _studies(measured: Sequence[StudyCost]) -> str:
    """A table: the costs of each study, and of all."""
    named = [("data sets" if row.study == DATA else f"`{row.study}`", vars(row)) for row in measured]
    lines = [
        (name, *(form.format(values[key]) for key, (_, form) in COLUMNS.items()))
        for name, values in (*named, ("all", total(measured)))
    ]
    return pipe_table(("study", *(heading for heading, _ in COLUMNS.values())), lines)
