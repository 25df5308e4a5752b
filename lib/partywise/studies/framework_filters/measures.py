"""Quality of a model, privacy that its layer states and has, and results of attacks on what was sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...experiment.measures import ACCURACY, LOG_LOSS, N_TRAIN, RECOVERED_SHARE, ExampleFits, Measures, example, measure

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class FilterMeasures(Measures):
    """Numbers of a fit; those of the summary come first, in its order."""

    accuracy: float | None = measure(ACCURACY, summary=True, headline=1)
    certified_held: float | None = measure(
        "epsilon of the whole run that holds in exact arithmetic, for whom the layer protects from: replacing one "
        "client, or one record where the layer protects records",
        heading="epsilon that holds",
        better="lower",
        headline=2,
        certified=True,
    )
    identified_share: float | None = measure(
        "share of unknown patients that who knows all others names from one update of the first round",
        heading="patients identified",
        better="lower",
        summary=True,
    )
    recovered_share: float | None = measure(RECOVERED_SHARE, summary=True)
    jobs_needed: float | None = measure(
        "histograms that read all values of the largest hospital", heading="histograms needed", summary=True
    )
    keys_tried: float | None = measure("seeds of a mask that were tried", heading="seeds tried", summary=True)
    log_loss: float | None = measure(LOG_LOSS)
    majority: float | None = measure("share of test rows with the more frequent label")
    epsilon_zero_out: float | None = measure("certified_held if an update became zero, for Gaussian noise")
    clip_last: float | None = measure("clip after the last round")
    candidates_left: float | None = measure("patients that give the same update, where the layer adds no noise")
    extremes_jobs: float | None = measure(
        "noisy extremes until one whole number is left, median over columns of the largest hospital"
    )
    impossible_share: float | None = measure(
        "share of noisy floats of an entry at one end of the clip that no noise makes of the other end: above delta, "
        "certified_held is of exact arithmetic alone"
    )
    hits: float | None = measure("seeds under which every word is a possible one")
    secrecy_bits_claimed: float | None = measure("bits of the key that a mask is made from")
    secrecy_bits_held: float | None = measure("bits of the seed that a mask is made from, at most")
    n_train: int | None = measure(N_TRAIN)


@dataclass(frozen=True, kw_only=True)
class FilterExamples(ExampleFits):
    """Arrays of an example fit."""

    identified_shares: np.ndarray | None = example(
        "share of unknown patients that are named, in the first round and at trained coefficients", "hospital", "time"
    )
    left: np.ndarray | None = example("patients that give the same update", "hospital", "time")
    clip_path: np.ndarray | None = example("clip of each round", "round")
    norm_path: np.ndarray | None = example("median length of an update in each round", "trained_round")
    search_bits: np.ndarray | None = example("bits below which a seed was planted", "search")
    search_left: np.ndarray | None = example("seeds that the first word leaves", "search")
    search_hits: np.ndarray | None = example("seeds that all words leave", "search")
    line_claim: np.ndarray | None = example("epsilon that is said, of each line", "line")
    line_epsilon: np.ndarray | None = example("epsilon that holds, of each line", "line")
    line_zero_out: np.ndarray | None = example("epsilon that holds if an update became zero, of each line", "line")
    line_lower: np.ndarray | None = example("lower bound of epsilon, of each line", "line")
