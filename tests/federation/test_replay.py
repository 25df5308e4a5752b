"""Record and replay notices what no certificate may hide: planted errors are caught, an honest protocol passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixed import fixed
from partywise.federation.channel import Channel
from partywise.federation.parties import Party
from partywise.privacy.accounted import Clear, Public
from partywise.privacy.mechanisms import Gaussian, QuantileRadius
from partywise.privacy.statistics.counts import counts
from partywise.privacy.statistics.moments import record_sum
from partywise.privacy.statistics.records import count_at_most
from partywise.privacy.statistics.slices import slice_means
from partywise.randomness import stream
from replay import compare, record, replay

X = stream(1, "x").standard_normal((20, 2))
Y = np.arange(20) % 4 * 1.0


def edges_by_the_data(y):
    """What the audit study did."""
    return np.arange(3) + 0.5 if np.all(y == np.round(y)) else np.linspace(-3, 3, 5)[1:-1]


def released(bounded, x, sigma=1.0, **terms):
    return Gaussian(sigma=sigma)(bounded, stream(1, "noise"), owner="a", **terms)


def smaller(bounded, factor):
    return replace(bounded, certificate=replace(bounded.certificate, value=factor * bounded.certificate.value))


def of_features(bounded):
    return replace(bounded, certificate=replace(bounded.certificate, depends_on=frozenset({"features"})))


def honest(channel, x, y):
    """Every kind of message, nothing wrong with any."""
    radius = QuantileRadius(0.5)(np.linalg.norm(x, axis=1), stream(1, "radius"), owner="a", release_id="radius")
    channel.send("a", "b", "radius", radius)
    channel.send("a", "b", "sum", released(record_sum(x, radius, unit="row"), x, release_id="sum"))
    cut = slice_means(x, y, fixed((0.5, 1.5)), box=fixed(1.0))
    channel.send("a", "b", "means", released(cut, x, release_id="means"))
    channel.send("a", "b", "twice the radius", Public(2 * radius.value, because="of a release", made_of=(radius,)))


PLANTED = {
    "edges chosen by the data": lambda c, x, y: c.send(
        "a", "b", "m", released(slice_means(x, y, fixed(edges_by_the_data(y)), radius=fixed(1.0)), x)
    ),
    "a radius of the data": lambda c, x, y: c.send("a", "b", "s", released(record_sum(x, fixed(np.abs(x).max())), x)),
    "a noise level of the data": lambda c, x, y: c.send(
        "a", "b", "s", released(record_sum(x, fixed(1.0)), x, sigma=np.abs(x).max())
    ),
    "a certificate that is half": lambda c, x, y: c.send(
        "a", "b", "s", released(smaller(record_sum(x, fixed(1.0)), 0.5), x)
    ),
    "a number of bins of the data": lambda c, x, y: c.send(
        "a", "b", "n", released(counts(y.astype(int), fixed(int(y.max()) + 1)), x)
    ),
    "a threshold of the data": lambda c, x, y: c.send(
        "a", "b", "n", released(count_at_most(x[:, 0] - x[0, 0], fixed(0.0)), x)
    ),
    "a name of the data": lambda c, x, y: c.send(
        "a", "b", "s", released(record_sum(x, fixed(1.0)), x, release_id=f"sum of {y.max()}")
    ),
    "a parent of the data": lambda c, x, y: c.send(
        "a", "b", "s", released(record_sum(x, fixed(1.0)), x, data_dependent_parameters=("r",) if y.max() > 5 else ())
    ),
    "a public function of the data": lambda c, x, y: c.send(
        "a", "b", "max", Public(y.max(), because="it looks harmless")
    ),
    "clear for other units": lambda c, x, y: c.send("a", "b", "labels", Clear(y, units=("label",))),
    "labels that are not named": lambda c, x, y: c.send(
        "a", "b", "s", released(of_features(record_sum(y[:, None] / 10, fixed(1.0))), x)
    ),
    "a message more": lambda c, x, y: [c.send("a", "b", "go on", fixed(1)) for _ in range(2 if y.max() > 5 else 1)],
    "another shape": lambda c, x, y: c.send("a", "b", "seen", Clear(np.unique(y), units=("row",))),
}


def run(protocol, x, y):
    def fit():
        channel = Channel([Party("a", "active", {}), Party("b", "passive", {})])
        protocol(channel, x, y)
        return channel

    return fit


def neighbour():
    """Record 0 goes far away, its response to a fraction beyond all others."""
    x, y = X.copy(), Y.copy()
    x[0], y[0] = 9.0, 7.5
    return x, y


def test_an_honest_protocol_replays():
    first = record(run(honest, X, Y))
    assert [call.mechanism for call in first.calls] == ["quantile_radius", *["gaussian"] * 8]
    again = replay(run(honest, *neighbour()), first)
    compare(first, again, "row")
    # Its own draw would have been another one.
    assert record(run(honest, *neighbour())).calls[-1].drawn.tolist() != first.calls[-1].drawn.tolist()


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_caught(name):
    unit = "label" if name == "labels that are not named" else "row"
    x, y = neighbour()
    if unit == "label":
        x = X
    first = record(run(PLANTED[name], X, Y))
    with pytest.raises(AssertionError):
        compare(first, replay(run(PLANTED[name], x, y), first), unit)
