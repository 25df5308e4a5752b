"""The set-up of ``./run`` with a stand-in for Python and pip, which only write down what they are asked.

tests/system/fresh.py has the real one, from a fresh clone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import ROOT

# It makes environments that hold itself, and answers what the set-up and the verbs ask.
PYTHON = """#!/bin/sh
case "$*" in
    "-m partywise.core.verbs"*) exec "$REAL" "$@" ;;
    *version_info*) exit 0 ;;
    *sysconfig*) echo "$PWD/.venv/site"; exit 0 ;;
    "-m venv .venv") [ ! -e "$STUB/no-ensurepip" ] || exit 1 ;;
    "-m pip --version") [ -e "$STUB/no-ensurepip" ] && exit 1 || exit 0 ;;
esac
echo "$0 $*" >> "$STUB/calls"
case "$*" in
    "-m venv"*)
        for name in pandas numpy scipy matplotlib; do mkdir -p .venv/site/$name/core .venv/site/$name/tests; done
        for folder; do :; done
        mkdir -p "$folder/bin"
        cp "$STUB/python" "$folder/bin/python" ;;
esac
[ ! -e "$STUB/fails" ]
"""


class Machine:
    """A folder with ``./run`` and its locks, and a machine that has nothing but the stand-in and the usual commands."""

    def __init__(self, tmp_path: Path) -> None:
        self.stub, self.folder = tmp_path / "stub", tmp_path / "project"
        for folder in (self.stub, self.folder):
            folder.mkdir()
        shutil.copy2(ROOT / "run", self.folder / "run")
        (self.folder / "lib" / "partywise" / "core").mkdir(parents=True)
        for name in ("__init__", "core/__init__", "core/lazy", "core/project", "core/verbs"):
            shutil.copy2(ROOT / "lib" / "partywise" / f"{name}.py", self.folder / "lib" / "partywise" / f"{name}.py")
        (self.folder / "locks").mkdir()
        for lock in ("", "-test", "-network", "-frameworks"):
            (self.folder / "locks" / f"requirements{lock}.lock").write_text(f"requirements{lock}.lock\n")
        (self.stub / "python").write_text(PYTHON)
        (self.stub / "python").chmod(0o755)

    def run(self, *words: str, code: int = 0) -> list[str]:
        """What the stand-in was asked by a verb."""
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(self.stub), "STUB": str(self.stub), "REAL": sys.executable}
        environ["PYTHON"] = str(self.stub / "python")
        (self.stub / "calls").unlink(missing_ok=True)
        done = subprocess.run([self.folder / "run", *words], env=environ, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        self.errors = done.stderr
        calls = self.stub / "calls"
        return [line.replace(str(self.stub), "") for line in calls.read_text().splitlines()] if calls.exists() else []


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def locks(calls: list[str]) -> list[str]:
    """The locks that were installed."""
    return [call.split()[-1] for call in calls if "--require-hashes" in call]


def test_a_run_installs_the_small_lock_once_and_tests_the_large_one(machine):
    calls = machine.run("compare", "--recompute", "cube.nc")
    pip = ".venv/bin/python -m pip --python .venv/bin/python install"
    options = "--quiet --disable-pip-version-check --no-deps --no-compile"
    assert calls == [
        "/python -m venv .venv",
        f"{pip} {options} --require-hashes -r locks/requirements.lock",
        f"{pip} {options} --no-index --no-build-isolation -e .",
        ".venv/bin/python workflow/command.py compare --recompute cube.nc",
    ]
    site = machine.folder / ".venv" / "site" / "pandas"
    assert [path.name for path in site.iterdir()] == ["core"], "the tests of a package are no part of a run"
    assert locks(machine.run()) == []
    assert locks(machine.run("test")) == ["locks/requirements-test.lock"]
    assert locks(machine.run("test")) == locks(machine.run()) == []


def test_what_a_network_needs_is_added_to_a_run_and_is_there_in_tests(machine):
    assert locks(machine.run("demo")) == ["locks/requirements.lock", "locks/requirements-network.lock"]
    assert machine.run("demo", "clients") == [".venv/bin/python workflow/command.py demo clients"]
    assert locks(machine.run()) == [], "a run needs nothing of it"
    (machine.folder / "locks" / "requirements.lock").write_text("another\n")
    assert locks(machine.run()) == ["locks/requirements.lock"]
    assert locks(machine.run("demo")) == ["locks/requirements-network.lock"]
    machine.run("test")
    assert locks(machine.run("demo")) == []


def test_frameworks_have_an_environment_of_their_own_and_absent_ones_are_named(machine):
    (machine.stub / "fails").touch()
    machine.run("test", "--frameworks", code=1)
    assert "frameworks: the packages of locks/requirements-frameworks.lock cannot be installed" in machine.errors
    (machine.stub / "fails").unlink()
    calls = machine.run("test", "--frameworks")
    assert locks(calls) == ["locks/requirements-frameworks.lock"]
    assert calls[-1] == ".venv-frameworks/bin/python workflow/command.py test --frameworks"
    assert locks(machine.run("test", "--frameworks")) == [] and not (machine.folder / ".venv" / "bin").exists()


def test_a_lock_that_changed_is_installed_again(machine):
    machine.run("test")
    (machine.folder / "locks" / "requirements.lock").write_text("another\n")
    os.utime(machine.folder / "locks" / "requirements.lock", (0, 0))
    assert locks(machine.run()) == ["locks/requirements.lock"]
    assert locks(machine.run("bench")) == ["locks/requirements-test.lock"]


def test_a_set_up_that_failed_is_tried_again(machine):
    (machine.stub / "fails").touch()
    machine.run(code=1)
    (machine.stub / "fails").unlink()
    assert locks(machine.run()) == ["locks/requirements.lock"]


def test_where_the_project_was_moved_or_copied_the_environment_is_made_anew(machine):
    machine.run()
    (machine.folder / ".venv" / "old").touch()
    shutil.copytree(machine.folder, machine.folder.with_name("copy"))
    assert locks(machine.run()) == [], "the original is as it was"
    machine.folder = machine.folder.with_name("copy")
    calls = machine.run()
    assert calls[0] == "/python -m venv .venv" and locks(calls) == ["locks/requirements.lock"]
    assert not (machine.folder / ".venv" / "old").exists()


def test_a_project_behind_a_link_is_in_its_place(machine):
    machine.run()
    link = machine.folder.with_name("link")
    link.symlink_to(machine.folder, target_is_directory=True)
    machine.folder = link
    assert locks(machine.run()) == []


def test_a_python_without_its_copy_of_pip_uses_the_one_it_has(machine):
    (machine.stub / "no-ensurepip").touch()
    calls = machine.run("compare", "--recompute", "cube.nc")
    assert calls[0] == "/python -m venv --clear --without-pip .venv"
    assert calls[1].startswith("/python -m pip --python .venv/bin/python install")


def test_the_lock_needs_uv_and_says_so(machine):
    assert machine.run("lock") == ["/python workflow/command.py lock"], "without an environment"
    (machine.folder / "bin").mkdir()
    program = [sys.executable, ROOT / "workflow" / "verbs" / "lock.py"]
    environ = {"PATH": str(machine.folder / "bin"), "PYTHONPATH": str(ROOT / "lib")}
    done = subprocess.run(program, cwd=machine.folder, env=environ, capture_output=True, text=True)
    assert (done.returncode, "needs uv on the path" in done.stderr) == (2, True)
    assert (machine.folder / "locks" / "requirements.lock").read_text() == "requirements.lock\n"


def test_help_and_mistakes_need_no_environment(machine):
    assert machine.run("--help") == ["/python workflow/command.py --help"]
    assert machine.run("--version") == ["/python workflow/command.py --version"]
    assert machine.run("diff", "a", "b", code=2) == []
    assert machine.errors == "'diff' is now 'compare --findings': type ./run compare --findings.\n"
    assert machine.run("sumary", code=2) == [] and "did you mean ./run summary?" in machine.errors
    assert machine.run("clean") == []
    (machine.folder / "results").mkdir()
    assert machine.run("clean", code=2) == [] and "there is no .venv" in machine.errors


@pytest.mark.parametrize("words", [(), ("-n",), ("--configfile", "a.yaml"), ("results/default/x",), ("a_rule",)])
def test_words_of_snakemake_are_those_of_a_run(machine, words):
    assert machine.run(*words)[-1] == " ".join([".venv/bin/python workflow/command.py run", *words])
    assert machine.run("run", *words) == [" ".join([".venv/bin/python workflow/command.py run", *words])]
