"""Every estimator reports what became of its fit: a status, a sentence and one warning, which stay with the records."""

from __future__ import annotations

import inspect
import json
import warnings

import numpy as np
import pytest

import partywise as pw
from partywise.core.verdicts import REFUSED, STATUSES, WARNED, intervals_verdict
from partywise.deployment.session.outcome import outcomes
from partywise.federation.estimators.estimator import Estimator
from partywise.federation.parties import Party, clip_shares, largest_clip_shares
from partywise.methods.glm.model import GlmFacts
from partywise.methods.glm.noisy_statistics.scaling import local_scaled_block

rng = pw.stream(1, "verdicts")
N = 400
X = rng.uniform(-1, 1, size=(N, 3))
RESPONSE = X[:, 0] + X[:, 1]
LABELS = RESPONSE > 0
CURVES = X[:, :, None] / 2
DURATIONS = rng.exponential(size=N)
SLICING = {"epsilon": 4.0, "edges": (-0.5, 0.5), "parties": 2, "random_state": 1}
GLM = {"epsilon": 4.0, "location": 0.0, "scale": 1.0, "radii": (1.5, 1.5), "statistic": (-2, 2), "cipher": "sized"}
COX = {"epsilon": 8.0, "horizon": 2.0, "centre": [0] * 3, "scale": [1] * 3, "parties": 2, "random_state": 1}
TREES = {"epsilon": 4.0, "cipher": "sized", "num_of_trees": 2, "random_state": 1, "parties": [[0, 1], [2]]}
EDGES = {"public_edges": [[-0.5, 0.5]] * 3}
# A fit of each public estimator that goes well, of columns times a factor.
FITS = {
    pw.VerticalGLM: lambda x: pw.VerticalGLM(parties=2, random_state=1).fit(x, RESPONSE + 0.1 * rng.normal(size=N)),
    pw.VerticalLinear: lambda x: pw.VerticalLinear("pooled", random_state=1).fit(x, LABELS),
    pw.VerticalPCA: lambda x: pw.VerticalPCA(random_state=1).fit(x),
    pw.VerticalBoosting: lambda x: pw.VerticalBoosting(**TREES, **EDGES).fit(x, LABELS),
    pw.SlicedInverseRegression: lambda x: pw.SlicedInverseRegression(**SLICING).fit(x, RESPONSE),
    pw.FunctionalBoosting: lambda x: pw.FunctionalBoosting(
        "baseline", kind="least_squares", parties=2, random_state=1
    ).fit(x[:, :, None], RESPONSE[:, None] + 0.1 * rng.normal(size=(N, 1))),
    pw.LabelPrivateLogisticRegression: lambda x: pw.LabelPrivateLogisticRegression(epsilon=8.0, random_state=1).fit(
        x, LABELS
    ),
    pw.FederatedLogistic: lambda x: pw.FederatedLogistic(epsilon=8.0, parties=2, random_state=1).fit(x, LABELS),
    pw.FederatedKaplanMeier: lambda x: pw.FederatedKaplanMeier(epsilon=8.0, horizon=2.0, parties=2, random_state=1).fit(
        DURATIONS
    ),
    pw.FederatedCox: lambda x: pw.FederatedCox(**COX).fit(x, DURATIONS),
    pw.FederatedEpidemiology: lambda x: pw.FederatedEpidemiology(
        pw.Questions(means={"x": (-1, 1)}), epsilon=8.0, parties=2, random_state=1
    ).fit({"x": x[:, 0]}),
}
# Fits that clip columns (or curves) to public bounds, of columns times a factor.
CLIPPING = {
    "slicing": lambda x, **more: pw.SlicedInverseRegression(**SLICING, **more).fit(x, RESPONSE),
    "slicing, whitened": lambda x, **more: pw.SlicedInverseRegression("whitened", **SLICING, **more).fit(x, RESPONSE),
    "curves": lambda x, **more: pw.FunctionalBoosting(
        s=0.5, radius_value=0.6, max_steps=2, parties=2, random_state=1, **more
    ).fit(x[:, :, None] / 2, X[:, :1]),
    "moments of curves": lambda x, **more: pw.FunctionalBoosting(
        "moments",
        epsilon=8.0,
        radius_value=0.6,
        response_radius=2.0,
        cipher="sized",
        max_steps=2,
        parties=2,
        random_state=1,
        **more,
    ).fit(x[:, :, None] / 2, X[:, :1]),
    "glm": lambda x, **more: pw.VerticalGLM("gaussian", "moments", random_state=1, **GLM, **more).fit(x, RESPONSE),
    "glm, newton": lambda x, **more: pw.VerticalGLM(
        "gaussian",
        "noisy_newton",
        random_state=1,
        eta_start=0.0,
        steps=2,
        **{k: v for k, v in GLM.items() if k != "cipher"},
        **more,
    ).fit(x, RESPONSE),
    "cox": lambda x, **more: pw.FederatedCox(**COX, **more).fit(x, DURATIONS),
    "trees": lambda x, **more: pw.VerticalBoosting(**TREES, **EDGES, public_bounds=[(-1.5, 1.5)] * 3, **more).fit(
        x, LABELS
    ),
}


def public_estimators() -> list[type[Estimator]]:
    """Estimators among the public names."""
    named = (getattr(pw, name) for name in pw.__all__)
    return [one for one in named if inspect.isclass(one) and issubclass(one, Estimator)]


def warned(fit, *args, **more):
    """What a fit leaves, and the sentences that it warned with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = fit(*args, **more)
    return fitted, [str(one.message) for one in caught]


@pytest.mark.parametrize("kind", public_estimators(), ids=lambda kind: kind.__name__)
def test_every_estimator_has_a_status(kind):
    fitted, sentences = warned(FITS[kind], X)
    assert (fitted.status_, fitted.status_reason_, sentences) == ("ok", "", [])
    assert fitted.status_ in STATUSES


def test_every_estimator_warns_at_most_once():
    """Columns a million times as large, and constant ones: whatever it says, it is one sentence."""
    for fit in (*FITS.values(), *CLIPPING.values()):
        try:
            fitted, sentences = warned(fit, X * 1e6)
        except ValueError as error:
            assert str(error).endswith(".")
            continue
        assert fitted.status_ in STATUSES and len(sentences) == (fitted.status_ != "ok"), sentences
        for sentence in sentences:
            assert sentence == f"the fit is {fitted.status_}: {fitted.status_reason_}."


@pytest.mark.parametrize("name", CLIPPING)
def test_records_beyond_public_bounds_are_reported(name):
    fit = CLIPPING[name]
    assert warned(fit, X)[0].status_ == "ok"
    some = np.where(np.arange(N)[:, None] % 5 == 0, 10 * np.sign(X), X)
    fitted, (sentence,) = warned(fit, some)
    assert fitted.status_ == "clipped" and " % of the records or entries lie beyond" in sentence
    with pytest.raises(ValueError, match=r"lie beyond their public bounds \(.*=.*or give clipped='allow'"):
        fit(50 * np.sign(X))
    allowed, (sentence,) = warned(fit, 50 * np.sign(X), clipped="allow")
    assert allowed.status_ in ("clipped", "diverged") and sentence.startswith("the fit is ")


def test_a_method_as_published_warns_and_is_not_refused():
    fitted, sentences = warned(pw.SlicedInverseRegression("published", **SLICING).fit, 50 * X, RESPONSE)
    assert fitted.status_ == "clipped" and len(sentences) == 1
    fitted, sentences = warned(
        pw.FederatedCox("noisy_gradient", **(COX | {"scale": [0.01] * 3, "radius": 1.0})).fit, X, DURATIONS
    )
    assert fitted.status_ == "clipped" and len(sentences) == 1


def test_the_limits_are_five_and_fifty_per_cent():
    party = Party("clinic", "client", {"X": X})
    for share, words in ((WARNED, ""), (WARNED + 0.01, "clipped"), (REFUSED, "clipped")):
        party.clips._counts.clear()
        party.clips.add_share("radius", share, 1000)
        verdict = pw.SlicedInverseRegression("certified")._judge_clips(clip_shares([party]))
        assert verdict.status == (words or "ok")
    party.clips.add("radius", 1000, 1000)
    with pytest.raises(ValueError, match=r"radius=1\.0"):
        pw.SlicedInverseRegression("certified")._judge_clips(clip_shares([party]))
    with pytest.raises(ValueError, match="clipped='yes': use 'refuse' or 'allow'"):
        pw.SlicedInverseRegression(**SLICING, clipped="yes").fit(X, RESPONSE)


@pytest.mark.parametrize(
    ("fit", "status", "words"),
    [
        (
            lambda: pw.VerticalLinear("pooled", model="linear", random_state=1).fit(100 * X, 100 * RESPONSE),
            "diverged",
            "lower learning_rate=0.05, and scale the columns",
        ),
        (
            lambda: pw.LabelPrivateLogisticRegression(
                "label_sgd", epsilon=np.inf, learning_rates=(1e3,), random_state=1
            ).fit(X, LABELS),
            "diverged",
            "lower learning_rates=",
        ),
        (
            lambda: pw.FederatedLogistic(epsilon=8.0, parties=2, random_state=1).fit(500 * np.abs(X), LABELS),
            "diverged",
            "lower step=2.0",
        ),
        (
            lambda: pw.SlicedInverseRegression(**SLICING).fit(X, np.ones(N)),
            "constant_response",
            "y is 1.0 in all 400 records",
        ),
        (
            lambda: pw.VerticalLinear("pooled", model="linear", random_state=1).fit(X, np.ones(N)),
            "constant_response",
            "y is 1.0 in all 400 records",
        ),
        (
            lambda: pw.FunctionalBoosting("baseline", parties=2, random_state=1).fit(CURVES, np.ones((N, 2))),
            "constant_response",
            "y is 1.0 in all 400 records",
        ),
        (
            lambda: pw.SlicedInverseRegression(**SLICING).fit(np.tile(X[:6], (1, 4)), RESPONSE[:6]),
            "more_columns_than_records",
            "X has 12 columns and 6 records",
        ),
        (
            lambda: pw.VerticalLinear("exact", model="linear", random_state=1).fit(
                rng.normal(size=(5, 9)), rng.normal(size=5)
            ),
            "more_columns_than_records",
            "X has 9 columns and 5 records",
        ),
        (
            lambda: pw.FederatedCox(**(COX | {"epsilon": 0.01})).fit(X, DURATIONS),
            "not_estimable",
            "give a larger epsilon",
        ),
    ],
)
def test_faults_are_named(fit, status, words):
    fitted, sentences = warned(fit)
    assert fitted.status_ == status and words in fitted.status_reason_
    assert [one for one in sentences if one.startswith("the fit is")] == [
        f"the fit is {status}: {fitted.status_reason_}."
    ]


def test_the_reference_of_slicing_clips_nothing():
    """Directions of ages, euros and body mass indices are those of the same columns in other units."""
    draw = pw.stream(3, "units")
    columns = np.column_stack([draw.normal(50, 15, N), draw.lognormal(3.5, 0.5, N), draw.normal(26, 4, N)])
    y = columns[:, 0] + columns[:, 2] + draw.normal(size=N)
    model = pw.SlicedInverseRegression("reference", edges=(65.0, 76.0, 85.0), parties=2, random_state=1)
    raw, small = (model.fit(columns * factor, y).components_[0].copy() for factor in (1.0, 1e-3))
    unit = [one / np.linalg.norm(one) for one in (raw, small)]
    assert abs(unit[0] @ unit[1]) == pytest.approx(1.0, abs=1e-9)
    assert abs(unit[0] @ [0.7071, 0, 0.7071]) > 0.99


def test_a_share_stays_with_its_records(tmp_path):
    """No message, row, saved model or outcome tells how many entries were clipped, nor that any were."""
    some = np.where(np.arange(N)[:, None] % 5 == 0, 10 * np.sign(X), X)
    fitted, _ = warned(CLIPPING["slicing"], some, clipped="allow")
    assert fitted.status_ == "clipped"
    fitted.save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    # Whether intervals rest on a law with clipping follows from declared kinds, whatever the records are.
    assert (
        "clip" not in text.replace('"models_clipping": false', "")
        and json.loads(text)["model"].get("status", "ok") == "ok"
    )
    loaded = pw.load(tmp_path / "model.json")
    assert (loaded.status_, loaded.status_reason_) == ("ok", "")
    assert "clips" not in repr(fitted.ledger_.rows) and "clips" not in repr(fitted.transcript_)


def test_outcomes_of_a_run_hold_no_share():
    """What every place holds in the end is the same to the last bit, whatever its parties count."""
    seen = list[tuple[str, ...]]()

    def local_sum(client):
        client.clips.add("radius", count, 10)
        return pw.Public(1.0, because="a test")

    def fit(run):
        return run.at("server", sum, run.gather(run.parties, "server", "sum", local_sum))

    for count in (0, 9):
        clients = [Party(name, "client", {"X": X}) for name in ("north", "south")]
        run = pw.Run(clients, epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("server",))
        seen.append(tuple(one.digest for one in outcomes(fit, run).values()))
        assert clip_shares(clients) == {"radius": count / 10}
    assert seen[0] == seen[1]


HEAVY = pw.stream(5, "heavy tails").lognormal(size=(20_000, 2))
HEAVY_MEAN, HEAVY_SD = np.exp(0.5), np.sqrt((np.e - 1) * np.e)


def heavy_moments(radii):
    """Slopes 0.5, -0.5 on two lognormal columns, with their true mean and deviation as public constants."""
    scaled = (HEAVY - HEAVY_MEAN) / HEAVY_SD
    y = scaled @ [0.5, -0.5] + pw.stream(5, "errors").normal(size=len(scaled))
    bounds = {"location": [HEAVY_MEAN] * 2, "scale": [HEAVY_SD] * 2, "radii": radii, "statistic": (-4.0, 4.0)}
    return pw.VerticalGLM("gaussian", "moments", epsilon=8.0, parties=2, random_state=1, cipher="sized", **bounds).fit(
        HEAVY, y
    )


def heavy_cox(radius):
    hazard = np.exp((HEAVY[:, 0] - HEAVY_MEAN) / HEAVY_SD)
    durations = pw.stream(5, "durations").exponential(1 / hazard)
    bounds = {"centre": [HEAVY_MEAN] * 2, "scale": [radius * HEAVY_SD] * 2, "parties": 2, "random_state": 1}
    return pw.FederatedCox(epsilon=8.0, horizon=2.0, **bounds).fit(HEAVY, durations)


@pytest.mark.parametrize(
    "fit",
    [lambda: heavy_moments(None), lambda: heavy_moments([5.0, 5.0]), lambda: heavy_cox(3.0), lambda: heavy_cox(5.0)],
)
def test_a_fit_whose_records_are_clipped_has_no_intervals(fit):
    """Of lognormal columns 1.8 and 0.6 % lie beyond 3 and 5 deviations, with a fifth and a tenth of their squares."""
    fitted, (sentence,) = warned(fit)
    assert fitted.status_ == "clipped" and sentence == f"the fit is clipped: {fitted.status_reason_}."
    assert fitted.intervals_.centre is None and "intervals do not hold" in fitted.intervals_.reason
    assert f"no intervals: {fitted.intervals_.reason}" in fitted.summary()
    ends = fitted.conf_int() if isinstance(fitted, pw.VerticalGLM) else fitted.confidence_intervals_
    assert ends is None or np.isnan(ends).all()


@pytest.mark.parametrize("n", [100, 400, 20_000])
@pytest.mark.parametrize("p", [1, 3])
def test_normal_records_keep_their_intervals(n, p):
    """The default radius takes 0.3 % of normal records, and 0.6 % of the squares of one column."""
    party = Party("clinic", "passive", {"X": pw.stream(6, n, p).normal(size=(n, p))}, tuple(range(p)))
    zero, unit = (pw.Public(np.full(p, one), because="a test") for one in (0.0, 1.0))
    public = GlmFacts("gaussian", tuple(f"x{j}" for j in range(p)), True, location=zero, scale=unit)
    local_scaled_block(party, np.arange(n), public)
    assert intervals_verdict(largest_clip_shares([party])).status == "ok"


def test_the_caveat_is_printed_where_intervals_are():
    fitted, sentences = warned(pw.FederatedCox(**COX).fit, X, DURATIONS)
    assert sentences == [] and "over records and noise, valid if clipping took" in fitted.summary()
