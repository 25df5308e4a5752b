"""Every argument that a certificate takes for public says where it comes from, and what it cost is charged."""

from __future__ import annotations

import inspect
import math
import re
from pathlib import Path

import numpy as np
import pytest

from curve_functions import fit_central
from fixed import fixed
from partywise.core.randomness import stream
from partywise.methods.functional.model import BasisSpec
from partywise.privacy.accounted_values import UNPROVED, AccountedValue, Clear
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms import (
    AdjustedDistanceExponential,
    DiscreteGaussian,
    DistanceExponential,
    Gaussian,
    PrivateQuantile,
    QuantileRadius,
    RandomizedResponse,
    Release,
)
from partywise.privacy.mechanisms.integer import IntegerGaussian
from partywise.privacy.secure.fixed_point import fixed_point_sum
from partywise.privacy.statistics import counts as tallies
from partywise.privacy.statistics import moments, slices
from partywise.privacy.statistics import records as sensitivity
from partywise.privacy.statistics.counts import counts, membership
from partywise.privacy.statistics.moments import covariance, cross_moment, record_sum, second_moment
from partywise.privacy.statistics.records import clipped_coefficients, count_at_most, entries
from partywise.privacy.statistics.slices import bin_index, slice_means

X, Y = stream(1, "x").standard_normal((6, 2)), np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
BINS = Y.astype(int)
ONE, WHOLE = Gaussian(mu=1.0), RandomizedResponse(1.0, 2)


def by(mechanism, statistic):
    """A release of a statistic made with some argument."""
    return lambda given: mechanism(statistic(given), stream(1, "noise"), owner="p1")


def of(made, statistic):
    """A release of a statistic by a mechanism made with some argument."""
    return lambda given: made(given)(statistic, stream(1, "noise"), owner="p1")


VALUES, WHOLES = entries(Y, unit="features"), entries(BINS, unit="features")
# Constructor, its argument, a right value, and a release made with it.
ARGUMENTS = {
    "clipped_coefficients radius": (1.0, by(ONE, lambda v: clipped_coefficients(X, None, v))),
    "clipped_coefficients gram": (np.eye(2), by(ONE, lambda v: clipped_coefficients(X, v, fixed(1.0)))),
    "second_moment radius": (1.0, by(ONE, lambda v: second_moment(X, v))),
    "record_sum radius": (1.0, by(ONE, lambda v: record_sum(X, v))),
    "covariance radius": (1.0, by(ONE, lambda v: covariance(X, v))),
    "cross_moment radius_x": (1.0, by(ONE, lambda v: cross_moment(X, X, v, fixed(1.0)))),
    "cross_moment radius_y": (1.0, by(ONE, lambda v: cross_moment(X, X, fixed(1.0), v))),
    "count_at_most threshold": (0.5, by(IntegerGaussian(mu=1.0), lambda v: count_at_most(Y, v))),
    "slice_means edges": ((0.5,), by(ONE, lambda v: slice_means(X, Y, v, radius=fixed(1.0)))),
    "slice_means radius": (1.0, by(ONE, lambda v: slice_means(X, Y, fixed((0.5,)), radius=v))),
    "slice_means box": (1.0, by(ONE, lambda v: slice_means(X, Y, fixed((0.5,)), box=v))),
    "bin_index edges": ((0.5,), by(WHOLE, lambda v: bin_index(Y, v))),
    "counts n_bins": (2, by(ONE, lambda v: counts(BINS, v))),
    "membership max_size": (2, by(IntegerGaussian(mu=1.0), lambda v: membership([1], 4, v))),
    "entries moved": (1, by(WHOLE, lambda v: entries(BINS, moved=v))),
    "fixed_point_sum radius": (1.0, by(ONE, lambda v: fixed_point_sum(X, v, fixed(0.5)))),
    "fixed_point_sum grid": (0.5, by(ONE, lambda v: fixed_point_sum(X, fixed(1.0), v))),
    "RandomizedResponse edges": ((0.5,), of(lambda v: RandomizedResponse(1.0, 2, v), VALUES)),
    "PrivateQuantile domain": ((0.0, 1.0), of(lambda v: PrivateQuantile(1.0, 0.5, v), VALUES)),
    "QuantileRadius smallest": (1.0, of(lambda v: QuantileRadius(0.1, 0.5, v), Y)),
    "DistanceExponential domain": ((0, 1), of(lambda v: DistanceExponential(1.0, v), WHOLES)),
    "AdjustedDistanceExponential domain": ((0, 1), of(lambda v: AdjustedDistanceExponential(1.0, 1.0, 1, v), WHOLES)),
    "Gaussian covariance": (np.eye(2), of(lambda v: Gaussian(mu=1.0, covariance=v), record_sum(X, fixed(1.0)))),
    "DiscreteGaussian covariance": (
        np.eye(2),
        of(lambda v: DiscreteGaussian(mu=1.0, covariance=v), record_sum(X, fixed(1.0))),
    ),
}


# A distribution that is known only once the argument is, or a bound that nobody enforces: a released one certifies
# nothing.
UNCERTIFIED = {"DistanceExponential domain", "AdjustedDistanceExponential domain", "entries moved"}


def test_no_argument_is_missing_from_this_file():
    """Every parameter of a constructor typed `AccountedValue` is tried here; so is every domain of a mechanism."""
    callables = [
        value
        for module in (sensitivity, moments, slices, tallies)
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]
    callables += [fixed_point_sum, RandomizedResponse, PrivateQuantile, QuantileRadius, DistanceExponential]
    callables += [AdjustedDistanceExponential, Gaussian, DiscreteGaussian]
    typed = {
        f"{call.__name__} {name}"
        for call in callables
        if callable(call)
        for name, parameter in inspect.signature(call).parameters.items()
        if "AccountedValue" in str(parameter.annotation)
    }
    assert typed == set(ARGUMENTS)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_bare_value_is_refused_by_name(name):
    value, release = ARGUMENTS[name]
    with pytest.raises(TypeError, match=rf"(?s){name.split()[1]}=.* must state its origin: Public\(value, because="):
        release(value)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_public_value_costs_nothing(name):
    value, release = ARGUMENTS[name]
    assert release(fixed(value)).event.data_dependent_parameters == ()


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_value_in_the_clear_leaves_nothing_certified(name):
    value, release = ARGUMENTS[name]
    event = release(Clear(value, units=("features",))).event
    assert UNPROVED in event.data_dependent_parameters
    assert math.isinf(Ledger([event]).total("server", event.unit, 1e-5).epsilon_certified)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_released_value_is_charged(name):
    value, release = ARGUMENTS[name]
    paid = by(Gaussian(sigma=9.0), lambda radius: record_sum(X, radius))(fixed(1.0))
    parent = Release(value, paid.event)
    event = release(parent).event
    assert paid.event.release_id in event.data_dependent_parameters
    alone = Ledger([event]).total("server", event.unit, 1e-5).epsilon_certified
    both = Ledger([paid.event, event]).total("server", event.unit, 1e-5).epsilon_certified
    assert math.isinf(alone) and math.isinf(both) == (name in UNCERTIFIED)


def test_radii_of_the_central_fit_say_where_they_come_from():
    basis, curves = BasisSpec("bspline", (0.0, 1.0), 6), stream(1, "c").standard_normal((30, 1, 6))
    for wrong in ({"radius": 1.0}, {"radius": fixed(1.0), "sy": 1.0, "y_radius": 1.0}):
        with pytest.raises(TypeError, match=r"radius=1\.0 of a certificate must state its origin"):
            fit_central(curves, curves[:, 0], basis, basis, stream(1, "n"), s=1.0, **wrong)
    clear = Clear(1.0, units=("features",))
    _, _, (event,) = fit_central(curves, curves[:, 0], basis, basis, stream(1, "n"), s=1.0, radius=clear)
    assert isinstance(clear, AccountedValue) and event.data_dependent_parameters == (UNPROVED,)


def test_certificates_are_made_by_hand_where_this_says_how():
    """Elsewhere a certificate comes from a constructor of privacy/ with typed arguments; a new one is argued here."""
    library = Path(sensitivity.__file__).parents[2]
    texts = {
        path.relative_to(library).as_posix(): path.read_text()
        for path in library.rglob("*.py")
        if "privacy" not in path.relative_to(library).parts
    }
    made = re.compile(r"(?<!def )\b(SensitivityCertificate|sum_certificate|whole)\(")
    maker = r"(?:SensitivityCertificate|sum_certificate|whole)"
    home = re.compile(rf"statistics\.(?:bounded|whole) import (?:\([^)]*|[^\n]*)\b{maker}\b")
    found = {name for name, text in texts.items() if home.search(text) and made.search(text)}
    assert found == {
        # Of whole contributions to public cells and moments, whose largest move is found over all values of their grid.
        "methods/epidemiology/protocols/common.py",
        "methods/epidemiology/protocols/products.py",
        # Of whole contributions, clipped in integers; of updates whose clip is an option, public as all of them are.
        "methods/filters/certified.py",
        "methods/filters/protocols/fedavg.py",
        # Of a pair of updates that an audit makes.
        "studies/framework_filters/leaks.py",
        # Of moments, which carry what their radius, edges and root came from.
        "methods/inverse_regression/bounded.py",
        # Of a code that is AccountedValue, and n and p, which are shapes.
        "methods/inverse_regression/screening.py",
        # Of k, a shape: features outside [0, 1] are refused, and what 0 and 1 stand for decides the unit.
        "methods/logistic/perturbation.py",
        # Of the rows of public features, in steps that their longest row gives.
        "methods/logistic/release.py",
        # Sensitivity 0, for draws of the experimenter that nobody sees.
        "audits/pairs.py",
        # Of lengths, radii and coefficients that are AccountedValue and whose parents travel with the statistic.
        "methods/glm/noisy_statistics/scores.py",
        "methods/glm/noisy_statistics/blocks.py",
        # Of the number of radii, which are AccountedValue and whose parents travel with the counts; of one range.
        "methods/glm/noisy_statistics/clip_counts.py",
        # Of one made-up cell per record, as counts of cells have it.
        "experiment/design/histograms.py",
        # Of one made-up answer per record, which a mechanism for answers takes.
        "experiment/design/responses.py",
        # Of a length that is made of the radii and the range of the response, whose parents the draw names.
        "methods/glm/noisy_statistics/moment_plan.py",
        # Of a cell for each record; and of the longest contribution, a function of public terms.
        "methods/survival/certified/whole.py",
        # Of n, of a public length, and of the norm of coefficients that were released or are bounded.
        "methods/survival/protocols/noisy_gradient.py",
        # Of n, which is public.
        "methods/survival/protocols/tree_breslow.py",
        # Of C, a constant of the source.
        "methods/survival/protocols/dp_propensity.py",
        # Of the settings of a claim.
        "studies/federated_survival/leaks.py",
        # Of radii and a Gram matrix that are AccountedValue and whose parents the draw names.
        "methods/functional/protocols/aggregation.py",
    }
