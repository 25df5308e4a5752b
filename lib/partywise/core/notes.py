"""Notes on own files for their owner: in the log and, for records left out or clipped, next to the results of a run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import TypeVar, TypeVarTuple

Words = TypeVarTuple("Words")
T = TypeVar("T")
LOG = logging.getLogger("partywise")
# What such a line of a log begins with: the screen shows it once (`workflow/plugins`).
NOTE = "own data: "
_SENTENCES: ContextVar[list[str] | None] = ContextVar("sentences", default=None)


def note_left_out(file: str, total: int, left: int, why: str, unit: str = "rows") -> None:
    """Write in one sentence how many of all rows or records are used and why the others are not; none without others.

    why : the rest of the sentence, a relative clause
    """
    if not left:
        return
    add_note(f"{file}: {total - left} of {total} {unit} are used and {left} left out, {why}.")


def add_note(sentence: str) -> None:
    """Write a sentence on records of a file, whose name it begins with, into the log and to those of the results."""
    LOG.warning("%s%s", NOTE, sentence)
    repeat_notes([sentence])


def repeat_notes(sentences: Iterable[str]) -> None:
    """Add the notes on records that were read before to those that are collected now, and not to the log."""
    collected = _SENTENCES.get()
    if collected is not None:
        collected += sentences


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Collect the notes on records that are read inside."""
    sentences = list[str]()
    token = _SENTENCES.set(sentences)
    try:
        yield sentences
    finally:
        _SENTENCES.reset(token)


def cached_reader(read: Callable[[*Words], T]) -> Callable[[*Words], T]:
    """Return a reader that keeps its last result; its notes are collected at every call."""

    @lru_cache(maxsize=1)
    def read_once(*words: Hashable) -> tuple[T, tuple[str, ...]]:
        with collected_notes() as sentences:
            return read(*words), tuple(sentences)  # type: ignore[arg-type]

    @wraps(read)
    def reader(*words: *Words) -> T:
        result, sentences = read_once(*words)
        repeat_notes(sentences)
        return result

    return reader
