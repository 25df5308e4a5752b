"""What a diagram is made of: arrows, and loops of arrows and loops; they give back every row of their transcript.

Their texts hold numbers that grow: ``coefficients 1`` and ``coefficients 2`` of a loop are one text and a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

# Whole numbers as they are written, no part of a decimal one.
NUMBER = re.compile(r"(?<![\d.])(0|[1-9]\d*)(?![\d.])")
# The columns of a transcript that a diagram shows; its other two are the position and the id of a row of the ledger.
FIELDS = ("sender", "receiver", "name", "kind", "argument", "shape", "bytes")
# Parameters of a distribution: they follow from numbers of records and may be others at each party.
DECIMAL = re.compile(r"\b(?:\d+\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+|inf|nan)\b")
# Where one of them stood.
HOLE = "\0"
# Which pass it is and how many there are, for each loop around a step, the innermost first.
Passes = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Number:
    """A number that is ``start`` in the first pass of all loops around it and grows by ``steps`` in each further one.

    Steps are those of the loops around it, the innermost first.
    """

    start: int
    steps: tuple[int, ...] = ()

    def at(self, passes: Sequence[int]) -> int:
        """The number in one pass of each loop, the innermost first, counted from 0."""
        return self.start + sum(step * index for step, index in zip(self.steps, passes, strict=True))


@dataclass(frozen=True)
class Words:
    """A text and the numbers in it: one text more than numbers, in turn."""

    texts: tuple[str, ...]
    numbers: tuple[Number, ...] = ()

    def at(self, passes: Sequence[int]) -> str:
        """The text in one pass of each loop around it, the innermost first."""
        return self.join([str(number.at(passes)) for number in self.numbers])

    def join(self, numbers: Sequence[str]) -> str:
        """The text with each number as it is to be written."""
        return self.texts[0] + "".join(number + text for number, text in zip(numbers, self.texts[1:], strict=True))

    def inside(self, steps: Sequence[int]) -> Words:
        """The same text inside one more loop, in which its numbers grow by these steps."""
        numbers = (
            replace(number, steps=(*number.steps, step)) for number, step in zip(self.numbers, steps, strict=True)
        )
        return replace(self, numbers=tuple(numbers))


def words_of(text: str) -> Words:
    """A text outside of all loops."""
    parts = NUMBER.split(text)
    return Words(tuple(parts[::2]), tuple(Number(int(digits)) for digits in parts[1::2]))


class MessageDetails(NamedTuple):
    """Details of one message that others of its name and kind do not share."""

    shape: str
    bytes: int
    decimals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Arrow:
    """Messages of one name and kind in a row: from one sender to each receiver, or from each sender to one receiver.

    receivers : several may name the sender as well, which then sends to the others
    argument : with a `HOLE` for each decimal number
    messages : their details in the order of the transcript, over all passes of the loops around it
    count : how often all of that is sent, one after the other
    """

    senders: tuple[Words, ...]
    receivers: tuple[Words, ...]
    name: Words
    kind: str
    argument: Words
    messages: tuple[MessageDetails, ...]
    count: int = 1

    @cached_property
    def texts(self) -> tuple[Words, ...]:
        """Every text of it in which numbers may grow: senders, receivers, name, argument."""
        return (*self.senders, *self.receivers, self.name, self.argument)

    @cached_property
    def form(self) -> tuple[Any, ...]:
        """All of it but what its messages have of their own and where its numbers start."""
        texts = tuple((words.texts, tuple(number.steps for number in words.numbers)) for words in self.texts)
        return len(self.senders), texts, self.kind, self.count

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where its numbers start."""
        return tuple(number.start for words in self.texts for number in words.numbers)

    def pairs(self, passes: Sequence[int]) -> list[tuple[str, str]]:
        """Sender and receiver of the messages of one time, in one pass of each loop around it."""
        senders, receivers = ([words.at(passes) for words in ends] for ends in (self.senders, self.receivers))
        return [(a, b) for a in senders for b in receivers if a != b]

    def inside(self, growth: Sequence[int], later: Sequence[Arrow] = ()) -> Arrow:
        """The same inside one more loop, in which its numbers grow so; ``later`` is it in all passes but the first."""
        left, texts = list(growth), []
        for words in self.texts:
            texts.append(words.inside(left[: len(words.numbers)]))
            del left[: len(words.numbers)]
        *ends, name, argument = texts
        count = len(self.senders)
        messages = tuple(message for arrow in (self, *later) for message in arrow.messages)
        senders, receivers = tuple(ends[:count]), tuple(ends[count:])
        return replace(self, senders=senders, receivers=receivers, name=name, argument=argument, messages=messages)

    def rows(self, passes: Passes) -> Iterator[dict[str, Any]]:
        """The rows of a transcript in one pass of each loop around it."""
        indices = [index for index, _ in passes]
        name, argument = self.name.at(indices), self.argument.at(indices).split(HOLE)
        pairs, place = self.pairs(indices) * self.count, 0
        for index, times in reversed(passes):
            place = place * times + index
        for (sender, receiver), message in zip(pairs, self.messages[place * len(pairs) :], strict=False):
            filled = "".join(part for both in zip(argument, (*message.decimals, ""), strict=True) for part in both)
            values = (sender, receiver, name, self.kind, filled, message.shape, message.bytes)
            yield dict(zip(FIELDS, values, strict=True))


@dataclass(frozen=True)
class Loop:
    """Steps that are taken several times, while the numbers in their texts grow.

    skipped : places of those steps that are not taken the last time
    """

    times: int
    body: tuple[Step, ...]
    skipped: tuple[int, ...] = ()

    @cached_property
    def form(self) -> tuple[Any, ...]:
        """All of it but what messages have of their own and where its numbers start."""
        return self.times, tuple(step.form for step in self.body), self.skipped

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where its numbers start."""
        return tuple(start for step in self.body for start in step.starts)

    def inside(self, growth: Sequence[int], later: Sequence[Loop] = ()) -> Loop:
        """The same inside one more loop."""
        left, body = list(growth), []
        for place, step in enumerate(self.body):
            body.append(step.inside(left[: len(step.starts)], [loop.body[place] for loop in later]))  # type: ignore[misc]
            del left[: len(step.starts)]
        return replace(self, body=tuple(body))

    def rows(self, passes: Passes) -> Iterator[dict[str, Any]]:
        """The rows of a transcript in one pass of each loop around it."""
        for index in range(self.times):
            for place, step in enumerate(self.body):
                if index < self.repetitions(place):
                    yield from step.rows(((index, self.repetitions(place)), *passes))

    def repetitions(self, place: int) -> int:
        """How often a step of it is taken."""
        return self.times - (place in self.skipped)


Step = Arrow | Loop


def arrow_of(row: Mapping[str, Any]) -> Arrow:
    """One message of a transcript."""
    sender, receiver, name = (words_of(row[key]) for key in ("sender", "receiver", "name"))
    message = MessageDetails(row["shape"], row["bytes"], tuple(DECIMAL.findall(row["argument"])))
    return Arrow((sender,), (receiver,), name, row["kind"], words_of(DECIMAL.sub(HOLE, row["argument"])), (message,))


def arrows_of(steps: Sequence[Step]) -> Iterator[Arrow]:
    """All arrows of some steps, each once."""
    for step in steps:
        if isinstance(step, Arrow):
            yield step
        else:
            yield from arrows_of(step.body)


def transcript_rows(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """The rows of the transcript that some steps were made of, each with the columns `FIELDS`."""
    return [row for step in steps for row in step.rows(())]
