"""Public scales of private protocols: what is clipped to what, and which constants are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi

from partywise.federation.parties import Party
from partywise.methods.glm.model import GlmFacts
from partywise.methods.glm.noisy_statistics.scaling import (
    check_columns,
    check_eta_start,
    check_statistic,
    local_response,
    local_scaled_block,
    radius_of,
    statistic,
    statistic_range,
    total_radius,
    unscale_coefficients,
)
from partywise.privacy.accounted_values import Clear, Public

SAID = "declared by the test"


def facts(**changes):
    given = {
        "location": Public(np.array([1.0, 2.0, -3.0]), SAID),
        "scale": Public(np.array([2.0, 1.0, 4.0]), SAID),
        "statistic": Public((-1.0, 3.0), SAID),
        "eta_start": Public(0.5, SAID),
    }
    return GlmFacts("gaussian", ("age", "dose", "ward"), **(given | changes))


def parties(X=None, **block):
    X = np.zeros((4, 3)) if X is None else X
    return (
        Party("clinic", "active", {"X": X[:, [0, 2]], "y": np.arange(4.0)} | block, (0, 2)),
        Party("lab", "passive", {"X": X[:, [1]]}, (1,)),
    )


def test_records_are_scaled_by_public_numbers_and_no_longer_than_the_radius_of_their_party():
    X = np.array([[3.0, 2.5, 1.0], [1e9, -1e9, 1e9], [1.0, 2.0, -3.0], [3.0, 2.0, 5.0]])
    clinic, lab = parties(X)
    z = local_scaled_block(clinic, np.array([0, 1, 3]), facts())
    np.testing.assert_allclose(z[0], [1.0, 1.0])
    # The third record, (1, 2) on the scales of clinic, is shorter than the radius.
    default = chi.ppf(0.997, 2)
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), [np.sqrt(2), default, np.sqrt(5)], rtol=1e-12)
    given = facts(radii={"lab": Public(0.25, SAID)})
    assert local_scaled_block(lab, np.arange(4), given)[:, 0].tolist() == [0.25, -0.25, 0.0, 0.0]
    assert total_radius(given, (clinic, lab)).value == pytest.approx(np.hypot(default, 0.25), rel=1e-12)


def test_the_total_radius_is_the_length_of_the_radii_of_all_blocks():
    whole = Party("one", "active", {"X": np.zeros((1, 3))}, (0, 1, 2))
    totals = [total_radius(facts(), group).value for group in (parties(), (whole,))]
    # The radii come from quantiles of chi squared: another formula than scipy's chi, which agrees up to its inversion.
    expected = [np.hypot(*chi.ppf(0.997, [2, 1])), chi.ppf(0.997, 3)]
    assert totals == pytest.approx(expected, rel=1e-12)
    # Radii whose squares are as many as the columns have the same total, however these are dealt.
    dealt = facts(radii={"clinic": Public(1.4 * np.sqrt(2), SAID), "lab": Public(1.4, SAID)})
    assert total_radius(dealt, parties()).value == pytest.approx(1.4 * np.sqrt(3), rel=1e-15)


def test_a_radius_rests_on_all_that_it_was_made_with():
    """So a statistic that it bounds is unproved where a scale is."""
    clinic, _ = parties()
    assert radius_of(facts(), clinic).parents == ()
    with pytest.raises(TypeError, match="in clear"):
        radius_of(facts(scale=Clear(np.ones(3), units=("features",))), clinic)


def test_coefficients_go_back_to_the_columns_as_they_were_given():
    X, beta = np.random.default_rng(1).standard_normal((5, 3)), np.array([0.3, -1.0, 2.0, 0.5])
    z = (X - facts().location.value) / facts().scale.value
    back = unscale_coefficients(beta, facts())
    np.testing.assert_allclose(back[0] + X @ back[1:], beta[0] + z @ beta[1:], rtol=1e-13)


def test_the_statistic_of_a_response():
    y = np.array([1.0, np.e])
    assert statistic(y, "gamma").tolist() == statistic(y, "inverse_gaussian").tolist() == [0.0, 1.0]
    assert all(statistic(y, family).tolist() == y.tolist() for family in ("gaussian", "binomial", "poisson"))
    assert statistic_range(facts()) == (1.0, 2.0)


def column_errors():
    array = np.array([1.0, 0.0, 1.0])
    yield {"location": None}, ValueError, "location=None.*give the centre"
    yield {"scale": None}, ValueError, "scale=None.*give the typical"
    yield {"location": Public(np.zeros(2), SAID)}, ValueError, r"location has shape \(2,\).*3 columns"
    yield {"scale": Public(np.array([1.0, np.nan, 1.0]), SAID)}, ValueError, "scale has shape"
    yield {"scale": Public(array, SAID)}, ValueError, "scale=0.0 of column 'dose' must be positive"
    yield {"scale": array}, TypeError, "must state its origin"
    yield {"radii": {"lab": Public(0.0, SAID)}}, ValueError, "radii=0.0 of party 'lab' must be a positive"
    yield {"radii": {"lab": Public(np.inf, SAID)}}, ValueError, "radii=inf of party 'lab'"
    yield {"radii": {"ward": Public(1.0, SAID)}}, ValueError, r"radii name 'ward'.*\['clinic', 'lab'\]"


@pytest.mark.parametrize(("changes", "kind", "says"), list(column_errors()))
def test_impossible_scales_are_refused_by_name(changes, kind, says):
    check_columns(facts(), parties())
    with pytest.raises(kind, match=says):
        check_columns(replace(facts(), **changes), parties())


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0), (1.0,)])
def test_an_empty_range_of_the_statistic_is_refused(ends):
    check_statistic(facts())
    with pytest.raises(ValueError, match=r"statistic=.* is not a range"):
        check_statistic(facts(statistic=Public(ends, SAID)))
    with pytest.raises(ValueError, match="statistic=None"):
        check_statistic(facts(statistic=None))


def test_a_missing_or_infinite_start_is_refused():
    check_eta_start(facts())
    for start, says in ((None, "start=None"), (Public(np.inf, SAID), "start=inf")):
        with pytest.raises(ValueError, match=says):
            check_eta_start(facts(eta_start=start))


def test_records_with_weights_or_an_offset_are_refused():
    clinic, _ = parties()
    assert local_response(clinic, np.array([2, 0]), facts()).tolist() == [2.0, 0.0]
    with pytest.raises(ValueError, match="weights of party 'clinic'"):
        local_response(parties(weights=np.ones(4))[0], np.arange(4), facts())
