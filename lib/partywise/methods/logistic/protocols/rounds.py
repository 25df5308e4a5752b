"""Protocol: fresh noise on the labels in every step of gradient descent, the usual alternative to one release.

Comparators F (all records in every round) and S (Poisson samples, accounted with amplification) of the study.  Since
the label part of the gradient does not depend on theta, all rounds are released at once and nothing is lost by it.

What is protected, and from whom, is as in ``one_release`` (central).  With sampling the measurer keeps secret which
records are in a round.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....federation.parties import Party
from ....federation.run import Run
from ....models.intervals import Intervals, reason_of
from ....models.objective import Objective
from ....privacy.mechanisms.release import Release
from ..model import LabelEstimate, LabelSpec, ReleasePlan, delta_of, labels_of, local_features
from ..noise import OVERSHOT, descent_deviations
from ..options import RoundsOptions
from ..planner import declared_bound, label_noise_plan
from ..release import release_dot_product
from ..trainers import gradient_descent, has_minimiser
from .releases import local_count_of_shrunk


def local_rounds(measurer: Party, train: np.ndarray, X: np.ndarray, plan: ReleasePlan, rng_for: Callable) -> Release:
    """The noisy dot-products (T, k) of all rounds."""
    y = measurer.block["y"][train]
    local_count_of_shrunk(measurer, X, plan)
    return release_dot_product(X, y, plan, rng_for("rounds"), owner=measurer.name, release_id="dot-products")


def server_plan(X: np.ndarray, epsilon: float, spec: LabelSpec[RoundsOptions]) -> ReleasePlan:
    """Noise of all rounds from the public features, by anyone who has them."""
    options = spec.options
    bound = declared_bound(options.bound, options.row_radius)
    plan = options.rounds, options.rate
    return label_noise_plan(X, epsilon, delta_of(spec), *plan, bound=bound, group=labels_of(spec))


def server_descent(
    X: np.ndarray, noisy_dots: np.ndarray, plan: ReleasePlan, options: RoundsOptions, rng_for: Callable
) -> LabelEstimate:
    """Gradient descent at every learning rate; the path with the least objective under the mean release.

    ``bounded`` states whether that objective has a minimiser at all: the steps end whether or not it has.

    The choice reads releases only, so it costs nothing.  With sampled labels the trainer's predictions are of batches
    of the same size, its own and public.
    """
    batch = max(1, int(options.rate * len(X))) if options.rate < 1 else None
    objective = Objective(X, noisy_dots.mean(0), np.zeros(X.shape[1]), plan.link)
    smooth = float(np.linalg.eigvalsh(X.T @ X / len(X))[-1]) * plan.link.largest_slope
    paths = []
    for rate in options.learning_rates:
        learning_rate = rate or 1 / smooth
        rng = rng_for("mini-batches")
        theta = gradient_descent(X, noisy_dots, learning_rate, rng, batch_size=batch, link=plan.link)
        paths.append((objective.at(theta), learning_rate))
    point, learning_rate = min(paths, key=lambda path: path[0].value)
    numbers: dict[str, float | int | str] = {
        "steps": options.rounds,
        "learning_rate": learning_rate,
        "chosen_distribution": "gaussian",
    }
    errors = descent_deviations(X, point.theta, plan, learning_rate, options.rounds)
    return LabelEstimate(
        point.theta,
        plan.epsilon_claimed,
        numbers=numbers | {"bounded": has_minimiser(objective, point)},
        noise_errors=errors,
        noise_errors_reason=OVERSHOT if errors is None else "",
        link=plan.link,
        intervals=Intervals(reason=reason_of("not at an optimum")),
    )


def fit(run: Run) -> LabelEstimate:
    """Show the features, release a noisy dot-product for every round, descend."""
    trainer, measurer = run.parties
    train, options = run.fold.train, run.spec.options
    X = run.send(trainer, measurer, "features", local_features, train)
    plan = run.everywhere(server_plan, X, run.epsilon, run.spec)
    noisy_dots = run.send(measurer, trainer, "noisy dot-products", local_rounds, train, X, plan, run.rng_for)
    return run.at(trainer.name, server_descent, X, noisy_dots, plan, options, run.rng_for)
