"""The protocol of released moments: exact without noise, certified for every view, nothing but ciphers of records."""

from __future__ import annotations

import logging
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forked import checked, forked
from glm_driver import DECLARED, FAMILIES, fitted, records, start
from partywise.audits.contract import Subject, agree, changed_records, check_neighbours
from partywise.core.errors import ContractError
from partywise.core.randomness import Streams, stream
from partywise.federation.cipher import Cipher
from partywise.federation.exchanges.sharing import DEALER
from partywise.federation.run import Run, simulate
from partywise.federation.secure_streams import SecureStreams
from partywise.methods.glm.noisy_statistics import moment_plan
from partywise.methods.glm.noisy_statistics.moment_plan import MomentPlan
from partywise.methods.glm.noisy_statistics.scaling import default_radius
from partywise.methods.glm.noisy_statistics.submodels import coefficients
from partywise.methods.glm.options import GlmMomentsOptions
from partywise.methods.glm.protocols.moments import fit, local_steps
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.mechanisms.noise_shares import NoiseShares
from partywise.privacy.statistics.isometry import to_vector
from partywise.privacy.statistics.whole import gram_squares

GROUPS = ((1, 3), (0, 4, 5), (2,))
# Noise in the shares of a dealer; noise of either party of a product, at keys that close nothing.
DEALT, ALONE = GlmMomentsOptions(dealer="dealer"), GlmMomentsOptions(cipher="sized")
BOTH = pytest.mark.parametrize("options", [DEALT, ALONE], ids=["dealer", "no dealer"])
RANGES = {"gaussian": (-5.0, 7.0), "binomial": (0.0, 1.0), "poisson": (0.0, 20.0)}
WIDE = {name: Public(30.0, DECLARED) for name in ("active", "passive 1", "passive 2")}


def facts(family: str, **changes):
    return {"statistic": Public(RANGES.get(family, (-4.0, 4.0)), DECLARED)} | changes


def a_fit(family: str = "gaussian", n: int = 200, p: int = 6, groups=GROUPS, options=DEALT, **changes):
    X, y = records(family, n, p)
    changes.setdefault("facts", facts(family))
    return fitted(fit, X, y, groups, options, family=family, **changes)


def least_squares(X: np.ndarray, t: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), t, rcond=None)[0]


def in_steps(X: np.ndarray, y: np.ndarray, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Columns and responses as they are multiplied: whole steps inside their radii."""
    plan, public = MomentPlan.of(run, len(X)), run.spec.public
    V = steps_of(X, y, run, plan) * plan.step
    X = V[:, :-1] * public.scale.value + public.location.value
    return X, plan.scale.center + V[:, -1] / plan.scale.weight


def test_without_noise_and_clipping_it_is_least_squares_and_the_correlation():
    estimate, run = a_fit(facts=facts("gaussian", radii=WIDE))
    X, t = in_steps(*records("gaussian", 200, 6), run)
    np.testing.assert_allclose(estimate.coefficients, least_squares(X, t), atol=1e-9)
    np.testing.assert_allclose(estimate.correlation, np.corrcoef(X.T), atol=1e-9)
    assert estimate.epsilon_claimed == np.inf == run.channel.ledger.worst_total(run.channel.names, "row", 1e-5).mu_total


def test_blocks_and_the_response_are_clipped_to_what_is_declared():
    X, y = records("gaussian", 200, 6)
    clipped = X.copy()
    for group in map(list, GROUPS):
        lengths = np.linalg.norm(X[:, group], axis=1)
        clipped[:, group] *= np.minimum(1, default_radius(len(group)) / lengths)[:, None]
    narrow = facts("gaussian", statistic=Public((0.0, 2.0), DECLARED))
    estimate, run = a_fit(facts=narrow)
    X, t = in_steps(X, y, run)
    np.testing.assert_allclose(estimate.coefficients, least_squares(X, t), atol=1e-9)
    # An entry is as far as a step and a half from what was declared: the few that lie beyond are rounded inwards.
    step = MomentPlan.of(run, 200).step
    np.testing.assert_allclose(X, clipped, rtol=0, atol=1.5 * step)
    np.testing.assert_allclose(t, np.clip(y, 0, 2), rtol=0, atol=1.5 * step / MomentPlan.of(run, 200).scale.weight)


@pytest.mark.parametrize("family", FAMILIES)
def test_any_number_of_parties_gives_one_answer(family):
    """Blocks of other parties are clipped to other radii, so these are wide."""
    fits = []
    for groups in (GROUPS, ((0, 1, 2, 3), (4, 5)), ((5,), (0,), (1,), (2,), (3,), (4,))):
        names = ["active", *(f"passive {k}" for k in range(1, len(groups)))]
        # S of all blocks together is the same whatever their number is.
        radii = {name: Public(40.0 / np.sqrt(len(groups)), DECLARED) for name in names}
        estimate, run = a_fit(family, groups=groups, facts=facts(family, radii=radii))
        fits.append((estimate.coefficients, MomentPlan.of(run, 200).step))
    for (one, step), (other, _) in pairwise(fits):
        # Entries are rounded to steps of the longest radius; in slopes of 200 records errors average out.
        np.testing.assert_allclose(one, other, rtol=0, atol=step / 4)


@pytest.mark.parametrize("how", [checked, forked])
@pytest.mark.parametrize("rng_for", [None, SecureStreams(1)], ids=["simulation", "secure"])
@BOTH
def test_every_mode_sends_the_same(how, rng_for, options):
    changes = {"rng_for": rng_for} if rng_for else {}
    runs = []
    for way in (simulate, how):
        X, y = records("gaussian", 60, 6)
        run = start(X, y, GROUPS, options, facts=facts("gaussian"), epsilon=1.0, **changes)
        runs.append((run, way(fit, run)))
    (one, expected), (other, found) = runs
    if rng_for is None:
        agree(one, expected, other, found, how.__name__)
    else:
        heads = [[(m.sender, m.receiver, m.name, m.kind, m.shape) for m in run.channel.messages] for run, _ in runs]
        assert heads[0] == heads[1]
        assert not np.array_equal(expected.coefficients, found.coefficients)
        rows = [event for run, _ in runs for event in run.channel.ledger.rows if event.profile is not None]
        assert {event.sampler for event in rows} == {"secure"}


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 8.0])
@BOTH
def test_every_view_is_certified_for_the_target(epsilon, options):
    estimate, run = a_fit(epsilon=epsilon, options=options)
    ledger, names = run.channel.ledger, run.channel.names
    views = [(), *((name,) for name in names), *(tuple(set(names) - {name}) for name in names)]
    # Nothing is proved against the dealer, who knows the noise and the masks.
    trusted = DEALER if options is DEALT else None
    # Who holds all columns has nothing to learn.
    parties = {party.name for party in run.parties}
    everything = [view for view in views if parties <= set(view)]
    knowing = [view for view in views if trusted in view and view not in everything]
    assert {ledger.total(view, "row", 1e-5).epsilon_certified for view in knowing} == ({np.inf} if knowing else set())
    assert bool(knowing) == (options is DEALT)
    views = [view for view in views if trusted not in view]
    # A party needs no protection from its own counts.
    holders = [ledger.total(view, "row", 1e-5) for view in views if parties & set(view) and view not in everything]
    assert all(0.97 * epsilon < total.epsilon_certified < epsilon for total in holders)
    totals = [ledger.total(view, "row", 1e-5) for view in views if not parties & set(view)]
    assert everything and {ledger.total(view, "row", 1e-5).epsilon_certified for view in everything} == {0.0}
    totals.append(ledger.worst_total(names, "row", 1e-5))
    keys = "encryption under the keys of active, passive 1 and passive 2 holds (a computational assumption)"
    assert totals[-1].trust == ("dealer does not collude" if options is DEALT else keys)
    assert totals[-1].epsilon_any == (np.inf if options is DEALT else totals[-1].epsilon_certified)
    assert all(abs(total.epsilon_certified - epsilon) <= 1e-9 for total in totals)
    assert {total.trust_model for total in totals} == {"distributed;local"}
    assert estimate.epsilon_claimed == epsilon


def test_a_constant_from_the_data_certifies_nothing():
    from_data = facts("gaussian", statistic=Clear((-5.0, 7.0), units=("label",), owner="active"))
    _, run = a_fit(epsilon=1.0, facts=from_data)
    assert run.channel.ledger.worst_total(run.channel.names, "row", 1e-5).epsilon_certified == np.inf


@pytest.mark.parametrize("groups", [GROUPS, ((0, 1, 2), (3, 4, 5))])
def test_bytes_are_those_of_the_table(groups):
    _, run = a_fit(groups=groups, epsilon=1.0)
    m, n, p, K = 3, 200, 6, len(groups)
    width = [len(group) + (k == 0) for k, group in enumerate(groups)]
    alone = [w * (w + 1) // 2 + w for w in width]
    earlier = [sum(width[:k]) for k in range(K)]
    expected = {
        "seed": 32 * K,
        "masked columns": 4 * m * n * sum(width) * (K - 1),
        "share of the noise": 4 * m * sum(alone),
        "shares with noise": 4 * m * sum(w * e for w, e in zip(width, earlier, strict=True)),
        "shares of sums": 4 * m * sum(w * (sum(width) - w) + a for w, a in zip(width, alone, strict=True)),
        "second moments": 8 * ((p + 1) * (p + 2) // 2 + p + 1) * K,
        "clipped records": 16 * K * K,
        "clipped responses": 8 * K,
    }
    found = dict.fromkeys(expected, 0)
    for message in run.channel.messages:
        found["masked columns" if message.name.startswith("masked") else message.name] += message.bytes
    assert found == expected


def test_every_vector_of_records_is_a_cipher():
    estimate, run = a_fit(epsilon=1.0)
    vectors = 0
    for name in run.channel.names:
        for message, value in run.channel.view(name):
            vectors += 200 in message.shape
            assert isinstance(value, Cipher) or 200 not in np.shape(value), message
            assert message.kind in ("cipher", "release"), message
    # Each party's block to each of the two others; nothing of a record reaches analyst or dealer.
    assert vectors == 6 and estimate.numbers["record_openings"] == 0
    assert all(200 not in message.shape for name in ("analyst", "dealer") for message, _ in run.channel.view(name))


def contract(family: str, n: int, options: GlmMomentsOptions = DEALT) -> Subject:
    """Data with a response that may be any number: of Gamma its logarithm."""

    def begin(data, seed: int) -> Run:
        X, t = data
        changes = {"facts": facts(family), "rng_for": lambda *names: records_stream(seed, *names)}
        y = np.exp(np.clip(t, -300, 300)) if family == "gamma" else t
        return start(X, y, GROUPS, options, family=family, epsilon=2.0, **changes)

    def data(seed: int):
        X, y = records(family, n, 6, seed=seed + 1)
        return X, np.log(y) if family == "gamma" else y

    def changed(data, unit: str, count: int, seed: int):
        given = records_stream(seed, "neighbours")
        for name, X, y in changed_records(*data, unit, count, given, binary=family == "binomial"):
            yield name, (X, y)

    return Subject(fit, data, begin, changed, 1e-5)


def records_stream(seed: int, *names):
    return stream(seed, "moments", *names)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "gamma"])
@BOTH
def test_neighbours_look_alike(family, options):
    totals = check_neighbours(contract(family, 40, options), ("row",), pairs=12, seeds=2)
    assert abs(totals["row"] - 2.0) < 1e-9


def steps_of(X: np.ndarray, y: np.ndarray, run: Run, plan: MomentPlan) -> np.ndarray:
    """(n, p + 1) the integers that the parties multiply, in the order of the columns."""
    rows = np.arange(len(X))
    parts = []
    for place, party in enumerate(run.parties):
        held = type(party)(
            party.name, party.role, {"X": X[:, list(party.columns)]} | ({"y": y} if place == 0 else {}), party.columns
        )
        parts.append(local_steps(held, place, rows, plan))
    order = np.argsort([j for own in plan.layout.columns for j in own])
    return np.concatenate(parts, axis=1)[:, order]


def vector(X: np.ndarray, y: np.ndarray, run: Run, plan: MomentPlan) -> np.ndarray:
    """The statistic before noise, from these integers."""
    V = steps_of(X, y, run, plan) * plan.step
    constant = plan.scale.constant
    return np.concatenate([to_vector(V.T @ V), np.sqrt(2) * constant * V.sum(axis=0)]) / plan.n


def made_plan(groups, statistic, location, scale, options=DEALT) -> tuple[Run, MomentPlan]:
    given = {"statistic": statistic, "location": location, "scale": scale}
    given = {name: Public(value, DECLARED) for name, value in given.items()}
    X, y = records("gaussian", 2, 6)
    run = start(X, y, groups, options, epsilon=1.0, facts=given)
    return run, MomentPlan.of(run, 1)


ENTRY = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, -1.0, 1e6])


@settings(max_examples=60, deadline=None)
@given(
    records=st.lists(st.lists(ENTRY, min_size=7, max_size=7), min_size=2, max_size=2),
    groups=st.sampled_from([GROUPS, ((0, 1, 2), (3, 4, 5)), ((0,), (1, 2, 3, 4, 5))]),
    scale=st.floats(0.01, 100),
    options=st.sampled_from([DEALT, ALONE]),
)
def test_no_record_moves_the_statistic_by_more_than_its_certificate(records, groups, scale, options):
    run, plan = made_plan(groups, (-2.0, 5.0), np.linspace(-1, 1, 6), np.full(6, scale), options)
    one, other = (vector(np.array([r[:6]]), np.array(r[6:]), run, plan) for r in records)
    assert np.linalg.norm(one - other) <= plan.total.certificate.value * (1 + 1e-12)


def worst_records(plan: MomentPlan, groups, rng) -> tuple[np.ndarray, np.ndarray]:
    """Two records of full length with (1, v)'(1, w) = 0: blocks at their radii, one turned against the other."""
    X, directions = np.zeros((2, 6)), rng.standard_normal((2, 6))
    for group, radius in zip(groups, plan.radii, strict=True):
        unit = directions[0, list(group)] / np.linalg.norm(directions[0, list(group)])
        side = np.roll(unit, 1) - np.roll(unit, 1) @ unit * unit if len(group) > 1 else np.zeros(1)
        side = side / max(np.linalg.norm(side), 1e-300)
        cosine = rng.uniform(-1, 1) if len(group) > 1 else rng.choice([-1.0, 1.0])
        X[0, list(group)] = 1e3 * radius * unit
        X[1, list(group)] = 1e3 * radius * (cosine * unit + np.sqrt(1 - cosine**2) * side)
    return X, rng.choice([-100.0, 100.0], 2)


@BOTH
def test_the_certificate_is_reached(options):
    groups, rng, found = ((0, 1, 2), (3, 4, 5)), records_stream(1, "worst"), 0.0
    run, plan = made_plan(groups, (-2.0, 5.0), np.zeros(6), np.ones(6), options)
    for _ in range(400):
        X, y = worst_records(plan, groups, rng)
        one, other = (vector(X[[i]], y[[i]], run, plan) for i in (0, 1))
        found = max(found, float(np.linalg.norm(one - other)) / plan.total.certificate.value)
    assert 0.99 < found <= 1 + 1e-12


@BOTH
def test_steps_are_whole_and_inside_their_radii(options):
    run, plan = made_plan(GROUPS, (-2.0, 5.0), np.zeros(6), np.ones(6), options)
    X, y = records("gaussian", 500, 6)
    for place, party in enumerate(run.parties):
        block = {"X": 5 * X[:, list(party.columns)]} | ({"y": 9 * y} if place == 0 else {})
        steps = local_steps(type(party)(party.name, party.role, block, party.columns), place, np.arange(500), plan)
        assert steps.dtype == np.int64
        own = [[int(v) for v in row[: len(party.columns)]] for row in steps]
        squares = [sum(v * v for v in row) for row in own]
        # In integers: no rounding decides.
        limit = Fraction(plan.radii[place]) / Fraction(plan.step)
        # Rounding to 15 bits takes what a step is of a length.
        assert 1 - 2e-4 < max(squares) / limit**2 <= 1
        if place == 0:
            assert np.abs(steps[:, -1]).max() * plan.step <= plan.scale.radius / 2
    assert limit <= 2**15


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"facts": {}}, "statistic"),
        ({"facts": facts("gaussian", location=None)}, "location"),
        ({"facts": facts("gaussian", radii={"active": Public(0.0, DECLARED)})}, "radii"),
        ({"facts": facts("gaussian", statistic=Public((1.0, 1.0), DECLARED))}, "statistic"),
        ({"block": {"weights": np.ones(200)}}, "weights"),
        ({"block": {"offset": np.ones(200)}}, "offset"),
    ],
)
def test_what_no_certificate_covers_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        a_fit(**changes)


def test_submodels_cost_nothing_more():
    estimate, run = a_fit(facts=facts("gaussian", radii=WIDE))
    X, t = in_steps(*records("gaussian", 200, 6), run)
    before = len(run.channel.ledger.rows)
    found = coefficients(estimate.moments, "gaussian", [4, 1])
    assert not found[[1, 3, 4, 6]].any() and len(run.channel.ledger.rows) == before
    np.testing.assert_allclose(found[[0, 5, 2]], least_squares(X[:, [4, 1]], t), atol=1e-9)


@BOTH
def test_noise_that_is_too_small_is_noticed(monkeypatch, options):
    monkeypatch.setattr(NoiseShares, "deviations", property(lambda own: {w: s / 4 for w, s in own._coarse.items()}))
    with pytest.raises(ContractError, match="noise"):
        check_neighbours(contract("gaussian", 40, options), ("row",), pairs=2, seeds=2)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_approximate_says_so_and_nothing_is_logged(family, caplog):
    with caplog.at_level(logging.INFO, logger="partywise"):
        estimate, _ = a_fit(family, n=50)
    assert estimate.numbers["approximate"] == (family != "gaussian") and not caplog.records


def test_bounds_in_whole_steps_that_are_too_small_are_noticed(monkeypatch):
    monkeypatch.setattr(moment_plan, "gram_squares", lambda longest: gram_squares(longest) // 25)
    with pytest.raises(ContractError, match="moved by"):
        check_neighbours(contract("gaussian", 40, ALONE), ("row",), pairs=12, seeds=1)


def test_without_a_dealer_whole_steps_are_all_that_differs():
    X, y = records("gaussian", 200, 6)
    wide = facts("gaussian", radii=WIDE)
    estimate, _ = a_fit(options=ALONE, facts=wide)
    np.testing.assert_allclose(estimate.coefficients, least_squares(X, np.clip(y, -5, 7)), atol=2e-3)
    dealt, _ = a_fit(facts=wide)
    assert estimate.numbers["secure_products"] == dealt.numbers["secure_products"] > 0


@pytest.mark.parametrize("groups", [GROUPS, ((0, 1, 2), (3, 4, 5))])
def test_bytes_without_a_dealer_are_those_of_the_table(groups):
    """At 2048 bits a ciphertext has 512 bytes and 12 slots: a block holds the columns of any party here."""
    _, run = a_fit(groups=groups, epsilon=1.0, options=ALONE)
    n, p, K, w = 200, 6, len(groups), 512
    width = [len(group) + (k == 0) for k, group in enumerate(groups)]
    # Who has more columns closes them, of two with as many the first.
    holders = {(j, k): (j, k) if width[j] >= width[k] else (k, j) for j in range(K) for k in range(j + 1, K)}
    expected = {
        "public key": (256 + 512 + 8) * len(holders),
        "closed columns": n * w * len(holders),
        "masked products": w * sum(width[k] for _, k in holders.values()),
        "noisy words": 8 * sum(a * (sum(width) - a) + a * (a + 1) // 2 + a for a in width),
        "second moments": 8 * ((p + 1) * (p + 2) // 2 + p + 1) * K,
        "clipped records": 16 * K * K,
        "clipped responses": 8 * K,
    }
    found = dict.fromkeys(expected, 0)
    for message in run.channel.messages:
        found[message.name] += message.bytes
    assert found == expected


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.statistical)])
@BOTH
def test_its_noise_errors_are_those_of_its_noise(options, count):
    """Root mean squares of slopes less those without noise, within 4 standard errors and what is not linear."""
    clean, _ = a_fit(n=2000, options=options)
    fits = [a_fit(n=2000, options=options, epsilon=30.0, rng_for=Streams(k, "fits"))[0] for k in range(count)]
    errors = np.array([one.coefficients - clean.coefficients for one in fits])[:, 1:]
    stated = np.array([one.noise_errors for one in fits])[:, 1:]
    ratio = np.sqrt((errors**2).mean(axis=0) / (stated**2).mean(axis=0))
    assert np.all(np.abs(ratio - 1) < 4 / np.sqrt(2 * count) + 0.05), ratio


def test_real_ciphertexts_give_the_same_release(monkeypatch):
    monkeypatch.setattr("partywise.core.checks.LEAST_KEY_SIZE", 512)
    small = {"n": 12, "epsilon": 2.0}
    one, run = a_fit(options=GlmMomentsOptions(key_size=512), **small)
    other, _ = a_fit(options=GlmMomentsOptions(cipher="sized", key_size=512), **small)
    np.testing.assert_array_equal(one.coefficients, other.coefficients)
    assert {m.kind for m in run.channel.messages if m.name in ("closed columns", "masked products")} == {"cipher"}


def test_keys_that_no_dealer_needs_are_refused():
    for unread in ({"cipher": "sized"}, {"key_size": 1024}):
        with pytest.raises(ValueError, match="dealer 'none'"):
            GlmMomentsOptions(dealer="dealer", **unread)
    with pytest.raises(ValueError, match="multiple of 16"):
        GlmMomentsOptions(key_size=2050)
    with pytest.raises(ValueError, match="dealer"):
        GlmMomentsOptions(dealer="bank")
