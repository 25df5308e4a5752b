"""Pooled sliced inverse regression against the textbook, its invariances, its edge cases, and the server's side."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.linalg
from statsmodels.regression.dimred import SlicedInverseReg

import partywise.methods.inverse_regression
from fixed import fixed
from partywise.core.randomness import stream
from partywise.methods.inverse_regression import models, projection_loss, sir
from partywise.methods.inverse_regression.estimate import (
    aggregate,
    classical,
    dp_lda,
    eigengap_dimension,
    floored_spectrum,
    inverse_root,
    invert,
    leading,
)
from partywise.methods.inverse_regression.moments import client_moments
from partywise.methods.inverse_regression.slices import equal_frequency, public_slices
from partywise.methods.inverse_regression.subspace import angle, screening_metrics


def rng(*names):
    return stream(7, "slicing estimate", *names)


def data(n=600, p=5, model="III"):
    X, y, _ = models.draw(model, n, p, rng("data", n, p, model))
    return X @ np.triu(np.ones((p, p))) + 3.0, y


def textbook(X, y, n_slices, d):
    """Li (1991): slice means of centred records, weighted covariance of them, generalised eigenproblem."""
    centred = X - X.mean(axis=0)
    slices = np.array_split(np.argsort(y), n_slices)
    kernel = sum(len(s) / len(y) * np.outer(centred[s].mean(axis=0), centred[s].mean(axis=0)) for s in slices)
    values, vectors = scipy.linalg.eigh(kernel, centred.T @ centred / len(y))
    return vectors[:, ::-1][:, :d], values[::-1]


def reports(X, y, n_slices, d):
    """What `sir` warns of, up to its verb; its result is finite all the same."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert np.all(np.isfinite(sir(X, y, n_slices, d)))
    return [re.sub(r"^sir: | (hold|were|: strengths).*|: strengths.*", "", str(one.message)) for one in caught]


@pytest.mark.parametrize(("n", "p", "H", "d"), [(600, 5, 8, 2), (601, 5, 7, 1), (300, 20, 10, 3), (2000, 8, 40, 4)])
def test_sir_is_the_textbook_estimator(n, p, H, d):
    X, y = data(n, p)
    expected, values = textbook(X, y, H, d)
    found = sir(X, y, H, d)
    signs = np.sign(np.sum(found * expected, axis=0))
    np.testing.assert_allclose(found * signs, expected, atol=1e-8 * np.abs(expected).max())
    fitted = classical(client_moments(X, y, equal_frequency(y, H)), d)
    np.testing.assert_allclose(fitted.strengths[:d] ** 2, values[:d], rtol=1e-8)
    np.testing.assert_allclose(found.T @ np.cov(X.T, bias=True) @ found, np.eye(d), atol=1e-9)


def test_the_federated_kernel_is_another_estimator_with_the_same_limit():
    """Sigma^-1 times singular vectors of M (algorithm 1) is not the generalised eigenproblem in a sample."""
    X, y = data(40_000)
    beta = np.linalg.solve(np.triu(np.ones((5, 5))), models.directions("III", 5, rng("unused")))
    moments = client_moments(X - X.mean(axis=0), y, equal_frequency(y, 8))
    federated = aggregate(moments.means[None], [1.0], moments.second, 2, inversion="plain").basis
    apart = projection_loss(federated, sir(X, y, 8, 2))
    assert 1e-6 < apart < 0.15
    assert projection_loss(federated, beta) < 0.4
    # With as many directions as the centred means have rank, both span the same space.
    few = client_moments(X - X.mean(axis=0), y, equal_frequency(y, 5))
    full = aggregate(few.means[None], [1.0], few.second, 4, inversion="plain").basis
    assert projection_loss(full, classical(few, 4).basis) < 1e-8


def test_sir_is_equivariant_and_blind_to_row_order():
    X, y = data()
    A = rng("A").standard_normal((5, 5)) + 3 * np.eye(5)
    base = sir(X, y, 8, 2)
    assert projection_loss(np.linalg.solve(A, base), sir(X @ A, y, 8, 2)) < 1e-9
    assert projection_loss(base, sir(X @ A, y, 8, 2)) > 0.1
    order = rng("order").permutation(len(y))
    assert projection_loss(base, sir(X[order], y[order], 8, 2)) < 1e-10
    assert projection_loss(base, sir(X, np.exp(y / 10), 8, 2)) < 1e-10
    assert projection_loss(base, sir(X + 1e6, y, 8, 2)) < 1e-8


def test_sir_takes_edges_classes_and_single_precision_and_changes_nothing():
    X, y = data()
    before = X.copy(), y.copy()
    edges = np.quantile(y, [0.25, 0.5, 0.75], method="inverted_cdf")
    assert projection_loss(sir(X, y, 4, 2, edges=edges), sir(X, y, 4, 2)) < 1e-9
    classes = np.array(["low", "mid", "top", "up"])[np.searchsorted(edges, y)]
    assert projection_loss(sir(X, classes, 4, 2), sir(X, y, 4, 2)) < 1e-9
    assert projection_loss(sir(X.astype(np.float32), y, 4, 2), sir(X, y, 4, 2)) < 1e-4
    assert all(np.array_equal(a, b) for a, b in zip(before, (X, y), strict=True))


def test_two_classes_are_discriminant_analysis():
    X, y, _ = models.draw("I", 800, 6, rng("lda"))
    centred = X - X.mean(axis=0)
    difference = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    direction = np.linalg.solve(centred.T @ centred, difference)
    assert projection_loss(sir(X, y, 2, 1), direction) < 1e-9
    moments = client_moments(centred, y, public_slices(fixed([0.5])))
    assert projection_loss(dp_lda(moments.means, moments.second), direction) < 1e-9
    with pytest.raises(ValueError, match="two classes"):
        dp_lda(np.ones((6, 3)), np.eye(6))


def test_a_constant_column_and_more_columns_than_records_are_legal_and_reported():
    X, y = data()
    constant = np.column_stack([X, np.full(len(y), 2.0)])
    with pytest.warns(UserWarning, match="1 eigenvalues of a singular covariance were raised"):
        found = sir(constant, y, 8, 2)
    assert np.all(np.isfinite(found))
    assert projection_loss(found[:5], sir(X, y, 8, 2)) < 1e-5
    X, y = data(30, 40)
    # All within-slice spread is lost: every direction among the slices separates them perfectly.
    assert reports(X, y, 8, 2) == ["11 eigenvalues of a singular covariance", "the directions are not identified"]


def test_more_slices_than_responses_and_unidentified_directions_are_reported():
    X, y, _ = models.draw("I", 400, 5, rng("binary"))
    with pytest.warns(UserWarning, match="6 of 8 slices hold no record"):
        found = sir(X, y, 8, 1)
    assert projection_loss(found, sir(X, y, 2, 1)) < 1e-10
    assert reports(X, y, 8, 3) == ["6 of 8 slices", "the directions are not identified"]
    assert reports(X, np.zeros(400), 8, 2) == ["7 of 8 slices", "the directions are not identified"]


def test_nothing_is_reported_about_ordinary_data():
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sir(X, y, 8, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(3)}, "y has shape"),
        ({"X": np.zeros((600, 0))}, "X has shape"),
        ({"X": np.full((600, 5), np.nan)}, "X has entries that are not finite"),
        ({"y": np.full(600, np.inf)}, "y has entries that are not finite"),
        ({"n_slices": 1}, "n_slices=1"),
        ({"n_directions": 0}, "n_directions=0"),
        ({"n_directions": 8}, r"n_directions=8.*= 5"),
        ({"n_slices": 3, "n_directions": 3}, r"n_directions=3.*= 2"),
        ({"edges": [0.0, 1.0]}, "must be 7 finite"),
        ({"edges": [0.0, 1, 2, 3, 3, 4, 5]}, "strictly increasing"),
        ({"y": np.array(["a", "b", "c"] * 200)}, "y has 3 classes"),
    ],
)
def test_bad_input_of_sir_is_named(change, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        sir(**{"X": X, "y": y, "n_slices": 8, "n_directions": 2, **change})


def test_aggregations_agree_on_one_client_and_follow_their_definitions():
    stack = rng("stack").standard_normal((6, 5, 4))
    one = [leading(stack[:1], [3.0], 2, how)[0] for how in ("mean", "kernel", "projector")]
    assert projection_loss(one[0], one[1]) < 1e-10 and projection_loss(one[0], one[2]) < 1e-10
    w = np.arange(1.0, 7)
    share = w / w.sum()
    kernel = sum(s * M @ M.T for s, M in zip(share, stack, strict=True))
    left = [np.linalg.svd(M)[0][:, :2] for M in stack]
    projector = sum(s * U @ U.T for s, U in zip(share, left, strict=True))
    for how, matrix in (("kernel", kernel), ("projector", projector)):
        directions, strengths = leading(stack, w, 2, how)
        values, vectors = np.linalg.eigh(matrix)
        assert projection_loss(directions, vectors[:, -2:]) < 1e-9
        np.testing.assert_allclose(strengths, values[::-1])
    mean = np.linalg.svd(np.tensordot(share, stack, 1))
    assert projection_loss(leading(stack, w, 2)[0], mean[0][:, :2]) < 1e-9
    three = {how: leading(stack, w, 2, how)[0] for how in ("mean", "kernel", "projector")}
    assert projection_loss(three["mean"], three["kernel"]) > 0.1
    assert projection_loss(three["projector"], three["kernel"]) > 0.01


def test_inversion_of_an_indefinite_matrix():
    Q = np.linalg.qr(rng("Q").standard_normal((4, 4)))[0]
    second = (Q * [4.0, 1.0, 0.1, -0.5]) @ Q.T
    values, _, floored, indefinite = floored_spectrum(second, 0.2)
    np.testing.assert_allclose(values, [0.2, 0.2, 1.0, 4.0])
    assert floored == 2 and indefinite
    U = np.eye(4)[:, :2]
    lifted = (Q * [4.0, 1.0, 0.2, 0.2]) @ Q.T
    basis, floored, indefinite = invert(second, U, least=0.2)
    np.testing.assert_allclose(basis, np.linalg.solve(lifted, U), atol=1e-12)
    assert floored == 2 and indefinite
    basis, floored, indefinite = invert(second, U, "plain")
    np.testing.assert_allclose(basis, np.linalg.solve(second, U), atol=1e-12)
    assert floored == 0 and indefinite
    root, floored, indefinite = inverse_root(second, 0.2)
    np.testing.assert_allclose(root @ root, np.linalg.inv(lifted), atol=1e-12)
    assert floored == 2 and indefinite and np.allclose(root, root.T)
    singular = np.diag([1.0, 1.0, 1.0, 0.0])
    basis, floored, _ = invert(singular, U, "plain")
    assert floored == 1 and np.all(np.isfinite(basis))
    for call in (lambda: invert(-np.eye(4), U), lambda: floored_spectrum(np.zeros((4, 4)))):
        with pytest.raises(ValueError, match="no positive eigenvalue"):
            call()
    with pytest.raises(ValueError, match="inversion='other'"):
        invert(second, U, "other")


def test_rank_and_ties_are_flagged():
    rank_one = np.outer(np.arange(1.0, 5), np.ones(3))
    assert aggregate(rank_one[None], [1.0], np.eye(4), 2).unidentified
    assert not aggregate(rank_one[None], [1.0], np.eye(4), 1).unidentified
    tie = np.zeros((4, 3))
    tie[0, 0] = tie[1, 1] = 1.0
    assert aggregate(tie[None], [1.0], np.eye(4), 1).unidentified
    assert not aggregate(tie[None], [1.0], np.eye(4), 2).unidentified


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda M: leading(M, [1.0], 1, "median"), "aggregation='median'"),
        (lambda M: leading(M, [1.0, 1.0], 1), "at least one client"),
        (lambda M: leading(M[:0], [], 1), "at least one client"),
        (lambda M: leading(M, [0.0], 1), "positive weight"),
        (lambda M: leading(M, [1.0], 4), r"n_directions=4.*= 3"),
    ],
)
def test_bad_input_of_the_server_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.ones((1, 5, 3)))


def test_projection_loss():
    e = np.eye(4)
    assert projection_loss(e[:, :1], e[:, 1:2]) == pytest.approx(np.sqrt(2))
    assert projection_loss(e[:, :2], e[:, 2:]) == pytest.approx(2)
    assert projection_loss(e[:, :2], e[:, :2] @ [[3.0, 1e-7], [1, 1]]) < 1e-15
    A, B = rng("A").standard_normal((9, 2)), rng("B").standard_normal((9, 2))
    P, Q = (M @ np.linalg.solve(M.T @ M, M.T) for M in (A, B))
    assert projection_loss(A, B) == pytest.approx(np.linalg.norm(P - Q), rel=1e-12)
    assert projection_loss(A @ [[2.0, 1], [0, -3]], B) == pytest.approx(projection_loss(A, B), rel=1e-12)
    assert projection_loss(A, B[:, 0]) == pytest.approx(
        np.linalg.norm(P - np.outer(B[:, 0], B[:, 0]) / (B[:, 0] @ B[:, 0]))
    )
    tiny = e[:, :1] + 1e-9 * e[:, 1:2]
    assert projection_loss(e[:, :1], tiny) == pytest.approx(np.sqrt(2) * 1e-9, rel=1e-6)
    for bad, message in (
        (np.full((4, 1), np.nan), "B2 has entries"),
        (np.zeros((4, 1)), "B2 has linearly dependent"),
        (np.ones((4, 2)), "B2 has linearly dependent"),
        (np.ones((3, 1)), "B1 has 4 rows and B2 has 3"),
        (np.ones((1, 2, 2)), "B2 has shape"),
    ):
        with pytest.raises(ValueError, match=message):
            projection_loss(e[:, :1], bad)


def test_angle_and_screening_metrics():
    e, t = np.eye(4), np.radians(20)
    assert angle(e[:, 0], np.cos(t) * e[:, 0] - np.sin(t) * e[:, 1]) == pytest.approx(20)
    assert angle(e[:, 0], -e[:, 0]) == 0 and angle(e[:, 0], e[:, 1]) == pytest.approx(90)
    turned = np.column_stack([e[:, 0], np.cos(t) * e[:, 1] + np.sin(t) * e[:, 2]])
    assert angle(e[:, :2], turned) == pytest.approx(20)
    assert angle(e[:, 0], e[:, 0] + 1e-9 * e[:, 1]) == pytest.approx(np.degrees(1e-9))
    with pytest.raises(ValueError, match="equal numbers"):
        angle(e[:, :2], e[:, 0])
    found = screening_metrics([1, 2, 7], [1, 2, 3, 4])
    assert found == {"selected_columns": 3.0, "support_kept": 0.5, "false_positives": 1.0}
    with pytest.raises(ValueError, match="support is empty"):
        screening_metrics([1], [])


def test_dimension_by_eigengaps():
    assert eigengap_dimension([5.0, 4.5, 1.0, 0.9]) == 2
    assert eigengap_dimension([5.0, 4.5, 1.0, 0.9], largest=1) == 1
    for bad in ([1.0], [1.0, 2.0], [np.nan, 0.0]):
        with pytest.raises(ValueError, match="strengths"):
            eigengap_dimension(bad)
    with pytest.raises(ValueError, match="largest=4"):
        eigengap_dimension([5.0, 4.5, 1.0, 0.9], largest=4)


def test_the_package_loads_lazily():
    code = (
        "import sys, partywise.methods.inverse_regression; sys.exit(any(m in sys.modules for m in ('scipy', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert partywise.methods.inverse_regression.models is models
    with pytest.raises(AttributeError, match="no attribute 'tree'"):
        _ = partywise.methods.inverse_regression.tree


@pytest.mark.parametrize(
    ("model", "n", "p", "H"), [("II", 5000, 10, 8), ("III", 4000, 10, 10), ("IV", 1000, 30, 5), ("V", 600, 4, 8)]
)
def test_directions_agree_up_to_sign(model, n, p, H):
    X, y, _ = models.draw(model, n, p, stream(7, "slicing statsmodels", model))
    d = models.MODELS[model].n_directions
    expected = SlicedInverseReg(y, X).fit(slice_n=n // H).params[:, :d]
    found = sir(X, y, H, d)
    signs = np.sign(np.sum(found * expected, axis=0))
    np.testing.assert_allclose(found * signs, expected, atol=1e-8 * np.abs(expected).max())
    assert projection_loss(found, expected) < 1e-8
    # Another slicing is another estimate: the comparison can fail.
    assert projection_loss(sir(X, y, H + 1, d), expected) > 1e-4
