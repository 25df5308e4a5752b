"""Mutation testing of the rooms that certify: change one operator at a time, and see whether a test fails.

    .venv/bin/python tests/support/mutants.py --sample 200 [--seed 1] [lib/partywise/privacy ...]

The tests are run once under a tracer, which records the lines that each executes. Then each mutant of the sample runs
the tests of its line, fastest first, until one fails. The sources on disk are never touched: a mutant is compiled when
its module is imported, in a process of its own. Survivors are printed with their line; the exit status is 1 if fewer
than `--at-least` of the sample were killed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.machinery
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("lib/partywise/privacy", "lib/partywise/federation/exchanges")
TESTS = ("tests/privacy", "tests/federation/exchanges", "tests/models", "tests/audits")
COVERAGE = ROOT / ".pytest_cache" / "lines_of_tests.json"
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


def mutants_of(path: Path) -> list[tuple[str, int, int, str]]:
    """Each mutant of a file: (file, number within the file, its line, what is changed)."""
    mutants, number = [], 0
    for statement, nodes in statements(ast.parse(path.read_text())):
        for node in nodes:
            for description, _ in mutations_of(node):
                mutants.append(
                    (str(path.relative_to(ROOT)), number, getattr(node, "lineno", statement.lineno), description)
                )
                number += 1
    return mutants


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


class Tracer:
    """A pytest plugin that records the lines of the rooms that each test executes, and its CPU seconds."""

    def __init__(self, rooms: tuple[str, ...]) -> None:
        self.rooms = tuple(str(ROOT / room) for room in rooms)
        self.lines: set[tuple[str, int]] = set()
        self.tests: dict[str, tuple[float, list[tuple[str, int]]]] = {}
        self.failures: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failures.add(report.nodeid)

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        if not file.startswith(self.rooms):
            return None
        short, add = os.path.relpath(file, ROOT), self.lines.add

        def line(frame: Any, event: str, argument: Any) -> Any:
            add((short, frame.f_lineno))
            return line

        return line

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.lines.clear()
        start = time.process_time()
        sys.settrace(self.trace)
        yield
        sys.settrace(None)
        self.tests[item.nodeid] = (time.process_time() - start, sorted(self.lines))


def in_fork(seconds: float, work: Any) -> int:
    """The exit status of a function in a process of its own; 1 if it takes longer than `seconds`."""
    child = os.fork()
    if not child:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        os._exit(int(work()) if seconds else 0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1


def coverage_of(rooms: tuple[str, ...], tests: tuple[str, ...]) -> Any:
    """CPU seconds and lines of the rooms of each test: those on record, unless they are of other rooms or tests."""
    asked = {"rooms": list(rooms), "tests": list(tests)}
    kept = json.loads(COVERAGE.read_text()) if COVERAGE.exists() else {}
    if {name: kept.get(name) for name in asked} != asked:
        record_coverage(rooms, tests)
        kept = json.loads(COVERAGE.read_text())
    return kept["runs"]


def record_coverage(rooms: tuple[str, ...], tests: tuple[str, ...]) -> None:
    """Run the tests once, and write the lines that each executes to COVERAGE."""

    def work() -> int:
        tracer, words = Tracer(rooms), [word for word in PYTEST if word != "-x"]
        pytest.main([*words, "-m", "not statistical and not runs and not system", *tests], plugins=[tracer])
        COVERAGE.parent.mkdir(exist_ok=True)
        # A test that a tracer is in the way of says nothing about a mutant.
        runs = {name: run for name, run in tracer.tests.items() if name not in tracer.failures}
        COVERAGE.write_text(json.dumps({"rooms": rooms, "tests": tests, "runs": runs}))
        return len(tracer.failures)

    if failures := in_fork(3600, work):
        print(f"{failures} tests fail under the tracer, without a mutant: they are left out", flush=True)


def survives(file: str, number: int, tests: list[str], seconds: float) -> bool:
    """Whether every given test passes with the mutant."""

    def work() -> int:
        original = importlib.machinery.SourceFileLoader.get_code

        def get_code(loader: Any, name: str) -> Any:
            if Path(loader.path) != ROOT / file:
                return original(loader, name)
            return compile(mutate((ROOT / file).read_text(), number), loader.path, "exec")

        importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]
        return int(pytest.main([*PYTEST, *tests]))

    return in_fork(seconds, work) == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rooms", nargs="*", default=ROOMS)
    parser.add_argument("--tests", nargs="+", default=TESTS, help="files and folders; recorded once")
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-least", type=float, default=0.9)
    options = parser.parse_args()
    os.chdir(ROOT)
    # What most tests import, once and not in each fork.
    for name in ("numpy", "scipy.stats", "scipy.optimize"):
        importlib.import_module(name)
    runs = coverage_of(tuple(options.rooms), tuple(options.tests))
    by_line: dict[tuple[str, int], list[tuple[float, str]]] = {}
    by_file: dict[str, list[tuple[float, str]]] = {}
    for test, (seconds, lines) in runs.items():
        for file, line in lines:
            by_line.setdefault((file, line), []).append((seconds, test))
        for file in {file for file, _ in lines}:
            by_file.setdefault(file, []).append((seconds, test))
    files = sorted(path for room in options.rooms for path in (ROOT / room).rglob("*.py"))
    mutants = [mutant for path in files for mutant in mutants_of(path)]
    sample = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
    print(f"{len(sample)} of {len(mutants)} mutants in {len(files)} files; {len(runs)} tests", flush=True)
    # A mutant that changes nothing must survive, or else something other than tests kills them.
    quickest = sorted((seconds, test) for test, (seconds, _) in runs.items())[:20]
    assert survives(files[0].name, 0, [test for _, test in quickest], 100.0)
    alive = 0
    for file, number, line, description in sorted(sample):
        tests = sorted(by_line.get((file, line), by_file.get(file, [])))[:60]
        seconds = 20 + 10 * sum(seconds for seconds, _ in tests)
        if not tests or survives(file, number, [test for _, test in tests], seconds):
            alive += 1
            print(f"survived ({len(tests)} tests) {file}:{line} {description}: {line_of(file, line)}", flush=True)
    killed = 1 - alive / len(sample)
    print(f"{killed:.1%} of {len(sample)} mutants were killed")
    return int(killed < options.at_least)


def line_of(file: str, line: int) -> str:
    """The text of one line of a source."""
    return (ROOT / file).read_text().splitlines()[line - 1].strip()


if __name__ == "__main__":
    sys.exit(main())
