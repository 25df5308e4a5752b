"""The bytes of a frame stay as they are while modules move: stored digests of ten protocols' frames.

Numbers are masked, since their last digits differ between processors; what is compared is all the rest: who sends what
to whom, names, kinds, arguments, rows of the ledger, types and shapes of arrays, in the order of the program.
`python tests/federation/test_golden_frames.py` writes the file anew; the change belongs into docs/numbers_moved.md.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from pathlib import Path

import pytest

from every_protocol import generated, planned
from partywise.deployment.wire.frames import FrameAddress, encode_frame
from partywise.experiment.trial import execution
from partywise.federation.codec import pack_parts
from partywise.federation.run import simulate

GOLDEN = Path(__file__).with_name("golden_frames.csv")
FITS = (
    ("federated_survival", "covariates", "risk_sets"),
    ("federated_survival", "covariates", "scores"),
    ("framework_filters", "small", "certified_rows"),
    ("functional_boosting", "simulated", "moments"),
    ("label_private", "generated", "planned"),
    ("sliced_inverse_regression", "rows", "cert"),
    ("vertical_glm", "unaligned", "private_moments"),
    ("vertical_glm", "aligned", "shared"),
    ("vertical_linear", "generated", "certified_sums"),
    ("vertical_trees", "generated", "certified_tables"),
)
NUMBER = re.compile(rb"-?\d+(\.\d+)?(e[+-]?\d+)?")


def frames_digest(study: str, case: str, method: str) -> tuple[int, str]:
    """Number of the frames of a fit, and the SHA-256 of all of them with their numbers masked."""
    plan = planned(study)
    run = execution(plan, case, method, generated(study, case))
    simulate(plan.methods[method].protocol.fit, run)
    total = hashlib.sha256()
    for step, (payload, message) in enumerate(run.channel._records()):
        address = FrameAddress("run", step, message.sender, message.receiver, message.name)
        frame = encode_frame(address, payload, message.event)
        size = int.from_bytes(frame[:4], "big")
        header = json.loads(frame[4 : 4 + size])
        assert b"".join(pack_parts(payload)) == frame[4 + size :]
        _, described, *arrays = pack_parts(payload)
        fields = {name: value for name, value in header.items() if name not in ("digest", "bytes", "shape")}
        total.update(NUMBER.sub(b"0", json.dumps(fields).encode() + bytes(described)))
        total.update(str(len(arrays)).encode())
    return len(run.channel.messages), total.hexdigest()


def golden() -> dict[tuple[str, str, str], tuple[int, str]]:
    """The stored digests by study, case and method."""
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        return {
            (row["study"], row["case"], row["method"]): (int(row["frames"]), row["digest"])
            for row in csv.DictReader(file)
        }


@pytest.mark.parametrize("fit", FITS, ids="/".join)
def test_frames_are_the_stored_ones(fit):
    assert frames_digest(*fit) == golden()[fit]


if __name__ == "__main__":
    with GOLDEN.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("study", "case", "method", "frames", "digest"))
        rows.writerows((*fit, *frames_digest(*fit)) for fit in FITS)
