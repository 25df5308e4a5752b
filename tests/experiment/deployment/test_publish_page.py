"""The page that publishes a result does: every command of it, pasted into an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from deployment_processes import free_ports
from pipeline import ROOT

PAGE = ROOT / "docs" / "publish_a_result.md"
LONG = 240


def test_every_command_of_the_page_works_when_it_is_pasted(tmp_path):
    page = PAGE.read_text(encoding="utf-8")
    commands = "".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL))
    for old, new in zip(sorted(set(re.findall(r"port: (\d+)", commands))), free_ports(4), strict=True):
        commands = commands.replace(f"port: {old}", f"port: {new}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / "bin" / "python").chmod(0o755)
    folder = tmp_path / "empty"
    folder.mkdir()
    path = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    told = subprocess.run(
        ["bash", "-e", "-o", "pipefail"], input=commands, cwd=folder, env=os.environ | path,
        capture_output=True, text=True, check=False, timeout=LONG,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    printed = told.stdout + told.stderr
    for line in "".join(re.findall(r"```text\n(.*?)```", page, re.DOTALL)).splitlines():
        # The time of the run is another one each time.
        assert re.sub(r"\d{4}-\S+Z", "", line) in re.sub(r"\d{4}-\S+Z", "", printed), line
    assert {path.name for path in Path(folder / "results" / "server" / "release").iterdir()} >= {"statement.md"}
