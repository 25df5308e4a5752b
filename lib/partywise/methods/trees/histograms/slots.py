"""Sums of the cells of histograms under encryption: formed, packed, masked, and read again by the key holder.

A record is one ciphertext of its gradient and hessian, side by side. The owner of columns adds them up for every pair
of its features and finds the cells of single features among the sums, where that is less work than records are. Of
pairs the hessians are wanted alone: a mask hides the gradient next to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....federation.cipher import Cipher
from ....federation.exchanges.homomorphic import paillier
from ....federation.exchanges.homomorphic.ciphertexts import concatenate, take
from ....federation.exchanges.homomorphic.large_numbers import random_bytes
from ....federation.exchanges.homomorphic.paillier_keys import PrivateKey, PublicKey
from ....federation.exchanges.homomorphic.slots import split_slots
from ....privacy.mechanisms.random import RandomSource
from .plan import MASK_BITS, HistogramPlan, PartyShare


def table_sums(public: PublicKey, records: Cipher, codes: np.ndarray, share: PartyShare) -> tuple[Cipher, Cipher, int]:
    """Sums over the cells of single features and of pairs, and how many additions they took."""
    sizes, pairs = share.cells.sizes, share.cells.pairs
    places = [codes[:, f].astype(np.int64) * sizes[e] + codes[:, e] for f, e in pairs]
    counts = [sizes[f] * sizes[e] for f, e in pairs]
    joint = paillier.sums(public, records, np.array(places).reshape(len(pairs), len(codes)), counts)
    additions, margins = paillier.additions(np.array(places)) if pairs else 0, []
    starts = np.concatenate(([0], np.cumsum(counts))).astype(int)
    for f, size in enumerate(sizes):
        number, groups = _margin_groups(f, share, len(codes))
        source = records if number is None else take(joint, np.arange(starts[number], starts[number + 1]))
        groups = codes[:, f] if groups is None else groups
        margins.append(paillier.sums(public, source, groups, size))
        additions += paillier.additions(groups)
    return concatenate(public, margins), joint, additions


def _margin_groups(f: int, share: PartyShare, n: int) -> tuple[int | None, np.ndarray | None]:
    """The smallest pair that has a feature and the bin of each of its cells; None where there are fewer records."""
    sizes = share.cells.sizes
    options = [(sizes[a] * sizes[b], number) for number, (a, b) in enumerate(share.cells.pairs) if f in (a, b)]
    if not options or min(options)[0] >= n:
        return None, None
    number = min(options)[1]
    a, b = share.cells.pairs[number]
    rows, columns = np.divmod(np.arange(sizes[a] * sizes[b]), sizes[b])
    return number, rows if f == a else columns


def packed_sums(public: PublicKey, margins: Cipher, joint: Cipher, plan: HistogramPlan) -> Cipher:
    """Many cells in one ciphertext: first those of single features, then those of pairs."""
    parts = [paillier.pack(public, margins, plan.per_margin, 2 * plan.bits)]
    if joint.shape[0]:
        parts.append(paillier.pack(public, joint, plan.per_pair, plan.pair_bits))
    return concatenate(public, parts)


def drawn_masks(rng: RandomSource, share: PartyShare, plan: HistogramPlan) -> list[int]:
    """Uniform integers of the pair cells, 40 bits longer than the sums of gradients that they hide."""
    bits, count = plan.bits + MASK_BITS, plan.outputs * (share.cells.count - share.cells.margins)
    rows = random_bytes(rng, count, -(-bits // 8))
    half = 1 << (bits - 1)
    return [(int.from_bytes(row.tobytes(), "little") & (2 * half - 1)) - half for row in rows]


def add_noise(
    public: PublicKey,
    sums: Cipher,
    noise: np.ndarray,
    masks: Sequence[int],
    share: PartyShare,
    plan: HistogramPlan,
    rng: RandomSource,
) -> Cipher:
    """The packed sums with noise (in the order of `Cells`) and masks, in ciphertexts that disclose nothing else."""
    margins, plain = share.cells.margins, list[int]()
    for output_noise, output_masks in zip(_parts(noise.tolist(), plan), _parts(masks, plan), strict=True):
        high, low = [*output_noise[:margins], *output_masks], output_noise[margins:]
        cells = [(g << plan.bits) + h for g, h in zip(high, low, strict=True)]
        plain += _merge_cells(cells[:margins], plan.per_margin, 2 * plan.bits)
        plain += _merge_cells(cells[margins:], plan.per_pair, plan.pair_bits)
    return paillier.rerandomise(public, paillier.add_plain(public, sums, np.array(plain, dtype=object)), rng)


def _parts(values: Sequence[int], plan: HistogramPlan) -> list[Sequence[int]]:
    """Split values by output."""
    size = len(values) // plan.outputs
    return [values[output * size : (output + 1) * size] for output in range(plan.outputs)]


def _merge_cells(cells: Sequence[int], per: int, bits: int) -> list[int]:
    """Several cells in one integer, the first the lowest."""
    merged = []
    for start in range(0, len(cells), per):
        total = 0
        for cell in reversed(cells[start : start + per]):
            total = (total << bits) + cell
        merged.append(total)
    return merged


def read(integers: Sequence[int], share: PartyShare, plan: HistogramPlan) -> np.ndarray:
    """Read the sums in decrypted integers: gradients over single features, then hessians over all cells, int64."""
    parts = _parts(integers, plan)
    if len(parts) > 1:
        return np.concatenate([read(part, share, replace(plan, outputs=1)) for part in parts])
    first, _ = plan.ciphertexts(share)
    margins = _cells(integers[:first], plan.per_margin, 2 * plan.bits, share.cells.margins)
    joint = _cells(integers[first:], plan.per_pair, plan.pair_bits, share.cells.count - share.cells.margins)
    slots = [_halves(cell, plan.bits) for cell in margins]
    hessians = [h for _, h in slots] + [_halves(cell, plan.bits)[1] for cell in joint]
    return np.array([g for g, _ in slots] + hessians, dtype=np.int64)


def open_slots(integers: Sequence[int], share: PartyShare, plan: HistogramPlan) -> list[int]:
    """Masked sums of gradients next to the hessians of pair cells, which the audit reads."""
    first, _ = plan.ciphertexts(share)
    joint = _cells(integers[first:], plan.per_pair, plan.pair_bits, share.cells.count - share.cells.margins)
    return [_halves(cell, plan.bits)[0] for cell in joint]


def _cells(integers: Sequence[int], per: int, bits: int, count: int) -> list[int]:
    return split_slots(integers, bits, per).ravel().tolist()[:count] if integers else []


def _halves(cell: int, bits: int) -> tuple[int, int]:
    """Gradient and hessian of a cell."""
    half, whole = 1 << (bits - 1), (1 << bits) - 1
    low = ((cell + half) & whole) - half
    return (cell - low) >> bits, low


def reveal(
    public: PublicKey, share: PartyShare, plan: HistogramPlan, cipher: Cipher, keys: Sequence[PrivateKey]
) -> np.ndarray:
    """Decrypt a cipher and `read` its sums, to check a simulation."""
    return read(paillier.reveal(public, cipher, keys), share, plan)
