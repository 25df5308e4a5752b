"""Running total of a ledger: what a view has learnt after each release."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..accounting.compose import Composition, check_delta, compose
from ..accounting.privacy_profile import PrivacyProfile
from ..strata import EVERYBODY, partition_of
from .event import Event
from .parallel import joint_cells


@dataclass(frozen=True)
class OdometerReading:
    """The total after one release.

    Parameters
    ----------
    step : int
        Position of the release in its ledger.
    release_id, owner, mechanism, stratum : str
        Of the release.
    cost : str
        Its profile as it is charged, ``"0"`` if it costs the unit nothing, ``"not proved"``.
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


def odometer(
    rows: Iterable[tuple[int, Event, PrivacyProfile | float | None]], delta: float
) -> Iterator[OdometerReading]:
    """Running totals of the rows that a view counts, each with its position and its cost."""
    delta = check_delta(delta)
    everywhere, certified, epsilon = Composition(), True, 0.0
    partitions = defaultdict[str, dict[str, Composition]](dict)
    for step, event, cost in rows:
        if cost is None:
            certified, epsilon, cost_text = False, float("inf"), "not proved"
        elif isinstance(cost, PrivacyProfile):
            name, more, cost_text = event.stratum, compose([cost], *event.beside), str(cost)
            if name == EVERYBODY:
                everywhere += more
            else:
                cells = partitions[partition_of(name)]
                cells[name] = cells.get(name, Composition()) + more
            if certified:
                # Of a partition whose cell has a release more, the other cells cost what they did.
                joint = joint_cells([cells[name]] if name in cells else cells.values() for cells in partitions.values())
                epsilon = max(epsilon, *((everywhere + part).epsilon(delta) for part in joint))
        else:
            cost_text = "0"
        yield OdometerReading(
            step, event.release_id, event.owner, event.mechanism, event.stratum, cost_text, epsilon, delta
        )
