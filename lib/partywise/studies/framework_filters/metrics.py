"""All scalars of one cell: how good the model is, what the ledger certifies of its layer, and what attacks get."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...core.randomness import stream
from ...methods.filters.guarantees import mask_bits, unreachable
from ...methods.filters.layers.flower import local_sd
from ...methods.filters.layers.masks import MODULUS
from ...methods.filters.model import FilterEstimate
from ...methods.filters.options import FedavgOptions, MasksOptions, RowGradientsOptions, StatisticsOptions
from ...methods.filters.training import local_updates
from ...models.links import LOGIT
from ...privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from .attacks import (
    Identification,
    SeedSearch,
    extremes_jobs,
    identify,
    identify_gradient,
    pair_mask,
    read_histograms,
    recovered_entries,
    search_seeds,
    unknown_patient,
)
from .data import FilterData
from .judgements import judgements
from .measures import FilterExamples, FilterMeasures

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from ...privacy.ledger.ledger import Ledger
    from .study import FilterConstants

    FilterSpec = MethodSpec[object, FilterConstants, object]

KEY_BITS = 256
LEAST_BITS = 14
# Noisy floats of which the impossible ones are counted.
FLOATS = 20_000


def metrics(estimate: FilterEstimate, data: FilterData, train: np.ndarray, spec: FilterSpec) -> FilterMeasures:
    """Scalars of one fit."""
    options = spec.options
    if isinstance(options, StatisticsOptions):
        read, jobs = read_histograms(estimate, data)
        return FilterMeasures(recovered_share=read, jobs_needed=jobs, extremes_jobs=extremes_jobs(estimate, data))
    if isinstance(options, MasksOptions):
        return _search_measures(estimate, data, options)
    measures = _quality(estimate, data, ~train)
    if len(estimate.clips):
        measures |= FilterMeasures(clip_last=float(estimate.clips[-1]))
    if isinstance(options, FedavgOptions) and options.layer == "local_dp" and math.isfinite(estimate.epsilon_claimed):
        noise = local_sd(options.shift, estimate.epsilon_claimed, spec.study.delta)
        outputs = stream(data.key, "floats").normal(-options.bound, noise, FLOATS)
        measures |= FilterMeasures(impossible_share=float(unreachable(outputs, options.bound).mean()))
    if is_attacked(data, options):
        share, left = identification(data, estimate.epsilon_claimed, spec, spec.study.targets)
        measures |= FilterMeasures(identified_share=float(share.mean()), candidates_left=float(left.mean()))
    return measures | FilterMeasures(n_train=data.n_train, n_protected=data.n_train)


def ledger_measures(ledger: Ledger, names: tuple[str, ...], spec: FilterSpec) -> FilterMeasures:
    """Return what holds against those from whom the layer protects: all but a server that adds noise, or all."""
    options, delta = spec.options, spec.study.delta
    if isinstance(options, StatisticsOptions):
        return FilterMeasures(certified_held=math.inf)
    if isinstance(options, MasksOptions):
        return FilterMeasures(
            certified_held=math.inf, secrecy_bits_claimed=float(KEY_BITS), secrecy_bits_held=float(mask_bits(KEY_BITS))
        )
    unit = getattr(options, "unit", "user")
    if isinstance(options, FedavgOptions) and options.central:
        epsilon = ledger.worst_total([name for name in names if name != "server"], unit, delta).epsilon_certified
    else:
        epsilon = ledger.worst_total(names, unit, delta).epsilon_certified
    zero_out = None
    if math.isfinite(epsilon) and isinstance(options, FedavgOptions) and options.layer != "svt":
        zero_out = float(gaussian_epsilon(float(gdp_mu(epsilon, delta)) / 2, delta))
    return FilterMeasures(certified_held=float(epsilon), epsilon_zero_out=zero_out)


def _quality(estimate: FilterEstimate, data: FilterData, test: np.ndarray) -> FilterMeasures:
    """Accuracy and loss on the records that test."""
    margins, y = data.X[test] @ estimate.coefficients, data.y[test].astype(float)
    share = float(y.mean())
    return FilterMeasures(
        accuracy=float(np.mean((margins > 0) == (y > 0.5))),
        log_loss=float(np.mean(LOGIT.log_loss(margins, y))),
        majority=max(share, 1 - share),
    )


def is_attacked(data: FilterData, options: object) -> bool:
    """Whether clients are natural, and what one sends reaches an observer from whom it should be protected."""
    return bool(len(data.holder)) and not (isinstance(options, FedavgOptions) and options.central)


def identification(
    data: FilterData, epsilon: float, spec: FilterSpec, targets: int, *, late: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of unknown patients that are named from one update, and the candidates left, per hospital.

    late : whether the coefficients of the round are those of training without a layer, or 0
    """
    shares, left = np.zeros(len(data.names)), np.zeros(len(data.names))
    for hospital in range(len(data.names)):
        n, rng = int(np.count_nonzero(data.holder == hospital)), stream(data.key, "unknown patients", hospital)
        places = rng.choice(n, min(targets, n), replace=False).tolist()
        outcomes = [_identify_patient(data, hospital, place, epsilon, spec, rng, late) for place in places]
        shares[hospital] = np.mean([outcome.named for outcome in outcomes])
        left[hospital] = np.mean([outcome.candidates for outcome in outcomes])
    return shares, left


def _identify_patient(
    data: FilterData,
    hospital: int,
    place: int,
    epsilon: float,
    spec: FilterSpec,
    rng: np.random.Generator,
    late: bool,
) -> Identification:
    """One attack; updates are the same for all layers."""
    options, delta = spec.options, spec.study.delta
    unknown = unknown_patient(data, hospital, place, late)
    if isinstance(options, RowGradientsOptions):
        return identify_gradient(unknown, options, epsilon, delta, rng)
    assert isinstance(options, FedavgOptions)
    key = f"{hospital} {place} {late} {options.steps} {options.step}"
    if key not in data.memo:
        data.memo[key] = unknown.updates(options.steps, options.step)
    noise = 0.0
    if options.layer == "local_dp":
        noise = local_sd(options.shift, epsilon, delta)
    elif options.layer == "certified":
        noise = 2 * options.bound / float(gdp_mu(epsilon, delta))
    elif options.layer == "biomed_central":
        noise = options.multiplier * options.bound
    return identify(data.memo[key], unknown.truth, options, noise, rng)


@lru_cache(maxsize=8)
def _search(words: tuple[int, ...], bits: int) -> SeedSearch:
    """Measures and arrays of a fit ask for the same searches."""
    return search_seeds(np.array(words), bits)


def _search_measures(estimate: FilterEstimate, data: FilterData, options: MasksOptions) -> FilterMeasures:
    """Return what a search of the planted range finds of the first client's update."""
    rows = int(data.client_rows[0])
    X, y = data.X[None, :rows], data.y[None, :rows].astype(float)
    (update,) = local_updates(np.zeros(X.shape[-1]), X, y, options.steps, options.step)
    search = _search(tuple(estimate.words.tolist()), options.bits)
    return FilterMeasures(
        recovered_share=recovered_entries(search, update, rows),
        keys_tried=float(1 << options.bits),
        hits=float(len(search.hits)),
    )


def example_fits(estimate: FilterEstimate, data: FilterData, train: np.ndarray, spec: FilterSpec) -> FilterExamples:
    """Return shares of named patients in the first and the last round, paths of clips, and the arrays of masks."""
    options = spec.options
    if isinstance(options, MasksOptions):
        claim, epsilon, zero_out, lower = np.array(judgements(spec.study.delta)).T
        return _searches(estimate, options) | FilterExamples(
            line_claim=claim, line_epsilon=epsilon, line_zero_out=zero_out, line_lower=lower
        )
    examples = FilterExamples()
    if len(estimate.clips):
        examples |= FilterExamples(clip_path=estimate.clips, norm_path=estimate.norms)
    if isinstance(options, FedavgOptions | RowGradientsOptions) and is_attacked(data, options):
        targets = spec.study.example_targets
        pairs = [identification(data, estimate.epsilon_claimed, spec, targets, late=late) for late in (False, True)]
        examples |= FilterExamples(
            identified_shares=np.column_stack([pair[0] for pair in pairs]),
            left=np.column_stack([pair[1] for pair in pairs]),
        )
    return examples


def _searches(estimate: FilterEstimate, options: MasksOptions) -> FilterExamples:
    """Searches of smaller ranges, in each of which the seed is planted anew."""
    known = _search(tuple(estimate.words.tolist()), options.bits)
    if not known.hits:
        return FilterExamples()
    bits = np.arange(LEAST_BITS, options.bits + 1, 2)
    searches = []
    for number in bits.tolist():
        seed = known.hits[0] % (1 << number)
        words = (known.integers + pair_mask(seed, len(known.integers))) % MODULUS
        searches.append(_search(tuple(words.tolist()), number))
    return FilterExamples(
        search_bits=bits.astype(float),
        search_left=np.array([float(search.left) for search in searches]),
        search_hits=np.array([float(len(search.hits)) for search in searches]),
    )
