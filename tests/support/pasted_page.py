"""The commands of a page of the documentation, pasted into an empty folder one after the other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from deployment_processes import free_ports

LONG = 240


def paste(page: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the blocks ``sh`` of a page in a folder that is made for them, on ports that are free."""
    commands = "".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL))
    ports = sorted(set(re.findall(r"port: (\d+)", commands)))
    for old, new in zip(ports, free_ports(len(ports)), strict=True):
        commands = commands.replace(f"port: {old}", f"port: {new}")
    binaries = folder.with_name(f"{folder.name}_bin")
    for made in (folder, binaries):
        made.mkdir()
    (binaries / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (binaries / "python").chmod(0o755)
    path = {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail"], input=commands, cwd=folder, env=os.environ | path,
        capture_output=True, text=True, check=False, timeout=LONG,
    )  # fmt: skip
