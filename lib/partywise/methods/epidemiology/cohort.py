"""Records of a made-up cohort with an exposure, an outcome, a score and two competing causes, and its question set."""

from __future__ import annotations

from math import inf

import numpy as np

from ...models.links import LOGIT
from .questions import Bands, Incidence, Questions

AGE, BODY_MASS = (20.0, 90.0), (15.0, 45.0)
HORIZON, BINS = 10.0, 12
SMOKING, EDUCATION, STAGE = ("never", "past", "now"), ("1", "2", "3", "4"), ("I", "II", "III", "IV")
BINARY = ("0", "1")


def draw_cohort(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return columns (n,) of a cohort whose outcome and causes depend on exposure, age and other columns."""
    age = np.clip(rng.normal(58, 12, n), *AGE)
    body_mass = np.clip(rng.normal(26.5, 4.2, n), *BODY_MASS)
    sex = rng.random(n) < 0.46
    education = rng.choice(EDUCATION, n, p=(0.22, 0.38, 0.27, 0.13))
    smoking = rng.choice((*SMOKING, ""), n, p=(0.45, 0.30, 0.20, 0.05))
    stage = rng.choice(STAGE, n, p=(0.35, 0.30, 0.22, 0.13))
    late, centred = np.isin(stage, STAGE[2:]), age - 58
    exposure = rng.random(n) < LOGIT.mean(-0.9 + 0.02 * centred + 0.3 * sex + 0.15 * (smoking == "now"))
    diabetes = rng.random(n) < LOGIT.mean(-2.2 + 0.02 * centred + 0.2 * exposure)
    hypertension = rng.random(n) < LOGIT.mean(-0.6 + 0.03 * centred)
    rare = rng.random(n) < 0.012 + 0.006 * exposure
    risk = -1.9 + 0.035 * centred + 0.35 * sex + 0.45 * exposure + 0.3 * late
    outcome = rng.random(n) < LOGIT.mean(risk)
    hazards = [0.035 * np.exp(0.5 * exposure + 0.02 * centred), 0.02 * np.exp(0.05 * centred), np.full(n, 1 / 18)]
    times = rng.exponential(size=(3, n)) / hazards
    first = times.argmin(axis=0)
    return {
        "exposure": exposure.astype(int),
        "outcome": outcome.astype(int),
        "sex": sex.astype(int),
        "smoking": smoking,
        "education": education,
        "stage": stage,
        "diabetes": diabetes.astype(int),
        "hypertension": hypertension.astype(int),
        "rare": rare.astype(int),
        "age": age,
        "body mass": body_mass,
        "score": LOGIT.mean(risk + rng.normal(0, 0.8, n)),
        "confounder": 2 * (age >= 50).astype(int) + 2 * (age >= 65) + sex,
        "years": times.min(axis=0),
        "cause": np.array(("first", "second", "censored"))[first],
    }


def cohort_questions() -> Questions:
    """Return the question set of a paper on the cohort: 14 items, 188 released numbers."""
    binary = ("sex", "diabetes", "hypertension", "rare")
    categories = {"smoking": SMOKING, "education": EDUCATION, "stage": STAGE, **dict.fromkeys(binary, BINARY)}
    return Questions(
        by="exposure",
        levels={
            "exposure": BINARY,
            "outcome": BINARY,
            "confounder": tuple(map(str, range(6))),
            "score": Bands([0.06 * band for band in range(10)] + [inf]),
        },
        table_one={**categories, "age": Bands([20, 30, *range(40, 75, 5), 80, 90])},
        means={"age": AGE, "body mass": BODY_MASS},
        cross=[("exposure", "outcome", "confounder"), ("outcome", "score")],
        incidence=[Incidence("years", "cause", ("first", "second"), HORIZON, BINS)],
        complete={"exposure", "outcome", "confounder", "score", "education", "stage", "age", *binary},
    )
