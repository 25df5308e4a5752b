"""Mutation testing of the rooms that certify: change one operator at a time, and see whether a test fails.

    .venv/bin/python tests/support/mutants.py --sample 200 [--seed 1] [lib/partywise/privacy ...]
    .venv/bin/python tests/support/mutants.py --stored before.jsonl --into after.jsonl

The tests are run once and record the statements that each executes. Then the tests of each mutant's statement run,
fastest first, until one fails, in a fork of a process that has collected all tests, with the code of the mutant. What
survives there runs again in a process that imports the mutant. The sources on disk are never touched. Survivors are
printed with their line; the exit status is 1 if fewer than `--at-least` of the sample were killed.

Rooms have equal shares of a sample, in random order: its beginning is a smaller random sample. `--into FILE` writes a
row per mutant (qualified name, edit, text, status, tests), and continues where a run was stopped. `--stored FILE` takes
the mutants and tests of such a file, of this commit or of an earlier one. They are looked up by name and text where the
module is today; the test that failed then runs first. Pairs that differ are listed.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import copy
import difflib
import gc
import importlib
import importlib.machinery
import json
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = tuple(
    f"lib/partywise/{room}" for room in ("privacy", "federation/exchanges", "methods/survival", "methods/filters")
)
TESTS = ("tests/privacy", "tests/federation/exchanges", "tests/methods/survival", "tests/methods/filters")
COVERAGE = ROOT / ".pytest_cache" / "lines_of_tests.json"
RESULTS = ROOT / ".pytest_cache" / "mutants.jsonl"
# From here on a mutant of today counts as that of a stored row; a definition or a local may have another name.
LIKE = 0.6
# The function by which a watched module reports a place.
REPORT = "__report_place__"
# Seconds of the clock that a process may wait, per second of a processor that it may use.
PATIENCE = 8
# The exit status where there is no verdict; those of pytest that are one: a test failed, or no test could be collected.
FAULT = 70
KILLS = (1, 2, 3)
PYTEST = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header")

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATIONS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.Mod: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "any": "all", "all": "any"} | {
    "minimum": "maximum", "maximum": "minimum", "log1p": "log", "expm1": "exp", "nextafter": "subtract",
}  # fmt: skip


def mutations_of(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Each (description, function that changes a copy of the node in place) for one node."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield (
                f"{type(op).__name__} -> {COMPARISONS[type(op)].__name__}",
                lambda n: n.ops.__setitem__(0, COMPARISONS[type(op)]()),
            )
        case ast.BinOp(op=op) if type(op) in OPERATIONS and not isinstance(node.left, ast.Constant | ast.JoinedStr):
            yield (
                f"{type(op).__name__} -> {OPERATIONS[type(op)].__name__}",
                lambda n: setattr(n, "op", OPERATIONS[type(op)]()),
            )
        case ast.BoolOp(op=ast.And()):
            yield "and -> or", lambda n: setattr(n, "op", ast.Or())
        case ast.BoolOp(op=ast.Or()):
            yield "or -> and", lambda n: setattr(n, "op", ast.And())
        case ast.UnaryOp(op=ast.Not()):
            yield "not removed", lambda n: setattr(n, "op", ast.UAdd()) or setattr(n, "operand", truth(n.operand))
        case ast.UnaryOp(op=ast.USub()):
            yield "minus removed", lambda n: setattr(n, "op", ast.UAdd())
        case ast.Constant(value=bool(value)):
            yield f"{value} -> {not value}", lambda n: setattr(n, "value", not value)
        case ast.Constant(value=int(value) | float(value)):
            yield f"{value} -> {value + 1}", lambda n: setattr(n, "value", value + 1)
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            yield f"{name} -> {NAMES[name]}", lambda n: setattr(n.func, "id", NAMES[name])
        case ast.Call(func=ast.Attribute(attr=name)) if name in NAMES:
            yield f"{name} -> {NAMES[name]}", lambda n: setattr(n.func, "attr", NAMES[name])
        case ast.If(body=[ast.Raise()], orelse=[]):
            yield "refusal removed", lambda n: setattr(n, "test", ast.Constant(False))


def truth(node: ast.expr) -> ast.expr:
    """The expression `bool(node)`."""
    return ast.Call(ast.Name("bool", ast.Load()), [node], [])


def statements(tree: ast.AST) -> Iterator[tuple[ast.stmt, list[ast.AST]]]:
    """Each statement with the nodes of its own expressions: no nested statements, annotations or f-strings."""
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.stmt) or isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        own: list[ast.AST] = [statement]
        waiting = [(name, child) for name, child in fields_of(statement)]
        while waiting:
            name, node = waiting.pop()
            if isinstance(node, ast.stmt | ast.JoinedStr) or name in (
                "annotation",
                "returns",
                "decorator_list",
                "bases",
            ):
                continue
            own.append(node)
            waiting += fields_of(node)
        yield statement, own


def fields_of(node: ast.AST) -> list[tuple[str, ast.AST]]:
    """The children of a node with the name of the field that each stands in."""
    pairs = []
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        pairs += [(name, child) for child in children if isinstance(child, ast.AST)]
    return pairs


# Tests of a mutant with the CPU seconds of each, fastest first.
Tests = dict[str, float]
Sample = list[tuple["Mutant", Tests]]


@dataclass(frozen=True)
class Mutant:
    """A change of one node: where it is, what it does, and its text.

    `nth` counts the equal edits of one definition; `place` is the line of its statement in a function, 0 outside any.
    """

    file: str
    name: str
    nth: int
    edit: str
    node: str
    text: str
    number: int
    line: int
    place: int


def names_of(tree: ast.AST, name: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Each node below a tree with the qualified name of the definition that it is in."""
    for child in ast.iter_child_nodes(tree):
        yield child, name
        match child:
            case ast.FunctionDef(name=inner) | ast.ClassDef(name=inner):
                yield from names_of(child, f"{name}.{inner}".lstrip("."))
            case _:
                yield from names_of(child, name)


def mutants_of(path: Path) -> list[Mutant]:
    """Each mutant of a file, in the order of `mutate`."""
    source = path.read_text()
    tree, texts = ast.parse(source), source.splitlines()
    names, counts = {id(node): name for node, name in names_of(tree)}, Counter[tuple[str, str]]()
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    within = {id(node) for function in functions for node in ast.walk(function) if node is not function}
    mutants: list[Mutant] = []
    for statement, nodes in statements(tree):
        for node in nodes:
            for edit, _ in mutations_of(node):
                line, name = getattr(node, "lineno", statement.lineno), names[id(node)]
                where, text = str(path.relative_to(ROOT)), texts[line - 1].strip()
                kind = ast.unparse(node).split("\n")[0]
                place = statement.lineno if id(statement) in within else 0
                mutants.append(Mutant(where, name, counts[name, edit], edit, kind, text, len(mutants), line, place))
                counts[name, edit] += 1
    return mutants


def drawn(rooms: list[list[Mutant]], size: int, seed: int) -> list[Mutant]:
    """A sample with equal shares of the rooms, in random order; a larger one contains the smaller ones."""
    generator = random.Random(seed)
    for mutants in rooms:
        generator.shuffle(mutants)
    return [mutant for turn in zip_longest(*rooms) for mutant in turn if mutant is not None][:size]


def address_of(file: str) -> str:
    """The file of a module today, by the one it had when a sample was stored."""
    from partywise.core.addresses import new_address

    name = file.removeprefix("lib/").removesuffix(".py").replace("/", ".")
    return f"lib/{(new_address(name) or name).replace('.', '/')}.py"


def likeness(row: dict[str, Any], mutant: Mutant) -> float:
    """How much a mutant of today is that of a stored row: 1 for the same text in a definition of the same name."""
    text = difflib.SequenceMatcher(None, f"{row['node']}|{row['text']}", f"{mutant.node}|{mutant.text}").ratio()
    name = difflib.SequenceMatcher(None, row["name"], mutant.name).ratio()
    return 0.7 * text + 0.3 * name - 0.001 * abs(row["nth"] - mutant.nth)


def located(row: dict[str, Any], mutants: list[Mutant]) -> tuple[float, Mutant | None]:
    """The mutant of today that is the one of a stored row, first in its file and then in all, with its likeness."""
    alike = [mutant for mutant in mutants if mutant.edit == row["edit"]]
    best: tuple[float, Mutant | None] = (0.0, None)
    for place in ([m for m in alike if m.file == address_of(row["file"])], alike):
        best = max(((likeness(row, m), m) for m in place), key=lambda pair: pair[0], default=best)
        if best[0] >= LIKE:
            return best
    return best[0], None


def mutate(source: str, wanted: int) -> ast.Module:
    """The syntax tree of a source in which mutant number `wanted` is made."""
    tree, number = ast.parse(source), 0
    for _, nodes in statements(tree):
        for node in nodes:
            for _, change in mutations_of(copy.copy(node)):
                if number == wanted:
                    change(node)
                    return ast.fix_missing_locations(tree)
                number += 1
    raise IndexError(f"no mutant {wanted}")


def watched(file: str) -> ast.Module:
    """The syntax tree of a file whose functions report their file, and the lines of statements with mutants."""
    tree = ast.parse((ROOT / file).read_text())
    wanted = {mutant.place for mutant in mutants_of(ROOT / file)}

    def call(line: int, statement: ast.stmt) -> ast.stmt:
        name, key = ast.Name(REPORT, ast.Load()), ast.Constant((file, line))
        return ast.copy_location(ast.Expr(ast.Call(name, [key], [])), statement)

    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        for parent in ast.walk(function):
            for _, block in ast.iter_fields(parent):
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    block[:] = [
                        part
                        for statement in block
                        for part in ([call(statement.lineno, statement)] * (statement.lineno in wanted) + [statement])
                    ]
        wanted -= {node.lineno for node in ast.walk(function) if isinstance(node, ast.stmt)} - {function.lineno}
        docstring = ast.get_docstring(function, clean=False) is not None
        function.body.insert(int(docstring), call(0, function.body[0]))
    return ast.fix_missing_locations(tree)


class Recorder:
    """A pytest plugin that records what each test executes of the rooms, and its CPU seconds."""

    def __init__(self) -> None:
        self.places: set[tuple[str, int]] = set()
        self.tests: dict[str, tuple[float, list[tuple[str, int]]]] = {}
        self.failures: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failures.add(report.nodeid)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.places.clear()
        start = time.process_time()
        yield
        self.tests[item.nodeid] = (round(time.process_time() - start, 3), sorted(self.places))


def compiled(trees: Callable[[str], ast.Module | None]) -> None:
    """Modules imported from now on are made of these trees by file, where there is one."""
    original = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: Any, name: str) -> Any:
        path = Path(loader.path)
        tree = trees(str(path.relative_to(ROOT))) if path.is_relative_to(ROOT) else None
        return original(loader, name) if tree is None else compile(tree, loader.path, "exec")

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]


def in_fork(seconds: int, work: Any) -> int:
    """The exit status of a function in a process of its own, which ends by a signal after `seconds` of a processor."""
    child = os.fork()
    if not child:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        status = FAULT
        try:
            status = int(work())
        finally:
            os._exit(status)
    end = time.monotonic() + PATIENCE * seconds
    done, status = 0, 0
    while not done and time.monotonic() < end:
        time.sleep(0.01)
        done, status = os.waitpid(child, os.WNOHANG)
    if not done:
        os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def coverage_of(rooms: tuple[str, ...], tests: tuple[str, ...]) -> Any:
    """CPU seconds and places of each test: those on record, unless they are of other rooms or tests."""
    asked = {"rooms": list(rooms), "tests": list(tests)}
    kept = json.loads(COVERAGE.read_text()) if COVERAGE.exists() else {}
    if {name: kept.get(name) for name in asked} != asked:
        record_coverage(rooms, tests)
        kept = json.loads(COVERAGE.read_text())
    return kept["runs"]


def record_coverage(rooms: tuple[str, ...], tests: tuple[str, ...]) -> None:
    """Run the tests once, and write what each executes to COVERAGE."""

    def work() -> int:
        recorder, words = Recorder(), [word for word in PYTEST if word != "-x"]
        setattr(builtins, REPORT, recorder.places.add)
        compiled(lambda file: watched(file) if file.startswith(rooms) else None)
        pytest.main([*words, "-m", "not statistical and not runs and not system", *tests], plugins=[recorder])
        COVERAGE.parent.mkdir(exist_ok=True)
        # A test that the reports are in the way of says nothing about a mutant.
        runs = {name: run for name, run in recorder.tests.items() if name not in recorder.failures}
        COVERAGE.write_text(json.dumps({"rooms": rooms, "tests": tests, "runs": runs}))
        return len(recorder.failures)

    if failures := in_fork(3600, work):
        print(f"{failures} tests fail while they are recorded, without a mutant: they are left out", flush=True)


class Only:
    """A pytest plugin that leaves these tests, in this order, of those that are collected."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.tests = tests

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = collected(self.tests, items)


def files_of(tests: Iterable[str]) -> list[str]:
    """The files of tests, by their names, since folders may have moved."""
    names = {Path(test.partition("::")[0]).name for test in tests}
    return [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").rglob("*.py")) if path.name in names]


def collected(tests: Sequence[str], items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The items of these tests, in this order, also where a file moved or a test joined another file."""
    by_name: dict[str, pytest.Item] = {}
    for item in items:
        for name in names_of_test(item.nodeid):
            by_name.setdefault(name, item)
    names = [next((name for name in names_of_test(test) if name in by_name), "") for test in tests]
    return list(dict.fromkeys(by_name[name] for name in names if name))


def names_of_test(test: str) -> tuple[str, ...]:
    """The id of a test, then without folders, then without its file."""
    file, _, name = test.partition("::")
    return test, f"{Path(file).name}::{name}", name


def status_of(mutant: Mutant, tests: Tests) -> int:
    """The status of tests in a process that imports the mutant: 0 if every one passes."""

    def work() -> int:
        compiled(lambda file: tree_of(mutant) if file == mutant.file else None)
        return int(pytest.main([*PYTEST, *files_of(tests)], plugins=[Only(list(tests))]))

    return killing(in_fork(limit(tests), work))


def tree_of(mutant: Mutant) -> ast.Module:
    """The syntax tree of the mutant's file with its change."""
    return mutate((ROOT / mutant.file).read_text(), mutant.number)


def killing(status: int) -> int:
    """An exit status that says that a mutant was killed, by a test or by a signal; 0 for any other."""
    return status if status < 0 or status in KILLS else 0


def codes(code: CodeType) -> list[CodeType]:
    """A code object and all that it holds, in order of appearance."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [code, *(deeper for part in inner for deeper in codes(part))]


def code_name(code: CodeType) -> tuple[str, int]:
    """What a code object is called, and its first line."""
    return code.co_qualname, code.co_firstlineno


def swapped(mutant: Mutant, functions: list[FunctionType]) -> bool:
    """Give the living functions of a file the code of the mutant; False where that is not possible."""
    new = codes(compile(tree_of(mutant), mutant.file, "exec"))
    # Equal names, as of two lambdas in a line, say nothing.
    counts = Counter(map(code_name, new))
    by_name = {code_name(code): code for code in new if counts[code_name(code)] == 1}
    changed = [function for function in functions if code_name(function.__code__) in by_name]
    for function in changed:
        function.__code__ = by_name[code_name(function.__code__)]
    return any(f"{mutant.name}.".startswith(f"{function.__code__.co_qualname}.") for function in changed)


class Suite:
    """The tests by the places that they execute, fastest first."""

    def __init__(self, runs: dict[str, tuple[float, list[tuple[str, int]]]], most: int) -> None:
        self.seconds = {test: seconds for test, (seconds, _) in runs.items()}
        self.most = most
        self.by_place: dict[tuple[str, int], list[str]] = {}
        for test in sorted(self.seconds, key=self.seconds.__getitem__):
            for file, line in runs[test][1]:
                self.by_place.setdefault((file, line), []).append(test)

    def tests_of(self, mutant: Mutant) -> Tests:
        """The tests of its statement, or else of its file."""
        names = self.by_place.get((mutant.file, mutant.place), [])[: self.most]
        return {name: self.seconds[name] for name in names}


def limit(tests: Tests) -> int:
    """Seconds of a processor that tests may use."""
    return 40 + round(10 * sum(tests.values()))


class Trials:
    """A pytest plugin that collects the tests once, and runs those of each mutant in a fork with its code."""

    def __init__(self, sample: Sample, write: Callable[..., None]) -> None:
        self.sample, self.write = sample, write

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        functions: dict[str, list[FunctionType]] = {}
        gc.unfreeze()
        for function in [thing for thing in gc.get_objects() if isinstance(thing, FunctionType)]:
            path = Path(function.__code__.co_filename)
            if path.is_relative_to(ROOT / "lib"):
                functions.setdefault(str(path.relative_to(ROOT)), []).append(function)
        gc.freeze()
        # Without a mutant all pass, or else something other than mutants fails them.
        if self.trial(None, [], session.items[:: len(session.items) // 20 + 1], 400)[0]:
            raise RuntimeError("a test fails without a mutant")
        for mutant, tests in self.sample:
            if mutant.place or mutant.file not in functions:
                chosen = collected(list(tests), session.items)
                status, killer = self.trial(mutant, functions.get(mutant.file, []), chosen, limit(tests))
                if status:
                    self.write(mutant, tests, status, killer)
        return True

    def trial(
        self, mutant: Mutant | None, functions: list[FunctionType], items: list[pytest.Item], seconds: int
    ) -> tuple[int, str]:
        """The exit status of the tests with the mutant, and the test that failed."""
        reading, writing = os.pipe()

        def work() -> int:
            if mutant:
                # A module that no test has imported yet has no functions.
                compiled(lambda file: tree_of(mutant) if file == mutant.file else None)
                if functions and not swapped(mutant, functions):
                    return 0
            for item, following in zip(items, [*items[1:], None], strict=True):
                os.write(writing, f"{item.nodeid}\n".encode())
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if item.session.testsfailed:
                    return 1
            return 0

        status = in_fork(seconds, work)
        os.close(writing)
        with open(reading) as stream:
            names = stream.read().splitlines()
        return killing(status), names[-1] if names else ""


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a stored sample; none without a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """What names a mutant."""
    return row["file"], row["name"], row["nth"], row["edit"]


def stored_sample(rows: list[dict[str, Any]], mutants: list[Mutant]) -> Sample:
    """The mutants of stored rows where they are today, each with its tests, first the one that failed."""
    sample = []
    for row in rows:
        likeness, mutant = located(row, mutants)
        if mutant:
            first = {name: row["tests"].get(name, 1.0) for name in [row["killer"]] if name}
            sample.append((mutant, first | row["tests"]))
        if likeness < 1:
            today = f"{mutant.file} {mutant.name}: {mutant.text}" if mutant else "nothing"
            print(f"{likeness:.2f} {row['file']} {row['name']} {row['edit']}: {row['text']}\n     {today}")
    return sample


def try_all(sample: Sample, into: Path) -> None:
    """Run the tests of each mutant, and write a row with the status of each that has none yet."""

    def write(mutant: Mutant, tests: Tests, status: int, killer: str = "") -> None:
        with into.open("a") as stream:
            stream.write(json.dumps(asdict(mutant) | {"status": status, "killer": killer, "tests": tests}) + "\n")

    def waiting() -> Sample:
        done = {key_of(row) for row in rows_of(into)}
        return [(mutant, tests) for mutant, tests in sample if key_of(asdict(mutant)) not in done]

    files = files_of(test for _, tests in waiting() for test in tests)
    trials = Trials(waiting(), write)
    words = [*PYTEST, "-s", f"--basetemp={into}.tmp", *files]
    if files and (status := in_fork(3600, lambda: int(pytest.main(words, plugins=[trials])))):
        raise RuntimeError(f"pytest ends with status {status} while it tries mutants")
    # What outlives the exchange of code is imported as a mutant, as are mutants of what a module makes when imported.
    for mutant, tests in waiting():
        write(mutant, tests, status_of(mutant, tests) if tests else 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rooms", nargs="*", default=ROOMS)
    parser.add_argument("--tests", nargs="+", default=TESTS, help="files and folders; recorded once")
    parser.add_argument("--most", type=int, default=60, help="how many tests of a statement are tried, fastest first")
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stored", type=Path, help="the rows of an earlier run, in place of a new sample")
    parser.add_argument("--into", type=Path, help="a row per mutant; those in it are not run again")
    parser.add_argument("--at-least", type=float, default=0.9)
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "lib"))
    # What most tests import, once and not in each fork.
    for module in ("numpy", "scipy.stats", "scipy.optimize", "pandas"):
        importlib.import_module(module)
    rooms = [[m for path in sorted((ROOT / room).rglob("*.py")) for m in mutants_of(path)] for room in options.rooms]
    mutants = [mutant for room in rooms for mutant in room]
    if options.stored:
        sample = stored_sample(rows_of(options.stored), mutants)
    else:
        suite = Suite(coverage_of(tuple(options.rooms), tuple(options.tests)), options.most)
        sample = [(mutant, suite.tests_of(mutant)) for mutant in drawn(rooms, options.sample, options.seed)]
    print(f"{len(sample)} of {len(mutants)} mutants", flush=True)
    if not options.into:
        RESULTS.unlink(missing_ok=True)
    results = options.into or RESULTS
    try_all(sample, results)
    rows = {key_of(row): row for row in rows_of(results)}
    alive = [row for row in (rows[key_of(asdict(mutant))] for mutant, _ in sample) if not row["status"]]
    for row in alive:
        print(f"survived ({len(row['tests'])} tests) {row['file']}:{row['line']} {row['edit']}: {row['text']}")
    killed = 1 - len(alive) / len(sample)
    print(f"{killed:.1%} of {len(sample)} mutants were killed")
    return int(killed < options.at_least)


if __name__ == "__main__":
    sys.exit(main())
