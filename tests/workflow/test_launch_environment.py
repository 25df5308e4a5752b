"""What `./run` hands to Snakemake and its jobs."""

from __future__ import annotations

import subprocess
import sys

from launching.surroundings import environment
from pipeline import ROOT


def test_where_bytecode_is_forbidden_a_run_keeps_its_own(monkeypatch):
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    found = environment()
    assert "PYTHONDONTWRITEBYTECODE" not in found
    assert found["PYTHONPYCACHEPREFIX"] == str(ROOT / ".snakemake" / "bytecode")
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", "elsewhere")
    assert environment()["PYTHONPYCACHEPREFIX"] == "elsewhere"
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX")
    assert "PYTHONPYCACHEPREFIX" not in environment()


def test_what_is_compiled_there_is_found_by_the_next_job(monkeypatch, tmp_path):
    monkeypatch.setattr("launching.surroundings.BYTECODE", tmp_path / "bytecode")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (tmp_path / "helper.py").write_text("answer = 42\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import helper; print(helper.__cached__)"
    ran = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert ran.stdout.strip().startswith(str(tmp_path / "bytecode"))
    assert list((tmp_path / "bytecode").rglob("helper.*.pyc"))


def test_every_process_has_one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    found = environment()
    assert {found[name] for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")} == {"1"}
