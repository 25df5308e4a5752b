"""Refused options, settings and plans: the message names the argument, the value and what to do."""

import re
from dataclasses import replace

import numpy as np
import pytest

from partywise.core.errors import ConfigError
from partywise.experiment.configuration.build import build
from partywise.experiment.plan import plan
from partywise.methods.functional.options import (
    BaselineOptions,
    CentralOptions,
    CurveMomentsOptions,
    CurvePublishedOptions,
    LocalOptions,
    RoundwiseOptions,
)
from partywise.methods.functional.path_options import BoostingOptions
from partywise.studies.functional_boosting.settings import CurveDatasetSettings, SimulatedCurveSettings
from partywise.studies.functional_boosting.study import CurveConstants
from protocol_driver import run

# cls, arguments, argument that is named, value as it is shown
NAMED_ERRORS = [
    *((cls, {"lambda_s": -1.0}, "lambda_s", "-1.0") for cls in (BoostingOptions, CurveMomentsOptions, BaselineOptions)),
    (BoostingOptions, {"lambda_t": float("nan")}, "lambda_t", "nan"),
    (BoostingOptions, {"lambda_st": float("inf")}, "lambda_st", "inf"),
    (BaselineOptions, {"lambda_t": -0.1}, "lambda_t", "-0.1"),
    (LocalOptions, {"s": -0.1}, "s", "-0.1"),
    (LocalOptions, {"s": (0.1, -0.2)}, "s[1]", "-0.2"),
    (LocalOptions, {"sy": -0.1}, "sy", "-0.1"),
    (LocalOptions, {"sy": 0.1}, "sy", "0.1"),
    (LocalOptions, {"sy": 0.1, "y_radius": "largest"}, "y_radius", "'largest'"),
    (LocalOptions, {"omega_x": ((1.0, 2.0), (3.0,))}, "omega_x", "(3.0,)"),
    (CurveMomentsOptions, {"omega_y": (("a",),)}, "omega_y", "'a'"),
    (CentralOptions, {"omega_x": ((1.0,),), "omega_y": ((1.0,),), "penalty": "none"}, "penalty", "'none'"),
    (CurvePublishedOptions, {"solver": "sylvester"}, "solver", "'sylvester'"),
    (CurvePublishedOptions, {"solver": "kronecker", "stop": "aic", "df": "exact"}, "solver", "'kronecker'"),
    (BoostingOptions, {"probes": 0, "stop": "aic", "df": "hutchinson"}, "probes", "0"),
    (BoostingOptions, {"nu": 0.0}, "nu", "0.0"),
    (BoostingOptions, {"nu": 1.1}, "nu", "1.1"),
    (BoostingOptions, {"nu": float("nan")}, "nu", "nan"),
    (BoostingOptions, {"alpha": 1.5}, "alpha", "1.5"),
    (BoostingOptions, {"max_steps": 0}, "max_steps", "0"),
    (BoostingOptions, {"patience": 0}, "patience", "0"),
    (BoostingOptions, {"min_steps": 0}, "min_steps", "0"),
    (BoostingOptions, {"min_steps": 11, "max_steps": 10}, "min_steps", "11"),
    (BoostingOptions, {"projection": -1.0}, "projection", "-1.0"),
    (BoostingOptions, {"ridge": -1.0}, "ridge", "-1.0"),
    (BoostingOptions, {"h_ridge": -1.0}, "h_ridge", "-1.0"),
    (BoostingOptions, {"stop": "never"}, "stop", "'never'"),
    (BoostingOptions, {"stop": "cv", "crossfit": "none"}, "stop", "'cv'"),
    (BoostingOptions, {"sse": "best"}, "sse", "'best'"),
    (BoostingOptions, {"update": "none"}, "update", "'none'"),
    (BoostingOptions, {"score": "none"}, "score", "'none'"),
    (BoostingOptions, {"crossfit": "three"}, "crossfit", "'three'"),
    (CurveMomentsOptions, {"crossfit": "none", "stop": "aic"}, "margin", "'noise'"),
    (CurveMomentsOptions, {"margin": "wide"}, "margin", "'wide'"),
    (BoostingOptions, {"stabiliser": "ridge"}, "stabiliser", "'ridge'"),
    (BoostingOptions, {"df": "guess"}, "df", "'guess'"),
    (LocalOptions, {"noise": "moments"}, "noise", "'moments'"),
    (LocalOptions, {"radius": "largest"}, "radius", "'largest'"),
    (LocalOptions, {"learner": "tree"}, "learner", "'tree'"),
    (LocalOptions, {"learner": "joint"}, "learner", "'joint'"),
    (CurveMomentsOptions, {"learner": "joint"}, "learner", "'joint'"),
    (LocalOptions, {"s_mode": "free"}, "s_mode", "'free'"),
    (LocalOptions, {"s_mode": "calibrated", "calibration": "loose"}, "calibration", "'loose'"),
    (LocalOptions, {"geometry": "flat"}, "geometry", "'flat'"),
    (LocalOptions, {"coordinates": "polar"}, "coordinates", "'polar'"),
    (LocalOptions, {"penalty": "third"}, "penalty", "'third'"),
    (CurveMomentsOptions, {"penalty": "third"}, "penalty", "'third'"),
    (LocalOptions, {"penalty_scale": "trace"}, "penalty_scale", "'trace'"),
    (CurveMomentsOptions, {"penalty_scale": "trace"}, "penalty_scale", "'trace'"),
    (LocalOptions, {"release": "never"}, "release", "'never'"),
    (LocalOptions, {"claim": "low"}, "claim", "'low'"),
    (LocalOptions, {"radius_value": 0.0}, "radius_value", "0.0"),
    (CurveMomentsOptions, {"radius_value": -1.0}, "radius_value", "-1.0"),
    (CurveMomentsOptions, {"response_radius": 0.0}, "response_radius", "0.0"),
    (LocalOptions, {"radius": "dp_quantile", "radius_rho": 0.0}, "radius_rho", "0.0"),
    (LocalOptions, {"radius": "dp_quantile"}, "radius", "'dp_quantile'"),
    (CentralOptions, {"radius": "dp_quantile", "s_mode": "sqrt_j"}, "radius", "'dp_quantile'"),
    (LocalOptions, {"y_radius": -1.0, "sy": 1.0}, "y_radius", "-1.0"),
    (LocalOptions, {"rho_total": 0.0, "s_mode": "calibrated"}, "rho_total", "0.0"),
    (LocalOptions, {"rho_total": 5.0}, "rho_total", "5.0"),
    (LocalOptions, {"rho_total": 5.0, "s_mode": "calibrated", "calibration": "classic"}, "rho_total", "5.0"),
    (LocalOptions, {"directions": 0}, "directions", "0"),
    (LocalOptions, {"directions": 3, "coordinates": "raw"}, "directions", "3"),
    (CurveMomentsOptions, {"shares": (0.5, 0.5)}, "shares", "(0.5, 0.5)"),
    (CurveMomentsOptions, {"shares": (0.5, 0.5, 0.0)}, "shares", "(0.5, 0.5, 0.0)"),
    (CurveMomentsOptions, {"shares": (0.5, 0.4, 0.2)}, "shares", "(0.5, 0.4, 0.2)"),
    (RoundwiseOptions, {"memory": "all"}, "memory", "'all'"),
    (RoundwiseOptions, {"radius": "dp_quantile"}, "radius", "'dp_quantile'"),
    (BaselineOptions, {"kind": "median"}, "kind", "'median'"),
    (SimulatedCurveSettings, {"snr": 0.0}, "snr", "0.0"),
    (SimulatedCurveSettings, {"snr": -1.0}, "snr", "-1.0"),
    (SimulatedCurveSettings, {"snr": float("nan")}, "snr", "nan"),
    (SimulatedCurveSettings, {"active": (20,)}, "active", "(20,)"),
    (SimulatedCurveSettings, {"active": (-1,)}, "active", "(-1,)"),
    (SimulatedCurveSettings, {"active": (1, 1)}, "active", "(1, 1)"),
    (SimulatedCurveSettings, {"strengths": (1.0,)}, "strengths", "1 entries"),
    (SimulatedCurveSettings, {"n_basis_x": 4, "singular_values": (1.0,) * 5}, "singular_values", "5 entries"),
    (SimulatedCurveSettings, {"singular_values": ()}, "singular_values", "0 entries"),
    (SimulatedCurveSettings, {"singular_values": (1.0, 0.0)}, "singular_values[1]", "0.0"),
    (SimulatedCurveSettings, {"x_spectrum": "pink"}, "x_spectrum", "'pink'"),
    (SimulatedCurveSettings, {"n": 3}, "n", "3"),
    (SimulatedCurveSettings, {"p": 0}, "p", "0"),
    (SimulatedCurveSettings, {"n_basis_x": 3}, "n_basis_x", "3"),
    (SimulatedCurveSettings, {"n_basis_y": 3}, "n_basis_y", "3"),
    (SimulatedCurveSettings, {"n_basis_y": 0}, "n_basis_y", "0"),
    (SimulatedCurveSettings, {"basis": "fourier", "n_basis_x": 14}, "n_basis_x", "14"),
    (SimulatedCurveSettings, {"basis": "wavelet"}, "basis", "'wavelet'"),
    (SimulatedCurveSettings, {"domain": (1.0, 1.0)}, "domain", "(1.0, 1.0)"),
    (SimulatedCurveSettings, {"domain": (0.0, float("inf"))}, "domain[1]", "inf"),
    (SimulatedCurveSettings, {"split": "alphabetical"}, "split", "'alphabetical'"),
    (SimulatedCurveSettings, {"p": 3, "active": (0,), "split": "explicit", "groups": ((0, 1),)}, "groups", "((0, 1),)"),
    (
        SimulatedCurveSettings,
        {"p": 2, "active": (0,), "split": "explicit", "groups": ((0, 1), ())},
        "groups",
        "((0, 1), ())",
    ),
    (
        SimulatedCurveSettings,
        {"p": 2, "active": (0,), "split": "explicit", "groups": ((0, 1), (1,))},
        "groups",
        "((0, 1), (1,))",
    ),
    (SimulatedCurveSettings, {"p": 2, "active": (0,), "split": "explicit"}, "groups", "()"),
    (SimulatedCurveSettings, {"p": 2, "active": (0,), "groups": ((0,), (1,))}, "groups", "((0,), (1,))"),
    (SimulatedCurveSettings, {"radius": 0.0}, "radius", "0.0"),
    (SimulatedCurveSettings, {"fold_rule": "random"}, "fold_rule", "'random'"),
    (SimulatedCurveSettings, {"n_test": -1}, "n_test", "-1"),
    (SimulatedCurveSettings, {"references": -1}, "references", "-1"),
    (CurveDatasetSettings, {"dataset": "beijing", "n_basis_x": 3}, "n_basis_x", "3"),
    (CurveDatasetSettings, {"dataset": "beijing", "basis": "fourier"}, "n_basis_x", "8"),
    (CurveDatasetSettings, {"dataset": "beijing", "smoothing": -1.0}, "smoothing", "-1.0"),
    (CurveDatasetSettings, {"dataset": "beijing", "radius": 0.0}, "radius", "0.0"),
    (CurveDatasetSettings, {"dataset": "beijing", "response_radius": 0.0}, "response_radius", "0.0"),
    (CurveDatasetSettings, {"dataset": "beijing", "split": "explicit", "groups": ((0,),)}, "groups", "((0,),)"),
    (CurveDatasetSettings, {"dataset": "beijing", "split": "seasonal"}, "split", "'seasonal'"),
    (CurveDatasetSettings, {"dataset": "beijing", "fold_rule": "random"}, "fold_rule", "'random'"),
    (CurveDatasetSettings, {"dataset": "nyc", "response": "ORD"}, "response", "'ORD'"),
    (CurveConstants, {"delta": 0.0}, "delta", "0.0"),
    (CurveConstants, {"delta": 1.0}, "delta", "1.0"),
    (CurveConstants, {"delta": float("nan")}, "delta", "nan"),
    (CurveConstants, {"unit": "person"}, "unit", "'person'"),
]


@pytest.mark.parametrize(
    ("cls", "arguments", "name", "value"),
    [pytest.param(*row, id=f"{row[0].__name__}-{row[2]}-{row[3]}") for row in NAMED_ERRORS],
)
def test_bad_values_are_named_with_a_remedy(cls, arguments, name, value):
    with pytest.raises(ValueError) as caught:
        cls(**arguments)
    message = str(caught.value)
    head, _, remedy = message.partition(": ")
    head = head if head else message
    assert re.match(rf"{re.escape(name)} (is|has) ", message), message
    assert value in head, message
    # A full sentence that says what to do instead.
    assert message.endswith(".") and len((remedy or message).split()) >= 3, message
    with pytest.raises(ConfigError, match=r"^studies\.here\." + re.escape(name.partition("[")[0])):
        build(cls, arguments, "studies.here")


def block(method=None, settings=None, grid=None, source="simulated"):
    small = {"n": 60, "p": 4, "n_basis_x": 6, "n_basis_y": 6, "active": [0], "singular_values": [1.0]}
    return {
        "methods": {"fit": {"protocol": "boosting"} | (method or {})},
        "cases": {
            "case": {
                "source": source,
                "settings": (small if source == "simulated" else {}) | (settings or {}),
                "grid": {"methods": ["fit"], "replicates": 1, "parties": [2], "folds": 3, "epsilon": [1.0]}
                | (grid or {}),
            }
        },
        "figures": [],
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"grid": {"parties": [0]}}, r"parties\[0\] is 0: it must be at least 1"),
        ({"grid": {"parties": [5]}}, r"parties is 5: the number of parties must lie in 1\.\.4"),
        ({"grid": {"folds": 0}}, r"folds is 0: it must lie in \[1, 100\]"),
        ({"grid": {"folds": 61}}, "folds is 61: there are 60 records"),
        ({"grid": {"epsilon": [0.0]}}, r"epsilon\[0\] is 0\.0: it must be greater than 0"),
        ({"grid": {"epsilon": [-1.0]}}, r"epsilon\[0\] is -1\.0: it must be greater than 0"),
        ({"settings": {"n_test": 10}}, "folds is 3: a case with n_test fresh records has exactly 1 fold"),
        (
            {"settings": {"split": "explicit", "groups": [[0], [1], [2, 3]]}},
            "parties is 2: split 'explicit' .* 3 parties",
        ),
        ({"source": "dataset", "settings": {"dataset": "beijing"}}, "parties is 2: split 'natural' .* 3 parties"),
        (
            {
                "source": "dataset",
                "settings": {"dataset": "beijing"},
                "grid": {"parties": [3]},
                "method": {"protocol": "baseline", "kind": "oracle"},
            },
            "fit: the true operators of this case are unknown",
        ),
        ({"method": {"s": [0.1, 0.2]}}, "fit, whose s has 2 entries: this case has 4 predictors"),
        ({"method": {"directions": 7}}, "fit with directions 7: the basis of this case has 6 functions"),
        ({"method": {"sigma": 1.0}}, r"methods\.fit\.sigma is unknown: .*allowed here"),
        ({"method": {"nu": "fast"}}, r"methods\.fit\.nu is 'fast': it must be a number"),
        ({"method": {"protocol": "forest"}}, "protocol is 'forest'"),
        ({"settings": {"records": 10}}, r"settings\.records is unknown"),
        ({"source": "moon"}, "source is 'moon'"),
    ],
)
def test_contradictions_of_a_plan_are_named(arguments, message):
    with pytest.raises(ConfigError, match=message):
        plan("functional_boosting", block(**arguments), 1)


@pytest.mark.parametrize("missing", ["methods", "cases"])
def test_missing_keys_are_named(missing):
    incomplete = block()
    del incomplete[missing]
    with pytest.raises(ConfigError, match=rf"functional_boosting\.{missing} is missing"):
        plan("functional_boosting", incomplete, 1)


@pytest.mark.parametrize("protocol", ["boosting", "published", "moments", "roundwise", "central", "baseline"])
def test_every_protocol_can_be_planned_with_its_defaults(protocol):
    made = plan("functional_boosting", block(method={"protocol": protocol}), 1)
    assert made.epsilons("case", "fit") == ((1.0,) if protocol == "moments" else (float("inf"),))
    options = made.methods["fit"].options
    # A key of 3072 bits closes the same sums.
    options = replace(options, cipher="sized") if protocol == "moments" else options
    done = run(options, epsilon=1.0)
    assert np.isfinite(done.estimate.operators).all()
