"""The artifact appendix that PoPETs asks of an artifact, written from the claims register."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from partywise.experiment.register import table
from partywise.experiment.register.printed_source import files
from partywise.experiment.register.printed_source import read as read_printed
from partywise.experiment.register.table import RegisterRow
from partywise.experiment.register.verb import notable
from partywise.experiment.register.verdict import STATUSES
from partywise.experiment.tables.templates import pipe_table

from .bibliography import documents
from .measured import DATA, read
from .requirements import cpu_minutes, total

PAGE = "docs/artifact_appendix.md"
TEXT = Path(__file__).with_name("appendix.md")
EXAMPLES = 2
PRIVACY = ("epsilon", "claimed_at_most", "claimed_at_least", "hidden")


@dataclass(frozen=True)
class Experiment:
    """One claim of the artifact and what shows it.

    minutes : of one core, from the register; command : what computes it; expected : what is seen
    """

    claim: str
    minutes: float
    command: str
    expected: str
    examples: Sequence[RegisterRow]


def page(root: Path) -> str:
    """The whole of ``docs/artifact_appendix.md``."""
    rows = table.read(root / "docs" / table.NAME)
    entries = experiments(rows)
    return TEXT.read_text(encoding="utf-8").format(
        documents=", ".join(f"{number} (*{document.title}*)" for number, document in documents().items()),
        counts=_counts(rows),
        machine=_machine(root),
        times=_times(root, entries),
        claims="\n".join(f"- **C{place}**: {entry.claim}" for place, entry in enumerate(entries, 1)),
        experiments="\n".join(_experiment(place, entry) for place, entry in enumerate(entries, 1)),
        unreproducible=sum(row.status == "not reproducible" for row in rows),
    )


def experiments(rows: Sequence[RegisterRow]) -> list[Experiment]:
    """One a document for what it prints, and one for the claims of privacy of all of them."""
    chosen = notable([read_printed(path) for path in files()])
    entries = []
    for number in documents():
        mine = [row for row in rows if row.source == number and row.kind not in PRIVACY]
        claim = f"Document {number}: {_told(mine)}."
        entries.append(_of(mine, claim, chosen))
    privacy = [row for row in rows if row.kind in PRIVACY]
    claim = f"Claims of privacy of all documents: {_told(privacy)}."
    return [*entries, _of(privacy, claim, chosen)]


def _of(rows: Sequence[RegisterRow], claim: str, chosen: Sequence[str]) -> Experiment:
    studies = list(dict.fromkeys(row.study for row in rows if row.study))
    configurations = {row.configuration for row in rows if row.configuration}
    commands = [
        f"./run --configfile {configuration} "
        + " ".join(f"results/{Path(configuration).stem}/{study}/cube.nc" for study in studies)
        for configuration in sorted(configurations)
    ]
    return Experiment(
        claim=claim,
        minutes=cpu_minutes(rows),
        command="\n".join([*commands, "./run claims"]),
        expected=f"in `results/claims/claims.csv`, {len(rows)} lines: the counts of the claim",
        examples=[row for row in rows if row.id in chosen][:EXAMPLES],
    )


def _told(rows: Sequence[RegisterRow]) -> str:
    counts = {status: sum(row.status == status for row in rows) for status in STATUSES}
    return ", ".join(f"{count} *{status}*" for status, count in counts.items() if count) or "none apart from privacy"


def _counts(rows: Sequence[RegisterRow]) -> str:
    return f"{len(rows)} printed numbers and sentences: {_told(rows)}"


def _machine(root: Path) -> str:
    rows = read(root)
    kinds = dict.fromkeys((row.machine, row.cores, row.memory_gb, row.python) for row in rows)
    return "; ".join(
        f"{machine}, {cores} cores, {memory} GB of memory, Python {python}" for machine, cores, memory, python in kinds
    )


def _times(root: Path, entries: Sequence[Experiment]) -> str:
    """A table: what, minutes of one core, peak and disk."""
    lines = [("set-up (`.venv`)", 1, "", 450)]
    for name, command in (("smoke", "./run --configfile config/smoke.yaml"), ("default", "./run")):
        if measured := total(root, name):
            minutes, _, peak, disk = measured
            data = sum(row.disk_megabytes for row in read(root) if row.configuration == name and row.study == DATA)
            of_data = f", {data:.1f} of them data sets" if data else ""
            lines.append((f"`{command}`", f"{minutes:.1f}", f"{peak:.0f}", f"{disk:.1f}{of_data}"))
    lines += [(f"experiment E{place}", f"{entry.minutes:.1f}", "", "") for place, entry in enumerate(entries, 1)]
    return pipe_table(("what", "minutes of one core", "peak MB of a job", "MB on disk"), lines)


def _experiment(place: int, entry: Experiment) -> str:
    lines = [
        f"#### E{place}: claim C{place}",
        "",
        "```sh",
        entry.command,
        "```",
        "",
        f"Expected: {entry.expected}.",
        "",
    ]
    if entry.examples:
        rows = ((f"`{row.id}`", row.printed, row.reproduction, row.z, row.status) for row in entry.examples)
        lines += [pipe_table(("entry", "printed", "ours", "z", "status"), rows), ""]
    return "\n".join(lines)
