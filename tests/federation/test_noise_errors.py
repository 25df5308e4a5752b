"""Every noisy protocol of every estimator with `noise_errors_` states the noise in its coefficients, or why not."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from test_option_defaults import ESTIMATORS

import partywise as pw
from partywise.core.randomness import stream

GLM = {"location": 0.0, "scale": 1.0, "statistic": (-4.0, 4.0), "family": "gaussian"}
# Settings of a fit of each estimator, and what one protocol needs besides.
SETTINGS: Mapping[str, dict[str, Any]] = {
    "VerticalGLM": GLM,
    "LabelPrivateLogisticRegression": {},
    "SlicedInverseRegression": {"edges": (-0.5, 0.5), "radius": 3.0, "parties": 2},
    "FunctionalBoosting": {"radius_value": 1.0, "parties": 2, "epsilon": None, "s": 0.5},
}
NEEDED: Mapping[tuple[str, str], dict[str, Any]] = {
    **{("VerticalGLM", f"noisy_{way}"): {"eta_start": 0.0} for way in ("newton", "gradient", "predictor")},
    ("FunctionalBoosting", "published"): {"radius_value": None},
    ("FunctionalBoosting", "moments"): {"response_radius": 1.0, "epsilon": 2.0, "s": None},
}


def noisy_protocols() -> Iterator[tuple[str, str]]:
    """Return estimators that document `noise_errors_`, and their protocols that take an epsilon."""
    for name, cls in ESTIMATORS.items():
        if "noise_errors_ :" in (inspect.getdoc(cls) or ""):
            yield from ((name, label) for label, method in cls.methods.items() if method.options.uses_epsilon)


def records(name: str) -> tuple[np.ndarray, np.ndarray]:
    rng = stream(1, "records of", name)
    if name == "FunctionalBoosting":
        X = rng.normal(size=(100, 2, 3)) / 5
        return X, X[:, 0]
    X = rng.uniform(size=(200, 3))
    y = 2 * X[:, 0] - 1 + 0.3 * rng.standard_normal(200)
    return X, (y > 0).astype(float) if name == "LabelPrivateLogisticRegression" else y


def fitted_model(name: str, protocol: str) -> Any:
    """Return an estimator fitted with a protocol at epsilon 2, or with what this protocol takes instead."""
    chosen = {"epsilon": 2.0} | SETTINGS[name] | NEEDED.get((name, protocol), {})
    settings = {key: value for key, value in chosen.items() if value is not None}
    return ESTIMATORS[name](protocol=protocol, random_state=1, **settings).fit(*records(name))


@pytest.mark.parametrize(("name", "protocol"), list(noisy_protocols()))
def test_noise_is_stated_or_the_reason(name, protocol):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = fitted_model(name, protocol)
    assert (fit.noise_errors_ is None) == bool(fit.noise_errors_reason_)
    assert fit.noise_errors_reason_ in fit.summary()
    assert ("noise sd" in fit.summary()) == (fit.noise_errors_ is not None)


def test_every_estimator_that_states_noise_is_asked():
    assert {name for name, _ in noisy_protocols()} == set(SETTINGS)
    assert all(hasattr(pw, name) for name in SETTINGS)
