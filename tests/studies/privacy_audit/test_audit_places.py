"""The protocol of the audit is one program: for every claim, place by place and in processes as in one process."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from forked import forked
from partywise.audits.contract import same
from partywise.experiment.claims import all_claims
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan
from partywise.experiment.trial import execution
from partywise.federation.place_checks import PlacedRun, together
from partywise.federation.run import Run, simulate
from partywise.studies.privacy_audit.protocol import fit

OPTIONS = {"protocol": "audit", "draws": 1000, "trials": 2, "canaries": 20}
SMALL = {"n": 120}
OWNERS = {"budget": 3}
# Its table is downloaded; its mechanism is that of the other tracing case.
DOWNLOADED = {"body_fat"}
# The world that is sent where it is not the first: the printed formula fails on ordinary data.
WORLD = {("printed_covariance", "published"): 2}
# The printed covariance has no root: what would be sent is NaN, which processes refuse to send.
NO_NUMBER = {("printed_covariance", "published")}
CASES = [
    (name, variant)
    for name, claim in all_claims().items()
    for variant, form in (("published", claim.published), ("corrected", claim.correction))
    if form is not None and name not in DOWNLOADED
]


@cache
def planned(name: str, variant: str) -> Plan:
    grid = {"methods": [variant], "replicates": 1, "parties": [OWNERS.get(name, 1)], "folds": 1, "epsilon": [1.0]}
    cases = {"one": {"source": name, "settings": SMALL, "grid": grid}}
    return plan("privacy_audit", {"methods": {variant: OPTIONS | {"variant": variant}}, "cases": cases}, 3)


@cache
def data(name: str) -> Any:
    return generate(planned(name, "published"), "one", [0], "resources")[0]


def run(name: str, variant: str) -> Run:
    return execution(planned(name, variant), "one", variant, data(name))


@cache
def plain(name: str, variant: str) -> tuple[Any, Run]:
    made = run(name, variant)
    return simulate(fit, made), made


def checked(program: Any, made: Run) -> Any:
    return together([program(PlacedRun(made))])


# All claims checked; with processes every fourth and the one that refuses, all in `./run test --long`.
WAYS = [(*case, checked) for case in CASES] + [
    pytest.param(*case, forked, marks=pytest.mark.statistical if number % 4 and case not in NO_NUMBER else [])
    for number, case in enumerate(CASES)
]


@pytest.mark.parametrize(("name", "variant", "how"), WAYS)
def test_all_ways_to_audit_a_claim_are_one(name, variant, how):
    expected, reference = plain(name, variant)
    made = run(name, variant)
    if how is forked and (name, variant) in NO_NUMBER:
        with pytest.raises(AssertionError, match="does not leave: it holds a number that is not finite"):
            forked(fit, made)
        return
    assert same(how(fit, made), expected)
    assert made.channel.transcript() == reference.channel.transcript()
    assert made.channel.ledger.digest == reference.channel.ledger.digest


def test_what_is_sent_depends_on_one_data_set_alone():
    """The other three are what the experimenter compares it with."""
    for name, variant in CASES:
        own = WORLD.get((name, variant), 0)
        there = data(name)
        others = np.arange(4) != own
        other = replace(there, x=there.x.copy(), y=there.y.copy())
        other.x[others], other.y[others] = 0.5, 0.0
        sent = []
        for given in (there, other):
            made = execution(planned(name, variant), "one", variant, given)
            simulate(fit, made)
            sent.append(made.channel.ledger.digest)
        assert sent[0] == sent[1], (name, variant)
