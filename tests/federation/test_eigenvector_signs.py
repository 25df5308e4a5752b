"""No result depends on the signs that LAPACK gives eigenvectors, nor on last digits of eigenvalues.

Signs and last digits differ between processors and versions of BLAS. Here every decomposition takes other ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from test_noise_errors import fitted_model, noisy_protocols

import partywise as pw
from partywise.core.randomness import stream


def flips(count: int) -> np.ndarray:
    """Alternating signs, the first one -1."""
    return np.where(np.arange(count) % 2 == 0, -1.0, 1.0)


def choose_otherwise(monkeypatch: pytest.MonkeyPatch, unit: float) -> None:
    """Flip the signs of vectors, and move eigenvalues by ``unit`` of the largest one, in opposite directions."""
    eigh, eigvalsh, svd = np.linalg.eigh, np.linalg.eigvalsh, np.linalg.svd

    def other_eigh(matrix: np.ndarray, *args: Any) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = eigh(matrix, *args)
        return values + unit * np.abs(values[..., -1:]), vectors * flips(values.shape[-1])

    def other_eigvalsh(matrix: np.ndarray, *args: Any) -> np.ndarray:
        values = eigvalsh(matrix, *args)
        return values - unit * np.abs(values[..., -1:])

    def other_svd(matrix: np.ndarray, full_matrices: bool = True, compute_uv: bool = True) -> Any:
        if not compute_uv:
            return svd(matrix, compute_uv=False)
        left, values, right = svd(matrix, full_matrices=full_matrices)
        return (
            left * flips(left.shape[-1]),
            values,
            right * flips(right.shape[-2])[:, None],
        )

    monkeypatch.setattr(np.linalg, "eigh", other_eigh)
    monkeypatch.setattr(np.linalg, "eigvalsh", other_eigvalsh)
    monkeypatch.setattr(np.linalg, "svd", other_svd)


def public_numbers(model: Any) -> dict[str, np.ndarray]:
    """Arrays and numbers among the fitted attributes of an estimator."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    values = {name: getattr(model, name) for name in names}
    return {name: np.asarray(value) for name, value in values.items() if isinstance(value, (float, np.ndarray))}


def follow_ups(protocol: str) -> Any:
    """Survival curves of 300 invented records in two groups."""
    rng = stream(1, "follow-ups")
    times = np.minimum(rng.exponential(size=300), 2.0)
    epsilon = {"epsilon": 2.0} if protocol == "table" else {}
    model = pw.FederatedKaplanMeier(protocol, horizon=2.0, parties=3, random_state=1, **epsilon)
    return model.fit(times, times < 2)


def directions() -> Any:
    """Directions of 200 records without noise."""
    X = stream(1, "columns").normal(size=(200, 3))
    return pw.SlicedInverseRegression("reference", edges=(-0.5, 0.5), parties=2, random_state=1).fit(
        X, X[:, 0] - X[:, 1]
    )


def components(protocol: str) -> Any:
    """Principal components of 100 records of four columns at two parties."""
    X = stream(1, "columns").normal(size=(100, 4)) @ np.diag([4.0, 3.0, 2.0, 1.0])
    return pw.VerticalPCA(protocol, parties=2, random_state=1).fit(X)


FITS: dict[str, Callable[[], Any]] = {
    **{f"{name} {protocol}": partial(fitted_model, name, protocol) for name, protocol in noisy_protocols()},
    "SlicedInverseRegression reference": directions,
    **{f"FederatedKaplanMeier {protocol}": partial(follow_ups, protocol) for protocol in ("table", "piecewise")},
    "VerticalPCA correlation": partial(components, "correlation"),
}


@pytest.mark.parametrize("name", FITS)
def test_fits_do_not_depend_on_signs_and_last_digits(name, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = public_numbers(FITS[name]())
        choose_otherwise(monkeypatch, 4 * np.finfo(float).eps)
        after = public_numbers(FITS[name]())
    assert before.keys() == after.keys()
    for key, value in before.items():
        np.testing.assert_allclose(after[key], value, rtol=1e-6, atol=1e-9, err_msg=key)


def test_what_stacked_scores_give_depends_on_signs_that_their_source_leaves_open(monkeypatch):
    """The published components change with the signs of each party's singular vectors; corrected ones do not."""
    before = components("block_svd").components_
    choose_otherwise(monkeypatch, 0.0)
    after = components("block_svd").components_
    np.testing.assert_allclose(np.abs(after), np.abs(before), atol=1e-9)
    assert np.max(np.abs(after - before)) > 0.1
