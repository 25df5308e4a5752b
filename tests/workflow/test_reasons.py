"""What a run that stopped says last: the sentences of the jobs that failed in it."""

from __future__ import annotations

import os
import subprocess
import sys
from logging import ERROR, LogRecord

from snakemake_interface_logger_plugins.common import LogEvent

from pipeline import environment
from reasons import reasons, summarize
from snakemake_logger_plugin_partywise import LogHandler

TRACE = "INFO threads\nTraceback (most recent call last):\n  File somewhere\n"


def test_only_jobs_that_failed_in_this_run_are_told_each_sentence_once(tmp_path):
    logs = {
        "fit/a.log": (f"{TRACE}RuntimeError: data (case c) failed: DataMissing: lab.csv has no column 'x'.\n", 110),
        "fit/b.log": (f"{TRACE}RuntimeError: data (case c) failed: DataMissing: lab.csv has no column 'x'.\n\n", 120),
        "fit/fine.log": ("INFO records: 12\n", 115),
        "collect.log": (f"{TRACE}partywise.core.errors.CubeError: block k2.npz cannot be read: delete it.", 105),
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
    assert summarize(found).splitlines() == [f"Failed: {sentence}" for sentence in found]
    assert reasons(tmp_path / "absent", 0) == [] and summarize([]) == ""


MISTAKE = """
import sys
from pathlib import Path
from partywise.core.errors import DataMissing
from partywise.experiment.data import NamedErrors
from partywise.experiment.jobs import log_to
log_to(sys.argv[1])
with NamedErrors("data", case="own"):
    raise {error}("lab.csv has no column 'x':\\n  name another.")
"""


def ended(folder, error):
    """A job that ends in an error: its exit code and its log."""
    log = folder / "job.log"
    done = subprocess.run([sys.executable, "-c", MISTAKE.replace("{error}", error), log], env=environment())
    return done.returncode, log


def test_a_log_has_our_notes_and_the_warnings_of_others_but_nothing_on_fonts(tmp_path):
    """A figure had 60 lines on the glyphs of its letters in its log."""
    drawn = "import matplotlib.pyplot as plt, logging, sys; from partywise.experiment.jobs import log_to; "
    drawn += "from partywise.experiment.plotting.save import save_figure; log = log_to(sys.argv[1]); "
    drawn += "figure = plt.figure(); figure.text(0.5, 0.5, 'α fine', family='no such font'); "
    drawn += "save_figure(figure, *sys.argv[2:]); log.info('drawn'); logging.getLogger('other').warning('beware')"
    files = [tmp_path / name for name in ("job.log", "a.svg", "a.pdf", "a.png", "a.csv")]
    subprocess.run([sys.executable, "-c", drawn, *files], env=environment(), check=True)
    threads, *others = files[0].read_text(encoding="utf-8").splitlines()
    assert threads.startswith("INFO threads: ") and others == ["INFO drawn", "WARNING beware"]
    assert all(file.stat().st_size for file in files)


def test_a_mistake_in_the_data_is_one_sentence_without_a_traceback(tmp_path):
    code, log = ended(tmp_path, "DataMissing")
    *before, last = log.read_text().splitlines()
    assert code == 1 and last == "ERROR lab.csv has no column 'x': name another."
    assert not [line for line in before if not line.startswith("INFO ")]
    assert before[-1] == "INFO stopped at data (case own)"
    assert reasons(tmp_path, 0) == ["lab.csv has no column 'x': name another."]


def test_the_traceback_of_a_bug_stays(tmp_path):
    code, log = ended(tmp_path, "KeyError")
    assert code == 1 and TRACE.split("\n")[1] in log.read_text()
    assert reasons(tmp_path, 0)[0].startswith("data (case own) failed: KeyError: ")


def record(event, text, **more):
    made = LogRecord("snakemake", ERROR, "", 0, text, (), None)
    made.event = event
    vars(made).update(more)
    return made


def test_a_terminal_shows_the_sentence_and_nothing_of_the_job(tmp_path, capsys):
    _, log = ended(tmp_path, "DataMissing")
    handler = LogHandler(None, None)
    script = (
        "RuleException:\nCalledProcessError in file \"study.smk\", line 63:\nCommand 'python /x/scripts/tmp.fit.py' "
    )
    for _ in range(2):
        handler.emit(record(LogEvent.ERROR, script + "returned non-zero exit status 1.", exception="RuleException"))
        handler.emit(record(LogEvent.JOB_ERROR, "Error in rule fit", log=[str(log)]))
    handler.emit(record(LogEvent.ERROR, "WorkflowError:\nAt least one job did not complete successfully."))
    assert capsys.readouterr().err.splitlines() == ["lab.csv has no column 'x': name another."]
    handler.emit(record(LogEvent.ERROR, script + "died with <Signals.SIGKILL: 9>."))
    assert "SIGKILL" in capsys.readouterr().err
    _, log = ended(tmp_path, "KeyError")
    handler.emit(record(LogEvent.JOB_ERROR, "Error in rule fit", log=[str(log)]))
    assert "Error in rule fit" in capsys.readouterr().err


def test_many_reasons_are_counted():
    assert summarize([str(k) for k in range(5)]).splitlines()[-2:] == ["Failed: 2", "(2 more in the logs)"]
