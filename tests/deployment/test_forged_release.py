"""A published folder in which somebody forged a file, a field, a signature or a certificate: what the verb names."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

from partywise.core import documents
from partywise.deployment.statement import files
from partywise.deployment.wire.authority import certificate, make, new_authority
from partywise.deployment.wire.authority import write as write_certificate
from partywise.deployment.wire.credential import Credential, chain_problem
from release_folders import CLIENTS, checked, json_of, sealed, write_json

pytest_plugins = ["release_fixtures"]


def field(*path: Any, to: Any) -> Callable[[Path, Path], None]:
    """A field of the statement is another one, signed again."""

    def forge(folder: Path, keys: Path) -> None:
        told = json_of(folder, "statement.json")
        inner = told
        for key in path[:-1]:
            inner = inner[key]
        before = inner[path[-1]]
        inner[path[-1]] = to(before) if callable(to) else to
        assert inner[path[-1]] != before
        sealed(folder, keys, told)

    return forge


def text(name: str, pattern: str, by: str, seal: bool = False) -> Callable[[Path, Path], None]:
    """Some text of a file is another one."""

    def forge(folder: Path, keys: Path) -> None:
        before = (folder / name).read_text()
        after = re.sub(pattern, by, before, count=1, flags=re.MULTILINE)
        assert after != before
        (folder / name).write_text(after)
        if seal:
            sealed(folder, keys, json_of(folder, "statement.json"))

    return forge


def late(folder: Path, keys: Path) -> None:
    """Registered after the data were opened."""
    name = "registration/north.json"
    told = json_of(folder, name) | {"time": (datetime.now(UTC) + timedelta(hours=1)).strftime(documents.TIME)}
    told |= Credential(keys, "north").sign(files.registration_words(told))
    write_json(folder, name, told)
    sealed(folder, keys, json_of(folder, "statement.json"))


def other_purpose(folder: Path, keys: Path) -> None:
    """The signature of a registration in place of one of the statement."""
    told = json_of(folder, "signatures.json")
    write_json(folder, "signatures.json", told | {"north": json_of(folder, "registration/north.json")["signature"]})


def other_authority(folder: Path, keys: Path) -> None:
    """All certificates and signatures are new: of an authority that somebody made."""
    made = folder.parent / "forged"
    make(made, CLIENTS)
    resigned(folder, made)


def issued(name: str, subject: str, keys: Path, signer: str, into: Path, days: tuple[float, float] = (-1, 9)) -> None:
    """Certificate and key for a name, signed by the key of whoever has one there, whose certificate comes after it."""
    issuer = load_pem_x509_certificate((keys / f"{signer}.pem").read_bytes())
    key = load_pem_private_key((keys / f"{signer}.key").read_bytes(), None)
    begin, end = (datetime.now(UTC) + timedelta(days=day) for day in days)
    write_certificate(into, name, *certificate(subject, (issuer, key), begin, end))
    if signer != "authority":
        with (into / f"{name}.pem").open("a") as file:
            file.write((keys / f"{signer}.pem").read_text())


def reissued(
    signer: str, subjects: Mapping[str, str] = {}, days: tuple[float, float] = (-1, 9)
) -> Callable[[Path, Path], None]:
    """Owners have other certificates, issued by a key of this project, and a digit of what they measured is another."""

    def forge(folder: Path, keys: Path) -> None:
        made = folder.parent / "forged"
        made.mkdir()
        shutil.copy(keys / "authority.pem", made)
        for name in CLIENTS:
            issued(name, subjects.get(name, name), keys, signer, made, days)
        resigned(folder, made)

    return forge


def host_of_another(folder: Path, keys: Path) -> None:
    """A machine of the same authority signs for an owner, as whose host the configuration names it."""
    unpinned(folder, "evil.example")
    reissued("authority", {"north": "evil.example"})(folder, keys)


def other_authority_unpinned(folder: Path, keys: Path) -> None:
    """As `other_authority`, with a configuration that names its certificates."""
    unpinned(folder)
    other_authority(folder, keys)
    config, told = json_of(folder, "configuration.json"), json_of(folder, "statement.json")
    config["network"]["certificates"] = told["fingerprints"]
    write_json(folder, "configuration.json", config)
    told["configuration"] = documents.digest_of((folder / "configuration.json").read_bytes())
    sealed(folder, folder.parent / "forged", told)


def unpinned(folder: Path, host: str = "localhost") -> None:
    """A configuration without certificates and registrations, in which the first owner has another host."""
    config = json_of(folder, "configuration.json")
    config["network"]["parties"]["north"]["host"] = host
    del config["network"]["certificates"], config["network"]["registration"]
    write_json(folder, "configuration.json", config)
    write_json(folder, "statement.json", unregistered(folder))


def unregistered(folder: Path, *names: str) -> dict[str, Any]:
    """The statement without registrations of some owners, or of all, whose files are removed."""
    left_out = names or CLIENTS
    statement: dict[str, Any] = json_of(folder, "statement.json")
    statement["registrations"] = [name for name in CLIENTS if name not in left_out]
    for name in left_out:
        del statement["files"][f"registration/{name}.json"]
        (folder / "registration" / f"{name}.json").unlink()
    return statement


def resigned(folder: Path, made: Path) -> None:
    """All that owners signed is signed again, by certificates and keys of a folder."""
    for name in (*CLIENTS, "authority"):
        shutil.copy(made / f"{name}.pem", folder / "certificates" / f"{name}.pem")
    told = json_of(folder, "statement.json")
    told["fingerprints"] = {name: Credential.fingerprint((made / f"{name}.pem").read_text()) for name in CLIENTS}
    for name in CLIENTS if told["registrations"] else ():
        registered = json_of(folder, f"registration/{name}.json")
        registered |= Credential(made, name).sign(files.registration_words(registered))
        write_json(folder, f"registration/{name}.json", registered)
    sealed(folder, made, told)


def removed(name: str) -> Callable[[Path, Path], None]:
    return lambda folder, keys: (folder / name).unlink()


def added(folder: Path, keys: Path) -> None:
    (folder / "outcome.json").write_text("{}")


def without_registrations(folder: Path, keys: Path) -> None:
    """Only one of the owners registered."""
    sealed(folder, keys, unregistered(folder, "south"))


def foreign_code(folder: Path, keys: Path) -> None:
    """Whoever checks it would run a module that lies in the folder."""
    (folder / "evil.py").write_text("raise SystemExit('it ran')\n")
    told = json_of(folder, "statement.json")
    told["files"]["evil.py"] = ""
    sealed(folder, keys, told)


def foreign_address(folder: Path, keys: Path) -> None:
    """As `foreign_code`, of a module that lies elsewhere."""
    config = json_of(folder, "configuration.json")
    config["studies"]["sliced_inverse_regression"]["methods"]["m"]["protocol"] = "antigravity:PROTOCOL"
    write_json(folder, "configuration.json", config)
    sealed(folder, keys, unregistered(folder))


def without_estimate(folder: Path, keys: Path) -> None:
    told = json_of(folder, "statement.json")
    del told["files"]["estimate.csv"]
    (folder / "estimate.csv").unlink()
    sealed(folder, keys, told)


def half(value: float) -> float:
    return value / 2


RELEASES = "releases"


# What somebody forges, with what the complaint must name.
FORGERIES: Mapping[str, tuple[Callable[[Path, Path], None], str]] = {
    "a digit of a measurement": (text("measurements.csv", r"\.(\d)", r".9\1"), "measurements.csv"),
    "a digit of a measurement, sealed": (text("measurements.csv", r"\.(\d)", r".9\1", True), "estimate.csv"),
    "a row of the measurements": (text("measurements.csv", r"^second moment,2.*\n", "", True), "entries of"),
    "the noise of an entry": (
        text("measurements.csv", r"^(second moment,0,[^,]*,)", r"\g<1>1", True),
        "noise of deviation",
    ),
    "a digit of the estimate": (text("estimate.csv", r"(\d\.\d)", r"\g<1>9"), "estimate.csv"),
    "a digit of the estimate, sealed": (text("estimate.csv", r"(\d\.\d)", r"\g<1>9", True), "estimate.csv"),
    "no estimate": (without_estimate, "estimate.csv"),
    "the text": (text("statement.md", r"epsilon (\d)", r"epsilon 0.\1"), "statement.md"),
    "a bound of the configuration": (text("configuration.json", r"\b80\b", "90", True), "registration"),
    "epsilon": (field("epsilon", "user", to=half), "user of epsilon"),
    "the epsilon of the public": (field("epsilon_public", to=half), "epsilon_public"),
    "the epsilon of anybody": (field("epsilon_any", to=half), "epsilon_any"),
    "a coalition": (field("coalitions", 1, "epsilon", to=half), "coalitions"),
    "a coalition less": (field("coalitions", to=lambda all: all[1:]), "coalitions"),
    "true positives": (field("true_positives", "row", to=half), "true_positives"),
    "delta": (field("delta", to=half), "delta"),
    "records": (field("n_protected", to=lambda n: n * 3), "delta|n_protected|estimate|measurements"),
    "the unit": (field("unit", to="row"), "unit"),
    "the relation": (field("relation", to="label_flip"), "relation"),
    "trust": (field("trust", to="nobody"), "trust"),
    "colluders": (field("colluders", to=0), "colluders"),
    "what is unprotected": (field("unprotected_units", to=["label"]), "unprotected_units"),
    "what is not protected": (field("not_protected", to=[]), "not_protected"),
    "a public bound": (field("public", 0, "because", to="it is so"), "public"),
    "the method": (field("method", to="other"), "method"),
    "an option": (field("options", "epsilon", to=half), "options"),
    "the estimator": (field("estimator", "function", to="mine:fit"), "estimator"),
    "intervals": (field("intervals", "numbers", to=1), "intervals"),
    "mu of a release": (field(RELEASES, 0, "mu", to=half), "noise of deviation"),
    "sensitivity of a release": (field(RELEASES, 0, "sensitivity", to=half), "states sensitivity"),
    "formula of a release": (field(RELEASES, 0, "formula", to="stated"), "list of formulas"),
    "input of a formula": (field(RELEASES, 0, "inputs", "squared_length", to=4), "states sensitivity"),
    "a release that is not exact": (field(RELEASES, 0, "exact", to=False), "exactly and in secret"),
    "the sampler of a release": (field(RELEASES, 0, "sampler", to="simulation"), "exactly and in secret"),
    "owners of a release": (field(RELEASES, 0, "owners", to=["north"]), "not its owners"),
    "shares of a release": (field(RELEASES, 0, "shares", "north", to="1/4"), "noise of deviation"),
    "who knows the noise": (field(RELEASES, 0, "knows", to=["server"]), "knows"),
    "distance of a release": (field(RELEASES, 0, "tv", to=0.0), "tv"),
    "stratum of a release": (field(RELEASES, 0, "stratum", to="clients/north"), "stratum"),
    "a release less": (field(RELEASES, to=lambda all: all[1:]), "not a release of the statement"),
    "a field more": (field("accounts", to=lambda all: all | {"east": {}}), "certificates/east.pem"),
    "the fingerprint of a certificate": (field("fingerprints", "north", to="0" * 64), "not that of the statement"),
    "a later registration": (late, "registration/north.json is later"),
    "a registration less": (without_registrations, "not all of"),
    "another code": (field("code", to="0" * 64), "of another code"),
    "the beginning": (field("began", to="2001-01-01T00:00:00Z"), "later|did not hold"),
    "the end": (field("end_day", to="2999-01-01"), "did not hold"),
    "an unsigned statement": (text("statement.json", r'"colluders": 1', '"colluders": 0'), "signature"),
    "a signature of another purpose": (other_purpose, "another signature"),
    "another authority": (other_authority, "network.certificates names"),
    "another authority, in whose name the configuration is": (other_authority_unpinned, "not of the authority"),
    "no certificates in the configuration": (lambda folder, keys: unpinned(folder), "configuration"),
    "certificates that a place without data signed": (reissued("server"), r"not of the authority.*cA must be asserted"),
    "certificates that an owner signed": (reissued("north"), r"not of the authority.*cA must be asserted"),
    "certificates of the authority that are not pinned": (reissued("authority"), "network.certificates names"),
    "certificates of the other owner": (
        reissued("authority", {"north": "south", "south": "north"}),
        "certificate of another party",
    ),
    "certificates that had ended": (reissued("authority", days=(-9, -1)), "did not hold"),
    "certificates that had not begun": (reissued("authority", days=(1, 9)), "did not hold"),
    "a host of the configuration": (host_of_another, "certificate of another party"),
    "owners apart": (field("owners", "north", "row", to=half), "owners"),
    "an owner less": (field("owners", to=lambda all: {"north": all["north"]}), "owners"),
    "mu of a coalition": (field("coalitions", 0, "mu", to=half), "coalitions"),
    "the study": (field("study", to="other"), "study"),
    "the case": (field("case", to="other"), "case"),
    "one over the number of records": (field("delta_below_1_over_n", to=False), "delta_below_1_over_n"),
    "the digest of the configuration": (field("configuration", to="0" * 64), "configuration"),
    "the parents of a release": (field(RELEASES, 0, "parents", to=["radius"]), "parents"),
    "the entries of a release": (field(RELEASES, 0, "entries", to=lambda count: count + 1), "entries of"),
    "the format": (field("format", to=1), "not of format"),
    "a module in the folder": (foreign_code, "lists 'evil.py'"),
    "a module from elsewhere": (foreign_address, "antigravity:PROTOCOL, a module from outside"),
    "a file more": (added, "outcome.json is not listed"),
    "a file less": (removed("certificates/north.pem"), "certificates/north.pem is missing"),
    "a key twice": (text("statement.json", r'("colluders": 1,)', r'\1 "colluders": 1,'), "occurs twice"),
    "a number that is none": (text("statement.json", r'"colluders": 1', '"colluders": NaN'), "not a finite number"),
    "not in UTF-8": (lambda folder, keys: (folder / "statement.json").write_bytes(b"\xff{}"), "UTF-8"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_was_forged_is_named(name, copied, published, capsys):
    forge, words = FORGERIES[name]
    forge(copied, published / "certificates")
    code, _, err = checked(copied, published, capsys)
    assert code == 1 and re.search(words, err), err


def test_certificates_that_expired_after_the_run_still_pass():
    """They are asked at the end of the run, and by nobody's clock of today."""
    assert files.checked_at("2026-11-27T01:00:00Z", "2026-11-27").hour == 1
    assert files.checked_at("2026-11-26T23:00:00Z", "2026-11-27").isoformat() == "2026-11-27T00:00:00+00:00"


def test_a_certificate_is_asked_at_the_end_of_the_run_and_not_today(published):
    begin, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    signer = new_authority(begin, end)
    made, _ = certificate("north", signer, begin, end)
    text, authority = (one.public_bytes(Encoding.PEM).decode() for one in (made, signer[0]))
    assert chain_problem(text, authority, files.checked_at("2026-01-01T10:00:00Z", "2026-01-01")) == ""
    for day in ("2025-12-31", "2026-01-03"):
        assert "did not hold at" in chain_problem(text, authority, files.checked_at(f"{day}T01:00:00Z", day))
