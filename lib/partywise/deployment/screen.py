"""Last screen of a party: messages, what it paid, what it holds, and where the files are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path

from ..core.verdicts import bounds_verdict, first_fault, intervals_verdict
from ..federation.account.account import EXTRACT
from ..federation.account.spending import costs_in_words
from ..federation.payloads import Message
from ..privacy.rounding import upward
from .foresight import Foresight, cost_in_words
from .outcomes.run_files import (
    CELL,
    OUTCOME,
    PREDICTIONS,
    RECORD,
    TRANSCRIPT,
    fit_folders,
    read_estimate,
    read_record,
)
from .rehearsal import knowledge_of
from .running import EndReport, RunReport, ended_run
from .scoring import MODEL
from .start import PartyStart, plan_draws
from .statement.files import ESTIMATE

# Lines of the screen; so many receivers have one each.
MOST, RECEIVERS = 20, 6
SEEDED = (
    "every party could compute the noise of the others (mode experiment): nothing here protects anyone, and what is "
    "released costs infinity"
)

# What a run may leave a party; which of them depends on what the protocol gives it.
FILES = (TRANSCRIPT, OUTCOME, ESTIMATE, PREDICTIONS, CELL, MODEL, EXTRACT, RECORD)
UNPROTECTED = "this method draws no noise: nothing here may be published"


def screen(start: PartyStart, report: RunReport) -> list[str]:
    """Return the lines of the screen: at most `MOST`, and one for each of several fits."""
    network, deployment = start.deployment.network, start.deployment
    registered = ""
    if network.mode == "release" and network.registration:
        registered = f"; registered by {', '.join(deployment.holders)} before any data were opened"
    which = f"; run {report.fits[0].run[:12]}" if len(start.deployments) == 1 else ""
    lines = [f"{start.me}: {_what(start)}, mode {network.mode}{which}{registered}"]
    silent = [fit.network.method for fit in start.deployments if not plan_draws(fit)]
    if network.mode == "experiment":
        lines.append(f"WARNING: {SEEDED}.")
    elif silent:
        of = "" if len(start.deployments) == 1 else f" ({_enumerate(list(dict.fromkeys(silent)))})"
        lines.append(f"WARNING: {UNPROTECTED}{of}.")
    for place, name in network.trusted.items():
        lines.append(f"{name} runs the {place}, which {knowledge_of(place)}: epsilon inf against it")
    platforms = {fit.platforms for fit in report.fits} - {""}
    lines += [f"platforms differ, so last bits may: {text}" for text in platforms]
    lines += _clip_lines([fit.clips for fit in report.fits])
    lines += _message_lines(start, report)
    lines += _cost_lines(start, report)
    if len(start.deployments) > 1:
        return [*lines, *_fit_lines(start, report), f"account of all runs: {start.ledger}"]
    [fit] = report.fits
    lines += [fit.published] * bool(fit.published)
    arrays = f" and {_count(len(fit.files), 'array')} ({', '.join(fit.files[:3])}{', ...' * (len(fit.files) > 3)})"
    lines.append(f"estimate: {fit.estimate}")
    lines.append(f"holds: {OUTCOME}{arrays * bool(fit.files)}, digest {fit.digest[:12]}")
    lines.append(f"files in {fit.folder}: {', '.join(files_of(fit.folder))}; account of all runs: {start.ledger}")
    return lines


def files_of(folder: Path) -> list[str]:
    """List the files that a run left a party, in the order in which they are read."""
    return [name for name in FILES if (folder / name).exists()]


def end_screen(start: PartyStart, report: EndReport) -> list[str]:
    """Return lines about a run that had ended before this start."""
    anew = "whose answer is the stored one" if start.deployment.network.data_version else "which pays anew"
    lines = [
        f"{start.me}: run {report.run[:12]} of this configuration has ended: nothing was paid or replaced; "
        f"give --again for a new run, {anew}"
    ]
    if report.late:
        lines.append(
            f"not heard of: {_enumerate(report.late)}; who has not ended goes on with its own start while this command "
            "runs"
        )
    return [*lines, f"files in {_enumerate([str(folder) for folder in report.folders])}"]


def _what(start: PartyStart) -> str:
    """Describe which fits of which case are run."""
    network = start.deployment.network
    if len(start.deployments) > 1:
        return f"{network.study}, {network.case}, {len(start.deployments)} fits"
    target = "" if network.epsilon is None else f", epsilon {network.epsilon:g}"
    return f"{network.study}, {network.case}, {network.method}{target}, fold {network.fold}"


def _fit_lines(start: PartyStart, report: RunReport) -> list[str]:
    """Return one line for each of several fits, with its folder."""
    ended = {fit.folder: fit for fit in report.fits}
    lines = []
    for folder in report.folders:
        fit = ended.get(folder)
        state = "had ended before" if fit is None else f"run {fit.run[:12]}, estimate: {fit.estimate}"
        published = f"; {fit.published}" if fit is not None and fit.published else ""
        lines.append(f"{folder}: {state}{published}")
    return lines


def foresight(start: PartyStart, seen: Foresight) -> list[str]:
    """Return the lines of a dry run: who takes part, what would be sent and paid, and what is left."""
    deployment, network = start.deployment, start.deployment.network
    ways = dict[tuple[str, str], list[Message]]()
    for message in seen.messages:
        ways.setdefault((message.sender, message.receiver), []).append(message)
    several = len(start.deployments) > 1
    what = _what(start) if several else f"{network.study}, {network.case}, {network.method}"
    lines = [
        f"{start.me}: {what}, mode {network.mode}; dry run: no party was contacted, nothing is paid",
        f"places: {_enumerate(deployment.holders)}; without data {_enumerate(deployment.places)}",
    ]
    lines += [f"fits: {_enumerate([fit.label for fit in start.deployments])}"] * several
    for method, holders in seen.estimates.items():
        of = f" of {method}" * several
        lines.append(f"estimate{of}: {holders or 'who has it shows in the end'}")
    for (sender, receiver), messages in sorted(ways.items(), key=lambda way: way[0][0] != start.me):
        kinds = dict.fromkeys(f"{message.name} ({message.kind})" for message in messages)
        listed = _enumerate(list(kinds)[:RECEIVERS]) + ", ..." * (len(kinds) > RECEIVERS)
        size = sum(message.bytes for message in messages)
        lines.append(f"{sender} to {receiver}: {_count(len(messages), 'message')}, {size:,} bytes: {listed}")
    lines += _clip_lines([seen.clips])
    lines.append(f"{start.me} would pay: {cost_in_words(start, seen.events)}")
    lines += seen.left or ["budget: none was stated (network.budget)"]
    if not start.again and (last := ended_run(start)) is not None:
        lines.append(f"run {last.runs[-1][:12]} of this configuration has ended: a new one needs --again")
    return [*lines, "rehearsed on made-up records: own ones may steer a method to other messages, sizes and costs"]


def result(folder: Path) -> list[str]:
    """Return a party's estimate from the files of its fits, one line per number."""
    return [line for path in fit_folders(folder) or (folder,) for line in _result(path)]


def _result(folder: Path) -> list[str]:
    record = read_record(folder)
    rows, about = read_estimate(folder, record)
    target = "" if record.epsilon is None else f", epsilon {record.epsilon:g}"
    what = f"{record.party}: {record.study}, {record.case}, {record.method}{target}, fold {record.fold}"
    width = max((len(row["name"]) for row in rows), default=0)
    numbers = [_number_line(row, width) for row in rows]
    return [f"{what}, mode {record.mode}; run {record.run[:12]}", *about, *numbers]


def _number_line(row: Mapping[str, str], width: int) -> str:
    """Format one number of an estimate, with the noise in it and its interval if there are any."""
    numbers = {name: float(text) for name, text in row.items() if name not in ("name", "note", "interval") and text}
    texts = {name: "undefined" if isnan(number) else f"{number:.6g}" for name, number in numbers.items()}
    noise = f"  noise sd {texts['noise_sd']}" if "noise_sd" in texts else ""
    ends = f"  95 % {texts['lower']} to {texts['upper']}" if "lower" in texts else ""
    return f"{row['name']:{width}}  {texts['estimate']:>12}{noise:22}{ends}".rstrip()


def _message_lines(start: PartyStart, report: RunReport) -> list[str]:
    """Return lines with messages and bytes by receiver."""
    totals: dict[str, tuple[int, int]] = {}
    for message in (message for fit in report.fits for message in fit.messages):
        count, size = totals.get(message.receiver, (0, 0))
        totals[message.receiver] = count + 1, size + message.size
    if not totals:
        return ["sent: nothing"]
    names = sorted(totals, key=start.deployment.names.index)
    lines = [
        f"sent to {name}: {_count(totals[name][0], 'message')}, {totals[name][1]:,} bytes" for name in names[:RECEIVERS]
    ]
    if rest := names[RECEIVERS:]:
        counts = [totals[name] for name in rest]
        lines.append(
            f"sent to {len(rest)} others: {sum(c for c, _ in counts)} messages, {sum(s for _, s in counts):,} bytes"
        )
    return lines


def _clip_lines(clips: Iterable[Mapping[str, float]]) -> list[str]:
    """Return a line if some own records lie beyond public bounds; no other party learns it."""
    largest = dict[str, float]()
    for shares in clips:
        for bound, share in shares.items():
            largest[bound] = max(share, largest.get(bound, 0.0))
    verdict = first_fault((bounds_verdict(largest), intervals_verdict(largest)))
    return [f"WARNING, on this screen alone: of your own, {verdict.reason}."] if verdict.reason else []


def _cost_lines(start: PartyStart, report: RunReport) -> list[str]:
    """Return what the run cost each unit, and what is left of the budget."""
    delta = start.delta
    bounds = [f"{upward(epsilon)} against {words}" for words, epsilon in report.against.items()]
    unit = start.deployment.plan.spec.unit
    lines = [f"your records (unit {unit}, delta {delta:g}): epsilon {', '.join(bounds)}"] if bounds else []
    if report.shares:
        lines.append(f"noise: {report.shares}")
    lines.append(f"paid: {costs_in_words(report.costs, delta)}")
    budget = report.budget
    if budget is None:
        return [*lines, "budget: none was stated (network.budget)"]
    spent = report.spending[budget.unit]
    terms = f"unit {budget.unit}, delta {budget.delta:g}, {spent.rule}; left for another run: {report.room}"
    return [*lines, f"budget: epsilon {spent} of {budget.epsilon:g} ({terms})"]


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _enumerate(entries: Sequence[str]) -> str:
    return ", ".join(entries) or "nothing"
