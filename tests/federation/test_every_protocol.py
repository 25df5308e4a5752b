"""Every protocol is one program: checked place by place, and with one process a place, it does what it does in one."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import every_protocol
from every_protocol import execution, generated, planned, same
from forked import forked
from partywise.federation.placed import PlacedRun, together
from partywise.federation.run import Run, simulate

# Studies whose protocols are not written with the verbs of a run yet.
AWAITED = ("functional_boosting",)
FITS = [fit for fit in every_protocol.fits() if fit[0] not in AWAITED]


def checked(fit: Any, run: Run) -> Any:
    """The estimate of a program whose values are all checked for their place."""
    return together([fit(PlacedRun(run))])


@cache
def plain(study: str, case: str, method: str) -> tuple[Any, Run]:
    """What a protocol does in one process."""
    run = execution(planned(study), case, method, generated(study, case))
    return simulate(planned(study).methods[method].protocol.fit, run), run


@pytest.mark.parametrize("how", [checked, forked])
@pytest.mark.parametrize("fit", FITS, ids="/".join)
def test_all_ways_to_run_a_protocol_are_one(fit, how):
    study, case, method = fit
    expected, reference = plain(*fit)
    run = execution(planned(study), case, method, generated(study, case))
    estimate = how(planned(study).methods[method].protocol.fit, run)
    assert run.channel.transcript() == reference.channel.transcript()
    assert run.channel.ledger.digest == reference.channel.ledger.digest
    assert same(estimate, expected)
