"""``./run registry FOLDER``: a published folder as a draft for the public registry of deployments, in YAML."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from partywise.project import command, exit_code

TEMPLATE, OPEN = Path(__file__).with_name("registry_2026_11.yaml"), "to be filled in"


def entry(told: Mapping[str, Any]) -> dict[str, Any]:
    """The template with all that a statement says."""
    made: dict[str, Any] = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
    form, unit, owners = made["deployment"], told["unit"], list(told["accounts"])
    form["basic"] |= {"publication_date": told["end_day"], "description": f"{told['study']}, method {told['method']}"}
    form["basic"]["data_curators"] = [{"data_curator_name": name, "data_curator_type": OPEN} for name in owners]
    bare = ", ".join(told["unprotected_units"]) or "none"
    form["dp_variant"] |= {
        "variant_name": f"(epsilon, delta)-differential privacy, neighbouring by {told['relation']}",
        "unprotected_quantities": "; ".join([f"units without protection: {bare}", *told["not_protected"]]),
    }
    form["privacy_loss"] |= {
        "privacy_unit": unit,
        "privacy_unit_details": f"certified against {told['colluders']} colluding parties at most",
        "number_of_privacy_units": told["n_protected"],
        "privacy_parameters": {"epsilon": told["epsilon"][unit], "delta": told["delta"]},
        "privacy_parameters_details": f"epsilon {told['epsilon_public']} against the publication alone, "
        f"{told['epsilon_any']} against any other parties",
    }
    form["deployment_model"] |= {
        "model_name": "distributed" if any(row["shares"] for row in told["releases"]) else "local to each curator",
        "trust_assumptions": told["trust"],
        "actors": ", ".join(owners),
        "release_type": "static",
    }
    form["implementation"] |= {
        "mechanisms": "; ".join(sorted({f"{row['mechanism']} ({row['sampler']})" for row in told["releases"]})),
        "composition": "exact composition of all releases, worst coalition",
        "post_processing": told["estimator"]["function"],
        "utility": told["intervals"],
        "additional_information": f"run {told['run']}, configuration {told['configuration']}, code {told['code']}",
    }
    form["administrative"]["evidence_sources"] = "the folder itself: python -m partywise check-release"
    return made


def left_open(value: object, path: tuple[str, ...] = ()) -> Iterator[str]:
    """What only people know, by its place."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from left_open(item, (*path, str(key)))
    elif isinstance(value, list):
        for k, item in enumerate(value):
            yield from left_open(item, (*path, str(k)))
    elif value == OPEN:
        yield ".".join(path)


def main() -> int:
    """Print the draft, and what is left to people on standard error; 2 for a folder that is none."""
    parser = argparse.ArgumentParser(prog=command("registry"), description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder release that check-release accepts")
    folder = parser.parse_args().folder
    try:
        told = json.loads((folder / "statement.json").read_text(encoding="utf-8"))
        made = entry(told)
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"registry: {folder} is no published folder ({type(error).__name__}: {error}).", file=sys.stderr)
        return 2
    print(f"# Template of {TEMPLATE.stem.removeprefix('registry_')}: the registry's fields change often, compare them.")
    print(yaml.safe_dump(made, sort_keys=False, width=110), end="")
    print("To be filled in:", *left_open(made), sep="\n  ", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(exit_code(main))
