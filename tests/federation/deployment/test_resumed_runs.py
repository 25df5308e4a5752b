"""A party is killed in a run over a network with TLS, and another process takes its place: the run ends all the same.

More kills: `tests/statistical/statistical_network.py`.
"""

from __future__ import annotations

import pytest

from networked_kills import check_resumed
from partywise.federation.transport import authority
from resumed import KINDS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    authority.make(folder, tuple({name for _, start, _ in KINDS.values() for name in start().names}), days=1)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_party_that_comes_back_goes_on_with_the_run(certificates, tmp_path, kind):
    fit, start, frames = KINDS[kind]
    killed = 0
    for seed in range(4):
        (tmp_path / str(seed)).mkdir()
        killed += check_resumed(fit, start, certificates, tmp_path / str(seed), seed, frames)
    assert killed > 1
