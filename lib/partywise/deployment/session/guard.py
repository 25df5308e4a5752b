"""Who pays for the noise of a place without data: its own account, after those whose data it is of were told."""

from __future__ import annotations

from ...core.errors import CertificationError
from ...federation.account.interface import Account
from ...federation.place_checks import PlacedRun
from ...privacy.ledger.event import Event


class PrepaidCosts:
    """The payer of a functionality or a dealer: nothing is drawn on data of others that `Run.charge` did not announce.

    Each announcement is for one draw of that name, profile and unit. Who was told has paid from its own account, or has
    refused and given nothing away.

    Parameters
    ----------
    account : Account
        That of the place.
    placed : PlacedRun
        The run, which keeps what was announced.
    """

    def __init__(self, account: Account, placed: PlacedRun) -> None:
        self._account, self._placed = account, placed

    def charge(self, *events: Event) -> None:
        """As the account's; CertificationError for what was not announced, and nothing is drawn."""
        for event in events:
            if _terms(event) not in map(_terms, self._placed.announced):
                raise CertificationError(
                    f"{event.mechanism} {event.release_id!r} was not announced: whose data it is of could not pay; say "
                    "run.charge(holders, announced(...)) with its name and profile before they give anything away."
                )
        self._account.charge(*events)
        for event in events:
            place = list(map(_terms, self._placed.announced)).index(_terms(event))
            del self._placed.announced[place]


def _terms(event: Event) -> tuple[object, ...]:
    """What an announcement and its draw have alike."""
    beside = event.delta_numeric, event.tv, event.shares
    return event.release_id, event.mechanism, event.unit, event.relation, event.profile, *beside
