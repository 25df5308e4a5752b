"""Notes on own files for their owner: in the log and, for records that are left out, next to the results of a run."""

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
    sentence = f"{file}: {total - left} of {total} {unit} are used and {left} left out, {why}."
    LOG.warning("%s%s", NOTE, sentence)
    repeat_left_out([sentence])


def repeat_left_out(sentences: Iterable[str]) -> None:
    """Add the sentences of records that were read before to those that are collected now, and not to the log."""
    collected = _SENTENCES.get()
    if collected is not None:
        collected += sentences


@contextmanager
def sentences_left_out() -> Iterator[list[str]]:
    """Collect the sentences on records that are left out by what is read inside."""
    sentences = list[str]()
    token = _SENTENCES.set(sentences)
    try:
        yield sentences
    finally:
        _SENTENCES.reset(token)


def cached_reader(read: Callable[[*Words], T]) -> Callable[[*Words], T]:
    """Return a reader that keeps its last result; the sentences on what it left out are collected at every call."""

    @lru_cache(maxsize=1)
    def read_once(*words: Hashable) -> tuple[T, tuple[str, ...]]:
        with sentences_left_out() as sentences:
            return read(*words), tuple(sentences)  # type: ignore[arg-type]

    @wraps(read)
    def reader(*words: *Words) -> T:
        result, sentences = read_once(*words)
        repeat_left_out(sentences)
        return result

    return reader
