"""A message around three parties, and 20 MB, over every transport of ours and over those of others, in one run.

Rows: parties on a network with TLS, forked processes with pipes, the plain pool of tno.mpc.communication with and
without TLS, and PyChor's TCP backend. Three processes hand a frame around (A to B to C to A); the median of 100 turns
with 100 bytes and of 3 with 20 MB, of every row in turn, three times over, each time in processes of their own.
Beside it a whole run: certified sliced inverse regression of the example of three clinics, with a server that holds no
data, as four processes with TLS, each with its own file, from the start of the first to the end of the last; and one
session of 20 such fits, each of which must leave at every party what a simulation of it does.
Fails when ours with TLS takes more than 20 ms or 2 s, the whole run more than 5 s, or a further fit of the session more
than .15 CPU seconds of all parties together.

NVFlare is measured where it is installed: messages around three sites that it connects, sealed as in a run, in one job
of its own, and the whole run as a job, from its submission to its end. It has an environment of its own: with
`requirements-nvflare.lock` and `requirements-network.lock` in one, that environment's Python shows all rows.

PyChor and pyOpenSSL, which the plain pool asks for with TLS, are in no lock of ours: where one is absent its row is
left out by name. `python3 -m pip install --no-deps --target FOLDER pychor==0.4.0 pyopenssl` brings both, and
`PYTHONPATH=FOLDER` shows them. `--write` puts the table into docs/network_reference.md.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import asyncio
import csv
import json
import multiprocessing
import resource
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, chdir
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("lib", "tests/support", "workflow")]

from partywise.deployment.deployments import deployments_of
from partywise.deployment.outcomes.run_files import read_record
from partywise.deployment.session.outcome import outcomes
from partywise.deployment.wire import authority
from partywise.deployment.wire.network import Network
from partywise.deployment.wire.pipes import Mesh
from partywise.deployment.wire.tls import server_context
from partywise.experiment.cells import execution
from partywise.experiment.data import generate
from partywise.experiment.plans import plans, read_configuration

FORK = multiprocessing.get_context("fork")
NAMES = ("a", "b", "c")
NEXT, BEFORE = dict(zip(NAMES, "bca", strict=True)), dict(zip(NAMES, "cab", strict=True))
HOST, LIMIT = "127.0.0.1", 120.0
SMALL, LARGE, TURNS, LARGE_TURNS, ROUNDS = 100, 20_000_000, 100, 3, 3
REQUIRED, REQUIRED_LARGE, REQUIRED_RUN, REQUIRED_FIT = 0.020, 2.0, 5.0, 0.15
FITS = 20
STUDY = "sliced_inverse_regression"
EXAMPLE, CLINIC = ROOT / "config" / "example_data" / "clinics.csv", "clinic"
HEADING = "## Costs of a message"
TITLE = """
Written by `tests/benchmarks/network.py --write`: medians over {rounds} rounds, all rows in one run, with processes of
their own. Other processes used the {cores} cores as well (load {load:.1f} at the beginning, {end:.1f} at the end)."""
NOTES = (
    "partywise with TLS and the plain pool use HTTP over connections that stay open. PyChor sends pickled objects over",
    "sockets. PyChor and pyOpenSSL are not in a lock file: `tests/benchmarks/network.py` describes how to get them.",
)
NVFLARE, SEALED = "nvflare", "partywise, NVFlare, sealed from end to end"
JOBS = "| job of NVFlare with one fit, sites started, from submission to end ({all}) | {run:.1f} | |"
PAGE = ROOT / "docs" / "network_reference.md"


@dataclass(frozen=True)
class Place:
    """Where the parties of one measurement are: host and port of each, certificates, and sockets made beforehand."""

    addresses: Mapping[str, tuple[str, int]]
    folder: Path
    mesh: Mesh


@dataclass(frozen=True)
class Row:
    """One transport: what it is, what one party does, and which package it needs that no lock has."""

    label: str
    party: Callable[[str, Place, Callable[[Any], None]], None]
    package: str = ""


def frames() -> list[bytes]:
    """What goes around: some turns for opening connections, which do not count, the small ones and the large ones."""
    return [os.urandom(SMALL)] * 5 + [os.urandom(SMALL)] * TURNS + [os.urandom(LARGE)] * LARGE_TURNS


def counted(seconds: list[float]) -> tuple[float, float]:
    """Medians of the small turns and of the large ones."""
    return statistics.median(seconds[5 : 5 + TURNS]), statistics.median(seconds[5 + TURNS :])


def around(me: str, end: Any, say: Callable[[Any], None]) -> None:
    """The part of one party over a transport of ours."""
    while not all(end.is_there(peer) for peer in end.peers):
        time.sleep(0.02)
    seconds = []
    for turn, frame in enumerate(frames()):
        begun = time.perf_counter()
        if me == NAMES[0]:
            end.put(NEXT[me], f"turn/{turn}", frame)
            back = end.get(BEFORE[me], f"turn/{turn}", LIMIT)
            assert back == frame
        else:
            end.put(NEXT[me], f"turn/{turn}", end.get(BEFORE[me], f"turn/{turn}", LIMIT))
        seconds.append(time.perf_counter() - begun)
    if me == NAMES[0]:
        say(counted(seconds))
    # Nobody leaves while another may still ask.
    end.put(NEXT[me], "done", b"done")
    end.get(BEFORE[me], "done", LIMIT)
    end.close()


def network(me: str, place: Place, say: Callable[[Any], None]) -> None:
    """Ours with TLS."""
    place.mesh.close()
    around(me, Network(me, place.addresses, place.folder), say)


def pipes(me: str, place: Place, say: Callable[[Any], None]) -> None:
    """Ours between forked processes."""
    around(me, place.mesh.end(me), say)


async def pool_around(me: str, pool: Any, say: Callable[[Any], None]) -> None:
    """The part of one party over a plain pool, whose receiver must be up before anything is sent."""
    seconds = []
    for turn, frame in enumerate(frames()):
        begun = time.perf_counter()
        if me == NAMES[0]:
            await pool.send(NEXT[me], frame, f"turn/{turn}")
            assert await pool.recv(BEFORE[me], f"turn/{turn}", LIMIT) == frame
        else:
            await pool.send(NEXT[me], await pool.recv(BEFORE[me], f"turn/{turn}", LIMIT), f"turn/{turn}")
        seconds.append(time.perf_counter() - begun)
    if me == NAMES[0]:
        say(counted(seconds))
    await pool.send(NEXT[me], b"", "done")
    await pool.recv(BEFORE[me], "done", LIMIT)


def pool(me: str, place: Place, say: Callable[[Any], None], contexts: tuple[Any, Any] = (None, None)) -> None:
    """The pool of tno.mpc.communication as its documentation has it; with TLS it finds senders by certificate files."""
    from tno.mpc.communication import HttpCommunicator, HttpConnection, Pool

    place.mesh.close()

    async def party() -> None:
        server, client = contexts
        # Its default waits a second before it tries again who was not up yet: enough tries for a busy machine.
        http = HttpCommunicator(
            *place.addresses[me], ssl_server_context=server, ssl_client_context=client, conn_retry_max=20
        )
        made = Pool(me, http)
        for peer in NAMES:
            if peer != me:
                cert = place.folder / f"{peer}.pem" if server else None
                made.add_client(peer, HttpConnection(*place.addresses[peer], cert=cert))
        async with made:
            await pool_around(me, made, say)

    asyncio.run(party())


def pool_tls(me: str, place: Place, say: Callable[[Any], None]) -> None:
    """The plain pool with certificates of both sides; it asks for a host's name, which these do not have."""
    server, client = server_context(place.folder, me), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.load_verify_locations(place.folder / "authority.pem")
    client.load_cert_chain(place.folder / f"{me}.pem", place.folder / f"{me}.key")
    assert client.verify_mode == ssl.CERT_REQUIRED
    pool(me, place, say, (server, client))


def pychor(me: str, place: Place, say: Callable[[Any], None]) -> None:
    """PyChor's TCP backend: sockets without TLS, pickled objects."""
    from pychor import Party, TCPBackend

    place.mesh.close()
    parties = [Party(name) for name in NAMES]
    own = parties[NAMES.index(me)]
    addresses = {party: place.addresses[name] for party, name in zip(parties, NAMES, strict=True)}
    seconds = []
    with TCPBackend(parties, me=own, addresses=addresses, connect_timeout=LIMIT) as backend:
        for frame in frames():
            begun = time.perf_counter()
            value = backend.constant(parties[0], frame)
            for sender, receiver in ((0, 1), (1, 2), (2, 0)):
                backend.send(parties[sender], parties[receiver], value)
            if me == NAMES[0]:
                assert value.val == frame
            seconds.append(time.perf_counter() - begun)
    if me == NAMES[0]:
        say(counted(seconds))


ROWS = (
    Row("partywise, network with TLS", network),
    Row("partywise, pipes of forked processes", pipes),
    Row("tno.mpc.communication, plain pool, no TLS", pool),
    Row("tno.mpc.communication, plain pool, TLS", pool_tls, "OpenSSL"),
    Row("PyChor, TCP without TLS", pychor, "pychor"),
)


def places(names: Sequence[str] = NAMES) -> dict[str, tuple[str, int]]:
    """A free port of this machine for each party."""
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in names]
        for one in taken:
            one.bind((HOST, 0))
        return {name: (HOST, one.getsockname()[1]) for name, one in zip(names, taken, strict=True)}


def measured(row: Row, folder: Path) -> tuple[float, float]:
    """Seconds of a small turn and of a large one, from processes that are started for it."""
    place, said = Place(places(), folder, Mesh(NAMES)), FORK.SimpleQueue()
    workers = [FORK.Process(target=row.party, args=(name, place, said.put), daemon=True) for name in NAMES]
    for worker in workers:
        worker.start()
    place.mesh.close()
    try:
        for worker in workers:
            worker.join(LIMIT)
        codes = [worker.exitcode for worker in workers]
        if codes != [0, 0, 0]:
            raise RuntimeError(f"{row.label}: its processes ended with {codes}.")
        return said.get()
    finally:
        for worker in workers:
            worker.kill()


def clinics(folder: Path, fits: int) -> Path:
    """The shared configuration of three clinics and a server, with a file for each clinic in a folder of its own."""
    with EXAMPLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = list(dict.fromkeys(row[CLINIC] for row in rows))
    for name in names:
        (folder / name).mkdir()
        with (folder / name / "visits.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [key for key in rows[0] if key != CLINIC], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(row for row in rows if row[CLINIC] == name)
    path = folder / "shared.json"
    path.write_text(json.dumps(shared(names, [sum(row[CLINIC] == name for row in rows) for name in names], fits)))
    return path


def shared(names: list[str], counts: list[int], fits: int) -> dict[str, Any]:
    """The configuration of one fit, or of a session of several; JSON is YAML."""
    settings = {
        "tables": [{"party": name, "file": f"{name}/visits.csv"} for name in names],
        "columns": [
            {"name": "age", "bounds": [20, 80], "because": "adults"},
            {"name": "height", "bounds": [150, 190], "because": "centimetres"},
            {"name": "weight", "bounds": [45, 105], "because": "kilograms"},
            {"name": "steps", "bounds": [0, 14], "because": "thousands a day"},
        ],
        "response": "flow",
        "edges": [420, 450, 480, 510, 540],
        "n_directions": 1,
        "least": min(counts),
    }
    method = {"protocol": "certified", "calibrate": "total"}
    grid = {"methods": ["certified"], "replicates": 1, "parties": [len(names)], "folds": 1}
    grid["epsilon"] = [1.0 + k / 4 for k in range(fits)]
    case = {"source": "table", "settings": settings, "grid": grid}
    study = {"spec": {"unit": "row"}, "methods": {"certified": method}, "cases": {"clinics": case}}
    network = {
        "study": STUDY,
        "case": "clinics",
        **({"method": "certified", "epsilon": 1.0} if fits == 1 else {"fits": "grid"}),
        "mode": "experiment",
        "rows": dict(zip(names, counts, strict=True)),
        "parties": {name: {"host": HOST, "port": port} for name, (_, port) in places((*names, "server")).items()},
    }
    return {"root_seed": 1, "studies": {STUDY: study}, "network": network}


def whole_run(scratch: Path, fits: int = 1) -> tuple[float, float]:
    """Seconds from the start of four processes to the end of the last, and their CPU seconds; certificates before."""
    scratch.mkdir()
    config = clinics(scratch, fits)
    names = list(json.loads(config.read_text())["network"]["parties"])
    command, environ = [sys.executable, "-m", "partywise"], os.environ | {"PYTHONPATH": str(ROOT / "lib")}
    words = ["network", "certificates", "--config", config, "--into", scratch / "certificates"]
    subprocess.run([*command, *words], env=environ, check=True, capture_output=True)
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    parties = []
    for name in names:
        words = [
            "network",
            "party",
            "--config",
            config,
            "--me",
            name,
            "--data",
            scratch,
            "--into",
            scratch / f"of {name}",
        ]
        words += ["--certificates", scratch / "certificates", "--account", scratch / f"account of {name}.jsonl"]
        parties.append(
            subprocess.Popen(
                [*command, *words], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
        )
    said = [party.communicate(timeout=LIMIT)[1] for party in parties]
    if any(party.returncode for party in parties):
        raise RuntimeError(f"the whole run did not end well: {said}")
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    require_simulated(scratch, config)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def require_simulated(scratch: Path, config: Path) -> None:
    """RuntimeError unless every party holds, of every fit, what a simulation of it gives it."""
    told = read_configuration(config)
    deployments = deployments_of(told, plans(told))
    first = deployments[0]
    with chdir(scratch):
        data = generate(first.plan, first.network.case, [0], scratch)[0]
    for one in deployments:
        run = execution(one.plan, one.network.case, one.network.method, one.n_parties, 0, one.epsilon, data)
        for name, outcome in outcomes(one.plan.methods[one.network.method].protocol.fit, run).items():
            folder = scratch / f"of {name}"
            if read_record(folder / one.label if len(deployments) > 1 else folder).outcome != outcome.digest:
                raise RuntimeError(f"{name} holds something else of {one.label} than in the simulation.")


def nvflare_project(folder: Path, names: Sequence[str]) -> Any:
    """A project of NVFlare with a site for each name, whose processes find the modules of this measurement."""
    from nvflare_project import Project

    folder.mkdir()
    return Project(Path(sys.executable), folder, names, [ROOT / "tests" / "benchmarks", *map(Path, sys.path[:3])])


def nvflare_round_trips(folder: Path) -> tuple[float, float]:
    """As `measured`, of three sites in one job."""
    from nvflare_project import COMPLETED
    from partywise.deployment.nvflare.job import write_files

    project, executor = nvflare_project(folder, NAMES), "nvflare_round_trips.RoundTrips"
    for name in NAMES:
        project.allow(name, executor)
    write_files(folder / "job", "round-trips", NAMES, {"path": executor, "args": {}})
    with project.running():
        if (ended := project.run()) != COMPLETED:
            raise RuntimeError(f"the job of NVFlare ended with {ended}: look into {folder}.")
    small, large = json.loads((project.kit(NAMES[0]) / "round_trips.json").read_text())
    return small, large


def nvflare_whole_run(folder: Path, runs: int) -> list[float]:
    """Seconds from the submission of a job with the whole run to its end, several times over, all sites being up."""
    from nvflare_project import COMPLETED

    scratch = folder / "files"
    scratch.mkdir(parents=True)
    config = clinics(scratch, 1)
    network = json.loads(config.read_text())["network"]
    project, seconds = nvflare_project(folder / "project", list(network["parties"])), []
    kinds = ["release", "cipher", "public", "clear"]
    for name in project.sites:
        site = {
            "files": [{"file": f"{one}/visits.csv", "columns": ["*"]} for one in network["rows"]],
            "methods": [{"study": STUDY, "protocols": ["certified"]}],
            "modes": ["experiment"],
            "receivers": [{"party": one, "kinds": kinds} for one in project.sites],
        }
        own = scratch / f"of {name}"
        own.mkdir()
        if name in network["rows"]:
            (scratch / name).rename(own / name)
        (own / "site.yaml").write_text(json.dumps(site))
        project.settle(name, own)
    project.say("-m", "partywise", "network", "nvflare-job", str(config), "--into", "job")
    with project.running():
        for _ in range(runs + 1):
            begun = time.perf_counter()
            if (ended := project.run()) != COMPLETED:
                raise RuntimeError(f"the job of NVFlare ended with {ended}: look into {folder}.")
            seconds.append(time.perf_counter() - begun)
    # Before the first, the sites were starting.
    return seconds[1:]


def medians(found: Mapping[str, list[tuple[float, float]]]) -> dict[str, tuple[float, float]]:
    """Over the rounds, of small and of large turns."""
    return {
        label: (statistics.median(small), statistics.median(large))
        for label, rounds in found.items()
        for small, large in [tuple(zip(*rounds, strict=True))]
    }


def table(rows: Mapping[str, tuple[float, float]]) -> list[str]:
    """As a page has it."""
    head = ["| transport | 100 bytes around three parties, ms | 20 MB around three parties, s |", "|---|---|---|"]
    return head + [f"| {label} | {1e3 * small:.2f} | {large:.2f} |" for label, (small, large) in rows.items()]


def page(lines: list[str], sentences: list[str], load: float) -> str:
    """The section of what this run measured, after what the page has before it."""
    title = TITLE.format(cores=os.cpu_count(), load=load, end=os.getloadavg()[0], rounds=ROUNDS)
    before = PAGE.read_text(encoding="utf-8").partition(f"{HEADING}\n")[0]
    return before + "\n".join([HEADING, title, "", *lines, "", *NOTES, "", *sentences, ""])


def main() -> int:
    """Measure, print and judge; 1 when something that is required is missed."""
    parser = argparse.ArgumentParser(description="Round trips over transports, side by side.")
    parser.add_argument("--write", action="store_true", help="put what was measured into docs/network_reference.md")
    words, load = parser.parse_args(), os.getloadavg()[0]
    absent = {row.label: row.package for row in ROWS if row.package and find_spec(row.package) is None}
    if find_spec(NVFLARE) is None:
        absent[SEALED] = NVFLARE
    found: dict[str, list[tuple[float, float]]] = {row.label: [] for row in ROWS if row.label not in absent}
    whole, sessions = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "certificates"
        authority.make(folder, NAMES, days=1)
        for turn in range(ROUNDS):
            for row in ROWS:
                if row.label in found:
                    found[row.label].append(measured(row, folder))
            if SEALED not in absent:
                found.setdefault(SEALED, []).append(nvflare_round_trips(Path(scratch) / f"nvflare_{turn}"))
            whole.append(whole_run(Path(scratch) / f"run {turn}"))
            sessions.append(whole_run(Path(scratch) / f"session {turn}", FITS))
        jobs = [] if SEALED in absent else nvflare_whole_run(Path(scratch) / "jobs", ROUNDS)
    rows = medians(found)
    small, large = rows[ROWS[0].label]
    run, cpu = (statistics.median(column) for column in zip(*whole, strict=True))
    session, session_cpu = (statistics.median(column) for column in zip(*sessions, strict=True))
    fit, fit_cpu = ((many - one) / (FITS - 1) for many, one in ((session, run), (session_cpu, cpu)))
    walls = ", ".join(f"{wall:.1f}" for wall, _ in whole)
    sentences = [
        "| certified sliced inverse regression, three clinics and a server, four processes with TLS | s | CPU s |",
        "|---|---|---|",
        f"| one fit, from the start of the first process to the end of the last ({walls}) | {run:.1f} | {cpu:.1f} |",
        f"| session of {FITS} fits (`network.fits`) | {session:.1f} | {session_cpu:.1f} |",
        f"| each fit after the first | {fit:.3f} | {fit_cpu:.3f} |",
        *([JOBS.format(run=statistics.median(jobs), all=", ".join(f"{one:.1f}" for one in jobs))] if jobs else []),
        "",
        "CPU seconds are those of all four processes, and all times are medians. Each party held what its simulation",
        "gives, to the last bit.",
        *(f"Left out: {label}, as the package {package} is absent." for label, package in absent.items()),
    ]
    print("\n".join([*table(rows), "", *sentences]))
    if words.write:
        PAGE.write_text(page(table(rows), sentences, load), encoding="utf-8")
    checks = [
        (f"small message {1e3 * small:.2f} ms (limit {1e3 * REQUIRED:g})", small <= REQUIRED),
        (f"20 MB {large:.2f} s (limit {REQUIRED_LARGE:g})", large <= REQUIRED_LARGE),
        (f"whole run {run:.1f} s (limit {REQUIRED_RUN:g})", run <= REQUIRED_RUN),
        (f"a further fit {fit_cpu:.3f} CPU s (limit {REQUIRED_FIT:g})", fit_cpu <= REQUIRED_FIT),
    ]
    for text, met in checks:
        print(f"{text}: {'met' if met else 'MISSED'}")
    return int(not all(met for _, met in checks))


if __name__ == "__main__":
    sys.exit(main())
