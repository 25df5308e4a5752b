"""The image of one party is built where a builder is there, and has all that a party runs; else the reason is said.

The parties of the compose file run as process 1 of a namespace in any case.

Run by ``./run test --system``. The base image and packages come from the registry and index of the builder.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pipeline import ROOT

pytestmark = pytest.mark.system
TAG, SECONDS = "partywise-party:test", 1800
# A program, how it says that it can build, and how it builds and runs.
BUILDERS = (
    ("docker", ["info"], ["build"], ["run", "--rm"]),
    ("podman", ["info"], ["build"], ["run", "--rm"]),
    ("buildah", ["info"], ["build"], None),
)
INSIDE = """
import nacl.public, nvflare, os, tno.mpc.communication
import partywise.deployment.nvflare.site
from partywise.__main__ import main
assert nvflare.__version__ == "2.9.0" and os.getuid() != 0
try:
    main(["network", "nvflare-job", "--help"])
except SystemExit as ended:
    assert ended.code == 0
"""


def said(words: list[str]) -> subprocess.CompletedProcess[str]:
    """What became of a command of a builder."""
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS)


def builder() -> tuple[str, list[str], list[str] | None]:
    """A builder that works; skipped with what keeps each from it."""
    reasons = []
    for name, asks, builds, runs in BUILDERS:
        if shutil.which(name) is None:
            reasons.append(f"{name} is not installed")
            continue
        asked = said([name, *asks])
        lines = (asked.stdout + asked.stderr).strip().splitlines()
        if asked.returncode == 0:
            return name, builds, runs
        reasons.append(f"{name}: {lines[-1] if lines else asked.returncode}")
    pytest.skip("no image was built: " + "; ".join(reasons))


def test_the_image_of_a_party_has_all_that_it_runs():
    name, builds, runs = builder()
    words = ["--file", "packaging/Dockerfile", "--target", "party", "--tag", TAG]
    if base := os.environ.get("PARTYWISE_BASE"):
        words += ["--build-arg", f"BASE={base}"]
    made = said([name, *builds, *words, "."])
    assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:]
    if runs is None:
        container = said([name, "from", TAG])
        assert container.returncode == 0, container.stderr
        ran = said([name, "run", container.stdout.strip(), "--", "python", "-c", INSIDE])
        said([name, "rm", container.stdout.strip()])
    else:
        ran = said([name, *runs, TAG, "python", "-c", INSIDE])
    assert ran.returncode == 0, ran.stdout + ran.stderr


COMPOSE = ROOT / "config" / "deployment" / "compose.yml"


def test_the_parties_of_the_compose_file_run_as_process_1(tmp_path):
    """Each in a namespace of its own for processes, as in a container, where no engine is needed."""
    services = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
    shared = tmp_path / "shared.yaml"
    shutil.copy(ROOT / "config" / "network_tables.example.yaml", shared)
    python = [sys.executable, "-m", "partywise"]
    names = tmp_path / "certificates"
    made = said([*python, "network", "certificates", "--config", str(shared), "--into", str(names)])
    assert made.returncode == 0, made.stderr
    processes = {}
    for name, service in services.items():
        (tmp_path / name).mkdir()
        mounts = {"/shared.yaml": str(shared), "/data": str(ROOT), "/certificates": str(names)}
        assert {one.split(":")[1] for one in service["volumes"]} - {"/results"} <= mounts.keys()
        mounts |= {"/results": str(tmp_path / name), "/results/ledger.jsonl": str(tmp_path / name / "ledger.jsonl")}
        words = [*python, *(mounts.get(word, word) for word in service["command"][3:])]
        port = yaml.safe_load(shared.read_text())["network"]["parties"][name]["port"]
        assert str(port) in service["healthcheck"]["test"][-1]
        space = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "--"]
        # Process 1 of the namespace says so itself.
        first = f"import os, sys; assert os.getpid() == 1; os.execv({sys.executable!r}, {words!r})"
        processes[name] = subprocess.Popen(
            [*space, sys.executable, "-c", first], cwd=tmp_path, stdout=-1, stderr=subprocess.STDOUT, text=True
        )
    told = {name: process.communicate(timeout=300)[0] for name, process in processes.items()}
    assert {name: process.returncode for name, process in processes.items()} == dict.fromkeys(services, 0), told
    assert all("estimate: " in one for one in told.values())


def test_process_1_ends_the_run_for_all_when_it_is_told_to_stop(tmp_path):
    words = ["-m", "partywise", "network", "party", "--config", str(ROOT / "config" / "network_tables.example.yaml")]
    made = said([sys.executable, *words[:3], "certificates", *words[4:], "--into", str(tmp_path / "certificates")])
    assert made.returncode == 0, made.stderr
    words += ["--me", "dealer", "--certificates", str(tmp_path / "certificates"), "--into", str(tmp_path / "out")]
    space = ["unshare", "--pid", "--fork", "--mount-proc", "--"]
    with subprocess.Popen([*space, sys.executable, *words], stderr=subprocess.PIPE, text=True) as party:
        assert party.stderr is not None
        line = ""
        while "waiting for bank, shop" not in line:
            line = party.stderr.readline()
            assert line, "it ended before it waited"
        # Of the process in the namespace, which has another number out here.
        inside = int(Path(f"/proc/{party.pid}/task/{party.pid}/children").read_text().split()[0])
        os.kill(inside, signal.SIGTERM)
        said_last = party.stderr.read()
    assert "party: 'dealer' was stopped (SIGTERM)." in said_last and party.returncode == 1
