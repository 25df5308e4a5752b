"""The words of a call: what they ask of Snakemake, and which configuration they name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from partywise.core.errors import ConfigError
from partywise.core.project import command
from partywise.experiment.plans import read_configuration
from place import ROOT, Place, place, shipped

# Words that ask Snakemake for something else than a run, or for another display.
NO_RUN = {"-n", "--dry-run", "--dryrun", "--unlock", "--lint", "--report", "--dag", "--rulegraph", "--filegraph"}
NO_RUN |= {"--reporter"}
NO_RUN |= {"-l", "--list", "--list-rules", "--summary", "-D", "--detailed-summary"}
NO_RUN |= {"--list-untracked", "--lu", "--archive"}
DEFAULT = "config.yaml"
# The word that asks for the shipped configuration where the folder of the run has none; Snakemake does not see it.
SHIPPED = "--default"
CONFIGURATION = ("--configfile", "--configfiles")
HELP, VERSION = {"-h", "--help"}, {"-v", "--version"}
# Those of them that change what lies in the folder.
CHANGES = {"--unlock", "--touch", "-t", "--delete-all-output", "--delete-temp-output", "--cleanup-metadata", "--cm"}
NO_RUN |= CHANGES
# Those that leave out jobs of the configuration.
PART = {"--until", "-U", "--omit-from", "-O", "--allowed-rules", "--batch"}


class Refused(RuntimeError):
    """Nothing was started; the message is the reason, in one sentence."""


def asks_for_part(words: Sequence[str], place: Place) -> bool:
    """Whether a call leaves out jobs of its configuration, or names files, so that other results stay as they are."""
    return any(word.partition("=")[0] in PART or word.startswith(place.folder) for word in words)


def options(words: Sequence[str]) -> argparse.Namespace:
    """The few options of Snakemake that matter here."""
    parser = argparse.ArgumentParser(prog=command(), add_help=False, allow_abbrev=False, usage=argparse.SUPPRESS)
    parser.add_argument(*CONFIGURATION, nargs="+", default=[])
    parser.add_argument("--config", "-C", nargs="*", default=[])
    parser.add_argument("--cores", "-c", nargs="?")
    parser.add_argument("--directory", "-d")
    parser.add_argument("--workflow-profile")
    parser.add_argument("--profile")
    parser.add_argument("--executor", "-e")
    parser.add_argument("--logger", nargs="+")
    parser.add_argument("--quiet", "-q", nargs="*")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_known_args(list(words))[0]


def default(folder: Path) -> Path:
    """The configuration of a call that names none: ``config.yaml`` of the folder of the run, or else of the project."""
    return next((path for path in (folder / DEFAULT, ROOT / DEFAULT) if path.exists()), folder / DEFAULT)


def check_values(arguments: argparse.Namespace) -> None:
    """Raise :class:`Refused` for values of options that end in an error of Snakemake, or in nothing."""
    cores = arguments.cores
    if cores not in (None, "all") and not (cores.isdecimal() and int(cores)):
        raise Refused(f"--cores is {cores!r}: give a whole number from 1, or all.")
    for word in arguments.config:
        if "=" not in word:
            file = f"; a file is named by --configfile {word}" if Path(word).suffix else ""
            raise Refused(f"--config is {word!r}: write key=value, as in --config name=mine{file}.")


def repeated(paths: Sequence[Path]) -> Path | None:
    """The first path that names the file of an earlier one; None without one."""
    places = [path.resolve() for path in paths]
    return next((path for number, path in enumerate(paths) if places[number] in places[:number]), None)


def refuse_surprise(words: Sequence[str], arguments: argparse.Namespace, folder: Path, studies: Sequence[str]) -> None:
    """Raise :class:`Refused` where a call names no configuration, its folder has none, and it does not ask for ours."""
    if arguments.configfile or arguments.config or (folder / DEFAULT).exists() or SHIPPED in words:
        return
    raise Refused(
        f"No configuration is named, and there is no {folder / DEFAULT}. {command()} {SHIPPED} runs the shipped one, "
        f"{len(studies)} studies ({', '.join(studies)}), and writes results/default. For a smaller run name a file, as "
        f"in {command()} --configfile smoke.yaml."
    )


def with_paths(words: Sequence[str], arguments: argparse.Namespace) -> list[str]:
    """The words for Snakemake, in which configurations and a profile of the project are named by their paths."""
    names = {name: str(shipped(name)) for name in (*arguments.configfile, arguments.workflow_profile) if name}
    words = [word for word in words if word != SHIPPED]
    pairs = (word.partition("=") if word.startswith("--") else ("", "", word) for word in words)
    return [f"{option}{sign}{names.get(name, name)}" for option, sign, name in pairs]


def configuration(words: Sequence[str], arguments: argparse.Namespace, folder: Path) -> tuple[Place, list[str]]:
    """The place of the results of the configuration in force, and its studies in order, after a look at its text.

    ConfigError before Snakemake reads the files, as it can execute what is not plain data; Refused when a word may name
    a file that is not looked at.
    """
    check_values(arguments)
    for before, word in zip(["", *words], words, strict=False):
        named = before.startswith("-") or word.startswith(("-", "results/")) or word in arguments.configfile
        if word.endswith((".yaml", ".yml", ".json")) and not named:
            raise Refused(f"{word} is a configuration and not an output of a run: use {command()} --configfile {word}.")
        if word.startswith("--configf") and word.partition("=")[0] not in CONFIGURATION:
            raise Refused(f"{word} is an abbreviation of an option that is checked: write --configfile.")
    overrides = dict(word.split("=", 1) for word in arguments.config if "=" in word)
    paths = [shipped(name) for name in arguments.configfile]
    if (again := repeated(paths)) is not None:
        raise Refused(f"--configfile names {again} twice: name it once.")
    contents = {path: read_configuration(path) for path in paths}
    whole = [path for path, content in contents.items() if "studies" in content]
    if len(whole) > 1:
        raise Refused(
            f"--configfile names {' and '.join(map(str, whole))}, and each of them has studies, which would be mixed: "
            "run one after the other. A second file may only hold other keys, such as root_seed."
        )
    if "studies" not in overrides and not any("studies" in content for content in contents.values()):
        path = default(folder)
        contents[path] = read_configuration(path)
        if "studies" not in contents[path]:
            raise ConfigError(
                f"{path} has no key studies, so it is not a configuration of partywise: run in another folder, or name "
                f"one as in {command()} --configfile smoke.yaml."
            )
    merged: dict[str, Any] = {}
    studies: list[str] = []
    for content in contents.values():
        merged |= content
        if isinstance(block := content.get("studies"), dict):
            studies += block
    merged |= {key: overrides[key] for key in ("name",) if key in overrides}
    files = [path for path, content in contents.items() if "studies" in content]
    return place(merged, files, folder), list(dict.fromkeys(studies))
