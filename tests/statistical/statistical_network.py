"""All protocols of every study over a network with TLS: `tests/federation/test_every_protocol_networked.py`."""

from __future__ import annotations

import pytest

from every_protocol import fits
from forked import preload
from last_frames_kills import NAMES, PARTS, check_kills, moments
from networked import Networked
from networked_check import check_networked, names_of
from networked_kills import check_kill, check_resumed
from partywise.deployment.wire import authority
from resumed import KINDS
from toy_rounds import run

pytestmark = pytest.mark.statistical
FITS = list(fits())


@pytest.fixture(scope="module")
def networked(tmp_path_factory):
    one = Networked(tmp_path_factory.mktemp("networked"), tuple({*names_of(FITS), *run().names}))
    yield one
    one.close()


@pytest.mark.parametrize("fit", FITS, ids="/".join)
def test_a_protocol_over_a_network_is_the_simulation(networked, fit):
    check_networked(networked, *fit)


@pytest.mark.parametrize("seed", range(30))
def test_a_party_that_is_killed_is_named_and_one_that_comes_back_takes_part_or_is_refused(networked, seed):
    check_kill(networked.folder / "certificates", seed, restart=seed % 2 == 1)


@pytest.mark.parametrize("kind", KINDS)
def test_twenty_kills_of_parties_that_come_back_change_nothing_and_nothing_is_paid_twice(networked, tmp_path, kind):
    fit, start, frames, count = KINDS[kind]
    killed = 0
    for seed in range(100, 120):
        (tmp_path / str(seed)).mkdir()
        given = networked.folder / "certificates", tmp_path / str(seed), seed, frames, count
        killed += check_resumed(fit, start, *given)
    print(f"{kind}: {killed} of 20 parties were killed, and all runs ended")
    assert killed > 15


@pytest.mark.parametrize("part", range(PARTS))
def test_no_kill_around_the_last_messages_loses_a_run_or_pays_twice(tmp_path, part):
    assert len(moments()) >= 30
    preload()
    authority.make(tmp_path / "certificates", NAMES, days=1)
    ended = check_kills(tmp_path, tmp_path / "certificates", moments()[part::PARTS])
    print(f"others that had ended at each kill: {ended}")
