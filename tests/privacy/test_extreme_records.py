"""One record at the end of what floats hold: no certified protocol raises, warns, or says anything else in public."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noisy_driver import subject as private_subject
from partywise.audits.contract import check_neighbours
from partywise.methods.glm.options import (
    GlmMomentsOptions,
    GlmNoisyGradientOptions,
    NoisyNewtonOptions,
    NoisyPredictorOptions,
)
from partywise.methods.glm.protocols import moments, noisy_gradient, noisy_newton, noisy_predictor
from partywise.models.families import FAMILIES
from partywise.studies.sliced_inverse_regression.trials import with_statistics

sys.path.insert(0, str(Path(__file__).parent / "statistics"))
from test_public_arguments import CERTIFIED, FITS, PLANS, subject

# What is not finite is refused by its owner before a run begins; all that floats hold goes in.
BEYOND = (1.7e308, -1.7e308, 1e160, 5e-324)


def passive(settings: Any) -> list[int]:
    """Columns of the passive parties, of two."""
    active = settings.active_index(2)
    return [j for k, group in enumerate(settings.groups(2)) if k != active for j in group]


def replaced(study: str, data: Any, settings: Any, x: Any, y: Any) -> Any:
    """The data set whose record 3 (a training one) has these entries, where it has them."""
    row = int(np.flatnonzero(data.train)[3]) if study == "vertical_trees" else 3
    changes: dict[str, np.ndarray] = {}
    for name, value in (("X", x), ("Y" if study == "functional_boosting" else "y", y)):
        if value is not None:
            changes[name] = getattr(data, name).astype(float)
            # What is certified for the features of a tree are those of passive parties.
            held = passive(settings) if (study, name) == ("vertical_trees", "X") else ...
            changes[name][row, held] = value[held] if name == "X" else value
    found = replace(data, **changes)
    return with_statistics(found, settings) if study == "sliced_inverse_regression" else found


def extreme(study: str, unit: str, data: Any, settings: Any) -> Iterator[tuple[str, Any]]:
    """Neighbours whose record is huge in all columns, in one, with mixed signs, or in its response."""
    shape = data.X.shape[1:]
    signs = np.where(np.arange(int(np.prod(shape))) % 2, -1.0, 1.0).reshape(shape)
    for value in BEYOND:
        if unit != "label":
            yield f"all columns {value}", replaced(study, data, settings, np.full(shape, value), None)
        # The lowest with both signs is the largest with both signs.
        if unit != "label" and value > 0:
            yield f"columns {value} of both signs", replaced(study, data, settings, value * signs, None)
            alone = np.zeros(shape)
            alone[0] = value
            yield f"one column {value}", replaced(study, data, settings, alone, None)
        if unit != "features" and study in ("functional_boosting", "sliced_inverse_regression"):
            yield f"response {value}", replaced(study, data, settings, None, value)
    if unit != "features" and study == "vertical_glm":
        for value in (0.0, 1.0) if data.family == "binomial" else BEYOND:
            yield f"response {value}", replaced(study, data, settings, None, value)


CHECKED = [
    (study, case, method, unit)
    for study, case, method in FITS
    for unit, methods in CERTIFIED.get(study, {}).items()
    # Least squares in one place is no private protocol: labels stay where they are, and nothing bounds a record.
    if method != "least_squares"
    # Labels of classes and of label-private fits are 0 or 1: nothing else is a label.
    if method in methods and not (study == "label_private" or (study == "vertical_trees" and unit == "label"))
]


def one_of_each_protocol() -> Iterator[Any]:
    """The first method of every protocol for every unit; the others are part of `./run test --long`."""
    seen = set()
    for study, case, method, unit in CHECKED:
        kind = study, PLANS[study].methods[method].protocol.fit, unit
        yield pytest.param(study, case, method, unit, marks=pytest.mark.statistical if kind in seen else [])
        seen.add(kind)


@pytest.mark.parametrize(("study", "case", "method", "unit"), list(one_of_each_protocol()))
def test_an_extreme_record_shows_in_nothing_public(study, case, method, unit):
    settings = PLANS[study].cases[case].settings
    given = subject(study, case, method)
    tried = replace(given, neighbours=lambda data, one, count, seed: extreme(study, one, data, settings))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_neighbours(tried, [unit], 1, 1)


def strange(data: tuple) -> Iterator[tuple[str, tuple]]:
    """Neighbours whose record has a response that its family may not have, and columns at the end of floats."""
    for value in (0.0, -3.0, 0.4, 1e-308, *BEYOND):
        X, y = (part.astype(float) for part in data)
        X[3], y[3] = value, value
        yield f"entries {value}", (X, y)


PRIVATE = [
    (fit, options, family)
    for fit, options in (
        (noisy_newton.fit, NoisyNewtonOptions()),
        (noisy_newton.fit, NoisyNewtonOptions(clip="record")),
        (noisy_gradient.fit, GlmNoisyGradientOptions(steps=2, rate=0.4)),
        (moments.fit, GlmMomentsOptions(cipher="sized")),
    )
    for family in FAMILIES
]
SWEEPS = NoisyPredictorOptions(sweeps=2, cipher="sized")
PRIVATE += [(noisy_predictor.fit, SWEEPS, family) for family in ("gaussian", "binomial")]


def named(part: object) -> str:
    """An id that is the same in every process."""
    return part.__module__.rpartition(".")[2] if callable(part) else str(part)


@pytest.mark.parametrize(("fit", "options", "family"), PRIVATE, ids=named)
def test_a_response_that_the_family_does_not_have_ends_no_private_fit(fit, options, family):
    """A Gamma fit stopped with 'y of the active party has the value 0', which told all of that record."""
    given = private_subject(fit, options, family)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_neighbours(replace(given, neighbours=lambda data, unit, count, seed: strange(data)), ["row"], 1, 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_responses_of_a_family_are_their_own_nearest(family):
    values = np.array([-5.0, 0.0, 0.3, 1.0, 2.0, 7.5, 1e6])
    nearest = FAMILIES[family].nearest(values)
    own = FAMILIES[family].contains(values)
    assert np.all(FAMILIES[family].contains(nearest)) and np.array_equal(nearest[own], values[own])
