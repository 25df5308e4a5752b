"""Every method and option of sliced inverse regression gives the same run in one process, checked, and in many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import astuple, fields
from functools import cache
from typing import Any

import numpy as np
import pytest

from every_protocol import planned
from fixed import fixed
from forked import forked
from partywise.core.randomness import Streams, stream
from partywise.federation.codec import encode
from partywise.federation.place_checks import PlacedRun, together
from partywise.federation.run import Run, simulate
from partywise.methods.inverse_regression import records
from partywise.methods.inverse_regression.protocols import common, published
from partywise.methods.inverse_regression.slices import class_slices, public_slices
from partywise.studies.sliced_inverse_regression.cases import client_statistics
from partywise.studies.sliced_inverse_regression.data import SlicingData
from partywise.studies.sliced_inverse_regression.settings import SimulatedSlicingSettings, SlicingDatasetSettings
from partywise.studies.sliced_inverse_regression.simulation import clients
from slicing_driver import STUDY, run_of, simulated

SIZES, EDGES = (90, 200, 150), (-0.5, 0.0, 1.0)
SIMULATED = {
    "classes": SimulatedSlicingSettings(model="I", n=200, clients=3, p=5),
    "number": SimulatedSlicingSettings(model="III", n=300, clients=3, p=6),
    "many independent columns": SimulatedSlicingSettings(model="III", n=400, clients=3, p=60, active=5),
    "many AR columns": SimulatedSlicingSettings(model="IV", n=300, clients=3, p=50, active=6, epsilon_second=2.0),
}
# The settings say no more of a table than the source's unit, sizes and slices.
TABLES = {
    "table of numbers": SlicingDatasetSettings(dataset="flights", n=90, edges=EDGES, n_shown=5),
    "table of classes": SlicingDatasetSettings(
        dataset="activity", screen=True, n_directions=2, n_shown=5, delta_power=1.5
    ),
}
SCREENED = ("many independent columns", "many AR columns", "table of classes")
UNSCREENED = ("classes", "number", "table of numbers")
# Options of each protocol beside those of the default configuration, and the cases that they are for.
MORE: dict[str, list[tuple[dict[str, Any], tuple[str, ...]]]] = {
    "published": [
        ({"mechanism": "iid", "iid_variance": "prop2", "slices": "public"}, (*SCREENED, *UNSCREENED)),
        ({"vgm_variance": "printed", "dimension": "eigengap"}, ("number", "many AR columns")),
        ({"cov_clipped": False, "cov_scale": 1.0, "centre": True}, ("number", "many independent columns")),
        ({"mechanism": "iid", "estimator": "lda", "aggregation": "mean"}, ("classes",)),
        ({"mechanism": "iid", "sigma0": 0.15}, ("table of numbers",)),
        ({"screen": "threshold", "threshold": 0.3}, SCREENED),
        ({"screen": "threshold", "threshold": 50.0}, SCREENED),
    ],
    "certified": [
        ({"calibrate": "total", "aggregation": "kernel"}, (*SCREENED, *UNSCREENED)),
        ({"aggregation": "projector", "rounds": 1}, SCREENED),
        ({"screening": "votes", "max_size": 6, "second": "mirrored"}, SCREENED),
        ({"max_size": 15}, SCREENED),
    ],
    "whitened": [
        ({"clip": "box"}, (*SCREENED, *UNSCREENED)),
        ({"reach": 1.2, "ball": 2.0, "calibrate": "total"}, ("number", "many AR columns")),
        ({"screening": "votes", "max_size": 7}, SCREENED),
        ({"clip": "box", "rounds": 1}, SCREENED),
    ],
    "reference": [
        ({"slices": "public"}, (*SCREENED, *UNSCREENED)),
        ({"clipped": False, "kernel": "classical"}, (*SCREENED, *UNSCREENED)),
        ({"estimator": "lda"}, ("classes",)),
    ],
}
# How many columns stay where no true support is known.
LIMITS = {
    "certified": ("max_size", 6),
    "whitened": ("max_size", 6),
    "published": ("top", 4),
    "reference": ("top", 4),
}


def methods() -> dict[str, tuple[str, dict[str, Any], tuple[str, ...]]]:
    """Protocol, options and cases by name."""
    names, found = {protocol.options: name for name, protocol in STUDY.methods.items()}, {}
    for label, method in planned(STUDY.name).methods.items():
        options = {f.name: getattr(method.options, f.name) for f in fields(method.options)}
        given = {f.name: options[f.name] for f in fields(method.options) if options[f.name] != f.default}
        found[label] = (names[type(method.options)], given, tuple(CASES))
    for protocol, entries in MORE.items():
        for options, cases in entries:
            found[f"{protocol} {options}"] = (protocol, options, cases)
    return found


@cache
def data_of(case: str) -> SlicingData:
    """One replicate of a case."""
    return simulated(SIMULATED[case]) if case in SIMULATED else table(case)


def table(case: str) -> SlicingData:
    """Real records of three clients: few columns and a number, or many columns and classes."""
    settings, classes = TABLES[case], case == "table of classes"
    rng, n, p = stream(11, "table", case), sum(SIZES), 30 if classes else 5
    X = rng.standard_normal((n, p)).astype(np.float32 if classes else float)
    signal = X[:, 0] + 0.5 * X[:, -1] + 0.3 * rng.standard_normal(n)
    labels = np.arange(7) if classes else np.zeros(0)
    y = np.clip(np.round(2 * signal + 3), 0, 6).astype(int) if classes else signal
    slices = class_slices(fixed(labels)) if classes else public_slices(fixed(EDGES))
    ends = np.cumsum(SIZES)[:-1]
    blocks = [] if classes else zip(np.split(X, ends), np.split(y, ends), strict=True)
    return SlicingData(
        key=5,
        beta=np.zeros((p, 0)),
        edges=np.zeros(0) if classes else np.array(EDGES),
        labels=labels,
        sizes=np.array(SIZES),
        **client_statistics(blocks, max(SIZES), slices, p, settings.radius),
        X=X,
        y=y,
        names=np.array([f"column {j}" for j in range(p)]),
        shown_rows=np.arange(5),
        n_directions=settings.n_directions,
    )


CASES = SIMULATED | TABLES
METHODS = methods()
FITS = [(case, name) for name, (_, _, cases) in METHODS.items() for case in cases]
# Every method on one case, each case with some of them; the others are part of `./run test --long`.
CHOSEN = {(cases[number % len(cases)], name) for number, (name, (_, _, cases)) in enumerate(METHODS.items())}


def fit_of(case: str, method: str):
    """Program of a protocol and a run of it that has not begun."""
    protocol, options, _ = METHODS[method]
    limit, size = LIMITS[protocol]
    if case == "table of classes" and not {limit, "threshold"} & set(options):
        options = options | {limit: size}
    if case not in SCREENED:
        options = {key: value for key, value in options.items() if key not in ("top", "max_size")}
    run = run_of(protocol, data_of(case), CASES[case], 3, 1.0, **options)
    return STUDY.methods[protocol].fit.target, run


def described(estimate: Any, run: Run) -> tuple[bytes, list[dict[str, Any]], str]:
    """Everything that a fit left behind."""
    return encode(list(astuple(estimate))), run.channel.transcript(), run.channel.ledger.digest


def in_all_ways(fit: Callable[[Any], Any], fresh: Callable[[], Run]) -> Any:
    """The estimate, after asserting that checked, forked and remembering runs leave behind what the plain one does."""
    plain = fresh()
    estimate = simulate(fit, plain)
    expected = described(estimate, plain)
    streams = Streams(7, "sir study", "noise", 0)
    for _ in range(2):
        remembering = fresh()
        remembering.rng_for, remembering.parties = streams, plain.parties
        assert described(simulate(fit, remembering), remembering) == expected
    checked = fresh()
    assert described(together([fit(PlacedRun(checked))]), checked) == expected
    apart = fresh()
    assert described(forked(fit, apart), apart) == expected
    return estimate


@pytest.mark.parametrize(
    ("case", "method"),
    [pytest.param(*fit, marks=[] if fit in CHOSEN else pytest.mark.statistical) for fit in FITS],
)
def test_all_ways_to_run_a_method_are_one(case, method):
    fit, _ = fit_of(case, method)
    assert np.all(np.isfinite(in_all_ways(fit, lambda: fit_of(case, method)[1]).basis))


def test_the_chosen_fits_are_of_every_method_and_every_case():
    assert {method for _, method in CHOSEN} == set(METHODS) and {case for case, _ in CHOSEN} == set(CASES)
    assert not CHOSEN - set(FITS)


def test_a_second_moment_that_whitens_nothing_changes_no_message_but_what_it_says():
    """The server does not stop in silence: the clients answer that there is nothing to release, at no cost."""
    settings = SimulatedSlicingSettings(model="I", n=20, clients=2, p=1, delta_power=1.5)
    data, seen = simulated(settings), {}
    fit = STUDY.methods["whitened"].fit.target
    for replicate in range(20):
        run = run_of("whitened", data, settings, 2, 0.01, replicate)
        estimate = simulate(fit, run)
        seen.setdefault(estimate.numbers["sd_means"] is not None, (replicate, run, estimate))
    assert set(seen) == {True, False}
    names = [[(m.sender, m.receiver, m.name) for m in run.channel.messages] for _, run, _ in seen.values()]
    assert names[0] == names[1]
    replicate, run, estimate = seen[False]
    assert np.all(np.isnan(estimate.basis)) and not np.isnan(seen[True][2].basis).any()
    assert {m.name: m.shape for m in run.channel.messages}["whitened slice means"] == ()
    spent = [row for row in run.channel.ledger.rows if row.mu]
    assert [row.release_id for row in spent] == ["second moment of client 1", "second moment of client 2"]


def test_methods_of_a_job_that_read_the_same_columns_draw_them_once(monkeypatch):
    """Streams and data of a replicate are shared: the second method finds choices, records, moments and releases."""
    settings = SIMULATED["many independent columns"]
    data, streams, drawn = simulated(settings), Streams(7, "sir study", "noise", 0), Counter()

    def count(owner: Any, name: str) -> None:
        made = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, **terms: drawn.update([name]) or made(*given, **terms))

    count(clients, "draw_null")
    count(clients, "true_records")
    count(clients.NullColumns, "materialise")
    count(common, "ccmd_multiplicity")
    count(records, "client_moments")
    count(published, "covariance_release")
    for methods in (("iid",), ("vgm", "iid"), ("vgm",)):
        for mechanism in methods:
            run = run_of("published", data, settings, 3, 1.0, mechanism=mechanism)
            run.rng_for = streams
            simulate(published.fit, run)
            names = ("draw_null", "true_records", "materialise", "ccmd_multiplicity", "client_moments")
            assert drawn == dict.fromkeys((*names, "covariance_release"), 3)
