"""Record and replay notices what no certificate may hide: planted errors are caught, an honest protocol passes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fixed import fixed
from partywise.audits.contract import Subject, changed_records, check_neighbours
from partywise.audits.noise import check_noise
from partywise.audits.replay import compare, record, replay
from partywise.core.errors import ContractError
from partywise.core.randomness import stream
from partywise.federation.parties import Party
from partywise.federation.run import Run
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.mechanisms import Gaussian, QuantileRadius, RandomizedResponse
from partywise.privacy.mechanisms.integer import IntegerGaussian
from partywise.privacy.mechanisms.release import charge_and_draw
from partywise.privacy.statistics.clips import BoxClip
from partywise.privacy.statistics.counts import counts
from partywise.privacy.statistics.moments import record_sum
from partywise.privacy.statistics.records import count_at_most, entries
from partywise.privacy.statistics.slices import slice_means
from partywise.privacy.statistics.whole import Whole, whole

N = 60


def noisy(one, bounded, name, sigma=1.0, **terms):
    mechanism = IntegerGaussian if isinstance(bounded, Whole) else Gaussian
    return mechanism(sigma=sigma)(bounded, one.rng_for(name), owner="a", release_id=name, **terms)


def sent(one, name, payload):
    one.channel.send("a", "b", name, payload)


def honest(one, x, y):
    """Every kind of message, nothing wrong with any."""
    lengths = np.linalg.norm(x, axis=1)
    radius = QuantileRadius(0.5)(lengths, one.rng_for("radius"), owner="a", release_id="radius")
    sent(one, "radius", radius)
    total = Gaussian(mu=1.0)(record_sum(x, radius, unit="row"), one.rng_for("sum"), owner="a", release_id="sum")
    sent(one, "sum", total)
    sent(one, "means", noisy(one, slice_means(x, y, fixed((0.5, 1.5)), box=fixed(1.0)), "means"))
    sent(one, "twice the radius", Public(2 * radius.value, because="of a release", made_of=(radius,)))
    bits = entries((y > 1).astype(float), unit="row")
    sent(one, "signs", RandomizedResponse(2.0, 2)(bits, one.rng_for("signs"), owner="a", release_id="signs"))


# Branches on data.


def one_more(one, x, y):
    for k in range(2 if y.max() > 5 else 1):
        sent(one, f"sum {k}", noisy(one, record_sum(x, fixed(1.0)), f"sum {k}"))


def another_mechanism(one, x, y):
    if np.abs(x).max() > 100:
        sent(one, "n", noisy(one, count_at_most(x[:, 0], fixed(0.0)), "n"))
    else:
        sent(one, "sum", noisy(one, record_sum(x, fixed(1.0)), "sum"))


def public_stop(one, x, y):
    sent(one, "sum", noisy(one, record_sum(x, fixed(1.0)), "sum"))
    sent(one, "stop", Public(bool(np.abs(x).max() > 100), because="it looks harmless"))


def named_by_the_data(one, x, y):
    sent(one, "s", noisy(one, record_sum(x, fixed(1.0)), f"sum of {y.max():.6g}"))


def parent_by_the_data(one, x, y):
    budget = ("r",) if y.max() > 5 else ()
    sent(one, "r", noisy(one, count_at_most(x[:, 0], fixed(0.0)), "r"))
    sent(one, "s", noisy(one, record_sum(x, fixed(1.0)), "s", data_dependent_parameters=budget))


def clear_for_another_unit(one, x, y):
    sent(one, "sum", noisy(one, record_sum(x, fixed(1.0)), "sum"))
    sent(one, "labels", Clear(y, units=("features",)))


# Wrong domains: parameters of the data, called public.


def edges_of_the_data(one, x, y):
    edges = np.arange(3) + 0.5 if np.all(y == np.round(y)) else np.linspace(-3, 3, 5)[1:-1]
    sent(one, "m", noisy(one, slice_means(x, y, fixed(edges), radius=fixed(1.0)), "m"))


def radius_of_the_data(one, x, y):
    sent(one, "s", noisy(one, record_sum(x, fixed(np.abs(x).max())), "s"))


def bins_of_the_data(one, x, y):
    sent(one, "n", noisy(one, counts(np.clip(y, 0, 9).astype(int), fixed(int(np.clip(y, 0, 9).max()) + 1)), "n"))


def threshold_of_the_data(one, x, y):
    sent(one, "n", noisy(one, count_at_most(x[:, 0] - x[0, 0], fixed(0.0)), "n"))


# Wrong sensitivities.


def certified_for(bounded, factor=1.0, **parts):
    certificate = replace(bounded.certificate, value=factor * bounded.certificate.value, **parts)
    return replace(bounded, certificate=certificate)


def half_a_certificate(one, x, y):
    sent(one, "s", noisy(one, certified_for(record_sum(x, fixed(1.0)), 0.5), "s"))


def labels_that_are_not_named(one, x, y):
    bounded = certified_for(record_sum(y[:, None] / 10, fixed(1.0)), depends_on=frozenset({"features"}))
    sent(one, "s", noisy(one, bounded, "s"))


def clipped_after_the_sum(one, x, y):
    bounded = record_sum(x, fixed(1.0))
    sent(one, "s", noisy(one, replace(bounded, value=np.clip(x.sum(axis=0), -N, N)), "s"))


def mean_of_some(one, x, y):
    """The divisor is a number of records that nobody protects."""
    bounded, some = certified_for(record_sum(x, fixed(1.0)), 1 / N), np.abs(x[:, 0]) < 0.3
    sent(one, "s", noisy(one, replace(bounded, value=np.clip(x[some], -1, 1).sum(axis=0) / some.sum()), "s", 0.1))


# Wrong scales of noise.


def noise_of_the_data(one, x, y):
    sent(one, "s", noisy(one, record_sum(x, fixed(1.0)), "s", sigma=np.abs(x).max()))


def drawn_with(one, x, noise):
    """A mechanism made by hand: its event states mu = 2, whatever its noise is."""
    bounded = record_sum(x, fixed(1.0), unit="row")
    value, rng = np.asarray(bounded.value), one.rng_for("s")
    made = charge_and_draw(
        bounded, {"mu": 2.0}, "gaussian", lambda: value + noise(rng, value), "a", {"release_id": "s"}, rng
    )
    sent(one, "s", made)


def a_tenth_of_the_noise(one, x, y):
    drawn_with(one, np.tile(x, (1, 5)), lambda rng, value: 0.1 * rng.standard_normal(value.shape))


def noise_on_every_second_entry(one, x, y):
    drawn_with(one, x, lambda rng, value: rng.standard_normal(value.shape) * (np.arange(value.size) % 2))


def one_noise_for_two(one, x, y):
    for name, radius in (("first", 1.0), ("second", 2.0)):
        bounded = record_sum(x, fixed(radius), unit="row")
        sent(one, name, Gaussian(mu=1.0)(bounded, one.rng_for("shared"), owner="a", release_id=name))


def hardly_a_flip(one, x, y):
    bits = entries((y > 1).astype(float), unit="row")
    flipped = one.rng_for("signs").random(N) < 0.02
    made = np.where(flipped, 1 - bits.value, bits.value).astype(int)
    distribution = {"epsilon": 0.5, "k": 2}
    rng, terms = one.rng_for("signs"), {"release_id": "signs"}
    sent(one, "signs", charge_and_draw(bits, distribution, "randomized_response", lambda: made, "a", terms, rng))


# Values that are missing.


def missing_ones_dropped(one, x, y):
    kept = x[np.isfinite(x).all(axis=1)]
    sent(one, "n", Public(len(kept), because="sizes are public"))
    sent(one, "s", noisy(one, record_sum(kept, fixed(1.0)), "s"))


def clip_that_lets_them_pass(one, x, y):
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    clipped = np.where(lengths > 1, x / lengths, x)
    bounded = record_sum(np.zeros_like(x), fixed(1.0))
    sent(one, "s", noisy(one, replace(bounded, value=clipped.sum(axis=0)), "s"))


def filled_with_the_mean(one, x, y):
    """One missing value moves all records: they are centred where something is missing, and scaled."""
    centre = np.nanmean(x, axis=0) * np.isnan(x).any()
    bounded = record_sum(np.nan_to_num(x), fixed(1.0))
    sent(one, "s", noisy(one, replace(bounded, value=np.clip(np.nan_to_num(x) - 5 * centre, -1, 1).sum(axis=0)), "s"))


def told_in_public(one, x, y):
    sent(one, "s", noisy(one, record_sum(np.nan_to_num(x), fixed(1.0)), "s"))
    sent(one, "complete", Public(not np.isnan(x).any(), because="quality of the data"))


PLANTED = {
    one_more: "branch",
    another_mechanism: "branch",
    public_stop: "branch",
    named_by_the_data: "branch",
    parent_by_the_data: "branch",
    clear_for_another_unit: "branch",
    edges_of_the_data: "domain",
    radius_of_the_data: "domain",
    bins_of_the_data: "domain",
    threshold_of_the_data: "domain",
    half_a_certificate: "sensitivity",
    labels_that_are_not_named: "sensitivity",
    clipped_after_the_sum: "sensitivity",
    mean_of_some: "sensitivity",
    noise_of_the_data: "noise",
    a_tenth_of_the_noise: "noise",
    noise_on_every_second_entry: "noise",
    one_noise_for_two: "noise",
    hardly_a_flip: "noise",
    missing_ones_dropped: "NaN",
    clip_that_lets_them_pass: "NaN",
    filled_with_the_mean: "NaN",
    told_in_public: "NaN",
}
# Errors that the unit of the others does not show.
OF_LABELS = (labels_that_are_not_named, clear_for_another_unit)


def data(seed):
    return stream(seed, "x").standard_normal((N, 2)), np.arange(N) % 4 * 1.0


def start(given, seed):
    x, y = given
    parties = [Party("a", "active", {"x": x, "y": y}), Party("b", "passive", {})]
    return Run(parties, epsilon=1.0, fold=None, rng_for=lambda *names: stream(seed, *names), spec=None, record=True)


def neighbours(given, unit, count, seed):
    for name, x, y in changed_records(*given, unit, count, stream(seed, "neighbours")):
        yield name, (x, y)


def missing(given, unit, count, seed):
    """Neighbours that lack a value."""
    for i in range(count):
        x = given[0].copy()
        x[i, 0] = np.nan
        yield f"record {i} lacks a value", (x, given[1])


def subject(protocol, changed=neighbours):
    def fit(run):
        block = run.parties[0].block
        return protocol(run, block["x"], block["y"])

    return Subject(fit, data, start, changed, delta=1e-5)


def test_an_honest_protocol_replays():
    one, totals = subject(honest), check_neighbours(subject(honest))
    assert all(0 < epsilon < np.inf for epsilon in totals.values())
    first = record(one.channel(data(0), 0))
    calls = ["quantile_radius", *["gaussian"] * 2, "randomized_response"]
    assert [call.mechanism for call in first.calls] == calls
    _, other = next(iter(neighbours(data(0), "row", 1, 0)))
    compare(first, replay(one.channel(other, 0), first), "row")
    # Its own draw would have been another one.
    assert record(one.channel(other, 0)).calls[2].output.tolist() != first.calls[2].output.tolist()


def test_five_kinds_of_errors_are_planted():
    kinds = Counter(PLANTED.values())
    assert set(kinds) == {"branch", "domain", "sensitivity", "noise", "NaN"} and min(kinds.values()) >= 4
    assert sum(kinds.values()) >= 20


@pytest.mark.parametrize("protocol", PLANTED, ids=lambda protocol: protocol.__name__)
def test_a_planted_error_is_caught(protocol):
    unit = "label" if protocol in OF_LABELS else "row"
    changed = missing if PLANTED[protocol] == "NaN" else neighbours
    with pytest.raises(ContractError):
        check_neighbours(subject(protocol, changed), [unit])


@pytest.mark.parametrize(("share", "caught"), [(1.0, False), (2.0, False), (0.7, True)])
def test_noise_is_measured_over_all_runs(share, caught):
    def protocol(one, x, y):
        drawn_with(one, np.tile(x, (1, 100)), lambda rng, value: share * rng.standard_normal(value.shape))

    tapes = [record(subject(protocol).channel(data(seed), seed)) for seed in range(3)]
    if not caught:
        return check_noise(tapes)
    with pytest.raises(ContractError, match="of what its event states"):
        check_noise(tapes)


def integers_of(one, x, name, address, share=1.0, bits=20):
    """A sum of whole records whose noise is a share of what its event states."""
    clip, columns = BoxClip(fixed(1.0)), np.tile(x, (1, 20))
    squares = 4 * clip.squares(columns.shape[1], bits)
    total = clip.steps(columns, bits).records.sum(axis=0)
    statistic, rng = whole(total, squares, 2.0**-bits, "2 L", unit="row"), one.rng_for(*address)
    made = IntegerGaussian(mu=1.0)(statistic, rng, owner="a", release_id=name)
    if np.any(share != 1.0):
        value = statistic.value + share * (made.value - statistic.value)
        terms = {"release_id": name}
        made = charge_and_draw(statistic, {"mu": 1.0}, "rounded_gaussian", lambda: value, "a", terms, one.rng_for("b"))
    sent(one, name, made)


@pytest.mark.parametrize("bits", [0, 20])
@pytest.mark.parametrize(
    ("share", "shared", "message"),
    [
        (1.0, False, None),
        (0.3, False, "of what its event states"),
        (np.arange(40) % 2, False, "20 entries without noise"),
        (1.0, True, "has the very noise of"),
    ],
    ids=["honest", "small", "every second entry", "shared"],
)
def test_noise_of_whole_numbers_is_measured(share, shared, message, bits):
    """Of few steps as well, where noise of 0 and equal noise are frequent."""

    def protocol(one, x, y):
        integers_of(one, x, "first", ("s", "first"), 1.0, bits)
        integers_of(one, x, "second", ("s", "first" if shared else "second"), share, bits)

    tapes = [record(subject(protocol).channel(data(seed), seed)) for seed in range(3)]
    if message is None:
        return check_noise(tapes)
    with pytest.raises(ContractError, match=message):
        check_noise(tapes)
