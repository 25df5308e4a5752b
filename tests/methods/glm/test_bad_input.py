"""Bad input of the specification's section 13: a named error before anything is sent, by every protocol alike."""

from __future__ import annotations

import numpy as np
import pytest

import partywise as pw
from glm_driver import records, start
from partywise.federation.parties import Party
from partywise.federation.run import simulate

METHODS = pw.VerticalGLM.methods
PRIVATE = ("moments", "noisy_newton", "noisy_gradient", "noisy_predictor")
OPEN = tuple(name for name in METHODS if name not in PRIVATE)
FACTS = {
    "statistic": pw.Public(np.array([-4.0, 6.0]), because="declared by the test"),
    "eta_start": pw.Public(0.5, because="declared by the test"),
}


def run_of(protocol, X, y, groups=((0, 1), (2,), (3, 4)), *, family="gaussian", facts=FACTS, **changes):
    method = METHODS[protocol]
    epsilon = 2.0 if protocol in PRIVATE else np.inf
    options = method.options(**changes.pop("options", {}))
    return start(X, y, groups, options, family=family, extra=method.extra, epsilon=epsilon, facts=facts, **changes)


def with_block(run, place, **arrays):
    """The run with other arrays at one party."""
    party = run.parties[place]
    changed = Party(party.name, party.role, dict(party.block) | arrays, party.columns)
    run.parties = (*run.parties[:place], changed, *run.parties[place + 1 :])
    return run


def spoilt(value):
    X, y = records("gaussian", 40, 5)
    X[7, 3] = value
    return X, y


X, Y = records("gaussian", 40, 5)
WRONG = {
    "a row too many": (
        lambda name: with_block(run_of(name, X, Y), 1, X=np.ones((41, 1))),
        "X of 'passive 1' has 41 rows for 40 records: give all parties the same records",
    ),
    "a row too few": (
        lambda name: with_block(run_of(name, X, Y), 2, X=np.ones((39, 2))),
        "X of 'passive 2' has 39 rows for 40 records",
    ),
    "a response too few": (
        lambda name: with_block(run_of(name, X, Y), 0, y=Y[1:]),
        "y of 'active' has 39 rows for 40 records",
    ),
    "nan": (
        lambda name: run_of(name, *spoilt(np.nan)),
        "column 'x3' of 'passive 2' has the value nan in record 7: fill",
    ),
    "inf": (lambda name: run_of(name, *spoilt(-np.inf)), "column 'x3' of 'passive 2' has the value -inf in record 7"),
    "text": (
        lambda name: with_block(run_of(name, X, Y), 1, X=np.array([["a"]] * 40)),
        "X of 'passive 1' holds <U1 values: encode them as numbers",
    ),
    "empty party": (
        lambda name: with_block(run_of(name, X, Y, ((0, 1, 2), (), (3, 4))), 1, X=np.empty((40, 0))),
        "party 'passive 1' holds no column: give it one",
    ),
    "one party": (lambda name: run_of(name, X, Y, ((0, 1, 2, 3, 4),)), "parties has 1 active and 0 passive ones: give"),
    "labels": (
        lambda name: run_of(name, X, Y, family="binomial"),
        "y of 'active' has the value .*: family 'binomial' takes 0 and 1. Families that fit all values: gaussian",
    ),
    "response nan": (lambda name: run_of(name, X, np.where(Y > 2, np.nan, Y)), "y of 'active' has the value nan: fill"),
}
UNPENALISED = {
    "no more records than coefficients": (
        lambda name: run_of(name, X[:6], Y[:6], options={"ridge": 0.0}),
        "n=6 records .* for 6 coefficients: give more records, fewer columns or ridge > 0",
    ),
    "no more weight than coefficients": (
        lambda name: run_of(name, X, Y, options={"ridge": 0.0}, block={"weights": (np.arange(40) < 6) * 1.0}),
        "n=6 records .of positive weight. for 6 coefficients",
    ),
    "null deviance 0": (
        lambda name: run_of(name, X, np.full(40, 3.0)),
        "y is 3 in all records: the null deviance is 0",
    ),
    "all labels one": (
        lambda name: run_of(name, X, np.ones(40), family="binomial"),
        "y has the mean 1, where the link of family 'binomial' is infinite: the null deviance is 0",
    ),
    "negative weight": (
        lambda name: run_of(name, X, Y, block={"weights": np.linspace(-1, 1, 40)}),
        "weights of 'active' lie between -1 and 1: give numbers of at least zero",
    ),
    "offset nan": (
        lambda name: run_of(name, X, Y, block={"offset": np.full(40, np.nan)}),
        "offset of 'active' has the value nan",
    ),
}
CASES = [
    (name, wrong, *WRONG[wrong]) for name in METHODS for wrong in WRONG if not (name in PRIVATE and wrong == "labels")
]
CASES += [(name, wrong, *UNPENALISED[wrong]) for name in OPEN for wrong in UNPENALISED]


@pytest.mark.parametrize(("protocol", "wrong", "made", "words"), CASES, ids=[f"{c[0]}: {c[1]}" for c in CASES])
def test_bad_input_is_named_before_anything_is_sent(protocol, wrong, made, words):
    run = made(protocol)
    with pytest.raises(ValueError, match=words):
        simulate(METHODS[protocol].fit, run)
    assert not run.channel.transcript(), "something was sent"


@pytest.mark.parametrize("protocol", PRIVATE)
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"location": None}, "location=None of the public facts"),
        ({"scale": None}, "scale=None of the public facts"),
        ({"statistic": None}, "statistic=None of the public facts"),
        ({"statistic": pw.Public(np.array([1.0, 1.0]), because="x")}, "statistic=.* is not a range"),
        ({"scale": pw.Public(np.array([1.0, 1, 0, 1, 1]), because="x")}, "scale=0.0 of column 'x2' must be positive"),
        ({"radii": {"passive 1": pw.Public(0.0, because="x")}}, "radii=0.0 of party 'passive 1' must be a positive"),
        ({"radii": {"passive 1": pw.Public(-2.0, because="x")}}, "radii=-2.0 of party 'passive 1'"),
        ({"radii": {"nobody": pw.Public(1.0, because="x")}}, "radii name 'nobody', which is not a party"),
    ],
)
def test_private_protocols_name_the_constant(protocol, changes, words):
    run = run_of(protocol, X, Y, facts=FACTS | changes)
    with pytest.raises(ValueError, match=words):
        simulate(METHODS[protocol].fit, run)
    assert not run.channel.transcript()


@pytest.mark.parametrize(
    ("protocol", "options", "words"),
    [
        ("joint", {"link": "shared", "solver": "newton"}, "link is 'shared': solver must be 'lbfgs'"),
        ("joint", {"ridge": -1.0}, "ridge is -1.0: it must be a finite number of at least 0"),
        ("joint", {"tolerance": 0.0}, "tolerance is 0.0: it must be a positive finite number"),
        ("joint", {"max_iter": 0}, "max_iter is 0"),
        ("joint", {"start": "block"}, "start is 'block': it is read with solver 'lbfgs' only"),
        ("bcd", {"variant": "nonsense"}, "variant is 'nonsense': it must be one of published, corrected"),
        ("bcd", {"ridge": float("nan")}, "ridge is nan"),
        ("reference", {"dispersion": "x"}, "dispersion is 'x'"),
        ("reference", {"alignment": "md5"}, "alignment is 'md5'"),
    ],
)
def test_options_out_of_range_are_named(protocol, options, words):
    with pytest.raises(ValueError, match=words):
        METHODS[protocol].options(**options)


@pytest.mark.parametrize("family", ["poisson", "gamma", "inverse_gaussian"])
def test_noisy_predictor_has_two_families(family):
    X, y = records(family, 40, 5)
    facts = FACTS | {"statistic": pw.Public(np.array([0.0, 5.0]), because="x")}
    run = run_of("noisy_predictor", X, y, family=family, facts=facts)
    with pytest.raises(ValueError, match=f"{family}"):
        simulate(METHODS["noisy_predictor"].fit, run)
    assert not run.channel.transcript()


def test_the_run_of_these_tests_is_a_good_one():
    """So that what they refuse is what was changed."""
    for name in METHODS:
        run = run_of(name, X, Y)
        estimate = simulate(METHODS[name].fit, run)
        assert estimate.coefficients.shape == (6,) and run.channel.transcript(), name


@pytest.mark.parametrize("protocol", METHODS)
def test_identifiers_that_are_not_one_a_record_are_named(protocol):
    run = run_of(protocol, X, Y, facts=FACTS | {"aligned": False}, block={"ids": np.arange(40).astype(str)})
    for place, count in ((1, 40), (2, 39)):
        run = with_block(run, place, ids=np.arange(count).astype(str))
    with pytest.raises(ValueError, match="X of 'passive 2' has 40 rows for 39 identifiers: give each record its own"):
        simulate(METHODS[protocol].fit, run)
    assert not run.channel.transcript()
