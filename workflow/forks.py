"""Scripts of jobs in forks of a process that has imported their packages, which takes longer than many a job.

Snakemake starts a new Python for every script and has no plugin point for that; ``fork_scripts`` lets it ask a process
of its own for a fork.  Of the project nothing is imported before the fork: each job loads the sources that it was
planned with.  A script that fails or is killed ends its own fork and no other.

    python workflow/forks.py PACKAGES   (serves the socket that is its standard input, until that ends)
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from types import TracebackType
from typing import Any, NoReturn

# What scripts import of other packages.  Fits have a process of their own, since memory that is there counts as theirs.
COMMON = ("snakemake.iocontainers", "snakemake.logging", "numpy", "scipy.linalg", "scipy.special")
CANVASES = tuple(f"matplotlib.backends.backend_{kind}" for kind in ("agg", "pdf", "svg"))
TABLES = (*COMMON, "jinja2", "netCDF4", "xarray", "matplotlib.pyplot", *CANVASES)
PACKAGES = {"generate": COMMON, "fit": COMMON, "collect": TABLES, "figure": TABLES}
# As Snakemake sets them for what it starts.
THREADS = ("OMP_NUM_THREADS", "GOTO_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
THREADS += ("NUMEXPR_NUM_THREADS",)
TEMPORARY = ("TMPDIR", "TMP", "TEMPDIR", "TEMP")


class Server:
    """A process that forks for scripts, and its end of the socket.

    packages : modules that it imports before the first fork
    env : its environment, which packages may read when they are imported
    """

    def __init__(self, packages: Sequence[str], env: Mapping[str, str]) -> None:
        self.sending = threading.Lock()
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen([sys.executable, __file__, *packages], stdin=theirs, env=env)
        atexit.register(self.close)

    def close(self) -> None:
        """End it; forks that still run go on."""
        self.socket.close()
        self.process.wait()

    def run(self, script: str, env: Mapping[str, str], benchmark: Any = None) -> int | None:
        """Exit code of a script, negative after a signal; None where the server is gone and the script did not start.

        benchmark : Snakemake's record of it, which takes what the kernel counted; Snakemake itself would sample
        """
        ours, theirs = socket.socketpair()
        with ours, ours.makefile("rwb") as stream:
            try:
                with theirs, self.sending:
                    socket.send_fds(self.socket, [b"\n"], [theirs.fileno()])
                stream.write(json.dumps([script, dict(env)]).encode() + b"\n")
                stream.flush()
                if not stream.readline():
                    return None
            except OSError:
                return None
            begun = time.monotonic()
            code, cpu_seconds, megabytes = json.loads(stream.readline() or "[1, 0.0, 0.0]")
        if benchmark is not None:
            benchmark.data_collected = True
            benchmark.running_time = time.monotonic() - begun
            benchmark.cpu_time, benchmark.cpu_usage, benchmark.max_rss = cpu_seconds, 100 * cpu_seconds, megabytes
        return int(code)


def fork_scripts() -> None:
    """Let this Snakemake run the scripts of its jobs in forks; in a conda environment or a container it starts them."""
    from snakemake.script import PythonScript

    servers: dict[tuple[Sequence[str], int], Server] = {}
    starting, start = threading.Lock(), PythonScript.execute_script

    def execute(self: PythonScript, fname: str, edit: bool = False) -> None:
        packages = PACKAGES.get(fname.split(".")[-2])
        if packages is None or self.conda_env or self.container_img or self.env_modules or self.shadow_dir:
            return start(self, fname, edit=edit)
        temporary = self.resources.get("tmpdir")
        env = {**os.environ, **dict.fromkeys(THREADS, str(self.threads))}
        env |= dict.fromkeys(TEMPORARY, temporary) if temporary else {}
        with starting:
            key = packages, self.threads
            if key not in servers:
                servers[key] = Server(packages, env)
        code = servers[key].run(fname, env, self.bench_record)
        if code is None:
            return start(self, fname, edit=edit)
        if code:
            raise subprocess.CalledProcessError(code, f"{sys.executable} {fname}")
        return None

    PythonScript.execute_script = execute


def serve(packages: Sequence[str]) -> None:
    """Fork for each script that comes through standard input, and report its end."""
    control = socket.socket(fileno=os.dup(0))
    waker, wakes = socket.socketpair()
    for end in (waker, wakes):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.fileno())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for package in packages:
        # A script that needs what is not installed reports it itself.
        with suppress(ImportError):
            import_module(package)
    # What is here stays, in every fork: no collection looks through it, or makes copies of its pages.
    gc.freeze()
    running = dict[int, socket.socket]()
    while True:
        ready, _, _ = select.select([control, waker], [], [])
        if waker in ready:
            waker.recv(4096)
            _report_ends(running)
        if control in ready:
            _, files, _, _ = socket.recv_fds(control, 1, 1)
            if not files:
                return
            asking = socket.socket(fileno=files[0])
            with asking.makefile("rb") as stream:
                request = stream.readline()
            if not request:
                asking.close()
                continue
            script, env = json.loads(request)
            if (process := os.fork()) == 0:
                for opened in (control, waker, wakes, asking, *running.values()):
                    opened.close()
                _run(script, env)
            running[process] = asking
            with suppress(OSError):
                asking.sendall(b"begun\n")


def _report_ends(running: dict[int, socket.socket]) -> None:
    """Report the exit code, the CPU seconds and the largest memory in MB of each fork that ended."""
    while running:
        process, status, used = os.wait4(-1, os.WNOHANG)
        if not process:
            return
        cost = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        with running.pop(process) as asking, suppress(OSError):
            asking.sendall(json.dumps([os.waitstatus_to_exitcode(status), *cost]).encode() + b"\n")


def _run(script: str, env: Mapping[str, str]) -> NoReturn:
    """Run a script as Python does, and end this fork."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(env)
    sys.argv, sys.path[0] = [script], os.path.dirname(os.path.realpath(script))
    code = 1
    try:
        runpy.run_path(script, run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException as error:
        trace = _of_script(error.__traceback__, script)
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _of_script(trace: TracebackType | None, script: str) -> TracebackType | None:
    """A traceback from the lines of a script on; whole where it has none of them."""
    inner = trace
    while inner is not None and inner.tb_frame.f_code.co_filename != script:
        inner = inner.tb_next
    return inner or trace


if __name__ == "__main__":
    serve(sys.argv[1:])
