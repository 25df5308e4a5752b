"""Published folders: two clients that have registered a fit, pinned certificates, and the verb that checks."""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from deployment_cases import Apart
from deployment_processes import Parties
from partywise.__main__ import main
from partywise.core import documents
from partywise.deployment.outcomes.run_files import last_run
from partywise.deployment.session import link
from partywise.deployment.session.session import library_digest
from partywise.deployment.settings import digest
from partywise.deployment.statement import files
from partywise.deployment.statement.statement import text_of
from partywise.deployment.wire.authority import make
from partywise.deployment.wire.credential import Credential
from partywise.deployment.wire.frames import encode_frame

CLIENTS = ("north", "south")
# SHA-256 of all frames of the published run.
FRAMES = "frames.txt"


def prepared(folder: Path, *targets: float, **method: Any) -> Parties:
    """Two clients that have registered one fit, or one of each target, with their certificates and files."""
    case = Apart("sliced_inverse_regression")
    if targets:
        del case.network["method"], case.network["epsilon"]
        case.grid["epsilon"], case.network["fits"] = list(targets), "grid"
    case.method = {"protocol": "certified", "noise": "shared"} | method
    case.write(folder)
    pin(case, folder)
    case.network |= {"mode": "release", "registration": "registration"}
    parties = Parties(case, folder)
    parties.configs = {name: dict(case.config) for name in case.names}
    for name in CLIENTS:
        signed = files.register(Credential(folder / "certificates", name), name, digest(case.config), library_digest())
        (folder / "registration").mkdir(exist_ok=True)
        (folder / "registration" / f"{name}.json").write_bytes(signed)
    return parties


@cache
def published_run(folder: Path) -> Path:
    """The folder of a run that was published, and all that its parties have: made once in this process."""
    folder.mkdir()

    def noted(*terms: Any) -> bytes:
        frame = encode_frame(*terms)
        with (folder / FRAMES).open("a") as handle:
            handle.write(f"{sha256(frame).hexdigest()}\n")
        return frame

    # Parties are forks of this process.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link, "encode_frame", noted)
        told = prepared(folder).all()
    assert {one.code for one in told.values()} == {0}, told
    assert "signed by north, south" in told["server"].out and "signed what server writes" in told["north"].out
    return folder


def checked(folder: Path, published: Path, capsys, *words: str) -> tuple[int, str, str]:
    """Exit code, lines and complaint of the verb."""
    authority = words or ("--authority", str(published / "certificates" / "authority.pem"))
    code = main(["publish", "check-release", str(folder), *authority])
    told = capsys.readouterr()
    return code, told.out, told.err


def json_of(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


def write_json(folder: Path, name: str, told: Any) -> None:
    (folder / name).write_bytes(documents.encode_json(told))


def sealed(folder: Path, keys: Path, told: dict[str, Any]) -> None:
    """Write a statement with digests, text and signatures that fit: by whoever has all keys of the signers."""
    told["files"] = {name: documents.digest_of((folder / name).read_bytes()) for name in told["files"]}
    write_json(folder, "statement.json", told)
    (folder / "statement.md").write_bytes(text_of(told))
    words = files.statement_words((folder / "statement.json").read_bytes())
    signers = json_of(folder, "signatures.json")
    write_json(folder, "signatures.json", {name: Credential(keys, name).sign(words)["signature"] for name in signers})


def pin(case: Apart, folder: Path) -> None:
    """Make the certificates of a case, and have its configuration name them."""
    make(folder / "certificates", case.names)
    texts = {name: (folder / "certificates" / f"{name}.pem").read_text() for name in case.names}
    case.network["certificates"] = {name: Credential.fingerprint(text) for name, text in texts.items()}


def publish(case: Apart, folder: Path) -> Path:
    """Run the parties of a case under certificates; the folder that its publisher, or its analyst, wrote."""
    case.write(folder)
    pin(case, folder)
    Parties(case, folder).succeeded()
    return last_run(folder / "out" / case.network.get("publisher", "analyst")) / "release"
