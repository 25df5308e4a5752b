"""A claim of nobody's document, outside the package: one object in one file, with its neighbours and its mechanism."""

from __future__ import annotations

import numpy as np

from partywise.audits.exposure import Exposure, Task
from partywise.audits.pairs import ClearPair, GaussianPair
from partywise.audits.worlds import AuditData, World
from partywise.experiment.claims import Claim, ClaimSettings, Document, Mechanism
from partywise.experiment.study import Lazy
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.statistics.moments import record_sum


def ones(settings, spec, rng_for, resources) -> AuditData:
    """A one becomes a minus one; ordinarily a small number becomes another."""
    x = np.zeros((4, settings.n, 1))
    x[0, 0], x[1, 0] = 1.0, -1.0
    x[2:, 0, 0] = rng_for("ordinary").random(2)
    return AuditData(x, np.zeros((4, settings.n)))


def count(world: World) -> np.ndarray:
    return world.x.sum(axis=0)


def as_it_is(task: Task) -> Exposure:
    """The sum in the clear."""
    pairs = task.pairs(lambda one, other: ClearPair(count(one), count(other)))
    return Exposure({0: Clear(count(task.worst[0]), units=("row",), owner=task.owner)}, pairs)


def with_noise(task: Task) -> Exposure:
    """The sum with noise for a sensitivity of 2."""
    noise = 2 * task.analytic
    bounded = record_sum(task.worst[0].x, Public(1.0, because="records are numbers between -1 and 1"))
    release = Gaussian(sigma=noise)(bounded, task.noise(), owner=task.owner, epsilon_claimed=task.epsilon)
    return Exposure({0: release}, task.pairs(lambda one, other: GaussianPair(count(one), count(other), noise)))


CLAIM = Claim(
    name="toy_sum",
    document=Document("toy", "toy"),
    title="sum of {n} numbers",
    remedy="noise",
    states="free",
    settings=ClaimSettings,
    generate=Lazy("toy_claim:ones"),
    published=Mechanism("sum", Lazy("toy_claim:as_it_is")),
    correction=Mechanism("sum", Lazy("toy_claim:with_noise")),
)
