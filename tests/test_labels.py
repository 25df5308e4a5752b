"""Labels of cases and methods are the user's: the library compares nothing with them, and no figure looks at them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import partywise as pw
from partywise.core.checks import field_types
from partywise.experiment.configuration.grammar import Batch, CaseBlock, Configuration, Grid, StudyBlock
from partywise.experiment.study import Study, available, load
from partywise.federation.estimators.estimator import Estimator
from pipeline import ROOT
from shipped import SHIPPED, shipped_plans

LIBRARY = ROOT / "lib" / "partywise"
FILES = sorted(LIBRARY.rglob("*.py"))
# Parts of the library that read cubes.
READERS = ("figures", "plotting", "results", "verify.py")


def shipped_labels() -> set[str]:
    """Labels of all shipped configurations: of cases, of sweeps, of methods."""
    found: set[str] = set()
    for path in SHIPPED:
        for made in shipped_plans(path).values():
            found |= {*made.cases, *made.methods, *(case.group for case in made.cases.values())}
    return found


def parts(study: Study) -> list[type]:
    """Dataclasses of options and settings."""
    return [entry.options for entry in study.methods.values()] + [entry.settings for entry in study.sources.values()]


def words(hint: Any) -> Iterator[str]:
    """Words that a type lists, those of the blocks inside it included."""
    if hasattr(hint, "__dataclass_fields__"):
        yield from (word for inner in field_types(hint).values() for word in words(inner))
    for arg in get_args(hint):
        yield from [arg] if isinstance(arg, str) else words(arg)


STUDIES = [load(name) for name in available()]
LABELS = shipped_labels()
# Names of settings and options are names of coordinates, whatever a case is called.
NAMES = {name for study in STUDIES for cls in parts(study) for name in field_types(cls)}
NAMES |= {name for study in STUDIES for name in study.variables}
# Elsewhere in the library: its own words, which configurations quote.
VOCABULARY = NAMES | {
    word for s in STUDIES for cls in parts(s) for hint in field_types(cls).values() for word in words(hint)
}
VOCABULARY |= {word for s in STUDIES for word in (s.name, *s.sources, *s.methods, *s.figures)}
VOCABULARY |= {name for s in STUDIES for source in s.sources.values() for name in source.resources}
BLOCKS = (Batch, CaseBlock, Configuration, Grid, StudyBlock)
VOCABULARY |= {entry.name for cls in BLOCKS for entry in fields(cls)}
# Words of arguments that estimators have beside the options, such as the target of intervals: no study reads them.
PUBLIC = [getattr(pw, name) for name in pw.__all__]
ESTIMATORS = [one for one in PUBLIC if isinstance(one, type) and issubclass(one, Estimator)]
VOCABULARY |= {word for cls in ESTIMATORS for hint in get_type_hints(cls.__init__).values() for word in words(hint)}


def reads_cubes(path: Path) -> bool:
    return bool(set(READERS) & set(path.relative_to(LIBRARY).parts))


def texts(node: ast.AST | None) -> Iterator[str]:
    """Constant texts of a node, and of the lists, tuples and sets that it is made of."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for one in node.elts:
            yield from texts(one)


def compared(tree: ast.AST) -> Iterator[str]:
    """Texts that something is compared with, looked up by, or matched against."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                for one in (node.left, *node.comparators):
                    yield from texts(one)
            case ast.Dict():
                for key in node.keys:
                    yield from texts(key)
            case ast.Subscript():
                yield from texts(node.slice)
            case ast.MatchValue():
                yield from texts(node.value)


def quoted(tree: ast.AST) -> Iterator[str]:
    """All texts of a file, but for values of named arguments: ``having(cube, "method", protocol="published")``.

    What ``sel`` is given by name are labels.
    """
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    free = [call for call in calls if not (isinstance(call.func, ast.Attribute) and call.func.attr == "sel")]
    named = {id(one) for call in free for keyword in call.keywords for one in ast.walk(keyword.value)}
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (named | docs):
            yield node.value


def beginnings(tree: ast.AST) -> Iterator[str]:
    """Texts with which something is asked to begin or to end."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="startswith" | "endswith" | "removeprefix" | "removesuffix")):
                yield from (text for one in node.args for text in texts(one))


def known_labels(source: str, reader: bool) -> set[str]:
    """Labels, or beginnings and ends of labels, that a file of the library knows."""
    tree = ast.parse(source)
    if not reader:
        return (set(compared(tree)) | set(beginnings(tree))) & (LABELS - VOCABULARY)
    parts = {text for text in beginnings(tree) if len(text) > 1 and any(text in label for label in LABELS)}
    return (set(quoted(tree)) & (LABELS - NAMES)) | parts


def test_the_library_knows_no_label():
    known = {path: known_labels(path.read_text(encoding="utf-8"), reads_cubes(path)) for path in FILES}
    clashes = {str(path.relative_to(LIBRARY)): sorted(labels) for path, labels in known.items() if labels}
    assert not clashes, f"configurations use words of the library as labels, or the library knows a label: {clashes}"


def test_there_are_labels_and_readers():
    assert len(LABELS) > 150 and len(LABELS - NAMES) > 140
    assert {
        "cert_equal",
        "predictor_fixed",
        "published",
        "walr_classic",
        "table12_iv_n500",
        "table12",
    } <= LABELS - NAMES
    assert sum(map(reads_cubes, FILES)) > 25


def test_no_setting_and_no_option_has_the_name_of_another_coordinate():
    """Coordinates are ``case_title`` and so on, and ``case_<setting>``: the cube could not hold both."""
    taken = {"title", "group", "source", "protocol", "claims"}
    assert not taken & {name for study in STUDIES for cls in parts(study) for name in field_types(cls)}


@pytest.mark.parametrize(
    "source",
    [
        "LOOKS = {'cert': 1}",
        "if method == 'predictor_none': pass",
        "chosen = [m for m in ('published', 'local') if m in methods]",
        "line = series(cube, 'excess', case, 'planned', 'epsilon')",
        "kept = case.startswith('size_')",
        "kept = method.endswith('_rho')",
        "cube.sel({'case': 'activity'})",
        "cube['loss'].sel(case='activity', epsilon=1.0)",
        "match case:\n    case 'sweep': pass",
    ],
)
def test_a_figure_that_looks_at_labels_is_seen(source):
    assert known_labels(source, reader=True)


@pytest.mark.parametrize(
    "source",
    [
        "having(cube, 'method', protocol='published', mechanism='iid')",
        "having(cube, 'case', source='generated')",
        "AXES = {'n': 'training rows N', 'k': 'features'}",
        "told(cube, 'method', method, 'rho_total')",
        "'Held-out error of the published method'",
    ],
)
def test_a_figure_that_selects_by_coordinates_is_not(source):
    assert not known_labels(source, reader=True)


@pytest.mark.parametrize("source", ["x == 'cert_equal'", "TABLE = {'k_5': 1}", "if name in ('fsir_iid', 'sir'): pass"])
def test_a_library_file_that_compares_with_a_label_is_seen(source):
    assert known_labels(source, reader=False)
    assert not known_labels("if options.noise == 'local' and options.sigma == 'classic': pass", reader=False)
