"""Texts in which numbers grow: ``coefficients 1`` and ``coefficients 2`` of a loop are one text and a number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

__all__ = ["Number", "Words", "words_of"]

# Whole numbers as they are written, no part of a decimal one.
NUMBER = re.compile(r"(?<![\d.])(0|[1-9]\d*)(?![\d.])")


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
        grown = (replace(one, steps=(*one.steps, step)) for one, step in zip(self.numbers, steps, strict=True))
        return replace(self, numbers=tuple(grown))


def words_of(text: str) -> Words:
    """A text outside of all loops."""
    parts = NUMBER.split(text)
    return Words(tuple(parts[::2]), tuple(Number(int(digits)) for digits in parts[1::2]))
