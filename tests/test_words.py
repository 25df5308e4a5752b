"""Definitions bear the field's words: no bare participle, nothing from the left column of the vocabulary.

One test lists every offender, of every room.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from house_counts import PRIVATE_WORDS, VERBLESS, docstrings, local_names, room_files
from pipeline import ROOT

LIB = ROOT / "lib" / "partywise"
# Terms of the field: `Bounded`; names of protocols, as published and as certified, on pooled data, on whitened records.
# `printed` is what a source prints: the folder of each study, the field of an entry, the column of the register.
# `run.agreed` and `run.received` are the vocabulary's own: what all places have, and what one of them received.
TERMS = {"bounded", "published", "certified", "pooled", "whitened", "printed", "agreed", "received", "trusted"}
# End as a participle does, and are nouns, verbs or adjectives.
NOUNS = {"seed", "need", "feed", "speed", "embed", "exceed", "proceed", "hundred", "red"}
# Participles that do not end in -ed; those that are nouns or verbs as well (cut, split, read, cost) are not among them.
IRREGULAR = {
    *("told", "made", "found", "held", "sent", "kept", "drawn", "dealt", "said", "heard", "known", "taken", "given"),
    *("seen", "shown", "written", "lost", "meant", "paid", "built", "bought", "caught", "chosen", "done", "broken"),
    *("begun", "spent", "spoken", "stolen", "sworn", "taught", "thought", "thrown", "torn", "withdrawn", "won"),
    *("grown", "gone", "hidden", "met", "laid", "mistaken", "proven", "sold", "stuck", "understood", "unread"),
    *("unseen", "unknown"),
}
FUNCTIONS, FLAGS = ast.FunctionDef | ast.AsyncFunctionDef, ("bool", "bool | None")
# Left column of the vocabulary, as names of definitions.
LEFT = {
    *("Own", "Told", "Known", "Reading", "Second", "taking_part", "participants", "dealt", "reported", "attacked"),
    *("exposures", "Home", "taken", "elsewhere", "IN_PLACE", "invented", "placed", "active_party", "natural"),
    *("unscaled", "vain", "dearer", "young_file", "set_back", "fit_told", "Thinned", "lanes", "filled", "joined"),
    *(
        "beside",
        "BESIDE",
        "summed",
        "stacked",
        "law",
        "laws",
        "Law",
        "ours",
        "instead",
        "Printed",
        "opened",
        "sealed",
        "packed",
        "parted",
    ),
}


def is_participle(name: str) -> bool:
    """Whether a name is one word, and that a participle."""
    word = name.strip("_")
    if "_" in word or re.search(r"[a-z][A-Z]", word) or word.lower() in TERMS:
        return False
    return (word.lower().endswith("ed") and word.lower() not in NOUNS) or word.lower() in IRREGULAR


def definitions(path: Path) -> Iterator[str]:
    """Names of a module: its own, those of its functions and classes, and the public attributes of classes."""
    yield path.parent.name if path.stem == "__init__" else path.stem
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef) or (isinstance(node, FUNCTIONS) and not is_flag(node)):
            yield node.name
        if isinstance(node, ast.ClassDef):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and not is_flag(line):
                    yield line.target.id


def is_flag(node: ast.AnnAssign | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a field or a property is yes or no, or not there: a flag is an adjective, a fit is converged or not."""
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.annotation) in FLAGS
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
    return (
        bool(decorators & {"property", "cached_property"})
        and node.returns is not None
        and ast.unparse(node.returns) in FLAGS
    )


def offenders() -> dict[str, list[str]]:
    """``file: name`` of every offender, by room."""
    found: dict[str, list[str]] = {}
    for path in sorted(LIB.rglob("*.py")):
        place = path.relative_to(LIB)
        for name in definitions(path):
            if is_participle(name) or name in LEFT:
                found.setdefault(place.with_suffix("").parts[0], []).append(f"{place}: {name}")
    return found


def test_a_participle_is_seen():
    assert all(map(is_participle, ("told", "_Merged", "reported", "Held")))
    assert not any(map(is_participle, ("seed", "merge", "drawn_masks", "PerPlace", "Bounded", "cut")))


def test_definitions_bear_the_fields_words():
    assert offenders() == {}


# The library, and the code outside of it.
FOLDERS = (".", "workflow/**/*.py", "scripts/*.py", "docs/*.py")


def test_names_are_those_of_values_and_docstrings_begin_with_a_verb_or_a_noun():
    found: dict[str, list[str]] = {}
    for folder in FOLDERS:
        paths = room_files(LIB, folder)
        assert paths, folder
        for path in paths:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names = [name for name in local_names(tree) if name in PRIVATE_WORDS]
            texts = [text.splitlines()[0] for text in docstrings(tree) if VERBLESS.match(text)]
            if names or texts:
                found[str(path.relative_to(ROOT))] = names + texts
    assert found == {}
