"""The verb ``./run crate [NAME]``: a finished run as a Workflow Run RO-Crate, which archives and their tools read."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crate.content import crate_of
from crate.metadata import METADATA, Crate, metadata
from last_run import read
from launching.words import Refused, default, options
from partywise.core.errors import AccountError, ConfigError, PartyError
from partywise.core.files import replacing
from partywise.core.project import command
from partywise.core.verbs import new_parser
from partywise.experiment.plan import Plan
from place import RECORD, RESULTS, ROOT, read_record, shipped
from verbs.report import in_force, with_configuration


def main(words: Sequence[str]) -> int:
    """Write the crate; 0, or 2 with the reason."""
    parser = new_parser("crate")
    parser.add_argument("name", nargs="?", help="name of the results or their folder; by default those of the last run")
    parser.add_argument("--into", type=Path, help="FILE.zip or a folder; by default results/NAME/NAME.crate.zip")
    parser.add_argument("--release", type=Path, help="a published folder of a run of parties apart, to be part of it")
    parser.add_argument("--records", action="store_true", help="with what shows single records of your own data")
    parser.add_argument("--agent", default="", help="who ran it, by name")
    parser.add_argument("--licence", default="MIT", help="of the crate, by its SPDX identifier (default MIT)")
    arguments = parser.parse_args(words)
    try:
        folder = results_of(arguments.name)
        plans, file = plans_of(folder)
        release = published(arguments.release) if arguments.release else {}
        licence = f"https://spdx.org/licenses/{arguments.licence}"
        crate = crate_of(folder, plans, file, release, arguments.records, arguments.agent, licence)
        into = arguments.into or folder / f"{folder.name}.crate.zip"
        write(into, crate)
    except (Refused, ConfigError, AccountError, PartyError, OSError) as reason:
        print(f"crate: {reason}", file=sys.stderr)
        return 2
    print(f"{into}: {len(crate.items)} files, {len(crate.jobs)} jobs; {METADATA} says what each is")
    return 0


def results_of(name: str | None) -> Path:
    """The folder of results that a word names, or that of the last run."""
    last = read(Path())
    if name is None and last is None:
        raise Refused(f"this folder has no last run: run {command()} first, or name the results of one.")
    folder = Path(RESULTS) / (Path(name).name if name else last.name)
    if read_record(folder / RECORD) is None:
        raise Refused(f"{folder} holds no finished run: run {command()} with its configuration first.")
    return folder


def plans_of(folder: Path) -> tuple[dict[str, Plan], Path | None]:
    """The plans of results, and the one file of their configuration; Refused where they are not what it makes now."""
    last, file = read(Path()), read_record(folder / RECORD).configuration
    words = ["--configfile", file if Path(file).exists() else str(ROOT / file)]
    if last is not None and last.name == folder.name:
        words = with_configuration([], Path())
    elif file == "--config":
        raise Refused(f"{folder} has no file of a configuration: run {command()} with the same words again first.")
    dry = [sys.executable, str(ROOT / "workflow" / "launch.py"), "-n", "--cores", "1", *words]
    done = subprocess.run(dry, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(f"it is unknown whether {folder} is current: {done.stderr.strip()}")
    if "Nothing to be done" not in done.stdout + done.stderr:
        again = " ".join([command(), *words])
        raise Refused(f"{folder} is not what its configuration, code and data make now: run {again} first.")
    files = options(words).configfile or [str(default(Path()))]
    return in_force(words, Path()), shipped(files[0]) if len(files) == 1 else None


def published(folder: Path) -> dict[str, bytes]:
    """The files of a published folder, which is checked: its statement and no others."""
    try:
        from partywise.deployment.publication.check_release import check_release
        from partywise.deployment.statement.files import read_folder
    except ModuleNotFoundError as error:
        raise Refused(f"--release needs {error.name}: pip install 'partywise[network]'.") from None
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as output:
        code = check_release(folder, None, [])
    if code == 1:
        raise Refused(
            f"--release {folder} is not a folder that {command('check-release')} accepts: {output.getvalue()}"
        )
    return read_folder(folder)


def write(into: Path, crate: Crate) -> None:
    """The crate as one file, the same bytes for the same crate, or as a folder."""
    files = {METADATA: metadata(crate)} | {item.path: item.source for item in crate.items}
    if into.suffix == ".zip":
        with replacing(into) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, source in [*files.items(), *((name, b"") for name in crate.folders)]:
                info = zipfile.ZipInfo(name)
                info.compress_type, info.external_attr = (
                    zipfile.ZIP_DEFLATED,
                    (0o40755 if name.endswith("/") else 0o100644) << 16,
                )
                with archive.open(info, "w", force_zip64=True) as target, opened(source) as handle:
                    shutil.copyfileobj(handle, target)
        return
    if into.is_file() or (into.exists() and any(into.iterdir())):
        raise Refused(f"--into {into} is there: name a folder that is new or empty, or a file that ends with .zip.")
    for name, source in files.items():
        with replacing(into / name) as temporary, temporary.open("wb") as target, opened(source) as handle:
            shutil.copyfileobj(handle, target)


def opened(source: Path | bytes) -> io.BufferedIOBase:
    """Open the content of a file of the crate."""
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
