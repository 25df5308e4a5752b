"""What a view has learnt after each release: the running total of a ledger."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..accounting.compose import Composition, check_delta, compose
from ..accounting.law import Law
from .event import Event

__all__ = ["Reading", "odometer"]


@dataclass(frozen=True)
class Reading:
    """The total after one release.

    Parameters
    ----------
    step : int
        Position of the release in its ledger.
    release_id, owner, mechanism, stratum : str
        Of the release.
    cost : str
        Its law as it is charged, ``"0"`` if it costs the unit nothing, ``"not proved"``.
    epsilon : float
        Certified for everything up to this release, at ``delta``; inf from the first unproved release on.
    delta : float
    """

    step: int
    release_id: str
    owner: str
    mechanism: str
    stratum: str
    cost: str
    epsilon: float
    delta: float


def odometer(rows: Iterable[tuple[int, Event, Law | float | None]], delta: float) -> Iterator[Reading]:
    """Running totals of the rows that a view counts, each with its position and its cost."""
    delta = check_delta(delta)
    strata, certified, epsilon = {"*": Composition()}, True, 0.0
    for step, event, cost in rows:
        if cost is None:
            certified, epsilon, told = False, float("inf"), "not proved"
        elif isinstance(cost, Law):
            name = event.stratum
            strata[name] = strata.get(name, Composition()) + compose([cost], event.delta_numeric)
            told = str(cost)
            if certified:
                # Disjoint strata compose in parallel, each with what is about everybody.
                touched = [name] if name != "*" else [other for other in strata if other != "*"] or ["*"]
                own = (strata["*"] if other == "*" else strata["*"] + strata[other] for other in touched)
                epsilon = max(epsilon, *(part.epsilon(delta) for part in own))
        else:
            told = "0"
        yield Reading(step, event.release_id, event.owner, event.mechanism, event.stratum, told, epsilon, delta)
