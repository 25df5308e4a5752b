"""Functional protocols do the same in one process, checked place by place, and with one process a place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any

import pytest

from forked import checked, forked
from functional_methods import METHODS
from partywise.audits.contract import same
from partywise.methods.functional.options import CurveMomentsOptions, LocalOptions, RoundwiseOptions
from partywise.studies.functional_boosting.study import STUDY
from protocol_driver import execution, protocol_of, run

# Options whose every value goes another way through a protocol, and those values.
WAYS = {
    LocalOptions: {
        "learner": ("predictor", "party"),
        "noise": ("local", "none"),
        "s_mode": ("fixed", "sqrt_j", "calibrated"),
        "calibration": ("exact", "classic"),
        "radius": ("public", "dp_quantile", "quantile"),
        "geometry": ("orthonormal", "gram"),
        "coordinates": ("orthonormal", "raw"),
        "release": ("once", "per_fit"),
    },
    RoundwiseOptions: {"learner": ("predictor", "party"), "memory": ("last", "mean"), "radius": ("public", "quantile")},
    CurveMomentsOptions: {"learner": ("predictor", "party"), "margin": ("noise", "none")},
}


@cache
def plain(name):
    options, parties, epsilon = METHODS[name]
    return run(options, parties=parties, epsilon=epsilon)


def ways_to_run() -> Iterator[Any]:
    """With processes, which have nothing of each other, the methods that take a way of `WAYS` that none before took.

    The others are checked place by place, and with processes in `./run test --long`.
    """
    taken: set[Any] = set()
    for name, (options, _, _) in METHODS.items():
        new = {(type(options), key, getattr(options, key)) for key in WAYS.get(type(options), {})} or {type(options)}
        if new <= taken:
            yield pytest.param(name, checked)
        yield pytest.param(name, forked, marks=pytest.mark.statistical if new <= taken else [])
        taken |= new


@pytest.mark.parametrize(("name", "how"), list(ways_to_run()))
def test_a_functional_protocol_is_one_program(name, how):
    options, parties, epsilon = METHODS[name]
    other = execution(options, parties=parties, epsilon=epsilon)
    estimate = how(protocol_of(options), other)
    assert other.channel.transcript() == plain(name).channel.transcript()
    assert other.channel.ledger.digest == plain(name).channel.ledger.digest
    assert same(estimate, plain(name).estimate)


def test_the_methods_go_every_way():
    used = [options for options, _, _ in METHODS.values()]
    assert {type(options) for options in used} == {method.options for method in STUDY.methods.values()}
    for kind, ways in WAYS.items():
        for name, values in ways.items():
            assert {getattr(options, name) for options in used if isinstance(options, kind)} >= set(values), name
        assert set(ways) <= {entry.name for entry in fields(kind)}
