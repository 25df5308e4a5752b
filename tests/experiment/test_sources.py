"""A job's modules come from the sources that were planned, whatever the times of files and bytecode say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from partywise.experiment.results.sources import PREAMBLE_END, SCRIPT
from pipeline import ROOT, environment

JOB = """
import json, sys
from partywise.experiment.results.sources import load_by_content
sources = json.loads(sys.argv[1])
load_by_content(sources)
import own
open(own.__file__, "a").write(AFTER)
from partywise.experiment.results.sources import changed_sources
print(own.VALUE, *changed_sources(sources))
"""
UNEDITED = "AFTER = ''\n"


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def job(folder: Path, sources: dict[str, str], before: str = UNEDITED) -> list[str]:
    """The value that a module has in a job, and the files that are not as planned."""
    script = folder / "job.py"
    script.write_text(f"__real_file__ = __file__\n{PREAMBLE_END.decode()}{before}{JOB}")
    env = environment() | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "lib")])}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, str(script), json.dumps(sources)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A module whose bytecode was kept by Python itself; it takes that for current by time and size."""
    path = tmp_path / "own.py"
    path.write_text("VALUE = 1\n")
    os.utime(path, (10**9, 10**9))
    assert plain(tmp_path) == "1"
    return path


def plain(folder: Path) -> str:
    """The value of the module for Python without a plan."""
    env = environment() | {"PYTHONPATH": str(folder)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", "import own; print(own.VALUE)"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.strip()


def test_bytecode_of_another_content_is_never_run(own, tmp_path):
    """An edit of the same size at the same time, as archives without times bring it."""
    own.write_text("VALUE = 2\n")
    os.utime(own, (10**9, 10**9))
    assert plain(tmp_path) == "1", "Python alone runs the old bytecode"
    assert job(tmp_path, {"own": digest("VALUE = 2\n")}) == ["2"]
    assert plain(tmp_path) == "2", "from here on the bytecode is that of a content"
    own.write_text("VALUE = 3\n")
    os.utime(own, (10**9, 10**9))
    assert job(tmp_path, {"own": digest("VALUE = 3\n")}) == ["3"] and plain(tmp_path) == "3"


def test_a_module_that_was_edited_after_the_plan_is_named(own, tmp_path):
    assert job(tmp_path, {"own": digest("VALUE = 2\n")}) == ["1", str(own)]


def test_a_module_is_judged_by_what_was_loaded_and_not_by_what_lies_there_now(own, tmp_path):
    """Edited for the moment of the import alone, and edited after it."""
    assert job(tmp_path, {"own": digest("VALUE = 1\n# edited")}, "AFTER = '# edited'\n") == ["1", str(own)]
    assert job(tmp_path, {"own": digest("VALUE = 1\n# edited")}, "AFTER = '# more'\n") == ["1"]


def test_the_library_that_was_loaded_before_is_loaded_anew(tmp_path, own):
    home = "partywise.experiment.results"
    names = ("partywise", "partywise.experiment", home, f"{home}.sources")
    files = [ROOT / "lib" / name.replace(".", "/") for name in names]
    found = [path / "__init__.py" if path.is_dir() else path.with_suffix(".py") for path in files]
    sources = {name: digest(path.read_text()) for name, path in zip(names, found, strict=True)}
    assert job(tmp_path, sources) == ["1"]
    assert job(tmp_path, sources | {names[0]: "0" * 64}) == ["1", str(found[0])]


def test_the_script_counts_without_the_lines_before_it(own, tmp_path):
    planned = {SCRIPT: digest(UNEDITED + JOB)}
    assert job(tmp_path, planned) == ["1"]
    assert job(tmp_path, planned, "AFTER = '#'\n") == ["1", str(tmp_path / "job.py")]


def test_a_template_that_was_edited_after_the_plan_is_named(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "__init__.py").write_text("VALUE = 1\n")
    template = tmp_path / "own" / "page.html.jinja"
    template.write_text("{{ title }}")
    planned = {"own": digest("VALUE = 1\n"), "own/page.html.jinja": digest("{{ title }}"), "absent/a.jinja": "0" * 64}
    assert job(tmp_path, planned) == ["1"]
    template.write_text("{{ titles }}")
    assert job(tmp_path, planned) == ["1", str(template)]
