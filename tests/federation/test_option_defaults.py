"""Options of all methods: one default of an option in all protocols of an estimator; no key that can be factored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields

import pytest

import partywise as pw
from partywise.experiment.study import available, load
from partywise.federation.estimators.estimator import Estimator

ESTIMATORS = {
    name: cls
    for name in dir(pw)
    if isinstance(cls := getattr(pw, name), type) and issubclass(cls, Estimator) and cls.methods
}
PUBLISHED = "a protocol follows its source, which has another value"
COUNTS = "counts of different things: steps of one protocol are not those of the other"
CELLS = "bins are the cells of a release, whose noise differs between protocols"
# Options whose defaults differ, and why they may.
DIFFERENT = {
    "FederatedCox": {"bins": CELLS, "steps": COUNTS},
    "FederatedKaplanMeier": {"bins": CELLS, "noise": "laws of noise of different releases: counts, and times"},
    "FederatedLogistic": {"step": COUNTS},
    "FunctionalBoosting": dict.fromkeys(
        (
            *("s", "calibration", "radius", "coordinates", "penalty_scale", "claim", "geometry", "release", "lambda_s"),
            *("lambda_t", "min_steps", "stop", "crossfit", "stabiliser", "score", "df"),
        ),
        PUBLISHED,
    )
    | {"max_steps": COUNTS, "projection": "radii of different statistics: curves, and second moments"},
    "LabelPrivateLogisticRegression": {
        "ridge": "without noise a ridge is a safeguard only; with noise it is planned from the budget",
        **dict.fromkeys(("rounds", "rate", "learning_rates"), COUNTS),
    },
    "SlicedInverseRegression": {
        **dict.fromkeys(("mechanism", "screen", "aggregation"), PUBLISHED),
        "slices": "edges of certified protocols are public; others take quantiles of the records",
    },
    "VerticalBoosting": {"n_bins": CELLS, "edges": "feature gathering has public edges; scattering follows its source"},
    "VerticalGLM": {
        **dict.fromkeys(("alignment", "ridge"), PUBLISHED),
        **dict.fromkeys(("steps", "iterate"), COUNTS),
    },
    "VerticalPCA": dict.fromkeys(("alignment", "matrix"), PUBLISHED),
}


def defaults(cls: type[Estimator]) -> dict[str, dict[str, str]]:
    """Defaults of each option by protocol, as text."""
    values: dict[str, dict[str, str]] = {}
    for name, method in cls.methods.items():
        for field in fields(method.options):
            default = field.default_factory() if field.default_factory is not MISSING else field.default
            values.setdefault(field.name, {})[name] = repr(default)
    return values


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_option_has_one_default_in_all_protocols(name):
    """Two fits that differ in the protocol alone are of the same model, unless the reason is stated above."""
    different = {option: known for option, known in defaults(ESTIMATORS[name]).items() if len(set(known.values())) > 1}
    stated = DIFFERENT.get(name, {})
    assert set(different) == set(stated), {option: different.get(option) for option in set(different) ^ set(stated)}


def options_with_keys() -> Iterator[type]:
    """Dataclasses of options of all studies and estimators that have a key size."""
    methods = [method for cls in ESTIMATORS.values() for method in cls.methods.values()]
    methods += [method for study in available() for method in load(study).methods.values()]
    for options in dict.fromkeys(method.options for method in methods):
        if any(field.name == "key_size" for field in fields(options)):
            yield options


@pytest.mark.parametrize("options", tuple(options_with_keys()), ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("bits", [256, 1024, 2032])
def test_keys_that_can_be_factored_are_refused(options, bits):
    reader = {"inference": "he"} if any(field.name == "inference" for field in fields(options)) else {}
    with pytest.raises(ValueError, match=f"key_size is {bits}: it must be at least 2048, shorter keys break"):
        options(key_size=bits, **reader)
