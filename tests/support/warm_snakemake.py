"""Snakemake in a fork of a process that has imported it: importing takes two thirds of the time of a dry run.

A test process starts one server when it first asks.  Each call is a process of its own, with its own folder and
environment; nothing of the project is imported before the fork.  ``python tests/support/warm_snakemake.py`` serves
requests from standard input, one JSON object per line, and answers each with the exit code.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


def run(folder: Path, words: tuple[str, ...], env: Mapping[str, str], timeout: float) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of ``python -m snakemake`` in a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        out, err = Path(scratch) / "stdout", Path(scratch) / "stderr"
        request = {"folder": str(folder), "words": words, "env": dict(env), "stdout": str(out), "stderr": str(err)}
        server = _server()
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        if not select.select([server.stdout], [], [], timeout)[0]:
            _end(server)
            _server.cache_clear()
            raise subprocess.TimeoutExpired(["snakemake", *words], timeout)
        return int(server.stdout.readline()), out.read_text(), err.read_text()


@cache
def _server() -> subprocess.Popen[str]:
    """The server of this process."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True
    )
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen[str]) -> None:
    """No process and no pipe outlives this one."""
    server.kill()
    with server:
        pass


def serve() -> None:
    """Answer requests until standard input ends."""
    import jinja2  # noqa: F401
    import nbformat  # noqa: F401
    import numpy  # noqa: F401
    import smart_open  # noqa: F401
    import snakemake.cli
    import yaml  # noqa: F401

    # It loads the plugins, a third of what is left of a dry run.
    snakemake.cli.get_argument_parser()
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _call(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _call(request: Mapping[str, Any]) -> None:
    """What ``python -m snakemake`` does in its folder, then the end of this process."""
    code = 1
    atexit._clear()
    for number, name, mode in ((0, os.devnull, os.O_RDONLY), (1, request["stdout"], os.O_WRONLY | os.O_CREAT)):
        os.dup2(os.open(name, mode), number)
    os.dup2(os.open(request["stderr"], os.O_WRONLY | os.O_CREAT), 2)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[0], sys.argv = request["folder"], ["snakemake", *request["words"]]
    try:
        runpy.run_module("snakemake", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        # What is kept for the next plan is written at the end of a process.
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
