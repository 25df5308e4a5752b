"""Check of a published folder without data or a network: one line per check, and the first failure ends it."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path

# Any: JSON of a statement that somebody else wrote.
from typing import Any

from ...core import documents
from ...models.simulation.fit import NotNearest
from ..session.session import library_digest
from ..statement import files
from ..statement.intervals import law_of
from ..statement.measurements import COLUMNS, is_printed, sensitivity, values_in
from ..statement.statement import FORMAT, facts_of, text_of
from ..wire.credential import Credential, signature_problem
from .comparison import deployment_in, first_difference
from .release_folder import rebuild, unnamed_units

# How far a deviation may be from what it must be.
DEVIATION = 1e-12


class Failure(Exception):
    """Failed check, as a sentence without its end."""


@dataclass(frozen=True)
class Published:
    """Files of a folder, and the content of its statement."""

    files: Mapping[str, bytes]
    statement: Mapping[str, Any]

    @property
    def owners(self) -> tuple[str, ...]:
        """Names of the parties whose data the result is about."""
        return tuple(self.statement["accounts"])

    def certificate(self, name: str) -> str:
        """The certificate of an owner as text."""
        return self.files[f"{files.CERTIFICATES}/{name}.pem"].decode("ascii", "replace")

    @property
    def names(self) -> dict[str, str]:
        """Hosts of all parties for checks: each is its own name, since a folder's hosts are the word of its maker."""
        network = documents.decode_json(files.CONFIGURATION, self.files[files.CONFIGURATION])["network"]
        return {name: name for name in network["parties"]}

    @property
    def pins(self) -> dict[str, str]:
        """SHA-256 of certificates by name, as the configuration names them."""
        network = documents.decode_json(files.CONFIGURATION, self.files[files.CONFIGURATION])["network"]
        return dict(network.get("certificates") or {})

    @property
    def end(self) -> datetime:
        """Time at which certificates must hold."""
        return files.checked_at(self.statement["began"], self.statement["end_day"])

    @property
    def authority(self) -> str:
        """The authority that is in the folder, which the maker of the folder can choose freely."""
        return self.files[f"{files.CERTIFICATES}/{files.AUTHORITY}"].decode("ascii", "replace")


def check_release(folder: Path, authority: Path | None, fingerprints: Sequence[str]) -> int:
    """Print what was checked; 0 if all holds, 1 if something fails, 2 if the authority of the signers is unknown."""
    try:
        published = _read(folder)
        print("files: all that are listed, and no others")
        for name, check in CHECKS.items():
            print(f"{name}: {check(published)}")
        known = signer_line(published, authority, fingerprints)
    except (Failure, documents.FileProblem) as error:
        print(f"FAILED: {error}.", file=sys.stderr)
        return 1
    # What others made up may break any rule.
    except Exception as error:
        print(f"FAILED: the folder cannot be read: {type(error).__name__} ({error}).", file=sys.stderr)
        return 1
    print(known)
    return 0 if known.startswith("signers:") else 2


def _read(folder: Path) -> Published:
    """Read the folder with its statement; Failure for a file that is missing, or not listed."""
    if not folder.is_dir():
        what = "a file" if folder.exists() else "not there"
        raise Failure(f"{folder} is {what}: name the folder release that a party wrote")
    contents = files.read_folder(folder)
    for name in (files.STATEMENT, files.SIGNATURES, files.TEXT):
        if name not in contents:
            raise Failure(f"{name} is missing in {folder}")
    statement = documents.decode_json(files.STATEMENT, contents[files.STATEMENT])
    if not isinstance(statement, dict) or statement.get("format") != FORMAT:
        raise Failure(f"{files.STATEMENT} is not of format {FORMAT}")
    certificates = {f"{files.CERTIFICATES}/{name}.pem" for name in statement["accounts"]}
    certificates.add(f"{files.CERTIFICATES}/{files.AUTHORITY}")
    allowed = {*files.DATA, *(f"{files.REGISTRATION}/{name}.json" for name in statement["accounts"])}
    exhibits = {name for name in statement["files"] if files.EXHIBIT.fullmatch(name)}
    for name in sorted(statement["files"].keys() - allowed - exhibits):
        raise Failure(f"{files.STATEMENT} lists {name!r}, which is not a file of such a folder")
    listed = {files.STATEMENT, files.SIGNATURES, files.TEXT, *certificates, *statement["files"]}
    for name in sorted(listed ^ contents.keys()):
        raise Failure(f"{name} is {'missing' if name in listed else 'not listed'}")
    return Published(contents, statement)


def _signatures(published: Published) -> str:
    signatures = documents.decode_json(files.SIGNATURES, published.files[files.SIGNATURES])
    if set(signatures) != set(published.owners):
        raise Failure(f"{files.SIGNATURES} is of {sorted(signatures)}, the data of {sorted(published.owners)}")
    for name in published.owners:
        _check_signer(published, name, published.authority)
        printed = Credential.fingerprint(published.certificate(name))
        if printed != published.statement["fingerprints"].get(name):
            raise Failure(f"the certificate of {name!r} is not that of the statement")
        if printed != published.pins.get(name, printed):
            raise Failure(f"the certificate of {name!r} is not the one that network.certificates names")
    return f"{files.STATEMENT} is signed by {', '.join(published.owners)}"


def _check_signer(published: Published, name: str, authority: str) -> None:
    """Raise Failure unless an owner signed the statement with an authority's certificate that held at the end."""
    signatures = documents.decode_json(files.SIGNATURES, published.files[files.SIGNATURES])
    head = {"certificate": published.certificate(name), "signature": signatures[name]}
    words = files.statement_words(published.files[files.STATEMENT])
    if problem := signature_problem(name, words, head, published.names, authority, published.end):
        raise Failure(f"the statement of {name!r} {problem}")


def _digests(published: Published) -> str:
    for name, digest in published.statement["files"].items():
        if documents.digest_of(published.files[name]) != digest:
            raise Failure(f"{name} is not the file of the statement: its digest is another one")
    return f"{len(published.statement['files'])} files are those of the statement"


def _registrations(published: Published) -> str:
    statement = published.statement
    names = {name for name in statement["files"] if name.startswith(f"{files.REGISTRATION}/")}
    if names != {f"{files.REGISTRATION}/{name}.json" for name in statement["registrations"]}:
        raise Failure(
            f"the statement lists registrations of {statement['registrations']}, the folder has {sorted(names)}"
        )
    if statement["registrations"] and set(statement["registrations"]) != set(published.owners):
        raise Failure(f"{statement['registrations']} registered, and not all of {list(published.owners)}")
    for name in statement["registrations"]:
        file = f"{files.REGISTRATION}/{name}.json"
        arguments = (published.files[file], name, registered_digest(published.files), statement["code"])
        if problem := files.registration_problem(file, *arguments, published.authority, published.names):
            raise Failure(problem)
        if documents.decode_json(file, published.files[file])["time"] > statement["began"]:
            raise Failure(f"{file} is later than the first data were opened, {statement['began']}")
    if not statement["registrations"]:
        return "none: nothing shows that the method was fixed before data were opened"
    return f"{', '.join(statement['registrations'])} before {statement['began']}, by their own clocks"


def registered_digest(published: Mapping[str, bytes]) -> str:
    """Digest of the published configuration, as parties compare it."""
    from ..settings import digest

    return digest(documents.decode_json(files.CONFIGURATION, published[files.CONFIGURATION]))


def _formulas(published: Published) -> str:
    for row in published.statement["releases"]:
        try:
            computed = sensitivity(row["formula"], row["inputs"])
        except ValueError as error:
            raise Failure(f"release {row['id']!r}: {error}") from None
        if not is_printed(row["sensitivity"], computed):
            raise Failure(
                f"release {row['id']!r} states sensitivity {row['sensitivity']}, its formula gives {computed}"
            )
        if not (row["exact"] is True and row["sampler"] == "secure"):
            raise Failure(f"release {row['id']!r} was not drawn exactly and in secret")
        if row["shares"] and not set(row["shares"]) <= set(row["owners"]):
            raise Failure(f"release {row['id']!r} has shares of {sorted(row['shares'])}, which are not its owners")
    return f"{len(published.statement['releases'])} sensitivities are those of their formulas"


def _noise(published: Published) -> str:
    rows = {row["id"]: row for row in published.statement["releases"]}
    table = list(csv.reader(io.StringIO(published.files[files.MEASUREMENTS].decode("utf-8"), newline="")))
    counts, open_names = dict.fromkeys(rows, 0), {row["name"] for row in published.statement["public"]}
    if not table or tuple(table[0]) != COLUMNS:
        raise Failure(f"{files.MEASUREMENTS} does not begin with {','.join(COLUMNS)}")
    for name, entry, _, sd, _, copies in table[1:]:
        if name in open_names and not sd:
            # Numbers in the clear, which the program asks for by name.
            continue
        if name not in rows:
            raise Failure(f"{files.MEASUREMENTS} has {name!r}, which is not a release of the statement")
        counts[name] += 1
        row = rows[name]
        if row["mu"]:
            total = sum(map(Fraction, row["shares"].values()), Fraction(0)) if row["shares"] else Fraction(1)
            least = row["sensitivity"] / row["mu"] * math.sqrt(total * int(copies))
            if not least * (1 - DEVIATION) <= float(sd) <= least * (1 + DEVIATION):
                raise Failure(f"entry {entry} of {name!r} has noise of deviation {sd}, its mu asks for {least}")
    for name, row in rows.items():
        if counts[name] != row["entries"]:
            raise Failure(
                f"{files.MEASUREMENTS} has {counts[name]} entries of {name!r}, the statement {row['entries']}"
            )
    return "every deviation is what sensitivity, mu and shares give"


def _delta(published: Published) -> str:
    delta, n = published.statement["delta"], published.statement["n_protected"]
    if not delta * n < 1:
        raise Failure(f"delta is {delta}, which is not below one over {n} records")
    return f"{delta} is below one over {n} records"


def _program(published: Published) -> str:
    statement, contents = published.statement, published.files
    deployment = deployment_in(contents[files.CONFIGURATION], statement)
    if set(published.owners) != set(deployment.holders):
        raise Failure(f"the statement is of {list(published.owners)}, the configuration of {list(deployment.holders)}")
    registrations = {
        name: digest for name, digest in statement["files"].items() if name.startswith(f"{files.REGISTRATION}/")
    }
    values, n = values_in(contents[files.MEASUREMENTS]), statement["n_protected"]
    try:
        estimate = contents.get(files.ESTIMATE, b"")
        rebuilt = rebuild(
            deployment,
            contents[files.CONFIGURATION],
            values,
            facts_of(statement),
            registrations,
            n,
            estimate,
            law_of(statement),
        )
    except NotNearest as error:
        raise Failure(str(error)) from None
    except LookupError as error:
        raise Failure(f"{files.MEASUREMENTS} is not what the program releases: {error}") from None
    if problem := first_difference(contents, rebuilt):
        raise Failure(problem)
    if problem := unnamed_units(deployment, rebuilt):
        raise Failure(f"what is published should not be: {problem}")
    same = statement["code"] == library_digest()
    return "estimate, costs and statement follow from the measurements" + (
        "" if same else f" (made by other code, {statement['code'][:12]})"
    )


def _text(published: Published) -> str:
    # Folders of before `publish check-release` had its present name say how to call it by the one of then.
    text = published.files[files.TEXT].replace(b" partywise check-release ", b" partywise publish check-release ")
    if text != text_of(published.statement):
        raise Failure(f"{files.TEXT} is not the text of {files.STATEMENT}")
    return f"{files.TEXT} is that of {files.STATEMENT}"


# In this order: what anybody could change is seen before anything rests on it.
CHECKS: Mapping[str, Callable[[Published], str]] = {
    "digests": _digests,
    "signatures": _signatures,
    "registrations": _registrations,
    "sensitivities": _formulas,
    "noise": _noise,
    "delta": _delta,
    "program": _program,
    "text": _text,
}


def signer_line(published: Published, authority: Path | None, fingerprints: Sequence[str]) -> str:
    """State who vouches for the certificates; Failure if they are others than the caller expects."""
    if authority is not None:
        for name in published.owners:
            try:
                _check_signer(published, name, authority.read_text(encoding="ascii"))
            except Failure as failure:
                raise Failure(str(failure).replace(files.AUTHORITY, str(authority))) from None
        return f"signers: certificates of the authority in {authority}"
    expected = dict(entry.partition("=")[::2] for entry in fingerprints)
    for name, digest in expected.items():
        if published.statement["fingerprints"].get(name) != digest.lower().replace(":", ""):
            raise Failure(f"the certificate of {name!r} has another fingerprint than {digest}")
    if set(expected) >= set(published.owners):
        return "signers: certificates with the fingerprints that were given"
    fingerprint = Credential.fingerprint(published.authority)
    return (
        f"signed by certificates of an UNKNOWN authority, sha256 {fingerprint}: compare it with what the owners "
        "give you (--authority PEM, or --fingerprint NAME=SHA256 for each owner)"
    )
