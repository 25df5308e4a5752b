"""Mistakes as a stranger makes them, one row each, and the rule that their answers are judged by.

There is one table per reader, in tests/federation/test_statistician_mistakes.py, in
tests/workflow/test_experimenter_mistakes.py and in tests/deployment/test_operator_mistakes.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mistake:
    """A mistake and its answer.

    make : does it, with what the table of its reader hands over
    answer : words of the sentence, its remedy among them
    names : what the sentence names: the argument, key or file, and the value
    """

    make: Callable[..., Any]
    answer: str
    names: tuple[str, ...]


def faults(answer: str, mistake: Mistake) -> list[str]:
    """What an answer lacks: it is one line that ends in a full stop, and names argument, value and remedy."""
    wrong = ["several lines"] if "\n" in answer else []
    wrong += [] if answer.endswith(".") else ["no end"]
    wrong += ["a traceback"] if "Traceback" in answer or "Errno" in answer else []
    wrong += [f"not {name}" for name in (mistake.answer, *mistake.names) if name not in answer]
    return wrong
