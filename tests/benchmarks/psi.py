"""Set intersection of 10,000 and 10,000 identifiers, against the arithmetic that it stands on and openmined-psi.

CPU seconds of `align`, all parties and the analyst together, 7,500 records in common: fails above 10 s, above 1.15
times the hashes and multiplications alone (PyNaCl in a plain loop, side by side, median of pairs), or if the result is
not the intersection. Three parties of 10,000 and the keyed digests are shown. openmined-psi 2.0.6 (two parties, server
and client together) is compared in time and result where it is installed: it pins protobuf, so that no lock has it.
Attack A6 on the published mode, 100,000 candidates for as many digests: fails above 5 times what hashing them takes.
"""

from __future__ import annotations

from _timing import timed

# isort: split

import os
import sys
from hashlib import sha256, sha512

import numpy as np
from nacl import bindings

from partywise.alignment.align import align
from partywise.alignment.identifiers import hash_identifiers
from partywise.audits.attacks.messages import dictionary_attack

try:
    import private_set_intersection.python as openmined
except ImportError:
    openmined = None

SIZE, PAIRS = 10_000, 3
REQUIRED, RATIO, ATTACK = 10.0, 1.15, 5.0


def lists(count: int) -> dict[str, list[str]]:
    """So many lists, each of which has three quarters of its records in common with the one before."""
    return {f"party {k}": [f"PATIENT_{number + k * SIZE // 4:06d}" for number in range(SIZE)] for k in range(count)}


def plain(count: int) -> None:
    """The hashes and multiplications of `count` lists, and nothing else."""
    exponent = bindings.crypto_core_ed25519_scalar_reduce(os.urandom(64))
    point, add = bindings.crypto_core_ed25519_from_uniform, bindings.crypto_core_ed25519_add
    times = bindings.crypto_scalarmult_ed25519_noclamp
    for number in range(count * SIZE):
        digest = sha512(b"%d" % number).digest()
        current = add(point(digest[:32]), point(digest[32:]))
        for _ in range(count):
            current = times(exponent, current)


def theirs(one: list[str], other: list[str]) -> set[str]:
    """The common entries by openmined-psi, both sides."""
    client, server = openmined.client.CreateWithNewKey(True), openmined.server.CreateWithNewKey(True)
    setup = server.CreateSetupMessage(0.0, len(one), other, openmined.DataStructure.RAW)
    response = server.ProcessRequest(client.CreateRequest(one))
    return {one[place] for place in client.GetIntersection(setup, response)}


def attack() -> float:
    """How many times longer than hashing alone the dictionary takes that finds everybody."""
    names = [f"PATIENT_{number:05d}" for number in range(100_000)]
    hashes = hash_identifiers(names)
    hashing, _ = timed(lambda: [sha256(name.encode()).hexdigest() for name in names])
    seconds, found = timed(lambda: dictionary_attack(hashes, names))
    print(
        f"attack A6, 100,000 digests: {seconds:.2f} s, all found: {len(found) == len(names)}; hashing {hashing:.2f} s"
    )
    return seconds / hashing if len(found) == len(names) else np.inf


def main() -> int:
    ids, pairs, wrong = lists(2), [], False
    expected = set(ids["party 0"]) & set(ids["party 1"])
    for _ in range(PAIRS):
        ours, found = timed(lambda: align(ids, rng=1))
        alone, _ = timed(lambda: plain(2))
        pairs.append((ours, alone))
        persons = [[own[row] for row in found.rows[name]] for name, own in ids.items()]
        wrong |= persons[0] != persons[1] or set(persons[0]) != expected
    ours, ratio = float(np.median([one for one, _ in pairs])), float(np.median([one / two for one, two in pairs]))
    print(f"psi, {SIZE} x {SIZE}: {ours:.2f} s CPU (required: {REQUIRED} s), {ratio:.3f} times its arithmetic alone")
    seconds, found = timed(lambda: align(lists(3), rng=1))
    print(f"three parties: {seconds:.2f} s, {found.exponentiations} multiplications, {found.hashes} hashes")
    print(f"keyed digests, {SIZE} x {SIZE}: {timed(lambda: align(ids, 'hmac', rng=1))[0]:.3f} s")
    if openmined is None:
        print("openmined-psi: not installed, not compared (pip install openmined-psi==2.0.6)")
    else:
        seconds, common = timed(lambda: theirs(*ids.values()))
        print(f"openmined-psi: {seconds:.2f} s, the same entries: {common == expected}")
        wrong |= common != expected
    return int(wrong or ours > REQUIRED or ratio > RATIO or attack() > ATTACK)


if __name__ == "__main__":
    sys.exit(main())
