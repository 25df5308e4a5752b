"""The verb behind ``./run``: Snakemake on this project, with progress, a guard against two runs, and the summary.

    python workflow/launch.py [words for snakemake]

Running the same command again resumes: what is finished and unchanged stays.
"""

from __future__ import annotations

import argparse
import getpass
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from config_text import read_configuration
from guard import Claim, Holder, Occupied, foreign, holder, locked, refuse_foreign, take
from partywise.errors import ConfigError
from plain_names import NoPlainName, plain_names
from reasons import reasons, told

HERE = Path(__file__).resolve().parent
PLUGINS = HERE / "plugins"
BYTECODE = HERE.parent / ".snakemake" / "bytecode"
sys.path.insert(0, str(PLUGINS))
# Seconds that Snakemake may take to end after a signal when none of its jobs runs any more.
PATIENCE = 10.0
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Words that ask Snakemake for something else than a run, or for another display.
NO_RUN = {"-n", "--dry-run", "--dryrun", "--unlock", "--lint", "--report", "--dag", "--rulegraph", "--filegraph"}
NO_RUN |= {"-l", "--list", "--list-rules", "--summary", "-D", "--detailed-summary", "-h", "--help", "-v", "--version"}
NO_RUN |= {"--list-untracked", "--lu", "--archive"}
CONFIGURATION = ("--configfile", "--configfiles")
NO_CONFIGURATION = {"-h", "--help", "-v", "--version"}
# Those of them that change what lies in the folder.
CHANGES = {"--unlock", "--touch", "-t", "--delete-all-output", "--delete-temp-output", "--cleanup-metadata", "--cm"}
NO_RUN |= CHANGES
# Exit codes from here on stand for a signal.
SIGNALLED = 128


class Refused(RuntimeError):
    """Nothing was started; says why, in one sentence."""


def main(words: Sequence[str]) -> int:
    """Run Snakemake and pass its exit code on.

    Returns
    -------
    int
        Snakemake's exit code; 2 when another run holds the folder or it cannot be written; 128 + number after a signal.
    """
    given = options(words)
    folder = Path(given.directory or ".")
    os.environ.update(account(folder))
    profile = given.workflow_profile
    try:
        if profile and profile != "none" and not Path(profile).is_dir():
            raise Refused(f"--workflow-profile is {profile!r}: there is no such folder; name one in profiles/.")
        names = [] if NO_CONFIGURATION & set(words) else studies(words, given.configfile, folder)
        elsewhere = any(name not in (None, "none", "local") for name in (profile, given.profile, given.executor))
        with plain_names(HERE.parent / "Snakefile", elsewhere) as (python, snakefile):
            rest = ["-m", "snakemake", "--snakefile", snakefile, *words]
            if NO_RUN & set(words):
                return ask(words, [python, *rest], folder)
            return run([python, *rest], given, folder, names)
    except (Refused, Occupied, NoPlainName) as reason:
        print(reason, file=sys.stderr)
    except ConfigError as reason:
        print(f"Configuration error: {reason}", file=sys.stderr)
    return 2


def run(command: Sequence[str], given: argparse.Namespace, folder: Path, names: Sequence[str]) -> int:
    """Hold the folder for one run of Snakemake, and tell how it went."""
    begun, since, ran = time.monotonic(), time.time(), False
    check_writable(folder, names)
    claim = take(folder)
    try:
        code = unlock(claim.killed, folder, command) if locked(folder) else 0
        if code == 0:
            ran = True
            code, hung = supervise([*command, *display(given)], claim)
            if hung and locked(folder):
                unlock(holder(folder), folder, command)
    except Occupied:
        claim.restore()
        raise
    # A Snakemake that was killed leaves its lock: then the name stays too, so that the next run can tell and unlock.
    # One that ended by itself gave its lock back: what is there belongs to a Snakemake that came between.
    claim.release(finished=not locked(folder) or (ran and code < SIGNALLED))
    report(code, begun, since, folder, names)
    return code


def ask(words: Sequence[str], command: Sequence[str], folder: Path) -> int:
    """Something else than a run; what changes the folder waits for no run, it is refused while one is alive."""
    if not CHANGES & set(words):
        return subprocess.call(command, env=environment())
    claim = take(folder)
    if (other := foreign(folder)) is not None:
        claim.restore()
        raise Occupied(f"A Snakemake that ./run did not start works here (process {other}): wait for it.")
    code = subprocess.call(command, env=environment(), pass_fds=[claim.descriptor])
    if locked(folder):
        claim.restore()
    else:
        claim.release()
    return code


def options(words: Sequence[str]) -> argparse.Namespace:
    """The few options of Snakemake that matter here."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(*CONFIGURATION, nargs="+", default=[])
    parser.add_argument("--directory", "-d")
    parser.add_argument("--workflow-profile")
    parser.add_argument("--profile")
    parser.add_argument("--executor", "-e")
    parser.add_argument("--logger", nargs="+")
    parser.add_argument("--quiet", "-q", nargs="*")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_known_args(list(words))[0]


def account(folder: Path) -> dict[str, str]:
    """What programs ask of their user's account: a place for caches, below .snakemake, a home and a name.

    Snakemake, matplotlib and pip keep there what they need again; the user's choice wins.  Matplotlib would also read
    its user's settings, which change figures.
    """
    place = folder.resolve() / ".snakemake" / "cache"
    chosen = {"XDG_CACHE_HOME": str(place), "MPLCONFIGDIR": str(place / "matplotlib")}
    chosen = {name: os.environ.get(name) or value for name, value in chosen.items()}
    if not os.path.isdir(os.path.expanduser("~")):
        chosen["HOME"] = str(place)
    try:
        getpass.getuser()
    except (KeyError, OSError):
        # In a container a number can run without an account.
        chosen["USER"] = str(os.getuid())
    return chosen


def environment() -> dict[str, str]:
    """One thread a process, our plugins on the path, and compiled modules that are kept between jobs."""
    kept = dict(os.environ)
    # Container images often forbid bytecode beside the sources.  Without any, every job compiles all that it imports,
    # which costs more than its other start-up: then it has a folder of its own.
    if kept.pop("PYTHONDONTWRITEBYTECODE", ""):
        kept.setdefault("PYTHONPYCACHEPREFIX", str(BYTECODE))
    paths = filter(None, [str(PLUGINS), kept.get("PYTHONPATH")])
    return {**kept, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": os.pathsep.join(paths)}


def display(given: argparse.Namespace) -> list[str]:
    """Jobs done, time left and errors in full, with or without a terminal; the user's choice wins."""
    return [] if given.logger or given.quiet is not None or given.verbose else ["--logger", "partywise"]


def check_writable(folder: Path, names: Sequence[str]) -> None:
    """Raise :class:`Refused` when a small file cannot be written where results go, or a folder below cannot be."""
    place, own = folder / "results", folder / ".snakemake"
    wanted = [own, *(place / name for name in ("logs", "benchmarks", "figures", *names))]
    if own.is_dir():
        wanted += [path for path in own.iterdir() if path.is_dir()]
    for name in ("logs", "benchmarks", "figures", *names):
        wanted += [Path(path) for path, _, _ in os.walk(place / name)]
    for path in wanted:
        reason = "" if path.is_dir() else "it is no folder"
        if path.is_dir() and not os.access(path, os.W_OK | os.X_OK, effective_ids=True):
            reason = "Permission denied"
        if reason and os.path.lexists(path):
            raise Refused(f"{path} cannot be written ({reason}): make it a folder that you may write, or remove it.")
    try:
        place.mkdir(parents=True, exist_ok=True)
        # A file of its own, which no name that lies there already can turn into another one.
        with tempfile.NamedTemporaryFile(dir=place, prefix=".probe.") as probe:
            probe.write(bytes(2**16))
    except OSError as error:
        raise Refused(
            f"{place} cannot be written ({error.strerror}): free space, make the folder writable or run in another "
            "one.  What is finished stays."
        ) from None


def unlock(killed: Holder | None, folder: Path, command: Sequence[str]) -> int:
    """Break the lock of a run whose process is dead on this host; Snakemake's exit code.

    Raises
    ------
    Occupied
        When a Snakemake that ``./run`` did not start holds the lock, or may hold it.
    """
    refuse_foreign(folder, killed)
    process = "" if killed is None else f" of process {killed.process}"
    print(f"The run{process} ended without unlocking this folder: unlocking it.", file=sys.stderr)
    done = subprocess.run([*command, "--unlock"], env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.returncode


def supervise(command: Sequence[str], claim: Claim) -> tuple[int, bool]:
    """Run a command in its own process group, as a holder of the folder, and hand signals on.

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
        env = {**environment(), **claim.environment}
        child = subprocess.Popen(command, env=env, process_group=0, pass_fds=[claim.descriptor])
        claim.name(child.pid)
        while True:
            while waiting:
                sent = waiting.pop()
                child.send_signal(sent)
            try:
                code = child.wait(timeout=0.1)
                return (code if code >= 0 else SIGNALLED - code), False
            except subprocess.TimeoutExpired:
                if not sent or has_jobs(child.pid):
                    busy = time.monotonic()
                elif time.monotonic() - busy > PATIENCE:
                    child.kill()
                    child.wait()
                    return SIGNALLED + sent, True
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def has_jobs(pid: int) -> bool:
    """Whether a process has started others that still run."""
    try:
        return any(child.status() != psutil.STATUS_ZOMBIE for child in psutil.Process(pid).children())
    except psutil.NoSuchProcess:
        return False


def report(code: int, begun: float, since: float, folder: Path, names: Sequence[str]) -> None:
    """The summary of every study, where the results lie and how long it took; or why jobs failed."""
    from snakemake_logger_plugin_partywise import clock

    if code == 0:
        for study in names:
            text = folder / "results" / study / "summary.txt"
            if text.exists():
                print(text.read_text(encoding="utf-8"))
            print(f"Cube and tables: {folder / 'results' / study}; figures: {folder / 'results' / 'figures' / study}")
        print(f"Done in {clock(time.monotonic() - begun)} (minutes:seconds).", flush=True)
    else:
        logs = folder / "results" / "logs"
        if why := told(reasons(logs, since)):
            print(why, file=sys.stderr)
        print(
            f"Stopped after {clock(time.monotonic() - begun)} with exit code {code}.  What is finished stays, and the "
            f"same command resumes; logs of jobs are in {logs}.",
            file=sys.stderr,
        )


def studies(words: Sequence[str], configfiles: Sequence[str], folder: Path) -> list[str]:
    """Names of the studies of the configuration in force, in order, after a look at its text.

    Raises
    ------
    ConfigError
        Before Snakemake reads the files: it can execute what is no plain data.
    Refused
        When a word may name a file that is not looked at.
    """
    for word in words:
        if word.startswith("--configf") and word.partition("=")[0] not in CONFIGURATION:
            raise Refused(f"{word} is short for a word that is checked: say --configfile.")
    found = [read_configuration(Path(path)) for path in configfiles]
    if not any("studies" in content for content in found):
        found.append(read_configuration(folder / "config.yaml"))
    blocks = [content.get("studies") for content in found]
    return list(dict.fromkeys(name for block in blocks if isinstance(block, dict) for name in block))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
