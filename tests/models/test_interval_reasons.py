"""Reasons why there are no intervals: every method of the default configuration has intervals or a listed reason."""

import re
import warnings

import pytest

from every_protocol import fits, generated, planned
from partywise.experiment.cells import execution
from partywise.federation.run import simulate
from partywise.models.intervals import NOT_COMPUTED, REASONS, Intervals, interval_reason, reason_name, reason_of

FITS = [(study, case, method) for study, case, method in fits() if planned(study).methods[method].draws_noise]


def ends_of(estimate):
    """The numbers of an estimate that are ends of intervals."""
    if hasattr(estimate, "intervals"):
        bounds = estimate.intervals.bounds()
        return [] if bounds is None else bounds.ravel().tolist()
    if getattr(estimate, "coefficients", None) is not None:
        return [] if getattr(estimate, "covariance", None) is None else estimate.standard_errors.tolist()
    bands = estimate.bands(together=False) if hasattr(estimate, "bands") and estimate.status == "ok" else []
    return [end for band in bands for end in (*band.lower, *band.upper)]


@pytest.mark.parametrize(("study", "case", "method"), FITS)
def test_every_releasing_method_has_intervals_or_a_listed_reason(study, case, method):
    plan = planned(study)
    fit = plan.cases[case].parties[0], 0, plan.epsilons(case, method)[0], generated(study, case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimate = simulate(plan.methods[method].protocol.fit, execution(plan, case, method, *fit))
    reason = interval_reason(estimate, plan.methods[method].options)
    if not reason:
        assert ends_of(estimate)
        return
    assert not ends_of(estimate)
    assert reason_name(reason) not in ("not computed", "no noise"), reason
    assert len(reason) > len(reason_name(reason)) + 10


def test_every_method_without_noise_says_so():
    for study in {study for study, _, _ in fits()}:
        for label, method in planned(study).methods.items():
            if not method.draws_noise:
                assert interval_reason(None, method.options) == reason_of("no noise"), (study, label)


def test_a_reason_is_one_of_the_list():
    assert (
        reason_of("clipped") == f"clipped: {REASONS['clipped']}" and reason_name(reason_of("later", "soon")) == "later"
    )
    for reason in ("", "none", "too coarse to say"):
        with pytest.raises(ValueError, match=re.escape(f"reason={reason!r} of missing intervals must begin with")):
            Intervals(reason=reason)
    assert NOT_COMPUTED.bounds() is None
    # Names are the cells of a column of estimate.csv.
    assert all(re.fullmatch(r"[a-z ]{4,20}", name) and sentence[-1] != "." for name, sentence in REASONS.items())
