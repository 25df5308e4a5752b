"""Paillier encryption against phe, an independent implementation, and its stand-in that closes nothing."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest
from phe import paillier as phe

from partywise.core.errors import CertificationError
from partywise.federation.channel import Channel
from partywise.federation.cipher import Cipher
from partywise.federation.codec import pack as as_bytes
from partywise.federation.codec import unpack
from partywise.federation.exchanges.homomorphic import large_numbers, paillier
from partywise.federation.exchanges.homomorphic.ciphertexts import concatenate, take
from partywise.federation.exchanges.homomorphic.paillier import decrypt, encrypt
from partywise.federation.exchanges.homomorphic.paillier_keys import PublicKey, generate_key
from partywise.federation.exchanges.homomorphic.slots import (
    merge_slots,
    per_cipher,
    require_room,
    slot_bits,
    split_slots,
    to_fixed_point,
)
from partywise.federation.parties import Party
from partywise.federation.payloads import payload_bytes
from partywise.privacy.accounted_values import Clear
from partywise.privacy.mechanisms.random import SecureRandom

BITS = 512
KINDS = ("paillier", "sized")
PER = 3


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def keys():
    return {kind: generate_key(BITS, rng(1), kind=kind) for kind in KINDS}


@pytest.fixture(params=KINDS)
def key(request, keys):
    return keys[request.param]


def closed(key, integers, seed=2):
    return encrypt(key, integers, rng(seed), key_holder="active")


def oracle(key):
    """Our key as phe has it."""
    public = phe.PaillierPublicKey(int(key.public.modulus))
    return public, phe.PaillierPrivateKey(public, int(key.p), int(key.q))


def signed(raw: int, n: int) -> int:
    return raw if raw < n // 2 else raw - n


def numbers(cipher: Cipher) -> list[int]:
    return [int.from_bytes(row.tobytes(), "big") for row in cipher.content]


VALUES = [0, 1, -1, 2**200 + 5, -(2**300), 2**509 - 1, 1 - 2**509]


def test_phe_opens_what_we_close_and_we_open_what_phe_closes(keys):
    key = keys["paillier"]
    public, private = oracle(key)
    values = [*VALUES, *(int(v) for v in rng().integers(-(2**62), 2**62, 200))]
    for form in (key, key.public):
        found = [signed(private.raw_decrypt(number), public.n) for number in numbers(closed(form, values))]
        assert found == values
    raw = [public.raw_encrypt(value % public.n) for value in values]
    theirs = np.frombuffer(b"".join(value.to_bytes(BITS // 4, "big") for value in raw), np.uint8)
    assert decrypt(key, Cipher(theirs.reshape(len(raw), -1), "active", "paillier")) == values


def test_the_key_holder_closes_to_the_same_bytes_as_everybody(keys):
    key = keys["paillier"]
    for form in (key, PublicKey.of(key.public.message())):
        assert np.array_equal(closed(form, VALUES).content, closed(key.public, VALUES).content)
    # More integers than a table of half bytes serves go through one of bytes: the beginning stays the same.
    many = closed(key, [*VALUES, *range(200)])
    assert np.array_equal(many.content[: len(VALUES)], closed(key, VALUES).content)


@pytest.mark.parametrize("bits", [512, 1024])
def test_exponents_of_full_length(bits):
    key = generate_key(bits, rng(3), kind="paillier", full_exponents=True)
    assert (key.public.exponent_bits, generate_key(bits, rng(3), kind="sized").public.exponent_bits) == (
        bits + 128,
        448,
    )
    assert np.array_equal(closed(key, [5, -7]).content, closed(key.public, [5, -7]).content)
    public, private = oracle(key)
    assert [signed(private.raw_decrypt(number), public.n) for number in numbers(closed(key, [5, -7]))] == [5, -7]


def test_keys_have_the_residues_of_the_scheme(keys):
    key = keys["paillier"]
    p, q, n, base = (int(value) for value in (key.p, key.q, key.public.modulus, key.public.base))
    assert (p % 4, q % 4, n, n.bit_length()) == (3, 3, p * q, BITS)
    assert math.gcd(p - 1, q - 1) == 2
    # The base is an n-th power: to the order of those it is 1, and it is not a square of a residue modulo p.
    assert pow(base, (p - 1) * (q - 1) // 2, n * n) == 1 and pow(base, n, n * n) != 1
    assert pow(base % p, (p - 1) // 2, p) == p - 1 and pow(base % q, (q - 1) // 2, q) == q - 1


def test_one_key_of_real_length_against_phe():
    key = generate_key(2048, rng(4), kind="paillier")
    public, private = oracle(key)
    assert (key.public.exponent_bits, key.public.width, key.public.plaintext_bits) == (448, 512, 2046)
    assert int(key.public.modulus).bit_length() == 2048
    cipher = closed(key, [-(2**2045), 3])
    assert [signed(private.raw_decrypt(number), public.n) for number in numbers(cipher)] == [-(2**2045), 3]
    assert decrypt(key, cipher) == [-(2**2045), 3] and cipher.content.shape == (2, 512)
    assert generate_key(3072, rng(4), kind="sized").public.exponent_bits == 512


def test_sums_of_groups_are_those_of_phe_and_of_integers(keys):
    values = [int(v) for v in rng(5).integers(-(2**60), 2**60, 60)]
    groups = rng(6).integers(-1, 5, (3, 60))
    groups[groups == 3] = 0
    expected = [sum(v for v, g in zip(values, row, strict=True) if g == group) for row in groups for group in range(5)]
    for key in keys.values():
        cipher = paillier.sums(key.public, closed(key, values), groups, 5)
        assert decrypt(key, cipher) == expected
        assert decrypt(key, paillier.sums(key.public, closed(key, values), groups[1], 5)) == expected[5:10]
        several = paillier.sums(key.public, closed(key, values), groups, [5, 7, 6])
        assert decrypt(key, several) == [*expected[:10], 0, 0, *expected[10:], 0]
    public, private = oracle(keys["paillier"])
    total = public.raw_encrypt(0)
    for number, group in zip(numbers(closed(keys["paillier"], values)), groups[0], strict=True):
        total = total * number % public.nsquare if group == 1 else total
    assert signed(private.raw_decrypt(total), public.n) == expected[1]
    # Every added row but the first of its group is one addition.
    assert paillier.additions(groups) == sum(int((row >= 0).sum()) - len(set(row[row >= 0])) for row in groups)


def test_every_operation_is_that_of_integers(key):
    public, values = key.public, [5, -7, 2**70, 0, -(2**80)]
    cipher, other = closed(key, values), closed(key, [1, 2, 3, 4, 5], seed=3)
    assert decrypt(key, paillier.add(public, cipher, other)) == [v + k for k, v in enumerate(values, 1)]
    assert decrypt(key, paillier.add_plain(public, cipher, [-1, 2, -3, 4, -5])) == [4, -5, 2**70 - 3, 4, -(2**80) - 5]
    assert decrypt(key, paillier.add_plain(public, cipher, np.int64(-9))) == [v - 9 for v in values]
    assert decrypt(key, paillier.times(public, cipher, [3, -2, 0, 1, -1])) == [15, 14, 0, 0, 2**80]
    assert decrypt(key, paillier.times(public, cipher, -4)) == [-4 * v for v in values]
    assert decrypt(key, take(cipher, [4, 0, 0])) == [-(2**80), 5, 5]
    assert decrypt(key, take(cipher, np.array(values) == 0)) == [0]
    assert decrypt(key, take(cipher, [])) == []
    assert decrypt(key, concatenate(public, [cipher, other])) == [*values, 1, 2, 3, 4, 5]
    shifted = [values[0] + (values[1] << 100) + (values[2] << 200), values[3] + (values[4] << 100)]
    assert decrypt(key, paillier.pack(public, cipher, PER, 100)) == shifted


def test_rerandomising_changes_all_bytes_and_no_value(keys):
    key = keys["paillier"]
    cipher = closed(key, [0, 5, -5])
    fresh = paillier.rerandomise(key.public, cipher, rng(9))
    assert decrypt(key, fresh) == [0, 5, -5]
    # Bytes agree by chance only: one of 256.
    assert (fresh.content == cipher.content).mean() < 0.05
    open_zero = paillier.sums(key.public, cipher, np.full(3, -1), 1)
    assert numbers(open_zero) == [1] and numbers(paillier.rerandomise(key.public, open_zero, rng(9))) != [1]
    assert np.array_equal(fresh.content, paillier.rerandomise(key.public, cipher, rng(9)).content)
    assert not np.array_equal(fresh.content, paillier.rerandomise(key.public, cipher, rng(10)).content)


def test_no_integers_are_closed_summed_and_opened(key):
    public = key.public
    for form in (key, public):
        nothing = encrypt(form, [], rng(), key_holder="active")
        assert nothing.shape[0] == 0 and payload_bytes(nothing) == 0
        assert decrypt(key, paillier.rerandomise(public, nothing, rng())) == []
        zeros = paillier.sums(public, nothing, np.array([], dtype=int), 4)
        assert decrypt(key, paillier.rerandomise(public, zeros, rng())) == [0, 0, 0, 0]


def test_a_seed_repeats_and_the_system_does_not(keys):
    key = keys["paillier"]
    again = generate_key(BITS, rng(1), kind="paillier")
    assert (again.p, again.q, again.public.base) == (key.p, key.q, key.public.base)
    assert generate_key(BITS, rng(2), kind="paillier").p != key.p
    assert np.array_equal(closed(key, [1, 2]).content, closed(key, [1, 2]).content)
    one, two = (encrypt(key, [1, 2], SecureRandom(), key_holder="active") for _ in range(2))
    assert not np.array_equal(one.content, two.content) and decrypt(key, one) == decrypt(key, two) == [1, 2]
    assert generate_key(128, SecureRandom(), kind="paillier").p != generate_key(128, SecureRandom(), kind="paillier").p
    with pytest.raises(TypeError, match="not a random source"):
        encrypt(key, [1], 7, key_holder="active")


@pytest.mark.parametrize("given, expected", [
    (np.int64(-3), [-3]), (np.array(7), [7]), (np.uint8([250, 1]), [250, 1]), ([], []), (np.zeros((0, 3)), []),
    (np.array([[1, -2], [3, -4]]), [1, -2, 3, -4]), (True, [1]),
])  # fmt: skip
def test_integers_of_every_form(key, given, expected):
    cipher = closed(key, given)
    assert decrypt(key, cipher) == expected
    assert payload_bytes(cipher) == len(expected) * key.public.width
    assert decrypt(key, paillier.rerandomise(key.public, cipher, rng())) == expected
    assert decrypt(key, paillier.sums(key.public, cipher, np.zeros(len(expected), int), 2)) == [sum(expected), 0]


def test_what_does_not_fit_is_refused(key):
    with pytest.raises(OverflowError, match="511 bits does not fit into 510"):
        closed(key, [2**510])
    largest = closed(key, [2**510 - 1])
    with pytest.raises(OverflowError, match="does not fit"):
        decrypt(key, paillier.add(key.public, largest, closed(key, [2])))
    with pytest.raises(OverflowError, match="per=6 integers of 100 bits"):
        paillier.pack(key.public, largest, 6, 100)
    with pytest.raises(TypeError, match="not an integer"):
        closed(key, [0.5])
    with pytest.raises(ValueError, match="give a group for each"):
        paillier.sums(key.public, largest, np.zeros(2, int), 1)
    with pytest.raises(ValueError, match="for count=1"):
        paillier.sums(key.public, largest, np.ones(1, int), 1)
    with pytest.raises(ValueError, match="2 operands for 1"):
        paillier.times(key.public, largest, [1, 2])
    with pytest.raises(ValueError, match="need one key"):
        paillier.add(key.public, largest, encrypt(key, [1], rng(), key_holder="p1"))
    with pytest.raises(ValueError, match="width 256"):
        decrypt(generate_key(1024, rng(), kind=key.public.kind), largest)
    with pytest.raises(ValueError, match="multiple of 16"):
        generate_key(100, rng(), kind="paillier")


def test_another_key_opens_nothing(keys):
    other = generate_key(BITS, rng(8), kind="paillier")
    cipher = closed(keys["paillier"], [12345])
    for by in ("p1", "server"):
        with pytest.raises(CertificationError, match="only 'active' can decrypt"):
            cipher.decrypt(by)
    with contextlib.suppress(OverflowError):
        assert decrypt(other, cipher) != [12345]


def test_without_gmpy2_the_remedy_is_named(monkeypatch):
    monkeypatch.setattr(large_numbers, "gmpy2", None)
    with pytest.raises(ImportError, match=r"pip install 'partywise\[encryption\]'"):
        generate_key(BITS, rng(), kind="paillier")
    sized = generate_key(BITS, rng(), kind="sized")
    assert decrypt(sized, closed(sized, VALUES)) == VALUES


def test_the_sizes_of_both_kinds_are_the_same_on_the_wire(keys):
    def crossed(key):
        channel = Channel([Party("active", "active", {}), Party("p1", "passive", {})], record=True)
        cipher = closed(key, [3, -4])
        channel.send("active", "p1", "closed", cipher)
        channel.send("p1", "active", "sums", Clear(paillier.add(key.public, cipher, cipher), units=("features",)))
        with pytest.raises(CertificationError, match="'active' holds the key"):
            channel.send("p1", "active", "bare", cipher)
        return channel

    real, sized = crossed(keys["paillier"]), crossed(keys["sized"])
    assert real.transcript() == sized.transcript()
    assert [message.bytes for message in real.messages] == [2 * BITS // 4] * 2
    assert real.messages[0].shape == (2, BITS // 4)
    messages = [key.public.message() for key in keys.values()]
    assert payload_bytes(messages[0]) == payload_bytes(messages[1]) == BITS // 8 + BITS // 4 + 8
    assert {PublicKey.of(message).kind for message in messages} == set(KINDS)


def test_ciphers_cross_between_processes_as_they_are(key):
    cipher = closed(key, [3, -4])
    bare, wrapped = (unpack(as_bytes(payload)) for payload in (cipher, Clear(cipher, units=("features",))))
    for back in (bare, wrapped.value):
        assert (back.key_holder, back.scheme, back.size) == (cipher.key_holder, cipher.scheme, cipher.size)
        assert decrypt(key, back) == [3, -4]
    with pytest.raises(TypeError, match="no operation 'add'"):
        cipher + cipher


def test_slots_sum_side_by_side(key):
    g, h = rng(11).normal(size=40), rng(12).uniform(size=40)
    bits = slot_bits(40, np.abs(g).max())
    require_room(bits, 40, np.abs(g).max(), "gradients")
    pairs = merge_slots([to_fixed_point(g), to_fixed_point(h)], bits)
    groups = np.arange(40) % 5
    per = per_cipher(key.public.plaintext_bits, 2 * bits)
    total = paillier.pack(key.public, paillier.sums(key.public, closed(key, pairs), groups, 5), per, 2 * bits)
    found = split_slots(decrypt(key, total), bits, 2 * per).reshape(-1, 2)[:5]
    expected = [[to_fixed_point(slot)[groups == group].sum() for slot in (h, g)] for group in range(5)]
    assert found.tolist() == expected


def test_slots_have_room_or_say_so():
    assert [slot_bits(n) for n in (1, 2, 200, 2000, 2048, 2049)] == [34, 35, 42, 45, 45, 46]
    assert [slot_bits(200, bound) for bound in (0.5, 1, 2, 5, 30)] == [42, 42, 43, 45, 47]
    assert per_cipher(2046, 2 * slot_bits(200)) == 24
    # The largest sum of n numbers of the bound fits, with either sign.
    for n, bound in ((1, 1.0), (200, 1.0), (2049, 5.0)):
        bits = slot_bits(n, bound)
        require_room(bits, n, bound, "gradients")
        largest = merge_slots([[n * to_fixed_point(bound)], [n * to_fixed_point(-bound)]], bits)
        assert split_slots(largest.tolist(), bits, 2).tolist() == [
            [n * to_fixed_point(-bound), n * to_fixed_point(bound)]
        ]
    with pytest.raises(OverflowError, match="sums of 2000 gradients of up to 30 do not fit into slots of 45 bits"):
        require_room(slot_bits(2000), 2000, 30.0, "gradients")
    # Two integers of 2^32 are one too large for 34 bits with a sign.
    require_room(35, 2, 1 - 2.0**-32, "gradients")
    with pytest.raises(OverflowError, match="do not fit into slots of 34 bits"):
        require_room(34, 2, 1 - 2.0**-32, "gradients")
    with pytest.raises(OverflowError, match="declared bound is too small"):
        merge_slots([[1 << 40]], 40)
    with pytest.raises(OverflowError, match="more than 1 slots"):
        split_slots([1 << 50], 40, 1)
    with pytest.raises(OverflowError, match="longer key"):
        per_cipher(100, 101)
