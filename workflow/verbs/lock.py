"""The verb ``./run lock``: the dependencies resolved anew, into five files with hashes; any Python runs it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from shutil import which

from partywise.core.verbs import new_parser

EXPORT = ["uv", "export", "--quiet", "--frozen", "--no-emit-project", "--no-header", "--format", "requirements-txt"]
LOCKS = {
    "locks/requirements.lock": ["--extra", "pipeline", "--extra", "figures", "--no-default-groups", "--group", "build"],
    # NVFlare has an environment of its own, in tests as well.
    "locks/requirements-test.lock": ["--all-extras", "--no-extra", "nvflare", "--all-groups"],
    "locks/requirements-network.lock": ["--extra", "network", "--no-default-groups"],
    "locks/requirements-nvflare.lock": ["--extra", "nvflare", "--no-default-groups"],
}
FRAMEWORKS = ["uv", "pip", "compile", "--quiet", "--upgrade", "--universal", "--no-header", "--generate-hashes"]
FRAMEWORKS += ["--override", "frameworks_without.txt", "frameworks.txt"]
FRAMEWORKS += ["-o", "../../../locks/requirements-frameworks.lock"]


def main(words: Sequence[str]) -> int:
    """Write all locks; 2 without uv, or the exit code of the step that fails."""
    new_parser("lock").parse_args(words)
    if which("uv") is None:
        print("./run lock needs uv on the path: python3 -m pip install uv.", file=sys.stderr)
        return 2
    try:
        subprocess.run(["uv", "lock", "--quiet", "--upgrade"], check=True)
        for name, options in LOCKS.items():
            with Path(name).open("w", encoding="utf-8") as lock:
                subprocess.run([*EXPORT, *options], stdout=lock, check=True)
        Path("uv.lock").unlink(missing_ok=True)
        subprocess.run([*FRAMEWORKS, "--python-version", oldest_python()], cwd="tests/methods/filters", check=True)
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


def oldest_python() -> str:
    """The oldest Python of the package."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["requires-python"].removeprefix(">="))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
