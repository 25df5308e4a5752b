"""Facts that the points of the list look up: sections of a page, links, commands, hashes of locks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from partywise.core.verbs import UnknownVerb, plan

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
COMMAND = re.compile(r"^\./run\b.*$", re.MULTILINE)
INLINE = re.compile(r"`(\./run\b[^`]*)`")
PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([^\s;\\]+)", re.MULTILINE)


def text(root: Path, path: str) -> str:
    """Return the text of a file; empty if it is absent."""
    return (root / path).read_text(encoding="utf-8") if (root / path).is_file() else ""


def absent(root: Path, *paths: str) -> list[str]:
    """Files that must be there and are not, or are empty."""
    return [f"{path} is absent" for path in paths if not text(root, path).strip()]


def section(page: str, heading: str) -> str:
    """Return the text below a heading, up to the next one of its level or a higher one; empty if it is absent."""
    match = re.search(rf"^(#+) {re.escape(heading)}\s*$", page, re.MULTILINE)
    if not match:
        return ""
    level = len(match[1])
    return re.split(rf"^#{{1,{level}}} ", page[match.end() :], maxsplit=1, flags=re.MULTILINE)[0].strip()


def without(page: str, path: str, headings: Iterable[str]) -> list[str]:
    """Return a sentence for each section that a page lacks or that has fewer than 20 characters."""
    return [f"{path} has no section {name!r}" for name in headings if len(section(page, name)) < 20]


def dead_links(root: Path, path: str) -> Iterator[str]:
    """Links of a page to files that do not exist."""
    for target in LINK.findall(text(root, path)):
        if (
            "://" not in target
            and not target.startswith("mailto:")
            and not (root / path).parent.joinpath(target).exists()
        ):
            yield f"{path} links to {target}, which is absent"


def commands(page: str) -> list[str]:
    """Lines and quotations that call ``./run``."""
    return [*COMMAND.findall(page), *INLINE.findall(page)]


def unknown_commands(root: Path, path: str, page: str | None = None) -> Iterator[str]:
    """Yield a sentence for each command of a page with an unknown verb or an absent configuration."""
    page = text(root, path) if page is None else page
    prose = INLINE.sub("", COMMAND.sub("", page))
    for command in commands(page):
        words = shlex.split(command.partition("#")[0])[1:]
        try:
            plan(words if words and re.fullmatch(r"[a-z][a-z-]*", words[0]) else [])
        except UnknownVerb as reason:
            yield f"{path} says {command!r}: {reason}"
        for option, value in pairwise(words):
            if option == "--configfile" and value.startswith("config/") and not _configuration(root, value, prose):
                yield f"{path} says {command!r}: {value} is absent"


def _configuration(root: Path, name: str, prose: str) -> bool:
    """Whether a file is there, is the copy of an example, or is one that the page has its reader save."""
    example = (root / name).with_suffix(".example.yaml")
    return (
        (root / name).is_file()
        or example.is_file()
        or bool(re.search(rf"\b(?:[Ss]ave|[Cc]opy) [^\n]*`{re.escape(name)}`", prose))
    )


def locked(root: Path, lock: str) -> dict[str, str]:
    """Versions of a lock, by lower-case name."""
    return {name.lower(): version for name, version in PIN.findall(text(root, lock))}


def unhashed(root: Path, lock: str) -> list[str]:
    """Packages of a lock without a hash."""
    blocks = re.split(r"^(?=[A-Za-z0-9_.-]+==)", text(root, lock), flags=re.MULTILINE)[1:]
    return [block.split("==")[0] for block in blocks if "--hash=sha256:" not in block]
