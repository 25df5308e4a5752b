"""What the tests of the ledger share: an event with defaults, and the certified epsilon of some events."""

from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.ledger import Ledger

DELTA = 1e-5
BOTH = ("features", "label")


def event(release_id="r", **fields):
    values = {"owner": "p1", "mechanism": "gaussian", "unit": "row", "depends_on": BOTH, "mu": 1.0, **fields}
    return Event(release_id=release_id, **values)


def epsilon_of(events, unit="row", view="active", delta=DELTA):
    return Ledger(events).total(view, unit, delta).epsilon_certified
