"""Record and replay opens what a party noised without reading it: planted errors are caught, an honest one passes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from fixed import fixed
from partywise.audits.contract import Subject, changed_records, check_neighbours
from partywise.audits.replay import record
from partywise.core.errors import CertificationError, ContractError
from partywise.core.randomness import stream
from partywise.federation.cipher import Cipher
from partywise.federation.exchanges.homomorphic import paillier
from partywise.federation.exchanges.homomorphic.ciphertexts import concatenate, take
from partywise.federation.exchanges.homomorphic.paillier_keys import generate_key
from partywise.federation.parties import Party
from partywise.federation.run import Run
from partywise.privacy.mechanisms import Release
from partywise.privacy.mechanisms.discrete import DiscreteGaussian
from partywise.privacy.statistics.encrypted_integers import EncryptedIntegers
from partywise.privacy.statistics.newton import ONE, Cells, free_ratio, hessians, newton_certificate

N, EDGES = 60, np.array([-0.5, 0.5])
CELLS = Cells((3, 3))
RATIO, SIGMA = free_ratio(2), 3.0


def codes_of(x):
    return np.column_stack([np.searchsorted(EDGES, column, side="left") for column in x.T])


def revealed(public, cipher, keys):
    return np.array(paillier.reveal(public, cipher, keys), dtype=np.int64)


def tables_of(public, codes, g, h, cells=CELLS):
    """Sums under encryption, in the order of `Cells`."""
    places, d = cells.places(codes).T, codes.shape[1]
    parts = [paillier.sums(public, g, place, cells.count) for place in places[:d]]
    total = take(paillier.add(public, *parts), np.arange(cells.margins))
    parts = [paillier.sums(public, h, place, cells.count) for place in places]
    return concatenate(public, (total, paillier.add(public, paillier.add(public, *parts[:2]), parts[2])))


def closed_tables(public, statistic, **parts):
    certificate = replace(newton_certificate(2, RATIO), **parts)
    return EncryptedIntegers(certificate, CELLS.units(RATIO), statistic, partial(revealed, public))


def noised(public, statistic, rng):
    """What a party adds to its ciphertexts."""

    def add(noise):
        return paillier.rerandomise(public, paillier.add_plain(public, statistic, noise), rng)

    return add


def released(run, public, closed, add, name="tables", sigma=SIGMA, audience=("b",)):
    mechanism = DiscreteGaussian(sigma=sigma)
    return mechanism.under_encryption(
        closed, add, run.rng_for(name), owner="a", release_id=name, audience=audience, delta_numeric=1e-12
    )


def sent(run, release):
    run.channel.send("a", "b", "tables", release)


def honest(run, public, x, g, h):
    statistic = tables_of(public, codes_of(x), g, h)
    rng = run.rng_for("again")
    sent(run, released(run, public, closed_tables(public, statistic), noised(public, statistic, rng)))


def half_a_certificate(run, public, x, g, h):
    statistic = tables_of(public, codes_of(x), g, h)
    closed = closed_tables(public, statistic, value=newton_certificate(2, RATIO).value / 2)
    sent(run, released(run, public, closed, noised(public, statistic, run.rng_for("again"))))


def features_that_are_not_named(run, public, x, g, h):
    statistic = tables_of(public, codes_of(x), g, h)
    closed = closed_tables(public, statistic, unit="label", depends_on=frozenset({"label"}))
    sent(run, released(run, public, closed, noised(public, statistic, run.rng_for("again"))))


def edges_of_the_data(run, public, x, g, h):
    codes = np.clip(np.argsort(np.argsort(x, axis=0), axis=0) * 3 // N, 0, 2)
    statistic = tables_of(public, codes, g, h)
    sent(run, released(run, public, closed_tables(public, statistic), noised(public, statistic, run.rng_for("again"))))


def records_counted_twice(run, public, x, g, h):
    statistic = tables_of(public, codes_of(x), g, h)
    statistic = paillier.add(public, statistic, statistic)
    sent(run, released(run, public, closed_tables(public, statistic), noised(public, statistic, run.rng_for("again"))))


def hessians_of_gradients(run, public, x, g, h):
    statistic = tables_of(public, codes_of(x), g, paillier.times(public, h, [4]))
    sent(run, released(run, public, closed_tables(public, statistic), noised(public, statistic, run.rng_for("again"))))


def a_branch_on_data(run, public, x, g, h):
    statistic = tables_of(public, codes_of(x), g, h)
    sigma = SIGMA if np.abs(x).max() < 100 else 2 * SIGMA
    add = noised(public, statistic, run.rng_for("again"))
    sent(run, released(run, public, closed_tables(public, statistic), add, sigma=sigma))


def drawn_with(run, public, x, g, h, change):
    """Noise that is not what the mechanism drew."""
    statistic = tables_of(public, codes_of(x), g, h)
    add = noised(public, statistic, run.rng_for("again"))
    sent(run, released(run, public, closed_tables(public, statistic), lambda noise: add(change(noise))))


def no_noise(run, public, x, g, h):
    drawn_with(run, public, x, g, h, np.zeros_like)


def a_third_of_the_noise(run, public, x, g, h):
    drawn_with(run, public, x, g, h, lambda noise: noise // 3)


def noise_of_gradients_alone(run, public, x, g, h):
    drawn_with(run, public, x, g, h, lambda noise: np.where(np.arange(noise.size) < CELLS.margins, noise, 0))


def hessians_with_a_tenth_of_the_noise(run, public, x, g, h):
    drawn_with(run, public, x, g, h, lambda noise: np.where(np.arange(noise.size) < CELLS.margins, noise, noise // 10))


def one_noise_for_two(run, public, x, g, h):
    statistic = tables_of(public, codes_of(x), g, h)
    for name in ("first", "second"):
        add = noised(public, statistic, run.rng_for("again"))
        closed = closed_tables(public, statistic)
        mechanism = DiscreteGaussian(sigma=SIGMA)
        terms = {"owner": "a", "release_id": name, "audience": ("b",)}
        sent(run, mechanism.under_encryption(closed, add, run.rng_for("shared"), **terms))


def labels_that_others_see(run, public, x, g, h):
    """What comes back to the holder of the labels alone tells nobody of them; this is for everybody."""
    statistic = tables_of(public, codes_of(x), g, h)
    add = noised(public, statistic, run.rng_for("again"))
    sent(run, released(run, public, closed_tables(public, statistic), add, audience="*"))


PLANTED = (
    half_a_certificate,
    features_that_are_not_named,
    edges_of_the_data,
    records_counted_twice,
    hessians_of_gradients,
    a_branch_on_data,
    no_noise,
    a_third_of_the_noise,
    noise_of_gradients_alone,
    hessians_with_a_tenth_of_the_noise,
    one_noise_for_two,
)


def data(seed):
    rng = stream(seed, "x")
    return rng.standard_normal((N, 2)), rng.random(N) * 2 - 1


def start(given, seed):
    x, y = given
    parties = [Party("a", "passive", {"x": x}), Party("b", "active", {"y": y})]
    return Run(parties, epsilon=1.0, fold=None, rng_for=lambda *names: stream(seed, *names), spec=None, record=True)


def neighbours(given, unit, count, seed):
    for name, x, y in changed_records(*given, unit, count, stream(seed, "neighbours")):
        yield name, (x, np.clip(y, -1, 1))


def subject(protocol, kind="sized"):
    def fit(run):
        a, b = run.parties
        private = generate_key(256, run.rng_for("key"), kind=kind)
        g = np.rint(b.block["y"] * ONE).astype(np.int64)
        closed = [
            paillier.encrypt(private, part, run.rng_for("gradients", k), key_holder="b")
            for k, part in enumerate((g, hessians(g)))
        ]
        ciphers = [run.channel.send("b", "a", "gradients", cipher) for cipher in closed]
        protocol(run, private.public, a.block["x"], *ciphers)

    return Subject(fit, data, start, neighbours, delta=1e-5)


@pytest.mark.parametrize("kind", ["sized", "paillier"])
def test_an_honest_protocol_replays(kind):
    totals = check_neighbours(subject(honest, kind), pairs=20 if kind == "sized" else 4)
    mu = newton_certificate(2, RATIO).value / SIGMA
    (call,) = record(subject(honest, kind).channel(data(0), 0)).calls
    assert call.event is not None
    assert (call.event.mu, call.event.delta_numeric, call.event.mechanism) == (
        pytest.approx(mu, rel=1e-15),
        1e-12,
        "encrypted_rounded_gaussian",
    )
    assert 0 < totals["features"] == totals["row"] < np.inf
    assert totals["label"] == 0


@pytest.mark.parametrize("protocol", PLANTED, ids=lambda protocol: protocol.__name__)
def test_a_planted_error_is_caught(protocol):
    with pytest.raises(ContractError):
        check_neighbours(subject(protocol), ["features"])


def test_labels_that_others_see_cost_everything():
    """Records of the key holder, of which the certificate says nothing, have a row of their own."""
    channel = subject(labels_that_others_see).channel(data(0), 0)()
    rows = {row.owner: row for row in channel.ledger.rows if row.mechanism != "cipher"}
    assert rows["a"].mu is not None and (rows["b"].mechanism, rows["b"].audience) == ("none", ("*",))
    assert channel.ledger.total("reader", "label", 1e-5).epsilon_certified == np.inf
    assert channel.ledger.total("b", "label", 1e-5).epsilon_certified == 0
    assert check_neighbours(subject(labels_that_others_see), pairs=1)["label"] == np.inf


@pytest.mark.parametrize("protocol", [honest, labels_that_others_see], ids=lambda protocol: protocol.__name__)
def test_labels_in_a_release_that_does_not_name_them_are_caught(protocol, monkeypatch):
    """Right against the label holder, and false once it is published: the replay has no exception for everybody."""
    monkeypatch.setattr(EncryptedIntegers, "foreign_parts", lambda *_: ())
    check_neighbours(subject(protocol), ["features"], pairs=2)
    with pytest.raises(ContractError, match=r"depends on \['label'\], which it does not name"):
        check_neighbours(subject(protocol), ["label"])


def test_the_noise_under_encryption_is_the_noise_that_was_drawn():
    """Whoever has the key finds the table and the mechanism's own integers, and no digest of either is told."""
    from partywise.privacy.mechanisms.random import integer_noise

    tapes = [record(subject(honest, kind).channel(data(0), 0)) for kind in ("sized", "paillier")]
    first, second = (tape.calls[0] for tape in tapes)
    x, y = data(0)
    g = np.rint(y * ONE).astype(np.int64)
    table = CELLS.sums(codes_of(x), g, hessians(g))
    units, rng = CELLS.units(RATIO), stream(0, "tables")
    parts = [integer_noise(rng, SIGMA / units[k], size, "rounded") for k, size in ((0, 6), (-1, 15))]
    for call in (first, second):
        np.testing.assert_array_equal(np.rint(call.bounded.value / units), table)
        np.testing.assert_array_equal(np.rint(call.output / units), table + np.concatenate(parts))
    assert first.event == second.event
    assert isinstance(first.sent_value, Cipher)
    assert first.event.noise_digest not in first.sent_value.content.tobytes().hex()


def test_a_second_draw_has_another_digest():
    run = start(data(0), 0)
    private = generate_key(256, run.rng_for("key"), kind="sized")
    statistic = paillier.encrypt(
        private, np.zeros(CELLS.units(RATIO).size, dtype=int), run.rng_for("g"), key_holder="b"
    )
    closed, add = closed_tables(private.public, statistic), noised(private.public, statistic, run.rng_for("again"))
    made = [released(run, private.public, closed, add, name) for name in ("one", "one", "two")]
    assert all(isinstance(one, Release) for one in made)
    digests = [one.event.noise_digest for one in made]
    assert digests[0] == digests[1] != digests[2]
    # The noise is wanted by its mu as well, and costs that.
    rng = run.rng_for("mu")
    wanted = DiscreteGaussian(mu=0.5).under_encryption(closed, add, rng, owner="a", release_id="wanted")
    assert wanted.event.mu == 0.5


@pytest.mark.parametrize(
    "mechanism",
    [
        DiscreteGaussian(sigma=1.0, grid=0.5),
        DiscreteGaussian(sigma=1.0, distribution="discrete"),
        DiscreteGaussian(covariance=fixed(np.eye(2))),
    ],
)
def test_what_integers_cannot_have_is_refused(mechanism):
    statistic = Cipher(np.zeros((2, 1), dtype=np.uint8), "b", "sized")
    closed = EncryptedIntegers(newton_certificate(2, RATIO), np.ones(2), statistic, lambda *_: np.zeros(2))
    with pytest.raises(ValueError, match="give sigma or mu alone"):
        mechanism.under_encryption(closed, lambda noise: statistic, stream(0, "x"), owner="a")
    unknown = replace(closed, certificate=replace(closed.certificate, value=np.inf))
    with pytest.raises(CertificationError, match="the sensitivity is infinite"):
        DiscreteGaussian(mu=1.0).under_encryption(unknown, lambda noise: statistic, stream(0, "x"), owner="a")


@pytest.mark.parametrize(("parts", "message"), [({"units": np.zeros(2)}, "positive"), ({"norm": "l1"}, "in 'l2'")])
def test_a_closed_statistic_has_units_and_the_norm_l2(parts, message):
    certificate = replace(newton_certificate(2, RATIO), norm=parts.get("norm", "l2"))
    with pytest.raises(ValueError, match=message):
        EncryptedIntegers(certificate, parts.get("units", np.ones(2)), None, lambda *_: np.zeros(2))
