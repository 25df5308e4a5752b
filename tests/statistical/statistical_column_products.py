"""Long check of products of columns in slots: ten thousand records at 2048 bits, exactly, within eight CPU seconds."""

from __future__ import annotations

import time

import numpy as np
import pytest

from partywise.core.randomness import stream
from partywise.federation.exchanges.homomorphic.column_products import (
    LARGEST,
    close_columns,
    masked_products,
    open_products,
)
from partywise.federation.exchanges.homomorphic.paillier_keys import generate_key

pytestmark = pytest.mark.statistical

N, COLUMNS, BITS, SECONDS = 10_000, 5, 2048, 8


def test_ten_thousand_records_take_eight_seconds():
    private = generate_key(BITS, stream(1, "long key"), kind="paillier")
    x, y = stream(1, "long columns").integers(-LARGEST, LARGEST + 1, (2, N, COLUMNS))
    start = time.process_time()
    closed = close_columns(private, x, stream(1, "long encryption"), key_holder="j")
    returned, words = masked_products(private.public, closed, COLUMNS, y, stream(1, "long masks"), holder="k")
    found = (open_products(private, returned, N, COLUMNS) + words).view(np.int64)
    assert time.process_time() - start <= SECONDS
    np.testing.assert_array_equal(found, x.T @ y)
