"""Layers inside protocols: what crosses, what the ledger adds up, and rows of any size."""

from __future__ import annotations

import numpy as np
import pytest

import partywise as pw
from layer_noise import fixed_mu, local_mu
from partywise.core.randomness import stream
from partywise.methods.filters.guarantees import epsilon_of, svt_bound
from partywise.methods.filters.layers.nvflare import percentile
from partywise.methods.filters.model import FilterFacts
from partywise.methods.filters.options import FedavgOptions
from partywise.methods.filters.training import clip_rows, local_updates, percentile_rows, record_gradients
from partywise.models.links import LOGIT

# Noise as frameworks ship it can be larger than any signal.
pytestmark = pytest.mark.filterwarnings("ignore:the fit is diverged")
DELTA = 1e-5
X = stream(1, "records").uniform(-1, 1, (120, 3))
Y = (X[:, 0] + 0.3 * stream(1, "labels").standard_normal(120) > 0).astype(float)
UNEVEN = (range(10), range(10, 40), range(40, 120))


def fitted(protocol="fedavg", **options):
    parties = [list(rows) for rows in UNEVEN]
    return pw.FederatedLogistic(protocol, parties=parties, random_state=7, **options).fit(X, Y)


def test_an_update_is_a_few_steps_down_the_mean_loss():
    (found,) = local_updates(np.zeros(3), X[None], Y[None], 2, 0.5)
    at = np.zeros(3)
    for _ in range(2):
        at = at - 0.5 * X.T @ (LOGIT.mean(X @ at) - Y) / len(Y)
    np.testing.assert_allclose(found, at, atol=1e-15)
    np.testing.assert_allclose(record_gradients(at, X, Y).mean(axis=0), X.T @ (LOGIT.mean(X @ at) - Y) / len(Y))


def test_rows_of_zeros_and_of_any_size_are_clipped():
    """Flower's clip divides by the length; here zeros stay, and what overflows a length counts as zero."""
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [1e300, -1e300], [5e-324, 0.0], [0.3, 0.4]])
    found = clip_rows(rows, 1.0)
    np.testing.assert_allclose(found[[0, 1, 4]], [[0, 0], [0.6, 0.8], [0.3, 0.4]])
    assert np.all(np.linalg.norm(found, axis=1) <= 1 + 1e-12)


def test_percentiles_of_rows_are_those_of_the_restated_filter():
    rows = stream(2, "updates").standard_normal((50, 14)) * 0.02
    rows[0] = 0.0
    rows[1] = 0.01  # all at the cut
    expected = [percentile({"update": row})["update"] for row in rows]
    np.testing.assert_array_equal(percentile_rows(rows), expected)


@pytest.mark.parametrize("sensitivity", [2.0, 1.0])
def test_local_noise_adds_up_to_what_the_formulas_say(sensitivity):
    model = fitted(layer="local_dp", epsilon=1.0, sensitivity=sensitivity, rounds=20)
    expected = epsilon_of(local_mu(1.0, sensitivity, 1.0, DELTA), DELTA, 20)
    assert model.privacy_.epsilon_certified == pytest.approx(expected, rel=1e-6)
    assert model.epsilon_claimed_ == 1.0  # of one round: the layer composes nothing


def test_the_server_of_a_central_layer_sees_updates_and_outsiders_do_not():
    model = fitted(layer="fixed_clipping", rounds=10)
    assert model.privacy_.epsilon_certified == np.inf
    outside = model.ledger_.worst_total(("client 1", "client 2", "client 3"), "user", DELTA).epsilon_certified
    weights = [len(rows) for rows in UNEVEN]
    assert outside == pytest.approx(epsilon_of(fixed_mu(1.0, "replace_one", weights), DELTA, 10), rel=1e-6)
    assert model.epsilon_claimed_ == pytest.approx(epsilon_of(1.0, DELTA, 10))
    assert model.epsilon_claimed_ < outside


def test_a_clip_that_follows_the_data_has_no_bound_in_advance():
    model = fitted(layer="adaptive_clipping", count_sd=1.0, rounds=3)
    outside = model.ledger_.worst_total(("client 1", "client 2", "client 3"), "user", DELTA)
    assert outside.epsilon_certified == np.inf
    assert [len(model.estimate_.clips), len(model.estimate_.norms)] == [4, 3]


@pytest.mark.parametrize("layer", ["none", "percentile", "exclude_vars", "biomed_central"])
def test_what_has_no_proof_counts_as_in_the_clear(layer):
    assert fitted(layer=layer, rounds=2).privacy_.epsilon_certified == np.inf


def test_rounds_of_the_sparse_vector_add_their_pure_bounds_in_the_ledger():
    model = fitted(layer="svt", rounds=4)
    assert {row.epsilon for row in model.ledger_.rows if row.mechanism == "svt"} == {svt_bound(X.shape[1] + 1)}
    found = {delta: model.ledger_.worst_total(("server",), "user", delta).epsilon_certified for delta in (0.0, DELTA)}
    assert found[0.0] == pytest.approx(4 * svt_bound(X.shape[1] + 1), rel=1e-12)
    # At a delta some of the sum is won back, and all of it is above what four rounds say.
    assert 4 * model.epsilon_claimed_ < found[DELTA] <= found[0.0]


@pytest.mark.parametrize(("protocol", "options"), [("row_gradients", {}), ("fedavg", {"layer": "certified"})])
def test_certified_rounds_hold_their_target(protocol, options):
    model = fitted(protocol, epsilon=1.0, **options)
    assert 1 - 1e-9 < model.privacy_.epsilon_certified <= 1
    # Disjoint clients: twice as many releases of others cost none of them more.
    certified = [row for row in model.ledger_.rows if row.mechanism == "rounded_gaussian"]
    assert len(certified) == 60 and len({row.stratum for row in certified}) == 3


def test_gradients_without_noise_are_those_of_all_records_together():
    one, three = (
        pw.FederatedLogistic(epsilon=np.inf, parties=count, random_state=1).fit(X, Y).coef_ for count in (1, 3)
    )
    np.testing.assert_allclose(one, three, atol=1e-12)


def test_options_that_a_layer_does_not_read_are_refused():
    with pytest.raises(ValueError, match=r"sensitivity is 1\.0: it is read with layer local_dp only"):
        FedavgOptions(layer="percentile", sensitivity=1.0)


def test_clients_that_cannot_share_sites_are_refused():
    facts = FilterFacts(3, (10, 10, 20, 20))
    assert facts.sites(2) == ((2, 10), (2, 20))
    with pytest.raises(ValueError, match="n_parties is 3: it must divide the 4 clients"):
        facts.sites(3)
    with pytest.raises(ValueError, match="n_parties is 1: clients of one site must have as many rows"):
        facts.sites(1)
