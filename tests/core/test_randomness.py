"""Streams by address."""

import copy
import hashlib
import itertools
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from partywise.core.randomness import SimulationRandom, stream

LIBRARY = str(Path(__file__).parents[1] / "lib")


def draw(*address):
    return tuple(stream(*address).integers(0, 2**63, 4))


def test_the_same_address_gives_the_same_stream():
    assert draw(7, "noise", 3) == draw(7, "noise", 3)
    assert draw(7, "noise", np.int64(3)) == draw(np.int64(7), "noise", 3)


def test_different_addresses_give_different_streams():
    addresses = [
        (7, "noise"),
        (8, "noise"),
        (7, "noise", 0),
        (7, "noise", 0, 0),
        (7, "noise", "0"),
        (7, 0, "noise"),
        (7, "noi", "se"),
        (7, "nois", "e"),
        (7, "noise", ""),
        (7, -1),
        (7, 1),
        (7, "s"),
        (7, "é"),
    ]
    for one, other in itertools.combinations(addresses, 2):
        assert draw(*one) != draw(*other), (one, other)


def test_the_generator_is_pcg64dxsm_and_its_draws_never_change():
    assert isinstance(stream(1, "a").bit_generator, np.random.PCG64DXSM)
    program = "from partywise.core.randomness import stream; print(stream(1, 'a', 2).integers(0, 2**63, 3).tolist())"
    fresh = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONPATH": LIBRARY}
    )
    assert fresh.stdout.strip() == str(stream(1, "a", 2).integers(0, 2**63, 3).tolist())


def test_streams_of_neighbouring_addresses_are_uncorrelated():
    draws = np.array([stream(0, "replicate", k).standard_normal(4000) for k in range(40)])
    correlations = np.corrcoef(draws)[np.triu_indices(40, 1)]
    assert np.max(np.abs(correlations)) < 6.5 / np.sqrt(4000)


@pytest.mark.parametrize("name", [1.0, True, None, ("a",), b"a", np.bool_(True)])
def test_names_of_another_type_are_refused(name):
    with pytest.raises(TypeError, match="names of a stream"):
        stream(0, name)


@pytest.mark.parametrize("root", [1.5, True, [7, 0], "7"])
def test_roots_of_another_type_are_refused(root):
    with pytest.raises(TypeError, match="root="):
        stream(root, "a")


def test_a_negative_root_and_an_empty_address_are_refused():
    with pytest.raises(ValueError, match="root=-1"):
        stream(-1, "a")
    with pytest.raises(ValueError, match="at least one name"):
        stream(0)


def test_a_stream_is_a_simulation_source_and_draws_what_a_plain_generator_draws():
    assert type(stream(7, "noise", 3)) is SimulationRandom
    digest = hashlib.sha256(b"s" + (5).to_bytes(8, "big") + b"noise" + b"i" + (1).to_bytes(8, "big") + b"3").digest()
    key = tuple(np.frombuffer(digest, dtype=">u4").tolist())
    plain = np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(7, spawn_key=key)))
    ours = SimulationRandom(7, "noise", 3)
    assert np.array_equal(ours.integers(0, 2**63, 5), plain.integers(0, 2**63, 5))
    assert np.array_equal(ours.standard_normal(5), plain.standard_normal(5))
    assert np.array_equal(ours.permutation(20), plain.permutation(20))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda rng: pickle.loads(pickle.dumps(rng))], ids=["deep", "pickle"])
def test_copies_go_on_from_the_state_of_the_original(copied):
    original = stream(7, "noise")
    original.random(3)
    twin = copied(original)
    assert type(twin) is SimulationRandom
    assert np.array_equal(twin.random(4), original.random(4))
    twin.random()
    assert twin.random() != original.random()


def test_children_without_an_address_are_refused():
    with pytest.raises(TypeError, match="one more name"):
        stream(7, "noise").spawn(2)


def test_a_simulation_source_checks_its_address():
    with pytest.raises(TypeError, match="root="):
        SimulationRandom([7, 0], "noise")
    with pytest.raises(ValueError, match="at least one name"):
        SimulationRandom(7)
