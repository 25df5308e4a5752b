"""The load-bearing walls, read from the syntax trees: who may import whom and touch a channel, what scripts are."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from _rooms import BEGIN, filled
from fingerprint import imports
from partywise.experiment.study import available, load
from pipeline import ROOT

LIB = ROOT / "lib" / "partywise"
ROOMS = tomllib.loads((LIB / "rooms.toml").read_text(encoding="utf-8"))
# Imports run down this list: a module imports its own kind of room and those before it.
LAYERS = tuple(tuple(layer["rooms"]) for layer in ROOMS["layer"])
METHODS = {room for layer in ROOMS["layer"] if layer["kind"] == "methods" for room in layer["rooms"]}
NUMERICS = METHODS | {"models", "alignment", "audits", "data"}
SAMPLING = {
    "gumbel",
    "normal",
    "standard_normal",
    "laplace",
    "exponential",
    "uniform",
    "random",
    "choice",
    "multivariate_normal",
}


def modules() -> dict[str, Path]:
    """All modules of the library, by name below the package."""
    found = {}
    for path in sorted(LIB.rglob("*.py")):
        parts = path.relative_to(LIB).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        if name:
            found[name] = path
    return found


MODULES = modules()


# Read once: five facts ask for the imports of every module.
@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def own_imports(name: str) -> set[str]:
    """Modules of the library that a module imports, by name below the package."""
    found = {used.removeprefix("partywise.") for used in imports(MODULES[name], f"partywise.{name}")}
    return {used for used in found if used in MODULES}


def statements(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All statements of a body, inner ones included: a tenth of the nodes, and an import is one."""
    for node in body:
        yield node
        for inner in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, inner, ()))


def foreign_imports(path: Path) -> set[str]:
    """Full names of other packages' modules that a file imports."""
    found = set()
    for node in statements(tree(path).body):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] != "partywise"}


def room(name: str) -> str:
    """The room that a module belongs to: a method's package below ``methods``, elsewhere a folder of the package."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "methods" else parts[0]


def layer(name: str) -> int:
    return next((number for number, rooms in enumerate(LAYERS) if room(name) in rooms), 0)


def protocol_modules() -> set[str]:
    """Modules whose ``fit`` is a method of some study."""
    fits = {protocol.fit for name in available() for protocol in load(name).methods.values()}
    return {fit.module.removeprefix("partywise.") for fit in fits}


def method_modules() -> list[str]:
    """Modules of the methods and the studies."""
    return [name for name in MODULES if room(name) in METHODS | {"studies"}]


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef):
            yield node


def arguments(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def takes_party(function: ast.FunctionDef) -> bool:
    """Whether an argument is annotated with Party."""
    hints = [argument.annotation for argument in arguments(function) if argument.annotation is not None]
    return any(isinstance(node, ast.Name) and node.id == "Party" for hint in hints for node in ast.walk(hint))


def test_every_module_has_its_layer():
    assert {room(name) for name in MODULES} == {name for rooms in LAYERS for name in rooms} | {"methods"}


def test_a_room_says_what_it_is_for_and_the_page_lists_it():
    """The page is written by ``.venv/bin/python docs/_rooms.py``."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert filled(page) == page and BEGIN in page
    folders = [*LIB.glob("*/__init__.py"), *LIB.glob("methods/*/__init__.py")]
    assert set(ROOMS["room"]) == {".".join(path.parent.relative_to(LIB).parts) for path in folders}
    for name, row in ROOMS["room"].items():
        folder = name.replace(".", "/")
        text = (LIB / folder / "__init__.py").read_text(encoding="utf-8")
        assert text.startswith(f'"""{row["purpose"].replace("`", "``")}'), name
        assert (LIB / row["start"]).is_file(), name


def test_a_folder_holds_about_a_dozen_files():
    """Thirteen modules beside ``__init__``: a longer list is several rooms."""
    held = Counter(path.parent for path in MODULES.values() if path.name != "__init__.py")
    full = {str(folder.relative_to(LIB)): count for folder, count in held.items() if count > 13}
    assert not full, (
        f"put some modules of {full} that belong together into a folder of their own, as column_sums has one"
    )


def test_imports_run_one_way():
    pairs = [(name, used) for name in MODULES for used in own_imports(name)]
    assert len(pairs) > 1000
    assert not [f"{name} imports {used}, which stands above it" for name, used in pairs if layer(used) > layer(name)]


def test_a_module_offers_what_has_no_underscore():
    """No list beside the definitions says it again; faces pass names on, and one module those of an optional package.

    That whoever imports a name asks the module that defines it is mypy's to see (``implicit_reexport``).
    """
    lists = {name for name, path in MODULES.items() if "\n__all__ =" in path.read_text(encoding="utf-8")}
    faces = {name for name in lists if MODULES[name].name == "__init__.py"}
    assert lists - faces == {"deployment.wire.connection"}
    assert "implicit_reexport = false" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def imports_within(folder: str) -> dict[str, set[str]]:
    """Files and rooms of a folder (a name below the package, "" for the package), and which of them each imports."""
    above = f"{folder}." if folder else ""
    inside = {name: name.removeprefix(above).split(".")[0] for name in MODULES if name.startswith(above)}
    found: dict[str, set[str]] = {place: set() for place in inside.values()}
    for name, place in inside.items():
        found[place] |= {inside[used] for used in own_imports(name) if used in inside} - {place}
    return found


def circles(folders: set[str]) -> Iterator[str]:
    """A circle of each folder that has one."""
    for folder in sorted(folders):
        try:
            TopologicalSorter(imports_within(folder)).prepare()
        except CycleError as error:
            yield f"{folder or 'partywise'}: {' imports '.join(reversed(error.args[1]))}"


def test_rooms_beside_each_other_form_no_circle():
    """Whoever reads one of them need not know those that use it."""
    folders = {"", *(name.rpartition(".")[0] for name in MODULES)}
    assert len(folders) > 50
    assert list(circles(folders)) == []


def test_a_circle_of_rooms_is_seen():
    arrows = imports_within("methods.glm")
    assert {"protocols", "opened_link"} <= set(arrows) and "opened_link" in arrows["protocols"]
    arrows["opened_link"].add("protocols")
    with pytest.raises(CycleError):
        TopologicalSorter(arrows).prepare()


def study(name: str) -> str:
    """The study that a module belongs to."""
    return ".".join(name.split(".")[:2])


def drawing(name: str) -> bool:
    """Whether a module draws figures."""
    own = name.startswith("experiment.plotting") or name.split(".")[0] == "plot"
    return own or (name.startswith("studies.") and ".figures" in name)


def test_the_pipeline_knows_no_numerics():
    """But for the contract of a protocol, which `check-method` tries and no job imports."""
    for name in MODULES:
        if name.startswith("experiment."):
            allowed = {"audits.contract", "audits.noise"} if name == "experiment.trial" else set()
            used = {other for other in own_imports(name) if room(other) != other} - allowed
            assert not {room(other) for other in used} & (NUMERICS | {"studies"}), name


def test_a_method_knows_no_other_and_a_study_no_other():
    for name in MODULES:
        if room(name) in METHODS:
            assert not {room(used) for used in own_imports(name)} & (METHODS | {"studies"}) - {room(name)}, name
        if room(name) == "studies":
            others = {study(used) for used in own_imports(name) if room(used) == "studies"}
            assert others <= {study(name), "studies"}, name


def test_nothing_outside_imports_the_room_of_parties_apart():
    """The table of verbs names its verbs by their addresses."""
    assert {room(name) for name in MODULES for used in own_imports(name) if room(used) == "deployment"} == {
        "deployment"
    }


def test_methods_never_import_each_other():
    methods = protocol_modules()
    assert len(methods) >= 8
    for name in methods:
        assert not own_imports(name) & (methods - {name}), name


# Who reads and writes cubes; a user's own file is read in a fit job, which imports netCDF4 when it has one to read.
TABLES = ("experiment.differences", "experiment.register", "experiment.tables")
CUBES = (
    "data.own.curves.netcdf",
    "experiment.collect",
    "experiment.differences",
    "experiment.register.numbers",
    "experiment.results",
)


def misplaced(name: str) -> set[str]:
    """Packages that a module imports and may not."""
    used = foreign_imports(MODULES[name])
    tops = {other.split(".")[0] for other in used}
    # The library knows no workflow; one file reads configurations, and the command prints one, as people write them.
    readers = {"check_data", "commands", "experiment.configuration.text"}
    wrong = tops & {"snakemake", "jsonschema", *(() if name in readers else ("yaml",))}
    # Results have names and tables by pandas, where that is installed and they are asked for.
    framed = (*TABLES, "methods.glm.results", "privacy.ledger.chain")
    wrong |= set() if name.startswith(framed) else tops & {"jinja2", "pandas"}
    wrong |= used & {"scipy.stats"}
    if not drawing(name):
        wrong |= tops & {"matplotlib", *(() if name.startswith(CUBES) else ("xarray", "netCDF4"))}
    if layer(name) < layer("privacy"):
        wrong |= tops - {*sys.stdlib_module_names, "numpy"}
    return wrong


def test_heavy_and_foreign_packages_stay_where_they_belong():
    assert not [f"{name} imports {sorted(wrong)}" for name in MODULES if (wrong := misplaced(name))]
    own = {other.split(".")[0] for other in foreign_imports(MODULES["data.own.curves.netcdf"])}
    assert own & {"xarray", "netCDF4"} == {"netCDF4"}


# Only these files know who carries bytes over a network, who makes certificates, and who agrees on keys.
CARRIERS = {
    "aiohttp": {"deployment.wire.connection", "deployment.wire.pool"},
    "tno": {"deployment.wire.connection"},
    "cryptography": {
        "deployment.wire.authority",
        "deployment.wire.credential",
        "deployment.wire.tls",
        "federation.exchanges.masks.pair_keys",
    },
}


def test_the_extra_of_networks_is_imported_in_six_files():
    """By nobody at once, or within functions: nothing changes for who asks for no network."""
    for name in MODULES:
        for top in {other.split(".")[0] for other in foreign_imports(MODULES[name])} & {*CARRIERS, "ormsgpack"}:
            assert name in CARRIERS.get(top, ()), f"{name} imports {top}"
    at_once = [node for node in tree(MODULES["deployment.wire.authority"]).body if isinstance(node, ast.ImportFrom)]
    assert not [node.module for node in at_once if (node.module or "").startswith("cryptography")]
    heavy = {f"deployment.wire.{name}" for name in ("connection", "pool")}
    users = [name for name in MODULES if heavy & own_imports(name) and name not in heavy]
    assert users == ["deployment.wire.network"]
    plain = [node for node in tree(MODULES[users[0]]).body if isinstance(node, ast.ImportFrom) and node.level]
    assert not {"connection", "pool"} & {node.module for node in plain}


def test_the_reader_of_own_files_imports_netcdf_when_it_reads_one():
    body = tree(MODULES["data.own.curves.netcdf"]).body
    at_once = [alias.name for node in body if isinstance(node, ast.Import) for alias in node.names]
    assert at_once == ["numpy"]


def test_figures_stand_apart():
    """A study names its figures by reference, so that editing one reruns no fit; and no figure reads the plan."""
    for name in MODULES:
        for used in own_imports(name):
            assert drawing(name) or not drawing(used), f"{name} imports {used}"
            assert not (drawing(name) and used.startswith("studies.") and used.endswith(".study")), name


# Who reads a channel after a run: the drivers of cells, parties apart and `align`; the contract asks view and ledger.
READERS = (
    "federation.",
    "alignment.align",
    "experiment.cells",
    "deployment.",
    "audits.contract",
    "audits.replay",
)


def test_only_a_run_touches_a_channel():
    for name, path in MODULES.items():
        if name.startswith(READERS):
            continue
        for node in ast.walk(tree(path)):
            named = {getattr(node, part, None) for part in ("id", "arg", "attr")}
            assert not named & {"channel", "Channel"}, f"{name} line {getattr(node, 'lineno', 0)} touches a channel"


# What a program never reads itself: blocks, what crossed before, contents of messages and ciphers.
CLOSED = {"block", "channel", "value"}


def programs(path: Path) -> Iterator[ast.FunctionDef]:
    """Functions that are a program for all parties: they take a run."""
    for function in functions(path):
        hints = [argument.annotation for argument in arguments(function)[:1]]
        if any(isinstance(hint, ast.Name) and hint.id == "Run" for hint in hints):
            yield function


def test_a_program_only_routes():
    wrong, protocols = [], protocol_modules()
    for name in method_modules():
        found = list(programs(MODULES[name]))
        assert name not in protocols or "fit" in [function.name for function in found], name
        for function in found:
            nodes = list(ast.walk(function))
            read = {node.attr for node in nodes if isinstance(node, ast.Attribute)} & CLOSED
            called = [node.func for node in nodes if isinstance(node, ast.Call)]
            drawn = {getattr(func, "attr", getattr(func, "id", "")) for func in called} & ({"rng_for"} | SAMPLING)
            wrong += [f"{name}.{function.name} reads {part}" for part in read]
            wrong += [f"{name}.{function.name} draws by {part}" for part in drawn]
    assert wrong == []


def test_a_method_file_has_three_sections():
    """``local_*`` (what a party computes), ``active_*`` or ``server_*`` (the other side), and ``fit`` at the end."""
    ranks = {"local": 0, "active": 1, "server": 1, "fit": 2}
    wrong = {}
    for name in protocol_modules():
        body = tree(MODULES[name]).body
        defined = [node.name for node in body if isinstance(node, ast.FunctionDef)]
        order = [ranks[function.split("_")[0]] for function in defined if function.split("_")[0] in ranks]
        if order != sorted(order) or getattr(body[-1], "name", None) != "fit":
            wrong[name] = defined
    assert wrong == {}


def test_only_parties_and_fit_see_a_party():
    """The other side has no Party in its signature; only ``local_*``, programs that only route and the split may."""
    seen = [
        (name, function.name)
        for name in method_modules()
        for function in functions(MODULES[name])
        if takes_party(function) and function not in set(programs(MODULES[name]))
    ]
    assert len(seen) > 50
    assert not [pair for pair in seen if pair[1] != "fit" and not pair[1].startswith("local_")]


def test_privacy_noise_comes_from_mechanisms_only():
    wrong = {}
    for name in protocol_modules():
        calls = [node.func for node in ast.walk(tree(MODULES[name])) if isinstance(node, ast.Call)]
        wrong[name] = {func.attr for func in calls if isinstance(func, ast.Attribute)} & SAMPLING
    assert not {name: drawn for name, drawn in wrong.items() if drawn}


def test_any_stands_only_where_nothing_else_says_what_a_value_is():
    rooms = METHODS | {"alignment", "audits", "data", "experiment", "federation", "privacy", "studies"}
    for name, path in MODULES.items():
        if room(name) in rooms:
            untyped = any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree(path)))
            reason = re.search(r"^ *# Any: \w.*\.\n *from typing import", path.read_text(encoding="utf-8"), flags=re.M)
            assert untyped == bool(reason), f"{name}: say why above the import, '# Any: what the value is.'"


def test_generators_are_made_in_one_place():
    """By address in ``randomness``; nowhere a seed, a global state or a generator of its own.

    But for a mask of secure aggregation, which is its seed: nothing random is drawn by it.
    """
    forbidden = {"default_rng", "seed", "RandomState", "SeedSequence", "PCG64", "PCG64DXSM", "Generator"}
    for name, path in MODULES.items():
        if name in ("core.randomness", "privacy.mechanisms.random", "methods.filters.layers.masks"):
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                assert node.func.attr not in forbidden, f"{name} line {node.lineno}"


def test_scripts_hold_one_call_and_no_logic():
    """They read params, never the configuration."""
    logic = (ast.If, ast.For, ast.While, ast.FunctionDef, ast.ClassDef, ast.Try, ast.With)
    scripts = sorted((ROOT / "scripts").glob("*.py"))
    assert scripts
    for path in scripts:
        assert 8 <= len(path.read_text().splitlines()) <= 30, path.name
        nodes = list(ast.walk(tree(path)))
        assert not [node for node in nodes if isinstance(node, logic)], path.name
        assert ast.get_docstring(tree(path)), path.name
        read = [node.attr for node in nodes if isinstance(node, ast.Attribute)]
        assert not {"config", "wildcards"} & set(read), path.name


def test_rule_files_say_what_they_do():
    for path in [ROOT / "Snakefile", *sorted((ROOT / "workflow" / "rules").glob("*.smk"))]:
        text = path.read_text()
        assert text.startswith('"""'), path.name
        assert "lambda" not in text and "run:" not in text, path.name
    rules = (ROOT / "workflow" / "rules" / "study.smk").read_text().split("\nrule ")[1:]
    assert [rule.split(":")[0] for rule in rules] == ["fetch", "generate", "fit", "collect", "figure"]
    for rule in rules:
        assert rule.split("\n")[1].strip().startswith('"""')
        for part in (
            "output:",
            "log:",
            "benchmark:",
            "conda:",
            "threads: 1",
            "mem_mb=",
            "runtime=",
            "params:",
            "script:",
        ):
            assert part in rule, (rule.split(":")[0], part)


def test_files_of_tests_have_names_of_their_own():
    """Folders of tests are no packages: two files of one name stop the collection of both."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py"))
    assert not [name for name, count in names.items() if count > 1 and name != "__init__.py"]
