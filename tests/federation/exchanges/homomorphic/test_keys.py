"""One place draws a key: it alone opens what others close, and only the public half crosses."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from forked import checked, forked
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.federation.exchanges.homomorphic.paillier import decrypt, encrypt
from partywise.federation.exchanges.homomorphic.paillier_keys import PublicKey, drawn_key, generate_key, shared_key
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.privacy.accounted_values import Clear

OPTIONS = SimpleNamespace(key_size=256, full_exponents=False)
KINDS = ("paillier", "sized")


def run(kind: str) -> Run:
    holders = [Party(f"p{k}", "passive", {"x": np.array([k - 1, 5 * k])}, (k,)) for k in range(3)]
    return Run(
        holders,
        epsilon=1.0,
        fold=None,
        rng_for=lambda *names: stream(8, *names),
        spec=SimpleNamespace(kind=kind),
        extra=("server",),
        record=True,
    )


def local_closed(party, public, rng_for):
    closed = encrypt(public, party.block["x"], rng_for("closed", party.name), key_holder="server")
    return Clear(closed, units=("features",))


def opened(private, ciphers):
    return [decrypt(private, cipher) for cipher in ciphers]


def program(run):
    """What the server finds in what every party closed."""
    kind, because = run.spec.kind, "drawn without data"
    private, public = shared_key(
        run, "server", run.parties, OPTIONS, kind=kind, address=("key", "server"), because=because
    )
    return run.at(
        "server", opened, private, run.gather(run.parties, "server", "closed", local_closed, public, run.rng_for)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", [simulate, checked, forked], ids=["plain", "checking", "processes"])
def test_the_holder_opens_what_others_closed(mode, kind):
    assert mode(program, run(kind)) == [[-1, 0], [0, 5], [1, 10]]


@pytest.mark.parametrize("kind", KINDS)
def test_the_public_half_alone_crosses_once_to_each(kind):
    one = run(kind)
    simulate(program, one)
    rows = [row for row in one.channel.transcript() if row["name"] == "public key"]
    assert [(row["sender"], row["receiver"], row["kind"]) for row in rows] == [
        ("server", f"p{k}", "public") for k in range(3)
    ]
    # Modulus, base, and the length of an exponent.
    assert [row["bytes"] for row in rows] == [256 // 8 + 256 // 4 + 8] * 3
    assert {row["argument"] for row in rows} == {"drawn without data"}
    private = drawn_key(("key", "server"), kind, OPTIONS, one.rng_for)
    contents = [value for message, value in one.channel.view("p1") if message.name == "public key"]
    assert [PublicKey.of(content).modulus for content in contents] == [private.public.modulus]


def test_the_address_decides_the_key():
    keys = [drawn_key(("key", name), "paillier", OPTIONS, run("paillier").rng_for) for name in ("a", "a", "b")]
    assert keys[0].p == keys[1].p != keys[2].p


@pytest.mark.parametrize("what", ["even", "short", "zero", "one", "factor", "large"])
def test_a_public_key_that_closes_nothing_is_not_taken(what):
    public = generate_key(256, stream(8, "key"), kind="paillier").public
    assert PublicKey.of(public.message()).modulus == public.modulus
    n = int(public.modulus)
    modulus = {"even": n - 1, "short": n >> 1 | 1}.get(what, n)
    base = {"zero": 0, "one": 1, "factor": n, "large": n * n + 2}.get(what, int(public.base))
    told = [np.frombuffer(value.to_bytes(size, "big"), dtype=np.uint8) for value, size in ((modulus, 32), (base, 64))]
    with pytest.raises(CertificationError, match="what is closed with it would be open"):
        PublicKey.of((*told, public.exponent_bits))
