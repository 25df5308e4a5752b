"""What pyproject.toml cannot say: a wheel carries the pipeline, which lies beside lib/, inside the package.

``partywise.core.project`` finds it in either place.  Of a clone only what is tracked is taken, never
somebody's own files.
"""

import subprocess
import sys
from pathlib import Path
from shutil import which

from setuptools import setup
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))

from partywise.core.verbs import VERBS

PARTS = (
    "CITATION.cff",
    "Snakefile",
    "config.yaml",
    "config",
    "docs/reference",
    "envs",
    "profiles",
    "scripts",
    "workflow",
)
# What reads the documents of a clone, and programs of the verbs that are about one.
LEFT = (
    "workflow/artifact/",
    *(f"workflow/{verb.function}" for verb in VERBS if verb.is_about_clone and verb.is_script),
)
TARGET = "partywise/pipeline"


def files() -> list[str]:
    """Files of the pipeline, as paths from here."""
    if Path(".git").exists() and (git := which("git")):
        # Files alone are listed, which no setting of somebody else's clone can turn into a program.
        listed = [git, "-c", "safe.directory=*", "ls-files", "--", *PARTS]
        names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
    else:
        names = [str(path) for part in map(Path, PARTS) for path in ([part] if part.is_file() else part.rglob("*"))]
    kept = [name for name in names if Path(name).is_file() and "__pycache__" not in name and not name.startswith(LEFT)]
    return sorted(kept)


class Build(build_py):
    """The library, and the pipeline within it; an editable installation is a clone and has it already."""

    def run(self) -> None:
        super().run()
        for name, path in self._carried().items():
            self.mkpath(str(Path(path).parent))
            self.copy_file(name, path, preserve_mode=False)

    def get_source_files(self) -> list[str]:
        return [*super().get_source_files(), *files()]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), *self._carried().values()]

    def get_output_mapping(self) -> dict[str, str]:
        return {**super().get_output_mapping(), **{path: name for name, path in self._carried().items()}}

    def _carried(self) -> dict[str, str]:
        """Where each file of the pipeline goes."""
        return {} if self.editable_mode else {name: str(Path(self.build_lib, TARGET, name)) for name in files()}


setup(cmdclass={"build_py": Build})
