"""Environments of the steps, checked without a network: exact pins, equal to the lock, and what the steps import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from rattler import MatchSpec

from artifact.pins import CONDA, PAGES, ranges
from artifact.sources import CITATION, citation
from fingerprint import closure, script_roots
from partywise.experiment.study import load
from pipeline import ROOT

# conda-forge's names of packages, where they differ from those of the Python package index.
NAMES = {"netcdf4": "netcdf4", "matplotlib-base": "matplotlib"}
# The distribution behind an imported module, where the names differ.
MODULES = {"nacl": "pynacl", "netCDF4": "netcdf4", "mpl_toolkits": "matplotlib"}
# xarray writes NetCDF through netCDF4 without an import statement of ours.
BACKENDS = {"xarray": "netcdf4"}
# Keys that pairs of parties agree on are real in releases alone, which need the extra `network`.
RELEASES = {"cryptography"}
# What they import is for whoever asks: frames of a notebook, own tables in Parquet, whose error says what to install.
ON_DEMAND = ("methods/glm/results.py", "privacy/ledger/chain.py", "data/own/arrow.py")
# The rule whose script runs in each environment.
STEPS = {"data": "fetch", "generate": "generate", "fit": "fit", "collect": "collect", "figure": "figure"}


def environment(step: str) -> dict:
    return yaml.safe_load((ROOT / "envs" / f"{step}.yaml").read_text())


def pins(step: str) -> dict[str, str]:
    """Name and version of every entry but Python."""
    entries = dict(entry.split("=", 1) for entry in environment(step)["dependencies"])
    assert entries.pop("python").startswith("3.11")
    return {name: version.lstrip("=") for name, version in entries.items()}


def imported(step: str) -> set[str]:
    """Distributions that the script of a step imports, with the library modules and study parts behind it."""
    script = ROOT / "scripts" / f"{STEPS[step]}.py"
    roots = set(script_roots(script)) | study_roots(step)
    files = [path for path in (script, *closure(roots).values()) if not path.as_posix().endswith(ON_DEMAND)]
    found = set()
    for path in files:
        for node in executed(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module or "")
    tops = {name.partition(".")[0] for name in found} - set(sys.stdlib_module_names) - {"partywise"}
    packages = {MODULES.get(name, name) for name in tops} - RELEASES
    return packages | {BACKENDS[name] for name in packages if name in BACKENDS}


def executed(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes but those that type checkers alone read."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def study_roots(step: str) -> set[str]:
    """Modules that a study names for a step by reference."""
    roots = set()
    for name in sorted(path.parent.name for path in (ROOT / "lib/partywise/studies").glob("*/study.py")):
        study = load(name)
        lazy = {
            "generate": [study.data, *(source.generate for source in study.sources.values())],
            "fit": [study.data, study.split, study.folds, study.metrics, study.example_fits]
            + [part for source in study.sources.values() for part in source.fits]
            + [protocol.fit for protocol in study.methods.values()],
            "figure": list(study.figures.values()),
        }.get(step, [])
        roots |= {item.module for item in lazy if item is not None}
    return roots


@pytest.mark.parametrize("step", STEPS)
def test_channels_and_pins(step):
    described = environment(step)
    assert described["channels"] == ["conda-forge", "nodefaults"]
    for entry in described["dependencies"]:
        spec = MatchSpec(entry, strict=True)
        assert spec.version is not None
        if not entry.startswith("python="):
            assert re.fullmatch(r"[a-z0-9-]+==\d+(\.\d+)+", entry)


@pytest.mark.parametrize("step", STEPS)
def test_packages_are_those_that_the_step_imports(step):
    listed = {NAMES.get(name, name) for name in pins(step)}
    assert listed == imported(step)


def test_every_rule_names_an_environment_that_exists():
    rules = ROOT / "workflow" / "rules"
    text = "".join(path.read_text() for path in rules.glob("*.smk"))
    named = re.findall(r'conda:\s+"([^"]+)"', text)
    assert len(named) == len(re.findall(r"^rule ", text, re.M)) == len(STEPS)
    for path in named:
        assert (rules / path).resolve().is_file(), path
    assert {Path(path).stem for path in named} == set(STEPS)


def packages(name: str) -> dict[str, str]:
    """What a lock says of each package: version, marker and hashes, without the comments."""
    blocks = re.split(r"^(?=\S)", re.sub(r"^ +#.*\n", "", (ROOT / name).read_text(), flags=re.M), flags=re.M)
    return {block.split("==")[0]: block for block in blocks if block}


LOCKS = tuple(f"locks/requirements{name}.lock" for name in ("", "-test", "-network", "-nvflare", "-frameworks"))


@pytest.mark.parametrize("name", LOCKS)
def test_locks_hold_hashes_and_no_address(name):
    assert not re.search(r"https?://|--index-url|--find-links|@ file", (ROOT / name).read_text())
    for package, text in packages(name).items():
        assert re.search(r"==\S+", text) and "--hash=sha256:" in text, package


COMPUTING = ("cryptography", "numpy", "pytest", "scipy")


def version(lock: dict[str, str], name: str) -> str:
    return lock[name].split("==")[1].split()[0]


def test_the_lock_of_tests_holds_all_that_a_run_needs_and_a_run_needs_no_tools_of_tests():
    """So that one environment serves both, whichever verb came first."""
    run, test, network, nvflare, frameworks = map(packages, LOCKS)
    assert run == {name: test[name] for name in run}
    # A package that the parties need under old Pythons alone may be one that the tests need under all.
    assert all(test[name] in (text, re.sub(" ; .*(?= \\\\)", "", text)) for name, text in network.items())
    assert {"tno-mpc-communication", "aiohttp", "cryptography"} <= set(network) - set(run)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tools = {re.split(r"[=<>]", tool)[0].lower() for tool in project["dependency-groups"]["dev"]}
    assert tools <= set(test) - set(run)
    network = {
        re.split(r"[=<>]", one)[0].replace(".", "-") for one in project["project"]["optional-dependencies"]["network"]
    }
    assert network == {"cryptography", "tno-mpc-communication"}
    assert network | {"aiohttp"} <= set(test) - set(run), "a run without parties apart sets up nothing of theirs"
    assert {"numpy", "scipy", "netcdf4", "matplotlib", "snakemake", "setuptools"} <= set(run)
    # In an environment of its own, where sites and simulations compute with the same versions.
    common = set(nvflare) & set(test)
    assert {"numpy", "scipy", "cryptography", "pynacl", "pyyaml"} <= common
    assert {name: nvflare[name] for name in common} == {name: test[name] for name in common}
    assert {"nvflare", "grpcio"} <= set(nvflare) - set(test)
    # Frameworks whose layers are restated compute with the versions of the suite; of the rest they ask for others.
    assert {name: version(frameworks, name) for name in COMPUTING} == {name: version(test, name) for name in COMPUTING}
    assert version(frameworks, "nvflare") == version(nvflare, "nvflare")
    wanted = (ROOT / "tests/methods/filters/frameworks.txt").read_text()
    assert {f"{name}=={version(frameworks, name)}" for name in ("flwr", "nvflare", "pfl")} <= set(wanted.splitlines())


def test_the_recipe_asks_for_what_the_package_asks_for():
    """The library's requirements, and those of the extra `pipeline` for whoever installs them."""
    recipe = yaml.safe_load((ROOT / "packaging" / "recipe.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {theirs: name for name, theirs in CONDA.items()}

    def by_name(requirements: list[str]) -> set[str]:
        found = [re.fullmatch(r"([A-Za-z0-9_.-]+) ?(>=[0-9.]+)", one) for one in requirements]
        return {f"{named.get(one[1], one[1]).lower()} {one[2]}" for one in found if one}

    extras, own = project["optional-dependencies"], "partywise[figures]"
    assert own in extras["pipeline"]
    wanted = [*extras["figures"], *(one for one in extras["pipeline"] if one != own)]
    (python, *run), optional = recipe["requirements"]["run"], recipe["requirements"]["run_constraints"]
    assert python == "python >=${{ python_min }}"
    assert set(run) == by_name(project["dependencies"]) and len(run) == len(project["dependencies"])
    assert set(optional) == by_name(wanted) and len(optional) == len(wanted)
    assert all(MatchSpec(one, strict=True).version is not None for one in (*run, *optional))
    assert recipe["tests"][0]["python"]["imports"] == ["partywise"]
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert dict([entry.split(" = ")]) == project["scripts"]


def test_a_package_has_one_range_wherever_it_is_asked_for():
    """The library, its extras and the overrides of the locks; exact versions are of tools of tests alone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lists = [project["project"]["dependencies"], *project["project"]["optional-dependencies"].values()]
    lists.append([one for one in project["tool"]["uv"]["override-dependencies"] if ";" not in one])
    asked = [re.fullmatch(r"([A-Za-z0-9_.-]+)((?:==|>=)[\d.]+)", one) for requirements in lists for one in requirements]
    different = {(match[1], match[2]) for match in asked if match and ranges(ROOT)[match[1].lower()] != match[2]}
    assert len(asked) > 20 and different == set()
    assert f'min_version("{ranges(ROOT)["snakemake"].removeprefix(">=")}")' in (ROOT / "Snakefile").read_text()


def test_a_new_version_and_new_pins_are_written_where_others_read_them(tmp_path):
    """From the package, the changes, pyproject.toml and the lock; nothing else is edited."""
    sources = ("pyproject.toml", "locks/requirements.lock", "CHANGELOG.md", "lib/partywise/__init__.py")
    for name in (*sources, *PAGES, CITATION):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    edits = {
        "pyproject.toml": [
            (r"numpy>=[\d.]+", "numpy>=8.1"),
            (r"snakemake>=[\d.]+", "snakemake>=8.2"),
            (r"nvflare==[\d.]+", "nvflare==8.3"),
            (r">=3\.11", ">=3.12"),
        ],
        "locks/requirements.lock": [(r"^numpy==\S+", "numpy==8.4.1"), (r"^matplotlib==\S+", "matplotlib==8.5.1.post2")],
        "CHANGELOG.md": [(r"^## \S+ \(\S+\)$", "## 8.6.0 (2031-01-02)")],
        "lib/partywise/__init__.py": [(r"^__version__ = .*$", '__version__ = "8.6.0"')],
    }
    for name, pairs in edits.items():
        text = (tmp_path / name).read_text(encoding="utf-8")
        for old, new in pairs:
            text, count = re.subn(old, new, text, flags=re.MULTILINE)
            assert count, (name, old)
        (tmp_path / name).write_text(text, encoding="utf-8")
    written = {name: page(tmp_path) for name, page in (PAGES | {CITATION: citation}).items()}
    for name, lines in {
        "packaging/recipe.yaml": ['version: "8.6.0"', 'python_min: "3.12"', "numpy >=8.1", "snakemake-minimal >=8.2"],
        "envs/figure.yaml": ["- numpy==8.4.1\n", "- matplotlib-base==8.5.1\n"],
        "tests/methods/filters/frameworks.txt": ["nvflare==8.3\n"],
        CITATION: ["version: 8.6.0\n", "date-released: 2031-01-02\n"],
    }.items():
        assert [line for line in lines if line not in written[name]] == [], name


# Where the oldest Python is named by its number, and the image in which it is tried.
OLDEST = re.compile(
    r"(?:Python|python3 \()\s?(3\.\d+)(?: or newer|\))|python_version = \"(3\.\d+)\"|- python=(3\.\d+)$", re.M
)
IMAGE = re.compile(r"python:\d+\.\d+\.\d+-slim-\w+")


def test_one_oldest_python_and_one_image_are_named():
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    texts = {
        name: (ROOT / name) for name in listed if name.endswith((".md", ".yaml", ".toml", "file")) or name == "run"
    }
    content = {name: path.read_text(encoding="utf-8") for name, path in texts.items() if name != "CHANGELOG.md"}
    floors = {
        (name, *filter(None, found.groups())) for name, text in content.items() for found in OLDEST.finditer(text)
    }
    assert {"run", "README.md", "pyproject.toml", "envs/fit.yaml"} <= {name for name, _ in floors}
    assert [floor for floor in floors if floor[1] != requires] == []
    assert len({image for text in content.values() for image in IMAGE.findall(text)}) == 1
