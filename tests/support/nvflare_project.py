"""A project of NVFlare on this machine: provisioned, a server and the sites of a case as processes, jobs submitted.

Its processes run with the Python of an environment that has the extra ``nvflare``; this module needs none of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import yaml

from network_driver import addresses
from partywise.deployment.wire.tls import site_name
from pipeline import ROOT, environment

ADMIN, SERVER, NAME = "admin@example.com", "localhost", "clinics"
SITE = "partywise.deployment.nvflare.site"
BUILDERS = ("workspace.WorkspaceBuilder", "static_file.StaticFileBuilder", "cert.CertBuilder")
COMPLETED = "FINISHED:COMPLETED"
# Its module ends a job where a test asks for it.
MORTAL = ROOT / "tests" / "support" / "mortal_site"
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
    """The Python of a new environment with all that ``locks/requirements-nvflare.lock`` names."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r"]
    words += ["locks/requirements-nvflare.lock"]
    done = subprocess.run([str(python), *words], cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return python


class Project:
    """A provisioned project with a site for each of some parties.

    python : of an environment with the extra; folder : of all startup kits
    paths : folders of modules beside those of the library, for the processes of all
    """

    def __init__(self, python: Path, folder: Path, names: Sequence[str], paths: Sequence[Path] = ()) -> None:
        self.python, self.folder, self._paths = python, folder, [ROOT / "lib", MORTAL, *paths]
        self.sites = {name: site_name(name) for name in names}
        self._processes = list[subprocess.Popen[bytes]]()
        self._provision()
        for site in self.sites.values():
            self.allow(site, f"{SITE}.PartyExecutor")
        self.allow(SERVER, f"{SITE}.PartyController")

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
        self.say("-m", "nvflare.cli", "provision", "-p", "project.yml", "-w", "kits", "--force")

    def say(self, *words: str) -> None:
        """A command of its Python, in its folder."""
        given = {"cwd": self.folder, "env": self.environment()}
        done = subprocess.run([str(self.python), *words], capture_output=True, text=True, **given)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stdout + done.stderr

    def environment(self, site: str = "") -> Mapping[str, str]:
        """For its processes: this checkout's library, and at a site a file that ends one of its jobs."""
        path = ":".join(map(str, self._paths))
        return {**environment(), "PYTHONPATH": path, "HOME": str(self.folder), "MORTAL": str(self.mortal(site))}

    def mortal(self, site: str) -> Path:
        """Where the next job at a site looks for the number of the frame at which it dies."""
        return self.folder / f"mortal {site}"

    def kit(self, name: str) -> Path:
        """The startup kit of the server, a site or the administrator."""
        return self.folder / "kits" / NAME / "prod_00" / name

    def allow(self, name: str, *classes: str) -> None:
        """Which classes a job may name at a site, and no others; logs stay where they are."""
        local = self.kit(name) / "local"
        text = (local / "resources.json.default").read_text(encoding="utf-8")
        # Servers of one machine would take each other's jobs.
        resources = json.loads(text.replace("/tmp/nvflare", str(self.folder / "store")))
        resources["class_allow_list"] = list(classes)
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
            # Jobs are processes in sessions of their own.
            for one in [one for process in self._processes for one in psutil.Process(process.pid).children(True)]:
                with suppress(psutil.NoSuchProcess):
                    one.kill()
            for process in self._processes:
                process.kill()
                process.wait()
            self._processes.clear()

    def run(self, job: Path | None = None, seconds: float = 240.0) -> str:
        """Submit a job, by default that in the folder ``job``, and wait for its end: what NVFlare says of it."""
        words = [str(self.python), "-c", SUBMIT, str(self.kit(ADMIN)), str(job or self.folder / "job"), str(seconds)]
        for _ in range(20):
            given = {"cwd": self.folder, "env": self.environment(), "timeout": seconds + 60}
            done = subprocess.run(words, capture_output=True, text=True, **given)  # type: ignore[call-overload]
            if done.returncode == 0:
                return str(done.stdout.split()[-1])
            # The server is not there yet.
            assert "connect" in (done.stdout + done.stderr).lower(), done.stdout + done.stderr
            time.sleep(0.5)
        raise AssertionError(done.stdout + done.stderr)

    def settle(self, name: str, data: Path) -> None:
        """Say at a site where own files are."""
        text = yaml.safe_dump({"data": str(data)})
        (self.kit(self.sites[name]) / "local" / "partywise.yaml").write_text(text, encoding="utf-8")
