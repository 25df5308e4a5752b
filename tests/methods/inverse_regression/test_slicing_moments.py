"""Moments of clients: definitions, blocks, ties, empty slices, and federation that equals pooling."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from fixed import fixed
from partywise.core.randomness import stream
from partywise.methods.inverse_regression import models, moments
from partywise.methods.inverse_regression.estimate import aggregate, classical
from partywise.methods.inverse_regression.moments import centre, client_moments, large_enough, whitened_means
from partywise.methods.inverse_regression.slices import class_slices, equal_frequency, public_slices
from partywise.methods.inverse_regression.subspace import projection_loss
from partywise.privacy.statistics.clips import BallClip, BoxClip
from partywise.privacy.statistics.slices import slice_means
from pooled import merge


def rng(*names):
    return stream(7, "slicing moments", *names)


def data(n=500, p=4, model="III"):
    return models.draw(model, n, p, rng("data", n, p, model))[:2]


EDGES = (-1.0, -0.2, 0.3, 1.1)
SLICES = public_slices(fixed(EDGES))


def by_definition(X, y, edges, radius):
    """Of records in 2^20 steps to the radius, or, where it is infinite, as they are."""
    T, step = np.clip(X, -radius, radius), radius / 2**20
    T = step * np.rint(T / step) if np.isfinite(radius) else T
    codes = np.array([sum(value > edge for edge in edges) for value in y])
    means = np.stack([T[codes == h].sum(axis=0) / len(T) for h in range(len(edges) + 1)], axis=1)
    return means, T.T @ T / len(T), np.bincount(codes, minlength=len(edges) + 1)


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
@pytest.mark.parametrize("n_edges", [1, 4, 40])
def test_moments_follow_their_definition(monkeypatch, layout, n_edges):
    """Also over many blocks, in both memory layouts, and with more slices than indicators are used for."""
    monkeypatch.setattr(moments, "BLOCK_ENTRIES", 1200)
    X, y = data(1000)
    edges = np.linspace(-2, 2, n_edges)
    found = client_moments(layout(X), y, public_slices(fixed(edges)), clip=BoxClip(fixed(0.8)))
    means, second, counts = by_definition(X, y, edges, 0.8)
    np.testing.assert_allclose(found.means, means, atol=1e-15)
    np.testing.assert_allclose(found.second, second, atol=1e-14)
    assert np.array_equal(found.second, found.second.T)
    assert np.array_equal(found.counts, counts) and found.n == 1000 and found.clip == BoxClip(fixed(0.8))
    assert found.largest_norm == pytest.approx(np.linalg.norm(np.clip(X, -0.8, 0.8), axis=1).max())
    assert found.clip_share == pytest.approx(np.mean(np.abs(X) > 0.8))


def test_they_agree_with_the_privacy_core():
    X, y = data()
    core = slice_means(X, y, fixed(EDGES), box=fixed(1.0))
    found = client_moments(X, y, public_slices(fixed(EDGES)), clip=BoxClip(fixed(1.0))).means.T
    # Each entry of a record is rounded by half a step of 2^-20.
    np.testing.assert_allclose(found, core.value, rtol=0, atol=2**-21)


def test_single_precision_records_are_summed_in_double():
    X, y = data(4000)
    single = X.astype(np.float32)
    found = client_moments(single, y, public_slices(fixed(EDGES)), clip=BoxClip(fixed(1.0)))
    exact = client_moments(single.astype(float), y, public_slices(fixed(EDGES)), clip=BoxClip(fixed(1.0)))
    assert np.array_equal(found.sums, exact.sums) and np.array_equal(found.gram, exact.gram)


def test_unequal_edges_and_labels():
    X = np.arange(12.0).reshape(6, 2)
    names = np.array(["b", "a", "c", "a", "b", "b"])
    found = client_moments(X, names, class_slices(fixed(["b", "a", "c", "d"])))
    np.testing.assert_allclose(found.means[:, 0], X[[0, 4, 5]].sum(axis=0) / 6)
    assert found.counts.tolist() == [3, 2, 1, 0] and found.empty == 1
    assert np.array_equal(found.means[:, 3], [0, 0])
    with pytest.raises(ValueError, match="label 'c', which is not in the public set"):
        client_moments(X, names, class_slices(fixed(["a", "b"])))


def test_an_edge_belongs_to_the_lower_slice():
    assert public_slices(fixed([0.0, 1.0])).codes(np.array([-1.0, 0.0, 0.5, 1.0, 1.1])).tolist() == [0, 0, 1, 1, 2]


def test_slices_of_equal_frequency():
    y = rng("order").permutation(np.arange(23.0))
    slices = equal_frequency(y, 5)
    assert np.bincount(slices.codes(y)).tolist() == [len(part) for part in np.array_split(np.arange(23), 5)]
    assert slices.kind == "quantile" and len(slices.edges) == 4


@pytest.mark.parametrize(
    ("y", "H", "counts"),
    [
        ([0, 0, 0, 1, 1], 2, [3, 2]),
        ([0, 0, 0, 0, 1], 2, [4, 1]),
        ([0, 1, 1, 1, 1], 2, [1, 4]),
        ([0, 1, 0, 1, 2, 2], 8, [2, 2, 2, 0, 0, 0, 0, 0]),
        ([3, 3, 3], 4, [3, 0, 0, 0]),
        ([2, 1], 5, [1, 1, 0, 0, 0]),
        ([0, 1, 1, 1, 1, 1, 2, 3], 4, [1, 5, 1, 1]),
        ([0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4], 4, [1, 8, 3, 0]),
    ],
)
def test_equal_responses_stay_together(y, H, counts):
    y = np.asarray(y, dtype=float)
    slices = equal_frequency(y, H)
    assert np.bincount(slices.codes(y), minlength=H).tolist() == counts
    assert len(slices.edges) == H - 1 - counts.count(0)


@pytest.mark.parametrize("sizes", [[500], [1, 499], [125] * 4, [1] * 20 + [480], [3, 7, 200, 290]])
def test_federation_equals_pooling(sizes):
    """Any number of clients and any split of the rows, in any order; one client may lack slices and records > p."""
    X, y = data()
    order = rng("rows").permutation(500)
    parts = np.split(order, np.cumsum(sizes)[:-1])
    slices = public_slices(fixed(EDGES))
    clients = [client_moments(X[rows], y[rows], slices, clip=BoxClip(fixed(1.5)), bits=20) for rows in parts]
    pooled = client_moments(X, y, slices, clip=BoxClip(fixed(1.5)))
    for joined in (merge(clients), merge(reversed(clients))):
        assert np.array_equal(joined.sums, pooled.sums) and np.array_equal(joined.gram, pooled.gram)
        assert np.array_equal(joined.counts, pooled.counts) and joined.n == 500
        assert joined.largest_norm == pooled.largest_norm
        assert joined.clip_share == pytest.approx(pooled.clip_share)
        assert projection_loss(classical(joined, 2).basis, classical(pooled, 2).basis) < 1e-10
    means, weights = np.array([client.means for client in clients]), [client.n for client in clients]
    second = np.array([client.second for client in clients])
    federated = aggregate(means, weights, second, 2).basis
    assert projection_loss(federated, aggregate(pooled.means[None], [1.0], pooled.second, 2).basis) < 1e-10
    # Without the weights n_k / N the result is another one, unless the clients are of equal size.
    unweighted = aggregate(means, [1.0] * len(means), second, 2).basis
    assert (projection_loss(unweighted, federated) > 1e-3) == (len(set(sizes)) > 1)


def test_centring_equals_centred_records():
    X, y = data()
    shifted, slices = X + 3.0, public_slices(fixed(EDGES))
    about = centre(client_moments(shifted, y, slices))
    direct = client_moments(X - X.mean(axis=0), y, slices)
    np.testing.assert_allclose(about.means, direct.means, atol=1e-13)
    np.testing.assert_allclose(about.second, direct.second, atol=1e-13)
    moved = client_moments(shifted, y, slices, shift=fixed(shifted.mean(axis=0)))
    np.testing.assert_allclose(moved.second, direct.second, atol=1e-13)


def test_whitened_records_are_shrunk_to_a_ball():
    X, y = data()
    root = np.array([[2.0, 0.5, 0, 0], [0.5, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0.7]])
    found = whitened_means(X, y, public_slices(fixed(EDGES)), fixed(root), fixed(1.5))
    z = X @ root
    z *= np.minimum(1, 1.5 / np.linalg.norm(z, axis=1))[:, None]
    means, second, _ = by_definition(z, y, EDGES, np.inf)
    # Rounding moves an entry by less than a step: what it would take out of the ball is rounded inwards.
    step = 1.5 / 2**20
    np.testing.assert_allclose(found.means, means, rtol=0, atol=step)
    np.testing.assert_allclose(found.second, second, rtol=0, atol=2 * 1.5 * step)
    assert found.clip == BallClip(fixed(1.5)) and found.largest_norm <= 1.5
    assert found.clip_share == pytest.approx(np.mean(np.linalg.norm(X @ root, axis=1) > 1.5))


def test_steps_are_as_fine_as_sums_stay_exact():
    """Whole numbers to the last bit, whatever the order of the records; more bits than that are refused."""
    X, y = data(9000)
    found = client_moments(X, y, SLICES, clip=BoxClip(fixed(1.0)))
    order = rng("order").permutation(9000)
    again = client_moments(X[order], y[order], SLICES, clip=BoxClip(fixed(1.0)))
    assert found.bits == 19 and np.array_equal(found.sums, again.sums) and np.array_equal(found.gram, again.gram)
    exact = np.rint(np.clip(X, -1, 1) * 2**19).astype(np.int64)
    assert np.array_equal(found.gram[:4], np.sum(exact**2, axis=0))
    coarse = client_moments(X, y, SLICES, clip=BoxClip(fixed(1.0)), bits=12)
    assert coarse.step == 2.0**-12 and np.abs(coarse.means - found.means).max() < 2**-13
    with pytest.raises(ValueError, match="bits=20 for 9000 records"):
        client_moments(X, y, SLICES, clip=BoxClip(fixed(1.0)), bits=20)


def test_memory_does_not_grow_with_the_number_of_clients():
    """Clients are drawn, reduced and merged one at a time: K n p numbers never exist together."""
    n, p = 2_000, 10
    slices = public_slices(fixed(EDGES))

    def peak(K):
        tracemalloc.start()
        clients = (
            client_moments(*models.draw("III", n, p, rng("memory", k))[:2], slices, clip=BoxClip(fixed(1.0)))
            for k in range(K)
        )
        merge(clients)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    few, many = peak(2), peak(40)
    assert many < 1.5 * few < 8 * n * p * 40


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: client_moments(X, y[:-1], public_slices(fixed(EDGES))), "y has shape"),
        (lambda X, y: client_moments(X[:, 0], y, public_slices(fixed(EDGES))), "X has shape"),
        (lambda X, y: client_moments(X[:0], y[:0], public_slices(fixed(EDGES))), "no records"),
        (lambda X, y: client_moments(np.where(X > 2, np.nan, X), y, public_slices(fixed(EDGES))), "X has entries"),
        (lambda X, y: client_moments(np.where(X > 2, np.inf, X), y, SLICES), "X has entries"),
        (lambda X, y: client_moments(X, np.where(y > 1, np.nan, y), public_slices(fixed(EDGES))), "y has entries"),
        (lambda X, y: client_moments(X, y, public_slices(fixed(EDGES)), clip=BoxClip(fixed(0.0))), "radius=0.0"),
        (
            lambda X, y: client_moments(X, y, SLICES, clip=BoxClip(fixed(float("nan")))),
            "radius=nan",
        ),
        (lambda X, y: whitened_means(X, y, SLICES, fixed(np.eye(4)), fixed(-1.0)), "radius=-1.0"),
        (
            lambda X, y: whitened_means(X, y, SLICES, fixed(np.eye(3)), fixed(1.0)),
            "root has shape",
        ),
        (lambda X, y: public_slices(fixed([0.0, 0.0])), "strictly increasing"),
        (lambda X, y: public_slices(fixed([0.0, np.inf])), "finite"),
        (lambda X, y: public_slices(fixed([0.0, 1.0]), 8), "must be 7 finite"),
        (lambda X, y: public_slices(fixed([])), "n_slices=1"),
        (lambda X, y: class_slices(fixed(["a", "a"])), "different classes"),
        (lambda X, y: equal_frequency(y, 1), "n_slices=1"),
        (lambda X, y: equal_frequency(y, 2.5), "n_slices=2.5"),
        (lambda X, y: equal_frequency(y[:0], 2), "y is empty"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(*data())


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_clipped_moments_are_of_any_records(kind):
    """Whatever stands in a record, it counts as an entry on the bound, or as zero where there is no number."""
    X, y = data()
    X, wanted = X.astype(kind), X.astype(kind)
    X[:3], wanted[:3] = np.array([[np.inf], [-np.inf], [np.nan]]), np.array([[9.0], [-9.0], [0.0]])
    odd, even = y.copy(), y.copy()
    odd[:3], even[:3] = (np.nan, np.inf, -np.inf), (0.0, 1e9, -1e9)
    for made in (
        lambda a, b: client_moments(a, b, SLICES, clip=BoxClip(fixed(1.0))),
        lambda a, b: client_moments(a, b, SLICES, clip=BallClip(fixed(1.0))),
        lambda a, b: whitened_means(a, b, SLICES, fixed(np.eye(4)), fixed(1.0)),
    ):
        found, expected = made(X, odd), made(wanted, even)
        assert np.allclose(found.means, expected.means, atol=1e-15) and np.array_equal(found.counts, expected.counts)
        assert np.allclose(found.second, expected.second, atol=1e-15)


def test_small_clients_are_skipped_and_none_left_is_an_error():
    assert large_enough([0, 5, 3, 9]).tolist() == [1, 2, 3]
    assert large_enough([0, 5, 3, 9], 4.2).tolist() == [1, 3]
    for sizes, least in (([], 1), ([0, 0], 0), ([5, 6], 6.5)):
        with pytest.raises(ValueError, match="all were skipped"):
            large_enough(sizes, least)
