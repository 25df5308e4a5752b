"""What the privacy layers hold, against the numbers of the study's specification and against draws of the layers."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from error_rates import accepts_distribution
from layer_noise import MOVES, fixed_mu, local_mu
from partywise.methods.filters import guarantees
from partywise.methods.filters.guarantees import epsilon_of
from partywise.methods.filters.layers import nvflare
from partywise.methods.filters.layers.flower import local_sd
from partywise.methods.filters.layers.pfl import pfl_sigma
from partywise.privacy.accountants.renyi import RDP
from partywise.privacy.accounting.calibration import gaussian_epsilon
from partywise.privacy.accounting.compose import cost

DELTA = 1e-5
HEART = (304, 260, 46, 130)


def near(value: float, tolerance: float = 1e-5):
    return pytest.approx(value, rel=tolerance)


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "rounds", "replaced", "zeroed"),
    [
        (2.0, 1.0, 1, 0.750977, 0.352572),
        (2.0, 8.42, 1, 8.42005, None),
        (2.0, 10.0, 1, 10.3939, 4.5401),
        (1.0, 1.0, 1, 1.61032, 0.750977),
        (1.0, 10.0, 1, 25.4426, 10.3939),
        (2.0, 1.0, 30, 5.04843, 2.28649),
        (1.0, 1.0, 30, 11.6405, 5.04843),
        (1e-4, 10.0, 1, 8.5225e8, 2.1311e8),
    ],
)
def test_local_noise_holds_what_clip_and_noise_say_together(sensitivity, epsilon, rounds, replaced, zeroed):
    for relation, expected in zip(MOVES, (replaced, zeroed), strict=True):
        mu = local_mu(1.0, sensitivity, epsilon, DELTA, relation)
        # Of the largest only five digits are printed.
        assert expected is None or epsilon_of(mu, DELTA, rounds) == near(expected, 1e-5 if expected < 1e8 else 2.4e-5)


def test_the_noise_of_flip_is_that_of_its_log():
    """Threads 832 and 833 of FLIP print 4.845e-05 for (10, 1e-5), and 1.060e-04 for clip .5 and (5, 1e-6)."""
    assert local_sd(1e-4, 10.0, DELTA) == near(4.84481e-05)
    assert local_sd(1e-4, 5.0, 1e-6) == near(1.060e-04, 5e-4)
    assert local_mu(1.0, 1e-4, 10.0, DELTA) == near(41_281)


@pytest.mark.parametrize(
    ("rounds", "equal", "zeroed", "weighted", "weighted_zeroed", "renyi"),
    [
        (1, 9.99726, 4.37718, 18.7788, 7.86805, 4.7285),
        (10, 46.2112, 17.8566, 97.4924, 34.9355, 19.0536),
        (30, 105.876, 37.6225, 237.890, 78.0724, 39.8318),
    ],
)
def test_fixed_clipping_holds_its_claim_by_zero_out_and_equal_weights_only(
    rounds, equal, zeroed, weighted, weighted_zeroed, renyi
):
    assert epsilon_of(fixed_mu(1.0), DELTA, rounds) == near(equal)
    assert epsilon_of(fixed_mu(1.0, "zero_out"), DELTA, rounds) == near(zeroed)
    assert epsilon_of(fixed_mu(1.0, weights=HEART), DELTA, rounds) == near(weighted)
    assert epsilon_of(fixed_mu(1.0, "zero_out", HEART), DELTA, rounds) == near(weighted_zeroed)
    # What the accountant of Flower 1.42.0 prints, by Renyi divergences.
    assert RDP(cost(mu=1.0, count=rounds)).epsilon(DELTA) == near(renyi, 2e-5)


def test_the_heaviest_hospital_moves_the_mean_by_more_than_its_share_of_clients():
    assert fixed_mu(1.0, "zero_out", HEART) == near(1.643243, 1e-6)


@pytest.mark.parametrize(
    ("optimiser", "mu"), [("FedAvg", 1), ("FedAdam", 7.23), ("FedAdagrad", 78.9), ("FedYogi", 0.974)]
)
def test_an_optimiser_of_the_server_comes_before_the_noise(optimiser, mu):
    """To the three digits that were measured on the real classes; ``vectors.json`` has their steps."""
    assert guarantees.fixed_optimiser_mu(optimiser, 10, 0.01, 1.0, 14) == near(mu, 5e-4)


def test_adaptive_clipping_holds_the_epsilon_of_its_mixture():
    assert guarantees.adaptive_epsilon(1.0, 100, DELTA) == near(11.3713)
    assert guarantees.adaptive_epsilon(1.0, 100, DELTA, moved=1.0) == near(5.0260)
    # At a share of 1, in the mu of the updates alone, it is one Gaussian pair beside that of the count.
    count_sd, multiplier = guarantees.adaptive_noise(1.0, 100)
    for moves, expected in ((2, 11.3028), (1, 4.9814)):
        mu = np.hypot(moves * np.exp(0.2 * 0.5) / multiplier, 1 / count_sd)
        assert gaussian_epsilon(float(mu), DELTA) == near(expected)
    # With a clip that does not move, updates and count are two Gaussian pairs, which compose in closed form.
    with patch.object(guarantees, "RATE", 0.0):
        closed = float(np.hypot(1 / multiplier, 1 / count_sd))
        assert guarantees.adaptive_epsilon(1.0, 100, DELTA, moved=1.0) == near(gaussian_epsilon(closed, DELTA), 1e-9)


def test_the_proved_epsilon_of_svt_is_above_its_claim_and_its_account():
    found = [guarantees.svt_bound(entries) for entries in (14, 25, 7_033_200)]
    assert found == [near(0.72954), near(0.96287), near(70_332.9)]
    accounts = [sum(nvflare.svt_counts(entries)[1:]) for entries in (14, 25, 7_033_200)]
    assert accounts == [near(0.3), near(0.4), near(70_332.1)]


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [(0.1, (0.0277, 0.0390, 0.0431, 0.0438, 0.0439)), (4.0, (0.831, 1.116, 1.262, 1.301, 1.308))],
)
def test_the_index_that_svt_sends_tells_less_than_its_claim(epsilon, expected):
    for entries, number in zip((2, 4, 10, 25, 1000), expected, strict=True):
        found = guarantees.svt_index_epsilon(entries, epsilon)
        # To half of the last digit that is printed.
        assert found == pytest.approx(number, abs=0.5 * 10 ** (-4 if epsilon < 1 else -3))
        assert found < epsilon < guarantees.svt_bound(entries, 1 / entries, epsilon)


def first_accepted(values: np.ndarray, epsilon: float, draws: int, rng: np.random.Generator) -> np.ndarray:
    """How often each entry is the one that is sent, c = 1: passes over all rows at once, in units of gamma."""
    _, for_threshold, for_queries, _ = nvflare.svt_counts(len(values), 1 / len(values), epsilon)
    waiting = 0.1 + rng.laplace(scale=1 / for_threshold, size=draws)
    counts = np.zeros(len(values))
    while len(waiting):
        answers = values + rng.laplace(scale=2 / for_queries, size=(len(waiting), len(values)))
        accepted = answers >= waiting[:, None]
        some = accepted.any(axis=1)
        # One of those that were accepted, each as likely.
        order = np.where(accepted, rng.random(accepted.shape), -1.0)
        counts += np.bincount(order[some].argmax(axis=1), minlength=len(values))
        waiting = waiting[~some]
    return counts


@pytest.mark.parametrize(("first", "others"), [(1.0, 0.0), (0.0, 1.0)])
def test_the_index_of_svt_has_the_stated_distribution(first, others):
    """200,000 draws at D = 4, alpha 1e-9; and 1,500 of the restated layer itself."""
    values, gamma = np.array([first, others, others, others]), 1e-5
    p = guarantees.svt_index_probability(first * gamma, others * gamma, 4, 4.0)
    stated = [p, *[(1 - p) / 3] * 3]
    assert accepts_distribution(first_accepted(values, 4.0, 200_000, np.random.default_rng(1)), stated)
    rng = np.random.RandomState(2)
    sent = np.array(
        [nvflare.svt({"w": gamma * values}, rng=rng, fraction=0.25, epsilon=4.0)["w"] != 0 for _ in range(1500)]
    )
    assert (sent.sum(axis=1) == 1).all() and accepts_distribution(sent.sum(axis=0), stated)
    # Without the repeated passes an entry would be sent with the chances of a single one.
    assert not accepts_distribution(sent.sum(axis=0), [0.25] * 4)


def test_noise_of_fed_biomed():
    """Central, for a record in a convex model; local, by the sizes of the hospitals."""
    mu = guarantees.biomed_central_mu(0.5, 10, 16, 1.0)
    assert guarantees.biomed_central_mu(0.5, 10, 16, 2.0) == mu / 2
    assert mu == 0.625 and epsilon_of(mu, DELTA, 20) == near(15.2, 2e-3)
    for sigma, expected in ((1.0, (7.80, 9.22, 69.6, 19.8)), (2.0, (2.61, 3.10, 23.9, 6.78))):
        for records, number in zip((201, 172, 30, 86), expected, strict=True):
            found = guarantees.biomed_local_epsilon(sigma, 16, records, 200, DELTA)
            assert float(f"{found:.3g}") == number


def test_pfl_keeps_what_it_says_of_a_user_who_leaves():
    sigma = pfl_sigma(1.0, DELTA)
    assert sigma == near(3.7306316, 1e-7) and epsilon_of(1 / sigma, DELTA) == near(1.0)
    assert epsilon_of(2 / sigma, DELTA) == near(2.15468)


def test_a_mask_is_no_longer_than_its_seed():
    assert guarantees.mask_bits(256) == 32 and guarantees.mask_bits(16) == 16


@pytest.mark.parametrize("value", [1.0, -1.0, 0.1, -3.7, 1e-6, -1e-6, 60000.0])
def test_an_output_is_unreachable_where_no_noise_of_all_makes_it(value):
    """Of 16 bits every noise and every output is tried."""
    floats = np.arange(2**16, dtype=np.uint16).view(np.float16)
    floats = floats[np.isfinite(floats)]
    with np.errstate(over="ignore"):
        reached = np.isin(floats, np.float16(value) + floats)
        found = guarantees.unreachable(floats, value)
    assert 0 < reached.sum() < floats.size
    np.testing.assert_array_equal(found, ~reached)


@pytest.mark.parametrize(
    ("kind", "sd", "value", "share"),
    [
        ("float32", local_sd(1.0, 1.0, DELTA), 1.0, 0.1657),
        ("float64", local_sd(1.0, 1.0, DELTA), 1.0, 0.1649),
        ("float64", 0.5, 1.0, 0.602),
        ("float32", local_sd(1.0, 1.0, DELTA), 0.1, 0.031),
        ("float64", local_sd(1.0, 1.0, DELTA), 0.1, 0.041),
    ],
)
def test_some_outputs_of_noise_in_floats_tell_the_value(kind, sd, value, share):
    """Of 400,000 outputs of the value 0 a share that no noise makes of another; of a million of that value none."""
    rng = np.random.RandomState(3)
    at = np.dtype(kind).type
    found = guarantees.unreachable(rng.normal(0, sd, 400_000).astype(kind), value).mean()
    assert found == pytest.approx(share, abs=6 * np.sqrt(share * (1 - share) / 400_000) + 5e-4)
    own = at(value) + rng.normal(0, sd, 1_000_000).astype(kind)
    assert not guarantees.unreachable(own, value).any()
