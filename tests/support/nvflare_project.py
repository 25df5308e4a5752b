"""A project of NVFlare on this machine: provisioned, a server and sites as processes of their own, jobs submitted.

Runs with the Python of an environment that has the extra ``nvflare``; this module needs none of it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import yaml

from network_driver import addresses
from pipeline import ROOT, environment

ADMIN, SERVER, NAME = "admin@example.com", "localhost", "clinics"
SITE = "partywise.experiment.deployment.nvflare.site"
BUILDERS = ("workspace.WorkspaceBuilder", "static_file.StaticFileBuilder", "cert.CertBuilder")
# What an administrator says: submit a job and wait for its end, or end one.
SUBMIT = """
import json, sys
from nvflare.fuel.flare_api.flare_api import new_secure_session
kit, job, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
session = new_secure_session("admin@example.com", kit)
try:
    run = session.submit_job(job)
    print(run, flush=True)
    code = session.monitor_job(run, timeout=seconds, poll_interval=0.5)
    print(json.dumps({"status": session.get_job_meta(run).get("status")}), flush=True)
finally:
    session.close()
"""


class Project:
    """A provisioned project.

    python : of the environment with the extra; folder : where all startup kits are; sites : names of the clients
    """

    def __init__(self, python: Path, folder: Path, sites: Sequence[str]) -> None:
        self.python, self.folder, self.sites = python, folder, tuple(sites)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        port = addresses(["server"])["server"][1]
        participants = [{"name": SERVER, "type": "server", "org": "relay", "fed_learn_port": port}]
        participants += [{"name": site, "type": "client", "org": "clinic"} for site in sites]
        participants += [{"name": ADMIN, "type": "admin", "org": "relay", "role": "project_admin"}]
        builders = [{"path": f"nvflare.lighter.impl.{builder}"} for builder in BUILDERS]
        builders[1]["args"] = {"config_folder": "config"}
        builders.append({"path": "nvflare.lighter.impl.signature.SignatureBuilder"})
        project = {"api_version": 3, "name": NAME, "participants": participants, "builders": builders}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "project.yml").write_text(yaml.safe_dump(project), encoding="utf-8")
        self._say("-m", "nvflare.cli", "provision", "-p", "project.yml", "-w", "kits", "--force")
        for name in (SERVER, *sites):
            self.allow(name, "PartyController" if name == SERVER else "PartyExecutor")

    def _say(self, *words: str) -> str:
        done = subprocess.run(
            [str(self.python), *words], cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def environment(self) -> Mapping[str, str]:
        """For its processes: this checkout's library, whatever is installed."""
        return {**environment(), "PYTHONPATH": str(ROOT / "lib"), "HOME": str(self.folder)}

    def kit(self, name: str) -> Path:
        """The startup kit of the server, a site or the administrator."""
        return self.folder / "kits" / NAME / "prod_00" / name

    def allow(self, name: str, *classes: str) -> None:
        """Which classes of partywise jobs may name at a site, and nothing else; logs stay where they are."""
        local = self.kit(name) / "local"
        resources = json.loads((local / "resources.json.default").read_text(encoding="utf-8"))
        resources["class_allow_list"] = [f"{SITE}.{one}" for one in classes]
        resources["allow_log_streaming"] = False
        resources["components"] = [one for one in resources["components"] if "logging" not in one["path"]]
        (local / "resources.json").write_text(json.dumps(resources), encoding="utf-8")

    def settle(self, site: str, data: Path) -> None:
        """Say at a site where its own files are."""
        (self.kit(site) / "local" / "partywise.yaml").write_text(f"data: {data}\n", encoding="utf-8")

    def start(self, name: str) -> None:
        """Start the process of the server or of a site."""
        role = "server" if name == SERVER else "client"
        words = ["-u", "-m", f"nvflare.private.fed.app.{role}.{role}_train", "-m", str(self.kit(name))]
        words += ["-s", f"fed_{role}.json", "--set", "secure_train=true", "config_folder=config"]
        words += ["org=relay"] if name == SERVER else [f"uid={name}", "org=clinic"]
        with (self.folder / f"{name}.out").open("ab") as output:
            self._processes[name] = subprocess.Popen(
                [str(self.python), *words],
                cwd=self.kit(name),
                env=self.environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @contextmanager
    def running(self) -> Iterator[Project]:
        """The server and all sites run inside."""
        try:
            for name in (SERVER, *self.sites):
                self.start(name)
            yield self
        finally:
            for process in self._processes.values():
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def submit(self, job: Path, seconds: float = 300.0) -> subprocess.Popen[str]:
        """An administrator who submits a job and waits; its output is the job's id and what became of it."""
        words = [str(self.python), "-c", SUBMIT, str(self.kit(ADMIN)), str(job), str(seconds)]
        return subprocess.Popen(
            words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def job_processes(self, site: str) -> list[int]:
        """Process ids of the jobs at a site."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"nvflare.private.fed.app.client.worker_process" in words and str(self.kit(site)).encode() in words:
                found.append(int(folder.name))
        return found

    def said(self, site: str) -> str:
        """What the party at a site has said."""
        file = self.kit(site) / "partywise.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def results(self, site: str, configuration: str) -> Path:
        """The folder of a party's results."""
        return self.kit(site) / "partywise" / configuration
