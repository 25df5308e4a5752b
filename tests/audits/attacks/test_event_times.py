"""What systems of survival analysis send gives times and covariates of single records; certified releases do not."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.audits.attacks.event_times import read_curve, read_difference, read_seeded_poisson, read_sums
from partywise.methods.survival import exact
from partywise.methods.survival.models import STRONG, Weibull
from partywise.methods.survival.options import NoisedTimesOptions, RiskSetsOptions
from partywise.methods.survival.protocols import noised_times, risk_sets
from partywise.methods.survival.protocols.newton_sums import unpack_sums
from partywise.methods.survival.published.noised_times import add_noise
from partywise.methods.survival.records import SurvivalRecords
from partywise.models.standardise import scaling_of
from survival_driver import fit, scaled


@pytest.fixture(scope="module")
def records() -> SurvivalRecords:
    """Times in whole days up to 1,000, where follow-up ends."""
    drawn = scaled(Weibull(coefficients=tuple(b / 2 for b in STRONG)), 240, seed=41)
    return SurvivalRecords(np.ceil(drawn.times * 500), drawn.events, drawn.covariates)


def sent(program, records: SurvivalRecords, options, name: str) -> list[np.ndarray]:
    """What each client sent to the server under a name."""
    run = fit(program, records, options, horizon=1000.0, record=True).run
    return [payload.value for payload in run.received("server", name)]


def test_differences_of_the_sums_of_a_client_are_its_records(records):
    options = RiskSetsOptions(ties="breslow")
    opened = [unpack_sums(sums, 6) for sums in sent(risk_sets.fit, records, options, "sums 0")]
    seen = exact.event_times(records)
    # Whoever has the sums has the centres and scales that they are of.
    standardised = scaling_of(records.covariates).apply(records.covariates)
    read = [read_sums(seen, sums.zeroth, sums.first) for sums in opened]
    count = sum(len(one.covariates) for one in read)
    assert count > 60, "the attack finds too little to be one"
    for one in read:
        for row, (low, high) in zip(one.covariates, one.between, strict=True):
            near = np.abs(standardised - row).max(axis=1) < 1e-9
            assert (near & (records.times >= low) & (records.times < high)).any()


def test_two_tables_tell_the_person_by_whom_they_differ(records):
    """A secret seed, the same in both calls: the earlier rows draw the same noise."""
    correct = 0
    for place in range(200, 240):

        def table(rows: int) -> np.ndarray:
            times = add_noise(records.times[:rows], "poisson", 987654321)
            union = np.unique(times)
            events = np.array([((times == u) & records.events[:rows]).sum() for u in union])
            censored = np.array([((times == u) & ~records.events[:rows]).sum() for u in union])
            return np.column_stack([union, events, censored])

        read = read_difference(table(place), table(place + 1))
        assert read is not None and read.event == records.events[place]
        true = add_noise(records.times[: place + 1], "poisson", 987654321)[place]
        correct += read.time == true
    assert correct == 40
    assert read_difference(table(200), table(203)) is None


def test_a_printed_curve_gives_the_numbers_behind_it(records):
    few = SurvivalRecords(records.times[:120], records.events[:120])
    known = exact.event_table(few, exact.event_times(few))
    printed = np.round(exact.kaplan_meier(known).values, 5)
    found = read_curve(printed, 120, 5)
    right = sum(pair == (r, d) for pair, r, d in zip(found, known.at_risk, known.events, strict=True))
    assert right >= 0.95 * len(known.times)
    assert read_curve(np.array([0.9999]), 20, 4) == []


def test_draws_of_a_known_seed_give_the_true_times(records):
    rows = records.times[:8]
    read = read_seeded_poisson(add_noise(rows, "poisson", 0), 0)
    assert read.holds(rows).all() and np.mean([len(own) for own in read.possible]) < 2
    # Another seed leads nowhere.
    assert read_seeded_poisson(add_noise(rows, "poisson", 1), 0).holds(rows).mean() < 0.5


def test_a_client_of_the_published_protocol_sends_what_the_attack_takes(records):
    first = sent(noised_times.fit, records, NoisedTimesOptions(), "times")
    rows = np.array_split(np.arange(240), 3)
    for number, own in enumerate(rows):
        assert set(first[number]) == set(add_noise(records.times[own], "poisson", 0))
