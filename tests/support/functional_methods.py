"""Every way in which a functional protocol can go: options, number of parties, target."""

from __future__ import annotations

from functools import partial

from partywise.methods.functional.options import (
    BaselineOptions,
    CentralOptions,
    CurveMomentsOptions,
    CurvePublishedOptions,
    LocalOptions,
    RoundwiseOptions,
)

INF = float("inf")
CALIBRATED = {"s_mode": "calibrated", "max_steps": 6}
ROUNDS = {"max_steps": 4}
SIZED = partial(CurveMomentsOptions, cipher="sized")

METHODS = {
    "mean": (BaselineOptions(kind="mean"), 2, INF),
    "least squares": (BaselineOptions(kind="least_squares"), 3, INF),
    "oracle": (BaselineOptions(kind="oracle"), 2, INF),
    "no noise": (LocalOptions(noise="none", max_steps=6), 2, INF),
    "no noise and a radius": (LocalOptions(noise="none", radius="quantile", max_steps=6), 2, INF),
    "fixed": (LocalOptions(s=0.4, max_steps=6), 2, INF),
    "a noise for each predictor": (LocalOptions(s=(0.4, 0.0, 0.3, 0.2), max_steps=6), 3, INF),
    "by party": (LocalOptions(s=0.4, learner="party", max_steps=6), 2, INF),
    "root of parties": (LocalOptions(s=0.4, s_mode="sqrt_j", claim="source", max_steps=6), 3, INF),
    "calibrated": (LocalOptions(**CALIBRATED), 2, 8.0),
    "rho": (LocalOptions(rho_total=40.0, radius_value=2.0, **CALIBRATED), 4, INF),
    "classic": (LocalOptions(calibration="classic", **CALIBRATED), 2, 8.0),
    "no target": (LocalOptions(**CALIBRATED), 2, INF),
    "radii in the clear": (LocalOptions(s=0.4, radius="quantile", max_steps=6), 2, INF),
    "radii in the clear, shared": (LocalOptions(radius="quantile", **CALIBRATED), 3, 8.0),
    "radii in the clear, classic": (LocalOptions(radius="quantile", calibration="classic", **CALIBRATED), 2, 8.0),
    "private radii": (LocalOptions(radius="dp_quantile", **CALIBRATED), 3, 8.0),
    "private radii of one owner": (LocalOptions(radius="dp_quantile", **CALIBRATED), 1, 8.0),
    "private radii, classic": (LocalOptions(radius="dp_quantile", calibration="classic", **CALIBRATED), 2, 8.0),
    "private radii, gram": (LocalOptions(radius="dp_quantile", geometry="gram", **CALIBRATED), 2, 8.0),
    "private radii, raw": (LocalOptions(radius="dp_quantile", coordinates="raw", **CALIBRATED), 2, 8.0),
    "private radii without a target": (LocalOptions(radius="dp_quantile", **CALIBRATED), 2, INF),
    "private radii, each fit": (LocalOptions(radius="dp_quantile", release="per_fit", **CALIBRATED), 2, 8.0),
    "gram": (LocalOptions(s=0.3, geometry="gram", max_steps=6), 2, INF),
    "raw": (LocalOptions(s=0.3, coordinates="raw", max_steps=6), 2, INF),
    "directions": (LocalOptions(s=0.3, directions=3, penalty="none", max_steps=6), 2, INF),
    "each fit": (LocalOptions(s=0.3, release="per_fit", max_steps=6), 2, INF),
    "noisy response": (LocalOptions(s=0.3, sy=0.2, y_radius=3.0, max_steps=6), 2, INF),
    "noisy response, each fit": (LocalOptions(s=0.3, sy=0.2, y_radius=3.0, release="per_fit", max_steps=6), 2, INF),
    "criterion with probes": (LocalOptions(s=0.3, stop="aicc", df="hutchinson", max_steps=6), 2, INF),
    "no halves": (LocalOptions(s=0.3, stop="aic", crossfit="none", max_steps=6), 2, INF),
    "published": (CurvePublishedOptions(), 2, INF),
    "published, calibrated": (CurvePublishedOptions(s_mode="calibrated"), 2, 8.0),
    "published, noisy response": (CurvePublishedOptions(sy=0.2, y_radius=3.0), 2, INF),
    "published, radius of the response": (CurvePublishedOptions(sy=0.2, y_radius="quantile"), 2, INF),
    "published, its solver": (CurvePublishedOptions(solver="kronecker", stop="aic", probes=3), 2, INF),
    "published, public radius": (CurvePublishedOptions(s_mode="calibrated", radius="public"), 3, 8.0),
    "joint": (CentralOptions(s=0.4), 2, INF),
    "joint, no noise": (CentralOptions(noise="none"), 2, INF),
    "joint, private radii": (CentralOptions(s_mode="calibrated", radius="dp_quantile"), 2, 8.0),
    "rounds": (RoundwiseOptions(s=0.4, **ROUNDS), 2, INF),
    "rounds, last": (RoundwiseOptions(s=0.4, memory="last", **ROUNDS), 3, INF),
    "rounds, by party": (RoundwiseOptions(s=0.4, learner="party", **ROUNDS), 2, INF),
    "rounds, no noise": (RoundwiseOptions(s=0.0, **ROUNDS), 2, INF),
    "rounds, some noise": (RoundwiseOptions(s=(0.4, 0.0, 0.3, 0.2), **ROUNDS), 2, INF),
    "rounds, raw": (RoundwiseOptions(s=0.4, coordinates="raw", **ROUNDS), 2, INF),
    "rounds, soon stopped": (RoundwiseOptions(s=3.0, max_steps=12, patience=1), 2, INF),
    "rounds, calibrated": (RoundwiseOptions(s_mode="calibrated", **ROUNDS), 2, 8.0),
    "rounds, classic": (RoundwiseOptions(s_mode="calibrated", calibration="classic", **ROUNDS), 2, 8.0),
    "rounds, root of parties": (RoundwiseOptions(s=0.4, s_mode="sqrt_j", claim="source", **ROUNDS), 2, INF),
    "rounds, radii": (RoundwiseOptions(s=0.4, radius="quantile", **ROUNDS), 2, INF),
    "rounds, radii shared": (RoundwiseOptions(s_mode="calibrated", radius="quantile", **ROUNDS), 3, 8.0),
    "rounds, radii of one owner": (RoundwiseOptions(s_mode="calibrated", radius="quantile", **ROUNDS), 1, 8.0),
    "moments": (SIZED(max_steps=6), 2, 200.0),
    "moments, by party": (SIZED(learner="party", max_steps=6), 3, 200.0),
    "moments, no noise": (SIZED(max_steps=6), 2, INF),
    "moments, other radii": (SIZED(radius_value=2.0, response_radius=3.0, max_steps=6), 2, 200.0),
    "moments, no margin": (SIZED(margin="none", shares=(0.6, 0.3, 0.1), max_steps=6), 4, 200.0),
    "moments, dealer": (CurveMomentsOptions(dealer="dealer", max_steps=6), 3, 200.0),
    "moments, directions": (SIZED(directions=3, penalty_scale="none", max_steps=6), 2, 200.0),
    "moments, no halves": (SIZED(margin="none", stop="aic", crossfit="none", max_steps=6), 2, 200.0),
}  # fmt: skip
