"""A run whose secrets come from the operating system: other bytes every time, public draws as the seed has them."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.stats import chisquare

import partywise as pw
from partywise.core.errors import CertificationError
from partywise.core.randomness import SimulationRandom, Streams
from partywise.federation.secure_streams import PUBLIC_DRAWS, SecureStreams, addresses_of
from partywise.privacy.mechanisms.random import RunRandom, SecureRandom, charge_to
from partywise.privacy.payer import PAID

EDGES, BOUNDS = [np.linspace(-2, 2, 7)] * 4, [(-3.0, 3.0)] * 4


@pytest.fixture(autouse=True)
def short_keys(monkeypatch):
    monkeypatch.setattr("partywise.core.checks.LEAST_KEY_SIZE", 512)


def data():
    rng = pw.stream(1, "secure streams")
    X = rng.normal(size=(150, 4))
    return X, (X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=150) > 0).astype(float)


def fitted(protocol: str, epsilon=None, seed: int = 1, **options):
    model = pw.VerticalBoosting(protocol, epsilon=epsilon, public_edges=EDGES, public_bounds=BOUNDS, **options)
    X, y = data()
    return model.fit(X, y, rng=pw.SecureStreams(seed)), X


def test_addresses_of_secrets_are_secure_and_those_of_public_draws_repeat():
    secure, plain = SecureStreams(3), addresses_of(3)
    for name in ("encryption", "key", "shares", "noise", "noised codes", "gradient randomness"):
        assert isinstance(secure(name, "active", 1), SecureRandom)
        assert isinstance(plain(name, "active", 1), SimulationRandom)
    for name in PUBLIC_DRAWS:
        assert secure(name, 1).integers(2**62) == plain(name, 1).integers(2**62)
    assert addresses_of(secure) is secure and isinstance(addresses_of(3), Streams)
    with pytest.raises(TypeError, match="must be an integer seed"):
        SecureStreams("3")


def test_encrypted_training_grows_the_same_trees_by_other_ciphertexts():
    options = {"key_size": 512, "num_of_trees": 2, "n_bins": 6, "feature_subsample_ratio": 0.5}
    (one, X), (other, _) = (fitted("label_scattering", **options) for _ in range(2))
    np.testing.assert_array_equal(one.ensemble_.scores(X), other.ensemble_.scores(X))
    assert one.transcript_ == other.transcript_
    drawn = fitted("label_scattering", seed=2, **options)[0]
    assert not np.array_equal(one.ensemble_.scores(X), drawn.ensemble_.scores(X))


@pytest.mark.parametrize("protocol, options", [
    ("tables", {"key_size": 512}), ("local_tables", {}), ("feature_gathering", {"protect": "dp"}),
    ("feature_gathering", {"protect": "op_boost", "budget": "record"}),
])  # fmt: skip
def test_certified_training_releases_secure_noise(protocol, options):
    (one, _), (other, _) = (fitted(protocol, epsilon=4.0, **options) for _ in range(2))
    for model in (one, other):
        pw.Ledger(model.ledger_.rows).worst_total(("active",), "features", 1e-5)
        certified = [row for row in model.ledger_.rows if row.mechanism not in ("none", "cipher", "post_processing")]
        assert certified and {row.sampler for row in certified} == {"secure"}
        assert model.privacy_.epsilon_certified <= 4.0
    digests = [{row.noise_digest for row in model.ledger_.rows if row.noise_digest} for model in (one, other)]
    assert not digests[0] & digests[1]


def test_streams_of_a_run_repeat_with_its_key_alone_and_each_address_has_its_own_words():
    """What an address draws first, and second, is the same in another process; no two sources have a word in common."""
    drawn = []
    for key in (b"k" * 32, b"k" * 32, b"l" * 32):
        streams = SecureStreams(3).of_run(key)
        sources = [streams("noise", "p1"), streams("noise", "p1"), streams("noise", "p2"), streams("keys", 1)]
        drawn.append([source.uint64(8) for source in sources] + [source.uint64(8) for source in sources])
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert len(np.unique(np.concatenate([*drawn[0], *drawn[2]]))) == 2 * 64
    paid = SecureStreams(3).of_run(b"k" * 32)
    first = paid("noise", "p1").uint64(8)
    # Whoever else pays, an address goes on where it was.
    second = paid.charge_to(PAID)("noise", "p1").uint64(8)
    np.testing.assert_array_equal([first, second], drawn[0][:2])


def test_words_of_a_run_are_uniform_and_a_forked_process_has_none():
    source = RunRandom(b"k" * 32)
    counts = np.bincount(np.frombuffer(source.uint64(2**16).tobytes(), np.uint8), minlength=256)
    assert chisquare(counts).pvalue > 1e-4
    copied = charge_to(source, PAID)
    assert not np.array_equal(copied.uint64(4), source.uint64(4))
    pid = os.fork()
    if pid == 0:
        try:
            source.uint64(1)
        except CertificationError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    with pytest.raises(ValueError, match="a key of 31 bytes is too short"):
        RunRandom(b"k" * 31)
