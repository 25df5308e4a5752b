"""What an owner of curves knows of the radii of others was brought to it by a message, and cost what it cost."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.core.errors import BudgetExceeded
from partywise.federation.channel import Channel
from partywise.methods.functional.options import LocalOptions, RoundwiseOptions
from protocol_driver import DELTA, INF, make_data, run

SHARED = [
    LocalOptions(s_mode="calibrated", radius="dp_quantile", max_steps=3),
    LocalOptions(s_mode="calibrated", radius="quantile", max_steps=3),
    RoundwiseOptions(s_mode="calibrated", radius="quantile", max_steps=2),
]
OWN = [
    LocalOptions(s_mode="calibrated", calibration="classic", radius="quantile", max_steps=3),
    LocalOptions(s=0.4, radius="quantile", max_steps=3),
    LocalOptions(s_mode="calibrated", max_steps=3),
    RoundwiseOptions(s=0.4, radius="quantile", max_steps=2),
]


def passed_on(done):
    return [message for message in done.channel.messages if message.name == "radii"]


@pytest.mark.parametrize("options", SHARED)
def test_radii_that_set_the_noise_of_others_are_passed_on_before_any_curve(options):
    done = run(options, epsilon=8.0, parties=2)
    messages = passed_on(done)
    assert [(m.sender, m.receiver, m.shape) for m in messages] == [("active", f"party {k}", (4,)) for k in (1, 2)]
    names = [message.name for message in done.channel.messages]
    assert max(i for i, name in enumerate(names) if name.startswith("radius")) < names.index("radii")
    assert max(m.step for m in messages) < min(i for i, name in enumerate(names) if name.startswith("curves"))
    assert not passed_on(run(options, epsilon=8.0, parties=1)), "an owner of everything needs nobody's radii"


@pytest.mark.parametrize("options", SHARED)
def test_radii_in_the_clear_are_charged_to_every_owner_that_gets_them(options):
    ledger = run(options, epsilon=8.0, parties=2).channel.ledger
    if options.radius == "dp_quantile":
        rows = {event.release_id: event for event in ledger.rows}
        assert rows["radii"].data_dependent_parameters == tuple(f"radius of x{j}" for j in (0, 2, 1, 3))
        assert rows["radii"].audience == ("party 1", "party 2")
        return
    rows = [event for event in ledger.rows if "/radii/" in event.release_id]
    assert {(event.owner, event.audience) for event in rows} == {
        (owner, ("party 1", "party 2")) for owner in ("party 1", "party 2")
    }
    assert ledger.total("party 1", "features", DELTA).epsilon_certified == INF


@pytest.mark.parametrize("options", OWN)
def test_radii_that_only_their_owner_reads_stay_between_it_and_the_active_party(options):
    assert not passed_on(run(options, epsilon=8.0, parties=2))


@pytest.mark.parametrize("options", SHARED)
def test_owners_draw_their_noise_at_the_level_of_the_radii_that_they_received(options, monkeypatch):
    """A message that said twice the radii makes twice the noise: no other way leads to an owner."""
    honest, data = Channel.send, make_data()

    def altered(channel, sender, receiver, name, payload):
        value = honest(channel, sender, receiver, name, payload)
        return 2 * value if name == "radii" else value

    def noise() -> np.ndarray:
        # Clipping is nothing beside noise at this target.
        done = run(options, data=data, epsilon=2.0, parties=2)
        return np.std(done.estimate.received_curves - data.X, axis=(0, 2))

    before = noise()
    monkeypatch.setattr(Channel, "send", altered)
    after = noise()
    assert after == pytest.approx(2 * before, rel=0.01)


def test_an_owner_that_was_told_smaller_radii_overdraws_the_budget(monkeypatch):
    """The budget was fixed in advance: a lie of the active party cannot make an owner spend more."""
    honest = Channel.send

    def altered(channel, sender, receiver, name, payload):
        value = honest(channel, sender, receiver, name, payload)
        return value / 10 if name == "radii" else value

    monkeypatch.setattr(Channel, "send", altered)
    with pytest.raises(BudgetExceeded):
        run(SHARED[0], epsilon=8.0, parties=2)
