"""From a transcript to few arrows: messages of one name share one, and rounds are loops.  Nothing is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .steps import Arrow, Loop, Step, arrow_of, arrows_of, words_of

# Steps of the longest round that is looked for.
LONGEST = 500
# Steps of the shortest last round that may lack some.
FEWEST = 6

# Steps of one round; None where the last one lacks it.
Round = list[Any]


def fold_rows(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> tuple[Step, ...]:
    """The steps of a transcript."""
    arrows: list[Arrow] = []
    for row in rows:
        arrow = arrow_of(row)
        longer = _join(arrows[-1], arrow) if arrows else None
        arrows[-1:] = [longer] if longer else [*arrows[-1:], arrow]
    steps: list[Step] = list(_count_alike([_to_the_others(arrow, names) for arrow in arrows]))
    period = 1
    # A last round that lacks steps has three in four of them.
    while 7 * period <= 4 * len(steps) and period <= LONGEST:
        shorter = _fold_rounds(steps, period)
        # What has become equal may now stand side by side.
        period = 1 if len(shorter) < len(steps) else period + 1
        steps = shorter
    return tuple(steps)


def _join(last: Arrow, arrow: Arrow) -> Arrow | None:
    """One more message on the arrow before it, where only one of its ends is another."""
    if replace(last, senders=arrow.senders, receivers=arrow.receivers, messages=arrow.messages) != arrow:
        return None
    messages = last.messages + arrow.messages
    if last.senders == arrow.senders and arrow.receivers[0] not in last.receivers:
        return replace(last, receivers=(*last.receivers, *arrow.receivers), messages=messages)
    if last.receivers == arrow.receivers and arrow.senders[0] not in last.senders:
        return replace(last, senders=(*last.senders, *arrow.senders), messages=messages)
    return None


def _to_the_others(arrow: Arrow, names: Sequence[str]) -> Arrow:
    """Several receivers in the order of the channel, with the sender among them: to send to the others is alike."""
    receivers = [receiver.at(()) for receiver in arrow.receivers]
    group = {*receivers, arrow.senders[0].at(())}
    if len(receivers) < 2 or [name for name in names if name in group - {arrow.senders[0].at(())}] != receivers:
        return arrow
    return replace(arrow, receivers=tuple(words_of(name) for name in names if name in group))


def _count_alike(arrows: Sequence[Arrow]) -> list[Arrow]:
    """Alike arrows one after the other are one that counts them."""
    distinct: list[Arrow] = []
    for arrow in arrows:
        last = distinct[-1] if distinct else None
        if last and replace(last, count=1, messages=()) == replace(arrow, count=1, messages=()):
            distinct[-1] = replace(last, count=last.count + arrow.count, messages=last.messages + arrow.messages)
        else:
            distinct.append(arrow)
    return distinct


def _fold_rounds(steps: Sequence[Step], period: int) -> list[Step]:
    """Rounds of so many steps become loops, from the first one on."""
    items, at = list[Step](), 0
    while at < len(steps):
        rounds, growth = _rounds(steps, at, period)
        if len(rounds) > 1 and _worth_it(len(rounds), steps[at : at + period], growth):
            items.append(_loop(rounds, growth))
            at += sum(step is not None for steps in rounds for step in steps)
        else:
            items.append(steps[at])
            at += 1
    return items


def _loop(rounds: Sequence[Round], growth: Sequence[Sequence[int]]) -> Loop:
    body = []
    for place, by in enumerate(growth):
        first, *later = (steps[place] for steps in rounds if steps[place] is not None)
        body.append(first.inside(by, later))
    skipped = tuple(place for place, step in enumerate(rounds[-1]) if step is None)
    return Loop(len(rounds), tuple(body), skipped)


def _rounds(steps: Sequence[Step], at: int, period: int) -> tuple[list[Round], list[list[int]]]:
    """The rounds that begin at a step, and how the numbers of each step grow from one to the next.

    The last of them may lack some steps, for which it has None.
    """
    rounds, growth = [list(steps[at : at + period])], list[list[int]]()
    while True:
        later = steps[at + len(rounds) * period : at + (len(rounds) + 1) * period]
        increments = [_growth(*pair, len(rounds)) for pair in zip(rounds[0], later, strict=False)]
        if len(later) < period or None in increments or (growth and increments != growth):
            break
        rounds.append(list(later))
        growth = increments  # type: ignore[assignment]
    last, by = _last(rounds[0], later, len(rounds), growth)
    return (rounds, growth) if last is None else ([*rounds, last], by)


def _last(
    body: Sequence[Step], later: Sequence[Step], times: int, growth: Sequence[Sequence[int]]
) -> tuple[Round | None, list[list[int]]]:
    """A last round that lacks some steps, at most one in four, and how all numbers grow then; None if there is none."""
    round_steps, increments, left = list[Any](), list[list[int]](), list(later)
    for place, step in enumerate(body):
        by = _growth(step, left[0], times) if left else None
        if by is None or (growth and by != growth[place]):
            round_steps.append(None)
            increments.append(list(growth[place]) if growth else [0] * len(step.starts))
        else:
            round_steps.append(left.pop(0))
            increments.append(by)
    missing = round_steps.count(None)
    if not missing or 4 * missing > len(body) or len(body) - missing < FEWEST:
        return None, []
    return round_steps, increments


def _growth(step: Step, later: Step, times: int) -> list[int] | None:
    """By how much each number of a step grows each time: not at all or by 1; None if the later one is another step."""
    moved = [new - old for old, new in zip(step.starts, later.starts, strict=False)]
    if step.form != later.form or any(by not in (0, times) for by in moved):
        return None
    return [by // times for by in moved]


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
    return any(number.steps[-1] for words in getattr(arrow, end) for number in words.numbers)
