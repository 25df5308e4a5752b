"""Public bounds of any size end in a fit or in a sentence, and arrays are taken wherever lists are."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import partywise as pw

N = 120
X = pw.stream(9, "records").uniform(-1, 1, size=(N, 2))
Y = X[:, 0] + 0.1 * pw.stream(9, "noise").normal(size=N)
LABELS, TIMES, CURVES = Y > 0, np.exp(Y), X[:, :, None] / 2
RUN = {"random_state": 1, "parties": 2}
TREES = {"loss": "RegressionMSELoss", "num_of_trees": 1, "random_state": 1, "parties": [[0], [1]]}
TABLES = {"epsilon": 4.0, "public_edges": [[0.0], [0.0]]}
GLM = {"epsilon": 4.0, "location": 0.0, "scale": 1.0, "statistic": (-2, 2), "cipher": "sized"}
MOMENTS = {"epsilon": 8.0, "radius_value": 0.6, "response_radius": 2.0, "cipher": "sized", "max_steps": 2}
COX = {"epsilon": 8.0, "horizon": 2.0, "centre": [0, 0], "scale": [1, 1]}


def boosting(protocol, **more):
    return pw.VerticalBoosting(protocol, **TREES, **more).fit(X, Y)


def glm(**more):
    return pw.VerticalGLM("gaussian", "moments", **(GLM | more), **RUN).fit(X, Y)


def curves(**more):
    return pw.FunctionalBoosting("moments", **(MOMENTS | more), **RUN).fit(CURVES, Y[:, None])


def local_curves(**more):
    given = {"radius_value": 0.6, "max_steps": 2, "sy": 1.0} | more
    return pw.FunctionalBoosting("boosting", **given, **RUN).fit(CURVES, Y[:, None])


def cox(**more):
    return pw.FederatedCox(**(COX | more), **RUN).fit(X, TIMES)


def linear(**more):
    return pw.VerticalLinear("certified", bounds=more.pop("bounds", 1.0), cipher="sized", **more, **RUN)


def slicing(**more):
    given = {"epsilon": 8.0, "edges": (-0.5, 0.0, 0.5)} | more
    return pw.SlicedInverseRegression("certified", **given, **RUN).fit(X, Y)


BOUNDED = {
    "residual_bound of tables": lambda b: boosting("tables", residual_bound=b, cipher="sized", **TABLES),
    "residual_bound of integers": lambda b: boosting("label_scattering", residual_bound=b, cipher="identity"),
    "residual_bound of ciphers": lambda b: boosting("label_scattering", residual_bound=b, cipher="sized"),
    "bounds": lambda b: linear(bounds=b).fit(X, LABELS),
    "label_bound": lambda b: linear(model="linear", label_bound=b).fit(X, Y),
    "radii": lambda b: glm(radii=(b, b)),
    "statistic": lambda b: glm(statistic=(-b, b)),
    "location": lambda b: glm(location=b, clipped="allow"),
    "radius_value": lambda b: curves(radius_value=b),
    "response_radius": lambda b: curves(response_radius=b),
    "radius of slices": lambda b: slicing(radius=b),
    "radius of covariates": lambda b: cox(radius=b),
    "scale": lambda b: cox(scale=[b, b]),
    "horizon": lambda b: cox(horizon=b, clipped="allow"),
    "edges of slices": lambda b: slicing(edges=(-b, 0.0, b)),
    "public_edges": lambda b: boosting("tables", **TABLES | {"public_edges": [[-b, b], [0.0]]}, residual_bound=2.0),
    "y_radius": lambda b: local_curves(y_radius=b),
}


@pytest.mark.parametrize("bound", [2e9, 1e50, 1e300])
@pytest.mark.parametrize("name", BOUNDED)
def test_a_bound_of_any_size_ends_in_a_fit_or_in_a_sentence(name, bound):
    """The sentence names the argument, or the one that suits it, with the value; before any work, not amid it."""
    argument = name.split(" of ")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            assert BOUNDED[name](bound).status_ != "not_finite"
        except (ValueError, OverflowError) as error:
            sentence = str(error)
            assert f"{argument}=" in sentence or f"{bound:g}" in sentence, sentence
            assert "in other units" in sentence or "smaller" in sentence or "scale the features" in sentence, sentence
        else:
            assert bound < 1e51


KINDS = {"array": np.array, "series": lambda values: pytest.importorskip("pandas").Series(values)}
SEQUENCES = {
    "radii": lambda kind: glm(radii=kind([1.5, 1.5])).coef_,
    "location": lambda kind: glm(location=kind([0.0, 0.1])).coef_,
    "statistic": lambda kind: glm(statistic=kind([-2.0, 2.0])).coef_,
    "centre": lambda kind: cox(centre=kind([0.0, 0.1]), scale=kind([1.5, 1.5])).params_,
    "edges of slices": lambda kind: slicing(edges=kind([-0.5, 0.0, 0.5])).components_,
    "edges of times": lambda kind: (
        (
            pw.FederatedKaplanMeier(epsilon=4.0, horizon=2.0, edges=kind([0.0, 0.5, 2.0]), **RUN).fit(TIMES)
        ).survival_function_
    ),
    "groups": lambda kind: (
        (
            pw.FederatedKaplanMeier(epsilon=4.0, horizon=2.0, groups=kind([0, 1]), **RUN).fit(TIMES, group=1 * LABELS)
        ).survival_function_
    ),
    "bounds": lambda kind: linear(bounds=kind([1.0, 1.0])).fit(X, LABELS).coef_,
    "public_bounds": lambda kind: (
        (pw.LabelPrivateLogisticRegression(epsilon=2.0, public_bounds=[kind([-1.0, 1.0])] * 2, random_state=1))
        .fit(X, LABELS)
        .coef_
    ),
    "public_edges": lambda kind: (
        boosting(
            "tables", residual_bound=2.0, cipher="sized", epsilon=4.0, public_edges=[kind([-0.5, 0.5]), kind([0.0])]
        )
    ).predict(X),
    "public_missing": lambda kind: boosting("pooled", public_missing=kind([True, False])).predict(X),
    "parties": lambda kind: (
        (pw.VerticalGLM("gaussian", random_state=1).fit(X, Y, parties=[kind([0]), kind([1])])).coef_
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SEQUENCES)
def test_arrays_are_taken_wherever_lists_are(name, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(SEQUENCES[name](KINDS[kind]), SEQUENCES[name](list))
