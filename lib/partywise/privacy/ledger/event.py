"""Cost of one release, and for whom: the event a mechanism writes and the table that turns it into a cost."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache, cached_property, lru_cache

# Any: columns of a row that a file holds, as text or as numbers.
from typing import Any

from ...core.checks import Scalar
from ...core.errors import CertificationError
from ..accounting.privacy_profile import PROFILES, PrivacyProfile, ProfileFields, check_profile
from ..strata import EVERYBODY, check_stratum, partition_of
from .terms import JOIN, exposure_of, names_of, over_root, weight_outside

UNITS = ("row", "label", "features", "user")
QUESTIONS = ("row", "label", "features", "user", "user_label")
# Questions about all rows of one person, and the part of a row that each asks about.
OF_PERSONS = {"user": "user", "user_label": "label"}
RELATIONS = ("replace_one", "add_remove", "label_flip")
FIELDS = ("label", "features")
TRUST_MODELS = ("local", "central", "distributed", "label", "none")
SAMPLERS = ("simulation", "secure")
# No view owns a row of this owner, so every view is charged for it.
UNNAMED = "unnamed"
# Owner of a row about the data of several parties, which it names.
SEVERAL = "several"
# Mechanism of a value computed from releases: it costs what the releases cost that its row names.
POST_PROCESSING = "post_processing"
# Mechanism of a value that crosses closed: it costs nothing, and has no proof against whoever opens it.
CLOSED = "cipher"
# Fields that rows of earlier versions lack; where they are empty, they are no part of what is hashed.
LATER = ("knows", "key_holders", "owners", "shares", "tv", "exact", "cells", "range")
# Of these the ones that are names.
NAMES = ("knows", "key_holders", "owners", "cells")


class EventProfile(ProfileFields, total=False):
    """Fields of `Event` that state its profile, as a mechanism gives them."""

    epsilon_distance: float
    delta_numeric: float


@dataclass(frozen=True)
class Event:
    """One row of a ledger.

    Parameters
    ----------
    release_id : str
        Name of the release. Sent again it stays one row; a new draw of the noise needs a new name.
    owner : str
        Party whose data the release is computed from.
    mechanism : str
        Profile of the noise; ``"none"`` for a value sent in the clear, ``"cipher"`` for one that crosses closed.
    unit : str
        ``row``, ``label``, ``features`` or ``user``; for ``"none"`` and ``"cipher"`` units joined by ``;``: those that
        are unprotected, or closed.
    depends_on : frozenset of {"label", "features"}
        Data fields the value is computed from.
    mu : float, optional
        Gaussian-DP parameter of one application; infinity means no noise.
    rho : float, optional
        zCDP parameter of one application, where nothing better than zCDP is known of its profile.
    epsilon : float, optional
        Pure-DP parameter of one application. Exactly one of ``mu``, ``rho`` and ``epsilon`` states a profile.
    k : int, optional
        With ``epsilon``: the profile is k-ary randomised response, whose privacy loss is known exactly.
    rate : float
        With ``mu``: probability with which Poisson sampling includes a record in one application, ``mu`` being the
        parameter without sampling. Under ``label_flip`` and ``add_remove`` a rate below 1 states that one of the two
        neighbours contributes nothing to the sampled sum, which is what the gain by sampling is proved for.
    count : int
        Number of applications, each with that profile.
    epsilon_distance : float, optional
        Loss per unit of distance of a distance-DP mechanism; informative, ``epsilon`` is what is charged.
    delta_numeric : float
        What all applications together add to delta next to the profile: the mechanism's own delta, or the error of a
        sampler. A sampler within total variation t of its profile adds t (1 + e^epsilon), not t.
    sensitivity, norm, certificate, relation
        Bound, norm and source of the certificate behind ``mu``, and its neighbouring relation.
    noise_digest : str
        Digest of the released value: it distinguishes a second draw from the same one.
    audience : tuple of str
        Who may see the release; ``("*",)`` means all readers (published).
    stratum : str
        ``"*"``, or the cell of a public partition of the records that the release is about: ``"partition/cell"``.
    trust_model, sampler : str
        Who is trusted with the raw value; which random source drew the noise.
    data_dependent_parameters : tuple of str
        Release ids of the parameters (a clipping radius, edges) that were taken from private data; of the mechanism
        ``"post_processing"``, the releases that the value was computed from.
    certified : bool
        False if nothing finite is proved.
    epsilon_claimed : float, optional
        By the source's own formula.
    knows : tuple of str
        Places that know the noise or the records behind the row (a dealer, an assumed functionality): nothing is proved
        against a view with one of them.
    key_holders : tuple of str
        Of the mechanism ``"cipher"``: with all of them and one of its audience, a view opens what is closed.
    owners : tuple of str
        All whose data are in the release where these are several; ``owner`` is then ``"several"``. A view that holds
        them all has nothing left to learn.
    shares : tuple of (str, str)
        Of noise to which several parties each add a part: names and weights, each a share of the variance that ``mu``
        is stated for, as a fraction (``"1/2"``). Against a view, ``mu`` is divided by the root of the weights outside
        of it.
    tv : float
        Distance in total variation of the profile that is drawn from the profile that is stated: (1 + e^epsilon) times
        the sum over all rows is taken off delta. It is the same for groups. Of several owners without shares it is the
        distance of masks, which is taken off delta once (`delta_terms`).
    exact : bool
        Whether nothing that the certificate does not bound can move what was noised: integers, entries of an alphabet.
    cells : tuple of str
        Cells of one public partition that hold all records which the release read, such as the folds that train a fit:
        ``("folds/0", "folds/2")``. Empty: any record may have been read.
    range : float, optional
        With ``epsilon``, which it equals: each application is a pick of the exponential mechanism, whose losses against
        one neighbour lie in an interval of that length. Picks compose to about half the epsilon of other pure releases.

    Raises
    ------
    ValueError
        If a field is out of its range; the message names it.

    Examples
    --------
    >>> import partywise as pw
    >>> total = pw.record_sum([[0.3, 0.4]], pw.Public(1.0, because="upper limit of the assay"))
    >>> event = pw.Gaussian(mu=0.5)(total, pw.stream(4, "noise"), owner="hospital", release_id="sum").event
    >>> event.mechanism, event.held_by, event.public, event.profile.mu
    ('gaussian', ('hospital',), True, 0.5)
    >>> event.without_proof.certified, event.line[:40]  # what a ledger hashes
    (False, '{"audience":"*","certificate":"triangle ')
    >>> terms = {"unit": "row", "depends_on": {"label"}, "mu": 0.5, "tv": 1e-12, "owners": ("north", "south", "west")}
    >>> shares = [(name, "1/2") for name in terms["owners"]]
    >>> shared = pw.Event("count", "several", "gaussian", shares=shares, **terms)
    >>> shared.weights["north"], shared.colluders, shared.delta_terms  # of three shares two are noise enough
    (Fraction(1, 2), 1, (0.0, 1e-12))
    """

    release_id: str
    owner: str
    mechanism: str
    unit: str
    depends_on: frozenset[str]
    mu: float | None = None
    rho: float | None = None
    epsilon: float | None = None
    k: int | None = None
    rate: float = 1.0
    count: int = 1
    epsilon_distance: float | None = None
    delta_numeric: float = 0.0
    sensitivity: float | None = None
    norm: str = ""
    certificate: str = ""
    noise_digest: str = ""
    relation: str = "replace_one"
    audience: tuple[str, ...] = ("*",)
    stratum: str = "*"
    trust_model: str = "local"
    sampler: str = "simulation"
    data_dependent_parameters: tuple[str, ...] = ()
    certified: bool = True
    epsilon_claimed: float | None = None
    knows: tuple[str, ...] = ()
    key_holders: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    shares: tuple[tuple[str, str], ...] = ()
    tv: float = 0.0
    exact: bool = False
    cells: tuple[str, ...] = ()
    range: float | None = None

    def __post_init__(self) -> None:
        for name in ("audience", "data_dependent_parameters", *(name for name in NAMES if getattr(self, name))):
            object.__setattr__(self, name, names_of(name, getattr(self, name)))
        object.__setattr__(self, "depends_on", frozenset(self.depends_on))
        object.__setattr__(self, "shares", tuple(sorted((name, str(Fraction(part))) for name, part in self.shares)))
        check_stratum(self.stratum)
        if self.cells:
            self._check_cells()
        for name in ("release_id", "owner", "mechanism"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise ValueError(f"{name}={getattr(self, name)!r} of an event must be a non-empty string.")
        for name, allowed in (("relation", RELATIONS), ("trust_model", TRUST_MODELS), ("sampler", SAMPLERS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r} of an event is unknown; use one of {allowed}.")
        self._check_units()
        check_profile(self, f"of event {self.release_id!r}")

    def _check_cells(self) -> None:
        if len({partition_of(check_stratum(cell)) for cell in self.cells}) > 1 or EVERYBODY in self.cells:
            raise ValueError(
                f"cells={self.cells} of event {self.release_id!r} must be cells of one partition, as in 'folds/0'."
            )

    def _check_units(self) -> None:
        bare = self.mechanism in ("none", CLOSED)
        units = self.unit.split(JOIN) if bare else [self.unit]
        if any(unit not in UNITS for unit in units):
            raise ValueError(f"unit={self.unit!r} of event {self.release_id!r} is unknown; use one of {UNITS}.")
        if not self.depends_on or not self.depends_on <= set(FIELDS):
            raise ValueError(
                f"depends_on={sorted(self.depends_on)} of event {self.release_id!r} must name some of {FIELDS}."
            )
        if self.relation == "label_flip" and self.unit != "label":
            raise ValueError(
                f"relation='label_flip' of event {self.release_id!r} needs unit='label', not {self.unit!r}."
            )
        if bare and (self.certified or any(getattr(self, name) is not None for name in PROFILES)):
            raise ValueError(
                f"event {self.release_id!r} has mechanism {self.mechanism!r}: it has no profile and is never certified."
            )
        if self.key_holders and self.mechanism != CLOSED:
            raise ValueError(f"key_holders={self.key_holders} of event {self.release_id!r}: only a cipher has a key.")
        if (self.owner == SEVERAL) != bool(self.owners):
            raise ValueError(
                f"owner={self.owner!r} of event {self.release_id!r} with owners={self.owners}: both or none."
            )
        if not 0 <= self.tv < 1:
            raise ValueError(f"tv={self.tv!r} of event {self.release_id!r} must lie in [0, 1).")
        self._check_shares()

    def _check_shares(self) -> None:
        if not self.shares:
            return
        names = [name for name, _ in self.shares]
        if len(set(names)) != len(names) or not set(names) <= set(self.owners):
            raise ValueError(f"shares of event {self.release_id!r} name {names}: each once, and among its owners.")
        if any(weight <= 0 for weight in self.weights.values()) or self.mu is None or self.rate < 1:
            raise ValueError(f"shares={self.shares} of event {self.release_id!r} need positive weights and mu.")

    @cached_property
    def weights(self) -> Mapping[str, Fraction]:
        """Shares of the variance by name, where several add noise."""
        return {name: Fraction(weight) for name, weight in self.shares}

    @property
    def delta_terms(self) -> tuple[float, float]:
        """Amounts that are taken off delta once, and (1 + e^epsilon) times.

        A uniform mask on the same sums of two neighbours gives the same words with the same probability, except for the
        few masks at its ends: what these show adds to delta and is multiplied by nothing.
        """
        return (self.delta_numeric + self.tv, 0.0) if self.owners and not self.shares else (self.delta_numeric, self.tv)

    @property
    def held_by(self) -> tuple[str, ...]:
        """All parties whose data are in it."""
        return self.owners or (self.owner,)

    @cached_property
    def colluders(self) -> int:
        """Parties that may join their shares of the noise so that ``mu`` still holds."""
        left, number = sum(self.weights.values(), Fraction(0)), 0
        for weight in sorted(self.weights.values(), reverse=True):
            if left - weight < 1:
                break
            left, number = left - weight, number + 1
        return number

    def profile_against(self, profile: PrivacyProfile, view: Collection[str]) -> PrivacyProfile:
        """A profile of this row against those who know the shares of the noise of some names; inf if these are all.

        Parameters
        ----------
        profile : PrivacyProfile
            Of the row, as stated or for a group.
        view : collection of str
            Names.

        Examples
        --------
        >>> import partywise as pw
        >>> names, terms = ("north", "south", "west"), {"unit": "row", "depends_on": {"label"}, "mu": 0.5}
        >>> shares = [(name, "1/2") for name in names]
        >>> event = pw.Event("count", "several", "gaussian", owners=names, shares=shares, **terms)
        >>> [round(event.profile_against(event.profile, names[:size]).mu, 2) for size in range(4)]
        [0.41, 0.5, 0.71, inf]
        """
        return replace(profile, mu=over_root(float(profile.mu or 0.0), weight_outside(self.weights, view)))

    @property
    def public(self) -> bool:
        """Whether every reader may see the release."""
        return "*" in self.audience

    @cached_property
    def without_proof(self) -> "Event":
        """Copy of the row, marked as not certified."""
        return replace(self, certified=False)

    @cached_property
    def profile(self) -> PrivacyProfile | None:
        """The profile of the noise as stated, for the event's own unit and relation; None if there is none."""
        if self.mu is self.rho is self.epsilon is None:
            return None
        return _profile(self.mu, self.rho, self.epsilon, self.k, float(self.rate), int(self.count), self.range)

    def require_composable(self) -> None:
        """Check that a certified event states a profile, so that it can be composed.

        Raises
        ------
        CertificationError
            If it states none.

        Examples
        --------
        >>> import partywise as pw
        >>> event = pw.Event("sum", "hospital", "gaussian", unit="row", depends_on={"features"})
        >>> event.require_composable()  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        partywise.core.errors.CertificationError: event 'sum' of mechanism 'gaussian' carries no mu, rho or epsilon...
        """
        if self.certified and self.profile is None:
            raise CertificationError(
                f"event {self.release_id!r} of mechanism {self.mechanism!r} carries no mu, rho or epsilon, so that it "
                "has no profile to compose; give one, or mark it certified=False so that it counts as infinite."
            )

    def cost(self, question: str, rows_per_user: int | None = None) -> PrivacyProfile | float | None:
        """Cost for a question unit.

        Parameters
        ----------
        question : {"row", "label", "features", "user", "user_label"}
            What changes between the neighbours that are asked about: of ``user`` all rows of one person, of
            ``user_label`` their labels.
        rows_per_user : int, optional
            For the questions about persons: the public largest number of rows of one person, a whole number from 1.

        Returns
        -------
        PrivacyProfile, 0.0 or None
            0.0 if the release does not depend on the unit, its profile costs nothing, or other rows carry its cost; the
            profile of all applications under replacement of one unit; None if no finite cost is proved (of a cipher, to
            a view that opens it: `partywise.privacy.ledger.reach`). One person's m
            rows cost m mu, m epsilon (pure, for any k) or m^2 rho, and nothing is proved if m is unknown;
            ``add_remove`` is such a group of two. Where a rate below 1 gains nothing that is proved (groups,
            ``replace_one``), the profile is charged as if every record were included, which holds for any sampling that
            ignores the data.

        Examples
        --------
        >>> import partywise as pw
        >>> event = pw.Event("sum", "hospital", "gaussian", unit="features", depends_on={"features"}, mu=0.5)
        >>> event.cost("features").mu, event.cost("label")  # labels were not read
        (0.5, 0.0)
        >>> event.cost("user", rows_per_user=4).mu  # of a person with four records
        2.0
        """
        group = _group(question, rows_per_user)
        if self.mechanism == POST_PROCESSING:
            return 0.0
        part, bare = OF_PERSONS.get(question, question), self.mechanism in ("none", CLOSED)
        exposure = exposure_of(self.unit.split(JOIN), self.depends_on, part, unprotected=bare)
        if exposure == 0:
            return 0.0
        if exposure == math.inf or not self.certified:
            return None
        profile = self.profile
        grouped = question in OF_PERSONS and self.unit != "user"
        if profile is None or (grouped and group is None):
            return None
        size = (2 if self.relation == "add_remove" else 1) * ((group or 1) if grouped else 1)
        if size > 1:
            # What lies outside the profile has no group rule.
            return None if self.delta_numeric else profile.for_group(size)
        if profile.rate < 1 and self.relation == "replace_one":
            profile = profile.for_group(1)
        return 0.0 if profile.free and not self.delta_numeric and not self.tv else profile

    def to_row(self) -> dict[str, Scalar]:
        """Flat row of plain values (strings, numbers, None): fit for JSON and CSV.

        Examples
        --------
        >>> import partywise as pw
        >>> row = pw.Event("sum", "hospital", "gaussian", unit="features", depends_on={"features"}, mu=0.5).to_row()
        >>> {name: row[name] for name in ("release_id", "owner", "mu", "unit", "audience")}
        {'release_id': 'sum', 'owner': 'hospital', 'mu': 0.5, 'unit': 'features', 'audience': '*'}
        """
        row = {name: getattr(self, name) for name in _columns()}
        row["depends_on"] = JOIN.join(sorted(self.depends_on))
        row["audience"] = JOIN.join(self.audience)
        for name in ("data_dependent_parameters", *NAMES):
            row[name] = JOIN.join(getattr(self, name))
        # Names of a share may hold any sign, so that they are text of their own.
        row["shares"] = _encoded(dict(self.shares)) if self.shares else ""
        return row

    @property
    def line(self) -> str:
        """`to_row` as JSON: what a ledger hashes."""
        return line_of(self.to_row())

    @classmethod
    def from_row(cls, row: Mapping[str, object]) -> "Event":
        """Inverse of `to_row`; also takes the strings of a CSV file and ignores columns that are not its own.

        Parameters
        ----------
        row : mapping of str to object
            A stratum without a partition, as earlier versions wrote it, counts for all records.

        Examples
        --------
        >>> import partywise as pw
        >>> event = pw.Event("sum", "hospital", "gaussian", unit="features", depends_on={"features"}, mu=0.5)
        >>> row = {name: "" if value is None else str(value) for name, value in event.to_row().items()}
        >>> pw.Event.from_row(row | {"step": "0"}) == event  # as from a CSV file
        True
        """
        values: dict[str, Any] = dict.fromkeys(LATER, "") | {
            name: row[name] for name in _columns() if name in row or name not in LATER
        }
        values["shares"] = tuple(json.loads(values["shares"]).items()) if values["shares"] else ()
        values |= {"tv": float(values["tv"] or 0.0), "exact": str(values["exact"]) == "True"}
        if "/" not in values["stratum"]:
            values["stratum"] = EVERYBODY
        for name in ("mu", "rho", "epsilon", "range", "epsilon_distance", "sensitivity", "epsilon_claimed", "k"):
            values[name] = None if values[name] in (None, "") else float(values[name])
        for name in ("depends_on", "audience", "data_dependent_parameters", *NAMES):
            values[name] = tuple(filter(None, values[name].split(JOIN)))
        values["k"] = None if values["k"] is None else int(values["k"])
        values |= {name: float(values[name]) for name in ("rate", "delta_numeric")}
        return cls(**{**values, "count": int(values["count"]), "certified": str(values["certified"]) == "True"})


# Profiles are few and events many: equal ones share an object.
_profile = lru_cache(maxsize=4096, typed=True)(PrivacyProfile)

# An event keeps no line: with a million rows, lines are most of what a ledger would take.
_encoded = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def line_of(row: Mapping[str, object]) -> str:
    """A row of an event as JSON, without what an earlier version could not write and this row does not hold."""
    empty = [name for name in LATER if not row[name]]
    return _encoded({name: value for name, value in row.items() if name not in empty} if empty else row)


@cache
def _columns() -> tuple[str, ...]:
    """Names of the fields of an event, in order; a ledger asks for them at every row."""
    return tuple(field.name for field in fields(Event))


def _group(question: str, rows_per_user: int | None) -> int | None:
    if question not in QUESTIONS:
        raise ValueError(f"unit={question!r} of a question is unknown; use one of {QUESTIONS}.")
    if rows_per_user is None:
        return None
    if rows_per_user != int(rows_per_user) or rows_per_user < 1:
        raise ValueError(f"rows_per_user={rows_per_user!r} must be a whole number from 1, public.")
    return int(rows_per_user)
