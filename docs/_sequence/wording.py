"""How a step is said: numbers that grow as letters, parties in a row as a span, sizes; all steps as a list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from .steps import HOLE, Arrow, Loop, Number, Step, Words, arrows_of, transcript_rows

# What counts the passes of a loop, the outermost first.
LETTERS = "kjihgfedcba"
LONGEST_ARGUMENT = 50
MARKDOWN = re.compile(r"([\\`*_\[\]<>|#])")


@dataclass(frozen=True)
class Line:
    """One step as a person reads it.

    number : its place in the list, such as 2.1; depth : how many loops are around it
    title : what a loop repeats, or the name of messages; kind, details : of messages: argument and size
    sender, receiver : in words; senders, receivers : in all passes of the loops around it
    """

    number: str
    depth: int
    title: str
    kind: str = ""
    details: str = ""
    sender: str = ""
    receiver: str = ""
    senders: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()


def lines(steps: Sequence[Step]) -> Iterator[Line]:
    """Every step with its words, a loop before what is in it."""
    for place, step in enumerate(steps, 1):
        yield from _lines(step, str(place), ())


def _lines(step: Step, number: str, loops: tuple[tuple[int, int], ...], last: bool = True) -> Iterator[Line]:
    """The lines of one step."""
    not_last = "" if last else ", not the last time"
    if isinstance(step, Arrow):
        yield _arrow(step, number, loops, not_last)
        return
    growing = _growing(step, len(loops))
    title = _repetition(step, growing, LETTERS[len(loops) % len(LETTERS)])
    yield Line(number, len(loops), title + not_last)
    begins = growing[1].start if growing else 0
    for place, inner in enumerate(step.body):
        inside = ((step.repetitions(place), begins), *loops)
        yield from _lines(inner, f"{number}.{place + 1}", inside, place not in step.skipped)


def _arrow(arrow: Arrow, number: str, loops: tuple[tuple[int, int], ...], not_last: str) -> Line:
    """Whoever sends to the others of some is not named among them."""
    senders, receivers = ([_with_letters(words, loops) for words in side] for side in (arrow.senders, arrow.receivers))
    to = series([name for name in receivers if name not in senders])
    if len(receivers) > 1 and "[" in senders[0]:
        to = f"the others of {to}"
    name = _with_letters(arrow.name, loops)
    title = f"{arrow.count} x {name}" if arrow.count > 1 else name
    argument = _argument(arrow, loops)
    short = argument if len(argument) <= LONGEST_ARGUMENT else f"{argument[: LONGEST_ARGUMENT - 3].rstrip()}..."
    pairs_by_pass = [arrow.pairs(indices) for indices in product(*(range(times) for times, _ in loops))]
    everyone = (tuple(dict.fromkeys(pair[end] for pairs in pairs_by_pass for pair in pairs)) for end in (0, 1))
    details = f"({short}), {_size(arrow)}{not_last}"
    return Line(number, len(loops), title, arrow.kind, details, series(senders), to, *everyone)


def _growing(loop: Loop, depth: int) -> tuple[Words, Number] | None:
    """The first text with a number that grows from pass to pass, one of a party if there is any.

    Of a number's steps that of this loop stands before those of the ``depth`` loops around it.
    """
    inside = list(arrows_of([loop]))
    parties = [words for arrow in inside for words in (*arrow.senders, *arrow.receivers)]
    for words in [*parties, *(words for arrow in inside for words in arrow.texts)]:
        for number in words.numbers:
            if number.steps[-1 - depth]:
                return words, number
    return None


def _repetition(loop: Loop, growing: tuple[Words, Number] | None, letter: str) -> str:
    """What a loop says above its steps, and whose turn it is where parties take turns."""
    if growing is None:
        return f"repeat {loop.times} times"
    words, number = growing
    last = number.start + loop.times - 1
    span = f"{letter} = {number.start}{' ...' if loop.times > 2 else ','} {last}"
    if any(words in (*arrow.senders, *arrow.receivers) for arrow in arrows_of([loop])):
        turn = words.join([f"[{letter}]" if other is number else str(other.start) for other in words.numbers])
        return f"repeat for {turn}, {span}"
    return f"repeat {loop.times} times, {span}"


def _with_letters(words: Words, loops: tuple[tuple[int, int], ...]) -> str:
    """A text with the letters of loops where its numbers grow: ``coefficients [k+1]``."""
    return words.join([_letter(number, loops) for number in words.numbers])


def _letter(number: Number, loops: tuple[tuple[int, int], ...]) -> str:
    """A number in the letters of the loops around it."""
    if not any(number.steps):
        return str(number.start)
    outermost = len(loops) - 1
    letters = [LETTERS[(outermost - place) % len(LETTERS)] for place, step in enumerate(number.steps) if step]
    first_number = sum(first for step, (_, first) in zip(number.steps, loops, strict=True) if step)
    more = number.start - first_number
    return f"[{'+'.join(letters)}{f'{more:+d}' if more else ''}]"


def _argument(arrow: Arrow, loops: tuple[tuple[int, int], ...]) -> str:
    """Its argument; of a parameter that is another one for some messages the least and the largest."""
    parts, text = _with_letters(arrow.argument, loops).split(HOLE), ""
    for part, values in zip(
        parts, [*zip(*(message.decimals for message in arrow.messages), strict=True), ("",)], strict=True
    ):
        low, high = (choose(values, key=lambda value: float(value or 0)) for choose in (min, max))
        text += part + (low if low == high else f"{low} to {high}")
    return text


def _size(arrow: Arrow) -> str:
    """Bytes of a message, or of each of several."""
    sizes = [message.bytes for message in arrow.messages]
    low, high = min(sizes), max(sizes)
    span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{span} byte{'' if high == 1 else 's'}{' each' if len(sizes) > 1 else ''}"


def series(names: Sequence[str]) -> str:
    """Names as a series; three or more whose numbers follow each other as a span."""
    runs: list[list[str]] = []
    for name in names:
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    parts = [part for run in runs for part in ([f"{run[0]} ... {run[-1]}"] if len(run) > 2 else run)]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _follows(first: str, second: str) -> bool:
    (stem, count), (other_stem, other_count) = split_number(first), split_number(second)
    return stem == other_stem and count is not None and other_count == count + 1


def split_number(name: str) -> tuple[str, int | None]:
    """A name before the number at its end, and that number if there is one."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :]) if stem != name else None


def totals(steps: Sequence[Step]) -> str:
    """How many messages they are, and how many bytes."""
    rows = transcript_rows(steps)
    size = sum(row["bytes"] for row in rows)
    return f"{len(rows):,} message{'' if len(rows) == 1 else 's'}, {size:,} bytes"


def numbered_list(steps: Sequence[Step]) -> str:
    """All steps as a numbered list in Markdown, those of a loop below it."""
    items, indents = list[str](), [0]
    for line in lines(steps):
        del indents[line.depth + 1 :]
        place = line.number.rpartition(".")[2]
        items.append(f"{' ' * indents[-1]}{place}. {_sentence(line)}")
        if not line.kind:
            indents.append(indents[-1] + len(place) + 2)
    return "\n".join(items)


def _sentence(line: Line) -> str:
    sender, receiver, title, details = (
        MARKDOWN.sub(r"\\\1", words) for words in (line.sender, line.receiver, line.title, line.details)
    )
    return f"{sender} to {receiver}: **{title}**; {line.kind} {details}" if line.kind else f"{title}:"
