"""Attacks of the study on the pinned table, with planted keys only: whom they name, and what they read."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.core.randomness import stream
from partywise.data.fetch import fetch_folder
from partywise.experiment.cells import run
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.methods.filters.layers.flower import local_dp, local_sd
from partywise.methods.filters.layers.masks import EXAMPLES, MODULUS, mask, quantise
from partywise.methods.filters.layers.nvflare import percentile, svt
from partywise.methods.filters.options import FedavgOptions, RowGradientsOptions
from partywise.methods.filters.training import local_updates
from partywise.studies.framework_filters.attacks import (
    first_words,
    identify,
    identify_gradient,
    pair_mask,
    search_seeds,
    unknown_patient,
)
from partywise.studies.framework_filters.cases import draw_heart, read_heart
from partywise.studies.framework_filters.settings import HOSPITALS, HeartSettings
from pipeline import ROOT

RESOURCES, DELTA, TARGETS = ROOT / "resources", 1e-5, 20


@pytest.fixture(scope="module")
def heart():
    fetch_folder("heart", RESOURCES)
    return draw_heart(HeartSettings(), None, lambda *names: stream(1, *names), RESOURCES)


def cell(case: str, source: str, method: dict[str, object], parties: int):
    fetch_folder("heart", RESOURCES)
    grid = {"methods": ["one"], "replicates": 1, "parties": [parties], "folds": 1, "epsilon": [1.0]}
    block = {"spec": {}, "methods": {"one": method}, "cases": {case: {"source": source, "grid": grid}}, "figures": []}
    made = plan("framework_filters", block, 7)
    return run(made, case, "one", parties, [0], [0], generate(made, case, [0], RESOURCES))[0]


def test_the_table_is_the_one_of_the_page(heart):
    X, y, site, _ = read_heart(RESOURCES)
    assert X.shape == (740, 14) and np.bincount(site).tolist() == [304, 260, 46, 130]
    assert [int(y[site == number].sum()) for number in range(4)] == [139, 98, 45, 101]
    assert len(np.unique(np.column_stack([X, y]), axis=0)) == 739 and np.abs(X).max() == 1
    assert heart.client_rows.tolist() == [201, 172, 30, 86] and heart.names == HOSPITALS
    np.testing.assert_array_equal(heart.holder[: heart.n_train], np.repeat(range(4), heart.client_rows))


def named(heart, options, noise: float, late: bool) -> list[float]:
    """Share of patients that are named, by hospital."""
    shares = []
    for hospital in range(4):
        rng, n = stream(3, "patients", hospital), int(np.sum(heart.holder == hospital))
        found = []
        for place in rng.choice(n, TARGETS, replace=False).tolist():
            unknown = unknown_patient(heart, hospital, place, late)
            key = f"{hospital} {place} {late}"
            if key not in heart.memo:
                heart.memo[key] = unknown.updates(5, 0.5)
            found.append(identify(heart.memo[key], unknown.truth, options, noise, rng).named)
        shares.append(float(np.mean(found)))
    return shares


def test_the_updates_of_candidates_are_those_that_a_hospital_would_send(heart):
    unknown = unknown_patient(heart, 2, 5, late=True)
    rows, y = unknown.rows.copy(), unknown.y.copy()
    rows[5], y[5] = unknown.others[17], unknown.labels[17]
    (expected,) = local_updates(unknown.at, rows[None], y[None], 5, 0.5)
    np.testing.assert_allclose(unknown.updates(5, 0.5)[17], expected, atol=1e-14)


def test_an_update_names_the_unknown_patient_unless_its_noise_is_that_of_a_client(heart):
    noise = {s: local_sd(s, 10.0, DELTA) for s in (1e-4, 1.0, 2.0)}
    for late in (False, True):
        assert min(named(heart, FedavgOptions(), 0.0, late)) == 1
        tiny = FedavgOptions(layer="local_dp", sensitivity=1e-4)
        assert np.mean(named(heart, tiny, noise[1e-4], late)) >= 0.95
        for sensitivity in (1.0, 2.0):
            options = FedavgOptions(layer="local_dp", sensitivity=sensitivity)
            assert np.mean(named(heart, options, noise[sensitivity], late)) <= 0.03
        assert np.mean(named(heart, FedavgOptions(layer="svt"), 0.0, late)) <= 0.03


def test_a_percentile_names_whoever_leaves_a_small_entry(heart):
    options = FedavgOptions(layer="percentile")
    assert named(heart, options, 0.0, False) == [0, 0, 0, 1]
    assert named(heart, options, 0.0, True) == [1, 1, 0, 1]


def test_a_certified_gradient_names_nobody(heart):
    rng, found = stream(4, "patients"), []
    for hospital in range(4):
        for place in range(TARGETS):
            unknown = unknown_patient(heart, hospital, place, late=True)
            found.append(identify_gradient(unknown, RowGradientsOptions(), 1.0, DELTA, rng).named)
    assert np.mean(found) <= 0.03


def test_a_fit_says_how_many_noisy_floats_tell_the_value_and_what_the_ledger_holds():
    shipped = {"protocol": "fedavg", "rounds": 1, "layer": "local_dp", "sensitivity": 2.0}
    found = cell("four", "heart", shipped, 4).scalars
    # Noise of 9.69 around -1, of which that around 1 makes all others: more than delta by far.
    assert found["impossible_share"] == pytest.approx(0.073, abs=6 * (0.073 * 0.927 / 20_000) ** 0.5)
    assert found["certified_held"] == pytest.approx(0.750977, rel=1e-5)
    certified = cell("four", "heart", {"protocol": "fedavg", "rounds": 1, "layer": "certified"}, 4).scalars
    assert certified.get("impossible_share") is None and certified["certified_held"] <= 1
    sparse = cell("four", "heart", {"protocol": "fedavg", "rounds": 20, "layer": "svt"}, 4).scalars
    assert sparse["epsilon_certified"] == sparse["certified_held"] == pytest.approx(14.5642, rel=1e-5)
    assert sparse.get("epsilon_zero_out") is None and sparse["epsilon_claimed"] == 0.1


def test_histograms_give_every_value_and_extremes_come_down_to_one():
    scalars = cell("statistics", "statistics", {"protocol": "statistics"}, 4).scalars
    assert scalars["recovered_share"] == 1 and scalars["jobs_needed"] == 52
    assert 10 < scalars["extremes_jobs"] < 90
    assert scalars["certified_held"] == np.inf


def test_the_recurrence_gives_the_first_word_of_the_twister():
    seeds = np.array([0, 1, 2, 41, 4294967295, 123456789], dtype=np.uint32)
    expected = [int(mask(int(seed), [(1,)])[0][0]) for seed in seeds]
    assert first_words(seeds).tolist() == expected


@pytest.mark.parametrize("bits", [12, 14, 16])
def test_a_planted_seed_is_found_alone_and_every_integer_exact(bits):
    rng = stream(5, "update", bits)
    integers = np.concatenate(quantise([rng.normal(0, 0.3, 14)], 0.2 * EXAMPLES, rng))
    seed = int(rng.integers(1 << bits))
    search = search_seeds((integers + pair_mask(seed, 15)) % MODULUS, bits)
    assert search.hits == (seed,) and search.integers.tolist() == integers.tolist()
    # One word lets a seed in 1,024 pass by chance.
    assert abs(search.left - 2 ** (bits - 10)) <= 1 + 6 * 2 ** ((bits - 10) / 2)


def test_a_seed_beyond_the_range_is_not_found():
    rng = stream(6, "update")
    integers = np.concatenate(quantise([rng.normal(0, 0.3, 14)], 0.2 * EXAMPLES, rng))
    search = search_seeds((integers + pair_mask(1 << 12, 15)) % MODULUS, 12)
    assert search.hits == () and not len(search.update)


def test_a_cell_of_masks_reads_the_update_and_says_how_many_bits_there_are():
    found = cell("masks", "masks", {"protocol": "masks", "bits": 14}, 2)
    assert found.scalars["recovered_share"] == 1 and found.scalars["hits"] == 1
    assert (found.scalars["secrecy_bits_claimed"], found.scalars["secrecy_bits_held"]) == (256, 32)


def test_an_intercept_without_dimensions_counts_the_positives_of_a_hospital():
    """One step from 0: its change is step (positives / n - 1/2), and `percentile` and `svt` pass it as it is."""
    fetch_folder("heart", RESOURCES)
    X, y, site, _ = read_heart(RESOURCES)
    step, counted = 0.5, []
    for hospital in range(4):
        own, labels = X[site == hospital], y[site == hospital].astype(float)
        residuals = labels - 0.5
        update = {"weights": step * own.T @ residuals / len(own), "intercept": np.array(step * residuals.mean())}
        replies = (percentile(update), svt(update, rng=np.random.RandomState(1)))
        counted += [(float(sent["intercept"]) / step + 0.5) * len(own) for sent in replies]
    assert counted == pytest.approx(np.repeat([139, 98, 45, 101], 2), abs=1e-9)


def test_noise_of_a_generator_that_training_seeds_is_public(heart):
    """Training code that seeds the global generator, as tutorials do, leaves noise that anybody draws again."""
    unknown = unknown_patient(heart, 0, 0, False)
    update = unknown.updates(5, 0.5)[0]
    terms = {"bound": 1.0, "sensitivity": 2.0, "epsilon": 1.0, "delta": DELTA}
    nothing = [np.zeros_like(update)]
    (sent,) = local_dp(nothing, [update], **terms, rng=np.random.RandomState(42))
    again = np.random.RandomState(42).normal(0, local_sd(2.0, 1.0, DELTA), update.shape)
    assert np.abs(sent - again - update * min(1, 1 / np.linalg.norm(update))).max() < 1e-13
