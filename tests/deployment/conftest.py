"""A published run, once for all tests of its folder."""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from partywise.deployment.outcomes.run_files import last_run
from partywise.deployment.session import link
from partywise.deployment.wire.frames import encode_frame
from release_folders import FRAMES, prepared


@pytest.fixture(scope="session")
def published(tmp_path_factory) -> Path:
    """The folder of a run that was published, and all that its parties have."""
    folder = tmp_path_factory.mktemp("published")

    def noted(*terms: Any) -> bytes:
        frame = encode_frame(*terms)
        with (folder / FRAMES).open("a") as handle:
            handle.write(f"{sha256(frame).hexdigest()}\n")
        return frame

    # Parties are forks of this process.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link, "encode_frame", noted)
        told = prepared(folder).all()
    assert {one.code for one in told.values()} == {0}, told
    assert "signed by north, south" in told["server"].out and "signed what server writes" in told["north"].out
    return folder


@pytest.fixture
def copied(published, tmp_path) -> Path:
    """The folder alone, elsewhere."""
    return Path(shutil.copytree(last_run(published / "out" / "server") / "release", tmp_path / "copy"))
