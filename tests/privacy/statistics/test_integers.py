"""Maps onto integers: nearest, clipped, one integer a record, and nothing proved where the sample made the ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fixed import fixed
from partywise.core.randomness import stream
from partywise.privacy.accounted_values import Clear
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms import DistanceExponential
from partywise.privacy.statistics.integers import integer_cuts, mapped_integers

DOMAIN = fixed((1, 100))


@given(arrays(float, 30, elements=st.floats(-50, 150)), st.floats(-40, 0), st.floats(1, 90))
def test_every_value_goes_to_its_nearest_integer_and_what_is_outside_to_the_ends(x, low, length):
    ends = (low, low + length)
    found = mapped_integers(x, fixed(ends), DOMAIN).value
    exact = 1 + (np.clip(x, *ends) - low) / length * 99
    assert np.all((found >= 1) & (found <= 100) & (found == np.round(found)))
    assert np.all(np.abs(found - exact) <= 0.5 + 1e-9)


def test_a_cut_belongs_to_the_integer_below_it():
    cuts = integer_cuts((0.0, 4.0), (1, 5))
    assert cuts.tolist() == [0.5, 1.5, 2.5, 3.5]
    x = np.array([0.5, np.nextafter(0.5, 1), 1.5, 3.5, 3.6, -9.0, 9.0])
    assert mapped_integers(x, fixed((0.0, 4.0)), fixed((1, 5))).value.tolist() == [1, 2, 2, 4, 5, 1, 5]
    assert mapped_integers(np.full(3, 2.0), fixed((2.0, 2.0)), DOMAIN).value.tolist() == [1, 1, 1]
    assert np.all(np.isfinite(integer_cuts((-1e308, 1e308), (1, 100))))


@given(arrays(float, 12, elements=st.floats(-1e3, 1e3)), st.integers(0, 11), st.floats(-1e6, 1e6))
def test_one_record_moves_one_integer_with_declared_ends(x, place, value):
    other = x.copy()
    other[place] = value
    one, two = (mapped_integers(z, fixed((-100.0, 100.0)), DOMAIN) for z in (x, other))
    assert np.count_nonzero(one.value != two.value) <= one.certificate.value == 1
    assert one.certificate.norm == "hamming" and one.parents == ()


def test_ends_of_the_sample_move_everybody_and_the_ledger_proves_nothing():
    x = np.linspace(0, 1, 50)
    other = np.append(x[:-1], 1000.0)
    made = []
    for column in (x, other):
        ends = Clear((column.min(), column.max()), units=("features",), owner="a")
        made.append(mapped_integers(column, ends, DOMAIN))
    assert np.count_nonzero(made[0].value != made[1].value) > 40
    release = DistanceExponential(0.1, DOMAIN)(made[0], stream(1, "a"), owner="a")
    assert release.event.epsilon_distance == 0.1
    assert Ledger([release.event]).total(("b",), "features", 1e-5).epsilon_certified == np.inf
    declared = DistanceExponential(0.1, DOMAIN)(
        mapped_integers(x, fixed((0.0, 1.0)), DOMAIN), stream(1, "a"), owner="a"
    )
    assert Ledger([declared.event]).total(("b",), "features", 0.0).epsilon_certified == pytest.approx(4.95)


@pytest.mark.parametrize(
    ("values", "ends", "domain", "message"),
    [
        ([[1.0]], (0.0, 1.0), (1, 9), "values of shape"),
        ([np.nan], (0.0, 1.0), (1, 9), "values of shape"),
        ([], (0.0, 1.0), (1, 9), "values of shape"),
        ([1.0], (1.0, 0.0), (1, 9), "ends="),
        ([1.0], (0.0, np.inf), (1, 9), "ends="),
        ([1.0], (0.0, 1.0), (9, 9), "domain="),
        ([1.0], (0.0, 1.0), (0.5, 9), "domain="),
    ],
)
def test_bad_maps_are_named(values, ends, domain, message):
    with pytest.raises(ValueError, match=message):
        mapped_integers(values, fixed(ends), fixed(domain))
    with pytest.raises(TypeError, match="must state its origin"):
        mapped_integers([1.0], (0.0, 1.0), fixed((1, 9)))
