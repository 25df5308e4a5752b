"""Scripts of jobs in forks: one import of their packages for all, and each with an end of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from snakemake.benchmark import BenchmarkRecord

import forks
from launching.supervision import has_jobs
from pipeline import RESULTS, ROOT, TINY, copy_run, edit, environment, launch, results


@pytest.fixture
def server() -> Iterator[forks.Server]:
    serving = forks.Server(["json.tool"], environment())
    yield serving
    serving.close()


def written(folder: Path, text: str) -> str:
    """A script that holds a text."""
    path = folder / f"job{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    return str(path)


def test_a_script_finds_the_packages_its_words_and_its_environment(server, tmp_path, monkeypatch):
    monkeypatch.setenv("LEFT", "here")
    said = tmp_path / "said.json"
    script = written(
        tmp_path,
        "import json, os, sys\n"
        "loaded = 'json.tool' in sys.modules\n"
        f"told = loaded, __name__, __file__, sys.argv, sys.path[0], dict(os.environ), os.getpid(), sys.stdin.read()\n"
        f"json.dump(told, open({str(said)!r}, 'w'))\n",
    )
    for number in range(2):
        assert server.run(script, {"GIVEN": str(number)}) == 0
        loaded, name, file, words, path, env, process, read = json.loads(said.read_text())
        assert loaded and (name, file, words, path, read) == ("__main__", script, [script], str(tmp_path), "")
        assert env == {"GIVEN": str(number)} and process not in (os.getpid(), server.process.pid)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("raise SystemExit", 0),
        ("raise SystemExit(3)", 3),
        ("raise SystemExit('a reason')", 1),
        ("raise KeyboardInterrupt", 1),
        ("1 / 0", 1),
        ("1 +", 1),
        ("import os; os._exit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
    ],
)
def test_a_script_ends_as_it_does_in_a_python_of_its_own(server, tmp_path, text, code):
    script = written(tmp_path, text)
    alone = subprocess.run([sys._base_executable, "-S", script], capture_output=True, check=False).returncode
    assert server.run(script, environment()) == code == (1 if alone == -signal.SIGINT else alone)
    assert server.run(written(tmp_path, ""), environment()) == 0, "the others go on"


def test_the_last_words_of_a_script_are_its_own(tmp_path):
    """By its own hook, if it has one; a traceback begins in the script."""
    failing = written(tmp_path, "def ask():\n    raise ValueError('no answer')\n\nask()\n")
    hooked = written(tmp_path, "import sys\nsys.excepthook = lambda kind, error, _: print('told:', error)\nint('x')\n")
    left = written(tmp_path, "import atexit\natexit.register(print, 'left')\n")
    code = "import forks, os, sys; s = forks.Server([], os.environ); [s.run(x, os.environ) for x in sys.argv[1:]]"
    command = [sys.executable, "-c", code, failing, hooked, left]
    env = environment() | {"PYTHONPATH": str(ROOT / "workflow")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "told: invalid literal for int() with base 10: 'x'\nleft\n"
    lines = done.stderr.splitlines()
    assert (lines[0], lines[-1]) == ("Traceback (most recent call last):", "ValueError: no answer")
    assert [line for line in lines if line.startswith("  File")] == [
        f'  File "{failing}", line 4, in <module>',
        f'  File "{failing}", line 2, in ask',
    ]


def test_scripts_run_side_by_side_and_their_costs_are_counted_apart(server, tmp_path):
    """What the kernel counts of each: the busy one has CPU time and memory, the one that waits has neither."""
    busy = "from time import process_time\nheld = bytearray(80_000_000)\nwhile process_time() < 0.4: pass\n"
    waiting = "from pathlib import Path\nfrom time import sleep\n"
    waiting += (
        f"Path({str(tmp_path)!r}, 'waits').touch()\nwhile not Path({str(tmp_path)!r}, 'ended').exists(): sleep(0.01)\n"
    )
    records = BenchmarkRecord(), BenchmarkRecord()
    first = threading.Thread(target=server.run, args=(written(tmp_path, waiting), environment(), records[0]))
    first.start()
    while not (tmp_path / "waits").exists():
        pass
    assert server.run(written(tmp_path, busy), environment(), records[1]) == 0
    (tmp_path / "ended").touch()
    first.join()
    waited, worked = records
    assert worked.cpu_time >= 0.4 and waited.cpu_time < 0.4 < waited.running_time
    assert worked.max_rss > waited.max_rss + 70
    assert all(f"{record.max_rss:.2f}" in record.to_tsv(False) for record in records)


def test_a_server_that_is_gone_starts_nothing(server, tmp_path):
    server.process.kill()
    server.process.wait()
    assert server.run(written(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')"), environment()) is None
    assert not (tmp_path / "ran").exists()


def test_a_server_counts_as_a_job_by_its_forks_alone(tmp_path):
    """The launcher leaves a Snakemake alone after a signal as long as jobs run."""
    ended = tmp_path / "ended"
    script = written(
        tmp_path, f"import time, pathlib\nwhile not pathlib.Path({str(ended)!r}).exists(): time.sleep(0.01)\n"
    )
    code = "import forks, os, sys; s = forks.Server([], os.environ); s.run(sys.argv[1], os.environ)"
    command = [sys._base_executable, "-c", f"{code}; print('ran', flush=True); sys.stdin.read()", script]
    env = environment() | {"PYTHONPATH": str(ROOT / "workflow")}
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as asking:
        whole = psutil.Process(asking.pid)
        while len(whole.children(recursive=True)) < 2:
            pass
        assert has_jobs(asking.pid)
        ended.touch()
        assert asking.stdout.readline() == b"ran\n"
        assert len(whole.children()) == 1 and not has_jobs(asking.pid)
        asking.stdin.close()


def count_servers(path: Path) -> None:
    """Let the servers of a project's copy tell that they start, and what they have when they do."""
    edit(
        path,
        "    gc.freeze()\n",
        "    gc.freeze()\n    print('server of', len(packages), 'packages', file=sys.stderr)\n",
    )


@pytest.mark.runs
def test_a_run_imports_once_and_a_failing_figure_fails_alone(finished, tmp_path):
    """Two servers for all jobs; of two figures one fails with its reason, the other is as it was, byte for byte."""
    folder = copy_run(finished, tmp_path / "copy")
    count_servers(folder / "workflow" / "forks.py")
    module = folder / "lib/partywise/studies/functional_boosting/figures/parties.py"
    edit(module, "from __future__ import annotations\n", "from __future__ import annotations\n\nimport os, signal\n")
    busiest = "def busiest_case(cube: xr.Dataset) -> str | None:\n"
    edit(module, busiest, f"{busiest}    os.kill(os.getpid(), signal.SIGKILL)\n")
    done = launch(folder, *TINY, "--forcerun", "generate")
    assert done.returncode == 1
    told = {f"server of {len(packages)} packages" for packages in forks.PACKAGES.values()}
    assert sorted(line for line in done.stderr.splitlines() if line.startswith("server of")) == sorted(told)
    assert "13 of 15 jobs done" in done.stderr and "died with <Signals.SIGKILL: 9>" in done.stderr
    now, before = results(folder), results(finished)
    gone = {f"{RESULTS}/figures/functional_boosting/error_by_parties.{kind}" for kind in ("svg", "pdf", "png", "csv")}
    assert before.keys() - now.keys() == gone and all(before[name] == value for name, value in now.items())


@pytest.mark.runs
def test_where_nothing_is_forked_the_bytes_are_the_same(finished, tmp_path):
    """Each script in a new Python, as in a conda environment."""
    folder = copy_run(finished, tmp_path / "copy")
    edit(folder / "workflow" / "forks.py", 'PACKAGES = {"generate"', 'PACKAGES = {}\nWITHOUT = {"generate"')
    done = launch(folder, *TINY, "--forceall")
    assert done.returncode == 0, done.stderr
    assert results(folder) == results(finished)


@pytest.mark.runs
def test_jobs_are_looked_through_when_one_ends_and_not_every_second(finished, tmp_path):
    """Two figures of some seconds on one core: Snakemake chooses at the start, after each of them, and at the end."""
    folder = copy_run(finished, tmp_path / "copy")
    style = folder / "lib/partywise/experiment/plotting/style.py"
    edit(
        style,
        "from __future__ import annotations\n",
        "from __future__ import annotations\n\nimport time\n\ntime.sleep(5)\n",
    )
    done = launch(folder, *TINY, "--cores", "1", "--verbose")
    assert done.returncode == 0, done.stderr
    assert 2 <= done.stderr.count("Ready jobs: ") <= 5
