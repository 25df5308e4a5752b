"""Release of a mechanism: a value and the event it cost, charged to a budget before any noise is drawn."""

import hashlib
import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace

# Any: values that a mechanism releases, the user's included.
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar, Unpack

import numpy as np

from ...core.errors import CertificationError
from ..accounted_values import UNPROVED, AccountedValue, Clear, Public, parents_of
from ..accounting.privacy_profile import Alphabet
from ..ledger.event import POST_PROCESSING, UNNAMED, Event, EventProfile
from ..payer import require_payer
from ..rounding import round_up
from ..statistics.bounded import Bounded, SensitivityCertificate
from ..statistics.encrypted_integers import EncryptedIntegers
from ..statistics.whole import Whole
from .random import RandomSource, SpentGenerator, salt_of, sampler_of

if TYPE_CHECKING:
    from ..ledger.budget import PrivacyFilter

Statistic = TypeVar("Statistic", Bounded, Whole)
# The mechanisms that this library draws and states: what a row of another name costs rests on the word of its maker.
MECHANISMS = frozenset(
    {
        "adjusted_distance_exponential",
        "discrete_gaussian",
        "distance_exponential",
        "encrypted_rounded_gaussian",
        "gaussian",
        "geometric",
        "laplace",
        "objective_perturbation",
        "private_quantile",
        "quantile_radius",
        "randomized_response",
        "report_noisy_max",
        "rounded_gaussian",
        "subsampled_gaussian",
        "svt",
        "symmetric_gaussian",
    }
)
# What is left of a privacy profile where another row pays.
UNCHARGED: dict[str, float] = {"mu": 0.0, "rate": 1.0, "count": 1, "delta_numeric": 0.0}


class Observer(Protocol):
    """Follows the releases of a run (`partywise.audits.replay`)."""

    def draw(
        self,
        bounded: Bounded | EncryptedIntegers | Whole,
        mechanism: str,
        owner: str,
        draw: Callable[[], Any],
        rng: object = None,
    ) -> Any:
        """Return the value to release; ``draw`` gives that of the mechanism, from ``rng`` if one source draws all."""

    def add_key(self, key: object) -> None:
        """A private key that was made, or what its holder opened with one: what is closed to the parties is open to
        the checks of a simulation.
        """

    def add_event(self, event: Event) -> None:
        """The event of what was drawn last and is not made yet."""

    def show(self, name: str, part: Clear, because: str) -> Clear:
        """Numbers in the clear that a party consents to publish with its releases, or those that were published."""


@dataclass(frozen=True, eq=False)
class OpenedIntegers:
    """Integers (d,) with their noise that the holder of a key found in the ciphertexts of a release, and its name."""

    name: str
    integers: np.ndarray


OBSERVER: ContextVar[Observer | None] = ContextVar("OBSERVER", default=None)


@dataclass(frozen=True, eq=False)
class Release(AccountedValue):
    """A value that was paid for: it may be sent, post-processed and sent again at no further cost.

    value : stored read-only
    event : what it cost
    made_of : what a free release was computed from (see `derive`). A mechanism's own has the data of others that are in
        it, in the clear, where its owner noised ciphertexts of theirs: each other reader costs them everything
    """

    value: Any
    event: Event
    made_of: Sequence[AccountedValue] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.event, Event):
            raise TypeError(f"event={self.event!r} must be an Event; a release comes from a mechanism.")
        if self.event.mechanism == "none":
            raise ValueError(
                f"event={self.event.release_id!r} is the row of a value in the clear, which is not a release: send "
                "Clear(units=...)."
            )
        if isinstance(self.value, np.ndarray):
            self.value.flags.writeable = False

    @property
    def parents(self) -> tuple[str, ...]:
        """Its own id: what is computed with it depends on it."""
        return (self.event.release_id,)

    def post_process(self, function: Callable[[Any], Any]) -> "Release":
        """Return the release seen through a function that reads no other private data; same event, no further cost."""
        if self.value is None:
            raise ValueError(
                f"post_process of release {self.event.release_id!r}: its value is not here, since run.received lists "
                "payloads without their values; compute with the value that the message brought, and send "
                "Public(value, because=..., made_of=run.received(...))."
            )
        return replace(self, value=function(self.value))


def derive(
    value: Any,
    made_of: Sequence[AccountedValue],
    *,
    name: str,
    owner: str,
    audience: str | tuple[str, ...] = "*",
    because: str = "a function of public values",
) -> Release | Public | Clear:
    """A function of values that state their costs, as one value that costs what they cost."""
    parts = tuple(made_of)
    if not parts:
        raise ValueError(f"made_of=() of {name!r}: name at least one value that it was computed from.")
    unprotected = [part for part in parts if isinstance(part, Clear)]
    if unprotected:
        units = tuple(unit for part in unprotected for unit in part.units)
        return Clear(value, units, made_of=parts, audience=audience)
    if not any(part.parents for part in parts):
        return Public(value, because, parts)
    # A function of its parts: another draw of one of them makes it another, and its value is in nobody's ledger.
    releases = released_parts(parts)
    mark = digest_of([release.event.noise_digest for release in releases])
    return Release(value, derived_event(name, owner, parts, audience, mark), parts)


def derived_event(
    release_id: str, owner: str, parts: Sequence[AccountedValue], audience: str | tuple[str, ...], digest: str = ""
) -> Event:
    """The row of a value that was computed from releases: free, and it names them."""
    events = [part.event for part in released_parts(parts)]
    units = {(event.unit, event.relation) for event in events}
    # Releases about several units together are about whole rows.
    unit, relation = units.pop() if len(units) == 1 else ("row", "replace_one")
    return Event(
        release_id=release_id,
        owner=owner,
        mechanism=POST_PROCESSING,
        unit=unit,
        relation=relation,
        depends_on=frozenset[str]().union(*(event.depends_on for event in events)),
        mu=0.0,
        noise_digest=digest,
        audience=_audience(audience),
        trust_model=events[0].trust_model,
        sampler="secure" if all(event.sampler == "secure" for event in events) else "simulation",
        data_dependent_parameters=tuple(event.release_id for event in events),
        exact=all(event.exact for event in events),
    )


def released_parts(parts: Sequence[AccountedValue]) -> list[Release]:
    """The releases nearest to a value: those that it is a function of without another release between."""
    releases: dict[str, Release] = {}
    for part in parts:
        for release in [part] if isinstance(part, Release) else released_parts(part.made_of):
            releases[release.event.release_id] = release
    return list(releases.values())


class Terms(TypedDict, total=False):
    """Statements about a release in addition to its noise; keywords of every mechanism.

    release_id : its name, by default derived from the released value
    audience : who may see it, by default all readers
    data_dependent_parameters : the releases (or their ids) of parameters taken from private data, besides those that
        the statistic itself was made with. The ledger charges them, and counts the release as infinite if one of them
        has no proved row
    epsilon_claimed : by the source's formula
    trust_model : "local" by default
    knows : places that know the noise or the records (a dealer, an assumed functionality), against which nothing is
        proved
    budget : what the release is charged to, so that `BudgetExceeded` is raised and no noise is drawn if it does not fit

    A release whose privacy profile depends on earlier ones is certified as part of a named budget for its unit: its row
    names that of the budget, which pays for it.
    """

    release_id: str
    audience: str | tuple[str, ...]
    data_dependent_parameters: tuple[str | AccountedValue, ...]
    epsilon_claimed: float
    trust_model: str
    knows: tuple[str, ...]
    budget: "PrivacyFilter"


def open_to_readers(name: str, part: Clear, because: str) -> Clear:
    """Numbers in the clear, which readers of the releases of this run see as well: by consent of their owner."""
    observer = OBSERVER.get()
    return part if observer is None else observer.show(name, part, because)


def charge_and_draw(
    bounded: Bounded | EncryptedIntegers | Whole,
    profile: EventProfile,
    mechanism: str,
    draw: Callable[[], Any],
    owner: str,
    terms: Terms,
    rng: RandomSource | SpentGenerator,
    *,
    preset: bool = False,
    digest: Callable[[Any], str] | None = None,
) -> Release:
    """Charge a release, draw it once all payers agreed, and name it by its value: the last step of every mechanism.

    ``profile`` holds the fields of `Event` that state it: ``mu``, ``rho`` or ``epsilon``, and what goes with it.
    ``preset`` states that it was fixed before the statistic was made, so that it is the same for any parameters of it.
    A profile that was computed from parameters which were released (sensitivity over a given noise level) is known only
    after they are seen: what it states is not certified, unless a budget that was fixed in advance pays for it.

    The event that is charged has no digest yet, and without a ``release_id`` no final name: a budget counts what is
    about to be drawn, each time anew. A payer is charged the profile itself, also where the row of a budget stands for
    it in the ledger: the sum of what was drawn is what a budget over runs holds. A profile that is none of `MECHANISMS`
    is charged as unproved.
    """
    certificate = bounded.certificate
    parameters = terms.get("data_dependent_parameters", ())
    if isinstance(parameters, str):
        raise TypeError(f"data_dependent_parameters={parameters!r} must be a tuple of releases or release ids.")
    named = (name for p in parameters for name in (p.parents if isinstance(p, AccountedValue) else (p,)))
    parents = tuple(dict.fromkeys((*named, *bounded.parents)))
    stated = dict[str, Any](
        owner=owner,
        mechanism=mechanism,
        unit=certificate.unit,
        depends_on=certificate.depends_on,
        sensitivity=certificate.value,
        norm=certificate.norm,
        certificate=certificate.source,
        relation=certificate.relation,
        audience=_audience(terms.get("audience", "*")),
        stratum=bounded.stratum,
        trust_model=terms.get("trust_model", "local"),
        sampler=sampler_of(rng),
        data_dependent_parameters=parents,
        epsilon_claimed=terms.get("epsilon_claimed"),
        knows=terms.get("knows", ()),
        exact=_exact(bounded),
        **profile,
    )
    budget, payer = terms.get("budget"), require_payer(rng)
    if budget is not None:
        budget.spend(Event(release_id=terms.get("release_id", mechanism), **stated))
    if payer is not None:
        proved = stated.get("certified", True) and UNPROVED not in parents and mechanism in MECHANISMS
        payer.charge(Event(release_id=terms.get("release_id", mechanism), **stated | {"certified": proved}))
    if parents and not preset:
        if budget is not None and budget.pays_for(certificate.unit):
            stated |= dict.fromkeys(profile) | UNCHARGED | {"data_dependent_parameters": (*parents, budget.name)}
        else:
            stated["certified"] = False
    observer = OBSERVER.get()
    # Before the draw: how much of its source a draw takes may depend on the data.
    salt = salt_of(rng) if digest is None else b""
    value = draw() if observer is None else observer.draw(bounded, mechanism, owner, draw, rng)
    mark = digest_of(value, salt) if digest is None else digest(value)
    event = Event(release_id=terms.get("release_id", f"{mechanism}-{mark}"), noise_digest=mark, **stated)
    if observer is not None:
        observer.add_event(event)
    scalar = isinstance(value, np.ndarray | np.generic) and np.ndim(value) == 0
    return Release(value.item() if scalar else value, event)


def _exact(bounded: Bounded | EncryptedIntegers | Whole) -> bool:
    """Whether no rounding of the statistic is outside of its certificate."""
    certificate = bounded.certificate
    on_grid = certificate.grid is not None or certificate.norm in ("hamming", "distance") or certificate.value == 0
    return on_grid or not isinstance(bounded, Bounded)


def announcement(
    certificate: SensitivityCertificate,
    profile: EventProfile,
    mechanism: str,
    name: str,
    parents: Sequence[str] = (),
    *,
    trust_model: str,
    knows: tuple[str, ...] = (),
) -> Event:
    """Return the event of noise on the data of several parties, which each of them pays: public before it is drawn.

    ``knows`` are places that know the noise, or the records.
    """
    return Event(
        release_id=name,
        owner=UNNAMED,
        mechanism=mechanism,
        unit=certificate.unit,
        depends_on=certificate.depends_on,
        relation=certificate.relation,
        sensitivity=certificate.value,
        norm=certificate.norm,
        certificate=certificate.source,
        trust_model=trust_model,
        knows=knows,
        data_dependent_parameters=tuple(dict.fromkeys(parents)),
        certified=UNPROVED not in parents,
        **profile,
    )


def certificate_of(bounded: Bounded, norms: tuple[str, ...]) -> SensitivityCertificate:
    """The certificate of what a mechanism was given; `CertificationError` if it has none in one of the norms."""
    if not isinstance(bounded, Bounded):
        raise CertificationError(
            f"a mechanism takes a Bounded statistic, got {type(bounded).__name__}: without a sensitivity certificate "
            "no noise level means anything; make one by pw.record_sum, pw.counts or pw.Bounded."
        )
    if bounded.certificate.norm not in norms:
        raise CertificationError(
            f"the certificate bounds the norm {bounded.certificate.norm!r}; this mechanism needs one of {norms}."
        )
    return bounded.certificate


def pure_profile(epsilon: float, certificate: SensitivityCertificate) -> EventProfile:
    """Privacy profile of one draw that separates units at the distance of the certificate by at most ``epsilon``."""
    if certificate.relation == "add_remove":
        raise CertificationError(
            "relation='add_remove' of the certificate: this mechanism is given the number of records, which would be "
            "seen; certify the change under replace_one or label_flip."
        )
    if certificate.value == 0:
        return {"epsilon": 0.0}
    return {"epsilon": math.inf if math.isinf(certificate.value) else float(epsilon)}


def product_profile(epsilon: float, certificate: SensitivityCertificate, **fields: Unpack[Alphabet]) -> EventProfile:
    """Privacy profile of a mechanism that draws every entry by itself: one application for each entry that a unit can
    move.

    For mechanisms whose joint distribution is the product of the distributions of the entries, and for no others: the
    distributions of all mechanisms are enumerated in ``tests/privacy/mechanisms/test_profiles_at_a_distance.py``.
    """
    profile = pure_profile(epsilon, certificate)
    if not 0 < certificate.value < math.inf:
        return profile
    return profile | {"count": math.ceil(certificate.value), **fields}


def resting_on(bounded: Statistic, *parameters: AccountedValue | None) -> Statistic:
    """Return the statistic with the origins of the domain or the edges of its mechanism among its parents."""
    parents = (*bounded.parents, *parents_of(*parameters))
    return bounded if parents == bounded.parents else replace(bounded, parents=parents)


def generator(rng: np.random.Generator, mechanism: str) -> np.random.Generator:
    """The simulation generator of a mechanism that has no secure sampler; `TypeError` on any other source."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng={type(rng).__name__} of {mechanism}: it is drawn in floating point and has no secure sampler. Give "
            "a numpy Generator to simulate it, or release by DiscreteGaussian or RandomizedResponse."
        )
    return rng


def ratio(top: float, bottom: float) -> float:
    """Sensitivity over noise: 0 only if nothing can change, infinite without noise or if no float is as large."""
    if top == 0 or bottom == math.inf:
        return 0.0
    return math.inf if bottom == 0 else round_up(float(top) / float(bottom), top)


def noise_scale(sensitivity: float, parameter: float, name: str = "mu") -> float:
    """Scale of the noise that meets a privacy parameter: `ratio`, refused if no float is as large."""
    scale = ratio(sensitivity, parameter)
    if math.isinf(scale):
        raise CertificationError(
            f"{name}={parameter!r} of a sensitivity of {sensitivity!r} needs noise of a scale that no float holds; ask "
            f"for a larger {name}, or rescale the records."
        )
    return scale


def digest_of(value: object, salt: bytes = b"") -> str:
    """Short hash of a released value: it distinguishes a second draw of the noise from the same one.

    With a salt no reader finds a value of few bits from it by trying all.
    """
    array = np.ascontiguousarray(value)
    digest = hashlib.sha256(salt + repr(array.shape).encode())
    # Without a copy: an audit draws and names hundreds of megabytes.
    digest.update(array.tobytes() if array.dtype.hasobject else array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]


def _audience(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return ("*",) if value == "*" else value if isinstance(value, tuple) else (value,)
