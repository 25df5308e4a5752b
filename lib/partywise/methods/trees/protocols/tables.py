"""Protocol: gradient and Hessian histograms whose noise owners of columns add under encryption; the certified default.

The active party grows trees on its own columns and sends gradients and hessians at them, encrypted, once: n ciphertexts
for any number of trees.  A passive party adds them up over its public bins and pairs of bins, adds integer
Gaussian noise without seeing what it adds it to, masks what is not asked for, and returns every cell, empty ones too,
re-randomised.  The rest is post-processing at the active party (`gradient_histograms`).  Pairs of columns of
two passive parties are products of their margins: no message.  Source: the project's own,
docs/vertical_trees.md; document 003 has no certified method.

What is protected: the features of each record at all passive parties together (unit ``features``, replace one, trust
model ``local``), against the active party and who gets the model.  Labels leave the active party encrypted only, so
they cost nothing as long as the cipher is not broken, the model is not deployed and the tables stay with the active
party: to others they are sums of its labels and features without noise of its own.  Both hold for parties that follow
the protocol: the certificate is about gradients of at most 1 (or the declared bound) with their hessians, and an owner
cannot see what it adds up; a forged gradient is outside of the claim.  Re-randomising hides the sums that a ciphertext
came from as far as short powers look random (less is assumed with ``full_exponents``).  Not protected: n, the edges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ....federation.cipher import Cipher
from ....federation.exchanges.homomorphic import paillier
from ....federation.exchanges.homomorphic.ciphertexts import concatenate, take
from ....federation.exchanges.homomorphic.paillier_keys import PrivateKey, PublicKey, shared_key
from ....federation.exchanges.homomorphic.slots import merge_slots
from ....federation.parties import Party
from ....federation.roles import parts_of, parts_with_labels, unprotected_value
from ....federation.run import Run
from ....models.criteria import CLASSES
from ....models.losses import class_derivatives, derivatives
from ....privacy.accounted_values import Clear
from ....privacy.mechanisms.discrete import DiscreteGaussian
from ....privacy.mechanisms.release import OBSERVER, OpenedIntegers, Release
from ....privacy.statistics.encrypted_integers import EncryptedIntegers
from ..codes import public_bins
from ..gradient_histograms import fit_outputs
from ..histograms.assemble import class_histograms, integers_of
from ..histograms.plan import HistogramPlan, histogram_plan
from ..histograms.slots import add_noise, drawn_masks, packed_sums, read, reveal, table_sums
from ..model import Ensemble, TreeEstimate, TreeFacts, TreeSpec
from ..options import TablesOptions
from .common import active_of, columns_of, local_codes, local_own_ensemble, local_residual_clip_share, passive_of
from .inference import score_held_out

FREE_KEY = "a public key, drawn before any data were read"


def local_boosted(active: Party, train: np.ndarray, spec: TreeSpec[TablesOptions], rng_for: Callable) -> Ensemble:
    """Trees on the active party's own columns."""
    data = local_codes(active, train, spec.options)
    return local_own_ensemble(active, train, data, spec.options, spec.public, rng_for)


def local_gradients(
    active: Party, train: np.ndarray, ensemble: Ensemble, facts: TreeFacts, plan: HistogramPlan
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients and hessians (outputs * n,) at the scores of the trees, class by class, as integers."""
    return integers_of(local_exact_gradients(active, train, ensemble, facts, plan), plan)


def local_numbers(
    active: Party, train: np.ndarray, ensemble: Ensemble, facts: TreeFacts, plan: HistogramPlan
) -> dict[str, float]:
    """Return the share of residuals that the public bound clips; nothing for classes, whose gradients are at most 1."""
    if facts.criterion == CLASSES:
        return {}
    gradients = local_exact_gradients(active, train, ensemble, facts, plan)
    return {"residual_clip_share": local_residual_clip_share(active, gradients, plan.bound)}


def local_exact_gradients(
    active: Party, train: np.ndarray, ensemble: Ensemble, facts: TreeFacts, plan: HistogramPlan
) -> np.ndarray:
    """Gradients (outputs * n,) at the scores of the trees, class by class, in the unit of the plan."""
    X = np.full((int(train.sum()), len(facts.columns)), np.nan)
    X[:, active.columns] = active.block["X"][train]
    scores, y = ensemble.scores(X), active.block["y"][train]
    if plan.outputs > 1:
        return np.asarray(class_derivatives(scores, y)[0].T.ravel())
    return derivatives(scores, y, facts.criterion)[0] / plan.unit


def local_records(
    active: Party, key: PrivateKey, records: tuple[np.ndarray, np.ndarray], plan: HistogramPlan, rng_for: Callable
) -> Cipher:
    """Gradient and hessian of every training record, side by side in one ciphertext, for each output."""
    rng = rng_for("gradient randomness", active.name)
    slots = merge_slots(records, plan.bits)
    return paillier.encrypt(key, slots, rng, key_holder=active.name, made_of=parts_of((active,)))


def release_name(party: str) -> str:
    """Name of the release of a passive party."""
    return f"tables of {party}"


def local_sums(
    passive: Party, train: np.ndarray, public: PublicKey, records: Cipher, plan: HistogramPlan
) -> tuple[Cipher, int]:
    """The sums of all public cells, packed, and how many additions they took."""
    share = plan.share(passive.name)
    codes = public_bins(passive.block["X"][train], [cuts.value for cuts in share.edges], share.missing).codes
    ciphers, additions, n = list[Cipher](), 0, len(codes)
    for output in range(plan.outputs):
        output_records = take(records, np.arange(output * n, (output + 1) * n))
        margins, joint, count = table_sums(public, output_records, codes, share)
        ciphers.append(packed_sums(public, margins, joint, plan))
        additions += count
    return concatenate(public, ciphers), additions


def local_histograms(
    passive: Party,
    public: PublicKey,
    sums: tuple[Cipher, int],
    plan: HistogramPlan,
    receiver: str,
    masked: bool,
    rng_for: Callable,
) -> Release | Clear:
    """All cells of a passive party with its noise: a release to the key holder.

    Without noise, or with gradients left open next to the hessians of pairs, it is unprotected.
    """
    (ciphers, _), share = sums, plan.share(passive.name)
    masks = drawn_masks(rng_for("table masks", passive.name), share, plan)
    masks = masks if masked else [0] * len(masks)

    def add(noise: np.ndarray) -> Cipher:
        return add_noise(public, ciphers, noise, masks, share, plan, rng_for("table randomness", passive.name))

    units, rng = plan.units(share), rng_for("table noise", passive.name)
    if not plan.sigma:
        open_sums = add(np.zeros(len(units), dtype=np.int64))
        return unprotected_value(open_sums, parts_with_labels(passive, receiver))
    parents = tuple(dict.fromkeys(name for edges in share.edges for name in edges.parents))
    closed = EncryptedIntegers(share.certificate, units, ciphers, partial(reveal, public, share, plan), parents=parents)
    release = DiscreteGaussian(sigma=plan.sigma).under_encryption(
        closed,
        add,
        rng,
        owner=passive.name,
        delta_numeric=share.mask_delta,
        release_id=release_name(passive.name),
        audience=(receiver,),
        trust_model="local",
    )
    return release if masked else unprotected_value(release.value, parts_with_labels(passive, receiver))


def local_model(
    active: Party,
    ensemble: Ensemble,
    records: tuple[np.ndarray, np.ndarray],
    key: PrivateKey,
    replies: Sequence[Cipher],
    plan: HistogramPlan,
    options: TablesOptions,
) -> tuple[Ensemble, dict[str, float]]:
    """The trees with a table for every passive column, from what was decrypted."""
    released = [
        read(paillier.decrypt(key, reply), share, plan) for reply, share in zip(replies, plan.shares, strict=True)
    ]
    if plan.sigma and (observer := OBSERVER.get()) is not None:
        for integers, share in zip(released, plan.shares, strict=True):
            observer.add_key(OpenedIntegers(release_name(share.party), integers))
    edges = dict(
        sorted((c, cuts.value) for share in plan.shares for c, cuts in zip(share.columns, share.edges, strict=True))
    )
    tables, numbers = fit_outputs(
        class_histograms(released, *records, plan), options, tuple(edges), tuple(edges.values())
    )
    return replace(ensemble, tables=tuple(table.times(plan.unit) for table in tables)), numbers


def local_cuts(passive: Party, plan: HistogramPlan) -> tuple[np.ndarray, ...]:
    """The declared cuts of a party's columns, by which it routes records where the model is deployed."""
    return tuple(edges.value for edges in plan.share(passive.name).edges)


def with_additions(estimate: TreeEstimate, sums: Mapping[str, tuple[Cipher, int]]) -> TreeEstimate:
    """Add the number of the owners' additions to an estimate."""
    additions = sum(additions for _, additions in sums.values())
    return replace(estimate, numbers=estimate.numbers | {"additions": additions})


def local_ensemble(active: Party, model: tuple[Ensemble, dict[str, float]]) -> Ensemble:
    """The model alone, for inference."""
    return model[0]


def active_estimate(
    model: tuple[Ensemble, dict[str, float]],
    clips: dict[str, float],
    scores: np.ndarray | None,
    n: int,
    plan: HistogramPlan,
    epsilon: float,
    options: TablesOptions,
) -> TreeEstimate:
    """The estimate: the target is what it claims."""
    ensemble, numbers = model
    returned = plan.outputs * sum(sum(plan.ciphertexts(share)) for share in plan.shares)
    costs = {
        "sigma": plan.sigma * plan.unit,
        "encryptions": n * plan.outputs,
        "decryptions": returned,
        "bytes_formula": (n * plan.outputs * len(plan.shares) + returned) * options.key_size // 4,
    }
    return TreeEstimate(ensemble, epsilon, scores, {**numbers, **costs, **clips})


def fit(run: Run) -> TreeEstimate:
    """Trees of the active party, one exchange of ciphertexts, tables, inference as the options state."""
    active, passive, train, spec = active_of(run.parties), passive_of(run.parties), run.fold.train, run.spec
    n, options = int(train.sum()), spec.options
    plan = run.everywhere(histogram_plan, spec, columns_of(passive), n, run.epsilon)
    address = "key", active.name
    key, public = shared_key(run, active, passive, options, kind=options.cipher, address=address, because=FREE_KEY)
    ensemble = run.at(active, local_boosted, train, spec, run.rng_for)
    records = run.at(active, local_gradients, train, ensemble, spec.public, plan)
    closed = run.broadcast(active, passive, "gradients", local_records, key, records, plan, run.rng_for)
    sums = run.each(passive, local_sums, train, public, closed, plan)
    inputs = (public, sums, plan, active.name, options.masked, run.rng_for)
    replies = run.gather(passive, active, "noisy histograms", local_histograms, *inputs)
    model = run.at(active, local_model, ensemble, records, key, replies, plan, options)
    scores = score_held_out(run, run.at(active, local_ensemble, model), run.each(passive, local_cuts, plan))
    clips = run.at(active, local_numbers, train, ensemble, spec.public, plan)
    estimate = run.at(active.name, active_estimate, model, clips, scores, n, plan, run.epsilon, options)
    return run.assemble(with_additions, estimate, sums)
