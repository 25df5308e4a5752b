"""Which methods run with secret randomness, by trying all: ``python tests/support/release_table.py`` writes it."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from deployment_cases import FIRST_PORT, PEOPLE, Apart
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
PAGE = ROOT / "docs" / "release_mode.md"
HEAD = """# Methods that can release

With `mode: release` in the block `network`, everything secret (noise, keys, masks, shares) comes from the operating
system, and noise has an exact distribution on whole numbers. A protocol states whether it releases by such noise, draws
none, or why it is for experiments; a rehearsal on made-up records confirms it before anybody connects. Noise that is
drawn in floating point has no secret source (its low bits tell more than its distribution), batches that come from a
generator with a seed have none either: such a method is refused in one sentence. So is one whose cipher stands for one
in experiments and closes nothing (`cipher: sized` or `identity`: this table was made with `cipher: paillier` in its
place), one whose aggregator sees records or whose dealer knows the noise unless `network.trusted` names who runs that
place, and one with a target that is given no finite epsilon, or certifies more than `network.largest_epsilon` (20).

A method without noise runs, what it costs is infinite, and its screen ends with "nothing here may be published".

This table is made by `python tests/support/release_table.py` and tested: every method of the default configuration was
tried on a small case, without a limit on epsilon. `epsilon` is certified there, of one fit, against the worst declared
coalition; `trust` says who must not collude and whose encryption must hold. `folder` says whether a result can be
[published](publish_a_result.md), by whom, and otherwise why not: such a method is refused, before anybody connects,
where the configuration names a publisher. That was tried too: the program ran on made-up records, and again on others
from what was measured. `estimate` says who has all of the [estimate](network.md#the-result) in the end, and who a part
of it, in either mode, by the names of the small case. `places` are those without data that a method needs beside the
owners of the data.

| study | method | protocol | with `mode: release` | epsilon | trust | folder | estimate | places | reason |
|---|---|---|---|---|---|---|---|---|---|
"""
# What a method that is refused or draws no noise has in the columns of epsilon, trust and folder.
NOTHING = ("", "", "")


def folder_of(study: str, method: str, more: Mapping[str, Any]) -> str:
    """Who can publish what a method measures, or why nobody can; ``more`` is what it needs of its options."""
    case, planned_method = Apart(study), planned(study).methods[method]
    case.method = block(study)["methods"][method] | more
    names = (*case.files, *planned_method.places)
    case.network["parties"] = {name: {"host": "localhost", "port": FIRST_PORT + k} for k, name in enumerate(names)}
    case.network |= {"mode": "release", "certificates": dict.fromkeys(names, "0" * 64)}
    if not planned_method.uses_epsilon:
        case.network.pop("epsilon", None)
    place = publisher_of(case.deployment())
    if not place:
        case.network["publisher"] = next(iter(case.files))
    said, why = f"by the {place}" if place else "with `publisher: NAME`", publication_problem(case.deployment(), PEOPLE)
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


def outcome(study: str, case: str, method: str) -> tuple[str, str, str, str, str]:
    """What a method does with secret randomness: that, its epsilon, whom it trusts, who publishes it, why not."""
    plan = planned(study)
    chosen, protocol = plan.cases[case], plan.methods[method].protocol
    epsilon = plan.epsilons(case, method)[0]
    run = execution(plan, case, method, chosen.parties[0], 0, epsilon, generated(study, case))
    run.rng_for, run.channel.real = SecureStreams(run.rng_for), True
    run.channel.trusted = frozenset(KNOWING)
    open_keys = [key for key, _ in open_ciphers(run.spec.options)]
    run.spec = replace(run.spec, options=replace(run.spec.options, **dict.fromkeys(open_keys, "paillier")))
    if protocol.refusal:
        return "refused", *NOTHING, protocol.refusal
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            simulate(protocol.fit, run)
    except Exception as error:
        if floating_point(error) is None:
            raise
        return "refused", *NOTHING, "draws without a secret source"
    needs = [f"`{key}: paillier`" for key in open_keys]
    needs += [f"`trusted: {{{place}: NAME}}`" for place in knowing_places(run.channel.ledger.rows)]
    reason, ledger = f"with {' and '.join(needs)}" if needs else "", run.channel.ledger
    noise = [event for event in ledger.rows if event.profile is not None and event.mechanism != "none"]
    if (drawn := any(event.sampler == "secure" for event in noise)) != plan.methods[method].draws_noise:
        raise AssertionError(f"{study}/{method}: noise was drawn: {drawn}, and it states {not drawn}.")
    if not drawn:
        return "runs, without noise", *NOTHING, reason
    total = ledger.worst_total(run.channel.names, plan.spec.unit, plan.delta(case, method, chosen.parties[0]))
    folder = folder_of(study, method, dict.fromkeys(open_keys, "paillier"))
    return "runs", f"{total.epsilon_certified:.4g}", total.trust, folder, reason


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


def line(study: str, method: str) -> str:
    """The line of a method."""
    logging.getLogger("partywise").setLevel(logging.ERROR)
    case, chosen = cases()[study, method], planned(study).methods[method]
    *told, reason = outcome(study, case, method)
    told += [estimate_of(study, case, method), ", ".join(chosen.places), reason]
    return f"| {study} | {method} | {chosen.protocol_name} | {' | '.join(told)} |"


def page() -> str:
    """The whole page."""
    return HEAD + "\n".join(line(*one) for one in cases()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
