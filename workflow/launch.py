"""The verb behind ``./run``: Snakemake on this project, with progress, a guard against two runs, and the summary.

    python workflow/launch.py [words for snakemake]

Running the same command again resumes: what is finished and unchanged stays.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import psutil
import yaml

from guard import Occupied, Record, foreign, release, take

HERE = Path(__file__).resolve().parent
PROGRESS = HERE / "progress"
BYTECODE = HERE.parent / ".snakemake" / "bytecode"
sys.path.insert(0, str(PROGRESS))
# Seconds that Snakemake may take to end after a signal when none of its jobs runs any more.
PATIENCE = 10.0
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Words that ask Snakemake for something else than a run, or for another display.
NO_RUN = {"-n", "--dry-run", "--dryrun", "--unlock", "--lint", "--report", "--dag", "--rulegraph", "--filegraph"}
NO_RUN |= {"-l", "--list", "--list-rules", "--summary", "-D", "--detailed-summary", "-h", "--help", "-v", "--version"}
NO_RUN |= {"--list-untracked", "--lu", "--archive", "--touch", "-t", "--delete-all-output", "--cleanup-metadata"}


def main(words: Sequence[str]) -> int:
    """Run Snakemake and pass its exit code on.

    Returns
    -------
    int
        Snakemake's exit code; 2 when another run holds the folder or it cannot be written; 128 + number after a signal.
    """
    begun = time.monotonic()
    given = options(words)
    folder = Path(given.directory or ".")
    rest = ["-m", "snakemake", "--snakefile", str(HERE.parent / "Snakefile"), *words]
    command = [sys.executable, *rest]
    profile = given.workflow_profile
    if profile and profile != "none" and not Path(profile).is_dir():
        print(f"--workflow-profile is {profile!r}: there is no such folder; name one in profiles/.", file=sys.stderr)
        return 2
    if NO_RUN & set(words):
        return subprocess.call(command, env=environment())
    if (reason := unwritable(folder)) is not None:
        print(reason, file=sys.stderr)
        return 2
    try:
        found_dead = take(folder)
    except Occupied as reason:
        print(reason, file=sys.stderr)
        return 2
    try:
        code = unlock(found_dead, folder, command) if locked(folder) else 0
        if code == 0:
            # Whichever profile chooses the executor: Slurm's is patient with its controller, others are not affected.
            patient = [str(HERE / "slurm_patience.py")] if find_spec("snakemake_executor_plugin_slurm") else []
            code, hung = supervise([sys.executable, *patient, *rest, *display(given)], folder)
            if hung and locked(folder):
                unlock(0, folder, command)
    except Occupied as reason:
        print(reason, file=sys.stderr)
        release(folder)
        return 2
    # A Snakemake that was killed leaves its lock: the record stays too, so that the next run can tell and unlock.
    if not locked(folder):
        release(folder)
    report(code, begun, folder, given.configfile)
    return code


def options(words: Sequence[str]) -> argparse.Namespace:
    """The few options of Snakemake that matter here."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", default=[])
    parser.add_argument("--directory", "-d")
    parser.add_argument("--workflow-profile")
    parser.add_argument("--logger", nargs="+")
    parser.add_argument("--quiet", "-q", nargs="*")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_known_args(list(words))[0]


def environment() -> dict[str, str]:
    """One thread a process, the progress display on the path, and compiled modules that are kept between jobs."""
    kept = dict(os.environ)
    # Container images often forbid bytecode beside the sources.  Without any, every job compiles all that it imports,
    # which costs more than its other start-up: then it has a folder of its own.
    if kept.pop("PYTHONDONTWRITEBYTECODE", ""):
        kept.setdefault("PYTHONPYCACHEPREFIX", str(BYTECODE))
    paths = filter(None, [str(PROGRESS), kept.get("PYTHONPATH")])
    return {**kept, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": os.pathsep.join(paths)}


def display(given: argparse.Namespace) -> list[str]:
    """Bars where the optional plugin is installed and someone watches, else one line a job; the user's choice wins."""
    if given.logger or given.quiet is not None or given.verbose:
        return []
    if sys.stderr.isatty() and find_spec("snakemake_logger_plugin_rich"):
        return ["--logger", "rich", "--quiet", "rules"]
    return ["--logger", "partywise"]


def unwritable(folder: Path) -> str | None:
    """Why no result can be written in a folder, in one sentence; None when a small file can."""
    probe = folder / "results" / f".probe.{os.getpid()}"
    try:
        probe.parent.mkdir(parents=True, exist_ok=True)
        try:
            probe.write_bytes(bytes(2**16))
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        return (
            f"{folder / 'results'} cannot be written ({error.strerror}): free space, make the folder writable or run "
            "in another one.  What is finished stays."
        )
    return None


def locked(folder: Path) -> bool:
    """Whether Snakemake's own locks are there."""
    locks = folder / ".snakemake" / "locks"
    return locks.is_dir() and any(locks.iterdir())


def unlock(dead: int | None, folder: Path, command: Sequence[str]) -> int:
    """Break the lock of a run whose process is dead on this host; Snakemake's exit code.

    Raises
    ------
    Occupied
        When a Snakemake that ``./run`` did not start holds the lock, or may hold it.
    """
    if dead is None or (other := foreign(folder)) is not None:
        alive = "" if dead is None else f" (process {other})"
        raise Occupied(
            f"This folder is locked by a Snakemake that ./run did not start{alive}: wait for it, or if none is running "
            "say `./run --unlock` once."
        )
    print(f"The run of process {dead} ended without unlocking this folder: unlocking it.", file=sys.stderr)
    done = subprocess.run([*command, "--unlock"], env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.returncode


def supervise(command: Sequence[str], folder: Path) -> tuple[int, bool]:
    """Run a command in its own process group and hand signals on.

    Returns
    -------
    int, bool
        Its exit code, 128 + number after a signal; whether it hung after a signal and had to be killed. Snakemake does
        when the signal comes while it holds its own lock; its jobs have ended by then.
    """
    signals = (signal.SIGINT, signal.SIGTERM)
    waiting: list[int] = []
    before = {number: signal.signal(number, lambda got, _: waiting.append(got)) for number in signals}
    sent, busy = 0, time.monotonic()
    try:
        child = subprocess.Popen(command, env=environment(), process_group=0)
        Record.of(os.getpid(), child.pid).write(folder)
        while True:
            while waiting:
                sent = waiting.pop()
                child.send_signal(sent)
            try:
                code = child.wait(timeout=0.1)
                return (code if code >= 0 else 128 - code), False
            except subprocess.TimeoutExpired:
                if not sent or has_jobs(child.pid):
                    busy = time.monotonic()
                elif time.monotonic() - busy > PATIENCE:
                    child.kill()
                    child.wait()
                    return 128 + sent, True
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def has_jobs(pid: int) -> bool:
    """Whether a process has started others that still run."""
    try:
        return any(child.status() != psutil.STATUS_ZOMBIE for child in psutil.Process(pid).children())
    except psutil.NoSuchProcess:
        return False


def report(code: int, begun: float, folder: Path, configfiles: Sequence[str]) -> None:
    """The summary of every study, where the results lie, and how long it took."""
    from snakemake_logger_plugin_partywise import clock

    if code == 0:
        for study in studies(configfiles):
            text = folder / "results" / study / "summary.txt"
            if text.exists():
                print(text.read_text(encoding="utf-8"))
            print(f"Cube and tables: {folder / 'results' / study}; figures: {folder / 'results' / 'figures' / study}")
        print(f"Done in {clock(time.monotonic() - begun)} (minutes:seconds).", flush=True)
    else:
        print(
            f"Stopped after {clock(time.monotonic() - begun)} with exit code {code}.  What is finished stays, and the "
            f"same command resumes; logs of jobs are in {folder / 'results' / 'logs'}.",
            file=sys.stderr,
        )


def studies(configfiles: Sequence[str]) -> list[str]:
    """Names of the studies of the configuration in force, in order."""
    names: dict[str, None] = {}
    for path in configfiles or [HERE.parent / "config.yaml"]:
        names |= dict.fromkeys(yaml.safe_load(Path(path).read_text(encoding="utf-8"))["studies"])
    return list(names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
