"""The assumed secure aggregation: what goes in stays closed, what comes out is released, in every mode."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import numpy as np
import pytest

from fixed import fixed
from forked import in_all_ways
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.federation.cipher import Cipher
from partywise.federation.exchanges.secure_sum import AGGREGATOR, shared_once, sums_of_shares
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.mechanisms.release import announcement
from partywise.privacy.statistics.moments import record_sum, second_moment
from pipeline import ROOT

NAMES = ("sum", "second moment")


def run(**options) -> Run:
    parties = [Party(f"p{k}", "passive", {"x": stream(1, "x", k).standard_normal((30, 2))}, (k,)) for k in range(3)]
    spec, extra = SimpleNamespace(radius=9.0), (AGGREGATOR,)
    return Run(parties, epsilon=1.0, fold=None, rng_for=lambda *n: stream(2, *n), spec=spec, extra=extra, **options)


def local_columns(party):
    return party.block["x"]


def noisy(columns, radius, rng_for):
    joint = np.concatenate(columns, axis=1)
    made = record_sum(joint, fixed(radius)), second_moment(joint, fixed(radius))
    return tuple(
        Gaussian(mu=1.0)(bounded, rng_for(name), owner=AGGREGATOR, release_id=name, trust_model="central")
        for bounded, name in zip(made, NAMES, strict=True)
    )


def told(radius):
    """What the noise will cost, from the number of records and columns alone."""
    made = record_sum(np.zeros((30, 4)), fixed(radius)), second_moment(np.zeros((30, 4)), fixed(radius))
    return [
        announcement(bounded.certificate, {"mu": 1.0}, "gaussian", name, trust_model="central")
        for bounded, name in zip(made, NAMES, strict=True)
    ]


def program(run):
    receiver, *holders = run.parties
    run.charge(holders, *told(run.spec.radius))
    inputs = [(holders, "columns in shares", local_columns, ())]
    sums = sums_of_shares(run, shared_once(run, inputs), receiver, NAMES, noisy, run.spec.radius, run.rng_for)
    return run.at(receiver.name, lambda rows: rows[0], sums)


def test_the_sums_of_all_columns_come_out_and_nothing_else():
    one = run(record=True)
    total, second = simulate(program, one)
    joint = np.concatenate([party.block["x"] for party in one.parties[1:]], axis=1)
    drawn = [stream(2, name).standard_normal(shape) for name, shape in zip(NAMES, (4, (4, 4)), strict=True)]
    assert np.allclose(total, joint.sum(0) + 2 * 9.0 * drawn[0], rtol=0, atol=1e-9)
    assert second.shape == (4, 4) and not np.allclose(second, joint.T @ joint, rtol=0.01)
    assert [name for name in (message.name for message, _ in one.channel.view("p0"))] == list(NAMES)
    shares = [value for _, value in one.channel.view(AGGREGATOR)]
    assert len(shares) == 2 and all(isinstance(share, Cipher) for share in shares)
    for who in ("p0", AGGREGATOR):
        with pytest.raises(CertificationError, match="only 'no single party' can decrypt"):
            shares[0].decrypt(who)
    # The ledger: what went in closed, against which nothing is proved to the aggregator, and its two releases.
    closed, opened = one.channel.ledger.rows[:2], one.channel.ledger.rows[2:]
    assert [(row.mechanism, row.knows) for row in closed] == [("cipher", (AGGREGATOR,))] * 2
    assert [(row.release_id, row.trust_model) for row in opened] == [(n, "central") for n in NAMES]
    assert one.channel.ledger.total(AGGREGATOR, "features", 1e-5).epsilon_certified == np.inf
    assert one.channel.ledger.total("p0", "features", 1e-5).epsilon_certified < np.inf


def test_the_exchange_is_one_program():
    in_all_ways(program, run)


def opening(path) -> set[str]:
    """Functions of a file that open a cipher; those that call the exchange `paillier.decrypt` leave it to that one."""
    text = path.read_text(encoding="utf-8")
    if ".decrypt" not in text and ".content" not in text:
        return set()
    tree = ast.parse(text)
    return {
        function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and node.attr in ("decrypt", "content")
        and not (isinstance(node.value, ast.Name) and node.value.id == "paillier")
    }


def test_only_exchanges_those_who_carry_ciphers_and_the_observer_of_a_simulation_look_into_one():
    library = ROOT / "lib" / "partywise"
    found = {path.relative_to(library).as_posix(): opening(path) for path in library.rglob("*.py")}
    carriers = ("federation/cipher.py", "federation/payloads.py", "federation/codec.py")
    others = {path: names for path, names in found.items() if names and path not in carriers}
    # Who replays releases has the keys that were made in the simulation.
    assert others.pop("audits/replay.py") == {"draw"}
    # What is sealed between two parties of a relay is a frame, whatever it holds.
    assert others.pop("deployment/wire/relay.py") == {"open"}
    # The content of a message of Flower's is no cipher of ours.
    assert others.pop("methods/filters/adapters.py") == {"flower_mod", "mod"}
    # A closed statistic asks its ciphers whose they are, and opens none.
    assert others.pop("privacy/statistics/encrypted_integers.py") == {"foreign_parts"}
    assert others["federation/exchanges/secure_sum.py"] == {"assumed_releases"}
    rooms = {path.rpartition("/")[0] for path in others}
    assert rooms == {f"federation/exchanges{room}" for room in ("", "/homomorphic", "/column_sums", "/masks")}
