"""Privacy claims of source documents: one object per claim, in the ``claims.py`` of the study of its document.

A claim is a source of data of the audit study: the data are neighbours made to hurt, and ordinary ones.  Standard
library only: claims are read whenever a plan of the audit is made, their mechanisms when a cell is computed.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import nan
from pathlib import Path
from typing import Annotated, Literal, Self

from ..core.checks import CheckedFields, Delta, Range, check_fields
from .study import Lazy, Source

# What a claim says of a release: the epsilon of the grid, that it costs nothing, or nothing at all.
States = Literal["epsilon", "free", "none"]
STATES: dict[States, float | None] = {"epsilon": None, "free": 0.0, "none": nan}
STUDIES = Path(__file__).parents[1] / "studies"


@dataclass(frozen=True)
class ClaimSettings(CheckedFields):
    """Parameters that all claims share.

    n : records; delta : of the claim (None: the study's)
    """

    n: Annotated[int, Range(2)] = 400
    delta: Delta | None = None

    @property
    def releases(self) -> int:
        """Number of messages that are sent; each owner sends at least one of them."""
        return 1


@dataclass(frozen=True)
class Document:
    """A source: its key in claims and register, and its title, of the signs that a text flag takes."""

    key: str
    title: str


@dataclass(frozen=True)
class Mechanism:
    """One form of a mechanism.

    message : name of what is sent; where there are several, with their numbers
    expose : (Task) -> Exposure, what leaves an owner and how well it is attacked (`partywise.audits.exposure`)
    """

    message: str
    expose: Lazy

    @classmethod
    def of(cls, leaks: str, message: str, function: str) -> Self:
        """The form whose ``expose`` is a function of the module ``leaks``, whose name ends in a colon."""
        return cls(message, Lazy(leaks + function))

    def name(self, number: int, releases: int) -> str:
        """Name of one of the messages."""
        return self.message if releases == 1 else f"{self.message} {number}"


@dataclass(frozen=True, kw_only=True)
class Claim(Source):
    """One claim of a source document about privacy, and what tests it.

    As a `Source`, ``settings`` are the parameters of the mechanism (a `ClaimSettings`) and ``generate`` makes two pairs
    of data sets that differ in one replaced record (`partywise.audits.worlds.AuditData`): the worst case that is known,
    and an ordinary one.

    name : what the configuration calls it, as ``source`` of a case of the audit
    document : the source that states it
    title : template over the settings, of letters, digits, blanks and ``. - +``, as text flags of a cube take them
    remedy : what corrects it
    published, correction : the mechanism as the document has it, and as it should be (None: no mechanism corrects it)
    unit : what changes between neighbours in the claim
    states : ``epsilon`` (the slot of the grid), ``free`` (claimed to cost nothing) or ``none`` (nothing is claimed)
    correction_states : the same of the corrected mechanism
    control : whether the published mechanism keeps its claim
    plain : the title for readers who do not know the document, a template as well ("": the title)
    """

    name: str
    document: Document
    title: str
    remedy: str
    published: Mechanism
    correction: Mechanism | None
    unit: str = "row"
    states: States = "epsilon"
    correction_states: States = "epsilon"
    control: bool = False
    plain: str = ""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def fits(self) -> tuple[Lazy, ...]:
        """Both forms of the mechanism."""
        return tuple(form.expose for form in (self.published, self.correction) if form is not None)

    def form(self, variant: str) -> Mechanism:
        """The mechanism as ``published`` or as ``corrected``; ValueError where it has no corrected form."""
        form = {"published": self.published, "corrected": self.correction}[variant]
        if form is None:
            raise ValueError(
                f"variant is {variant!r}: no mechanism corrects {self.name} ({self.remedy}); leave it out."
            )
        return form

    def epsilon(self, variant: str, epsilon: float) -> float:
        """Epsilon that is claimed where the grid has ``epsilon``: 0 for what is claimed free, nan without a claim."""
        stated = STATES[self.states if variant == "published" else self.correction_states]
        return epsilon if stated is None else stated

    def delta(self, settings: ClaimSettings, study_delta: float) -> float:
        """Delta of the claim."""
        return study_delta if settings.delta is None else settings.delta

    def title_for(self, settings: ClaimSettings) -> str:
        """The title with the parameters of a case."""
        return self.title.format(**asdict(settings))

    def words_for(self, settings: ClaimSettings) -> str:
        """Return the plain title with the parameters of a case."""
        return (self.plain or self.title).format(**asdict(settings))


def modules() -> tuple[str, ...]:
    """The modules that hold claims: ``claims.py`` of any folder of ``partywise.studies``, a study or not yet one."""
    return tuple(f"partywise.studies.{path.parent.name}.claims" for path in sorted(STUDIES.glob("*/claims.py")))


def all_claims() -> Mapping[str, Claim]:
    """All claims by name, in the order of their documents."""
    claims: dict[str, Claim] = {}
    for module in modules():
        for claim in importlib.import_module(module).CLAIMS:
            if claim.name in claims:
                raise ValueError(f"name is {claim.name!r} in {module}: another claim has it; names must differ.")
            claims[claim.name] = claim
    return dict(sorted(claims.items(), key=lambda item: item[1].document.key))
