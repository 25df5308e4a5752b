"""The register: one row an entry, made of what is printed, of our numbers, of the rule and of reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from math import isfinite, isnan, nan

from ...core.errors import ConfigError
from ...core.project import command
from ..study import Lazy
from .numbers import Cubes, Number
from .printed_source import Entry, PrintedSource, Reason
from .table import RegisterRow
from .verdict import SHARE, PrintedVerdict, verdict

# Of a claim of privacy: what was found, what is certified, and the bounds that may exceed the one by counts.
FURTHER = ("claim_refuted", "certified_for_claim", "epsilon_mu_lower", "exact_epsilon")


def rows(printed: Iterable[PrintedSource], cubes: Cubes) -> list[RegisterRow]:
    """All rows, in the order of the documents.

    ConfigError names the first entry that differs or cannot be reproduced and has no reason, or the first reason that
    no entry needs.
    """
    lines = []
    for file in sorted(printed, key=lambda source: source.entries[0].document):
        lines += _of_file(file, cubes)
    return lines


def _of_file(file: PrintedSource, cubes: Cubes) -> list[RegisterRow]:
    lines: list[RegisterRow] = []
    bare: list[str] = []
    used = [0] * len(file.reasons)
    for entry in file.entries:
        number = number_of(entry, cubes, lines)
        if entry.reproduction is not None and number is None:
            continue
        outcome = verdict(entry, number)
        because = ""
        if outcome.status in ("differs", "not reproducible"):
            covering = (
                place for place, candidate in enumerate(file.reasons) if candidate.covers(entry, outcome.status)
            )
            position = next(covering, None)
            if position is None:
                bare.append(_description(entry, number, outcome))
                continue
            used[position] += 1
            because = file.reasons[position].text + _instead(entry, file.reasons[position], cubes)
        lines.append(_row(entry, number, outcome, because))
    if bare:
        raise ConfigError(
            f"{file.path.name} has no reason for {bare[0]}: write one as reason ({len(bare)} such entries, "
            f"among them {'; '.join(bare[1:6])})."
        )
    for reason, count in zip(file.reasons, used, strict=True):
        if not count and not cubes.absent:
            raise ConfigError(
                f"{file.path.name} gives a reason for {', '.join(reason.ids)} that no entry needs, as all of them "
                "agree: take it out."
            )
    return lines


def number_of(entry: Entry, cubes: Cubes, earlier: Sequence[RegisterRow]) -> Number | None:
    """Our number; of a claim of privacy the largest lower bound; None where a cube is absent."""
    if entry.reproduction is None:
        return None
    if pattern := entry.reproduction.rows:
        read = [row for row in earlier if fnmatchcase(row.id, pattern)]
        compute = Lazy(entry.reproduction.function)
        return None if cubes.absent else Number(float(compute(read, **(entry.reproduction.arguments or {}))), None, 0)
    number = cubes.number(entry.reproduction, FURTHER if entry.kind == "epsilon" else ())
    if number is None or entry.kind != "epsilon":
        return number
    bounds = {"": number.value} | {name: number.further[name] for name in FURTHER[2:]}
    known = {name: value for name, value in bounds.items() if not isnan(value)}
    name = max(known, key=lambda variable: known[variable], default="")
    largest = replace(number, value=known.get(name, nan), error=None)
    return replace(largest, variable=name, reduction="max") if name else largest


def _description(entry: Entry, number: Number | None, outcome: PrintedVerdict) -> str:
    value = "nothing" if number is None else f"{number.value:.4g}"
    return f"{entry.id} (printed {entry.printed or 'nothing'}, ours {value}, z {outcome.z:.3g}, {outcome.status})"


def _instead(entry: Entry, reason: Reason, cubes: Cubes) -> str:
    """Look up the number that would agree according to a reason, and return a clause on it; else empty."""
    if reason.alternative is None or entry.reproduction is None:
        return ""
    number = cubes.number(entry.reproduction.with_keys(reason.alternative))
    if number is None:
        return ""
    agrees = verdict(entry, number).status == "reproduced"
    return f" (there {number_text(number.value)}, which {'agrees' if agrees else 'differs too'})"


def _row(entry: Entry, number: Number | None, outcome: PrintedVerdict, because: str) -> RegisterRow:
    source = entry.reproduction
    place = {} if number is None else number.place
    from_cube = source is not None and not source.function
    within = "" if isnan(outcome.relative) else "yes" if outcome.relative <= SHARE else "no"
    return RegisterRow(
        id=entry.id,
        source=entry.document,
        place=entry.place,
        quantity=entry.quantity,
        kind=entry.kind,
        printed=entry.printed,
        spread=entry.spread,
        reproduction="" if number is None else number_text(number.value),
        se="" if number is None or number.error is None else number_text(number.error, 3),
        replicates="" if number is None or not number.replicates else str(number.replicates),
        z=number_text(outcome.z, 3),
        within_5_percent=within,
        resolution=number_text(outcome.resolution, 2),
        saturated=entry.saturation is not None and float(entry.printed) >= entry.saturation,
        certified=number_text(number.further["certified_for_claim"]) if number and number.further else "",
        status=outcome.status,
        because=because,
        study=source.study if source and from_cube else "",
        case=place.get("case", ""),
        method=place.get("method_label", ""),
        parties=place.get("parties", ""),
        epsilon=place.get("epsilon", ""),
        variable=_variable(entry, number),
        reduction=(number.reduction if number and number.reduction else _reduction(entry)) if from_cube else "",
        configuration=source.configuration if source and from_cube else "",
        command=_command(entry),
        cpu_minutes="" if number is None or number.cpu_minutes is None else number_text(number.cpu_minutes, 2),
    )


def _variable(entry: Entry, number: Number | None) -> str:
    """The variable of the cube that our number is, or the function that computes it."""
    if entry.reproduction is None:
        return ""
    if entry.reproduction.function:
        return entry.reproduction.function
    return number.variable if number and number.variable else entry.reproduction.variable


def _reduction(entry: Entry) -> str:
    source = entry.reproduction
    assert source is not None
    terms = [f"{word} {dict(keys)}" for word, keys in (("less", source.minus), ("over", source.over)) if keys]
    return " ".join([source.reduce, *terms]).replace("'", "")


def _command(entry: Entry) -> str:
    """Return the command that computes our number again."""
    if entry.reproduction is None:
        return ""
    if entry.reproduction.function:
        return "./run claims"
    return f"./run --configfile {entry.reproduction.configuration}"


def number_text(value: float, digits: int = 4) -> str:
    """A number with so many significant digits; nothing for what is undefined, ``inf`` for what is infinite."""
    if isnan(value):
        return ""
    if not isfinite(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.{digits}g}"


def missing(cubes: Cubes) -> Sequence[str]:
    """One sentence a cube that is not there: which one, and what makes it."""
    return [
        f"{path} is absent: {command()} --configfile {configuration} makes it."
        for (_, configuration), path in cubes.absent.items()
    ]
