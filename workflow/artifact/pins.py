"""Versions that other tools read from files of their own, made from one source each.

The version is in the package and its day above the newest changes; ranges of packages are in pyproject.toml, exact
versions in locks/requirements.lock, which is resolved from it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from .facts import locked, text

# The version of the package; a section of changes begins with it and its day.
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
SECTION = re.compile(r"^## (\S+) \(([^)]*)\)", re.MULTILINE)
# Names of packages on conda-forge and bioconda that are others on the Python package index.
CONDA = {"matplotlib-base": "matplotlib", "snakemake-minimal": "snakemake"}
ENTRY = re.compile(r"^( +- )([a-z0-9.-]+)( ?(?:==|>=))([\d.]+)$", re.MULTILINE)
REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[a-z,]+\])?((?:==|>=|<)[\d.]+)?")
RECIPE = "packaging/recipe.yaml"
FRAMEWORKS = "tests/methods/filters/frameworks.txt"
ENVIRONMENTS = ("collect", "data", "figure", "fit", "generate")


def version(root: Path) -> str:
    """The version of the package; empty where it has none."""
    stated = VERSION.search(text(root, "lib/partywise/__init__.py"))
    return stated[1] if stated else ""


def newest_changes(root: Path) -> tuple[str, str]:
    """Version and day of the newest section of the changes."""
    section = SECTION.search(text(root, "CHANGELOG.md"))
    return (section[1], section[2]) if section else ("", "")


def project(root: Path) -> dict[str, Any]:
    """The tables of pyproject.toml."""
    return tomllib.loads(text(root, "pyproject.toml"))


def ranges(root: Path) -> dict[str, str]:
    """The range of every package that the library and its extras ask for, by its lower-case name."""
    stated = project(root)["project"]
    lists = [stated["dependencies"], *stated["optional-dependencies"].values()]
    matches = [REQUIREMENT.fullmatch(requirement) for requirements in lists for requirement in requirements]
    return {match[1].lower(): match[2] for match in matches if match and match[2]}


def citation_head(root: Path, head: str) -> str:
    """The head of CITATION.cff with the version of the package and the day of the newest changes."""
    head = re.sub(r"^version: .*$", f"version: {version(root)}", head, flags=re.MULTILINE)
    return re.sub(r"^date-released: .*$", f"date-released: {newest_changes(root)[1]}", head, flags=re.MULTILINE)


def recipe(root: Path) -> str:
    """The conda recipe with the version, the oldest Python and the ranges of pyproject.toml."""
    floor = project(root)["project"]["requires-python"].removeprefix(">=")
    content = re.sub(r'^(  version: )"[^"]*"$', rf'\g<1>"{version(root)}"', text(root, RECIPE), flags=re.MULTILINE)
    content = re.sub(r'^(  python_min: )"[^"]*"$', rf'\g<1>"{floor}"', content, flags=re.MULTILINE)
    return _with_versions(content, {name: span.lstrip(">=") for name, span in ranges(root).items() if ">=" in span})


def environment(step: str, root: Path) -> str:
    """The environment of a step with the versions of the lock; conda-forge leaves out the suffix .postN."""
    pinned = locked(root, "locks/requirements.lock")
    exact = {name: re.sub(r"\.post\d+$", "", version) for name, version in pinned.items()}
    return _with_versions(text(root, f"envs/{step}.yaml"), exact)


def frameworks(root: Path) -> str:
    """Return the input of the lock of other frameworks, with the versions that our own locks are resolved from."""
    groups = project(root).get("dependency-groups", {})
    matches = [REQUIREMENT.fullmatch(requirement) for name in ("lock", "dev") for requirement in groups.get(name, ())]
    spans = ranges(root) | {match[1].lower(): match[2] for match in matches if match and match[2]}

    def line(match: re.Match[str]) -> str:
        return match[1] + spans.get(match[1], match[2])

    return re.sub(r"^([a-z]+)((?:==|<)[\d.]+)$", line, text(root, FRAMEWORKS), flags=re.MULTILINE)


def _with_versions(content: str, versions: Mapping[str, str]) -> str:
    def entry(match: re.Match[str]) -> str:
        return match[1] + match[2] + match[3] + versions.get(CONDA.get(match[2], match[2]), match[4])

    return ENTRY.sub(entry, content)


PAGES: dict[str, Callable[[Path], str]] = {
    RECIPE: recipe,
    FRAMEWORKS: frameworks,
    **{f"envs/{step}.yaml": partial(environment, step) for step in ENVIRONMENTS},
}
