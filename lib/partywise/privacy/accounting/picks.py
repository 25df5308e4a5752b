"""Picks of the exponential mechanism, made one after the other: the distribution of losses that dominates all of them.

The losses of a pick of range r lie in an interval of length r. Against its worst neighbour they are t and t - r, with
probabilities p(t) = (e^r - e^t) / (e^r - 1) and 1 - p(t), for a t in [0, r] that may depend on all that was released
before (Dong, Durfee and Rogers 2020). With x the loss that is still missing for e, and the hockey stick at the end,

    V_T(x) = max(1 - e^x, 0),   V_k(x) = max over t of p(t) V_(k+1)(x - t) + (1 - p(t)) V_(k+1)(x - t + r),

the picks alone have delta(e) = V_0(e). With releases that are not picks, of loss L, delta(e) = E V_0(e - L): it holds
in any order of all releases, because it lets an adversary choose every t by L. Picks of several ranges count in the
worst of their orders. The family of pairs is closed under exchanging the two worlds, so that one direction is enough.

Every V is convex in e^x: chords between the points of a grid lie above it, and what is linear in e^x between points is
the profile of a distribution on these points. Where x is a point and x - t and x - t + r stay between two points each,
what is maximised is A + B e^t + C e^-t with B, C <= 0: its maximum is known, and no t is left out.
"""

import functools
import itertools
import math

import numpy as np

from .finite import Atoms
from .gaussian_profile import pure_mu

Picks = tuple[tuple[float, int], ...]

# Points of the grid for one range; for more picks than FEW, where each matters less.
POINTS, FEW = 32, 16
# Points on either side of 0, where that is enough for few picks of very different ranges.
LONGEST = 1024
# Picks, and numbers of picks of each range that can be left, that are followed one by one.
MOST = 64
# Ranges below count as Gaussians, ranges above as pure: differences on the grid lose digits, or nothing is gained.
RANGES = (1e-3, 20.0)
# Relative numerical error of a mass that is always charged.
SLACK = 1e-8


def divide_picks(picks: Picks) -> tuple[Picks, float, Picks]:
    """Divide picks (range, count) into those that `pick_atoms` takes, mu squared of others, and the rest, as pure.

    A pair of losses t and t - r is dominated by Gaussians of parameter ``pure_mu(r / 2)``: the logits of its two
    probabilities of the larger loss differ by r for every t, and so their probits differ most at t = r / 2.
    """
    exact, squares, pure = list[tuple[float, int]](), list[float](), list[tuple[float, int]]()
    for reach, count in sorted(picks, key=lambda pick: -pick[0] * pick[0] * pick[1]):
        if reach > RANGES[1]:
            pure.append((reach, count))
        elif reach < RANGES[0] or math.prod(number + 1 for _, number in [*exact, (reach, count)]) > MOST + 1:
            squares.append(count * pure_mu(reach / 2) ** 2)
        else:
            exact.append((reach, count))
    return tuple(sorted(exact)), math.fsum(squares) * (1 + SLACK), tuple(pure)


@functools.lru_cache(maxsize=1024)
def pick_atoms(picks: Picks) -> Atoms:
    """Return the distribution of losses whose profile is V_0 of these picks, rounded up."""
    points, values = picks_profile(picks)
    step = points[1] - points[0]
    rises = np.diff(values) / math.expm1(step)
    # e^x times the slope by e^x left and right of each point: -e^x left of all of them, 0 right of them.
    left = np.concatenate(([-math.exp(points[0])], rises * math.exp(step)))
    mass = np.concatenate((rises, [0.0])) - left
    occupied = mass > 0
    return Atoms(points[occupied], mass[occupied] * (1 + SLACK), 0.0)


def picks_profile(picks: Picks) -> tuple[np.ndarray, np.ndarray]:
    """Points x of the grid and V_0 at each of them, for picks as `divide_picks` leaves them."""
    reach, counts = math.fsum(r * count for r, count in picks), [count for _, count in picks]
    finest = max(POINTS if sum(counts) <= FEW else POINTS // 2, 32 * max(r for r, _ in picks))
    half = math.ceil(finest * reach / min(r for r, _ in picks) - 1e-6)
    half = min(half, max(LONGEST, POINTS // 2 * sum(counts)))
    step = reach / half
    points = np.arange(-half, half + 1) * step
    stages = {(0,) * len(picks): np.maximum(-np.expm1(points), 0.0)}
    for left in itertools.product(*(range(count + 1) for count in counts)):
        if any(left):
            after = [before_pick(stages[_less(left, k)], picks[k][0], half, step) for k, n in enumerate(left) if n]
            stages[left] = np.max(after, axis=0)
    return points, stages[tuple(counts)]


def _less(left: tuple[int, ...], kind: int) -> tuple[int, ...]:
    """Numbers of picks that are left after one of a kind."""
    return (*left[:kind], left[kind] - 1, *left[kind + 1 :])


def before_pick(values: np.ndarray, r: float, half: int, step: float) -> np.ndarray:
    """V before one more pick of range r, from V after it, at the points of the grid."""
    more = math.ceil(r / step) + 1
    outside = -np.expm1(np.arange(-half - more, -half) * step)
    padded = np.concatenate((outside, values, np.zeros(more + 1)))
    slopes = np.diff(padded) / math.expm1(step)
    intercepts = padded[:-1] - slopes
    # t at which x - t or x - t + r is a point, in steps; those that differ by rounding are one.
    steps = r / step
    edges = np.concatenate((np.arange(0, steps), np.arange(steps % 1, steps), [steps]))
    edges = np.unique(np.round(edges, 9))
    best = values.copy()
    for first, last in itertools.pairwise(edges):
        middle = (first + last) / 2
        low, high = math.floor(-middle), math.floor(steps - middle)
        i, j = (slice(more + shift, more + shift + len(values)) for shift in (low, high))
        with np.errstate(divide="ignore", invalid="ignore"):
            square = (slopes[i] * math.exp(r - low * step) - slopes[j] * math.exp(r - high * step)) / (
                intercepts[j] - intercepts[i]
            )
            turning = np.nan_to_num(np.log(square) / 2, nan=middle * step)
        for t in (first * step, last * step, np.clip(turning, first * step, last * step)):
            stay = np.exp(t) * np.expm1(r - t) / math.expm1(r)
            below = np.expm1(-t - low * step) / math.expm1(step)
            above = np.expm1(r - t - high * step) / math.expm1(step)
            after = padded[i] + below * (padded[i.start + 1 : i.stop + 1] - padded[i])
            other = padded[j] + above * (padded[j.start + 1 : j.stop + 1] - padded[j])
            np.maximum(best, stay * after + (1 - stay) * other, out=best)
    return best
