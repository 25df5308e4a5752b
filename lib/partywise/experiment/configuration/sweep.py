"""Cases of a configuration before they are checked: a case with ``sweep`` stands for the product of its settings."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from ...core.checks import Matrix
from ...core.errors import ConfigError
from .build import as_block, build, choices
from .grammar import NAME, CaseBlock, StudyBlock

FIELD = re.compile(r"\{([^{}]*)\}")
# More cases than this are a slip of the pen: no study has a thousand.
MOST_CASES = 10_000


@dataclass(frozen=True)
class CaseEntry:
    """One case as it is written, or as a sweep writes it out.

    name : of the case; group : key under ``cases``, shared by the cases of a sweep; where : path, for messages
    block : ``source``, ``settings`` and ``grid``; title : as given, with fields in braces, or empty
    words : values that braces may name in addition to settings
    """

    name: str
    group: str
    where: str
    block: Mapping[str, object]
    title: str
    words: Mapping[str, object]

    @property
    def explicit_settings(self) -> tuple[str, ...]:
        """Names of the settings that are given or swept."""
        return tuple(as_block(self.block.get("settings"), self.where))


@dataclass(frozen=True)
class Step:
    """One entry of a swept list: the word that stands for it in names, and the settings that it sets."""

    word: object
    settings: Mapping[str, object]


def written_out(study: StudyBlock, where: str) -> Iterator[CaseEntry]:
    """The cases of a study one by one, sweeps as their products."""
    taken: dict[str, str] = {}
    for group, written in study.cases.items():
        at = f"{where}.{group}"
        for entry in _entries(group, as_block(written, at), study, at):
            if entry.name in taken:
                raise ConfigError(
                    f"{at} makes the case {entry.name!r} twice: its name must distinguish its swept settings."
                    if taken[entry.name] == group
                    else f"{at} makes the case {entry.name!r}, which {where}.{taken[entry.name]} makes too: "
                    "give one of them another name."
                )
            taken[entry.name] = group
            yield entry


def _entries(group: str, block: dict[str, object], study: StudyBlock, where: str) -> Iterator[CaseEntry]:
    case: CaseBlock = build(CaseBlock, block, where)
    for key in ("name", "title"):
        if key in block:
            checked_title(block[key], f"{where}.{key}")
    plain: dict[str, object] = {key: getattr(case, key) for key in ("source", "settings") if key in block}
    if study.grid or "grid" in block:
        plain["grid"] = _scale_replicates({**study.grid, **case.grid}, study.replicate_factor)
    if "sweep" not in block:
        if "name" in block:
            raise ConfigError(f"{where}.name is {case.name!r}: a case without sweep has the name of its key.")
        yield CaseEntry(group, group, where, plain, case.title, {})
        return
    plain.setdefault("source", group)
    axes = _axes(case.sweep, case.settings, f"{where}.sweep")
    for steps in itertools.product(*axes.values()):
        words = dict(zip(axes, (step.word for step in steps), strict=True))
        settings = case.settings | {key: value for step in steps for key, value in step.settings.items()}
        name = _name(group, block.get("name"), words, settings, where)
        yield CaseEntry(name, group, f"{where}[{name}]", plain | {"settings": settings}, case.title, words)


def _scale_replicates(grid: dict[str, object], factor: int) -> dict[str, object]:
    """A grid with so many times its replicates; what is not a number stays as it is, for the check of its type."""
    replicates = grid.get("replicates")
    return grid | {"replicates": factor * replicates} if type(replicates) is int else grid


def _axes(sweep: Mapping[str, object], settings: Mapping[str, object], where: str) -> dict[str, list[Step]]:
    """The lists of a sweep as steps, each setting on one axis only."""
    axes = {key: _steps(key, value, f"{where}.{key}") for key, value in sweep.items()}
    if not axes:
        raise ConfigError(f"{where} is empty: give at least one list of settings, or leave it out.")
    count = prod(map(len, axes.values()))
    if count > MOST_CASES:
        raise ConfigError(f"{where} makes {count} cases: it may make at most {MOST_CASES}.")
    home: dict[str, str] = {}
    for key, steps in axes.items():
        for name in dict.fromkeys(name for step in steps for name in step.settings):
            if name in settings:
                raise ConfigError(f"{where}.{key} sweeps {name}, which is under settings too: keep one of them.")
            if name in home:
                raise ConfigError(f"{where}.{key} sweeps {name}, which {where}.{home[name]} sweeps too: keep one.")
            home[name] = key
    return axes


def _steps(key: str, value: object, where: str) -> list[Step]:
    if not isinstance(value, list | tuple | Mapping):
        raise ConfigError(f"{where} is {value!r}: it must be a list of values or of blocks, or blocks by name.")
    if not value:
        raise ConfigError(f"{where} is empty: give at least one value.")
    if isinstance(value, Mapping):
        return [Step(word, _settings(block, f"{where}.{word}")) for word, block in as_block(value, where).items()]
    steps = []
    for i, entry in enumerate(value):
        if isinstance(entry, Mapping):
            moved = _settings(entry, f"{where}[{i}]")
            # The setting of the same name, else the first, stands for all that move together.
            steps.append(Step(moved.get(key, next(iter(moved.values()))), moved))
        else:
            steps.append(Step(entry, {key: entry}))
    return steps


def _settings(block: object, where: str) -> dict[str, object]:
    settings = as_block(block, where)
    if not settings:
        raise ConfigError(f"{where} is empty: give the settings that move together.")
    return settings


def _name(group: str, pattern: object, words: Mapping[str, object], settings: Mapping[str, object], where: str) -> str:
    """The name of a case: that of its sweep and its values, or the pattern filled in."""
    values = {key: in_name(value) for key, value in {**settings, **words}.items()}
    if pattern is None:
        name, at, hint = "_".join([group, *(values[word] for word in words)]), where, "give a pattern under name:"
    else:
        at, hint = f"{where}.name", "change the pattern"
        name = fill(checked_title(pattern, at), values, at)
    if not NAME.fullmatch(name):
        raise ConfigError(f"{at} makes the name {name!r}: a name has a-z, 0-9 and _, a letter first; {hint}.")
    return name


def checked_title(value: object, where: str) -> str:
    """A title or a pattern of names as it is, or a named error where it is not a line of text."""
    if not (isinstance(value, str) and value.strip() and value.isprintable()):
        raise ConfigError(f"{where} is {value!r}: give text.")
    return value


def in_name(value: object) -> str:
    """A value as part of a name: in lower case, a point as _."""
    return in_title(value).lower().replace(", ", "_").replace(".", "_")


def in_title(value: object) -> str:
    """A value as part of a title: numbers short, lists with commas."""
    if isinstance(value, list | tuple) and not isinstance(value, Matrix):
        return ", ".join(map(in_title, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def fill(pattern: str, values: Mapping[str, object], where: str) -> str:
    """A pattern with its fields in braces filled in."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise ConfigError(f"{where} is {pattern!r}: {{{match[1]}}} is unknown: {choices(match[1], values)}.")
        return in_title(values[match[1]])

    filled = FIELD.sub(value, pattern)
    if {"{", "}"} & set(FIELD.sub("", pattern)):
        raise ConfigError(f"{where} is {pattern!r}: braces go around the name of a setting, as in {{n}}.")
    return filled
