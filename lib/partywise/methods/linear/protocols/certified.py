"""Protocol with real encryption: only sums over a batch are opened, and under masks that the key holder does not know.

The corrected form of the example of document 003, section "Linear Model": the key holder ``server`` has no data, draws
the Paillier key, and is the only one who can open; any number of parties, an intercept at the active one.

Once                                                from, to                          payload
public key                                          server, every party               Public
A round of m rows
rows of the batch                                   active, every passive             Public
its part of the residual (m,)                       active, first passive             Cipher, key: server
the same with another part added, re-randomised     passive, next passive             Cipher, key: server
the residual u (m,), re-randomised                  last passive, other parties       Cipher, key: server
X_k'u (d_k,) under a mask of its own                every party, server               Cipher, key: the party's mask
what the server opened of it                        server, that party                Clear(label, features)

The linear predictor is never formed in the open: each party adds its own part in fixed point to a ciphertext, and
re-randomises it, since the quotient of what it got and what it sent on would show its part to two colluding neighbours
(with two parties, to the active one alone). Party k weighs the ciphertexts of u by its features, sums over the batch,
adds a uniform mask of 120 bits above the range of the sum and re-randomises again. The server sees uniform numbers: its
view costs nothing. Party k takes its mask off and has its own gradient sums, of which it makes its next coefficients;
these sums are functions of all records without any noise, so that nothing finite is certified (epsilon = inf).
Semi-honest parties: one that weighs by something else than its features gets other sums, and a server that colludes
with one of them opens everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from ....federation.cipher import Cipher
from ....federation.exchanges.homomorphic.paillier import add_plain, encrypt, rerandomise
from ....federation.exchanges.homomorphic.paillier_keys import PrivateKey, PublicKey, shared_key
from ....federation.exchanges.homomorphic.weighted_sums import (
    add_masks,
    from_bytes,
    mask_width,
    masks,
    opened_under_masks,
    remove_masks,
    weighted_sums,
)
from ....federation.folds import ProtocolSpec
from ....federation.parties import Party, merge_blocks
from ....federation.places import PerPlace, per_place
from ....federation.roles import parts_of, roles, unprotected_value
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ..fixed_point import check_bounds, declared_bounds, mean_of, sizes, to_fixed_point, units
from ..model import LinearEstimate, LinearFacts, Path
from ..options import LinearCertifiedOptions
from ..steps import SLOPES, kept_rounds, residuals, shrinkage, with_ones
from .common import SERVER, Trail, estimate_of, local_batch, local_batches, local_response, move, start

FREE_KEY = "a public key, drawn without a look at the data"
# Bits of an integer that a float holds the size of.
LARGEST_BITS = 1000


def local_columns(
    party: Party, train: np.ndarray, spec: ProtocolSpec[LinearCertifiedOptions, object, object, LinearFacts]
) -> np.ndarray:
    """The party's training rows (n, d_k) after a look at their declared bounds; the active one's begin with ones."""
    X, columns = party.block["X"][train], list(party.columns)
    bounds, label = declared_bounds(spec.public, spec.options.model)
    check_bounds(X, bounds[columns], tuple(spec.public.names[column] for column in columns))
    if party.role != "active":
        return X
    if spec.options.model == "linear":
        check_bounds(party.block["y"][train][:, None], np.array([label]), ("y",))
    return with_ones(X, True) if spec.options.intercept else X


def local_exponents(party: Party, columns: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Exponents of the units of the party's columns; 0 of the ones that those of the active party may begin with."""
    party_exponents = exponents[list(party.columns)]
    return np.concatenate(
        [np.zeros(columns.shape[1] - len(party_exponents), dtype=party_exponents.dtype), party_exponents]
    )


def local_integers(party: Party, columns: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """The party's columns in fixed point."""
    return to_fixed_point(np.ldexp(columns, -exponents))


def local_started(party: Party, columns: np.ndarray) -> Trail:
    """Return the party's coefficients before the first step, all 0."""
    return start(columns.shape[1])


def local_first(
    active: Party,
    public: PublicKey,
    columns: np.ndarray,
    rows: np.ndarray,
    trail: Trail,
    response: np.ndarray,
    model: str,
    exponent: int,
    step: int,
    rng_for: Callable,
) -> Cipher:
    """The residual as far as the active party knows it, closed."""
    u = residuals(columns[rows] @ trail[0], response[rows], model)
    rng, scaled = rng_for("encryption", active.name, step), to_fixed_point(np.ldexp(u, -exponent))
    return encrypt(public, scaled, rng, key_holder=SERVER, made_of=parts_of((active,)))


def local_added(
    passive: Party,
    public: PublicKey,
    columns: np.ndarray,
    rows: np.ndarray,
    trail: Trail,
    partial: Cipher,
    model: str,
    exponent: int,
    step: int,
    rng_for: Callable,
) -> Cipher:
    """The residual with the party's part of the linear predictor, closed anew."""
    part = to_fixed_point(np.ldexp(SLOPES[model] * (columns[rows] @ trail[0]), -exponent))
    rng = rng_for("re-randomisation", passive.name, step)
    return rerandomise(public, add_plain(public, partial, part), rng).with_parts(parts_of((passive,)))


def local_masks(party: Party, columns: np.ndarray, width: int, step: int, rng_for: Callable) -> list[int]:
    """One mask for each of the party's coefficients."""
    return masks(columns.shape[1], width, rng_for("mask", party.name, step))


def local_masked(
    party: Party,
    public: PublicKey,
    integers: np.ndarray,
    rows: np.ndarray,
    u: Cipher,
    drawn: Sequence[int],
    step: int,
    rng_for: Callable,
) -> Cipher:
    """The party's gradient sums, closed and masked."""
    total = weighted_sums(public, u, integers[rows])
    party_sums = total.with_parts(parts_of((party,)))
    return add_masks(public, party_sums, drawn, rng_for("masked", party.name, step), holder=party.name)


def local_step(
    party: Party,
    trail: Trail,
    opened: np.ndarray,
    drawn: Sequence[int],
    rows: np.ndarray,
    exponents: np.ndarray,
    exponent: int,
    step: int,
    options: LinearCertifiedOptions,
) -> Trail:
    """A step along the party's own mean gradient."""
    gradient = np.ldexp([mean_of(total, len(rows)) for total in remove_masks(opened, drawn)], exponents + exponent)
    # Of the active party the first is the intercept, where there is one.
    shrunk = shrinkage(len(party.columns), options.ridge)
    return move(trail, gradient, shrunk[len(shrunk) - len(gradient) :], step, options)


def local_part(party: Party, trail: Trail, width: int, options: LinearCertifiedOptions) -> LinearEstimate:
    """Coefficients of the party's own columns; the active one has the intercept; the rest is nan."""
    rounds, n_columns = np.array(trail[1]), len(party.columns)
    coefficients, known = np.full((len(rounds), 1 + width), np.nan), np.zeros(1 + width, dtype=bool)
    known[0], known[1 + np.asarray(party.columns, dtype=int)] = party.role == "active", True
    coefficients[:, 1 + np.asarray(party.columns, dtype=int)] = rounds[:, rounds.shape[1] - n_columns :]
    if known[0]:
        coefficients[:, 0] = rounds[:, 0] if options.intercept else 0.0
    path = Path(kept_rounds(options.total_round_num, options.eval_freq), coefficients)
    return LinearEstimate(coefficients[-1], path=path, part=tuple(np.flatnonzero(known).tolist()))


def server_opened(key: PrivateKey, closed: Sequence[Cipher], width: int) -> tuple[np.ndarray, ...]:
    """Open the masked sums of all parties: rows of bytes of uniform numbers."""
    return tuple(opened_under_masks(key, cipher, width) for cipher in closed)


def server_answer(opened: Sequence[np.ndarray], place: int, parts: Sequence[Clear]) -> Clear:
    """The opened sums of one party, which alone can take the masks off."""
    return unprotected_value(opened[place], parts)


def server_seen(opened: Sequence[np.ndarray], columns: Sequence[Sequence[int]]) -> np.ndarray:
    """(1, d) the numbers that the server opened, without that of the intercept, for attacks on its view.

    They are over a power of two where floats do not hold them: attacks read their direction.
    """
    integers = [from_bytes(rows) for rows in opened]
    excess = max(0, max(abs(value).bit_length() for values in integers for value in values) - LARGEST_BITS)
    vectors = [np.array([value >> excess for value in values], dtype=float) for values in integers]
    blocks = [values[None, len(values) - len(group) :] for values, group in zip(vectors, columns, strict=True)]
    return merge_blocks(blocks, columns)


def closed_residual(
    run: Run,
    public: PerPlace[PublicKey],
    columns: PerPlace[np.ndarray],
    trails: PerPlace[Trail],
    drawn: tuple[np.ndarray, ...],
    response: np.ndarray,
    step: int,
) -> tuple[np.ndarray, Cipher]:
    """Rows of a batch and their residual, closed: every party adds its part to what it gets."""
    active, passive = roles(run.parties, bare=True)
    model, last = run.spec.options.model, passive[-1]
    exponent = units(run.spec.public, model)[1]
    rows = run.broadcast(active, passive, "batch", local_batch, drawn, step)
    inputs, rest = (public, columns, rows, trails), (model, exponent, step, run.rng_for)
    u = run.send(active, passive[0], "partial residual", local_first, *inputs, response, *rest)
    for party, following in pairwise(passive):
        u = run.send(party, following, "partial residual", local_added, *inputs, u, *rest)
    others = (active, *passive[:-1])
    return rows, run.broadcast(last, others, "residual", local_added, *inputs, u, *rest)


def to_estimate(
    estimates: Mapping[str, LinearEstimate],
    drawn: Sequence[np.ndarray],
    seen: np.ndarray,
    options: LinearCertifiedOptions,
) -> LinearEstimate:
    """Estimate of all parties together, with counts of ciphertexts from public sizes."""
    parts = [
        (list(estimate.part or ()), estimate.path.coefficients)
        for estimate in estimates.values()
        if estimate.path is not None
    ]
    merged, first = np.empty_like(parts[0][1]), int(options.intercept)
    for places, coefficients in parts:
        merged[:, places] = coefficients[:, places]
    rows, others, sums = sum(map(len, drawn)), len(estimates) - 1, len(drawn) * (merged.shape[1] - 1 + first)
    numbers = {
        "encryptions": rows,
        "rerandomisations": rows * others + sums,
        "multiplications": rows * sums // len(drawn),
        "decryptions": sums,
        "ciphertexts": 2 * rows * others + sums,
    }
    return estimate_of(merged, drawn, seen, options, numbers)


def fit(run: Run) -> LinearEstimate:
    """Rounds: the residual goes round closed, every party opens the sums of its own columns by way of the server."""
    active, _ = roles(run.parties, bare=True)
    train, options, all_parts = run.fold.train, run.spec.options, parts_of(run.parties)
    n = int(train.sum())
    batch = n if options.batch_size is None else min(options.batch_size, n)
    width = mask_width(sizes(run.spec.public, options, batch).gradient, options.key_size - 2)
    columns = run.each(run.parties, local_columns, train, run.spec)
    exponents, exponent = units(run.spec.public, options.model)
    own_units = run.each(run.parties, local_exponents, columns, exponents)
    integers = run.each(run.parties, local_integers, columns, own_units)
    response = run.at(active, local_response, train, options.model)
    drawn = run.at(active, local_batches, train, options, run.rng_for)
    address = "key", SERVER
    key, public = shared_key(run, SERVER, run.parties, options, kind=options.cipher, address=address, because=FREE_KEY)
    trails, seen = run.each(run.parties, local_started, columns), None
    for step in range(options.total_round_num):
        rows, u = closed_residual(run, public, columns, trails, drawn, response, step)
        masks = run.each(run.parties, local_masks, columns, width, step, run.rng_for)
        inputs = public, integers, rows, u, masks, step, run.rng_for
        closed = run.gather(run.parties, SERVER, "masked gradient", local_masked, *inputs)
        opened = run.at(SERVER, server_opened, key, closed, width)
        if step == 0:
            seen = run.at(SERVER, server_seen, opened, [party.columns for party in run.parties])
        answers = {
            party.name: run.send(SERVER, party, "opened gradient", server_answer, opened, place, all_parts)
            for place, party in enumerate(run.parties)
        }
        trails = run.each(
            run.parties, local_step, trails, per_place(answers), masks, rows, own_units, exponent, step, options
        )
    estimates = run.each(run.parties, local_part, trails, sum(len(party.columns) for party in run.parties), options)
    return run.assemble(to_estimate, estimates, drawn, seen, options, parts=estimates)
