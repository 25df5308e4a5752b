"""The verb behind ``./run``: Snakemake on this project, with progress, a guard against two runs, and the summary.

    python workflow/launch.py [words for snakemake]

Running the same command again resumes: what is finished and unchanged stays.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from guard import Occupied, foreign, holder, locked, take
from last_run import LastRun, read, restore, tell_old
from launching.ending import report
from launching.supervision import SIGNALLED, supervise, unlock
from launching.surroundings import account, display, environment, profile_words
from launching.words import (
    CHANGES,
    HELP,
    NO_RUN,
    SHIPPED,
    VERSION,
    Refused,
    asks_for_part,
    configuration,
    options,
    refuse_surprise,
    with_paths,
)
from launching.writable import check_writable
from partywise import __version__
from partywise.core.errors import ConfigError
from partywise.core.project import command as verb
from partywise.core.project import exit_code
from place import RECORD, ROOT, Place, shipped
from plain_names import NoPlainName, plain_names


def main(words: Sequence[str]) -> int:
    """Run Snakemake and return its exit code.

    It is 2 when another run holds the folder or it cannot be written, and 128 + number after a signal.
    """
    if VERSION & set(words):
        print(f"partywise {__version__}")
        return 0
    if HELP & set(words):
        print(usage())
        return 0
    arguments = options(words)
    folder = Path(arguments.directory or ".")
    os.environ.update(account(folder))
    profile = arguments.workflow_profile
    try:
        if profile and profile != "none" and not shipped(profile).is_dir():
            raise Refused(f"--workflow-profile is {profile!r}: that folder does not exist; name one in profiles/.")
        place, names = configuration(words, arguments, folder)
        elsewhere = any(
            name not in (None, "none", "local") for name in (profile, arguments.profile, arguments.executor)
        )
        with plain_names(ROOT / "Snakefile", elsewhere) as (python, snakefile):
            settings = profile_words(arguments)
            rest = ["-m", "snakemake", "--snakefile", snakefile, *settings, *with_paths(words, arguments)]
            if NO_RUN & set(words):
                return ask(words, [python, *rest], folder)
            refuse_surprise(words, arguments, folder, names)
            return run(Call(words, arguments, folder, place, names), [python, *rest])
    except (Refused, Occupied, NoPlainName) as reason:
        print(reason, file=sys.stderr)
    except ConfigError as reason:
        print(f"Configuration error: {reason}", file=sys.stderr)
    return 2


def usage() -> str:
    """The words of a run, for people."""
    return "\n".join(
        [
            f"usage: {verb()} [--configfile FILE] [words of Snakemake]",
            "",
            f"{verb()}                    run config.yaml of this folder, or continue that run",
            f"{verb()} --configfile FILE  run another configuration, such as config/paper.yaml",
            f"{verb()} {SHIPPED}          run the shipped configuration in a folder that has no config.yaml",
            f"{verb()} --cores 4          use four cores",
            f"{verb()} -n                 list the jobs and run none",
            "",
            "All words of Snakemake are accepted; `python -m snakemake --help` lists them.",
        ]
    )


@dataclass(frozen=True)
class Call:
    """A call: its words, the parsed arguments, the folder of the run, and the place and studies of its results."""

    words: Sequence[str]
    arguments: argparse.Namespace
    folder: Path
    place: Place
    names: Sequence[str]


def run(call: Call, command: Sequence[str]) -> int:
    """Hold the folder for one run of Snakemake, and report its end; return the exit code."""
    begun, since, ran, folder = time.monotonic(), time.time(), False, call.folder
    check_writable(folder, call.place, call.names)
    call.place.refuse_other(folder)
    tell_old(folder)
    claim = take(folder)
    earlier = read(folder)
    try:
        LastRun(call.place.name, call.place.configuration, tuple(call.words)).write(folder)
        code = unlock(claim.killed, folder, command) if locked(folder) else 0
        if code == 0:
            ran = True
            code, hung = supervise([*command, *display(call.arguments)], claim)
            if hung and locked(folder):
                unlock(holder(folder), folder, command)
    except Occupied:
        claim.restore()
        raise
    # A Snakemake that was killed leaves its lock: then the name stays too, so that the next run can tell and unlock.
    # One that ended by itself gave its lock back: what is there belongs to a Snakemake that came between.
    claim.release(finished=not locked(folder) or (ran and code < SIGNALLED))
    if code == 0:
        call.place.record(folder)
    elif not (folder / call.place.folder / RECORD).exists():
        # Nothing was begun, as with a configuration that is refused: the run before is still the last one.
        restore(earlier, folder)
        return code
    # Of results that the call left as they were nobody knows here whether they are current.
    names = () if asks_for_part(call.words, call.place) else call.names
    report(code, begun, since, folder, call.place, names)
    return code


def ask(words: Sequence[str], command: Sequence[str], folder: Path) -> int:
    """Something else than a run; what changes the folder waits for no run, it is refused while one is alive."""
    if not CHANGES & set(words):
        return subprocess.call(command, env=environment())
    claim = take(folder)
    if (other := foreign(folder)) is not None:
        claim.restore()
        raise Occupied(f"A Snakemake that {verb()} did not start works here (process {other}): wait for it.")
    code = subprocess.call(command, env=environment(), pass_fds=[claim.descriptor])
    if locked(folder):
        claim.restore()
    else:
        claim.release()
    return code


if __name__ == "__main__":
    sys.exit(exit_code(lambda: main(sys.argv[1:])))
