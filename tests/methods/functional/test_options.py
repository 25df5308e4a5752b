"""Options and settings: every accepted value runs and does something, every refused one is named."""

from dataclasses import fields, replace
from functools import cache
from typing import get_args

import numpy as np
import pytest

from partywise.core.checks import field_types
from partywise.core.errors import ConfigError
from partywise.experiment.configuration.build import build
from partywise.methods.functional.options import (
    BaselineOptions,
    CentralOptions,
    CurveMomentsOptions,
    CurvePublishedOptions,
    LocalOptions,
    RoundwiseOptions,
)
from partywise.methods.functional.path_options import PathOptions
from partywise.studies.functional_boosting.settings import SimulatedCurveSettings
from protocol_driver import SMALL, make_data, run

EPSILON = 500.0
DATA = make_data()
STOPS = get_args(field_types(PathOptions)["stop"])
NOISY = {"s": 1.0}
PATH = {"max_steps": 15}
# Full steps soon stop to improve, and the source's criterion returns the state at which the walk stopped.
HASTY = {"nu": 1.0, "max_steps": 60, "patience": 1, "stop": "cv_published"}
TARGET = {"s_mode": "calibrated"}
# Penalties of six basis functions: of all predictors, and of each of four.
RIDGE = tuple(tuple(float(i == j) for j in range(6)) for i in range(6))
RIDGES = tuple(tuple(tuple((k + 1) * v for v in row) for row in RIDGE) for k in range(4))
# What every protocol on released curves offers: option -> (what must be set for it to be read, other values).
LOCAL = {
    "noise": ({}, ["none"]),
    "s": ({}, [0.0, 0.1, 3.0, (0.1, 0.2, 0.3, 0.4), (0.5, 0.5, 0.5, 0.0)]),
    "s_mode": ({}, ["sqrt_j", "calibrated"]),
    "rho_total": (TARGET, [5.0, 500.0]),
    "calibration": (TARGET, ["classic"]),
    "radius": (TARGET, ["dp_quantile", "quantile"]),
    "radius_value": ({}, [2.0]),
    "radius_rho": (TARGET | {"radius": "dp_quantile"}, [0.5]),
    "geometry": ({}, ["gram"]),
    "coordinates": ({}, ["raw"]),
    "penalty": ({}, ["none"]),
    "penalty_scale": ({}, ["none"]),
    "directions": ({}, [1, 3]),
    "release": ({}, ["per_fit"]),
    "sy": ({"y_radius": 4.0, "sy": 0.2}, [0.8]),
    "y_radius": ({"sy": 0.2, "y_radius": 4.0}, [1.0, "quantile"]),
    "claim": ({}, ["source"]),
    "projection": ({}, [0.0, 5.0]),
    "lambda_s": ({}, [0.0, 0.5]),
    "lambda_t": ({}, [0.0, 0.5]),
    "lambda_st": ({}, [0.5]),
    "omega_x": ({"lambda_s": 0.1}, [RIDGE, RIDGES]),
    "omega_y": ({"lambda_t": 0.1}, [RIDGE]),
}
WALK = {
    "stop": ({}, [stop for stop in STOPS if stop != "cv"]),
    "sse": ({}, ["raw"]),
    "update": ({}, ["published", "backfit"]),
    "score": ({}, ["raw", "published"]),
    "crossfit": ({"stop": "aic"}, ["shared", "none"]),
    "stabiliser": ({}, ["published", "none"]),
    "alpha": ({"stabiliser": "published"}, [0.0, 0.5]),
    "ridge": ({"stabiliser": "published"}, [2.0]),
    "h_ridge": ({"stabiliser": "published"}, [0.5]),
    "df": ({"stop": "aic"}, ["hutchinson"]),
    "probes": ({"stop": "aic", "df": "hutchinson"}, [2]),
    "nu": ({}, [0.05, 1.0]),
    "max_steps": ({}, [1, 3]),
    "min_steps": (HASTY, [59]),
    "patience": (HASTY, [20]),
    "learner": ({}, ["party"]),
}
# The source's defaults: another value of an option may need other company.
PUBLISHED = (
    LOCAL
    | WALK
    | {
        "radius": (TARGET, ["public", "dp_quantile"]),
        "radius_value": ({"radius": "public"}, [2.0]),
        "geometry": ({}, ["orthonormal"]),
        "coordinates": ({}, ["orthonormal"]),
        "penalty_scale": ({}, ["spectral"]),
        "release": ({}, ["once"]),
        "claim": ({}, ["exact"]),
        "calibration": (TARGET, ["exact"]),
        "rho_total": (TARGET | {"calibration": "exact"}, [5.0, 500.0]),
        "directions": ({"coordinates": "orthonormal"}, [1, 3]),
        "probes": ({"stop": "aic"}, [2]),
        "solver": ({}, ["kronecker"]),
        "stop": ({}, [stop for stop in STOPS if stop != "cv_published"]),
        "sse": ({"stop": "aic"}, ["raw"]),
        "score": ({"s": 0.5}, ["debiased", "raw"]),
        "crossfit": ({}, ["own"]),
        "stabiliser": ({}, ["project", "none"]),
        "alpha": ({}, [0.0, 0.5]),
        "ridge": ({}, [20.0]),
        "h_ridge": ({}, [0.5]),
        "projection": ({"stabiliser": "project", "s": 3.0}, [0.0, 5.0]),
        "df": ({"stop": "aic"}, ["exact"]),
        "max_steps": ({"min_steps": 1}, [1, 3]),
        "min_steps": (HASTY | {"update": "backfit", "min_steps": 1}, [59]),
        "patience": (HASTY | {"update": "backfit", "min_steps": 1}, [20]),
    }
)
MOMENTS = {name: WALK[name] for name in WALK if name not in ("score", "sse", "df", "probes")} | {
    "crossfit": ({"stop": "aic", "margin": "none"}, ["shared", "none"]),
    "margin": ({}, ["none"]),
    "projection": LOCAL["projection"],
    "lambda_s": LOCAL["lambda_s"],
    "lambda_t": LOCAL["lambda_t"],
    "lambda_st": LOCAL["lambda_st"],
    **{name: LOCAL[name] for name in ("penalty", "penalty_scale", "omega_x", "omega_y")},
    "directions": ({}, [1, 3]),
    "radius_value": ({}, [2.0]),
    "response_radius": ({}, [1.0]),
    "shares": ({}, [(0.3, 0.3, 0.4)]),
    "ridge": ({"stabiliser": "published"}, [5.0]),
    "dealer": ({"cipher": "paillier"}, ["dealer"]),
    "cipher": ({}, ["paillier"]),
    "key_size": ({}, [3072]),
}
ELSEWHERE = ("noise", "radius", "radius_rho", "geometry", "release", "sy", "y_radius")
ROUNDS = {name: LOCAL[name] for name in LOCAL if name not in ELSEWHERE}
ROUNDS |= {name: WALK[name] for name in ("learner", "nu", "max_steps")}
ROUNDS |= {"radius": ({}, ["quantile"]), "memory": ({}, ["last"])}
# Without memory the criterion goes up and down with the noise of each round.
ROUNDS |= {
    "min_steps": ({"memory": "last", "patience": 1}, [9]),
    "patience": ({"memory": "last", "patience": 1}, [9]),
}
# Options of another protocol that these do not offer.
ABSENT = {
    CurveMomentsOptions: {"score", "sse", "df", "probes"},
    RoundwiseOptions: {"noise", "geometry", "release", "sy", "y_radius", "radius_rho", "stop", "sse", "update", "score"}
    | {"crossfit", "stabiliser", "alpha", "ridge", "h_ridge", "df", "probes"},
    CentralOptions: set(WALK),
}
TABLES = {
    LocalOptions: (NOISY | PATH, LOCAL | WALK),
    CurvePublishedOptions: ({"max_steps": 20}, PUBLISHED),
    CurveMomentsOptions: (PATH | {"cipher": "sized"}, MOMENTS),
    RoundwiseOptions: (NOISY | {"max_steps": 10}, ROUNDS),
    CentralOptions: (NOISY, LOCAL),
    BaselineOptions: (
        {},
        {
            "kind": ({}, ["least_squares", "oracle"]),
            "lambda_s": ({"kind": "least_squares"}, [0.0, 0.5]),
            "lambda_t": ({"kind": "least_squares"}, [0.0, 0.5]),
        },
    ),
}


def cases():
    for cls, (base, table) in TABLES.items():
        for name, (needed, values) in table.items():
            for value in values:
                start = base | needed
                if needed.get("s_mode") == "calibrated" or value == "calibrated":
                    start.pop("s", None)
                yield pytest.param(cls, start, name, value, id=f"{cls.__name__}-{name}-{value}"[:60])


@cache
def outcome(options):
    """Everything that an option could change: the fit, what is reported, what was released, what it cost."""
    done = run(options, data=DATA, epsilon=EPSILON)
    scalars, total = done.scalars, done.total()
    return done, (
        done.estimate.operators.tobytes(),
        repr(sorted(done.estimate.numbers.items())),
        done.estimate.epsilon_claimed,
        total.epsilon_certified,
        None if done.estimate.received_curves is None else done.estimate.received_curves.tobytes(),
        repr(scalars),
        repr(done.channel.transcript()),
    )


@pytest.mark.parametrize(("cls", "start", "name", "value"), list(cases()))
def test_an_accepted_option_runs_and_does_something(cls, start, name, value):
    done, changed = outcome(cls(**(start | {name: value})))
    # Finite, or flagged: a path that diverged says so and still returns its last finite state.
    assert np.isfinite(done.estimate.operators).all()
    for key, number in done.scalars.items():
        assert number is None or np.isfinite(number), key
    if done.scalars["relative_error"] > 1:
        assert done.scalars["worse_than_mean"]
    assert changed != outcome(cls(**start))[1], f"{name}={value!r} changed nothing"


@pytest.mark.parametrize("cls", list(TABLES))
def test_the_tables_above_know_every_option(cls):
    assert {entry.name for entry in fields(cls)} == set(TABLES[cls][1])


@pytest.mark.parametrize(("cls", "name"), [(cls, name) for cls, names in ABSENT.items() for name in sorted(names)])
def test_options_that_nothing_would_read_are_refused(cls, name):
    for value in (WALK | LOCAL)[name][1]:
        with pytest.raises(ConfigError, match=rf"^here\.{name} is unknown: .*allowed here: "):
            build(cls, {name: value}, "here")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"s": 0.1, "s_mode": "calibrated"}, "s"),
        ({"calibration": "classic"}, "calibration"),
        ({"radius_rho": 0.1}, "radius_rho"),
        ({"radius_value": 2.0, "radius": "quantile"}, "radius_value"),
        ({"radius_value": 2.0, "radius": "dp_quantile"}, "radius_value"),
        ({"y_radius": 2.0}, "y_radius"),
        ({"alpha": 0.1}, "alpha"),
        ({"projection": 2.0, "stabiliser": "published"}, "projection"),
        ({"df": "hutchinson"}, "df"),
        ({"sse": "raw", "stop": "aic_train"}, "sse"),
        ({"probes": 7}, "probes"),
        ({"probes": 7, "stop": "aic"}, "probes"),
        ({"penalty": "none", "omega_x": RIDGE, "omega_y": RIDGE}, "penalty"),
    ],
)
def test_options_without_their_company_are_refused(options, name):
    with pytest.raises(ValueError, match=rf"^{name} is .*: it is read with .* only; leave it out\.$"):
        LocalOptions(**options)


def test_the_target_of_the_grid_is_used_where_noise_is_calibrated_to_it_and_only_there():
    assert LocalOptions(s_mode="calibrated").uses_epsilon and CurvePublishedOptions(s_mode="calibrated").uses_epsilon
    assert CurveMomentsOptions().uses_epsilon and RoundwiseOptions(s_mode="calibrated").uses_epsilon
    unused = [LocalOptions(), LocalOptions(s_mode="calibrated", rho_total=3.0), BaselineOptions(), CentralOptions()]
    unused.append(LocalOptions(s_mode="calibrated", noise="none"))
    assert not any(options.uses_epsilon for options in unused)
    for options in unused:
        near, far = (run(options, data=DATA, epsilon=epsilon) for epsilon in (1.0, 100.0))
        assert np.array_equal(near.estimate.operators, far.estimate.operators)
        assert near.estimate.epsilon_claimed == far.estimate.epsilon_claimed


def test_settings_of_the_generator_change_the_data():
    base = make_data(SMALL)
    other = {
        "n": 50,
        "p": 5,
        "n_basis_x": 7,
        "n_basis_y": 7,
        "active": (1, 2),
        "strengths": (1.0, 0.5),
        "singular_values": (1.0, 0.2),
        "snr": 3.0,
        "x_spectrum": "decay",
        "radius": 2.0,
        "n_test": 9,
        "references": 1,
        "domain": (0.0, 24.0),
    }
    # The other settings act later: split and groups on the parties, fold_rule on the folds (test_cases.py).
    assert {entry.name for entry in fields(SimulatedCurveSettings)} - set(other) == {
        "basis",
        "split",
        "groups",
        "fold_rule",
    }
    for name, value in other.items():
        made = make_data(replace(SMALL, **{name: value}))
        same = all(
            np.array_equal(getattr(made, key), getattr(base, key))
            for key in ("X", "Y", "operators", "radius", "reference_X", "domain_x")
        )
        assert not same, name
    fourier = run(LocalOptions(max_steps=5), settings=replace(SMALL, basis="fourier", n_basis_x=7, n_basis_y=7))
    assert fourier.data.basis == "fourier" and fourier.scalars["excess"] < 1
