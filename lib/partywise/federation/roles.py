"""Roles where columns lie at several parties, to whom values made of their blocks are charged, and for whom.

A person may have several records, as many as a public bound allows; they are protected together.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..privacy.accounted_values import Clear
from .folds import ProtocolSpec
from .parties import Participant, Party
from .places import Place, name_of
from .run import Run

# Steers and has the result; holds no data.
ANALYST = "analyst"
UNITS = {"active": ("label", "features"), "passive": ("features",)}


def roles(parties: Sequence[Party], *, bare: bool = False) -> tuple[Party, tuple[Party, ...]]:
    """The active party, and the passive ones in their order.

    bare : whether the active one may be without columns, as one is that holds the labels alone
    """
    active = [party for party in parties if party.role == "active"]
    passive = tuple(party for party in parties if party.role == "passive")
    if len(active) != 1 or not passive:
        raise ValueError(
            f"parties has {len(active)} active and {len(passive)} passive ones: give one that holds the labels and at "
            "least one other."
        )
    check_holders(passive if bare else parties)
    return active[0], passive


def check_holders(parties: Sequence[Participant]) -> None:
    """ValueError if a party holds no column."""
    for party in parties:
        if not party.columns:
            raise ValueError(f"party {party.name!r} holds no column: give it one, or leave it out.")


def others_than(run: Run, *places: Place) -> tuple[Place, ...]:
    """All places on the channel but some: parties in order, then the places without data."""
    left = {name_of(place) for place in places}
    holders = {party.name: party for party in run.parties}
    return tuple(holders.get(name, name) for name in run.names if name not in left)


def parts_of(parties: Sequence[Participant], units: tuple[str, ...] | None = None) -> tuple[Clear, ...]:
    """Parts that a function of the blocks of some parties is made of, for the ledger.

    units : of every party; by default the labels too of an active one, and whole records of a client
    """
    return tuple(Clear(None, units=units or UNITS.get(party.role, ("row",)), owner=party.name) for party in parties)


def parts_with_labels(passive: Participant, holder: str) -> tuple[Clear, ...]:
    """Return what a function of a party's columns and of gradients, splits or weights of the label holder is made of.

    To the label holder it reveals the columns alone, to all others the holder's labels and features too.
    """
    return (*parts_of((passive,)), Clear(None, units=UNITS["active"], owner=holder))


def unprotected_value(value: object, parts: Sequence[Clear]) -> Clear:
    """A value in the clear, charged to all parties whose data it was computed from."""
    units = tuple(dict.fromkeys(unit for part in parts for unit in part.units))
    return Clear(value, units=units, made_of=parts)


def records_together(spec: ProtocolSpec[object, object, object, object]) -> int:
    """Records in all of which neighbours may differ: those of one person, at most, for the unit ``user``; else 1.

    spec : MethodSpec, whose ``study`` has the unit and whose ``settings`` may have ``rows_per_user``
    """
    return records_per_person(spec) if getattr(spec.study, "unit", None) == "user" else 1


def records_per_person(spec: ProtocolSpec[object, object, object, object]) -> int:
    """Return the public bound on the records of one person, as the settings have it; 1 where they have none."""
    group: int | None = getattr(getattr(spec, "settings", None), "rows_per_user", None)
    return 1 if group is None else group
