"""A project of NVFlare on this machine: provisioned, a server and the sites of a case as processes, jobs submitted.

Its processes run with the Python of an environment that has the extra ``nvflare``; this module needs none of it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, suppress
from pathlib import Path

import yaml

from deployment_cases import Apart
from network_driver import addresses
from partywise.experiment.cells import execution, run
from partywise.experiment.data import generate
from partywise.experiment.deployment.joint_results import join_results
from partywise.federation.account.account import FILE
from partywise.federation.account.reading import opened_account, paid_events, runs_of
from partywise.federation.deployment.outcome import outcomes
from partywise.federation.run import Run, simulate
from partywise.federation.transport.tls import site_name
from pipeline import ROOT, environment
from site_files import site_of, write_site

ADMIN, SERVER, NAME, CONFIGURATION = "admin@example.com", "localhost", "clinics", "mine"
SITE = "partywise.experiment.deployment.nvflare.site"
BUILDERS = ("workspace.WorkspaceBuilder", "static_file.StaticFileBuilder", "cert.CertBuilder")
COMPLETED = "FINISHED:COMPLETED"
# An administrator who submits a job, waits for its end and says what became of it.
SUBMIT = f"""
import sys
from nvflare.fuel.flare_api.flare_api import new_secure_session
session = new_secure_session("{ADMIN}", sys.argv[1])
run = session.submit_job(sys.argv[2])
session.monitor_job(run, timeout=float(sys.argv[3]), poll_interval=0.3)
print(session.get_job_meta(run).get("status"))
session.close()
"""


def with_extra(folder: Path) -> Path:
    """The Python of a new environment with all that ``requirements-nvflare.lock`` names."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r", "requirements-nvflare.lock"]
    done = subprocess.run([str(python), *words], cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return python


class Project:
    """A provisioned project whose sites are the parties of a case, each with its own file and policy.

    python : of an environment with the extra; folder : of all startup kits and files
    """

    def __init__(self, python: Path, folder: Path, case: Apart) -> None:
        self.python, self.folder, self.case = python, folder, case
        self.sites = {name: site_name(name) for name in case.names}
        self._processes = list[subprocess.Popen[bytes]]()
        case.network["parties"] = dict.fromkeys(case.names)
        self.whole = case.write(folder)
        self._provision()
        for name, site in self.sites.items():
            write_site(folder / name, site_of(case, name))
            text = yaml.safe_dump({"data": str(folder / name)})
            (self.kit(site) / "local" / "partywise.yaml").write_text(text, encoding="utf-8")
            self.allow(site, "PartyExecutor")
        self.allow(SERVER, "PartyController")
        self.job = folder / "job"
        (folder / f"{CONFIGURATION}.yaml").write_text(yaml.safe_dump(case.config, sort_keys=False), encoding="utf-8")
        self._say("-m", "partywise", "nvflare-job", f"{CONFIGURATION}.yaml", "--into", "job")

    def _provision(self) -> None:
        port = addresses([SERVER])[SERVER][1]
        participants = [{"name": SERVER, "type": "server", "org": "relay", "fed_learn_port": port}]
        participants += [{"name": site, "type": "client", "org": "clinic"} for site in self.sites.values()]
        participants += [{"name": ADMIN, "type": "admin", "org": "relay", "role": "project_admin"}]
        builders: list[dict[str, object]] = [{"path": f"nvflare.lighter.impl.{builder}"} for builder in BUILDERS]
        builders[1]["args"] = {"config_folder": "config"}
        builders.append({"path": "nvflare.lighter.impl.signature.SignatureBuilder"})
        project = {"api_version": 3, "name": NAME, "participants": participants, "builders": builders}
        (self.folder / "project.yml").write_text(yaml.safe_dump(project), encoding="utf-8")
        self._say("-m", "nvflare.cli", "provision", "-p", "project.yml", "-w", "kits", "--force")

    def _say(self, *words: str) -> None:
        given = {"cwd": self.folder, "env": self.environment()}
        done = subprocess.run([str(self.python), *words], capture_output=True, text=True, **given)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stdout + done.stderr

    def environment(self, site: str = "") -> Mapping[str, str]:
        """For its processes: this checkout's library, and at a site a file that ends one of its jobs."""
        path = f"{ROOT / 'lib'}:{ROOT / 'tests' / 'support' / 'mortal_site'}"
        return {**environment(), "PYTHONPATH": path, "HOME": str(self.folder), "MORTAL": str(self.mortal(site))}

    def mortal(self, site: str) -> Path:
        """Where the next job at a site looks for the number of the frame at which it dies."""
        return self.folder / f"mortal {site}"

    def kit(self, name: str) -> Path:
        """The startup kit of the server, a site or the administrator."""
        return self.folder / "kits" / NAME / "prod_00" / name

    def allow(self, name: str, *classes: str) -> None:
        """Which classes of partywise a job may name at a site, and nothing else; logs stay where they are."""
        local = self.kit(name) / "local"
        text = (local / "resources.json.default").read_text(encoding="utf-8")
        # Servers of one machine would take each other's jobs.
        resources = json.loads(text.replace("/tmp/nvflare", str(self.folder / "store")))
        resources["class_allow_list"] = [f"{SITE}.{one}" for one in classes]
        resources["allow_log_streaming"] = False
        resources["components"] = [one for one in resources["components"] if "logging" not in one["path"]]
        (local / "resources.json").write_text(json.dumps(resources), encoding="utf-8")

    def _start(self, name: str) -> None:
        role = "server" if name == SERVER else "client"
        words = ["-u", "-m", f"nvflare.private.fed.app.{role}.{role}_train", "-m", str(self.kit(name))]
        words += ["-s", f"fed_{role}.json", "--set", "secure_train=true", "config_folder=config"]
        words += ["org=relay"] if name == SERVER else [f"uid={name}", "org=clinic"]
        with (self.folder / f"{name}.out").open("ab") as output:
            process = subprocess.Popen(
                [str(self.python), *words],
                cwd=self.kit(name),
                env=self.environment(name),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._processes.append(process)

    @contextmanager
    def running(self) -> Iterator[Project]:
        """The server and all sites run inside."""
        try:
            for name in (SERVER, *self.sites.values()):
                self._start(name)
            yield self
        finally:
            for process in self._processes:
                # Jobs are processes of the same session.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            self._processes.clear()

    def run(self, seconds: float = 240.0) -> str:
        """Submit the job and wait for its end: what NVFlare says of it."""
        words = [str(self.python), "-c", SUBMIT, str(self.kit(ADMIN)), str(self.job), str(seconds)]
        for _ in range(20):
            given = {"cwd": self.folder, "env": self.environment(), "timeout": seconds + 60}
            done = subprocess.run(words, capture_output=True, text=True, **given)  # type: ignore[call-overload]
            if done.returncode == 0:
                return str(done.stdout.split()[-1])
            # The server is not there yet.
            assert "connect" in (done.stdout + done.stderr).lower(), done.stdout + done.stderr
            time.sleep(0.5)
        raise AssertionError(done.stdout + done.stderr)

    def said(self, name: str) -> str:
        """What a party has said in all its jobs."""
        return (self.kit(self.sites[name]) / "partywise.log").read_text(encoding="utf-8")

    def results(self, name: str) -> Path:
        """The folder of a party's results."""
        return self.kit(self.sites[name]) / "partywise" / CONFIGURATION

    def account(self, name: str) -> Path:
        """The file of a party's account."""
        return (self.folder / name if name in self.case.files else self.results(name)) / FILE

    def model(self) -> object:
        """What the owner of all data takes home of the same fit."""
        found = self.case.deployment()
        network = found.network
        with chdir(self.whole):
            data = generate(found.plan, network.case, [0], "resources")
            cells = run(found.plan, network.case, network.method, found.n_parties, [0], [network.fold], data)
        (report,) = (one.owner_report for one in cells if one.coords["epsilon"] == found.epsilon)
        assert report is not None
        return report.model

    def fresh_run(self) -> Run:
        """A run of all data in one process, not used yet."""
        found = self.case.deployment()
        network = found.network
        with chdir(self.whole):
            data = generate(found.plan, network.case, [0], "resources")[0]
            given = found.plan, network.case, network.method, found.n_parties, network.fold, found.epsilon, data
            return execution(*given)

    def check_ended(self, runs: int = 1) -> None:
        """After so many runs that have ended: results, ledger, accounts and journals are those of the simulation."""
        fit = self.case.deployment().plan.methods[self.case.network["method"]].protocol.fit
        names, reference = self.case.names, self.fresh_run()
        simulate(fit, reference)
        found = join_results([self.results(name) for name in names], self.kit(SERVER) / "startup" / "rootCA.pem")
        assert found.channel.ledger.digest == reference.channel.ledger.digest
        assert len(found.channel.ledger.rows) == len(reference.channel.ledger.rows)
        expected = {name: one.digest for name, one in outcomes(fit, self.fresh_run()).items()}
        assert {name: found.records[name].outcome for name in names} == expected
        for name in names:
            rows = opened_account(self.account(name)).rows
            assert len({*runs_of(rows)}) == sum(row.kind == "ended" for row in rows) == runs, name
            paid = [(owner, event.release_id) for owner, event in paid_events(rows)]
            assert len(paid) == len(set(paid)), f"{name} paid twice"
            assert not self.account(name).with_suffix(".journal").exists()
