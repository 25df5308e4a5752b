"""Over a network with TLS a protocol does what its simulation does, and no party opens the file of another."""

from __future__ import annotations

import pytest

from every_protocol import fits
from networked import Networked
from networked_check import check_networked, names_of
from networked_kills import check_kill
from partywise.experiment.study import available
from toy_rounds import run

# One fit of each study; all of them are among the long tests.
FITS = list({study: (study, case, method) for study, case, method in fits()}.values())


@pytest.fixture(scope="module")
def networked(tmp_path_factory):
    one = Networked(tmp_path_factory.mktemp("networked"), tuple({*names_of(FITS), *run().names}))
    yield one
    one.close()


@pytest.mark.parametrize("fit", FITS, ids="/".join)
def test_a_protocol_over_a_network_is_the_simulation(networked, fit):
    check_networked(networked, *fit)


def test_a_party_that_opens_the_file_of_another_is_seen(networked):
    with pytest.raises(AssertionError, match=r"opened \[.active\.block., .passive 1\.block."):
        check_networked(networked, *next(fit for fit in FITS if fit[0] == "vertical_linear"), peeping=True)


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_a_party_that_is_killed_is_named_and_one_that_comes_back_takes_part_or_is_refused(networked, seed, restart):
    check_kill(networked.folder / "certificates", seed, restart)


def test_every_study_is_among_them():
    assert {study for study, _, _ in FITS} == set(available())
