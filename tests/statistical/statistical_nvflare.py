"""Sites of NVFlare that are killed at random frames, and the same job submitted again (`tests/system/nvflare_jobs.py`).

The packages of ``locks/requirements-nvflare.lock`` come from the index that pip is configured with.
"""

from __future__ import annotations

import pytest

from deployment_cases import Apart
from nvflare_case import CaseProject
from nvflare_project import COMPLETED, with_extra
from partywise.core.randomness import stream

pytestmark = pytest.mark.statistical
# Of each study: frames that a party puts and gets at most, about.
KILLS, FRAMES = 5, {"sliced_inverse_regression": 16, "vertical_linear": 60}


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    return with_extra(tmp_path_factory.mktemp("environment") / "nvflare")


@pytest.mark.parametrize("study", FRAMES)
def test_kills_of_sites_change_nothing_and_nothing_is_paid_twice(python, tmp_path, study):
    made, rng, killed = CaseProject(python, tmp_path, Apart(study)), stream(7, "kills over NVFlare", study), 0
    with made.running():
        for seed in range(KILLS):
            site = [*made.sites.values()][rng.integers(len(made.sites))]
            count = int(rng.integers(1, FRAMES[study]))
            made.mortal(site).write_text(str(count))
            ended = made.run()
            assert not made.mortal(site).exists()
            if ended != COMPLETED:
                killed += 1
                assert made.run() == COMPLETED, (seed, site, count)
            made.check_ended(times=seed + 1)
    print(f"{study}: {killed} of {KILLS} sites were killed, and all runs ended")
    assert killed > KILLS // 2
