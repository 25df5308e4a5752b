"""Released moments: one noise for each disjoint chunk, paid once by a person, whatever the folds and parties."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_rates import accepts_mean, accepts_sigma
from partywise.core.randomness import stream
from partywise.federation import run as federation
from partywise.federation.exchanges.private_products import Encryption, private_products
from partywise.federation.exchanges.residues import Ring
from partywise.federation.places import per_place
from partywise.federation.secure_streams import SecureStreams
from partywise.methods.functional.moments import CurveSums, corrected_moments
from partywise.methods.functional.options import CurveMomentsOptions, LocalOptions
from partywise.methods.functional.paths import ReleasedNoise
from partywise.methods.functional.protocols.aggregation import aggregation
from partywise.methods.functional.protocols.common import CurvePlan
from partywise.methods.functional.protocols.moments import ReleasedChunk, active_moments, local_curves, local_steps
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms.noise_shares import NoiseShares
from partywise.privacy.statistics.bounded import clip_curves
from partywise.privacy.statistics.isometry import to_matrix, to_vector
from protocol_driver import DELTA, INF, SMALL, execution, make_data, protocol_of, run

MOMENTS = CurveMomentsOptions(max_steps=30, dealer="dealer")
# Noise of either party of a product, at keys that close nothing.
ALONE = CurveMomentsOptions(max_steps=30, cipher="sized")
BOTH = pytest.mark.parametrize("options", [MOMENTS, ALONE], ids=["dealer", "no dealer"])
EPSILON = 200.0
# Radii that clip nothing: the largest norms of the small case are below them.
UNCLIPPED = {"radius_value": 6.0, "response_radius": 12.0}


@pytest.mark.parametrize("learner", ["predictor", "party"])
@pytest.mark.parametrize("parties", [1, 2, 4])
def test_without_noise_sums_of_chunks_give_the_pooled_fit(learner, parties):
    chunked = run(replace(MOMENTS, learner=learner, **UNCLIPPED), epsilon=INF, parties=parties)
    whole = run(LocalOptions(noise="none", learner=learner, max_steps=30), parties=parties)
    # Sums of whole steps, 2^-15 of a radius.
    assert np.allclose(chunked.estimate.operators, whole.estimate.operators, rtol=0, atol=5e-4)
    assert np.allclose(chunked.estimate.mean_x, whole.estimate.mean_x, rtol=0, atol=6 / 2**15)
    assert chunked.estimate.numbers["steps"] == whole.estimate.numbers["steps"]
    assert chunked.total().epsilon_certified == INF == chunked.estimate.epsilon_claimed


def test_predictor_learners_are_bit_identical_over_parties_and_splits():
    first = run(MOMENTS, epsilon=EPSILON, parties=1)
    explicit = {"split": "explicit", "groups": ((3, 0), (1, 2))}
    for parties, split in ((2, {}), (4, {}), (2, {"split": "contiguous"}), (2, explicit)):
        other = run(MOMENTS, epsilon=EPSILON, parties=parties, settings=replace(SMALL, **split))
        assert np.array_equal(other.estimate.operators, first.estimate.operators)
        assert other.total().epsilon_certified == first.total().epsilon_certified
    by_party = run(replace(MOMENTS, learner="party"), epsilon=EPSILON, parties=4)
    assert np.array_equal(by_party.estimate.operators, first.estimate.operators)


def test_results_do_not_depend_on_the_unit_of_time():
    unit = run(MOMENTS, epsilon=EPSILON)
    percent = run(MOMENTS, epsilon=EPSILON, settings=replace(SMALL, domain=(0.0, 100.0)))
    assert np.abs(unit.estimate.operators - percent.estimate.operators).max() <= 1e-9
    assert unit.total() == percent.total()


@pytest.mark.parametrize("epsilon", [0.5, 8.0, 500.0])
@pytest.mark.parametrize(("folds", "n_test"), [(2, 0), (5, 0), (1, 0), (1, 30)])
@BOTH
def test_many_chunks_cost_one_target(epsilon, folds, n_test, options):
    done = run(options, epsilon=epsilon, folds=folds, settings=replace(SMALL, n_test=n_test))
    training = max(folds - 1, 1)
    total = done.total()
    # The root search and the way back round towards safety; 1e-9 is far above their rounding.
    assert epsilon * (1 - 1e-9) <= total.epsilon_certified <= epsilon * (1 + 1e-12)
    assert total.n_releases == len(done.releases) == 3 * 2 * training
    strata = {event.stratum for event in done.releases}
    assert len(strata) == 2 * training and "*" not in strata
    # No view owns them: analyst, dealer and every party are charged.
    assert total.trust_model == "distributed"
    assert not {event.owner for event in done.releases} & set(done.channel.names)
    sequential = np.sqrt(sum(event.mu**2 for event in done.releases))
    assert sequential == pytest.approx(total.mu_total * np.sqrt(2 * training), rel=1e-9)


@BOTH
def test_the_budget_of_a_chunk_is_shared_as_stated(options):
    done = run(replace(options, shares=(0.6, 0.3, 0.1)), epsilon=EPSILON)
    rho = float(gdp_mu(EPSILON, DELTA)) ** 2 / 2
    radius, response = float(np.linalg.norm(done.data.radius)), done.data.response_radius
    expected = {"zz": (0.6, np.sqrt(2) * radius**2), "zy": (0.3, 2 * radius * response), "mean": (0.1, 2 * radius)}
    for event in done.releases:
        share, sensitivity = expected[event.release_id.split()[0]]
        # Lengths are whole numbers of steps, of 2^-15 of the longest radius without a dealer.
        assert event.sensitivity == pytest.approx(sensitivity, rel=1e-4)
        assert event.mu**2 / 2 == pytest.approx(share * rho, rel=1e-12)


@BOTH
def test_all_folds_of_a_replicate_share_their_chunks(options):
    cells = [run(options, epsilon=EPSILON, held_out=fold) for fold in range(3)]
    ledger = Ledger()
    for cell in cells:
        for event in cell.channel.ledger.rows:
            ledger.append(event)  # refuses a second draw under the same name
    total = ledger.worst_total(cells[0].channel.names, "features", DELTA)
    assert total.n_releases == 3 * 2 * 3 and total.epsilon_certified == cells[0].total().epsilon_certified
    assert not np.allclose(cells[0].estimate.operators, cells[1].estimate.operators)


def test_other_budgets_and_other_learners_see_the_same_draw_rescaled():
    def drawn(**change):
        done = run(replace(MOMENTS, **change), epsilon=EPSILON)
        return {event.release_id: event.noise_digest for event in done.releases}

    assert drawn() == drawn(learner="party") == drawn(nu=0.1) == drawn(stop="aic")
    data = make_data()
    noise = {}
    for epsilon in (5.0, 50.0):
        done = run(MOMENTS, data=data, epsilon=epsilon)
        exact = run(MOMENTS, data=data, epsilon=INF)
        mu = float(gdp_mu(epsilon, DELTA))
        noise[epsilon] = (done.estimate.mean_x - exact.estimate.mean_x) * mu
    # In whole steps, 2^-15 of a radius of a few, times a mu of about 10, over some 60 records.
    assert np.allclose(noise[5.0], noise[50.0], rtol=0, atol=1e-4)


def test_the_noise_of_every_entry_has_the_stated_deviation(monkeypatch):
    """S_zz, S_zy and means of 16 chunks at P = 60: 36 000 draws see an error of 3 %."""
    shares = dict(zip(("zz", "zy", "mean"), MOMENTS.shares, strict=True))
    draws, whole = [], NoiseShares.draw

    def recorded(noise, statistic, event, rng, entries=None):
        drawn = whole(noise, statistic, event, rng, entries)
        draws.append(
            drawn * statistic.units / statistic.certificate.value * np.sqrt(shares[event.release_id.split()[0]])
        )
        return drawn

    monkeypatch.setattr(NoiseShares, "draw", recorded)
    run(replace(MOMENTS, max_steps=1), epsilon=EPSILON, folds=9, settings=replace(SMALL, n=180, p=10))
    mu, drawn = float(gdp_mu(EPSILON, DELTA)), np.concatenate(draws)
    assert drawn.size == 16 * (60 * 61 // 2 + 60 * 6 + 60)
    assert accepts_sigma(drawn, 1 / mu)
    assert not accepts_sigma(drawn, 1.03 / mu) and not accepts_sigma(drawn, 1 / 1.03 / mu)


@given(st.integers(1, 7), st.integers(0, 10_000))
def test_the_vector_of_a_symmetric_matrix_keeps_its_length(size, seed):
    matrix = stream(seed, "symmetric").standard_normal((size, size))
    matrix += matrix.T
    vector = to_vector(matrix)
    assert vector.shape == (size * (size + 1) // 2,)
    assert np.linalg.norm(vector) == pytest.approx(np.linalg.norm(matrix), rel=1e-12)
    assert np.allclose(to_matrix(vector, size), matrix, rtol=0, atol=1e-12)


def test_the_noise_of_the_mean_is_taken_out_of_the_second_moments():
    """2000 draws with so large a noise on the mean that leaving it in shifts the covariance visibly."""
    n, sd, draws = 20, 15.0, 2000
    X = stream(1, "X").standard_normal((2 * n, 2))
    truth = np.cov(X, rowvar=False)
    parts = [CurveSums.of(X[half], X[half]) for half in (slice(0, n), slice(n, None))]
    noise = stream(1, "noise").standard_normal((draws, 2, 2)) * sd
    found = []
    for pair in noise:
        moved = [replace(sums, x=sums.x + extra) for sums, extra in zip(parts, pair, strict=True)]
        chunks = [ReleasedChunk(sums, {"mean": sd}) for sums in moved]
        found.append(active_moments(chunks, sd**2))
    corrected = np.array([moments.G[0, 0] for moments in found])
    raw = np.array([moments.raw[0, 0] for moments in found])
    spread = corrected.std()
    assert accepts_mean(corrected, truth[0, 0], spread)
    assert not accepts_mean(raw, truth[0, 0], spread)


def test_curves_and_response_are_clipped_before_they_are_added():
    data = make_data()
    clipped = replace(
        data,
        X=np.stack([clip_curves(data.X[:, j], None, 1.2)[0] for j in range(4)], axis=1),
        Y=clip_curves(data.Y, None, 0.7)[0],
    )
    short = run(replace(MOMENTS, radius_value=1.2, response_radius=0.7), data=data, epsilon=INF)
    exact = run(replace(MOMENTS, **UNCLIPPED), data=clipped, epsilon=INF)
    assert np.allclose(short.estimate.operators, exact.estimate.operators, rtol=0, atol=2e-3)
    assert short.estimate.numbers["radius"] == 1.2


def test_nobody_sees_curves():
    """Columns cross behind masks, sums in shares; the analyst and the active party get noisy sums."""
    done = run(MOMENTS, epsilon=EPSILON, parties=2)
    m, n, widths = 2, 80, {"active": 6, "party 1": 12, "party 2": 12}
    masked = {(o.sender, o.receiver): o.shape for o in done.channel.messages if o.name.startswith("masked")}
    assert masked == {(a, b): (m, n, widths[a]) for a in widths for b in widths if a != b}
    before = [o for o in done.channel.messages if o.name != "operators" and o.sender != "analyst"]
    assert {o.kind for o in before} == {"cipher"}
    # What is not a masked column is a seed, or sums of the 4 chunks: no vector has an entry for every record.
    assert all(o.shape == (4,) or o.shape[:2] == (m, 4) for o in before if not o.name.startswith("masked"))
    alone, released = 12 * 13 // 2 + 12, [o for o in done.channel.messages if o.sender == "analyst"]
    shapes = {(o.sender, o.receiver): o.shape[2] for o in before if len(o.shape) == 3 and o.shape[1] == 4}
    assert shapes == {
        ("dealer", "analyst"): 2 * alone,
        ("dealer", "party 1"): 12 * 6,
        ("dealer", "party 2"): 12 * (6 + 12),
        ("active", "analyst"): 24 * 6,
        ("party 1", "analyst"): alone + 12 * (6 + 12),
        ("party 2", "analyst"): alone + 12 * (6 + 12),
    }
    assert {o.kind for o in released} == {"release"}
    # Each of 4 training chunks: the triangle of S_zz, S_zy and the mean of P = 24 coordinates.
    assert sum(o.bytes for o in released) == 8 * 4 * (24 * 25 // 2 + 24 * 6 + 24)
    assert done.scalars["moments_bytes"] == 8 * 6 * (24 * 25 // 2 + 24 * 6 + 24)  # all 6 chunks of 3 folds
    assert done.total("label").epsilon_certified == INF


@BOTH
def test_an_estimator_with_secure_streams_draws_noise_to_publish(options):
    one, other = (run(options, epsilon=EPSILON, noise=SecureStreams(1)) for _ in range(2))
    assert {event.sampler for event in one.releases} == {"secure"}
    assert one.total().epsilon_certified == pytest.approx(EPSILON, rel=1e-9)
    assert not np.array_equal(one.estimate.mean_x, other.estimate.mean_x)


def test_useless_targets_are_flagged_and_impossible_ones_refused():
    weak = run(MOMENTS, epsilon=0.1)
    assert weak.scalars["null_model"] or weak.scalars["worse_than_mean"]
    assert np.isfinite(weak.estimate.operators).all()
    strong = run(MOMENTS, epsilon=1e4)
    assert strong.scalars["excess"] < 0.1 and not strong.scalars["worse_than_mean"]
    with pytest.raises(ValueError, match=r"epsilon is 0\.0: a calibrated release needs a positive target"):
        run(MOMENTS, epsilon=0.0)


def test_the_eigenvalue_floor_follows_its_option():
    ratios = []
    for replicate in range(8):
        given = {"data": make_data(SMALL, replicate), "epsilon": EPSILON, "replicate": replicate}
        loose, tight = (run(replace(MOMENTS, projection=c), **given) for c in (0.0, 10.0))
        assert loose.estimate.numbers["min_eigenvalue"] == tight.estimate.numbers["min_eigenvalue"] < 0
        ratios.append(np.linalg.norm(tight.estimate.operators) / np.linalg.norm(loose.estimate.operators))
    # Validation may stop later where the floor is higher: smaller in the median, not always.
    assert np.median(ratios) < 1


def test_no_mask_lies_on_the_records_of_two_folds():
    """The same mask on chunks in another order would cancel in the difference of what crossed."""
    sent = []
    for held_out in range(3):
        given = execution(MOMENTS, epsilon=EPSILON, held_out=held_out)
        named = {"epsilon": given.epsilon, "fold": given.fold, "rng_for": given.rng_for, "spec": given.spec}
        one = federation.Run(given.parties, **named, extra=("analyst", "dealer"), record=True)
        federation.simulate(protocol_of(MOMENTS), one)
        seen = [(message, value.content) for message, value in one.channel.view(*one.names) if message.kind == "cipher"]
        sent.append(
            {m.name: content for m, content in seen if m.sender == one.parties[1].name and m.receiver != "dealer"}
        )
    (name,) = [name for name in sent[0] if name.startswith("masked")]
    for first, other in combinations(sent, 2):
        ring = Ring(len(first[name]))
        rest = np.abs(ring.decode(ring.difference(first[name], [other[name]]), 0))
        # Differences of curves stay below twice their radius; those of uniform residues fill the ring.
        assert np.mean(rest < 1e6) < 0.01
        assert np.median(rest) > 0.1 * ring.modulus


def test_without_noise_sums_are_the_same_with_and_without_a_dealer():
    for parties in (1, 2, 4):
        dealt, alone = (run(replace(one, **UNCLIPPED), epsilon=INF, parties=parties) for one in (MOMENTS, ALONE))
        assert np.array_equal(alone.estimate.mean_x, dealt.estimate.mean_x)
        assert np.array_equal(alone.estimate.operators, dealt.estimate.operators)


def test_without_a_dealer_nobody_is_trusted_and_sums_of_two_parties_have_both_noises():
    done = run(ALONE, epsilon=EPSILON, parties=2)
    names = done.channel.names
    assert "dealer" not in {m.sender for m in done.channel.messages}
    worst = done.channel.ledger.worst_total(names, "features", DELTA)
    # The dealer's noise would be known to the dealer: infinite against any coalition.
    assert (worst.trust, worst.colluders) == (
        "encryption under the keys of active, party 1 and party 2 holds (a computational assumption)",
        2,
    )
    assert worst.epsilon_any == worst.epsilon_certified == pytest.approx(EPSILON, rel=1e-9)
    for event in done.releases:
        assert event.owners == ("active", "party 1", "party 2") and event.exact
        assert (event.tv > 0) == (event.release_id.split()[0] != "mean")


def test_noise_levels_without_a_dealer_are_those_that_are_drawn():
    """Sums of two parties at twice the variance, as the floor and the margin of a fit take it."""
    drawn, sums = {"zz": [], "own": [], "zy": [], "mean": []}, None
    for replicate in range(12):
        data, values = make_data(SMALL, replicate), []
        for epsilon in (5.0, INF):
            one = execution(ALONE, data=data, epsilon=epsilon, parties=2, replicate=replicate)
            plan = CurvePlan.of(one)
            sums = sums if epsilon == INF else aggregation(plan, one.spec.public.response_radius, data.Y.shape[1])
            columns = {one.parties[0].name: one.at(one.parties[0], local_steps, sums)}
            columns |= {party.name: one.at(party, local_curves, sums) for party in one.parties[1:]}
            chunks = sums.chunks if epsilon == 5.0 else silent(sums.chunks)
            made = private_products(one, Encryption("sized", 2048), per_place(columns), chunks, sums.layout, "analyst")
            values.append([release.value for release in made])
        zz, own = sums.layout.parts[0], sums.layout.owner
        apart = own[zz.first] != own[zz.second]
        for number, (noisy, clean) in enumerate(zip(*values, strict=True)):
            part = ("zz", "zy", "mean")[number % 3]
            noise = (noisy - clean) / sums.sd[part]
            drawn[part].append(noise[apart] / np.sqrt(2) if part == "zz" else noise)
            if part == "zz":
                drawn["own"].append(noise[~apart])
    for part, noise in drawn.items():
        found = np.concatenate(noise)
        assert accepts_sigma(found, 1.0) and not accepts_sigma(found, 1.25) and not accepts_sigma(found, 0.8), part
    share = np.mean(own[:24][:, None] != own[:24])
    assert sums.copies == pytest.approx(1 + share)


def silent(chunks):
    """The same chunks without noise."""
    return tuple(replace(chunk, sums=tuple(replace(one, mu=INF) for one in chunk.sums)) for chunk in chunks)


def test_the_variance_of_a_change_counts_entries_of_two_owners_twice():
    B, owners = stream(1, "B").standard_normal((6, 3)), (np.arange(2), np.arange(2, 6))
    moments = CurveSums.of(*(stream(1, name).standard_normal((9, k)) for name, k in (("x", 6), ("y", 3))))
    made = corrected_moments(moments, np.zeros((6, 6)))
    once, twice = (ReleasedNoise((2.0, 2.0), (0.0, 0.0), (0.0, 0.0), 0.0, own) for own in ((), owners))
    copies = np.full((6, 6), 2.0)
    for own in owners:
        copies[np.ix_(own, own)] = 1.0
    assert once.variance(0, B, made) == pytest.approx(2 * np.sum((B @ B.T) ** 2))
    assert twice.variance(0, B, made) == pytest.approx(2 * np.sum(copies * (B @ B.T) ** 2))
