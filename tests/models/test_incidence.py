"""Curves of competing causes, and derivatives of counts by complex steps."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.models.follow_up.incidence import complex_step, exit_curves, logit_interval

EVENTS = np.array([[4.0, 2.0, 1.0], [2.0, 0.0, 3.0]])
CENSORED = np.array([4.0, 2.0, 0.0])


def test_curves_of_two_causes_by_hand():
    """20 records: at risk 20 - 2, 10 - 1 and 6; the first bin loses 4 and 2 of 18 by the causes."""
    curves = exit_curves(EVENTS, CENSORED, np.array(2.0))
    np.testing.assert_allclose(curves.at_risk, [18, 9, 6])
    survival = np.cumprod([1, 12 / 18, 7 / 9, 2 / 6])
    np.testing.assert_allclose(curves.survival, survival)
    first = np.cumsum([0, 4 / 18, survival[1] * 2 / 9, survival[2] / 6])
    second = np.cumsum([0, 2 / 18, 0, survival[2] * 3 / 6])
    np.testing.assert_allclose(curves.incidence, [first, second])
    np.testing.assert_allclose(curves.incidence.sum(axis=0) + curves.survival, 1)


def test_a_hazard_beyond_its_bound_is_cut_off_in_the_shares_of_its_causes():
    curves = exit_curves(np.array([[30.0], [10.0]]), np.array([-20.0]), np.array(0.0), largest_hazard=0.8)
    np.testing.assert_allclose(curves.hazards[:, 0], [0.6, 0.2])
    assert curves.survival[-1] == pytest.approx(0.2)
    empty = exit_curves(np.array([[-3.0]]), np.array([0.0]), np.array(0.0), largest_hazard=0.8)
    assert empty.at_risk[0] == 1 and empty.hazards[0, 0] == -0.8


@pytest.mark.parametrize("largest_hazard", [1.0, 0.3])
def test_complex_steps_are_the_derivatives_and_read_branches_from_real_parts(largest_hazard):
    def incidence(cells: np.ndarray) -> np.ndarray:
        events = cells[..., :6].reshape(*cells.shape[:-1], 2, 3)
        made = exit_curves(events, cells[..., 6:9], cells[..., 9], largest_hazard=largest_hazard)
        return made.incidence.reshape(*cells.shape[:-1], -1)

    cells = np.concatenate([EVENTS.ravel(), CENSORED, [2.0]])
    steps = 1e-6 * np.eye(len(cells))
    numeric = (incidence(cells + steps) - incidence(cells - steps)).T / 2e-6
    np.testing.assert_allclose(complex_step(incidence, cells), numeric, atol=1e-8)


def test_an_interval_of_a_share_stays_between_0_and_1():
    ends = logit_interval(np.array([0.5, 0.01, 0.0, 1.2, 0.5]), np.array([0.1, 0.05, 0.1, 0.1, np.inf]))
    assert ((ends >= 0) & (ends <= 1)).all() and (ends[:2, 0] > 0).all()
    np.testing.assert_array_equal(ends[2:], [[0, 1]] * 3)
    # The delta method: logit(p) +- z se / (p (1 - p)).
    assert np.log(ends[0, 1] / (1 - ends[0, 1])) == pytest.approx(1.959964 * 0.1 / 0.25, rel=1e-6)
