"""Processes of the parties on this machine, each in a folder with its own file and certificate, and the simulation."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import yaml

from demonstration.cases import DemonstrationCase
from launching.surroundings import environment
from partywise.deployment.deployments import Deployment, deployments_of
from partywise.deployment.outcomes.joint_results import JointResults
from partywise.deployment.screen import screen
from partywise.deployment.session.outcome import commitment_to, outcomes
from partywise.deployment.wire.authority import make
from partywise.deployment.wire.pool import FramePool
from partywise.experiment.cells import execution
from partywise.experiment.data import generate
from partywise.experiment.plans import plans
from partywise.federation.channel import Channel

LONGEST = 120
WARM = (FramePool, screen)
SHARED = "mine.yaml"


@dataclass(frozen=True)
class Process:
    """A party's process: its exit code, and what it printed."""

    code: int
    out: str
    err: str


def deal(case: DemonstrationCase, folder: Path) -> Deployment:
    """Give every party its folder: the shared configuration, its own file, its own certificate; free ports."""
    shutil.rmtree(folder, ignore_errors=True)
    names = tuple(case.config["network"]["parties"])
    make(folder / "authority", names)
    for name, port in zip(names, _free_ports(len(names)), strict=True):
        case.config["network"]["parties"][name]["port"] = port
    text = yaml.safe_dump(case.config, sort_keys=False)
    for name in (*names, "whole"):
        (folder / name).mkdir()
        (folder / name / SHARED).write_text(text, encoding="utf-8")
    for name in names:
        (folder / name / "certificates").mkdir()
        for file in ("authority.pem", f"{name}.pem", f"{name}.key"):
            shutil.copy(folder / "authority" / file, folder / name / "certificates" / file)
    for name, (file, content) in case.files.items():
        for place in (name, "whole"):
            (folder / place / file).write_bytes(content)
    [deployment] = deployments_of(case.config, plans(case.config))
    return deployment


def run_parties(case: Deployment, folder: Path) -> tuple[dict[str, Process], float]:
    """Run all parties, each in its own folder; how they ended, and the seconds from the first start to the last end.

    What they import was compiled once before (`WARM`), and not by all of them at the same time.
    """
    words = [sys.executable, "-m", "partywise", "network", "party", "--config", SHARED, "--into", "out"]
    start, processes = time.monotonic(), dict[str, subprocess.Popen[str]]()
    try:
        for name in case.names:
            processes[name] = subprocess.Popen(
                [*words, "--me", name],
                cwd=folder / name,
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
        texts = {name: process.communicate(timeout=LONGEST) for name, process in processes.items()}
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    seconds = time.monotonic() - start
    return {name: Process(processes[name].returncode, *texts[name]) for name in case.names}, seconds


def simulation(case: Deployment, folder: Path) -> tuple[Channel, dict[str, str]]:
    """Transcript and ledger of the run of all files in one process, and the digest of what every party would hold."""
    network = case.network
    with chdir(folder / "whole"):
        data = generate(case.plan, network.case, [0], "resources")[0]
    run = execution(case.plan, network.case, network.method, case.n_parties, network.fold, case.epsilon, data)
    results = outcomes(case.plan.methods[network.method].protocol.fit, run)
    return run.channel, {name: outcome.digest for name, outcome in results.items()}


def differences(
    apart: JointResults, channel: Channel, digests: Mapping[str, str], salts: Mapping[str, str]
) -> Iterator[str]:
    """Name what the processes found otherwise than the simulation; ``salts`` open the digests of what they hold."""
    if apart.channel.transcript() != channel.transcript():
        yield "transcript"
    if apart.channel.ledger.digest != channel.ledger.digest:
        yield "ledger"
    for name, record in apart.records.items():
        if record.outcome != commitment_to(digests[name], salts[name]):
            yield f"what {name} holds"


def _free_ports(count: int) -> list[int]:
    """Return ports of this machine that are free now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for endpoint in sockets:
            endpoint.bind(("localhost", 0))
        return [endpoint.getsockname()[1] for endpoint in sockets]
    finally:
        for endpoint in sockets:
            endpoint.close()
