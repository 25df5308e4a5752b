"""Only what exact and secret noise released leaves by the gate, and functions of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.federation.gate import publish
from partywise.privacy.accounted_values import UNPROVED, Clear, Public
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.mechanisms.integer import IntegerGaussian
from partywise.privacy.mechanisms.random import SecureRandom
from partywise.privacy.mechanisms.release import Release, derive
from partywise.privacy.statistics.moments import record_sum
from partywise.privacy.statistics.whole import whole


def measured(rng: Any, **changed: Any) -> Release:
    """Two noisy counts as a file, with some fields of the event changed."""
    statistic = whole(np.array([3, 5]), 4, 1.0, "slice sums")
    release = IntegerGaussian(mu=1.0)(statistic, rng, owner="north", release_id="counts")
    return Release(b"3,5\n", replace(release.event, **changed))


def good(**changed: Any) -> Release:
    """As it may be published."""
    return measured(SecureRandom(), **changed)


def of(*parts: Any, **changed: Any) -> Any:
    """A function of some values."""
    made = derive(b"8\n", parts, name="sum", owner="server")
    return replace(made, event=replace(made.event, **changed)) if changed else made


def floats() -> Release:
    """Floating-point noise on a sum of floats."""
    rows = stream(1, "gate").normal(size=(5, 2))
    return Gaussian(mu=1.0)(record_sum(rows, Public(1.0, because="a limit")), stream(2, "gate"), owner="north")


LABELS = Clear(b"0,1\n", ("label",), owner="bank")
PLANTED = {
    "a value in the clear": lambda: LABELS,
    "a bare array": lambda: np.array([1.0]),
    "bare bytes": lambda: b"share of clipped records: .02",
    "a bare number": lambda: 0.02,
    "the text of an error": lambda: "row 7 has no age",
    "a simulated release": lambda: measured(stream(3, "gate")),
    "a release in floats": lambda: replace(floats(), value=b"1\n"),
    "a release of floats, drawn in secret": lambda: good(exact=False),
    "a release of which nothing is proved": lambda: good(certified=False),
    "a release that rests on a value in the clear": lambda: good(data_dependent_parameters=(UNPROVED,)),
    "a mechanism that nobody knows": lambda: good(mechanism="trust_me"),
    "a release without noise": lambda: good(mu=float("inf")),
    "a function of a value in the clear": lambda: of(good(), LABELS),
    "a function of a simulated release": lambda: of(good(), measured(stream(3, "gate"), release_id="other")),
    "a public function of a simulated release": lambda: Public(b"8\n", "a sum", (measured(stream(3, "gate")),)),
    "a function that hides a part": lambda: of(good(), data_dependent_parameters=("counts", "another")),
    "numbers in place of a file": lambda: replace(good(), value=np.array([3.0, 5.0])),
}
GOOD = {
    "a release": good,
    "a function of a release": lambda: of(good()),
    "a public function of a release and a setting": lambda: Public(b"8\n", "a sum", (good(), Public(1, "a setting"))),
    "a function of a function": lambda: of(of(good()), Public(2, because="a factor")),
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_may_not_be_published_leaves_nothing(name, tmp_path):
    with pytest.raises(CertificationError):
        publish(PLANTED[name](), tmp_path / "file.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", GOOD)
def test_what_was_released_is_written_as_it_is(name, tmp_path):
    value = GOOD[name]()
    publish(value, tmp_path / "file.csv")
    assert (tmp_path / "file.csv").read_bytes() == value.value


def test_units_that_were_named_are_let_through_and_no_others(tmp_path):
    mixed = of(good(), LABELS)
    publish(mixed, tmp_path / "file.csv", ("label",))
    both = of(good(), LABELS, Clear(b"", ("features",), owner="bank"))
    with pytest.raises(CertificationError, match="protects the unit features"):
        publish(both, tmp_path / "other.csv", ("label",))
    with pytest.raises(CertificationError, match="simulation"):
        publish(of(measured(stream(3, "gate")), LABELS), tmp_path / "other.csv", ("label",))
