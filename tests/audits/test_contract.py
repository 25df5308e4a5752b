"""The contract of a protocol: what keeps it passes all checks, and each breach fails the check that is for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from partywise.audits.contract import Subject, changed_records, check_neighbours, contract_violations, same
from partywise.core.errors import ContractError
from partywise.core.randomness import stream
from partywise.federation.parties import Party, split_rows
from partywise.federation.run import Run
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.statistics.moments import record_sum

N = 90


@dataclass(frozen=True)
class Estimate:
    theta: np.ndarray
    epsilon_claimed: float


def local_sum(client, spec, rng_for):
    limit = Public(3.0, because="an option")
    bounded = record_sum(client.block["x"], limit, unit="row", stratum=f"clients/{client.name}")
    mechanism = Gaussian(sigma=0.0) if spec.silent else Gaussian(mu=1.0)
    return mechanism(bounded, rng_for("sum", client.name), owner=client.name, release_id=f"sum of {client.name}")


def server_mean(sums, spec):
    return Estimate(np.sum(sums, axis=0) / N, 4.0)


def fit(run):
    sums = run.gather(run.parties, "server", "sum", local_sum, run.spec, run.rng_for)
    return run.at("server", server_mean, sums, run.spec)


def reading_a_block(run):
    estimate = fit(run)
    assert len(run.parties[0].block["x"])
    return estimate


def released(client, spec, rng, name="sum"):
    bounded = record_sum(
        client.block["x"], Public(3.0, because="an option"), unit="row", stratum=f"clients/{client.name}"
    )
    return Gaussian(mu=1.0)(bounded, rng, owner=client.name, release_id=f"{name} of {client.name}"), bounded.value


def of_a_constant_seed(client, spec, rng_for):
    return released(client, spec, stream(7, "always", client.name))[0]


def with_less_noise(client, spec, rng_for):
    release, truth = released(client, spec, rng_for("sum", client.name))
    return release.post_process(lambda noisy: truth + (noisy - truth) / 20)


def with_low_digits(client, spec, rng_for):
    release, truth = released(client, spec, rng_for("sum", client.name))
    return release.post_process(lambda noisy: noisy + truth * 1e-9)


def mean_of_two_draws(client, spec, rng_for):
    release, _ = released(client, spec, rng_for("sum", client.name))
    second, _ = released(client, spec, rng_for("second", client.name), "second")
    return release.post_process(lambda noisy: (noisy + second.value) / 2)


def least_of_ten_draws(client, spec, rng_for):
    made = [released(client, spec, rng_for("draw", number), f"draw {number}") for number in range(10)]
    return min(made, key=lambda drawn: float(np.sum((drawn[0].value - drawn[1]) ** 2)))[0]


def until_it_is_near(client, spec, rng_for):
    rng = rng_for("sum", client.name)
    while True:
        release, truth = released(client, spec, rng)
        if np.all(np.abs(release.value - truth) < 4.0):
            return release


def two_draws_of_one_name(client, spec, rng_for):
    release, _ = released(client, spec, rng_for("sum", client.name))
    second, _ = released(client, spec, rng_for("second", client.name))
    return release.post_process(lambda noisy: (noisy + second.value) / 2)


def limit_from_a_draw(client, spec, rng_for):
    first, _ = released(client, spec, rng_for("first", client.name), "first")
    limit = Public(float(np.abs(first.value).max()), because="a release has it")
    bounded = record_sum(client.block["x"], limit, unit="row", stratum=f"clients/{client.name}")
    return Gaussian(mu=1.0)(bounded, rng_for("sum", client.name), owner=client.name, release_id="sum " + client.name)


def sending(local):
    def fit(run):
        sums = run.gather(run.parties, "server", "sum", local, run.spec, run.rng_for)
        return run.at("server", server_mean, sums, run.spec)

    return fit


@pytest.mark.parametrize(
    ("local", "reason"),
    [
        (of_a_constant_seed, "sum of client 0 has the same noise for another seed"),
        (with_less_noise, "'sum' from client . to server is made of more than the releases"),
        (with_low_digits, "'sum' from client . to server is made of more than the releases"),
        (mean_of_two_draws, "second of client 0 .* no row of the ledger pays for it, and 'sum' .* is made of it"),
        (least_of_ten_draws, "draw . of client . .* no row of the ledger|other messages cross: .*draw . of client"),
        (until_it_is_near, "sum of client . .* no row|makes a release by gaussian more"),
        (two_draws_of_one_name, "sum of client 0 .* no row of the ledger pays for it, and 'sum' .* is made of it"),
        (limit_from_a_draw, "first of client 0 .* no row .* sum client . is another release with another draw"),
    ],
)
def test_noise_that_is_false_fails_the_replay(local, reason):
    with pytest.raises(ContractError, match=reason):
        check_neighbours(replace(SUBJECT, fit=sending(local)), ["row"], 3, 1)


def test_a_draw_that_nothing_is_made_of_needs_no_row():
    """What an experimenter draws for itself, and sends nobody."""

    def with_another(client, spec, rng_for):
        released(client, spec, rng_for("second", client.name), "second")
        return released(client, spec, rng_for("sum", client.name))[0]

    assert np.isfinite(check_neighbours(replace(SUBJECT, fit=sending(with_another)), ["row"], 3, 1)["row"])


DRAWN = count()


def local_sum_of_no_address(client, spec, rng_for):
    return local_sum(client, spec, lambda *names: stream(next(DRAWN), *names))


def without_addresses(run):
    sums = run.gather(run.parties, "server", "sum", local_sum_of_no_address, run.spec, run.rng_for)
    return run.at("server", server_mean, sums, run.spec)


def without_a_claim(run):
    sums = run.gather(run.parties, "server", "sum", local_sum, run.spec, run.rng_for)
    return run.at("server", lambda sums: Estimate(np.sum(sums, axis=0) / N, None), sums)


def claiming_no_number(run):
    sums = run.gather(run.parties, "server", "sum", local_sum, run.spec, run.rng_for)
    return run.at("server", lambda sums: Estimate(np.sum(sums, axis=0) / N, float("nan")), sums)


def local_records(client):
    return Clear(client.block["x"], units=("row",))


def sending_records(run):
    run.gather(run.parties, "server", "records", local_records)
    return claiming_no_number(run)


def server_mean_of_first(sums, spec):
    return Estimate(sums[0] / N, 4.0)


def one_client_forgotten(run):
    sums = run.gather(run.parties, "server", "sum", local_sum, run.spec, run.rng_for)
    return run.at("server", server_mean_of_first, sums, run.spec)


def local_largest(client):
    return Public(float(np.abs(client.block["x"]).max()), because="it looks harmless")


def largest_in_public(run):
    run.gather(run.parties, "server", "largest", local_largest)
    return fit(run)


def data(seed):
    return stream(seed, "x").standard_normal((N, 2))


def start(x, seed, clients=3, silent=False):
    parties = [Party(f"client {k}", "client", {"x": x[rows]}) for k, rows in enumerate(split_rows(N, clients))]
    spec = SimpleNamespace(silent=silent)
    options = {"epsilon": 1.0, "fold": None, "spec": spec, "extra": ("server",), "record": True}
    return Run(parties, rng_for=lambda *names: stream(seed, *names), **options)


def neighbours(x, unit, pairs, seed):
    for name, x2, _ in changed_records(x, np.zeros(N), unit, pairs, stream(seed, "neighbours")):
        yield name, x2


SUBJECT = Subject(
    fit, data, start, neighbours, 1e-5, silent=lambda x, clients: start(x, 0, clients, silent=True), parties=(1, 2, 5)
)


def test_a_protocol_that_keeps_the_contract_passes_all_checks():
    assert contract_violations(SUBJECT) == {}


def test_nan_is_a_claim_of_nothing_where_nothing_is_certified():
    """A source may claim no number; what is certified has one."""
    assert "epsilon_claimed=nan" in contract_violations(replace(SUBJECT, fit=claiming_no_number))["ledger"]
    assert "ledger" not in contract_violations(replace(SUBJECT, fit=sending_records))


@pytest.mark.parametrize(
    ("program", "check", "reason"),
    [
        (reading_a_block, "places", "PlaceError: the program itself reads the block of client 0"),
        (without_addresses, "ledger", "is another run again with the same seed"),
        (without_a_claim, "ledger", "epsilon_claimed=None of the estimate: give the epsilon"),
        (one_client_forgotten, "federation equals pooling", "2 parties and 1 differ by .* without noise"),
        (largest_in_public, "record and replay", "'largest' from client 2 to server is not free of features"),
    ],
)
def test_a_broken_contract_is_told_by_the_check_for_it(program, check, reason):
    found = contract_violations(replace(SUBJECT, fit=program))
    assert re.search(reason, found[check])


@pytest.mark.parametrize("unit", ["label", "features", "row"])
def test_a_neighbour_differs_in_one_record_and_in_what_its_unit_allows(unit):
    x, y = data(1), stream(1, "y").standard_normal(N)
    found = list(changed_records(x, y, unit, 20, stream(2, "neighbours")))
    assert len(found) == 20 and len({name for name, *_ in found}) == 20
    for _, x2, y2 in found:
        moved = np.any(x != x2, axis=1), y != y2
        assert moved[0].sum() <= (unit != "label") and moved[1].sum() <= (unit != "features")
        assert moved[0].any() or moved[1].any()


def test_same_compares_bytes_and_types():
    estimate = Estimate(np.array([0.0, np.nan]), 1.0)
    assert same(estimate, Estimate(np.array([0.0, np.nan]), 1.0))
    for other in (Estimate(np.array([-0.0, np.nan]), 1.0), Estimate(np.array([0.0, np.nan]), 1), (estimate,)):
        assert not same(estimate, other)
