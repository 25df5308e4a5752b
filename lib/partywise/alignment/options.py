"""Options of the search for common records of parties whose rows arrive unaligned; standard library only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, final
from unicodedata import normalize

from ..core.checks import check_fields

# Set intersection by Diffie-Hellman on edwards25519; a keyed hash; the published hash, which protects nothing.
Mode = Literal["psi", "hmac", "sha256"]


@dataclass(frozen=True)
class AlignmentOptions:
    """Options of every protocol on vertically split records.

    alignment : how common records are found where the parties' rows arrive unaligned; not read where they are aligned
    """

    alignment: Mode = "psi"

    def __post_init__(self) -> None:
        check_fields(self)


@final
@dataclass(frozen=True)
class IdentifierRules:
    """Rules by which all parties write identifiers, agreed before anything is sent.

    as_text : format of whole numbers as text, such as ``06d``; without it they are refused, for "42" is not "042"
    normalise : whether blanks around an identifier and the case of its letters count for nothing
    duplicates : an identifier that several records of a party have is an ``error``; or its ``first`` record is used; or
        none of them (``drop``)
    missing : a record without an identifier is an ``error``, or left out (``drop``)
    """

    as_text: str | None = None
    normalise: bool = False
    duplicates: Literal["error", "first", "drop"] = "error"
    missing: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.as_text is not None and not re.fullmatch(r"(0[1-9][0-9]?)?d", self.as_text):
            raise ValueError(f"as_text is {self.as_text!r}: it must be 'd', or '06d' for six digits.")

    def canonical_form(self, value: str | int) -> str:
        """An identifier as it is compared: Unicode's form NFC; with ``normalise`` stripped and case-folded."""
        text = value if isinstance(value, str) else format(value, self.as_text or "d")
        # Letters and their marks are folded apart, as Unicode defines a match without case, and composed again.
        return normalize("NFC", normalize("NFD", text).strip().casefold() if self.normalise else text)
