"""The image of one party is built where a builder is there, and has all that a party runs; else the reason is said.

Run by ``./run system``. The base image and packages come from the registry and index of the builder.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

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
import partywise.experiment.deployment.nvflare.site
from partywise.__main__ import main
assert nvflare.__version__ == "2.9.0" and os.getuid() != 0
try:
    main(["nvflare-job", "--help"])
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
    words = ["--target", "party", "--tag", TAG]
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
