"""Runs the Python blocks of a page in one namespace, and compares what each prints with the block of text under it.

Likewise the examples in the docstrings of ``pw``, each in a namespace of its own. What begins with a comment ``Needs``
needs more than numpy and scipy, and is left out without ``--extras``. Alone (``python documented.py PAGE``) it needs
the standard library, partywise, and what the page imports.
"""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import partywise

FENCED = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)
EXTRA = "# Needs "


def examples(page: Path) -> Iterator[tuple[str, str | None]]:
    """Every block of code with the text under it."""
    blocks = [(kind, body) for kind, body in FENCED.findall(page.read_text(encoding="utf-8"))]
    for place, (kind, body) in enumerate(blocks):
        if kind == "python":
            following = blocks[place + 1] if place + 1 < len(blocks) else ("", "")
            yield body, following[1] if following[0] == "text" else None


def run(page: Path, *, extras: bool) -> list[str]:
    """What differs: block, expected and printed text; without ``extras`` what needs more than numpy is left out."""
    names: dict[str, object] = {"__name__": "__documented__"}
    wrong = []
    for code, expected in examples(page):
        if code.startswith(EXTRA) and not extras:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), names)
        if expected is None or printed.getvalue() != expected:
            wrong.append(f"{code}\nexpected:\n{expected}\nprinted:\n{printed.getvalue()}")
    return wrong


def public(*, extras: bool = True) -> dict[str, Any]:
    """Functions, classes, and their methods and properties that ``pw`` shows, by address; inherited ones once."""
    found = dict[str, Any]()
    for name in partywise.__all__:
        try:
            thing = getattr(partywise, name)
            things = _functions(thing) if inspect.ismodule(thing) else [thing]
        except ImportError:
            if extras:
                raise
            continue
        for one in things:
            found[f"{one.__module__}.{one.__qualname__}"] = one
            found |= _members(one) if inspect.isclass(one) else {}
    return found


def _functions(module: Any) -> list[Any]:
    """What a module defines for others, or imports when it is asked for."""
    found = [getattr(module, name) for name in dir(module) if not name.startswith("_")]
    return [one for one in found if callable(one) and getattr(one, "__module__", "").startswith(module.__name__)]


def _members(kind: type) -> dict[str, Any]:
    """Methods and properties of a class for others, of this package."""
    found = dict[str, Any]()
    for name in dir(kind):
        owner = next((one for one in kind.__mro__ if name in vars(one)), kind)
        value = vars(owner).get(name)
        value = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        ours = owner.__module__.startswith("partywise.") and not name.startswith("_")
        if ours and (inspect.isfunction(value) or is_property(value)):
            found[f"{owner.__module__}.{owner.__qualname__}.{name}"] = value
    return found


def is_property(thing: Any) -> bool:
    """Whether it is read like an attribute and computed."""
    return isinstance(thing, property) or type(thing).__name__ == "cached_property"


def doctests(address: str, thing: Any) -> doctest.DocTest:
    """The examples of a docstring, in a namespace of their own."""
    text = inspect.cleandoc(thing.__doc__ or "")
    return doctest.DocTestParser().get_doctest(text, {"__name__": "__documented__"}, address, None, None)


def run_docstrings(*, extras: bool) -> list[str]:
    """What differs in the examples of all public docstrings."""
    wrong, runner = list[str](), doctest.DocTestRunner()
    for address, thing in public(extras=extras).items():
        test = doctests(address, thing)
        if extras or f">>> {EXTRA}" not in (test.docstring or ""):
            runner.run(test, out=wrong.append)
    return wrong


if __name__ == "__main__":
    extra = "--extras" in sys.argv
    differences = run(Path(sys.argv[1]), extras=extra) + ([] if extra else run_docstrings(extras=False))
    print("\n".join(differences))
    sys.exit(bool(differences))
