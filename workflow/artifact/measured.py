"""Time, memory and disk of a finished run by study, its screen and the images of pages, kept for the documentation."""

from __future__ import annotations

import csv
import os
import platform
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from partywise.core.files import replacing

FOLDER = Path("docs/measured")
TABLE = FOLDER / "requirements.csv"
# Images of pages: the name of a configuration, then the path of a figure among its results.
IMAGES = Path("docs/images")
# What is read before the first study: the files of public data sets.
DATA = "fetch"
# Files with the time of the default run, and its form there.
TIMED = ("README.md", "config.yaml")
DURATION = re.compile(r"\w+ to \w+ minutes on two free cores")
SHOWN = re.compile(r"(?<=```\n)Run default: (?:.*\n)+?(?=```)")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
# Snakemake works beside the jobs, and at the end one of two cores is idle.
OVERHEAD = 1.1


@dataclass(frozen=True)
class StudyCost:
    """One study of one run.

    fits, jobs : counts; minutes : of all jobs one after the other, as on one core; cpu_seconds : of all jobs
    peak_megabytes : resident, of the largest job; disk_megabytes : blocks, cube, tables and figures, or data sets
    machine, cores, memory_gb, python : the kind of machine
    """

    configuration: str
    study: str
    fits: int
    jobs: int
    minutes: float
    cpu_seconds: float
    peak_megabytes: float
    disk_megabytes: float
    machine: str
    cores: int
    memory_gb: int
    python: str


def screen_file(name: str) -> Path:
    """Return the path of the stored screen of a configuration."""
    return FOLDER / f"{name}.screen.txt"


def study_costs(results: Path, name: str, data: Sequence[Path]) -> list[StudyCost]:
    """All studies of a folder of results, in the order of their names, after the folders of their data sets."""
    benchmarks = results / "benchmarks"
    rows = []
    for study in sorted({DATA, *(path.name for path in benchmarks.iterdir() if path.is_dir())}):
        jobs = [_numbers(path) for path in sorted((benchmarks / study).rglob("*.tsv"))]
        folders = list(data) if study == DATA else [results / study, results / "figures" / study]
        rows.append(
            StudyCost(
                configuration=name,
                study=study,
                fits=_fits(results / study / "timings.csv"),
                jobs=len(jobs),
                minutes=round(sum(job["s"] for job in jobs) / 60, 1),
                cpu_seconds=float(round(sum(job["cpu_time"] for job in jobs))),
                peak_megabytes=float(round(max((job["max_rss"] for job in jobs), default=0))),
                disk_megabytes=float(round(sum(map(megabytes, folders)), 1)),
                **machine(),
            )
        )
    return sorted(rows, key=lambda row: row.study != DATA)


def _numbers(path: Path) -> dict[str, float]:
    """One benchmark file; a job too short to be sampled counts with its wall time, all of one core."""
    with path.open(encoding="utf-8", newline="") as handle:
        line = next(csv.DictReader(handle, delimiter="\t"))
    numbers = {key: _number(line[key]) for key in ("s", "cpu_time", "max_rss")}
    return numbers | {"cpu_time": numbers["cpu_time"] or numbers["s"]}


def _number(text: str) -> float:
    return float(text) if text not in ("NA", "-", "") else 0.0


def _fits(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open(encoding="utf-8", newline="") as handle:
        return sum(int(line["cells"]) for line in csv.DictReader(handle))


def megabytes(folder: Path) -> float:
    """Size of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def machine() -> dict[str, str | int]:
    """The kind of this machine, without its name."""
    return {
        "machine": _processor(),
        "cores": os.cpu_count() or 1,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "python": platform.python_version(),
    }


def _processor() -> str:
    """Class of the processor, as the system names it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else 'processor not named'}, {platform.machine()}"


def read(root: Path) -> list[StudyCost]:
    """The table of the documentation, empty where nothing was measured yet."""
    if not (root / TABLE).exists():
        return []
    kinds = {"int": int, "float": float, "str": str}
    with (root / TABLE).open(encoding="utf-8", newline="") as handle:
        return [
            StudyCost(**{f.name: kinds[str(f.type)](line[f.name]) for f in fields(StudyCost)})
            for line in csv.DictReader(handle)
        ]


def write(root: Path, rows: Iterable[StudyCost]) -> None:
    """Replace the lines of these configurations; the others stay."""
    new = list(rows)
    names = {row.configuration for row in new}
    table = [*(row for row in read(root) if row.configuration not in names), *new]
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    with replacing(root / TABLE) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        lines = csv.DictWriter(handle, [entry.name for entry in fields(StudyCost)], lineterminator="\n")
        lines.writeheader()
        lines.writerows(asdict(row) for row in sorted(table, key=lambda row: (row.configuration, row.study != DATA)))


def duration(root: Path) -> str:
    """Return how long the default run takes on two cores, in words; empty if it was not measured."""
    minutes = sum(row.minutes for row in read(root) if row.configuration == "default")
    least = min(int(OVERHEAD * minutes / 2), len(NUMBERS) - 2)
    return f"{NUMBERS[least]} to {NUMBERS[least + 1]} minutes on two free cores" if minutes else ""


def timed(path: str, root: Path) -> str:
    """Return the text of a file with the time of the measured default run, and the lines it shows of the screen."""
    text = (root / path).read_text(encoding="utf-8")
    if words := duration(root):
        text = DURATION.sub(words, text)
    screen = root / screen_file("default")
    if (block := SHOWN.search(text)) and screen.exists():
        lines = screen.read_text(encoding="utf-8").splitlines(keepends=True)[: block[0].count("\n")]
        text = text.replace(block[0], "".join(lines))
    return text


def images_of(root: Path, name: str) -> list[Path]:
    """Paths of the images that the pages show of a configuration, below its folder."""
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    texts = "".join(page.read_text(encoding="utf-8") for page in pages if page.is_file())
    return sorted({Path(path) for path in re.findall(rf"images/{re.escape(name)}/([\w/]+\.png)", texts)})


def keep_images(root: Path, results: Path, name: str) -> str:
    """Copy the figures of a finished run that pages show; return a sentence on what it lacks, or an empty text."""
    images = images_of(root, name)
    missing = [str(path) for path in images if not (results / "figures" / path).is_file()]
    if missing or not images:
        lacks = (
            f"has no figure {', '.join(missing)}" if missing else f"is not shown by any page: none has images/{name}"
        )
        return f"{results} {lacks}. Give the folder of a finished run, such as results/default."
    for path in images:
        (root / IMAGES / name / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(results / "figures" / path, root / IMAGES / name / path)
    return ""


def measure(root: Path, results: Path, name: str, data: Sequence[Path]) -> str:
    """Store the measurements and the screen of a finished run; return the reason if that fails, or an empty text."""
    if not (results / "benchmarks").is_dir():
        return f"{results} holds no benchmarks: give the folder of a finished run, such as results/default."
    write(root, study_costs(results, name, data))
    if (results / "screen.txt").exists():
        shutil.copyfile(results / "screen.txt", root / screen_file(name))
    return ""
