"""What a run that stopped says last: the sentences of the jobs that failed in it."""

from __future__ import annotations

import os

from reasons import reasons, told

TRACE = "INFO threads\nTraceback (most recent call last):\n  File somewhere\n"


def test_only_jobs_that_failed_in_this_run_are_told_each_sentence_once(tmp_path):
    logs = {
        "fit/a.log": (f"{TRACE}RuntimeError: data (case c) failed: DataMissing: lab.csv has no column 'x'.\n", 110),
        "fit/b.log": (f"{TRACE}RuntimeError: data (case c) failed: DataMissing: lab.csv has no column 'x'.\n\n", 120),
        "fit/fine.log": ("INFO records: 12\n", 115),
        "collect.log": (f"{TRACE}partywise.errors.CubeError: block k2.npz cannot be read: delete it.", 105),
        "earlier.log": (f"{TRACE}ValueError: a mistake of yesterday.", 50),
    }
    for name, (text, time) in logs.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (time, time))
    found = reasons(tmp_path, 100)
    assert found == [
        "block k2.npz cannot be read: delete it.",
        "data (case c) failed: DataMissing: lab.csv has no column 'x'.",
    ]
    assert told(found).splitlines() == [f"Failed: {sentence}" for sentence in found]
    assert reasons(tmp_path / "absent", 0) == [] and told([]) == ""


def test_many_reasons_are_counted():
    assert told([str(k) for k in range(5)]).splitlines()[-2:] == ["Failed: 2", "(2 more in the logs)"]
