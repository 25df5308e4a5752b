"""Sampling that gains nothing which is proved: said, because the difference is a factor of hundreds."""

import warnings
from collections.abc import Iterable

from ..accounting.law import Law
from .event import Event

__all__ = ["warn_of_sampling"]

REMEDY = {
    "replace_one": "state relation='add_remove' or 'label_flip' where one of two neighbours contributes nothing to the "
    "sampled sum, and ask partywise.privacy.ledger.compose.epsilon",
    "add_remove": "a total is about the replacement of a record, a group of two; for a record added or removed ask "
    "partywise.privacy.ledger.compose.epsilon",
}


def warn_of_sampling(rows: Iterable[tuple[Event, Law | float | None]]) -> None:
    """Warn of the first release that is charged as if every record were included, though it was sampled.

    For questions about one record: whoever asks about persons states groups, for which no gain by sampling is proved.
    """
    for event, cost in rows:
        if event.rate < 1 and isinstance(cost, Law) and cost.rate == 1 and not cost.free:
            warnings.warn(
                f"sampling at rate={event.rate:g} of release {event.release_id!r} is not credited under "
                f"relation={event.relation!r}: its law is charged as if every record were included; "
                f"{REMEDY[event.relation]}.",
                stacklevel=4,
            )
            return
