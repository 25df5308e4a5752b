"""Who is who where columns lie at several parties, and to whom values are charged."""

from __future__ import annotations

import math

import numpy as np
import pytest

from partywise.core.randomness import Streams
from partywise.federation.folds import Fold
from partywise.federation.parties import Party, column_order, merge_blocks, split_columns
from partywise.federation.roles import others_than, parts_of, roles, unprotected_value
from partywise.federation.run import Run

BLOCK = {"X": np.zeros((2, 1))}
LABELS = Party("bank", "active", BLOCK, (0,))
FEATURES = Party("shop", "passive", BLOCK, (1,))
BARE = Party("registry", "active", BLOCK)


def test_one_party_has_the_labels_and_the_others_keep_their_order():
    more = Party("post", "passive", BLOCK, (2,))
    assert roles([FEATURES, LABELS, more]) == (LABELS, (FEATURES, more))


@pytest.mark.parametrize(
    ("parties", "text"),
    [
        ([LABELS], "1 active and 0 passive"),
        ([FEATURES, FEATURES], "0 active and 2 passive"),
        ([LABELS, LABELS, FEATURES], "2 active and 1 passive"),
        ([BARE, FEATURES], "party 'registry' holds no column: give it one, or leave it out"),
    ],
)
def test_parties_that_make_no_fit_are_named(parties, text):
    with pytest.raises(ValueError, match=text):
        roles(parties)


def test_a_party_may_hold_the_labels_alone_where_a_method_allows_it():
    assert roles([BARE, FEATURES], bare=True) == (BARE, (FEATURES,))


def test_a_value_is_charged_to_everybody_it_was_made_of():
    both = unprotected_value(1.0, parts_of([LABELS, FEATURES]))
    assert both.units == ("label", "features")
    assert [(part.owner, part.units) for part in both.made_of] == [
        ("bank", ("label", "features")),
        ("shop", ("features",)),
    ]
    assert unprotected_value(1.0, parts_of([LABELS, FEATURES], ("row",))).units == ("row",)


def test_everybody_else_is_parties_then_places_without_data():
    run = Run(
        [LABELS, FEATURES],
        epsilon=math.inf,
        fold=Fold(np.zeros(2, dtype=int), 0, 1),
        rng_for=Streams(1, "roles"),
        spec=None,
        extra=("analyst", "dealer"),
    )
    assert others_than(run, "analyst", LABELS) == (FEATURES, "dealer")


def test_columns_that_were_split_are_together_again_in_their_order():
    X = np.arange(12.0).reshape(2, 6)
    groups = split_columns(6, 3, "explicit", [[5, 0], [3], [4, 1, 2]])
    assert np.array_equal(merge_blocks([X[:, list(group)] for group in groups], groups), X)
    assert column_order(groups).tolist() == [1, 4, 5, 2, 3, 0]
