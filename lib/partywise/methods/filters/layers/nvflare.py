"""Filters of NVFlare (``nvflare`` 2.9.0, Apache-2.0, wheel 5f2b6739), restated: named arrays in, named arrays out.

The real filters equal these to the last bit where ``rng`` draws as NumPy's global generator does. Another version may
differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from .flower import Generator

# Entries that the sparse-vector technique looks at at once (``nvflare/app_common/filters/svt_privacy.py:27``).
CHUNK = 1_000_000


def percentile(
    update: Mapping[str, np.ndarray], *, percentile: float = 10.0, gamma: float = 0.01, steps: int = 1
) -> dict[str, np.ndarray]:
    """Entries below a percentile of the absolute entries become 0, others are clipped to ``gamma`` per step: no noise.

    Arrays without dimensions stay as they are; all arrays do if ``gamma`` or ``percentile`` is out of range. Source:
    ``nvflare/app_common/filters/percentile_privacy.py:47-94``.
    """
    if gamma <= 0 or not 0 <= percentile <= 100:
        return dict(update)
    entries = {name: array / steps for name, array in update.items()}
    cutoff = np.percentile(np.concatenate([np.abs(array.ravel()) for array in entries.values()]), percentile)
    for name, array in entries.items():
        if np.ndim(array):
            small = (array > -cutoff) & (array < cutoff)
            array = np.clip(np.where(small, array.dtype.type(0), array), -gamma, gamma)
        entries[name] = array * steps
    return entries


def exclude_vars(update: Mapping[str, np.ndarray], excluded: Sequence[str] | str | None) -> dict[str, np.ndarray]:
    """An update without the arrays of a list, or of those that a regular expression finds.

    Nothing, an empty expression, a tuple and a list that holds anything but strings exclude nothing. Source:
    ``nvflare/app_common/filters/exclude_vars.py:24-110``.
    """
    if isinstance(excluded, str) and excluded:
        pattern = re.compile(excluded)
        return {name: array for name, array in update.items() if not pattern.search(name)}
    if not isinstance(excluded, list) or not all(isinstance(name, str) for name in excluded):
        return dict(update)
    return {name: array for name, array in update.items() if name not in excluded}


def svt_counts(
    entries: int, fraction: float = 0.1, epsilon: float = 0.1, noise_var: float = 0.1
) -> tuple[int, float, float, float]:
    """c and the three epsilons of `svt`: of the threshold, of the queries and of the release.

    c = ceil(fraction D), epsilon_t = epsilon / (1 + (2 c)^(2/3)), epsilon_q = epsilon - epsilon_t and
    epsilon_r = c noise_var (``nvflare/app_common/filters/svt_privacy.py:70-126, 300-319``).
    """
    uploads = int(min(np.ceil(float(entries) * fraction), float(entries)))
    threshold = float(epsilon) / (1.0 + float((2.0 * uploads) ** (2.0 / 3.0)))
    return uploads, threshold, float(epsilon) - threshold, float(uploads) * float(noise_var)


def svt(
    update: Mapping[str, np.ndarray],
    *,
    rng: Generator,
    fraction: float = 0.1,
    epsilon: float = 0.1,
    noise_var: float = 0.1,
    gamma: float = 1e-5,
    tau: float = 1e-6,
    replace: bool = True,
    steps: int = 1,
) -> dict[str, np.ndarray]:
    """Entries that exceed a noisy threshold, c of them drawn and sent with noise (`svt_counts`), the others 0.

    Threshold tau + Lap(gamma / epsilon_t), once; passes over all entries not yet accepted, of which ``|clip(v)| + Lap(2
    c gamma / epsilon_q)`` at the threshold or above accepts, until c or more are; then clip(v) + Lap(2 gamma c /
    epsilon_r). Arrays without dimensions take part and are sent as they are. ValueError if fewer than c entries are
    numbers: the real loop would not end. Source: ``nvflare/app_common/filters/svt_privacy.py:258-472``.
    """
    parts = {name: np.asarray(update[name]) for name in sorted(update)}
    entries = sum(array.size for array in parts.values())
    uploads, for_threshold, for_queries, for_release = svt_counts(entries, fraction, epsilon, noise_var)
    if uploads <= 0:
        return {name: np.zeros_like(array) if array.ndim else array for name, array in parts.items()}
    clipped = {
        name: np.clip(array.reshape(-1).astype(np.float64) / np.float64(steps), -gamma, gamma)
        for name, array in parts.items()
    }
    if sum(int(np.count_nonzero(~np.isnan(values))) for values in clipped.values()) < uploads:
        raise ValueError(f"fewer than {uploads} of {entries} entries are numbers: no pass can accept as many.")
    threshold = tau + rng.laplace(scale=gamma / for_threshold)
    accepted = {name: np.zeros(values.size, dtype=bool) for name, values in clipped.items()}
    while sum(int(mask.sum()) for mask in accepted.values()) < uploads:
        for name, values in clipped.items():
            for chunk in _chunks(values.size):
                left = np.flatnonzero(~accepted[name][chunk]) + chunk.start
                answers = np.abs(values[left]) + rng.laplace(scale=gamma * 2.0 * uploads / for_queries, size=left.size)
                accepted[name][left[answers >= threshold]] = True
    # All shares of the arrays are drawn before anything is sent of one.
    shares = list(_shares([int(mask.sum()) for mask in accepted.values()], uploads, replace, rng))
    sent = {}
    for (name, array), share in zip(parts.items(), shares, strict=True):
        if not array.ndim:
            sent[name] = array
            continue
        flat = np.zeros(array.size, dtype=array.dtype)
        chunks = list(_chunks(array.size))
        counts = [int(accepted[name][chunk].sum()) for chunk in chunks]
        for chunk, drawn in zip(chunks, _shares(counts, share, replace, rng), strict=True):
            if drawn:
                chosen = rng.choice(np.flatnonzero(accepted[name][chunk]), size=drawn, replace=replace) + chunk.start
                noise = rng.laplace(scale=gamma * 2.0 * uploads / for_release, size=drawn)
                flat[chosen] = (clipped[name][chosen] + noise) * np.float64(steps)
        sent[name] = flat.reshape(array.shape)
    return sent


def _chunks(size: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, size)) for start in range(0, size, CHUNK))


def _shares(counts: Sequence[int], wanted: int, replace: bool, rng: Generator) -> Iterator[int]:
    """Yield the number of ``wanted`` draws in each group: binomial or hypergeometric, one after the other."""
    left = sum(counts)
    for place, count in enumerate(counts):
        if place == len(counts) - 1:
            share = wanted
        elif not wanted or not count:
            share = 0
        elif replace:
            share = int(rng.binomial(wanted, float(count) / float(left)))
        else:
            share = int(rng.hypergeometric(count, left - count, wanted))
        yield share
        left, wanted = left - count, wanted - share
