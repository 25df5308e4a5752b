"""The progress of a run of two studies and a hundred jobs as Snakemake tells it: `progress_driver.py FOLDER`."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "plugins"))

from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_partywise import LogHandler

JOBS = 100
# The first figure of each study, and one more.
FIGURES = {40: ("first_study", "error"), 41: ("first_study", "bytes"), 90: ("second_study", "loss")}


def told(level: int, message: str = "", **words: Any) -> logging.LogRecord:
    record = logging.LogRecord("snakemake", level, "", 0, message, (), None)
    record.__dict__.update(words)
    return record


def main() -> None:
    """Tell the records one after the other; a warning comes twice, so does a note on data, a job fails once."""
    os.chdir(sys.argv[1])
    Path(".snakemake").mkdir(exist_ok=True)
    log = Path("job.log")
    log.write_text("INFO began\nWARNING own data: a.csv: x is outside its bounds\nWARNING other\n", encoding="utf-8")
    handler = LogHandler(None, None)  # type: ignore[arg-type]
    for job in range(1, JOBS + 1):
        study, figure = FIGURES.get(job, ("first_study" if job < 50 else "second_study", ""))
        wildcards = {"study": study} | ({"figure": figure} if figure else {"block": "one/two/k2_r0"})
        output = [f"results/mine/figures/{study}/{figure}.svg"] if figure else ["a block"]
        rule = "figure" if figure else "fit"
        common = {"event": LogEvent.JOB_INFO, "jobid": job, "wildcards": wildcards}
        common |= {"log": [log]} if job in (10, 60) else {}
        handler.emit(told(logging.INFO, rule_name=rule, output=output, **common))
        if job in (20, 30):
            handler.emit(told(logging.WARNING, "a warning that comes twice"))
        if job == 70:
            handler.emit(told(logging.ERROR, "Error in rule fit:\n    the whole reason\n    and where"))
        handler.emit(told(logging.INFO, event=LogEvent.JOB_FINISHED, job_id=job))
        handler.emit(told(logging.INFO, event=LogEvent.PROGRESS, done=job, total=JOBS))


if __name__ == "__main__":
    main()
