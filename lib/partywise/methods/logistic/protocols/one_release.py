"""Protocol: one noisy dot-product is released; everything after it is post-processing.

Source: document 002, "Weighted Aggregate Logistic Regression"; published or certified by its options.

What is protected: the label of each example, against the trainer and everyone the model reaches (unit ``label``,
``label_flip``).  Trust: with Gaussian noise the measurer sees all labels (``central``); with randomised response the
holder of each label randomises it before others see it (``local``).  Several holders of labels (``holders: rows``)
need no trust: each adds the whole numbers of its rows and a share of the noise under masks, and a server opens the sum
alone.  Not protected: the features, which the trainer shows to the measurers; the number of examples.  m labels of one
user cost m times as much, which the noise is planned for where the unit is ``user_label`` (the classic formula claims
for one label in any unit).

Message              from, to               payload
features             trainer, measurers     Clear
noise shape          trainer, measurers     Clear, with ``publish_shape``: all who see the release see it too
dot-product          measurers, server      several holders: words under masks (`noisy_sum`)
noisy dot-product    measurer or server,    Release
                     trainer
"""

from __future__ import annotations

import numpy as np

from ....federation.run import Run
from ..model import LabelEstimate, LabelSpec, ReleasePlan, delta_of, labels_of, local_features
from ..options import WalrOptions
from ..planner import declared_bound, fixed_plan, plan_label_dp, public_clip
from .releases import SumNoise, agreed_plan, fixed_sum_noise, released_dot_product, server_fit, shaped_sum_noise


def server_plan(X: np.ndarray, epsilon: float, spec: LabelSpec[WalrOptions], factor: float = 1.0) -> ReleasePlan:
    """Noise and ridge from the public features, by anyone who has them."""
    options, delta = spec.options, delta_of(spec)
    if options.ridge == "planned":
        distribution = {"shaped": "gaussian"}.get(options.noise, options.noise)
        return plan_label_dp(
            X,
            epsilon,
            delta,
            spec.settings.tau,
            distribution=distribution,
            group=labels_of(spec),
            clip_shape=options.publish_shape or options.holders == "rows",
            noise_factor=factor,
        )
    return fixed_plan(
        X,
        epsilon,
        delta,
        distribution="rr" if options.noise == "rr" else "gaussian",
        sigma=options.sigma,
        bound=declared_bound(options.bound, options.row_radius),
        ridge="fixed" if options.ridge == "fixed" else 0.0,
        radius=options.radius,
        group=labels_of(spec),
        noise_factor=factor,
    )


def public_noise(run: Run) -> SumNoise | None:
    """Clip of a row and mu of the noise of several holders, as a place without features knows them."""
    spec, options, facts = run.spec, run.spec.options, run.spec.public
    if options.holders == "one":
        return None
    if options.noise == "shaped":
        return shaped_sum_noise(facts.n_features, run.epsilon, spec)
    clip = public_clip(declared_bound(options.bound, options.row_radius))
    assert clip is not None
    return fixed_sum_noise(clip, facts.n_features, run.epsilon, spec)


def fit(run: Run) -> LabelEstimate:
    """Show the features, from which all make the same plan; release the dot-product once; fit on it."""
    trainer, *holders = run.parties
    spec = run.spec
    X = run.broadcast(trainer, holders, "features", local_features, run.fold.train)
    plan = agreed_plan(run, X, spec.public.n_features, server_plan)
    noisy_dot, plan = released_dot_product(run, X, plan, public_noise(run))
    return run.at(trainer.name, server_fit, X, noisy_dot, plan, spec.options, run.rng_for)
