"""What a certificate takes for public is no function of the data: every certified mechanism, recorded and replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from partywise.studies.privacy_audit.settings import SliceSettings

import every_protocol
from partywise.audits.exposure import Task
from partywise.audits.worlds import World
from partywise.experiment.cells import generate
from partywise.experiment.plan import Plan, plan
from partywise.experiment.study import MethodSpec
from partywise.federation.channel import Channel
from partywise.federation.folds import Fold
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.randomness import Streams, stream
from partywise.studies.functional_boosting.data import FunctionalData
from partywise.studies.label_private.data import LabelData
from partywise.studies.privacy_audit.protocol import MECHANISMS, SERVER
from partywise.studies.sliced_inverse_regression.cases import reduced
from partywise.studies.sliced_inverse_regression.data import SlicingData
from replay import compare, record, replay
from slicing_driver import records_of

ROOT = Path(__file__).parents[3]
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())["studies"]

# What the default audit certifies nothing for: an infinite epsilon is kept by every neighbour.
UNPROVED = {
    (case, "published")
    for case in (
        "fb_radius",
        "fb_messages",
        "sir_vectorised_printed",
        "sir_vectorised_charitable",
        "sir_scale_1_1",
        "sir_scale_1_5",
        "sir_screening",
        "opboost_adjusting",
        "affine_map",
        "abstract_paillier",
        "scores_u_d",
        "linear_predictors",
        "hashed_identifiers",
        "tracing",
    )
}

# Rows whose labels are 0 or 1.
CLASSES = ("label_sum", "tracing")


def audit_plan() -> Plan:
    return plan("privacy_audit", CONFIG["privacy_audit"], 7)


def audit_cells() -> list[tuple[str, str, int, float]]:
    """Every cell of the default audit: case, method, parties, epsilon (generated data only)."""
    made = audit_plan()
    return [
        (name, method, parties, epsilon)
        for name, case in made.cases.items()
        if name != "body_fat"
        for method in case.grid.methods
        for parties in case.grid.parties
        for epsilon in case.grid.epsilon
    ]


def neighbours(
    x: np.ndarray, y: np.ndarray, unit: str, binary: bool = False
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Data sets that differ in one record, as the unit allows: fractions, ties, edges, huge values, zeros, signs."""
    last, longest = len(x) - 1, int(np.argmax(np.linalg.norm(x, axis=1)))
    corner = np.full(x.shape[1], np.max(np.abs(x), initial=1.0))
    ways = [
        ("half a unit further", last, x[last] + 0.5, y[last] + 0.5),
        ("at an edge", last // 2, np.round(x[last // 2] * 2) / 2, 0.5),
        ("tied with another", 1, x[last], y[last]),
        ("huge", longest, 1e9 * corner, 1e9),
        ("hugely negative", 0, -1e9 * corner, -1e9),
        ("zero", longest, 0 * corner, 0.0),
        ("all signs turned", 2, -x[2], -y[2]),
        ("corner of the data", last // 3, corner, float(np.max(y))),
    ]
    found = []
    for name, i, features, label in ways:
        x2, y2 = x.copy(), y.copy()
        if unit != "label":
            x2[i] = features
        if unit != "features":
            y2[i] = 1 - y[i] if binary else label
        found.append((name, x2, y2))
    return found


def exposed(made: Plan, case: str, method: str, parties: int, epsilon: float, world: World) -> Callable[[], Channel]:
    """A run of one row of the audit: what its owners send of a data set."""
    settings, options = made.cases[case].settings, made.methods[method].options

    def rng_for(*names: Any) -> np.random.Generator:
        return stream(7, "replay", *names)

    def run() -> Channel:
        owners = tuple(f"owner {k + 1}" for k in range(parties))
        channel = Channel([Party(name, "passive", {}) for name in owners], (SERVER,))
        pair, delta = (world, world), settings.claim_delta(made.spec.delta)
        task = Task(settings, options.variant, epsilon, delta, pair, pair, owners, rng_for, 2)
        for owner, name, payload in MECHANISMS[settings.row](task).payloads:
            channel.send(owner, SERVER, name, payload)
        return channel

    return run


@pytest.mark.parametrize(("case", "method", "parties", "epsilon"), audit_cells())
def test_certificates_of_the_audit_hold_for_every_neighbour(case, method, parties, epsilon):
    made = audit_plan()
    settings = made.cases[case].settings
    unit, delta = settings.entry.unit, settings.claim_delta(made.spec.delta)
    data = made.cases[case].source.generate(settings, made.spec, lambda *names: stream(7, case, *names), ROOT)
    worlds = [(data.x[0], data.y[0]), (data.x[2], data.y[2])]
    if isinstance(settings, SliceSettings) and settings.row not in CLASSES:
        # Responses that are all classes: the data that made edges look public.
        worlds.append((data.x[2], np.arange(settings.n) % settings.n_slices * 1.0))
    for x, y in worlds:
        first = record(exposed(made, case, method, parties, epsilon, World(x, y)))
        channel = first.result
        certified = channel.ledger.worst_total(channel.names, unit, delta).epsilon_certified
        assert isfinite(certified) == ((case, method) not in UNPROVED), certified
        if not isfinite(certified):
            continue
        for name, x2, y2 in neighbours(x, y, unit, settings.row in CLASSES):
            second = replay(exposed(made, case, method, parties, epsilon, World(x2, y2)), first)
            try:
                compare(first, second, unit)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from error


# Certified protocols that the default configuration has no method of, besides those of `every_protocol`.
MORE: dict[str, dict[str, Any]] = {
    "functional_boosting": {
        "public_rounds": {"protocol": "roundwise", "radius": "public", "max_steps": 6},
        "private_radius": {"protocol": "boosting", "radius": "dp_quantile", "s_mode": "calibrated"},
        "noisy_response": {"protocol": "boosting", "s_mode": "calibrated", "sy": 0.5, "y_radius": 2.0},
        "raw": {"protocol": "boosting", "s_mode": "calibrated", "coordinates": "raw"},
    },
    "sliced_inverse_regression": {
        "votes": {"protocol": "certified", "screening": "votes"},
        "whitened_votes": {"protocol": "whitened", "screening": "votes"},
        "mirrored": {"protocol": "certified", "second": "mirrored"},
    },
}


# What is certified of these cases, by unit, of which methods; an infinite epsilon is kept by every neighbour.
CERTIFIED = {
    "functional_boosting": {
        "features": {
            *(
                "predictor_fixed",
                "predictor_sqrt_j",
                "predictor_rho",
                "party_fixed",
                "party_sqrt_j",
                "party_rho",
                "local",
            ),
            *("moments", "published_noise", "corrected_noise", "roundwise", "central", "mean_curve"),
            *("public_rounds", "private_radius", "noisy_response", "raw"),
        },
        "label": {"noisy_response", "mean_curve", "least_squares", "oracle"},
        "row": {"noisy_response", "mean_curve"},
    },
    "label_private": {
        "label": {
            *("published_hybrid", "published_newton", "analytic", "planned", "rr", "rr_planned", "auto", "noisy_gd"),
            *("label_sgd", "objective_perturbation", "classic", "no_ridge"),
        },
    },
    "sliced_inverse_regression": {
        "row": {
            *("cert", "cert_whiten", "iid_equal", "cert_equal", "whiten_equal", "mirrored", "votes", "whitened_votes"),
        },
    },
}


def study_plan(study: str) -> Plan:
    """The small cases of `every_protocol` with all its methods and those above."""
    block = every_protocol.block(study)
    block["methods"] |= MORE.get(study, {})
    for name, case in block["cases"].items():
        # Votes are for many columns.
        case["grid"]["methods"] = [m for m in block["methods"] if name == "many_columns" or not m.endswith("votes")]
    return plan(study, block, every_protocol.ROOT_SEED)


PLANS = {study: study_plan(study) for study in ("functional_boosting", "label_private", "sliced_inverse_regression")}
FITS = [(s, name, m) for s, made in PLANS.items() for name, case in made.cases.items() for m in case.grid.methods]


def with_rows(data: SlicingData, settings: Any) -> SlicingData:
    """Simulated clients as if their records were a table, which a neighbour can then change."""
    columns = np.arange(len(data.beta)) if settings.screened else None
    drawn = [records_of(data, k, settings, "signs").records(columns) for k in range(len(data.sizes))]
    X, y = (np.concatenate(part) for part in zip(*drawn, strict=True))
    return kept(replace(data, X=X, y=y), settings)


def kept(data: SlicingData, settings: Any) -> SlicingData:
    """The same table with the moments that its clients keep of it."""
    ends = np.cumsum(data.sizes)[:-1]
    blocks = [] if settings.screened else zip(np.split(data.X, ends), np.split(data.y, ends), strict=True)
    moments = reduced(blocks, data.fixed, data.X.shape[1], settings.radius)
    return replace(data, **moments)


def slicing_neighbours(data: SlicingData, settings: Any, unit: str) -> Iterator[tuple[str, SlicingData]]:
    """One record of a client is replaced; besides the ways of the audit, a response at a public edge and far away."""
    for name, x, y in neighbours(data.X, data.y, unit):
        yield name, kept(replace(data, X=x, y=y), settings)
    for name, response in (("response at an edge", data.edges[0]), ("response far away", 1e300)):
        y = data.y.copy()
        y[len(y) // 2] = response
        yield name, kept(replace(data, y=y), settings)


def curve_neighbours(data: FunctionalData, settings: Any, unit: str) -> Iterator[tuple[str, FunctionalData]]:
    """All curves of one record, or its response, are others: each at its clipping radius, far beyond, tied, turned."""
    n, far = len(data.X), np.ones(data.X.shape[1:])
    at_radius = far / np.sqrt(data.X.shape[2]) * data.radius[:, None]
    ways = (
        ("half a unit further", n - 1, data.X[-1] + 0.5, data.Y[-1] + 0.5),
        ("tied with another", 0, data.X[1], data.Y[1]),
        ("huge", n // 2, 1e9 * far, np.full(data.Y.shape[1], 1e9)),
        ("at the radius", 1, at_radius, np.full(data.Y.shape[1], data.response_radius / np.sqrt(data.Y.shape[1]))),
        ("zero", n - 2, 0 * far, np.zeros(data.Y.shape[1])),
        ("all signs turned", 2, -data.X[2], -data.Y[2]),
    )
    for name, i, curves, response in ways:
        X, Y = data.X.copy(), data.Y.copy()
        if unit != "label":
            X[i] = curves
        if unit != "features":
            Y[i] = response
        yield name, replace(data, X=X, Y=Y)


def label_neighbours(data: LabelData, settings: Any, unit: str) -> Iterator[tuple[str, LabelData]]:
    """One label flips, that of the longest, the shortest or another record; with the row, its features too."""
    rows = np.flatnonzero(data.train)
    order = rows[np.argsort(np.linalg.norm(data.X[rows], axis=1))]
    for name, i in (("first", rows[0]), ("last", rows[-1]), ("shortest", order[0]), ("longest", order[-1])):
        for corner in (0.0, 1.0) if unit == "row" else (None,):
            y, numeric = data.y.copy(), data.numeric.copy()
            y[i] = 1 - y[i]
            if corner is not None:
                # Column 0 is the intercept.
                numeric[i, 1:] = corner
            yield f"{name} record", replace(data, y=y, numeric=numeric)
    y = data.y.copy()
    y[order[len(order) // 2]] ^= 1
    yield "a record of average length", replace(data, y=y)


NEIGHBOURS: dict[str, Callable[..., Iterator[tuple[str, Any]]]] = {
    "functional_boosting": curve_neighbours,
    "label_private": label_neighbours,
    "sliced_inverse_regression": slicing_neighbours,
}


def fitted(made: Plan, case: str, method: str, data: Any) -> Callable[[], Channel]:
    """A fit of a method of a case to some data."""
    chosen, settings, study = made.methods[method], made.cases[case].settings, made.study
    (count,), (epsilon,) = made.cases[case].parties, made.epsilons(case, method)

    def run() -> Channel:
        parties = study.split(data, count, made.spec, settings)
        fold = Fold(study.folds(data, 1, settings), 0, 1)
        spec = MethodSpec(chosen.options, made.spec, settings, data.public())
        noise = Streams(made.root_seed, study.name, case, "noise", 0)
        extra = chosen.protocol.extra
        execution = Run(parties, epsilon=epsilon, fold=fold, rng_for=noise, spec=spec, extra=extra)
        simulate(chosen.protocol.fit, execution)
        return execution.channel

    return run


@pytest.mark.parametrize(("study", "case", "method"), FITS)
def test_what_a_protocol_certifies_holds_for_every_neighbour(study, case, method):
    made = PLANS[study]
    settings = made.cases[case].settings
    data = generate(made, case, [0], ROOT)[0]
    if study == "sliced_inverse_regression":
        data = with_rows(data, settings)
    first = record(fitted(made, case, method, data))
    channel, delta = first.result, getattr(settings, "delta", None) or made.spec.delta
    for unit, methods in CERTIFIED[study].items():
        certified = isfinite(channel.ledger.worst_total(channel.names, unit, delta).epsilon_certified)
        assert certified == (method in methods), unit
        if not certified:
            continue
        for name, other in NEIGHBOURS[study](data, settings, unit):
            try:
                compare(first, replay(fitted(made, case, method, other), first), unit)
            except AssertionError as error:
                raise AssertionError(f"{unit}, {name}: {error}") from error
