"""Captions of figures: the docstring of the function that draws one, or the words of its declaration, not imported.

``{replicates}`` in it stands for the numbers of replicates of the configuration in force.
"""

from __future__ import annotations

import ast
import inspect

from fingerprint import source
from partywise.experiment.plan import Plan

PLACE = "{replicates}"
MOST_CASES = 3
# Declared figures, and the words of a declaration in the order of its fields.
KINDS = {"Lines": ("title", "x"), "Bars": ("title",), "Panels": ("title",)}
# What the caption of a declared figure ends in.
MEANS = (
    "Lines: means over {replicates}; bands or bars: ± 1 standard error; dots: replicates, where they are fewer than "
    "five. Fits without a number are left out, and so are points at which they are more than half."
)
ENDINGS = {
    "epsilon": f"{MEANS} Grey horizontal lines: methods without a target of epsilon; thin dotted ones: the method of "
    "that colour without noise. Hollow marks: the target is not certified.",
    "path": "The first replicate and fold at the fewest parties, of a private method at its largest target; no mean.",
    "bars": "Bars: the largest value in {replicates}; of arrays, in the first.",
}


def caption(address: str, replicates: str) -> str:
    """The caption of the figure ``package.module:name``, with the numbers of replicates in words in their place.

    ValueError if the figure does not exist or has no caption: every figure of a report has one.
    """
    module, _, name = address.partition(":")
    path = source(module, [module.partition(".")[0]])
    tree = ast.parse(path.read_bytes()) if path is not None else ast.Module(body=[], type_ignores=[])
    for node in tree.body:
        text = None
        if isinstance(node, ast.FunctionDef) and node.name == name:
            text = ast.get_docstring(node)
        elif isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            text = _declared(node.value)
        if text:
            return inspect.cleandoc(text).replace(PLACE, replicates)
    raise ValueError(f"address is {address!r}: no figure of that name with a docstring or a title, its caption.")


def case_titles(plan: Plan) -> str:
    """The titles of the first three cases of a study, and the number of the others."""
    titles = [case.title for case in plan.cases.values()]
    more = f" and {len(titles) - MOST_CASES} more" if len(titles) > MOST_CASES else ""
    return ", ".join(titles[:MOST_CASES]) + more


def _declared(call: ast.expr) -> str | None:
    """Caption of a declaration; None of anything else."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in KINDS:
        return None
    words = dict(zip(KINDS[call.func.id], call.args, strict=False))
    words |= {str(entry.arg): entry.value for entry in call.keywords if entry.arg in ("title", "caption", "x")}
    return caption_of(call.func.id, **{name: ast.literal_eval(value) for name, value in words.items()})


def caption_of(kind: str, title: str, caption: str = "", x: str = "") -> str:
    """Caption of a figure that is declared as ``kind`` (Lines, Bars, Panels) with these words."""
    ending = "" if kind == "Panels" else ENDINGS["bars"] if kind == "Bars" else ENDINGS.get(x, MEANS)
    if x.startswith("path_"):
        ending = ENDINGS["path"]
    return " ".join(filter(None, (caption or f"{title}.", ending)))
