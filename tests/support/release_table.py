"""Which methods run with secret randomness, by trying all: ``python tests/support/release_table.py`` writes it."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from deployment_cases import FIRST_PORT, PEOPLE, Apart, Columns
from every_protocol import block, fits, generated, planned
from partywise.deployment.publication.release_folder import publisher_of
from partywise.deployment.rehearsal import (
    KNOWING,
    floating_point,
    knowing_places,
    open_ciphers,
    publication_problem,
)
from partywise.deployment.session.outcome import estimate_places, outcomes
from partywise.experiment.cells import execution
from partywise.experiment.study import load
from partywise.federation.run import simulate
from partywise.federation.secure_streams import SecureStreams

ROOT = Path(__file__).resolve().parents[2]
PAGE, HEADING = ROOT / "docs" / "network_reference.md", "## Methods that can release\n"
HEAD = """| study | methods (protocol) | `mode: release` | estimate | places | epsilon | trust | folder |
|---|---|---|---|---|---|---|---|
"""
NAMED = re.compile(r"(\w+)(?: \((\w+)\))?")
# Options by which noise that is made of features has a public bound, or its shape is shown.
PUBLIC: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "label_private": ({"bound": "declared", "row_radius": 2.0}, {"publish_shape": True})
}
# What a method that is refused or draws no noise has in the columns of epsilon, trust and folder.
NOTHING = ("", "", "")


def folder_of(study: str, method: str, more: Mapping[str, Any]) -> str:
    """Who can publish what a method measures, or why nobody can; ``more`` is what it needs of its options."""
    planned_method = planned(study).methods[method]
    # The one method whose parties hold different columns of the records, in a study of different records.
    case = Columns() if planned_method.protocol_name == "products" else Apart(study)
    # The one method of the case has no other to be compared with.
    case.method = {key: one for key, one in block(study)["methods"][method].items() if key != "without_noise"} | more
    if study == "label_private" and planned_method.places:
        case.protect_labels_alone()
        case.network["rows"] = PEOPLE
    names = (*case.files, *planned_method.places)
    case.network["parties"] = {name: {"host": "localhost", "port": FIRST_PORT + k} for k, name in enumerate(names)}
    case.network |= {"mode": "release", "certificates": dict.fromkeys(names, "0" * 64)}
    if not planned_method.uses_epsilon:
        case.network.pop("epsilon", None)
    place = publisher_of(case.deployment())
    if not place:
        case.network["publisher"] = next(iter(case.files))
    said, why = f"by the {place}" if place else "with `publisher: NAME`", publication_problem(case.deployment(), PEOPLE)
    for public in PUBLIC.get(study, ()):
        if why and not set(public) - {one.name for one in fields(planned_method.options)}:
            try:
                tried = replace(planned_method.options, **public)
            except ValueError:
                continue
            if not tried.publication_refusal:
                case.method |= public
                said += "".join(f", `{key}: {str(value).lower()}`" for key, value in public.items())
                why = publication_problem(case.deployment(), PEOPLE)
    if "unprotected_units does not name" in why:
        case.network["unprotected_units"] = ["label", "features"]
        said += ", `unprotected_units: [label, features]`"
        why = publication_problem(case.deployment(), PEOPLE)
    return f"no: {why}" if why else said


def estimate_of(study: str, case: str, method: str) -> str:
    """Who has what of the estimate in the end."""
    plan = planned(study)
    given = plan.cases[case].parties[0], 0, plan.epsilons(case, method)[0], generated(study, case)
    found = outcomes(plan.methods[method].protocol.fit, execution(plan, case, method, *given))
    whole, parts = estimate_places(next(iter(found.values())).value)
    return f"{', '.join(whole) or 'nobody'}{'; parts: ' * bool(parts)}{', '.join(parts)}"


def outcome(study: str, case: str, method: str) -> tuple[str, str, str, str]:
    """What a method does with secret randomness, its epsilon, the parties it trusts, who publishes it."""
    plan = planned(study)
    chosen, protocol = plan.cases[case], plan.methods[method].protocol
    epsilon = plan.epsilons(case, method)[0]
    run = execution(plan, case, method, chosen.parties[0], 0, epsilon, generated(study, case))
    run.rng_for, run.channel.real = SecureStreams(run.rng_for), True
    run.channel.trusted = frozenset(KNOWING)
    open_keys = [key for key, _ in open_ciphers(run.spec.options)]
    run.spec = replace(run.spec, options=replace(run.spec.options, **dict.fromkeys(open_keys, "paillier")))
    if protocol.refusal:
        return f"refused: {protocol.refusal}", *NOTHING
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            simulate(protocol.fit, run)
    except Exception as error:
        if floating_point(error) is None:
            raise
        return "refused: draws without a secret source", *NOTHING
    needs = [f"`{key}: paillier`" for key in open_keys]
    needs += [f"`trusted: {{{place}: NAME}}`" for place in knowing_places(run.channel.ledger.rows)]
    needed, ledger = f" with {' and '.join(needs)}" if needs else "", run.channel.ledger
    noise = [event for event in ledger.rows if event.profile is not None and event.mechanism != "none"]
    if (drawn := any(event.sampler == "secure" for event in noise)) != plan.methods[method].draws_noise:
        raise AssertionError(f"{study}/{method}: noise was drawn: {drawn}, and it states {not drawn}.")
    if not drawn:
        return f"no noise{needed}", *NOTHING
    total = ledger.worst_total(run.channel.names, plan.spec.unit, plan.delta(case, method, chosen.parties[0]))
    folder = folder_of(study, method, dict.fromkeys(open_keys, "paillier"))
    return f"runs{needed}", f"{total.epsilon_certified:.4g}", total.trust, folder


def takes_own_data(study: str) -> bool:
    """Whether a study has a source that parties can run apart; others release nothing."""
    return any(source.apart is not None for source in load(study).sources.values())


def cases() -> dict[tuple[str, str], str]:
    """The small case on which each method is tried, by study and method, in the order of the page."""
    found: dict[tuple[str, str], str] = {}
    for study, case, method in fits():
        if takes_own_data(study):
            found.setdefault((study, method), case)
    return found


def row(study: str, method: str) -> tuple[str, ...]:
    """Protocol of a method, and its cells after the names."""
    logging.getLogger("partywise").setLevel(logging.ERROR)
    case, chosen = cases()[study, method], planned(study).methods[method]
    mode, *costs = outcome(study, case, method)
    cells = (mode, estimate_of(study, case, method), ", ".join(chosen.places), *costs)
    return chosen.protocol_name, *(re.sub(r"^nobody\b", "`nobody`", cell) for cell in cells)


def table(rows: Mapping[tuple[str, str], tuple[str, ...]]) -> str:
    """Write the table: methods of a study with the same cells have one row, without empty cells at its end."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for (study, method), (protocol, *cells) in rows.items():
        name = method if method == protocol else f"{method} ({protocol})"
        groups.setdefault((study, *cells), []).append(name)
    lines = (" | ".join((study, ", ".join(names), *cells)) for (study, *cells), names in groups.items())
    return HEAD + "".join(f"| {line.rstrip(' |')} |\n" for line in lines)


def section() -> str:
    """The table of the page."""
    text = PAGE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    return HEAD + text.partition(HEAD)[2].partition("\n\n")[0].rstrip("\n") + "\n"


def written() -> dict[tuple[str, str], tuple[str, ...]]:
    """Read the rows of all methods from the page, as `row` gives them."""
    found = {}
    for line in section().removeprefix(HEAD).splitlines():
        study, names, *cells = line[2:-2].split(" | ")
        for method, protocol in NAMED.findall(names):
            found[study, method] = (protocol or method, *cells, *[""] * (6 - len(cells)))
    return found


if __name__ == "__main__":
    made = table({one: row(*one) for one in cases()})
    PAGE.write_text(PAGE.read_text(encoding="utf-8").replace(section(), made), encoding="utf-8")
