"""What was clipped is counted by the statistic that clips, and stays with whoever fits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import partywise as pw
from glm_driver import records

GIVEN = {"epsilon": 4.0, "location": 0.0, "scale": 1.0}
RANGES = {"gaussian": (-4.0, 6.0), "binomial": (0.0, 1.0)}


def fitted(protocol: str, family: str = "gaussian", **more):
    X, y = records(family, 300, 3)
    if family in RANGES:
        more = {"statistic": RANGES[family]} | more
    if protocol != "moments":
        more = {"eta_start": {"gaussian": 1.0, "binomial": 0.0}.get(family, 0.7)} | more
    with warnings.catch_warnings():
        # A verdict of tight bounds is not asked for here.
        warnings.simplefilter("ignore", UserWarning)
        return X, pw.VerticalGLM(family, protocol, **GIVEN, **more).fit(X, y, parties=[[0, 1], [2]], rng=1)


@pytest.mark.parametrize("protocol", ["noisy_newton", "noisy_gradient"])
@pytest.mark.parametrize(("bound", "least", "most"), [(0.01, 0.95, 1.0), (1e3, 0.0, 0.0)])
def test_the_share_of_scores_is_that_of_their_bound(protocol, bound, least, most):
    _, fit = fitted(protocol, bound=bound)
    assert least <= fit.estimate_.numbers["score_clip_share"] <= most


def test_residuals_that_were_clipped_before_count():
    """Gamma and inverse Gaussian scores: their residual is clipped, and no product is longer than the bound."""
    _, fit = fitted("noisy_newton", "gamma", bound=0.01, clip="residual")
    assert fit.estimate_.numbers["score_clip_share"] > 0.9


@pytest.mark.parametrize("protocol", ["noisy_newton", "noisy_gradient", "noisy_predictor", "moments"])
def test_the_share_of_records_is_that_of_all_blocks(protocol):
    more = {} if protocol in ("noisy_newton", "noisy_gradient") else {"cipher": "sized"}
    X, fit = fitted(protocol, radii=[1.0, 1.5], **more)
    beyond = (np.linalg.norm(X[:, :2], axis=1) > 1.0) | (np.abs(X[:, 2]) > 1.5)
    assert fit.estimate_.numbers["record_clip_share"] == pytest.approx(beyond.mean(), abs=1e-12)


def test_no_share_is_saved(tmp_path):
    _, fit = fitted("noisy_newton")
    fit.save(tmp_path / "model.json")
    assert "clip_share" not in (tmp_path / "model.json").read_text()
    assert "score_clip_share" not in pw.load(tmp_path / "model.json").estimate_.numbers
