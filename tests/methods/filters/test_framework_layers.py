"""Restated privacy layers of frameworks against outputs of the real ones, which `vectors.json` holds with versions."""

from __future__ import annotations

import json
from unittest.mock import patch

import numpy as np
import pytest

import framework_layers
import restated_layers
from partywise.methods.filters.layers import flower, masks, nvflare, statistics

VECTORS = framework_layers.VECTORS
STORED = framework_layers.decode(json.loads(VECTORS.read_text(encoding="utf-8")))
CASES = STORED["cases"]


def compared(case: dict) -> list[str]:
    """How the restated layer differs from the real one on a stored case."""
    found = restated_layers.outputs(case["layer"], case["seed"], case["inputs"])
    if case["layer"] == "pfl_sigma":
        # Two searches for one root.
        return [] if abs(found / case["outputs"] - 1) < 1e-11 else [f"{found} instead of {case['outputs']}"]
    return restated_layers.differences(found, case["outputs"])


@pytest.mark.parametrize("layer", framework_layers.LAYERS)
def test_a_restated_layer_equals_the_real_one_to_the_last_bit(layer):
    own = [case for case in CASES if case["layer"] == layer]
    assert own
    for case in own:
        assert compared(case) == [], case["seed"]


def test_the_vectors_are_those_of_the_cases_and_of_the_versions_that_the_texts_name():
    assert VECTORS.stat().st_size < 60_000
    assert STORED["versions"] == {"flwr": "1.42.0", "nvflare": "2.9.0", "pfl": "0.6.0"}
    cases = json.loads(json.dumps(framework_layers.encode(framework_layers.cases())))
    assert not restated_layers.differences(
        framework_layers.decode(cases), [{name: case[name] for name in ("layer", "seed", "inputs")} for case in CASES]
    )


def falls(layer: str, target: object, name: str, wrong: object) -> bool:
    """Whether a stored case of a layer notices a wrong part."""
    with patch.object(target, name, wrong):
        return any(compared(case) for case in CASES if case["layer"] == layer)


def test_vectors_notice_a_wrong_formula():
    assert falls("local_dp", flower, "local_sd", lambda *given: 1.0001 * 2 * np.sqrt(2 * np.log(1.25e5)))
    assert falls("fixed_clipping", flower, "clip_factor", lambda update, bound: 1.0)
    assert falls("adaptive_clipping", flower, "adaptive_noise", lambda z, n, sd: (n / 20, z))
    assert falls("svt", nvflare, "svt_counts", lambda entries, *rest: (1, 0.01, 0.09, 0.1))
    assert falls("min_max", statistics, "ZERO", 2e-5)
    assert falls("secure_masks", masks, "MODULUS", 1 << 31)


def test_an_update_with_a_nan_is_not_clipped_and_one_of_zeros_has_no_length():
    clipped = flower.clip([np.array([np.nan, 1.4e6])], 1.0)[0]
    assert clipped[1] == 1.4e6
    with pytest.raises(ZeroDivisionError):
        flower.clip([np.zeros(3)], 1.0)
    with pytest.raises(ValueError, match="has no dimension"):
        flower.clip([np.array(1.0)], 1.0)


def test_svt_without_enough_numbers_ends_in_an_error():
    with pytest.raises(ValueError, match="fewer than 2 of 14 entries"):
        nvflare.svt({"w": np.full(14, np.nan)}, rng=np.random.RandomState(1))


def path(norm: float, direction: str, rounds: int) -> list[float]:
    """Clips over the rounds, of 100 clients whose updates all have one norm."""
    rng, bound, found = np.random.RandomState(2), flower.FIRST_CLIP, []
    replies = [[np.array([norm, 0.0])]] * 100
    for _ in range(rounds):
        _, bound = flower.adaptive_clipping(
            [np.zeros(2)], replies, [1.0] * 100, bound=bound, multiplier=1.0, rng=rng, direction=direction
        )
        found.append(bound)
    return found


def test_the_clip_runs_away_as_shipped_and_settles_mended():
    """Section 3.3: all norms 1 or .05 from a clip of .1; mended it goes to the norm, from above and from below."""
    above, below = path(1.0, "shipped", 40), path(0.05, "shipped", 40)
    assert above[0] == pytest.approx(0.089, abs=0.003) and above[-1] < 0.0025
    assert below[0] == pytest.approx(0.1087, abs=0.003) and below[-1] > 4
    for norm in (1.0, 0.05):
        settled = path(norm, "mended", 120)[-40:]
        assert norm * 0.85 < min(settled) and max(settled) < norm * 1.2
