"""Whether draws are as noisy as their events state: additive noise and randomised response by residuals, others by
attacks.

A mechanism that is not the library's is drawn on two neighbours and attacked; that it holds is shown by nothing here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.special import bdtr, gammainc

from ..privacy.accounting.compose import compose
from ..privacy.audit.sampling import audit
from ..privacy.mechanisms.release import MECHANISMS
from ..privacy.rounding import upward
from .replay import Call, Tape, distance, require

# Error rate of every test of the noise.
ALPHA = 1e-9
# Draws of a mechanism that is not the library's on each of two neighbours, and the error rate of what they show.
DRAWS, SAMPLED_ALPHA = 4000, 1e-6
# Residuals with fewer digits than this are equal by chance.
FINE = 1e-8
# Gaussian mechanisms that add their noise to the statistic itself.
ADDITIVE = ("gaussian", "symmetric_gaussian", "rounded_gaussian", "encrypted_rounded_gaussian")


def check_noise(tapes: Sequence[Tape]) -> None:
    """Check that draws are as noisy as the events state, in Gaussian and in randomised releases.

    A statistic that moves by r in a metric M at most, released at mu, has noise of a covariance of at least
    (r / mu)^2 M^-1 in every direction: the squares of the scaled residuals are at least chi-squared.
    """
    squares, entries = 0.0, 0
    for tape in tapes:
        seen: list[tuple[str, np.ndarray, float]] = []
        for call in tape.calls:
            residual = scaled_residual(call)
            if residual is None:
                _check_flips(call)
                continue
            seen.append((call.name, residual, _digits(call)))
            _enough(call.name, float(residual @ residual), residual.size)
            squares, entries = squares + float(residual @ residual), entries + residual.size
        _check_shared(seen)
    _enough("the releases of all runs together", squares, entries)


def check_made(tape: Tape) -> None:
    """Check that every release that was sent at a stated finite cost was drawn where an observer sees it."""
    followed = {call.event.release_id for call in tape.calls if call.event is not None}
    for event in tape.sent_releases:
        if event.certified and event.profile is not None and not event.profile.free:
            require(event.release_id in followed, f"{event.release_id} of {event.owner} was drawn by no mechanism")


def check_seeds(first: Tape, second: Tape) -> None:
    """Another seed draws other noise for every release of the same data."""
    for call, other_call in zip(first.calls, second.calls, strict=False):
        event = call.event
        if event is None or not event.certified or event.profile is None or event.profile.free:
            continue
        same = call.source is not None and call.source == other_call.source
        if call.mechanism == other_call.mechanism and _changes(call):
            same = same or np.array_equal(np.asarray(call.output), np.asarray(other_call.output))
        require(
            not same, f"{call.name} has the same noise for another seed, which the party that runs the program knows"
        )


def _changes(call: Call) -> bool:
    """Whether two draws of a release differ, except with a probability below the error rate."""
    event, size = call.event, np.asarray(call.output).size
    assert event is not None
    if call.mechanism in ADDITIVE:
        scale = call.bounded.certificate.value / event.mu if event.mu else 0.0
        return bool(0 < scale < np.inf and size and (call.step < scale / 1e10 or size > 64))
    if event.epsilon is None or event.k is None or not np.isfinite(event.epsilon):
        return False
    keeping = 1 / (1 + (event.k - 1) * np.exp(-event.epsilon))
    return bool(size * np.log(keeping**2 + (1 - keeping) ** 2 / max(event.k - 1, 1)) < np.log(ALPHA))


def _digits(call: Call) -> float:
    """Rounding errors of a residual in units of the noise, and its steps where it is a whole number of them."""
    assert call.event is not None and call.event.mu is not None
    largest = max(np.max(np.abs(part), initial=0.0) for part in (call.bounded.value, np.asarray(call.output, float)))
    scale, rounding = call.bounded.certificate.value / call.event.mu, float(np.spacing(largest))
    errors = 1e-13 + 16 * rounding / scale * (1 if call.bounded.certificate.metric is None else 1e3)
    return errors + call.step / scale


def _check_shared(seen: Sequence[tuple[str, np.ndarray, float]]) -> None:
    """No two releases of a run have noise in common: none from the beginning, and no two entries anywhere."""
    for place, (name, residual, digits) in enumerate(seen):
        for earlier, other, coarse in seen[:place]:
            size, tolerance = min(len(residual), len(other)), digits + coarse
            together = size > 0 and bool(np.all(np.abs(residual[:size] - other[:size]) <= tolerance))
            require(not together, f"{name} has the very noise of {earlier}")
    fine = [entry for entry in seen if entry[2] < FINE]
    if not fine:
        return
    sizes = [len(residual) for _, residual, _ in fine]
    noise = np.concatenate([residual for _, residual, _ in fine])
    order = np.argsort(noise, kind="stable")
    owner = np.repeat(np.arange(len(fine)), sizes)[order]
    errors = np.repeat([error for _, _, error in fine], sizes)[order]
    # Two of a pair of releases may be close by chance, with a probability of the square of a rounding error.
    close = (np.diff(noise[order]) <= errors[1:] + errors[:-1]) & (owner[1:] != owner[:-1])
    pairs = Counter(tuple(sorted(pair)) for pair in zip(owner[:-1][close], owner[1:][close], strict=True))
    for (first, second), count in pairs.items():
        require(count < 2, f"{fine[second][0]} has noise of {fine[first][0]} in {count} entries")


def scaled_residual(call: Call) -> np.ndarray | None:
    """Draws minus the statistic, over the least deviation that the event allows; None for other mechanisms."""
    event, certificate = call.event, call.bounded.certificate
    if call.mechanism not in ADDITIVE or event is None or event.mu is None or not 0 < event.mu < np.inf:
        return None
    value, drawn = np.atleast_1d(call.bounded.value), np.atleast_1d(np.asarray(call.output, dtype=float))
    require(bool(np.all(np.isfinite(drawn))), f"{call.name} is not finite")
    residual, scale = drawn - value, certificate.value / event.mu
    bare = np.count_nonzero((residual == 0) & (scale > 1e6 * np.spacing(np.abs(value))))
    # Noise of whole steps is 0 now and then.
    by_chance = bare == 0 or 1 - bdtr(bare - 1, residual.size, min(call.step / scale, 1.0)) > ALPHA
    require(bool(by_chance), f"{call.name} has {bare} entries without noise")
    if certificate.metric is not None:
        residual = residual @ np.linalg.cholesky(certificate.metric)
    if call.mechanism == "symmetric_gaussian":
        residual = residual[np.triu_indices(len(residual))]
    return np.asarray(residual.ravel() / scale)


def _enough(name: str, squares: float, entries: int) -> None:
    low = float(gammainc(entries / 2, squares / 2)) if entries else 1.0
    share = np.sqrt(squares / max(entries, 1))
    require(low > ALPHA, f"the noise of {name} is {share:.3g} of what its event states (probability {low:.1e})")


def untried_mechanisms(tape: Tape) -> tuple[set[str], set[str]]:
    """Names of the library's mechanisms whose noise `check_noise` does not look at, and of all others."""
    names = {call.mechanism for call in tape.calls if call.event is not None and call.event.certified}
    known = {*ADDITIVE, "randomized_response"}
    return (names & MECHANISMS) - known, names - MECHANISMS


def own_distance(first: Tape, second: Tape) -> float:
    """Largest move of a statistic of a mechanism that is not the library's, in units of its certificate."""
    pairs = zip(first.calls, second.calls, strict=True)
    statistics = [
        (call.bounded, other_call.bounded)
        for call, other_call in pairs
        if call.mechanism not in MECHANISMS and not call.closed
    ]
    return max(
        (distance(*pair) / pair[0].certificate.value for pair in statistics if pair[0].certificate.value), default=0.0
    )


def check_own_mechanisms(first: Tape, second: Tape, delta: float) -> None:
    """Draws of every mechanism that is not the library's, on two neighbours, do not refute the cost it states."""
    for call, other_call in zip(first.calls, second.calls, strict=True):
        event = call.event
        if call.mechanism in MECHANISMS or call.closed or event is None or not event.certified or event.profile is None:
            continue
        if not distance(call.bounded, other_call.bounded):
            continue
        claim = compose([event.profile], event.delta_numeric).epsilon(delta)
        # Both generators live at one address: the second goes beyond the numbers that the first will use.
        for _ in range(DRAWS):
            other_call.draw()
        # The world is a closure that draws: both have the same earlier releases.
        audited = audit(
            lambda draw, _: draw(),
            call.draw,
            other_call.draw,
            rng=0,
            delta=delta,
            draws=DRAWS,
            confidence=1 - SAMPLED_ALPHA,
        )
        require(
            not audited.refutes(claim),
            f"{call.name} states epsilon {upward(claim)} at delta {delta:g} by its mechanism {call.mechanism!r}, and "
            f"{DRAWS} draws "
            f"on each of two neighbours show at least {audited.epsilon_lower:.4g}",
        )


def _check_flips(call: Call) -> None:
    """Randomised labels are flipped as often as the event states."""
    event = call.event
    if event is None or event.epsilon is None or event.k is None:
        return
    value, drawn = np.asarray(call.bounded.value), np.asarray(call.output)
    if value.shape != drawn.shape or not np.all(np.isin(value, np.arange(event.k))):
        return
    flips, chance = int(np.count_nonzero(value != drawn)), (event.k - 1) / (event.k - 1 + np.exp(event.epsilon))
    low = float(bdtr(flips, value.size, chance))
    require(low > ALPHA, f"{call.name} flips {flips} of {value.size} entries (probability {low:.1e})")
