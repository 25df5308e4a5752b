"""Every protocol of every study: whoever pays is asked before each draw, once, and all that the ledger has was paid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import every_protocol
from every_protocol import generated, planned
from partywise.experiment.plan import Plan, plan
from partywise.experiment.trial import execution
from partywise.federation.place_checks import PlacedRun
from partywise.federation.places import Place, name_of
from partywise.federation.run import Run
from partywise.privacy.ledger.event import POST_PROCESSING, SEVERAL, UNNAMED, Event
from partywise.privacy.mechanisms.noise_shares import NoiseKey
from partywise.privacy.mechanisms.release import OBSERVER

# A budget that is reserved, and a radius whose noisy counts one charge pays: no method of the default has them.
PRIVATE_RADII = ("functional_boosting", "simulated", "private_radii")
RADII = {"protocol": "boosting", "s_mode": "calibrated", "radius": "dp_quantile", "max_steps": 6}
FITS = [*every_protocol.fits(), PRIVATE_RADII]
# What an attack of an audit draws for whoever runs the experiment: never sent, and charged where it is drawn.
EXPERIMENTER = "experimenter"


class Announcing(PlacedRun):
    """A run that notes what is announced to whom: (party, event, number of draws before)."""

    def __init__(self, run: Run, watch: Watch) -> None:
        super().__init__(run)
        self.watch, self.told = watch, list[tuple[str, Event, int]]()
        watch.run = self

    @property
    def place(self) -> str:
        """Whose line of the program runs; empty for the program itself."""
        return self._inside[-1] if self._inside else ""

    def charge(self, holders: Sequence[Place], *events: Event) -> None:
        assert not self.place, "what is announced is public: the program itself says it"
        self.told += [(name_of(place), event, len(self.watch.draws)) for place in holders for event in events]
        # A sum whose noise several parties add is paid here.
        super().charge(holders, *[event for event in events if event.owners])


class Watch:
    """A guard and an observer of one run.

    clear : rows paid for values in the clear; draws : (place, what was paid, event of what was drawn) in order
    pending : paid and not yet drawn; shares : of sums that were paid, whose share of the noise is not yet drawn
    """

    run: Announcing

    def __init__(self) -> None:
        self.clear, self.pending, self.depth = list[Event](), list[Event](), 0
        self.draws, self.shares = list[tuple[str, Event, Event]](), dict[str, list[str]]()

    def charge(self, *events: Event) -> None:
        for event in events:
            if event.mechanism == "none":
                self.clear.append(event)
            elif event.owners:
                assert not self.run.place and event.release_id not in self.shares
                self.shares[event.release_id] = list(event.knows or event.owners)
                self.draws.append((SEVERAL, event, event))
            elif event.profile is None:
                # Made without a mechanism and proved of nothing: it is drawn already, and leaves later.
                self.draws.append((self.run.place, event, event))
            else:
                self.pending.append(event)

    def draw(self, _: Any, mechanism: str, owner: str, draw: Callable[[], Any], rng: object = None) -> Any:
        """A draw that is not a part of another is of what was just charged."""
        if self.depth == 0:
            expected = [] if owner == SEVERAL else [(mechanism, owner)]
            assert [(event.mechanism, event.owner) for event in self.pending] == expected
        self.depth += 1
        value = draw()
        self.depth -= 1
        return value

    def add_event(self, event: Event) -> None:
        """The event of what was drawn."""
        if self.depth == 0 and not event.owners:
            self.draws.append((self.run.place, self.pending.pop(), event))

    def add_key(self, key: Any) -> None:
        """Noise of a sum that was paid once: a dealer draws all of it, or every owner its share, once."""
        if isinstance(key, NoiseKey):
            self.shares[key.name].remove(self.run.place)


@cache
def with_radii() -> Plan:
    """The plan of the one fit that the default has no method of."""
    block = every_protocol.block(PRIVATE_RADII[0])
    block["methods"][PRIVATE_RADII[2]] = RADII
    block["cases"][PRIVATE_RADII[1]]["grid"]["methods"].append(PRIVATE_RADII[2])
    return plan(PRIVATE_RADII[0], block, every_protocol.ROOT_SEED)


@cache
def watched(fit: Sequence[str]) -> Watch:
    """What is paid and drawn in a run."""
    study, case, method = fit
    watch, made = Watch(), with_radii() if fit == PRIVATE_RADII else planned(study)
    run = Announcing(execution(made, case, method, generated(study, case)), watch)
    run.charge_to(watch)
    token = OBSERVER.set(watch)
    try:
        made.methods[method].protocol.fit(run)
    finally:
        OBSERVER.reset(token)
    return watch


def terms(event: Event) -> tuple[Any, ...]:
    """What decides what an event costs."""
    return (
        event.owner,
        event.mechanism,
        event.unit,
        event.relation,
        event.depends_on,
        event.profile,
        event.delta_numeric,
    )


@pytest.mark.parametrize("fit", FITS, ids="/".join)
def test_every_draw_is_charged_once_and_before_it_and_no_row_of_the_ledger_is_unpaid(fit):
    watch = watched(fit)
    ledger = watch.run.channel.ledger
    assert not watch.pending and not any(watch.shares.values()), "charged and not drawn"
    drawn = Counter(event.release_id for _, _, event in watch.draws)
    budgets = {row.release_id for row in ledger.rows if row.mechanism == "budget"}
    clear, rows = list[Event](), list[Event]()
    for row in ledger.rows:
        (clear if row.mechanism == "none" else rows).append(row)
    assert clear == watch.clear, "a value in the clear is paid by its row, once"
    for row in rows:
        if row.mechanism in (POST_PROCESSING, "budget", "cipher"):
            continue
        assert drawn[row.release_id] == 1, "one charge and one draw, to however many it was sent"
        paid = next(paid for _, paid, event in watch.draws if event.release_id == row.release_id)
        if budgets & set(row.data_dependent_parameters):
            # The row of a budget pays in the ledger; whoever holds an account pays the profile of the draw.
            assert row.profile.free and not paid.profile.free
            paid = replace(paid, mu=row.mu, delta_numeric=row.delta_numeric)
        assert terms(paid) == terms(row)


@pytest.mark.parametrize("fit", FITS, ids="/".join)
def test_whoever_has_the_data_draws_and_pays_or_was_told_before(fit):
    """Noise of an assumed functionality or a dealer is announced to those whose data go in: they pay it, too."""
    watch = watched(fit)
    parties, announced = {party.name for party in watch.run.parties}, list(watch.run.told)
    for number, (place, paid, _) in enumerate(watch.draws):
        if place in parties:
            assert paid.owner in (place, EXPERIMENTER)
            continue
        assert paid.owner == place if paid.owners else paid.owner == UNNAMED
        told = [one for one in announced if one[1].release_id == paid.release_id]
        assert told and {name for name, _, _ in told} <= parties
        assert watch.run.parties[0].name in {name for name, _, _ in told} or len(told) > 1
        for one in told:
            assert terms(one[1]) == terms(paid) and one[1].certified == paid.certified and one[2] <= number
            announced.remove(one)
    assert not announced, "announced and never drawn"


def test_the_fits_hold_every_kind_of_draw():
    """Otherwise the tests above would hold of nothing: noise of parties, a dealer, a functionality, and of audits."""
    draws = [(place, paid) for fit in FITS for place, paid, _ in watched(fit).draws]
    assert {paid.mechanism for _, paid in draws} >= {
        "gaussian",
        "symmetric_gaussian",
        "randomized_response",
        "distance_exponential",
        "encrypted_rounded_gaussian",
        "subsampled_gaussian",
        "quantile_radius",
        "objective_perturbation",
    }
    assert {"aggregator", SEVERAL} <= {place for place, _ in draws}
    assert {(), ("dealer",)} <= {paid.knows for place, paid in draws if place == SEVERAL}
    assert any(row.mechanism == "budget" for row in watched(PRIVATE_RADII).run.channel.ledger.rows)
    assert any(not paid.certified for _, paid in draws) and any(paid.owner == EXPERIMENTER for _, paid in draws)
