"""Checks that a protocol over a network is its simulation, and that no party opens the file of another."""

from __future__ import annotations

from every_protocol import generated, planned
from networked import Networked
from partywise.audits.contract import agree
from partywise.deployment.session.outcome import estimate_of, outcomes
from partywise.experiment.trial import execution
from partywise.federation.run import Run, simulate

Fit = tuple[str, str, str]


def started(study: str, case: str, method: str) -> Run:
    """A run of a small case, not used yet."""
    return execution(planned(study), case, method, generated(study, case))


def names_of(fits: list[Fit]) -> tuple[str, ...]:
    """Everyone on the channels of several fits."""
    return tuple(sorted({name for fit in fits for name in started(*fit).names}))


def check_networked(networked: Networked, study: str, case: str, method: str, peeping: bool = False) -> None:
    """Transcript, union of the accounts, what each holds and the estimate are the simulation's; files are its own."""
    reference, fit = started(study, case, method), planned(study).methods[method].protocol.fit
    expected = simulate(fit, reference)
    run = started(study, case, method)
    held, files = networked.apart(study, case, method, run, peeping)
    agree(reference, expected, run, estimate_of(list(held.values())), "over a network")
    simulated = outcomes(fit, started(study, case, method))
    assert {name: one.digest for name, one in held.items()} == {name: one.digest for name, one in simulated.items()}
    holders = [party.name for party in run.parties]
    for name in run.names:
        own = {"public.pickle", f"{name}.jsonl"} | ({f"{name}.block"} if name in holders else set())
        opened = {file.rpartition("/")[2] for file in files[name] if f"/run {networked.runs}/" in file}
        assert opened == own, f"{name} opened {sorted(opened)}"
        assert {file.rpartition("/")[2] for file in files[name] if file.endswith(".key")} <= {f"{name}.key"}
