"""Files of a published result, made from configuration and measurements: for writing, signing and checking.

The program of the method runs once more, in one process, on made-up records and with the published values in place of
every draw. So all that is published follows from these values and from what is public. Sensitivities, costs and noise
are those that the program states, not those that a party wrote down.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

# Any: values of whatever a protocol returns, and JSON of them.
from typing import Any

import numpy as np

from ... import __version__
from ...core import documents
from ...core.checks import Matrix
from ...federation.cipher import Cipher
from ...federation.exchanges.sharing import DEALER
from ...federation.gate import ROW, charges_of, open_rows
from ...federation.identity import Identity
from ...federation.place_checks import PlacedRun, estimate_at
from ...federation.roles import UNITS
from ...models.intervals import FittedLaw
from ...models.simulation.fit import STATED_LAW
from ...privacy.accounted_values import AccountedValue, Clear, Public
from ...privacy.ledger.event import FIELDS, QUESTIONS, Event
from ...privacy.ledger.ledger import Ledger
from ...privacy.ledger.total import Total
from ...privacy.mechanisms.release import Release, derive, derived_event, digest_of
from ..deployments import Deployment
from ..outcomes.result import estimate_table
from ..part import made_up_run
from ..statement import files
from ..statement.intervals import interval_facts, intervals_at
from ..statement.measurements import MeasurementReplay, formula_of, table_of
from ..statement.statement import RunFacts, Statement, text_of

# Names of which all coalitions are listed; of more only how many join.
FEW = 6


@dataclass(frozen=True)
class Rebuilt:
    """Files, statement and costs that follow from configuration and measurements.

    files : bytes by name, each with all that it is made of, without signatures and certificates
    statement : content of its JSON
    charges : units that nothing protects once the files are out, by the owner of the data
    """

    files: Mapping[str, AccountedValue]
    statement: Mapping[str, Any]
    events: Mapping[str, Event]
    charges: Mapping[str, tuple[str, ...]]


def publisher_of(deployment: Deployment) -> str:
    """Name the party that writes the folder: as configured, else the first place with results; empty if none."""
    return deployment.network.publisher or next((name for name in deployment.places if name != DEALER), "")


def rebuild(
    deployment: Deployment,
    configuration: bytes,
    values: Mapping[str, np.ndarray],
    facts: RunFacts,
    registrations: Mapping[str, str],
    n: int,
    stated_estimate: bytes,
    law: FittedLaw | None,
) -> Rebuilt:
    """Make all files except signatures and certificates; `registrations` are their digests, ``n`` all records.

    law : that intervals state, which is evaluated instead of searched for; NotNearest where no search ends there
    No other party can make an estimate that is also made of the publisher's own data: it is as the publisher states it.
    A release that costs nothing against its one receiver may cost everything against all readers: data of others that
    are in it have rows of their own. LookupError if a value is missing that the program needs.
    """
    publisher, planted = publisher_of(deployment), MeasurementReplay(values)
    replay, returned = _replay(deployment, planted, facts.run, n, law)
    if spare := sorted(values.keys() - planted.values.keys()):
        raise LookupError(f"{spare[0]!r} is not a release of this program")
    rows = [event for event in replay.channel.ledger.rows if event.certified]
    drawn: list[Release | Clear] = [
        Release(planted.values[name], event, planted.foreign_parts(name)) for name, event in planted.events.items()
    ]
    drawn += [part for part, _ in planted.open_parts.values()]
    table, published = table_of(planted), dict[str, AccountedValue]()
    published[files.MEASUREMENTS] = derive(table, drawn, name=ROW, owner=publisher)
    estimate = estimate_table(deployment, returned, publisher, replay.spec)
    charges = charges_of((publisher, part) for part in drawn)
    parts = [*((publisher, part) for part in drawn), *_estimate_parts(deployment, replay, publisher)]
    of_estimate = charges_of(parts)
    has_estimate = _units(of_estimate) <= set(deployment.network.unprotected_units)
    content = b""
    if has_estimate:
        content = stated_estimate if of_estimate else estimate
        texts = {files.ESTIMATE: content} | ({} if of_estimate else _exhibits(deployment, returned, publisher, replay))
        for name, text in texts.items():
            published[name] = derive(text, [part for _, part in parts], name=ROW, owner=publisher)
        charges = of_estimate
    ledger = Ledger(event for event in (*replay.channel.ledger.rows, *planted.events.values()))
    for row in (derived_event(ROW, publisher, drawn, "*"), *open_rows(charges)):
        ledger.append(row)
    digests = {name: documents.digest_of(file.value) for name, file in published.items()}
    digests |= {files.CONFIGURATION: documents.digest_of(configuration), **registrations}
    intervals = None if of_estimate else intervals_at(returned, publisher)
    about = interval_facts(content, intervals, replay.spec.public, bool(facts.registrations))
    stated = _statement(deployment, ledger, planted, facts, digests, sorted(_units(charges)), n, about)
    statement = json.loads(stated.encode())
    published[files.CONFIGURATION] = Public(configuration, because="all parties share it before data are opened")
    published[files.STATEMENT] = derive(stated.encode(), drawn, name=ROW, owner=publisher)
    published[files.TEXT] = derive(text_of(statement), drawn, name=ROW, owner=publisher)
    return Rebuilt(published, statement, {event.release_id: event for event in rows}, charges)


def _exhibits(deployment: Deployment, returned: object, publisher: str, replay: PlacedRun) -> dict[str, bytes]:
    """Make the files that a study publishes next to its estimate, by name."""
    source, estimate = deployment.plan.cases[deployment.network.case].source, estimate_at(returned, publisher)
    if source.exhibits is None or estimate is None:
        return {}
    return {name: text.encode() for name, text in source.exhibits(estimate, replay.spec).items()}


def unnamed_units(deployment: Deployment, rebuilt: Rebuilt) -> str:
    """Return which units publishing exposes without agreement, as the middle of a sentence; empty if there are none."""
    named = deployment.network.unprotected_units
    for owner, units in rebuilt.charges.items():
        if missing := [unit for unit in units if unit not in named]:
            return (
                f"it is made of {' and '.join(units)} of {owner}, which nothing protects against all readers, and "
                f"network.unprotected_units does not name {' and '.join(missing)}"
            )
    return ""


def _units(charges: Mapping[str, tuple[str, ...]]) -> set[str]:
    return {unit for units in charges.values() for unit in units}


def terms_of(event: Event | None) -> tuple[Any, ...]:
    """Return the terms in which a draw and its row in the statement agree; none without a row."""
    if event is None:
        return ()
    noise = event.sensitivity, event.certificate, event.sampler, event.exact, event.tv, event.shares, event.owners
    return event.mechanism, event.unit, event.relation, event.profile, event.stratum, *noise


def _replay(
    deployment: Deployment, planted: MeasurementReplay, run: str, n: int, law: FittedLaw | None
) -> tuple[PlacedRun, Any]:
    """Run the program once more with published values: nothing is drawn and nothing paid."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program_run = made_up_run(deployment, n)
        program_run.identity = Identity(run)
        replay = PlacedRun(program_run, whole=False)
        replay.charge_to(planted)
        token = STATED_LAW.set(law)
        try:
            with planted.watching():
                return replay, deployment.plan.methods[deployment.network.method].protocol.fit(replay)
        finally:
            STATED_LAW.reset(token)


def replay_values(deployment: Deployment, values: Mapping[str, np.ndarray], run: str, n: int) -> object:
    """Return the value of a program from the values that a run released."""
    return _replay(deployment, MeasurementReplay(values), run, n, None)[1]


def _estimate_parts(deployment: Deployment, replay: PlacedRun, publisher: str) -> Iterator[tuple[str, AccountedValue]]:
    """Yield what the publisher's estimate can be a function of besides its draws: what it heard, and its own data."""
    payloads = replay.payloads_of(publisher)
    yield from ((sender, part) for sender, part in payloads if isinstance(part, AccountedValue))
    opens = any(isinstance(part, Cipher) and part.key_holder == publisher for _, part in payloads)
    if publisher in deployment.holders or opens:
        units = next((UNITS.get(party.role, FIELDS) for party in replay.parties if party.name == publisher), FIELDS)
        yield publisher, Clear(None, units, owner=publisher)


def _statement(
    deployment: Deployment,
    ledger: Ledger,
    planted: MeasurementReplay,
    facts: RunFacts,
    digests: Mapping[str, str],
    unprotected: Sequence[str],
    n: int,
    intervals: Mapping[str, object],
) -> Statement:
    network, plan = deployment.network, deployment.plan
    delta, group = deployment.delta, plan.rows_per_user(network.case)
    method, unit = plan.methods[network.method], plan.spec.unit
    questions = [question for question in QUESTIONS if group is not None or not question.startswith("user")]
    totals = {
        question: ledger.worst_total(deployment.names, question, delta, rows_per_user=group) for question in questions
    }
    # Clients have records of their own; columns are of the same ones.
    total, records = totals[unit], sum(deployment.rows.values()) if isinstance(network.rows, dict) else n
    return Statement(
        **vars(facts),
        study=network.study,
        case=network.case,
        method=network.method,
        options=_plain(method.options) | {"epsilon": network.epsilon, "fold": network.fold},
        unit=unit,
        relation=total.relation,
        delta=delta,
        n_protected=records,
        delta_below_1_over_n=delta * records < 1,
        trust=total.trust,
        colluders=total.colluders,
        unprotected_units=unprotected,
        epsilon={question: worst.epsilon_certified for question, worst in totals.items()},
        owners={
            owner: {
                question: ledger.of_owner(owner)
                .worst_total(deployment.names, question, delta, rows_per_user=group)
                .epsilon_certified
                for question in questions
            }
            for owner in deployment.holders
        },
        epsilon_public=total.epsilon_public,
        epsilon_any=total.epsilon_any,
        true_positives={question: worst.tpr_at_1_percent for question, worst in totals.items()},
        coalitions=list(_coalitions(deployment, ledger, total, group)),
        releases=[_release_row(planted, event) for _, event in sorted(planted.events.items())],
        public=[*_bounds(_plain(plan.cases[network.case].settings), ()), *_open_values(planted)],
        files=digests,
        configuration=digests[files.CONFIGURATION],
        estimator={
            "function": f"{method.protocol.fit.module}:fit",
            "version": __version__,
            "computed again": "no: it is made of the publisher's own data too" if unprotected else "yes",
        },
        intervals=intervals,
        data_version=network.data_version,
    )


def _release_row(planted: MeasurementReplay, event: Event) -> dict[str, Any]:
    """Return a release as the statement lists it."""
    formula, inputs = formula_of(event, planted.statistics[event.release_id])
    row = {name: getattr(event, name) for name in ("mechanism", "mu", "rho", "epsilon", "count", "sensitivity")}
    row |= {name: getattr(event, name) for name in ("unit", "relation", "tv", "stratum", "sampler", "exact")}
    row |= {name: list(getattr(event, name)) for name in ("owners", "knows")}
    row |= {"id": event.release_id, "owner": event.owner, "formula": formula, "inputs": inputs}
    row |= {"shares": dict(event.shares), "parents": list(event.data_dependent_parameters)}
    return row | {"entries": int(planted.values[event.release_id].size)}


def _coalitions(deployment: Deployment, ledger: Ledger, total: Total, group: int | None) -> Iterator[dict[str, Any]]:
    """Yield the cost against each coalition of few names that omits an owner; of many names, the worst one."""
    names = deployment.names
    if len(names) > FEW:
        yield {"members": f"any {total.colluders} parties", "epsilon": total.epsilon_certified, "mu": total.mu_total}
        return
    for size in range(len(names) + 1):
        for members in combinations(names, size):
            if set(deployment.holders) <= set(members):
                continue
            cost = ledger.total(members, total.unit, total.delta, rows_per_user=group)
            words = " and ".join(members) or "the public"
            yield {"members": words, "epsilon": cost.epsilon_certified, "mu": cost.mu_total}


def _bounds(settings: Any, path: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield every public value of the settings that gives a reason for being public."""
    if isinstance(settings, Mapping):
        if settings.get("because"):
            value = {key: item for key, item in settings.items() if key not in ("because", "name") and item is not None}
            name = str(settings.get("name") or ".".join(path))
            yield {"name": name, "value": json.dumps(value, sort_keys=True), "because": settings["because"]}
        for key, item in settings.items():
            yield from _bounds(item, (*path, str(key)))
    elif isinstance(settings, list):
        for k, item in enumerate(settings):
            yield from _bounds(item, (*path, str(k)))


def _open_values(planted: MeasurementReplay) -> Iterator[dict[str, Any]]:
    """Yield what is published in the clear with the releases, by its digest."""
    for name, (part, because) in sorted(planted.open_parts.items()):
        size = np.size(part.value)
        value = f"{size} numbers of {part.owner} in {files.MEASUREMENTS}, digest {digest_of(part.value)}"
        yield {"name": name, "value": value, "because": because}


def _plain(settings: Any) -> dict[str, Any]:
    """Return settings as JSON has them, matrices by their digests."""
    named = {name: str(value) if isinstance(value, Matrix) else value for name, value in asdict(settings).items()}
    plain_settings: dict[str, Any] = json.loads(json.dumps(named, default=str, sort_keys=True))
    return plain_settings
