"""All protocols of every study over a network with TLS: `tests/federation/test_every_protocol_networked.py`."""

from __future__ import annotations

import pytest

from every_protocol import fits
from networked import Networked
from networked_check import check_networked, names_of

pytestmark = pytest.mark.statistical
FITS = list(fits())


@pytest.fixture(scope="module")
def networked(tmp_path_factory):
    one = Networked(tmp_path_factory.mktemp("networked"), names_of(FITS))
    yield one
    one.close()


@pytest.mark.parametrize("fit", FITS, ids="/".join)
def test_a_protocol_over_a_network_is_the_simulation(networked, fit):
    check_networked(networked, *fit)
