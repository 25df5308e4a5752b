"""``./run publish registry FOLDER``: a published folder as a draft for the public registry of deployments, in YAML."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from partywise.core.project import command, exit_code
from partywise.core.verbs import new_parser
from partywise.privacy.rounding import upward

# What an entry may hold, with the commit of the registry that says so.
SCHEMA, OPEN = Path(__file__).with_name("registry_schema.yaml"), "to be filled in"
# The registry's words for who publishes.
CURATORS = ("Government", "Industry", "Nonprofit")
# Studies whose result is a table and not a model.
STATISTICS = ("federated_survival",)


def entry(statement: Mapping[str, Any], curator: str) -> dict[str, Any]:
    """Return a statement in the registry's keys and words; texts that only people know are left open."""
    unit, owners = statement["unit"], list(statement["accounts"])
    shared = any(row["shares"] for row in statement["releases"])
    bare = ", ".join(statement["unprotected_units"]) or "none"
    evidence = {
        "evidence_source_type": "Authorized organizational attestation",
        "misc": {
            "title": f"Signed folder of run {statement['run']}",
            "howpublished": OPEN,
            "year": statement["end_day"][:4],
        },
    }
    deployment = {
        "basic": {
            "name": OPEN,
            "data_curators": [{"data_curator_name": name, "data_curator_type": curator} for name in owners],
            "description": f"{statement['study']}, method {statement['method']}",
            "intended_use": OPEN,
            "data_product_type": "Summary statistics" if statement["study"] in STATISTICS else "Machine learning model",
            "data_product_region": OPEN,
            "publication_date": statement["end_day"],
        },
        "dp_variant": {
            "variant_name": "Approximate DP" if statement["delta"] else "Pure DP",
            "data_domain": OPEN,
            "unprotected_quantities": "; ".join([f"units without protection: {bare}", *statement["not_protected"]]),
        },
        "privacy_loss": {
            "privacy_unit": unit,
            "privacy_unit_details": f"neighbours by {statement['relation']}, "
            f"against {statement['colluders']} colluding parties",
            "number_of_privacy_units": statement["n_protected"],
            "privacy_parameters": {"epsilon": float(statement["epsilon"][unit]), "delta": statement["delta"]},
            "privacy_parameters_details": f"epsilon {upward(statement['epsilon_public'])} against the publication "
            f"alone, {upward(statement['epsilon_any'])} against any other parties",
        },
        "deployment_model": {
            "model_name": "Federated",
            "model_name_details": "every curator draws a share of the noise"
            if shared
            else "every curator draws its noise",
            "trust_assumptions": _text(statement["trust"]),
            "actors": ", ".join(owners),
            "release_type": "One release",
            "data_source_type": "Static",
            "access_type": "Non-interactive",
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": OPEN,
            "mechanisms": "; ".join(
                sorted({f"{row['mechanism']} ({row['sampler']})" for row in statement["releases"]})
            ),
            "composition": "exact composition of all releases, worst coalition",
            "post_processing": statement["estimator"]["function"],
            "justification": OPEN,
            "utility": _text(statement["intervals"]),
            "additional_information": f"run {statement['run']}, configuration {statement['configuration']}, "
            f"code {statement['code']}; checked with {command('check-release')}",
        },
        "administrative": {
            "evidence_sources": {"release": evidence},
            "status": "Draft",
            "registry_authors": [OPEN],
            "tier": 3,
        },
    }
    return {"url_slug": OPEN, "deployment": deployment}


def _text(value: object) -> str:
    """A value of a statement as one text."""
    return value if isinstance(value, str) else json.dumps(value)


def left_open(value: object, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the places of the texts that are left open."""
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
    parser = new_parser("publish registry")
    parser.add_argument("folder", type=Path, help="a folder release that check-release accepts")
    parser.add_argument(
        "--curator-type", choices=CURATORS, required=True, help="who publishes, in the registry's words"
    )
    arguments = parser.parse_args()
    try:
        statement = json.loads((arguments.folder / "statement.json").read_text(encoding="utf-8"))
        draft = entry(statement, arguments.curator_type)
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(
            f"registry: {arguments.folder} is not a published folder ({type(error).__name__}: {error}).",
            file=sys.stderr,
        )
        return 2
    print(f"# Keys and words of the registry as in {SCHEMA.name}; they change often: compare them.")
    print(yaml.safe_dump(draft, sort_keys=False, width=110), end="")
    print("To be filled in:", *left_open(draft), sep="\n  ", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(exit_code(main))
