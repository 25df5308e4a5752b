"""Files and modules that documents, docstrings and comments name exist: what moved is renamed everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from partywise.experiment.study import available, load
from pipeline import ROOT

LIB = ROOT / "lib" / "partywise"
FILE = re.compile(r"(?<![\w/.<{*$-])((?:[\w-]+/)*[\w-]+\.(?:py|smk|md|yaml|toml))\b")
MODULE = re.compile(r"\bpartywise((?:\.[a-z_]\w*)+)")
ROOMS = "|".join(sorted(path.stem for path in LIB.iterdir() if not path.name.startswith("__")))
QUOTED = re.compile(rf"`((?:{ROOMS})(?:\.\w+)+)`")
# What a run or a reader makes; what another project or an interpreter has.
MADE = {
    "wire.md",
    "paragraph.md",
    "my_data.yaml",
    "my_clients.yaml",
    "my_labels.yaml",
    "my_survival.yaml",
    "my_epidemiology.yaml",
    "my_tables.yaml",
    "loans.yaml",
    "shared.yaml",
    "make_loans.py",
    "mine.yaml",
    "grid.yaml",
    "statement.md",
    "study.yaml",
    "again.yaml",
    "configuration.yaml",
    "theirs.yaml",
    "elnino.yaml",
    "fertility.yaml",
    "sitecustomize.py",
    # In a startup kit of NVFlare, and on its command line.
    "partywise.yaml",
    "partywise.log",
}
# Packages of frameworks whose files are cited, each with its version beside it.
FRAMEWORKS = ("fedbiomed/", "flwr/", "nvflare/", "pfl/")
ELSEWHERE = {"partywise.ciphers", "partywise.pth", "partywise.lock", "partywise.yaml", "partywise.log"}


def documents() -> list[Path]:
    """Everything that people read: documents, and the sources of the library and its workflow."""
    folders = (ROOT / "docs", LIB, ROOT / "workflow", ROOT / "scripts", ROOT / "tests" / "benchmarks", ROOT / "config")
    kinds = {".md", ".py", ".smk", ".yaml"}
    inside = [path for folder in folders for path in folder.rglob("*") if path.suffix in kinds and not built(path)]
    return sorted([*inside, *ROOT.glob("*.md"), *ROOT.glob(".github/*.md"), ROOT / "Snakefile", ROOT / "run"])


def built(path: Path) -> bool:
    """Whether `./run docs` has made it from other texts."""
    return bool({"_build", "_generated"} & set(path.relative_to(ROOT).parts))


def text(path: Path) -> str:
    """What is read of a document; of the history of changes its newest section."""
    content = path.read_text(encoding="utf-8")
    if path.name in ("CHANGELOG.md", "numbers_moved.md"):
        return content.split("\n## ")[1]
    return content


@cache
def existing() -> frozenset[str]:
    """Every file of the project by each end of its path: ``cells.py`` and ``experiment/cells.py``."""
    folders = (
        "config",
        "docs",
        "envs",
        "lib",
        "profiles",
        "locks",
        "packaging",
        "scripts",
        "tests",
        "workflow",
    )
    folders += (".github",)
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    files += [ROOT / "results" / "README.md", *(path for path in ROOT.iterdir() if path.is_file())]
    parts = [path.relative_to(ROOT).parts for path in files]
    return frozenset("/".join(of[start:]) for of in parts for start in range(len(of)))


def is_there(dotted: str) -> bool:
    """Whether a dotted name below the package is a module, or a name that its module speaks of."""
    folder, names = LIB, dotted.strip(".").split(".")
    for place, name in enumerate(names):
        if (folder / name).is_dir():
            folder = folder / name
            continue
        source = folder / f"{name}.py"
        inner = names[place + 1 :] if source.is_file() else [name]
        homes = [source] if source.is_file() else [*folder.glob("__init__.py*")]
        return not inner or any(re.search(rf"\b{inner[0]}\b", home.read_text(encoding="utf-8")) for home in homes)
    return True


def unknown(content: str, files: frozenset[str]) -> Iterator[str]:
    """Names in a text that nothing in the project bears."""
    for name in FILE.findall(content):
        if name not in files and name.rpartition("/")[2] not in MADE and not name.startswith(FRAMEWORKS):
            yield name
    for name in MODULE.findall(content):
        if f"partywise{name}" not in ELSEWHERE and not is_there(name):
            yield f"partywise{name}"
    for name in QUOTED.findall(content):
        if not re.search(r"\.(?:py|toml|csv|json|nc)$", name) and not is_there(name):
            yield name


def test_what_a_text_names_exists():
    paths = documents()
    assert len(paths) > 500
    found = {path: list(unknown(text(path), existing())) for path in paths}
    assert not {str(path.relative_to(ROOT)): names for path, names in found.items() if names}


def test_a_name_that_is_gone_is_seen():
    content = "see `studies/label_private/splitting.py`, partywise.slicing.estimate, `audits.nothing` and `checks.py`"
    assert list(unknown(content, existing())) == [
        "studies/label_private/splitting.py",
        "partywise.slicing.estimate",
        "audits.nothing",
    ]


def test_the_page_of_the_configuration_has_every_source_and_protocol():
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    for name in available():
        begin = f"| [`{name}`]({name}.md)"
        row = next((line for line in page.splitlines() if line.startswith(begin)), None)
        assert row is not None, f"docs/configuration.md has no row that begins with {begin}: add it"
        _, _, sources, protocols, _ = row.split("|")
        study = load(name)
        # The audit has a source for each claim of a study, by the name of the claim.
        assert name == "privacy_audit" or set(re.findall(r"`(\w+)`", sources)) == set(study.sources)
        assert set(re.findall(r"`(\w+)`", protocols)) == set(study.methods)


def test_the_map_for_contributors_has_every_room():
    rooms = {path.name for path in LIB.iterdir() if (path / "__init__.py").is_file()} - {"studies"}
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("## The house")[2].partition("\n## ")[0]
    assert rooms <= set(re.findall(r"`(\w+)`", table))
