"""A function of messages costs what they cost: free of public values, named of releases, clear of clear ones."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from fixed import fixed
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.federation.channel import Channel
from partywise.federation.parties import Party
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.ledger.reach import clear_event
from partywise.privacy.mechanisms import Gaussian
from partywise.privacy.mechanisms.release import Release, derive
from partywise.privacy.statistics.moments import record_sum

DELTA = 1e-5
OWNERS = ("a", "b", "c")
NAMES = (*OWNERS, "server")


@pytest.fixture
def channel() -> Channel:
    return Channel([Party(name, "client", {}) for name in OWNERS], ("server",))


def total_of(owner: str, audience: str | tuple[str, ...] = "*") -> Release:
    bounded = record_sum(np.ones((4, 2)), fixed(1.0))
    terms = {"owner": owner, "audience": audience, "release_id": f"total of {owner}"}
    return Gaussian(mu=0.5)(bounded, stream(1, owner), **terms)


def column(owner: str, units: tuple[str, ...] = ("row",)) -> Clear:
    return Clear(np.arange(3), units=units, owner=owner)


def epsilon(channel: Channel, view, unit: str = "row") -> float:
    return channel.ledger.total(view, unit, DELTA).epsilon_certified


def test_a_function_of_public_values_is_public():
    parts = [Public(2, because="a setting"), Public(3, because="another")]
    value = derive(5, parts, name="sum", owner="server", because="their sum")
    assert isinstance(value, Public) and value.parents == () and value.because == "their sum"


def test_a_function_of_clear_values_is_charged_to_every_owner_but_the_one_that_gets_it(channel):
    parts = [column("a"), column("b")]
    for part, owner in zip(parts, "ab", strict=True):
        channel.send(owner, "server", "column", part)
    answer = derive(np.ones(3), parts, name="majority", owner="server", audience=OWNERS)
    for receiver in OWNERS:
        channel.send("server", receiver, "majority", answer)
    assert [epsilon(channel, name) for name in NAMES] == [math.inf] * 4
    assert epsilon(channel, ()) == 0
    # Together a and b have seen nothing but their own and each other's.
    assert epsilon(channel, ("a", "b")) == 0
    assert len(channel.ledger) == 4, "two announcements, and one row for each owner, however many receive"
    with pytest.raises(CertificationError, match="not for 'server'"):
        channel.send("a", "server", "majority", answer)


def test_every_owner_is_charged_for_its_own_units(channel):
    parts = [column("a", ("features",)), column("b", ("label",))]
    answer = derive(0.0, parts, name="product", owner="server", audience=("c",))
    channel.send("server", "c", "product", answer)
    assert epsilon(channel, "c", "label") == epsilon(channel, "c", "features") == math.inf
    assert epsilon(channel, ("b", "c"), "label") == 0
    assert epsilon(channel, ("b", "c"), "features") == math.inf
    again = derive(1.0, [answer], name="half", owner="c", audience=("a",))
    channel.send("c", "a", "half", again)
    assert (epsilon(channel, "a", "label"), epsilon(channel, "a", "features")) == (math.inf, 0)


@pytest.mark.parametrize("kind", ["public", "release", "clear"])
def test_a_function_of_a_release_for_few_costs_whoever_gets_it(channel, kind):
    hidden = total_of("a", audience=("server",))
    channel.send("a", "server", "total", hidden)
    assert epsilon(channel, "b") == 0
    payload = {
        "public": lambda: Public(2 * hidden.value, because="a multiple", made_of=[hidden]),
        "release": lambda: derive(2 * hidden.value, [hidden], name="multiple", owner="server", audience=("b",)),
        "clear": lambda: Clear(2 * hidden.value, units=("row",), owner="server", made_of=[hidden]),
    }[kind]()
    channel.send("server", "b", "multiple", payload)
    spent = channel.ledger.total("b", "row", DELTA)
    if kind == "clear":
        assert spent.epsilon_certified == math.inf
    assert spent.epsilon_certified_part == pytest.approx(channel.ledger.total("server", "row", DELTA).epsilon_certified)
    assert spent.epsilon_certified_part > 0
    assert epsilon(channel, "c") == 0


@pytest.mark.parametrize("wrap", [Public, derive])
def test_a_function_of_what_no_message_brought_is_refused(channel, wrap):
    unsent, elsewhere = total_of("a"), total_of("b", audience=("c",))
    channel.send("b", "c", "total", elsewhere)
    for release in (unsent, elsewhere):
        terms = {"because": "a multiple", "made_of": [release]}
        if wrap is derive:
            terms = {"made_of": [release], "name": "multiple", "owner": "server"}
        with pytest.raises(CertificationError, match="which no message has brought to 'server'"):
            channel.send("server", "c", "multiple", wrap(release.value, **terms))
    assert len(channel.messages) == len(channel.ledger) == 1


def test_the_own_release_of_a_sender_gets_its_row_with_the_first_function_of_it(channel):
    own = total_of("a")
    channel.send("a", "b", "multiple", derive(2 * own.value, [own], name="multiple", owner="a"))
    assert [row.release_id for row in channel.ledger.rows] == ["total of a", "multiple"]
    assert channel.ledger.total("b", "row", DELTA).mu_total == pytest.approx(0.5)


def test_a_ledger_takes_no_function_of_a_release_without_a_row():
    release = total_of("a")
    made = derive(release.value, [release], name="multiple", owner="server")
    with pytest.raises(CertificationError, match="'total of a', which has no row"):
        Ledger([made.event])
    assert Ledger([release.event, made.event]).rows[-1].certified


def test_releases_about_several_units_cost_each_what_it_costs():
    """A function of a release about features and one about labels is not an unproved release about either."""
    features = total_of("a").event
    label = replace(features, release_id="labels", owner="b", unit="label", depends_on=frozenset({"label"}), mu=0.25)
    features = replace(features, unit="features", depends_on=frozenset({"features"}))
    parts = [Release(0.0, features), Release(0.0, label)]
    ledger = Ledger([features, label, derive(0.0, parts, name="both", owner="server").event])
    found = [ledger.total("c", unit, DELTA).mu_total for unit in ("features", "label", "row")]
    assert found == pytest.approx([0.5, 0.25, math.hypot(0.5, 0.25)])


def test_what_was_made_of_unproved_rows_for_others_is_followed_in_every_view():
    """A row that was for the server alone counts in every view that saw what was made of it."""
    proved = replace(total_of("a").event, stratum="clients/a")
    hidden = replace(proved, release_id="hidden", audience=("server",), certified=False)
    made = derive(0.0, [Release(0.0, hidden)], name="answer", owner="server")
    ledger = Ledger([proved, hidden, made.event])
    views = {name: ledger.total(name, "row", DELTA).epsilon_certified for name in NAMES}
    assert views["b"] == math.inf and views["a"] == 0
    assert ledger.worst_total(NAMES, "row", DELTA).epsilon_public == math.inf
    assert ledger.worst_total(NAMES, "row", DELTA).epsilon_certified == math.inf


def test_parts_are_refused_that_do_not_say_what_they_cost():
    with pytest.raises(TypeError, match="bare int"):
        Clear(0.0, units=("row",), made_of=[3])
    with pytest.raises(ValueError, match="must name the data's owner"):
        derive(0.0, [Clear(1.0, units=("row",))], name="x", owner="server")
    row = clear_event("x", "a", ("row",), ("b", "c"))
    assert isinstance(row, Event) and row.audience == ("b", "c")
