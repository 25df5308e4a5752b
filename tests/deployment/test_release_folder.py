"""A published folder: written after a run of processes with TLS, checked without data, and never when it was forged."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

from deployment_cases import Apart
from deployment_processes import Parties
from partywise.__main__ import main
from partywise.core import documents
from partywise.core.errors import ConfigError
from partywise.deployment.outcomes.joint_results import join_results
from partywise.deployment.outcomes.run_files import last_run
from partywise.deployment.publication import publishing
from partywise.deployment.publication.release_folder import rebuild, terms_of
from partywise.deployment.rehearsal import _trial_measurements, publication_problem, rehearse
from partywise.deployment.running import dry_run
from partywise.deployment.session import link
from partywise.deployment.session.session import library_digest
from partywise.deployment.settings import digest
from partywise.deployment.start import PartyStart
from partywise.deployment.statement import files
from partywise.deployment.statement.measurements import values_in
from partywise.deployment.statement.statement import RunFacts, text_of
from partywise.deployment.wire.authority import certificate, make, new_authority
from partywise.deployment.wire.authority import write as write_certificate
from partywise.deployment.wire.credential import Credential, chain_problem
from partywise.deployment.wire.frames import encode_frame
from partywise.federation.account.account import Account
from partywise.federation.account.reading import opened_account
from partywise.privacy.mechanisms.integer import IntegerGaussian
from partywise.privacy.mechanisms.random import SecureRandom
from partywise.privacy.rounding import upward
from partywise.privacy.statistics.whole import whole
from plain_digests import artifacts_with, digests_of_file

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


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """The folder of a run that was published, and all that its parties have."""
    folder = tmp_path_factory.mktemp("published")

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


def test_each_fit_of_a_session_publishes_a_folder_of_its_own(tmp_path, capsys):
    told = prepared(tmp_path, 1.0, 2.0).succeeded()
    statements = []
    for epsilon in (1.0, 2.0):
        folder = last_run(tmp_path / "out" / "server" / f"m_epsilon{epsilon}_fold0") / "release"
        assert f"wrote {folder.relative_to(tmp_path)} (signed by north, south)" in told["server"].out
        assert checked(folder, tmp_path, capsys)[0] == 0
        statements.append(json.loads((folder / "statement.json").read_text()))
    assert [one["options"]["epsilon"] for one in statements] == [1.0, 2.0]
    # What others may know of the fits before it stands in the statement of each.
    assert [one["runs"]["north"]["begun"] for one in statements] == [1, 2]
    folder = last_run(tmp_path / "out" / "server" / "m_epsilon1.0_fold0") / "release"
    other = last_run(tmp_path / "out" / "server" / "m_epsilon2.0_fold0") / "release"
    shutil.copy(other / "measurements.csv", folder)
    assert checked(folder, tmp_path, capsys)[0] == 1


@pytest.fixture
def copied(published, tmp_path) -> Path:
    """The folder alone, elsewhere."""
    return Path(shutil.copytree(last_run(published / "out" / "server") / "release", tmp_path / "copy"))


def checked(folder: Path, published: Path, capsys, *words: str) -> tuple[int, str, str]:
    """Exit code, lines and complaint of the verb."""
    authority = words or ("--authority", str(published / "certificates" / "authority.pem"))
    code = main(["publish", "check-release", str(folder), *authority])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_copy_without_data_passes_in_less_than_two_seconds(copied, published, capsys, tmp_path):
    begun = process_time()
    code, out, err = checked(copied, published, capsys)
    assert (code, err) == (0, "") and process_time() - begun < 2
    assert len(out.splitlines()) == 10 and out.splitlines()[-1].startswith("signers:")
    names = {path.relative_to(copied).as_posix() for path in copied.rglob("*") if path.is_file()}
    rooms = {f"certificates/{name}.pem" for name in (*CLIENTS, "authority")}
    assert {name for name in names if "/" in name} == rooms | {f"registration/{name}.json" for name in CLIENTS}
    words = ["publish", "check-release", str(copied), "--authority", str(published / "certificates" / "authority.pem")]
    blocked = (
        "import sys; sys.modules['yaml'] = None; from partywise.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    assert subprocess.run([sys.executable, "-c", blocked, *words], cwd=tmp_path, check=False).returncode == 0


def test_a_folder_that_names_the_verb_of_before_is_checked(copied, published, capsys):
    """And the call that it names ends in a sentence with the present one."""
    text = (copied / "statement.md").read_text()
    assert text.count("python -m partywise publish check-release FOLDER") == 1
    (copied / "statement.md").write_text(text.replace("publish check-release", "check-release"))
    assert checked(copied, published, capsys)[0] == 0
    assert main(["check-release", str(copied)]) == 2
    assert "publish check-release" in capsys.readouterr().err


def test_nobody_who_vouches_for_the_signers_is_said(copied, published, capsys):
    prints = json.loads((copied / "statement.json").read_text())["fingerprints"]
    code, out, _ = checked(copied, published, capsys, "--fingerprint", f"north={prints['north']}")
    assert code == 2 and "UNKNOWN authority, sha256" in out.splitlines()[-1]
    both = [word for name in CLIENTS for word in ("--fingerprint", f"{name}={prints[name]}")]
    assert checked(copied, published, capsys, *both)[0] == 0
    assert checked(copied, published, capsys, *both[:3], f"south={'0' * 64}")[0] == 1


def test_the_statement_says_what_the_parties_paid_and_nothing_else_of_their_data(published):
    folder = last_run(published / "out" / "server") / "release"
    told = json.loads((folder / "statement.json").read_text())
    found = join_results([last_run(published / "out" / name) for name in (*CLIENTS, "server")])
    assert told["epsilon"][told["unit"]] == pytest.approx(found.total.epsilon_certified, rel=1e-9)
    assert told["epsilon_public"] == pytest.approx(found.total.epsilon_public, rel=1e-9)
    assert {one["members"]: one["epsilon"] for one in told["coalitions"]}["the public"] == told["epsilon_public"]
    text = (folder / "statement.md").read_text()
    assert len(text.splitlines()) <= 100 and max(map(len, text.splitlines())) <= 100
    plain = (folder / "statement.json").read_text()
    numbers = re.compile(r"\d+\.\d+(?:e-?\d+)?")
    known = {printed for number in numbers.findall(plain) for printed in (number, upward(number))}
    assert not [number for number in numbers.findall(text) if number not in known and number not in plain]
    for name in CLIENTS:
        rows = opened_account(published / name / "ledger.jsonl").rows
        kinds = [row.kind for row in rows]
        assert kinds.index("registered") < kinds.index("began") < kinds.index("published") < kinds.index("ended")
        row = next(row for row in rows if row.kind == "published")
        committed = files.commitment(bytes.fromhex(row.fields["nonce"]), row.digest)
        assert committed == told["accounts"][name]["commitment"]
        assert row.fields["event"]["audience"] == "*" and row.fields["event"]["mechanism"] == "post_processing"
        outcome = next(row.fields["outcome"] for row in rows if row.kind == "ended")
        assert outcome not in plain and row.digest not in plain and row.fields["nonce"] not in plain


def test_no_file_of_a_run_has_a_plain_digest_of_private_data(published):
    """An account, a log, a screen, a journal's end: whoever guesses a file, a column or a message confirms nothing."""
    frames = {digest: "a frame" for digest in (published / FRAMES).read_text().split()}
    own = [path for name in CLIENTS for path in (published / name).glob("*.csv")]
    digests = {digest: what for path in own for digest, what in digests_of_file(path).items()}
    assert len(own) == len(CLIENTS) and len(frames) > len(CLIENTS) and len(digests) > 10
    written = [path for path in published.rglob("*") if path not in own and path.name != FRAMES]
    assert {"run.jsonl", "ledger.jsonl", "ledger.ended", "north.err", "statement.json"} <= {one.name for one in written}
    assert artifacts_with(digests | frames, written) == []


def test_how_often_a_study_was_run_is_said(copied):
    told = json_of(copied, "statement.json")
    assert {one["begun"] for one in told["runs"].values()} == {1} and "was run" not in text_of(told).decode()
    told["runs"]["north"] = {"begun": 3, "epsilon": 5.5}
    assert (
        "north: this study was run 3 times, at epsilon 5.5 together; the owners could choose" in text_of(told).decode()
    )


def json_of(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


def write_json(folder: Path, name: str, told: Any) -> None:
    (folder / name).write_bytes(documents.encode_json(told))


def sealed(folder: Path, keys: Path, told: dict[str, Any]) -> None:
    """A statement with digests, text and signatures that fit: by whoever has all keys of the owners."""
    told["files"] = {name: documents.digest_of((folder / name).read_bytes()) for name in told["files"]}
    write_json(folder, "statement.json", told)
    (folder / "statement.md").write_bytes(text_of(told))
    words = files.statement_words((folder / "statement.json").read_bytes())
    signed = {name: Credential(keys, name).sign(words)["signature"] for name in CLIENTS}
    write_json(folder, "signatures.json", signed)


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
    told = json_of(folder, "statement.json") | {"registrations": []}
    for name in CLIENTS:
        del told["files"][f"registration/{name}.json"]
        (folder / "registration" / f"{name}.json").unlink()
    write_json(folder, "statement.json", told)


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
    told = json_of(folder, "statement.json") | {"registrations": ["north"]}
    del told["files"]["registration/south.json"]
    (folder / "registration" / "south.json").unlink()
    sealed(folder, keys, told)


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
    told = json_of(folder, "statement.json") | {"registrations": []}
    for name in CLIENTS:
        del told["files"][f"registration/{name}.json"]
        (folder / "registration" / f"{name}.json").unlink()
    sealed(folder, keys, told)


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


def test_what_an_owner_says_of_its_account_is_no_function_of_what_nobody_paid_for(published, tmp_path):
    """Two accounts that differ in what the party held and received only: the same facts, but for the commitment."""
    case = Apart("sliced_inverse_regression")
    event = IntegerGaussian(mu=0.5)(whole(np.array([3]), 4, 1.0, "slice sums"), SecureRandom(), owner="north").event
    credential = Credential(published / "certificates", "north")
    second = SimpleNamespace(id="second", credential=credential, choose=lambda _, make: make())
    found = []
    for held in ("a", "b"):
        with Account(tmp_path / f"{held}.jsonl", party="north") as account:
            for run in ("first", "second"):
                account.began(run, "c", "release", "sliced_inverse_regression")
                account.charge(replace(event, release_id=f"sums of {run}"))
                account.record_received(0, "server", "x", {"kind": held, "made_of": []}, held * 64)
                if run == "first":
                    account.record_end(held * 64)
            given = account, tmp_path, 60, None, "2026-01-01T00:00:00Z", {}
            part = publishing.Publication(case.deployment(), b"", "north", *given)
            found.append(part._account_facts(second))
    commitments = [one["account"].pop("commitment") for one in found]
    assert found[0] == found[1] and len(set(commitments)) == 2
    assert found[0]["runs"]["begun"] == 2 and found[0]["runs"]["epsilon"] > found[0]["account"]["paid"] > 0


def test_a_party_that_sees_other_files_does_not_sign_and_nobody_writes(tmp_path, monkeypatch):
    parties = prepared(tmp_path)
    original = publishing.Publication._rebuild

    def forged(self, *given):
        made = original(self, *given)
        if self.me == "server":
            told = dict(made.statement) | {"epsilon_public": 0.01}
            made.files[files.STATEMENT] = type(made.files[files.STATEMENT])(
                documents.encode_json(told), made.files[files.STATEMENT].event, made.files[files.STATEMENT].made_of
            )
        return made

    monkeypatch.setattr(publishing.Publication, "_rebuild", forged)
    told = parties.all()
    assert {one.code for one in told.values()} == {1}
    assert "does not sign: statement.json has another epsilon_public" in told["north"].err + told["south"].err
    assert not list((tmp_path / "out" / "server").rglob("release"))
    for name in CLIENTS:
        assert "published" in [row.kind for row in opened_account(tmp_path / name / "ledger.jsonl").rows]


def test_no_file_is_opened_before_all_have_registered(tmp_path):
    parties = prepared(tmp_path)
    (tmp_path / "registration" / "south.json").unlink()
    parties.start("north")
    told = parties.ended("north")["north"]
    assert told.code == 1 and "registration/south.json is missing: no data are opened" in told.err
    assert not [name for name in told.open if name.endswith("clients.csv")]
    assert not (tmp_path / "north" / "ledger.jsonl").exists()


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.999999999998649, "4"), (4.00001, "4.001"), (18.7, "18.7"), (123456.0, "123500"), ("inf", "inf"), (0.0, "0")],
)
def test_a_printed_epsilon_has_four_digits_and_is_never_below_the_certified_one(value, text):
    assert upward(value) == text and float(upward(value)) >= float(value)


def test_an_estimate_made_of_the_publishers_own_data_needs_units_that_were_named(tmp_path, capsys):
    """Codes of labels are published; what the holder of the features makes of them is not."""
    for run, units in (("first", []), ("second", ["features"])):
        case = Apart("label_private")
        case.method = {"protocol": "walr", "noise": "rr", "ridge": "fixed"}
        case.network |= {"mode": "release", "publisher": "shop", "unprotected_units": units}
        folder = tmp_path / run
        case.write(folder)
        pin(case, folder)
        Parties(case, folder).succeeded()
        release = last_run(folder / "out" / "shop") / "release"
        assert (release / "estimate.csv").exists() == bool(units)
        stated = json_of(release, "statement.json")
        assert stated["unprotected_units"] == units and 0 < stated["epsilon"]["label"] <= 2
        assert stated["epsilon"]["features"] == "inf" or not units
        assert checked(release, folder, capsys)[0] == 0


def test_coefficients_are_published_by_their_names_with_the_noise_in_them_and_checked(tmp_path, capsys):
    """The table that the publisher has for itself: who checks it makes the same of the measurements."""
    case = Apart("vertical_glm")
    case.network |= {"mode": "release", "trusted": {"dealer": "Statistics Office"}, "publisher": "analyst"}
    case.write(tmp_path)
    pin(case, tmp_path)
    Parties(case, tmp_path).succeeded()
    own = last_run(tmp_path / "out" / "analyst")
    release = own / "release"
    estimate = (release / "estimate.csv").read_text()
    assert estimate == (own / "estimate.csv").read_text()
    rows = [row.split(",") for row in estimate.splitlines()]
    assert rows[0] == ["name", "estimate", "noise_sd", "lower", "upper", "note", "centre", "interval"]
    model = json_of(own, "outcome.json")["estimate"]["model"]
    bias = model["no_intervals"]
    assert "have a bias that no epsilon removes" in bias and {row[5] for row in rows[1:6]} == {bias}
    stated = json_of(release, "statement.json")["intervals"]
    assert (stated["kind"], stated["numbers"]) == ("none", 0) and stated["reasons"][bias] == len(rows) - 1
    assert {tuple(row[6:]) for row in rows[1:]} == {("", "bias")}
    assert bias in " ".join((release / "statement.md").read_text().split())
    assert [row[0] for row in rows[1:6]] == ["intercept", "a", "c = y", "c = z", "b"]
    # At this epsilon no deviation of the noise can be stated, and the outcome has the reason.
    assert {row[2] for row in rows[1:6]} == {""} and "noise" in model["no_noise_sd"]
    assert checked(release, tmp_path, capsys)[0] == 0
    (release / "estimate.csv").write_text(estimate.replace(rows[2][2], "0.001", 1))
    assert checked(release, tmp_path, capsys)[0] == 1


def published_tables(units: list[str]) -> Apart:
    """Tables of the shop's columns under the bank's key, which the bank publishes."""
    case = Apart("vertical_trees")
    case.method = {"protocol": "tables", "cipher": "paillier", "num_of_trees": 1}
    case.network |= {"mode": "release", "publisher": "bank", "unprotected_units": units}
    case.network["certificates"] = dict.fromkeys(case.names, "0" * 64)
    return case


def pin(case: Apart, folder: Path) -> None:
    """Make the certificates of a case, and have its configuration name them."""
    make(folder / "certificates", case.names)
    texts = {name: (folder / "certificates" / f"{name}.pem").read_text() for name in case.names}
    case.network["certificates"] = {name: Credential.fingerprint(text) for name, text in texts.items()}


def test_a_publisher_needs_the_certificates_of_all_owners():
    case = published_tables(["label", "features"])
    del case.network["certificates"]["shop"]
    with pytest.raises(ConfigError, match=r"network.certificates lacks 'shop': .* network.publisher publishes"):
        case.deployment()


def test_tables_whose_publication_costs_the_label_holder_everything_need_units_that_were_named():
    words = "made of features and label of bank, .*unprotected_units does not name features"
    with pytest.raises(ConfigError, match=words):
        rehearse(published_tables(["label"]).deployment(), 60)


def test_a_budget_of_the_label_holder_refuses_to_publish_tables_before_anything_is_paid(tmp_path):
    case = published_tables(["label", "features"])
    case.network["budget"] = {"epsilon": 50.0, "delta": 1e-5, "unit": "row", "numeric_reserve": 1e-8}
    case.write(tmp_path)
    start = PartyStart(case.deployments(), "c" * 64, "bank", tmp_path / "bank", tmp_path, tmp_path / "out")
    found = {}
    for name in ("bank", "shop"):
        [line] = dry_run(replace(start, me=name, data=tmp_path / name)).left
        found[name] = "REFUSES" in line
    assert found == {"bank": True, "shop": False}


def test_noise_under_encryption_is_published_as_the_integers_that_the_key_holder_opens(tmp_path, capsys):
    """Whoever adds the noise cannot read what it releases; the folder is checked from what was opened."""
    case = published_tables(["label", "features"])
    case.write(tmp_path)
    pin(case, tmp_path)
    told = Parties(case, tmp_path).succeeded()
    release = last_run(tmp_path / "out" / "bank") / "release"
    assert "signed by" in told["bank"].out and "signed what bank writes" in told["shop"].out
    assert checked(release, tmp_path, capsys)[0] == 0
    before = (release / "measurements.csv").read_text()
    rows = [row.split(",") for row in before.splitlines()[1:]]
    assert {row[0] for row in rows} == {"tables of shop"} and (release / "estimate.csv").exists()
    # Sums of gradients tell the label holder of the shop alone, and everybody else of the bank.
    stated = json_of(release, "statement.json")
    assert stated["epsilon"] == dict.fromkeys(("label", "features", "row"), "inf") == stated["owners"]["bank"]
    assert stated["unprotected_units"] == ["features", "label"]
    assert "encryption under the key of bank holds" in stated["trust"]
    assert stated["owners"]["shop"]["label"] == 0 < stated["owners"]["shop"]["features"] <= 2
    assert stated["owners"]["shop"]["row"] == stated["owners"]["shop"]["features"]
    assert "data of bank alone: features inf, label inf, row inf" in (release / "statement.md").read_text()
    with Account(tmp_path / "bank" / "ledger.jsonl", party="bank") as account:
        assert {unit: cost.epsilon for unit, cost in account.costs_by_unit(1e-5).items()} == dict.fromkeys(
            ("row", "label", "features"), float("inf")
        )
    with Account(tmp_path / "shop" / "ledger.jsonl", party="shop") as account:
        assert account.costs_by_unit(1e-5)["features"].epsilon <= 2
    assert all(float(row[2]) / float(row[4]) == pytest.approx(round(float(row[2]) / float(row[4]))) for row in rows)
    (release / "measurements.csv").write_text(before.replace(rows[0][2], "0.25", 1))
    assert checked(release, tmp_path, capsys)[0] == 1


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ({"noise": "shaped"}, "the noise depends on features"),
        ({"noise": "auto"}, "the noise depends on features"),
        ({"noise": "iid", "ridge": "fixed"}, "the noise depends on the longest row, which"),
    ],
    ids=["shaped", "auto", "iid"],
)
def test_noise_that_depends_on_records_is_refused_before_anybody_connects(method, words, tmp_path):
    """Nobody else could make the statement again: nothing is paid, no file of data is opened."""
    case = Apart("label_private")
    case.method = {"protocol": "walr"} | method
    case.network |= {"mode": "release", "publisher": "shop", "rows": 60}
    case.write(tmp_path)
    pin(case, tmp_path)
    parties = Parties(case, tmp_path)
    parties.start("bank")
    told = parties.ended("bank")["bank"]
    assert told.code == 1 and words in told.err and "no reader has" in told.err
    assert not [name for name in told.open if name.endswith(".csv")]
    assert not (tmp_path / "bank" / "ledger.jsonl").exists()


class Aggregated(Apart):
    """A case whose method has an aggregator beside the analyst."""

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.files, "analyst", "aggregator")


def test_what_a_trusted_aggregator_draws_is_published(tmp_path, capsys):
    """The noise of a place without data is a measurement as well; that place signs nothing."""
    case = Aggregated("vertical_glm")
    case.method = {"protocol": "noisy_newton"}
    case.network |= {"mode": "release", "trusted": {"aggregator": "the office"}}
    case.write(tmp_path)
    told = Parties(case, tmp_path).succeeded()
    assert "(signed by" in told["analyst"].out and "signed" not in told["aggregator"].out
    release = last_run(tmp_path / "out" / "analyst") / "release"
    assert set(json_of(release, "signatures.json")) == {"shop", "bank"}
    assert checked(release, tmp_path, capsys)[0] == 0


# Methods of labels whose noise is public, or shown: options, and the units that publishing leaves unprotected.
PUBLISHABLE = {
    "published_newton": ({"noise": "iid", "sigma": "classic", "bound": "sqrt_k", "ridge": "fixed"}, []),
    "analytic": ({"noise": "iid", "bound": "declared", "row_radius": 1.7, "ridge": "fixed"}, []),
    "planned": ({"noise": "shaped", "publish_shape": True}, ["features"]),
    "auto": ({"noise": "auto", "publish_shape": True}, ["features"]),
    "noisy_gd": ({"protocol": "noisy_gradient", "rounds": 4, "bound": "declared", "row_radius": 1.7}, []),
    "label_sgd": ({"protocol": "label_sgd", "rounds": 4, "rate": 0.5, "bound": "declared", "row_radius": 1.7}, []),
    "buckets": ({"protocol": "buckets", "bins": 3}, []),
    "planned buckets": (
        {"protocol": "buckets", "bins": 3, "shape": "planned", "publish_shape": True},
        ["features"],
    ),
    "holders": ({"protocol": "buckets", "bins": 3, "holders": "rows"}, []),
}


def publishable(name: str) -> Apart:
    """A case of labels whose release the shop publishes."""
    method, units = PUBLISHABLE[name]
    case = Apart("label_private")
    case.method = {"protocol": "walr"} | method
    case.network |= {"mode": "release", "publisher": "shop", "rows": 60, "unprotected_units": units}
    if name == "holders":
        case.network["parties"]["server"] = {"host": "localhost", "port": 47190}
        case.protect_labels_alone()
    case.network["certificates"] = dict.fromkeys(case.network["parties"], "0" * 64)
    return case


@pytest.mark.parametrize("name", PUBLISHABLE)
def test_a_reader_without_features_makes_the_same_statement(name):
    """What was measured on some records makes, on made-up ones, the same files byte for byte."""
    deployment = publishable(name).deployment()
    facts = RunFacts(run="", began="", end_day="", code="", accounts={}, runs={}, fingerprints={}, registrations=())
    assert publication_problem(deployment, 60) == ""
    recorder = _trial_measurements(deployment, 60)
    first = rebuild(deployment, b"", recorder.values, facts, {}, 60, b"")
    values = values_in(first.files["measurements.csv"].value)
    again = rebuild(deployment, b"", values, facts, {}, 60, b"")
    for file in ("statement.json", "statement.md", "measurements.csv"):
        assert first.files[file].value == again.files[file].value
    for name, event in recorder.events.items():
        assert terms_of(first.events[name]) == terms_of(event)
        (row,) = [row for row in first.statement["releases"] if row["id"] == name]
        assert row["formula"] == ("entries" if event.mu is None else "dots")


@pytest.mark.parametrize("name", ["planned", "auto", "planned buckets"])
def test_a_shape_is_published_by_two_consents_only(name):
    case = publishable(name)
    case.network["unprotected_units"] = []
    assert "made of features of shop" in publication_problem(case.deployment(), 60)
    case = publishable(name)
    del case.method["publish_shape"]
    assert "publish_shape: true consents" in publication_problem(case.deployment(), 60)


def test_a_published_shape_is_checked_from_the_folder_and_edits_are_refused(tmp_path, capsys):
    case = publishable("planned")
    case.write(tmp_path)
    pin(case, tmp_path)
    Parties(case, tmp_path).succeeded()
    release = last_run(tmp_path / "out" / "shop") / "release"
    assert checked(release, tmp_path, capsys)[0] == 0
    stated = json_of(release, "statement.json")
    (shape,) = [row for row in stated["public"] if row["name"] == "noise shape"]
    assert shape["because"] == "made from the features, which are public for the unit label"
    assert stated["epsilon"]["label"] <= 2 and stated["epsilon"]["features"] == "inf"
    (row,) = stated["releases"]
    assert row["inputs"]["squared_length"] == str(4**20) and row["formula"] == "dots"
    for file, before, after in (
        ("statement.json", f'"mu": {row["mu"]!r}', f'"mu": {row["mu"] / 2!r}'),
        ("statement.json", f'"step": {row["inputs"]["step"]!r}', f'"step": {row["inputs"]["step"] * 2!r}'),
        ("statement.json", str(4**20), str(4**19)),
        ("measurements.csv", "noise shape,4,", "noise shape,4,1"),
    ):
        text = (release / file).read_text()
        assert before in text
        (release / file).write_text(text.replace(before, after))
        assert checked(release, tmp_path, capsys)[0] == 1
        (release / file).write_text(text)
    assert checked(release, tmp_path, capsys)[0] == 0
