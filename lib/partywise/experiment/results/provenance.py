"""The global attributes of a cube: what made it, without dates, hosts or paths."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from warnings import warn

from ... import __version__
from ..plan import Plan

PACKAGES = ("numpy", "scipy", "xarray", "netCDF4")


def global_attributes(plan: Plan, *, code_sha256: str, root: Path) -> dict[str, str]:
    """Attributes that suffice to make the cube again."""
    config = config_json(plan)
    digest = hashlib.sha256(config.encode()).hexdigest()
    study = plan.study
    cells = sum(len(c.methods) * c.replicates * len(c.parties) * c.folds for c in plan.cases.values())
    return {
        "Conventions": "CF-1.11, ACDD-1.3",
        "title": study.title,
        "summary": (
            f"One number for each fit of the study {study.name}: {len(plan.cases)} cases and {cells} combinations of "
            "method, replicate, party count and fold, with claimed and certified epsilon and measured bytes."
        ),
        "source": f"partywise {__version__}, study {study.name}",
        "references": study.references,
        "license": "MIT",
        "creator_name": "The partywise authors",
        "id": f"partywise.{study.name}.{digest[:16]}",
        "processing_level": "one value per fit, no averages",
        "history": f"generate, fit, collect by partywise {__version__}",
        "config_json": config,
        "config_sha256": digest,
        "code_sha256": code_sha256,
        "lock_sha256": _file_digest(root / "locks/requirements.lock"),
        "git_commit": git_commit(root),
        "software_versions": json.dumps(software_versions(), sort_keys=True),
    }


def config_json(plan: Plan) -> str:
    """The configuration that the cube depends on as JSON, in the order in which it was written; infinity is
    ``Infinity``."""
    return json.dumps({"root_seed": plan.root_seed, "study": plan.study.name, **plan.whole()["block"]})


def software_versions() -> dict[str, str]:
    """Versions of Python and the numerical packages of this process."""
    versions: dict[str, str] = {"python": platform.python_version(), "partywise": __version__}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def git_commit(root: Path) -> str:
    """Revision of the project, ``-dirty`` when tracked files differ from it, ``unknown`` without a repository."""
    head = _git(root, "rev-parse", "HEAD")
    changed = None if head is None else _git(root, "status", "--porcelain", "--untracked-files=no")
    if head is None or changed is None:
        return "unknown"
    return head + ("-dirty" if changed else "")


def _git(root: Path, *arguments: str) -> str | None:
    """Output of a git command about this very folder, None where it is not a repository of its own.

    A repository that another user owns is read as well: git refuses it since its settings can name programs, and who
    gets here has run the programs of this folder already.  Where git cannot answer, a warning gives the reason.
    """
    if not (root / ".git").exists():
        return None
    command = ["git", "-c", f"safe.directory={root.resolve()}", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        warn(
            f"git cannot be asked for the revision ({error.strerror}): the cube says git_commit unknown.", stacklevel=2
        )
        return None
    if done.returncode == 0:
        return done.stdout.strip()
    reason = done.stderr.strip().partition("\n")[0]
    warn(f"git does not tell the revision ({reason}): the cube says git_commit unknown.", stacklevel=2)
    return None


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "unknown"
