"""Findings of a study as people read them first: its rows of the screen and of the report.

`screen.py` computes them from a cube; ``findings.json`` of a study keeps them.  The standard library is enough to
read them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

# Of several targets the one whose guarantee most people ask for.
USUAL = 1.0
# In the place of a number that a configuration does not compute.
NOT_RUN, NONE = "not run", "none"


@dataclass(frozen=True)
class PrivateResult:
    """The certified fit of one case at the usual epsilon, next to the fit of the same model without noise.

    title : title of the case; protects : unit of the guarantee
    measure : what is measured, and which values are better
    private, noise_free : means with standard errors over replicates, or why there is none
    epsilon : certified epsilon where it is not the usual one, else empty
    """

    title: str
    protects: str
    measure: str
    private: str
    noise_free: str
    epsilon: str = ""


@dataclass(frozen=True)
class WorstGuarantee:
    """The weakest guarantee of the fits of a study that claim one, rounded upward, and what its method claims."""

    certified: str
    claim: str
    method: str

    @property
    def is_infinite(self) -> bool:
        """Whether nothing is certified."""
        return self.certified == "inf"

    @property
    def text(self) -> str:
        """The guarantee and its method on one line."""
        certified = "none" if self.is_infinite else f"ε {self.certified}"
        return f"{certified} ({self.method}, which claims {self.claim})"


@dataclass(frozen=True)
class Findings:
    """Findings of a study.

    study : its name; fits : number of its fits
    verdicts : sentences on fits whose verdict is not ok; claims : counts of claims that were attacked
    worst : the weakest guarantee; None where no fit claims one
    results : certified fits, those at the usual epsilon first
    warnings : sentences on guarantees without meaning, modes without protection and records that are left out
    """

    study: str
    fits: int
    verdicts: tuple[str, ...]
    claims: tuple[str, ...]
    worst: WorstGuarantee | None
    results: tuple[PrivateResult, ...]
    warnings: tuple[str, ...]

    def text(self) -> str:
        """Content of ``findings.json``."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def of(cls, text: str) -> Findings:
        """Findings from the content of ``findings.json``."""
        stored = json.loads(text)
        worst = stored.pop("worst")
        rows = [PrivateResult(**row) for row in stored.pop("results")]
        lists = {name: tuple(stored[name]) for name in ("verdicts", "claims", "warnings")}
        return cls(**stored | lists, results=tuple(rows), worst=WorstGuarantee(**worst) if worst else None)
