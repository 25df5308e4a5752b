"""Seed 002, label-private logistic regression: one noisy sum of features weighted by labels."""

from __future__ import annotations

from ...audits.exposure import Exposure, Task
from ...audits.pairs import GaussianPair
from ...audits.worlds import World
from ...privacy.mechanisms.gaussian import Gaussian
from ...privacy.statistics.bounded import Bounded
from ...privacy.statistics.records import label_dot_product


def label_sum(task: Task) -> Exposure:
    """X'y / N plus N(0, sigma^2 I), sigma = max ||x_i|| / N sqrt(2 log(1.25 / delta)) / epsilon; repaired: analytic.

    The guarantee is about one label; the features are public to whoever measures the labels.
    """
    first = _sum(task.worst[0])
    noise = first.certificate.value * task.multiplier
    release = Gaussian(sigma=noise)(
        first, task.noise(), owner=task.owners[0], epsilon_claimed=task.epsilon, trust_model="label"
    )
    pairs = task.pairs(lambda one, other: GaussianPair(_sum(one).value, _sum(other).value, noise))
    return Exposure(task.sent("label dot product", release), pairs, {"noise_sd": noise})


def _sum(world: World) -> Bounded:
    return label_dot_product(world.x, world.y)
