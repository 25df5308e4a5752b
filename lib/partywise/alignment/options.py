"""How a protocol finds the common records of parties whose rows arrive unaligned; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..checks import check_fields

__all__ = ["AlignmentOptions", "Mode"]

# Set intersection by Diffie-Hellman on edwards25519; a keyed hash; the published hash, which protects nothing.
Mode = Literal["psi", "hmac", "sha256"]


@dataclass(frozen=True)
class AlignmentOptions:
    """What every protocol on vertically split records may set.

    alignment : how common records are found where the parties' rows arrive unaligned; not read where they are aligned
    """

    alignment: Mode = "psi"

    def __post_init__(self) -> None:
        check_fields(self)
