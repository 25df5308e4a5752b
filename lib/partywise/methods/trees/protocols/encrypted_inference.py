"""Sub-protocol: scores under encryption, ``inference: he`` (Fed-EINI).

The active party encrypts for every row and leaf the leaf's weight, or 0 where its own splits rule the leaf out.  Every
passive party keeps the entries that its splits leave open and puts encryptions of 0 elsewhere, **re-randomises all**,
and passes them on.  The last sums leaves and trees, packs rows into slots, re-randomises these and returns them; the
active party decrypts.

As published nothing is re-randomised: the multiple of a ciphertext by 0 is the constant 1, and that by 1 the ciphertext
itself, so that the next party reads which leaves the one before rules out (`ruled_out`, the audit's row
``constant_zero``).

What is protected: passive parties learn how trees branch and their own splits, the active party the scores (`Clear`),
which depend on the features of all.  Semi-honest; a passive party that colludes with the active one has its key, and
reads what those before it rule out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ....federation.cipher import Cipher
from ....federation.exchanges.homomorphic.ciphertexts import ciphertext_bytes
from ....federation.exchanges.homomorphic.paillier import decrypt, encrypt, pack, rerandomise, sums, times
from ....federation.exchanges.homomorphic.paillier_keys import PrivateKey, PublicKey, shared_key
from ....federation.exchanges.homomorphic.slots import per_cipher, split_slots
from ....federation.parties import Party
from ....federation.places import PerPlace
from ....federation.roles import UNITS, parts_of, unprotected_value
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ..leaves import LeafLayout, Skeleton
from .common import active_of, passive_of
from .indicators import forms_of, local_open, local_own_left

# A slot holds multiples of 2^-48 between -2^46 and 2^46: wider than any score, and few bytes of all that cross.  Where
# all scores are below 1, they count in a unit that the active party alone knows.
SLOT_BITS, FRACTION_BITS = 96, 48
FREE_KEY = "a public key, drawn without a look at data"


def fixed_weights(form: Skeleton, weight: np.ndarray) -> np.ndarray:
    """Weights of leaves as multiples of 2^-48 of their unit, Python integers."""
    unit = form.unit(weight)
    if not form.largest(weight) / unit * 2.0**FRACTION_BITS < 2.0 ** (SLOT_BITS - 2):
        raise OverflowError(f"scores of the model do not fit into slots of {SLOT_BITS} bits: scale the response down.")
    return np.array([int(step) for step in np.rint(weight / unit * 2.0**FRACTION_BITS)], dtype=object)


def zero_dropped(public: PublicKey, cipher: Cipher, selected: np.ndarray) -> Cipher:
    """Selected entries, 0 elsewhere; until they are re-randomised, their reader knows which."""
    return times(public, cipher, selected.astype(int))


def ruled_out(cipher: Cipher) -> np.ndarray:
    """(m,) bool, what the next party reads from entries that were not re-randomised: the constant 1 is 0 for sure."""
    ciphertexts = ciphertext_bytes(cipher)
    return (ciphertexts[:, -1] == 1) & ~ciphertexts[:, :-1].any(axis=1)


def local_weights(
    active: Party, key: PrivateKey, form: Skeleton, layout: LeafLayout, rows: np.ndarray, rng_for: Callable
) -> Cipher:
    """Encrypt the leaf's weight for every row and leaf; 0 where the active party's own splits rule it out."""
    weights = fixed_weights(form, layout.weight)
    open_leaves = form.open_leaves(*local_own_left(active, layout, rows))
    rng = rng_for("inference masks", active.name)
    made_of = parts_of((active,))
    return encrypt(key, np.where(open_leaves.T, weights, 0), rng, key_holder=active.name, made_of=made_of)


def local_kept(party: Party, public: PublicKey, cipher: Cipher, open_leaves: np.ndarray, rng_for: Callable) -> Cipher:
    """Select a passive party's entries, in ciphertexts that no party has seen before."""
    rng = rng_for("inference masks", party.name)
    return rerandomise(public, zero_dropped(public, cipher, open_leaves.T.ravel()), rng).with_parts(parts_of((party,)))


def local_sums(
    party: Party,
    public: PublicKey,
    cipher: Cipher,
    open_leaves: np.ndarray,
    owners: Sequence[str],
    holder: str,
    rng_for: Callable,
) -> Clear:
    """Return the sums of the rows, several in a ciphertext, at the last passive party.

    owners : all parties except the active one whose features the scores depend on
    holder : of the labels, which the weights depend on
    """
    n = open_leaves.shape[1]
    groups = np.where(open_leaves, np.arange(n), -1).T.ravel()
    slots = pack(public, sums(public, cipher, groups, n), per_cipher(public.plaintext_bits, SLOT_BITS), SLOT_BITS)
    closed = rerandomise(public, slots, rng_for("inference masks", party.name))
    parts = [Clear(None, UNITS["passive"], owner=owner) for owner in owners]
    return unprotected_value(closed, [*parts, Clear(None, UNITS["active"], owner=holder)])


def local_opened(
    active: Party, key: PrivateKey, form: Skeleton, layout: LeafLayout, slots: Cipher, n: int
) -> list[np.ndarray]:
    """Decrypt what all trees and tables that cross add to each score."""
    per = per_cipher(key.public.plaintext_bits, SLOT_BITS)
    opened = split_slots(decrypt(key, slots), SLOT_BITS, per).ravel()[:n]
    return [np.array([steps / 2**FRACTION_BITS for steps in opened]) * form.unit(layout.weight)]


def encrypted_scores(
    run: Run,
    layout: LeafLayout,
    splits: PerPlace[np.ndarray],
    thresholds: PerPlace[tuple[np.ndarray, ...]],
    rows: np.ndarray,
) -> list[np.ndarray]:
    """Return what all trees and tables that cross add to each score, at the active party."""
    active, passive = active_of(run.parties), passive_of(run.parties)
    owners = tuple(party.name for party in passive)
    options, address = run.spec.options, ("inference key", active.name)
    kind = options.inference_cipher
    key, public = shared_key(run, active, passive, options, kind=kind, address=address, because=FREE_KEY)
    forms = forms_of(run, layout)
    open_leaves = run.each(passive, local_open, forms, splits, thresholds, rows)
    cipher = run.send(active, passive[0], "leaf weights", local_weights, key, forms, layout, rows, run.rng_for)
    for party, following in pairwise(passive):
        cipher = run.send(party, following, "leaf weights", local_kept, public, cipher, open_leaves, run.rng_for)
    inputs = (public, cipher, open_leaves, owners, active.name, run.rng_for)
    slots = run.send(passive[-1], active, "scores in slots", local_sums, *inputs)
    return run.at(active, local_opened, key, forms, layout, slots, len(rows))
