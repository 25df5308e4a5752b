"""The table of verbs: help, pages and messages agree with it, and every call that a text names exists."""

from __future__ import annotations

import ast
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import warm_python
from artifact import commands
from partywise.__main__ import main
from partywise.core.verbs import RENAMED, VERBS, UnknownVerb, asks_snakemake, find, first_level, help_text, plan, row
from pipeline import ROOT, environment

FIRST = {verb.name for verb in first_level(in_clone=True)}
# Their other words are those of Snakemake and pytest.
PASSES_ON = ("run", "report", "test", "test --long", "test --system", "test --frameworks")


def test_names_are_unique_and_those_of_the_second_level_belong_to_one_of_the_first():
    names = [verb.name for verb in VERBS]
    assert len(names) == len(set(names)) and not set(RENAMED) & set(names)
    assert {name.split()[0] for name in names} == FIRST


@pytest.mark.parametrize("in_clone", [True, False])
def test_help_is_one_screen(in_clone):
    lines = help_text(in_clone).splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 120
    program = "./run" if in_clone else "partywise"
    named = {words[1] for line in lines[2:] if (words := line.split())[:1] == [program]}
    assert named == {verb.name for verb in first_level(in_clone)}


def test_both_commands_print_the_same_screen():
    calls = (["./run", "--help"], ["./run", "help"], [sys.executable, "-m", "partywise", "--help"])
    printed = {subprocess.run(call, cwd=ROOT, env=environment(), capture_output=True).stdout.decode() for call in calls}
    assert printed == {help_text() + "\n"}


def test_the_table_needs_the_standard_library_alone():
    """No environment, no site packages: as ./run asks it on a new machine."""
    command = [sys.executable, "-S", "-m", "partywise.core.verbs"]
    for words, environment_of_call in {
        (): "run run",
        ("test", "-k", "x"): "test",
        ("test", "-n", "0", "--frameworks"): "frameworks",
        ("network", "status"): "network",
        ("test", "--help"): "run",
        ("--help",): "none",
    }.items():
        done = subprocess.run([*command, *words], env={"PYTHONPATH": str(ROOT / "lib")}, capture_output=True, text=True)
        assert (done.stdout, done.stderr) == (f"{environment_of_call}\n", "")


def test_the_page_of_commands_is_the_table():
    stored = (ROOT / commands.PAGE).read_text(encoding="utf-8")
    assert commands.page(ROOT) == stored, f"{commands.PAGE} differs from the table: ./run check --artifact --write"


@cache
def help_of(name: str) -> str:
    """What a verb prints about itself; verbs of the pipeline are programs of their own."""
    words = [*name.split(), "--help"]
    if find(words)[0].is_script:
        code, printed, told = warm_python.run(ROOT, ["-m", "partywise", *words], environment(), timeout=60)
        assert code == 0, told
        return printed
    with redirect_stdout(io.StringIO()) as page, suppress(SystemExit):
        assert main(words) == 0
    return page.getvalue()


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_verb_has_help_of_its_own(verb):
    text = help_of(verb.name)
    # Options of `test` share the help of the verb: all go to pytest.
    name = verb.name if verb.function else verb.name.partition(" ")[0]
    assert text.startswith(f"usage: ./run {name}".removesuffix(" run"))
    assert verb.purpose in text or verb.name == "run"
    assert set(re.findall(r"--[a-z][\w-]*", verb.arguments)) <= set(re.findall(r"--[\w-]+", text))
    module, _, function = verb.function.partition(":")
    if verb.is_script:
        assert (ROOT / "workflow" / verb.function).is_file()
    elif verb.function:
        assert callable(getattr(import_module(f"partywise.{module}"), function))


@pytest.mark.parametrize("old", RENAMED)
def test_a_verb_of_an_earlier_version_names_the_new_one(old, capsys):
    assert main([old, "cube.nc"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and f"type ./run {RENAMED[old]}." in told
    assert row(RENAMED[old]) and find([*RENAMED[old].split(), "x"])[0].name == RENAMED[old]
    with pytest.raises(UnknownVerb):
        plan([old])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["verfy"], "unknown command 'verfy': did you mean ./run compare --recompute? ./run --help lists all."),
        (["sumary"], "unknown command 'sumary': did you mean ./run summary? ./run --help lists all."),
        (["network", "partty"], "unknown command 'partty': did you mean ./run network party? ./run network --help"),
        (["network"], "./run network needs one of its verbs: party, certificates,"),
        (["compare", "a", "b", "--findings", "--reference"], "./run compare takes one of --findings and --reference"),
    ],
)
def test_a_call_of_no_verb_ends_in_a_sentence(words, sentence, capsys):
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(sentence)


def test_an_option_that_makes_another_verb_stands_anywhere():
    assert find(["compare", "a", "--findings", "b"]) == (row("compare --findings"), ["a", "b"])
    assert find(["compare", "--recompute=a.nc", "--cells", "2"]) == (
        row("compare --recompute"),
        ["a.nc", "--cells", "2"],
    )
    verb, words = find(["test", "-k", "x", "--long"])
    assert (verb.name, verb.function, words) == ("test --long", "verbs/test.py", ["-k", "x", "--long"])
    assert find(["compare", "a", "b", "--common"]) == (row("compare"), ["a", "b", "--common"])


def test_a_verb_about_a_clone_says_so_elsewhere(monkeypatch):
    monkeypatch.setattr("partywise.core.verbs.IN_CLONE", False)
    with pytest.raises(UnknownVerb, match="about a clone of the project"):
        find(["test"])
    assert find(["compare", "a", "b"])[0].name == "compare"


# Programs that call verbs, as shells and lists of words write them.
CALL = re.compile(
    r"(?P<program>\./run|(?:python3?|sys\.executable\}?|bin/python) -m partywise|-m partywise|(?<=`)partywise"
    r"|\$ partywise|(?<=`)make)(?P<words>(?: [^\s`\"'();|&]+)*)"
)


# What verbs were called then.
HISTORY = ("CHANGELOG.md", "docs/changelog.d/0.9.0.md", "docs/numbers_moved.md")


def texts() -> Iterator[tuple[str, str]]:
    """Pages, configurations, scripts, and strings and comments of programs: name and text with lists as words."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        if name in (*HISTORY, "lib/partywise/core/verbs.py", "tests/core/test_verbs.py") or not path.is_file():
            continue
        if path.suffix in ("", ".md", ".py", ".sh", ".yaml", ".yml", ".toml", ".cff", ".rst", ".service", ".jinja"):
            text = path.read_text(encoding="utf-8", errors="ignore")
            # Lists of words, in Python and YAML; a command that is continued on the next line.
            text = re.sub(r"\"-m\", \"partywise\"((?:, \"[\w-]+\")*)", _as_words, text)
            text = re.sub(r"\[python, -m, partywise((?:, [^,\]]+)*)", _as_words, text)
            yield name, re.sub(r" \\\n[ #]*", " ", text)


def _as_words(found: re.Match[str]) -> str:
    return "-m partywise" + found[1].replace(",", "").replace('"', "")


def calls(text: str) -> Iterator[list[str]]:
    """Words of every call in a text."""
    for found in CALL.finditer(text):
        yield [re.match(r"[\w=/.*<>~-]*", word)[0].rstrip(".") for word in found["words"].split()]


def fault(words: list[str]) -> str:
    """What is wrong with the words of a call; empty if nothing is, or if they are prose."""
    if not words or asks_snakemake(words[0]) or not re.fullmatch(r"[a-z][a-z-]+", words[0]):
        return ""
    if words[0] in RENAMED:
        return f"{words[0]} is now {RENAMED[words[0]]}"
    if words[0] not in FIRST:
        return ""
    if words[0] in ("network", "publish") and (len(words) < 2 or not re.fullmatch("[a-z-]+", words[1])):
        return ""
    try:
        verb, rest = find(words)
    except UnknownVerb as reason:
        return str(reason)
    if verb.name in PASSES_ON or not verb.function:
        return ""
    known = set(re.findall(r"--[\w-]+", help_of(verb.name)))
    unknown = [word for word in rest if re.match(r"--\w", word) and word.partition("=")[0] not in known]
    return f"{verb.name} has no {unknown[0]}" if unknown else ""


def test_every_call_that_a_text_names_exists():
    wrong, seen = [], set()
    for name, text in texts():
        for words in calls(text):
            seen.update(words[:1])
            if reason := fault(words):
                wrong.append(f"{name}: {shlex.join(words)}: {reason}")
    assert wrong == []
    assert FIRST - seen <= {"run"}, "every verb is named somewhere, so that the texts are read"


@pytest.mark.parametrize(
    "text",
    [
        "`./run long`",
        "type ./run diff a b",
        "python -m partywise party --me x",
        "`partywise network certs --config x`",
        "./run compare --recompute cube.nc --cell 3",
        'words = [\'x\', "-m", "partywise", "union"]',
    ],
)
def test_a_call_that_does_not_exist_is_seen(text):
    text = re.sub(r"\"-m\", \"partywise\"((?:, \"[\w-]+\")*)", _as_words, text)
    assert [reason for words in calls(text) if (reason := fault(words))]


def test_functions_of_verbs_are_named_in_the_table_alone():
    """Neither ./run nor the command knows a verb by its name."""
    names = {verb.name.split()[0] for verb in VERBS} - {verb.environment for verb in VERBS}
    script = (ROOT / "run").read_text(encoding="utf-8")
    assert not [name for name in names if re.search(rf"^\s*(\S+ \| )*{name}( \| \S+)*\)", script, re.MULTILINE)]
    tree = ast.parse((ROOT / "lib" / "partywise" / "__main__.py").read_text(encoding="utf-8"))
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert not strings & names


def test_every_program_of_a_verb_has_a_row():
    programs = {path.name for path in Path(ROOT, "workflow", "verbs").glob("[a-z]*.py")}
    assert programs == {Path(verb.function).name for verb in VERBS if verb.function.startswith("verbs/")}
