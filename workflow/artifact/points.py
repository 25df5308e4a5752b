"""The fifteen points that an artifact of PETS is asked for: each returns what is missing, by facts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from partywise.data.catalogue import RESOURCES
from partywise.experiment.plans import read_configuration
from partywise.experiment.register import table
from partywise.experiment.study import available

from . import appendix, citation, codemeta, commands, container, default_run, expected, pins, sources
from .bibliography import cases, documents
from .facts import absent, dead_links, locked, section, text, unhashed, unknown_commands, without
from .measured import DATA, DURATION, TIMED, duration, read

README = "README.md"
# What opens a connection, or calls what does.
DOWNLOADS = re.compile(
    r"^\s*(?:import|from) (?:urllib\.request|http\.client|requests|ftplib|socket)\b|\"pip\"", re.MULTILINE
)


@dataclass(frozen=True)
class Point:
    """One point of the list; ``missing`` yields a sentence for each fact that does not hold."""

    title: str
    missing: Callable[[Path], Iterator[str]]


def purpose(root: Path) -> Iterator[str]:
    """Check that the README describes the project and that its table of studies names every study and document."""
    page = text(root, README)
    first = page.partition("\n## ")[0].removeprefix("# partywise").strip()
    if len(first.split()) < 30:
        yield f"{README} does not say in its first paragraph what this is"
    for name in available():
        if not re.search(rf"^\| `{name}` \|", page, re.MULTILINE):
            yield f"{README} has no line of the study {name}"
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    yield from (
        f"{README} names no study of document {key}" for key in documents() if not any(key in it for it in lines)
    )
    if "docs/artifact_appendix.md" not in section(page, "Artifact"):
        yield f"{README} has no section Artifact that links the appendix"
    yield from dead_links(root, README)


def licence(root: Path) -> Iterator[str]:
    """One licence, the same in its file, in the package and in the citation."""
    yield from absent(root, "LICENSE")
    named = tomllib.loads(text(root, "pyproject.toml"))["project"].get("license")
    cited = citation.read(root / sources.CITATION).get("license") if text(root, sources.CITATION) else None
    first = (text(root, "LICENSE").splitlines() or [""])[0]
    if not named or named != cited or first != f"{named} License":
        yield f"licence is {first!r} in LICENSE, {named} in pyproject.toml, {cited} in {sources.CITATION}"


def reference(root: Path) -> Iterator[str]:
    """A citation by the standard, of the package and the newest section of changes; cubes hold the commit."""
    if missing := absent(root, sources.CITATION):
        yield from missing
        return
    cited = citation.read(root / sources.CITATION)
    yield from (f"{sources.CITATION}: {odd}" for odd in citation.oddities(cited))
    version, (changed, day) = pins.version(root), pins.newest_changes(root)
    if changed != version:
        yield f"the package is version {version}, CHANGELOG.md begins with {changed}"
    if (cited.get("version"), str(cited.get("date-released"))) != (version, day):
        yield f"{sources.CITATION} cites another version than {version} ({day}): ./run check --artifact --write"
    if text(root, codemeta.PAGE) != codemeta.page(root):
        yield f"{codemeta.PAGE} is not what {sources.CITATION} and pyproject.toml say: ./run check --artifact --write"
    if "git_commit" not in text(root, "lib/partywise/experiment/results/provenance.py"):
        yield "cubes do not hold the commit that made them"


def origins(root: Path) -> Iterator[str]:
    """Documents and data sets with licences and hashes, on the page and in the citation."""
    if text(root, sources.PAGE) != sources.page(root):
        yield f"{sources.PAGE} is not what the catalogue and the bibliography say: ./run check --artifact --write"
    content = text(root, sources.CITATION)
    if yaml.safe_load(content or "{}").get("references") != sources.references():
        yield f"{sources.CITATION} has other references than the bibliography: ./run check --artifact --write"
    yield from (
        f"the data set {name} has no licence" for name, resource in RESOURCES.items() if not resource.licence.strip()
    )


def hardware(root: Path) -> Iterator[str]:
    """A kind of machine, and the memory and disk of every study of the default."""
    if text(root, appendix.PAGE) != appendix.page(root):
        yield f"{appendix.PAGE} is not what was measured: ./run check --artifact --write"
    rows = [row for row in read(root) if row.configuration == "default"]
    lacking = set(available()) - {row.study for row in rows}
    yield from (f"memory and disk of {name} were not measured" for name in sorted(lacking))
    for row in rows:
        if not row.machine or not row.cores or not row.memory_gb or (row.study != DATA and row.peak_megabytes <= 0):
            yield f"the line of {row.study} names no machine or no memory"
    yield from without(text(root, appendix.PAGE), appendix.PAGE, ["Hardware"])


def software(root: Path) -> Iterator[str]:
    """Locks with hashes, the first inside the second; environments with the versions of the lock."""
    run, test = (locked(root, name) for name in ("locks/requirements.lock", "locks/requirements-test.lock"))
    if not run or not test:
        yield "locks/requirements.lock or locks/requirements-test.lock is absent or empty"
        return
    for name in (
        "locks/requirements.lock",
        "locks/requirements-test.lock",
        "locks/requirements-network.lock",
        "locks/requirements-nvflare.lock",
        "locks/requirements-frameworks.lock",
    ):
        yield from (f"{package} has no hash in {name}" for package in unhashed(root, name))
    network, nvflare = locked(root, "locks/requirements-network.lock"), locked(root, "locks/requirements-nvflare.lock")
    # That of NVFlare is an environment of its own.
    common = {name: version for name, version in nvflare.items() if name in test}
    yield from (
        f"{name} differs between the locks"
        for lock in (run, network, common)
        for name in lock
        if test.get(name) != lock[name]
    )
    for name, page in pins.PAGES.items():
        if text(root, name) != page(root):
            yield f"{name} has other versions than pyproject.toml and requirements.lock: ./run check --artifact --write"
    yield from without(text(root, appendix.PAGE), appendix.PAGE, ["Software"])


def one_command(root: Path) -> Iterator[str]:
    """Check that `./run` is executable and compares hashes, and that the README and the appendix set up by it."""
    script = root / "run"
    if not script.is_file() or not script.stat().st_mode & 0o100:
        yield "run is absent or cannot be executed"
        return
    if 'install --require-hashes -r "locks/$1"' not in text(root, "run"):
        yield "./run installs without comparing hashes"
    for path, heading in ((README, "Two commands"), (appendix.PAGE, "Set-up")):
        if not re.search(r"^\./run\b", section(text(root, path), heading), re.MULTILINE):
            yield f"{path} does not set up by ./run below {heading!r}"
    if text(root, commands.PAGE) != commands.page(root):
        yield f"{commands.PAGE} is not what the table of verbs says: ./run check --artifact --write"
    for path in (README, *sorted(str(page.relative_to(root)) for page in root.glob("docs/*.md"))):
        yield from unknown_commands(root, path)


def environment_test(root: Path) -> Iterator[str]:
    """A check of all studies, whose expected screen has the form that a run prints."""
    smoke = yaml.safe_load(text(root, "config/smoke.yaml") or "{}").get("studies", {})
    yield from (f"config/smoke.yaml leaves out {name}" for name in available() if name not in smoke)
    if expected.block(root) not in text(root, expected.PAGE):
        yield f"{expected.PAGE} is not the screen that was kept: ./run check --artifact --write"
        return
    screens = expected.screens(text(root, expected.PAGE))
    if "./run --configfile config/smoke.yaml" not in screens:
        yield f"{expected.PAGE} has no screen of config/smoke.yaml"
    for name, (path, command) in expected.SHOWN.items():
        if lines := screens.get(command):
            yield from (f"{expected.PAGE}: {odd}" for odd in expected.oddities(lines, root / path, name))
    if text(root, default_run.PAGE) != default_run.page(root):
        yield f"{default_run.PAGE} does not hold the numbers that were kept: ./run check --artifact --write"


def times(root: Path) -> Iterator[str]:
    """The appendix has a time for each experiment and command, and there is one time of the default run."""
    for path in TIMED:
        if DURATION.findall(text(root, path)) != [duration(root)]:
            yield f"{path} does not say the measured time of the default run: ./run check --artifact --write"
    listed = section(text(root, appendix.PAGE), "Main results and claims")
    estimates = section(text(root, appendix.PAGE), "Estimated time and storage")
    for place in range(1, len(documents()) + 2):
        if not re.search(rf"^\| E{place}, C{place} \|.* \| [\d.]+ \| [`\w, ]*\|$", listed, re.MULTILINE):
            yield f"{appendix.PAGE} has no time of experiment E{place}"
    for command in ("./run", "./run --configfile config/smoke.yaml"):
        if f"| `{command}` |" not in estimates:
            yield f"{appendix.PAGE} has no time and storage of {command}"


def claims(root: Path) -> Iterator[str]:
    """A register with a status for every entry and a reason where one is due, and a list of claims."""
    rows = table.read(root / "docs" / table.NAME)
    yield from (f"document {number} has no entry" for number in documents() if all(r.source != number for r in rows))
    yield from (f"{row.id} has no status" for row in rows if not row.status)
    bare = [row.id for row in rows if row.status in ("differs", "not reproducible") and not row.because]
    yield from (f"{name} has no reason" for name in bare)
    if text(root, appendix.PAGE) != appendix.page(root):
        yield f"{appendix.PAGE} is not what the register says: ./run check --artifact --write"
    listed = section(text(root, appendix.PAGE), "Main results and claims")
    for place in range(1, len(documents()) + 2):
        if f"| E{place}, C{place} |" not in listed:
            yield f"{appendix.PAGE} has no claim C{place}"


def experiments(root: Path) -> Iterator[str]:
    """Each claim has its counts and the cubes that show it; commands that `./run` knows make them."""
    page = text(root, appendix.PAGE)
    computed = yaml.safe_load(text(root, appendix.CONFIGURATION) or "{}").get("studies", {})
    for place, entry in enumerate(appendix.experiments(table.read(root / "docs" / table.NAME)), 1):
        left_out = [name for name in entry.studies if name not in computed]
        yield from (f"{appendix.CONFIGURATION} leaves out {name} of E{place}" for name in left_out)
    block = section(page, "Experiments")
    for command in (f"./run --configfile {appendix.CONFIGURATION}", "./run claims"):
        if not re.search(rf"^{re.escape(command)}$", block, re.MULTILINE):
            yield f"{appendix.PAGE}: experiments have no command {command}"
    if not re.search(r"\bExpected: .{20,}", block):
        yield f"{appendix.PAGE}: experiments have no expected result"
    yield from unknown_commands(root, appendix.PAGE, page)


def network(root: Path) -> Iterator[str]:
    """One rule downloads, from pinned files with hashes; the check of the environment downloads no data."""
    for name, resource in RESOURCES.items():
        for digest in (resource.sha256, *(member.sha256 for member in resource.members)):
            if not re.fullmatch(r"[0-9a-f]{64}", digest):
                yield f"the data set {name} has no SHA-256"
    for path in sorted((root / "lib").rglob("*.py")):
        # What crosses between parties goes through a folder of its own, and downloads nothing.
        allowed = path.name == "carriers.py" or path.parent.parts[-2:] == ("deployment", "wire")
        if DOWNLOADS.search(path.read_text(encoding="utf-8")) and not allowed:
            yield f"{path.relative_to(root)} reaches the network: data sets come through data/carriers.py alone"
    if "network is used" not in section(text(root, appendix.PAGE), "Software"):
        yield f"{appendix.PAGE} does not state when the network is used"
    path = root / "config" / "smoke.yaml"
    for name, study, case in cases(read_configuration(path)) if path.exists() else []:
        yield f"config/smoke.yaml downloads {name} for {case} of {study}"


def recipe(root: Path) -> Iterator[str]:
    """A container recipe whose files exist, of a Python of the lock, that does not run as root."""
    yield from absent(root, container.FILE)
    if text(root, container.FILE):
        yield from container.oddities(root)


def safety(root: Path) -> Iterator[str]:
    """Check the policy on reports and scope, and the sections on security, privacy and ethics."""
    yield from absent(root, ".github/SECURITY.md")
    page = ".github/SECURITY.md"
    yield from without(text(root, page), page, ["Reporting", "In scope", "Out of scope"])
    if "sampler: simulation" not in section(text(root, ".github/SECURITY.md"), "Out of scope"):
        yield ".github/SECURITY.md does not say that simulated noise is not for release"
    yield from without(text(root, appendix.PAGE), appendix.PAGE, ["Security and privacy", "Ethics"])
    yield from dead_links(root, ".github/SECURITY.md")


def reuse(root: Path) -> Iterator[str]:
    """Limitations, and pages on how to extend whose links lead somewhere."""
    yield from without(text(root, appendix.PAGE), appendix.PAGE, ["Limitations", "Notes on reusability"])
    yield from absent(root, ".github/CONTRIBUTING.md", "docs/own_method.md", "docs/your_own_data.md", "docs/python.md")
    yield from without(text(root, ".github/CONTRIBUTING.md"), ".github/CONTRIBUTING.md", ["Where a change goes"])
    yield from unknown_commands(root, ".github/CONTRIBUTING.md")
    for path in (appendix.PAGE, ".github/CONTRIBUTING.md"):
        yield from dead_links(root, path)


POINTS = (
    Point("the README says what the artifact is and which documents it belongs to", purpose),
    Point("a licence", licence),
    Point("a persistent reference: citation, version, commit", reference),
    Point("source documents and data sets with licences and hashes", origins),
    Point("hardware requirements, measured", hardware),
    Point("software requirements, pinned with hashes", software),
    Point("set-up by one command", one_command),
    Point("a test of the environment with its expected output", environment_test),
    Point("time and storage of each experiment", times),
    Point("a list of claims with a status and a reason", claims),
    Point("an experiment for each claim: command and expected result", experiments),
    Point("what is downloaded, and when", network),
    Point("a container recipe", recipe),
    Point("security, privacy and ethics", safety),
    Point("limitations, reuse and how to extend", reuse),
)
