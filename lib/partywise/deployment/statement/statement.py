"""Statement about a published result: JSON for machines, and words for people made from that JSON alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from textwrap import wrap

# Any: JSON of a statement that somebody else wrote.
from typing import Any

from ...core.documents import encode_json
from ...privacy.rounding import upward
from .intervals import WIDTH, interval_lines

FORMAT = 3
NOT_PROTECTED = (
    "who takes part, how many records each party has, and the names of the columns",
    "times at which messages are sent; samplers and powers of large integers take times that depend on what they draw",
    "parties that do not follow the program: one that adds no noise counts as one colluder more",
    "what somebody can conclude about people in general from the result, whether or not they are in the data",
)


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """Facts that only the parties of a run know.

    run, began, end_day : id; when the first data were opened, by its owner's clock; day of the end
    code : digest of the library
    accounts : by owner a commitment to its account, and what it paid in this run
    runs : by owner how often this study was run on its data, and what it paid in all of these
    fingerprints : SHA-256 of the certificates of the owners; registrations : who registered before data were opened
    answers_reused : earlier runs that paid for what this one published again
    """

    run: str
    began: str
    end_day: str
    code: str
    accounts: Mapping[str, Mapping[str, object]]
    runs: Mapping[str, Mapping[str, object]]
    fingerprints: Mapping[str, str]
    registrations: Sequence[str]
    answers_reused: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Statement(RunFacts):
    """Complete statement: facts of the run, and what follows from the configuration and the measurements.

    epsilon : by unit, of the data of all owners together; owners : of the data of each alone
    """

    format: int = FORMAT
    study: str
    case: str
    method: str
    options: Mapping[str, object]
    unit: str
    relation: str
    delta: float
    n_protected: int
    delta_below_1_over_n: bool
    trust: str
    colluders: int
    unprotected_units: Sequence[str]
    epsilon: Mapping[str, object]
    owners: Mapping[str, Mapping[str, object]]
    epsilon_public: object
    epsilon_any: object
    true_positives: Mapping[str, float]
    coalitions: Sequence[Mapping[str, object]]
    releases: Sequence[Mapping[str, object]]
    public: Sequence[Mapping[str, object]]
    not_protected: Sequence[str] = NOT_PROTECTED
    files: Mapping[str, str]
    configuration: str
    estimator: Mapping[str, str]
    intervals: Mapping[str, object]
    data_version: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        """The bytes that are signed; without stored answers and versions of data they are as before there were any."""
        content = asdict(self)
        return encode_json(
            _finite({k: v for k, v in content.items() if v or k not in ("answers_reused", "data_version")})
        )


def facts_of(statement: Mapping[str, Any]) -> RunFacts:
    """Return the facts of a run that a statement holds."""
    names = [entry.name for entry in fields(RunFacts) if entry.name in statement or entry.name != "answers_reused"]
    return RunFacts(**{name: statement[name] for name in names})


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def text_of(statement: Mapping[str, Any]) -> bytes:
    """Return the statement in words, at most 100 lines, from the JSON alone."""
    written = [line for part in (_who, _costs, _limits, _checks) for line in part(statement)]
    lines = [part for line in written for part in (wrap(line, WIDTH, subsequent_indent="  ") or [""])]
    return ("\n".join(lines) + "\n").encode()


def _who(statement: Mapping[str, Any]) -> Iterator[str]:
    yield f"# What was published: {statement['study']}, method {statement['method']}"
    yield ""
    yield f"Run {statement['run'][:12]}, which ended on {statement['end_day']}; case {statement['case']}."
    estimate = "estimate.csv" if "estimate.csv" in statement["files"] else "none"
    yield f"Estimate: {estimate}; measurements: measurements.csv."
    for run in statement.get("answers_reused", ()):
        yield f"A stored answer: run {run[:12]} drew and paid it, which is counted here; nothing was drawn anew."
    owners = list(statement["accounts"])
    yield f"Data of {', '.join(owners)}: {statement['n_protected']} records are protected (unit {statement['unit']})."
    for name, runs in statement["runs"].items():
        if runs["begun"] > 1:
            yield (
                f"- {name}: this study was run {runs['begun']} times, at epsilon {upward(runs['epsilon'])} together; "
                "the owners could choose which run to publish"
            )
    yield ""


def _costs(statement: Mapping[str, Any]) -> Iterator[str]:
    yield "## What it can cost whom it is about"
    yield ""
    bound = "below" if statement["delta_below_1_over_n"] else "NOT below"
    yield f"delta {statement['delta']}, {bound} one over the number of records. Trust: {statement['trust']}."
    yield f"Of {statement['colluders']} parties it is assumed at most that they join what they know."
    yield ""
    yield "| unit | epsilon | true positives at 1 % false positives, at most |"
    yield "|---|---|---|"
    for unit, epsilon in statement["epsilon"].items():
        yield f"| {unit} | {upward(epsilon)} | {statement['true_positives'][unit]} |"
    yield ""
    yield f"- against those who see the publication alone: epsilon {upward(statement['epsilon_public'])}"
    yield f"- against any parties but the record's own: epsilon {upward(statement['epsilon_any'])}"
    for coalition in statement["coalitions"][:16]:
        yield f"- against {coalition['members']}: epsilon {upward(coalition['epsilon'])}"
    if (rest := len(statement["coalitions"]) - 16) > 0:
        yield f"- {rest} more coalitions stand in statement.json"
    for owner, costs in list(statement["owners"].items())[:8] if statement["unprotected_units"] else ():
        yield f"- data of {owner} alone: {', '.join(f'{unit} {upward(epsilon)}' for unit, epsilon in costs.items())}"
    yield ""


def _limits(statement: Mapping[str, Any]) -> Iterator[str]:
    yield "## What is not protected"
    yield ""
    if statement["unprotected_units"]:
        yield f"- at all, by decision of the parties: {', '.join(statement['unprotected_units'])}"
    for text in statement["not_protected"]:
        yield f"- {text}"
    if versions := statement.get("data_version"):
        stated = ", ".join(f"{name} {version}" for name, version in versions.items())
        yield (
            f"- whether data changed: a version of data ({stated}) that comes off its public schedule, which is not "
            "checked, or a stop at a changed file tells that a record changed"
        )
    yield ""
    yield "## Bounds, and why they are public"
    yield ""
    for bound in statement["public"][:20]:
        yield f"- {bound['name']}: {bound['value']}, {bound['because']}"
    if len(statement["public"]) > 20:
        yield f"- {len(statement['public']) - 20} more stand in statement.json"
    yield ""


def _checks(statement: Mapping[str, Any]) -> Iterator[str]:
    yield "## Who signed, and how to check"
    yield ""
    for name, fingerprint in list(statement["fingerprints"].items())[:12]:
        yield f"- {name}: {fingerprint}"
    registered = ", ".join(statement["registrations"]) or "nobody"
    yield f"Registered before any data were opened, by the clocks of the parties: {registered}."
    yield from interval_lines(statement["intervals"])
    yield ""
    yield "Ask the owners whether these are the fingerprints of their certificates, and run"
    yield ""
    yield "    python -m partywise publish check-release FOLDER --authority authority.pem"
