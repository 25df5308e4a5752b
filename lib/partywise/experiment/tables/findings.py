"""Findings of a study as people read them first: its rows of the screen and of the report.

`screen.py` computes them from a cube; ``findings.json`` of a study keeps them.  The standard library is enough to
read them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
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

    @property
    def sentence(self) -> str:
        """The result as one sentence."""
        measured, _, better = self.measure.rpartition(", ")
        title = f"{self.title[:1].upper()}{self.title[1:]}"
        if self.private == NONE:
            return (
                f"{title}: no fit has a finite certified ε; without noise the {measured} is "
                f"{self.noise_free} ({better} is better)."
            )
        reference = "and a fit without noise was not run"
        if self.noise_free != NOT_RUN:
            reference = f"and {self.noise_free} without noise"
        return (
            f"{title}: at certified ε = {self.epsilon or f'{USUAL:g}'} (unit: {self.protects}) the {measured} is "
            f"{self.private.replace('+-', '±')}, {reference} ({better} is better)."
        )


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
    question : what the study asks; empty of a study that states none
    """

    study: str
    fits: int
    verdicts: tuple[str, ...]
    claims: tuple[str, ...]
    worst: WorstGuarantee | None
    results: tuple[PrivateResult, ...]
    warnings: tuple[str, ...]
    question: str = ""

    @property
    def answer(self) -> str:
        """One sentence made from the numbers: the count of refuted claims, or the first result."""
        if self.claims:
            return f"{self.claims[0][:1].upper()}{self.claims[0][1:]}."
        return self.results[0].sentence if self.results else "No fit of this configuration has a measured result."

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


def weakest_guarantee(studies: Sequence[Findings]) -> str:
    """Name the weakest guarantee: that nothing is certified, in how many studies, or the largest epsilon."""
    claiming = [(study.study, study.worst) for study in studies if study.worst is not None]
    if not claiming:
        return "No fit claims a guarantee."
    if infinite := sum(worst.is_infinite for _, worst in claiming):
        count = f"{infinite} of {len(studies)} studies" if len(studies) > 1 else "this study"
        return f"Weakest published guarantee: none (epsilon infinite) in {count}"
    name, weakest = max(claiming, key=lambda entry: float(entry[1].certified))
    return f"Weakest guarantee: epsilon {weakest.certified} ({name}, {weakest.method}, which claims {weakest.claim})"
