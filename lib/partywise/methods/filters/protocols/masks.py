"""Protocol: secure aggregation of two clients, one round with planted seeds.

The server removes the private mask of a client in every honest round; what is left is under the mask of the pair, which
both clients add or subtract.  A key of the pair is folded to 32 bits before it is expanded: here the seed itself is
drawn, below 2^bits, and no key is folded.

Message        from, to          payload
masked words   clients, server   weight and update (1 + D) as integers under both masks, `Clear`
private seed   clients, server   `Public`: of a mask that is removed
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....core.randomness import Rng
from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.accounted_values import Clear, Public
from ..layers.masks import MODULUS, mask, quantise, secure_masks
from ..model import FilterEstimate
from ..options import MasksOptions
from ..training import by_client, local_updates


def local_words(client: Party, first: str, options: MasksOptions, rng_for: Rng) -> tuple[Clear, Public]:
    """Return the masked words of a client, and the seed that it reveals afterwards."""
    X, y = by_client(client.block)
    update = local_updates(np.zeros(X.shape[-1]), X, y, options.steps, options.step)[0]
    integers = quantise([update], X.shape[1], rng_for("rounding", client.name))
    pair = int(rng_for("pair").integers(1 << options.bits))
    private = int(rng_for("private", client.name).integers(MODULUS))
    words = secure_masks(integers, private=private, pairs=[(pair, client.name == first)])
    return Clear(np.concatenate(words), ("user",)), Public(private, because="removed in every round")


def server_unmask(words: Sequence[np.ndarray], seeds: Sequence[int]) -> FilterEstimate:
    """The words of the first client, of which the server has removed the private mask."""
    first = words[0]
    known = np.concatenate(mask(seeds[0], [(1,), (len(first) - 1,)]))
    return FilterEstimate(words=(first - known) % MODULUS)


def fit(run: Run) -> FilterEstimate:
    """One round."""
    options: MasksOptions = run.spec.options
    names = ("masked words", "private seed")
    first = run.parties[0].name
    words, seeds = run.gather(run.parties, "server", names, local_words, first, options, run.rng_for)
    return run.at("server", server_unmask, words, seeds)
