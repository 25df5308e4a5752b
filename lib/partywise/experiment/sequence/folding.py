"""From a transcript to few arrows: messages of one name share one, and rounds are loops.  Nothing is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .steps import Arrow, Loop, Step, arrow_of, arrows_of
from .words import words_of

__all__ = ["folded"]

# Steps of the longest round that is looked for.
LONGEST = 500


def folded(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> tuple[Step, ...]:
    """The steps of a transcript.

    Parameters
    ----------
    rows : sequence of mapping
        Of `partywise.federation.channel.Channel.transcript`.
    names : sequence of str
        Everyone on the channel, in its order.

    Returns
    -------
    tuple of Arrow or Loop
        `partywise.experiment.sequence.steps.expanded` gives the rows back, in order.
    """
    arrows: list[Arrow] = []
    for row in rows:
        arrow = arrow_of(row)
        joined = _joined(arrows[-1], arrow) if arrows else None
        arrows[-1:] = [joined] if joined else [*arrows[-1:], arrow]
    steps: list[Step] = list(_counted([_to_the_others(arrow, names) for arrow in arrows]))
    period = 1
    while period <= min(len(steps) // 2, LONGEST):
        made = _looped(steps, period)
        # What has become equal may now stand side by side.
        period = 1 if len(made) < len(steps) else period + 1
        steps = made
    return tuple(steps)


def _joined(last: Arrow, arrow: Arrow) -> Arrow | None:
    """One more message on the arrow before it, where only one of its ends is another."""
    if replace(last, senders=arrow.senders, receivers=arrow.receivers, own=arrow.own) != arrow:
        return None
    own = last.own + arrow.own
    if last.senders == arrow.senders and arrow.receivers[0] not in last.receivers:
        return replace(last, receivers=(*last.receivers, *arrow.receivers), own=own)
    if last.receivers == arrow.receivers and arrow.senders[0] not in last.senders:
        return replace(last, senders=(*last.senders, *arrow.senders), own=own)
    return None


def _to_the_others(arrow: Arrow, names: Sequence[str]) -> Arrow:
    """Several receivers in the order of the channel, with the sender among them: to send to the others is alike."""
    given = [one.at(()) for one in arrow.receivers]
    group = {*given, arrow.senders[0].at(())}
    if len(given) < 2 or [name for name in names if name in group - {arrow.senders[0].at(())}] != given:
        return arrow
    return replace(arrow, receivers=tuple(words_of(name) for name in names if name in group))


def _counted(arrows: Sequence[Arrow]) -> list[Arrow]:
    """Alike arrows one after the other are one that counts them."""
    made: list[Arrow] = []
    for arrow in arrows:
        last = made[-1] if made else None
        if last and replace(last, count=1, own=()) == replace(arrow, count=1, own=()):
            made[-1] = replace(last, count=last.count + arrow.count, own=last.own + arrow.own)
        else:
            made.append(arrow)
    return made


def _looped(steps: Sequence[Step], period: int) -> list[Step]:
    """Rounds of so many steps become loops, from the first one on."""
    made, at = list[Step](), 0
    while at < len(steps):
        times, growth = _rounds(steps, at, period)
        if times > 1 and _worth_it(times, steps[at : at + period], growth):
            body = [
                steps[at + k].inside(growth[k], steps[at + period + k : at + times * period : period])  # type: ignore[arg-type]
                for k in range(period)
            ]
            made.append(Loop(times, tuple(body)))
            at += times * period
        else:
            made.append(steps[at])
            at += 1
    return made


def _rounds(steps: Sequence[Step], at: int, period: int) -> tuple[int, list[list[int]]]:
    """How often the next steps are taken, and how the numbers of each grow from one time to the next."""
    body, times, growth = steps[at : at + period], 1, list[list[int]]()
    while True:
        found = _growth(body, steps[at + times * period : at + (times + 1) * period], times)
        if found is None or (growth and found != growth):
            return times, growth
        times, growth = times + 1, found


def _growth(body: Sequence[Step], later: Sequence[Step], times: int) -> list[list[int]] | None:
    """By how much each number grows each time: not at all or by 1; None where a step is another one."""
    if len(later) < len(body) or any(a.form != b.form for a, b in zip(body, later, strict=True)):
        return None
    growth = []
    for a, b in zip(body, later, strict=True):
        moved = [new - old for old, new in zip(a.starts, b.starts, strict=True)]
        if any(by not in (0, times) for by in moved):
            return None
        growth.append([by // times for by in moved])
    return growth


def _worth_it(times: int, body: Sequence[Step], growth: Sequence[Sequence[int]]) -> bool:
    """Whether a loop is shorter: it has a line of its own, but for one message of each of several parties.

    Never one in which both ends of an arrow are other parties each time: no picture shows it.
    """
    inside = [step.inside(by) for step, by in zip(body, growth, strict=True)]
    moves = [{end for end in ("senders", "receivers") if _moves(arrow, end)} for arrow in arrows_of(inside)]
    if any(len(ends) > 1 for ends in moves):
        return False
    return (times - 1) * len(moves) > 1 or (len(moves) == 1 and bool(moves[0]))


def _moves(arrow: Arrow, end: str) -> bool:
    """Whether an end of an arrow is another party each time."""
    return any(number.steps[-1] for one in getattr(arrow, end) for number in one.numbers)
