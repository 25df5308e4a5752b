"""Every protocol is one program: checked place by place, and with one process a place, it does what it does in one."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import every_protocol
from every_protocol import execution, generated, planned
from forked import checked, forked
from partywise.audits.contract import agree
from partywise.federation.run import Run, simulate

FITS = list(every_protocol.fits())


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
    agree(reference, expected, run, estimate, how.__name__)
