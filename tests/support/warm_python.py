"""Python in a fork of a process that has imported Snakemake: importing takes two thirds of the time of a dry run.

A test process starts one server when it first asks.  Each call is a process of its own, with its own folder and
environment; nothing of the project is imported before the fork.  What such a process starts with ``sys.executable`` (a
launcher its Snakemake, a Snakemake its jobs) is a fork of the same server: that name is a stub, which hands its words,
its folder, its environment and its open files to the server, passes signals on, and ends as the fork ends.
"""

from __future__ import annotations

import atexit
import gc
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

STUB = """#!{python} -IS
import _socket, os, signal, sys
def exactly(count):
    data = b""
    while len(data) < count:
        part = server.recv(count - len(data))
        if not part:
            sys.exit("The server of the tests has ended.")
        data += part
    return data
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect({address!r})
words = [*map(os.fsencode, sys.argv[1:])]
parts = [os.getcwdb(), b"%d" % len(words), *words, *(k + b"=" + v for k, v in os.environb.items())]
text = b"\\0".join(parts)
files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
server.sendmsg([len(text).to_bytes(8, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
server.sendall(text)
child = int.from_bytes(exactly(8), "big")
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda got, _: os.kill(child, got))
code = int.from_bytes(exactly(8), "big", signed=True)
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


def run(folder: Path, words: Sequence[str], env: Mapping[str, str], timeout: float) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of Python with some words in a folder."""
    stub = _server()
    done = subprocess.run([stub, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


@cache
def _server() -> str:
    """The stub of this process's server."""
    place = tempfile.mkdtemp(prefix="warm-")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    server = subprocess.Popen([sys.executable, __file__, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    atexit.register(_end, server, place)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return f"{place}/python"


def _end(server: subprocess.Popen[bytes], place: str) -> None:
    """No process, pipe or folder outlives this one."""
    server.kill()
    with server:
        shutil.rmtree(place)


def serve(place: str) -> None:
    """Answer requests until standard input ends."""
    import jinja2  # noqa: F401
    import nbformat  # noqa: F401
    import numpy  # noqa: F401
    import psutil  # noqa: F401
    import smart_open  # noqa: F401
    import snakemake.cli
    import yaml  # noqa: F401

    # It loads the plugins, a third of what is left of a dry run.
    snakemake.cli.get_argument_parser()
    stub, address = Path(place, "python"), f"{place}/socket"
    stub.write_text(STUB.format(python=sys.executable, address=address))
    stub.chmod(0o755)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    waker, wakes = socket.socketpair()
    for end in (waker, wakes):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.fileno())
    gc.freeze()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    waiting = dict[int, socket.socket]()
    while True:
        ready, _, _ = select.select([listener, waker, 0], [], [])
        if 0 in ready:
            return
        if listener in ready:
            _answer(listener, [waker, wakes, *waiting.values()], waiting, str(stub))
        if waker in ready:
            waker.recv(4096)
        while waiting:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                break
            _tell(waiting.pop(child), os.waitstatus_to_exitcode(status))


def _tell(client: socket.socket, number: int) -> None:
    """A number to a stub, which may have been killed."""
    with suppress(OSError):
        client.sendall(number.to_bytes(8, "big", signed=True))


def _answer(
    listener: socket.socket, others: Sequence[socket.socket], waiting: dict[int, socket.socket], stub: str
) -> None:
    """Fork for one stub."""
    client, _ = listener.accept()
    head, files, _, _ = socket.recv_fds(client, 8, 3)
    with client.makefile("rb") as stream:
        folder, count, *rest = stream.read(int.from_bytes(head, "big")).split(b"\0")
    words, env = rest[: int(count)], dict(item.split(b"=", 1) for item in rest[int(count) :])
    # A script, or the process that a Snakemake forks for scripts (workflow/forks.py).
    if b".snakemake/scripts/" in words[0] or words[0].endswith(b"/workflow/forks.py"):
        _load_packages_of_jobs()
    child = os.fork()
    if child == 0:
        for one in (listener, client, *others):
            one.close()
        _call(folder, words, env, files, stub)
    for number in files:
        os.close(number)
    waiting[child] = client
    _tell(client, child)


@cache
def _load_packages_of_jobs() -> None:
    """What jobs import of other packages, for the first of them."""
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_pdf
    import matplotlib.backends.backend_svg  # noqa: F401
    import netCDF4  # noqa: F401
    import pandas  # noqa: F401
    import scipy.linalg
    import scipy.optimize
    import scipy.special
    import scipy.stats  # noqa: F401
    import xarray  # noqa: F401

    gc.freeze()


def _add_paths() -> None:
    """Folders of PYTHONPATH, and the plugins of Snakemake in them."""
    if paths := list(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))):
        sys.path[1:1] = paths
        from snakemake import cli

        for name in ("Executor", "Logger", "Report", "Scheduler", "Storage"):
            getattr(cli, f"{name}PluginRegistry")().collect_plugins()


def _call(folder: bytes, words: Sequence[bytes], env: Mapping[bytes, bytes], files: Sequence[int], stub: str) -> None:
    """What Python does with these words in its folder, then the end of this process."""
    code = 1
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    atexit._clear()
    for number, given in enumerate(files):
        os.dup2(given, number)
        os.close(given)
    os.chdir(folder)
    os.environb.clear()
    os.environb.update(env)
    sys.pycache_prefix = os.environ.get("PYTHONPYCACHEPREFIX") or None
    sys.executable = stub
    given = [*map(os.fsdecode, words)]
    try:
        if given[0] == "-m":
            sys.path[0], sys.argv = os.getcwd(), given[1:]
            _add_paths()
            runpy.run_module(given[1], run_name="__main__", alter_sys=True)
        else:
            sys.path[0], sys.argv = os.path.dirname(os.path.realpath(given[0])), given
            _add_paths()
            runpy.run_path(given[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        # What is kept for the next plan is written at the end of a process.
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
