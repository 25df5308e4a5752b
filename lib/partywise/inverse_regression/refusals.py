"""What the certified method refuses, and why: options that have no proof."""

from __future__ import annotations

from typing import NoReturn

from ..errors import CertificationError

__all__ = ["REFUSED", "refuse"]

REFUSED = {
    "quantile edges": "one response can move every boundary; fix public edges",
    "ccmd": "index sets carry no noise; use noisy votes",
    "largest norm": "c_R = max ||X_i|| is one record's own; use the public bound R sqrt(p)",
    "vgm": "its covariance is made of the private singular vectors; use independent noise at the analytic sd",
    "eigengap": "the dimension is chosen on private singular values; state d",
    "sample centring": "the slice counts that it needs are a release of their own; centre by released quantities",
}


def refuse(what: str) -> NoReturn:
    """Raise the `CertificationError` of certified mode for an option that has no proof, with its reason."""
    raise CertificationError(f"{what!r} is not available in mode 'certified': {REFUSED[what]}.")
