"""Parties of a case as processes with TLS on this machine: forked, so that each starts at once."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import yaml

from deployment_cases import Apart
from forked import FORK, preload
from partywise.__main__ import main
from partywise.deployment.wire.authority import make
from partywise.experiment.study import Lazy, load

# Far beyond what anything here takes.
LONG = 60


@dataclass(frozen=True)
class PartyOutput:
    """How a party's process ended: its exit code, what it printed, and the files that it opened."""

    code: int | None
    out: str
    err: str
    open: tuple[str, ...]


class Parties:
    """The processes of one case; ``folder`` has a folder of every party with its file, and ``out`` for what it writes.

    config : shared, by name of the party where one has another
    """

    def __init__(self, case: Apart, folder: Path, config: Mapping[str, Any] | None = None) -> None:
        self.case, self.folder, self.processes = case, folder, dict[str, BaseProcess]()
        for name, port in zip(case.network["parties"], free_ports(len(case.network["parties"])), strict=True):
            case.network["parties"][name]["port"] = port
        self.configs = {name: dict(case.config) for name in case.names} | dict(config or {})
        if not (folder / "certificates").exists():
            make(folder / "certificates", case.names)

    def start(self, *names: str, runs: str = "out", more: Sequence[str] = ()) -> None:
        """Start some parties, by default all, with more words where they are given."""
        preload()
        _preload_study(self.case.study)
        for name in names or self.case.names:
            (self.folder / f"{name}.yaml").write_text(yaml.safe_dump(self.configs[name], sort_keys=False))
            words = ["network", "party", "--config", f"{name}.yaml", "--me", name, "--data", name]
            process = FORK.Process(
                target=_party, args=(self.folder, [*words, "--into", f"{runs}/{name}", *more], name), daemon=True
            )
            process.start()
            self.processes[name] = process

    def ended(self, *names: str) -> dict[str, PartyOutput]:
        """Wait for some parties, by default for all that were started."""
        found = {}
        for name in names or tuple(self.processes):
            process = self.processes.pop(name)
            process.join(LONG)
            if process.exitcode is None:
                process.kill()
            out, err, opened = ((self.folder / f"{name}.{what}").read_text() for what in ("out", "err", "opened"))
            found[name] = PartyOutput(process.exitcode, out, err, tuple(opened.split("\n")))
        return found

    def all(self, runs: str = "out", more: Sequence[str] = ()) -> dict[str, PartyOutput]:
        """One run of all parties."""
        self.start(runs=runs, more=more)
        return self.ended()

    def succeeded(self, runs: str = "out", more: Sequence[str] = ()) -> dict[str, PartyOutput]:
        """One run of all parties, which all end well."""
        told = self.all(runs, more)
        assert {one.code for one in told.values()} == {0}, {name: one.err for name, one in told.items()}
        return told


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


@cache
def _preload_study(name: str) -> None:
    """What a party imports when its configuration is read: with the transport, half of the time of a short fork."""
    study = load(name)
    for part in (study, *study.sources.values(), *study.methods.values()):
        for one in vars(part).values():
            if isinstance(one, Lazy):
                _ = one.target


def _party(folder: Path, words: Sequence[str], name: str) -> None:
    """One process: the verb, with its output and the files that it opens in files."""
    os.chdir(folder)
    for number, what in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{name}.{what}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    handle = os.open(f"{name}.opened", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def opens(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            os.write(handle, os.path.abspath(os.fsdecode(arguments[0])).encode() + b"\n")

    sys.addaudithook(opens)
    code = main(words)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
