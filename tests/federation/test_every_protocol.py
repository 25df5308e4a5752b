"""Every protocol is one program: checked place by place, and with one process a place, it does what it does in one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import every_protocol
from every_protocol import generated, planned
from forked import apart
from partywise.audits.contract import agree, same
from partywise.deployment.session.outcome import Outcome, estimate_of, estimate_places, outcomes, places_ahead
from partywise.experiment.plan import plan
from partywise.experiment.study import available, load
from partywise.experiment.trial import execution, trials
from partywise.federation.place_checks import NobodyHere, estimate_at
from partywise.federation.run import Run, simulate

FITS = list(every_protocol.fits())


def one_of_each_protocol() -> Iterator[Any]:
    """The first method of every protocol of every case; the others are part of `./run test --long`."""
    seen = set()
    for study, case, method in FITS:
        kind = study, case, planned(study).methods[method].protocol.fit
        yield pytest.param((study, case, method), marks=pytest.mark.statistical if kind in seen else [])
        seen.add(kind)


@cache
def plain(study: str, case: str, method: str) -> tuple[Any, Run]:
    """What a protocol does in one process."""
    run = execution(planned(study), case, method, generated(study, case))
    return simulate(planned(study).methods[method].protocol.fit, run), run


@cache
def placed(study: str, case: str, method: str) -> tuple[Any, Run, dict[str, Outcome]]:
    """What it does with the place of every value checked, and what every place holds at the end."""
    run = execution(planned(study), case, method, generated(study, case))
    held = outcomes(planned(study).methods[method].protocol.fit, run)
    return estimate_of(list(held.values())), run, held


@pytest.mark.parametrize("fit", FITS, ids="/".join)
def test_a_protocol_whose_places_are_checked_is_the_simulation(fit):
    expected, reference = plain(*fit)
    estimate, run, _ = placed(*fit)
    agree(reference, expected, run, estimate, "with the place of every value checked")


@pytest.mark.parametrize("fit", list(one_of_each_protocol()), ids="/".join)
def test_a_protocol_whose_places_are_processes_is_the_simulation(fit):
    """Over pipes: transcript and ledger from what all wrote down, the estimate from what each holds at the end."""
    study, case, method = fit
    expected, reference = plain(*fit)
    run = execution(planned(study), case, method, generated(study, case))
    held = apart(planned(study).methods[method].protocol.fit, run)
    agree(reference, expected, run, estimate_of(list(held.values())), "with one process a place")
    reference_held = placed(*fit)[2]
    assert {name: one.digest for name, one in held.items()} == {
        name: one.digest for name, one in reference_held.items()
    }
    # Whoever has the estimate or a part of it has it in its own process, and everybody knows who does.
    ((whole, parts),) = {estimate_places(one.value) for one in held.values()}
    assert {name for name, one in held.items() if estimate_at(one.value, name) is not None} == {*whole, *parts}
    assert all(hasattr(estimate_at(held[name].value, name), "epsilon_claimed") for name in (*whole, *parts))
    assert whole or parts or (study, method) == ("vertical_glm", "shared")


@pytest.mark.parametrize("fit", FITS, ids="/".join)
def test_who_will_have_the_estimate_is_known_before_a_run_but_where_values_steer_it(fit):
    study, case, method = fit
    run = execution(planned(study), case, method, generated(study, case))
    # No line of the program that runs at a place runs here.
    run.parties = tuple(replace(party, block={}) for party in run.parties)
    protocol = planned(study).methods[method].protocol
    try:
        assert places_ahead(protocol.fit, run) == estimate_places(next(iter(placed(*fit)[2].values())).value)
    except NobodyHere:
        steered = (
            ("joint", "bcd", "secret_shared_link", "piecewise", "risk_sets"),
            getattr(run.spec.options, "inference", ""),
        )
        assert protocol.fit.module.rpartition(".")[2] in steered[0] or case == "unaligned" or steered[1] == "ss"


def test_the_fits_cover_every_protocol_of_every_study():
    for study in available():
        used = {planned(study).methods[method].protocol for name, _, method in FITS if name == study}
        assert used == set(load(study).methods.values()), study


def test_a_study_that_these_tests_do_not_name_is_tried_on_its_trials(monkeypatch):
    """Nor need the default configuration have a block of it; the audit has no trials."""
    monkeypatch.setattr(every_protocol, "CASES", {})
    monkeypatch.setattr(every_protocol, "_shipped", dict)
    for study in set(available()) - {"privacy_audit"}:
        made = plan(study, every_protocol.block(study), every_protocol.ROOT_SEED)
        assert set(made.cases) == set(trials(study))
        assert {method.protocol for method in made.methods.values()} >= set(load(study).methods.values())


def garbage(array: np.ndarray) -> np.ndarray:
    """Other values of the same type and shape."""
    if array.dtype.kind == "f":
        return np.full_like(array, np.nan)
    if array.dtype.kind == "b":
        return ~array
    return array + np.ones((), array.dtype) if array.dtype.kind in "iuc" else np.full_like(array, "?")


@pytest.mark.parametrize("fit", FITS, ids="/".join)
def test_an_estimate_depends_on_what_the_blocks_hold(fit):
    """The counterpart: processes without the blocks of others would notice if they needed them."""
    study, case, method = fit
    run = execution(planned(study), case, method, generated(study, case))
    # Parties of their own: those of the data are everybody's.
    run.parties = tuple(
        replace(party, block={key: garbage(array) for key, array in party.block.items()}) for party in run.parties
    )
    with np.errstate(all="ignore"):
        try:
            estimate = simulate(planned(study).methods[method].protocol.fit, run)
        except (ValueError, np.linalg.LinAlgError, ArithmeticError, IndexError):
            return
    assert not same(estimate, plain(*fit)[0])
