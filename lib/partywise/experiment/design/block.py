"""The block of a design: its keys, their rules, and the method that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from ...core.checks import CheckedFields, Count, Delta, Positive, Range, name_problem
from ...core.errors import ConfigError
from ...core.verdicts import LEAST_RECORDS
from ...federation.estimators.precision import interval_fault
from ..configuration.build import as_block, build, choices
from ..plans import read_file
from ..study import NO_NOISE, Protocol, available, load
from . import histograms, responses

# Methods without a study, by their address.
ALONE = {"histogram_quantile": histograms.PROTOCOL, "randomized_response": responses.PROTOCOL}
# Keys that name data, and endings of files that hold some.
DATA_KEYS = ("file", "files", "table", "tables", "dataset", "data", "path", "folder")
DATA_ENDINGS = (".csv", ".tsv", ".xlsx", ".xls", ".parquet", ".arrow", ".feather", ".nc", ".npz", ".npy", ".rds")
KEY = "design"


@dataclass(frozen=True)
class DesignBlock(CheckedFields):
    """A design; of epsilon, half_width and power with n one is given, without n epsilon and one of the others.

    method : study and protocol, as in federated_survival.table, or randomized_response
    parties : organisations that take part
    model : what is declared of the records to come; its keys are those of the method
    n : records of all parties together; what is left out is computed
    epsilon : of the release, for one record
    half_width : by target, wanted half-widths of 95 % intervals
    power : of the two-sided test at 5 % against every effect
    effect : by target, a difference that is to be seen
    delta : of every epsilon
    largest_epsilon : beyond which no epsilon is proposed
    options : of the method
    """

    method: str
    parties: Count
    model: dict[str, object]
    n: Annotated[int, Range(LEAST_RECORDS, advice="since intervals rest on the normal law of sums")] | None = None
    epsilon: Positive | None = None
    half_width: dict[str, object] = field(default_factory=dict)
    power: Annotated[float, Range(0.05, 1, "()")] | None = None
    effect: dict[str, object] = field(default_factory=dict)
    delta: Delta = 1e-5
    largest_epsilon: Positive = 32.0
    options: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, values in (("half_width", self.half_width), ("effect", self.effect)):
            for name, value in values.items():
                number = value if isinstance(value, int | float) and not isinstance(value, bool) else 0
                if number == 0 or (number < 0 and key == "half_width"):
                    raise ValueError(f"{key}.{name} is {value!r}: give a {'positive ' * (key == 'half_width')}number.")
        goals = [key for key in ("half_width", "power") if getattr(self, key)]
        if self.power is not None and not self.effect:
            raise ValueError(f"power is {self.power:g} without an effect: give `effect` with a difference by target.")
        if len(goals) > 1:
            raise ValueError("power and half_width are both given: leave one out, it follows from the other.")
        if self.n is not None and self.epsilon is not None and goals:
            raise ValueError(
                f"epsilon is {self.epsilon:g}, and n and {goals[0]} are given too: leave one of the three out, it is "
                "what the design computes."
            )
        if self.n is not None and self.epsilon is None and not goals:
            raise ValueError("epsilon is missing: give it, or half_width or power, from which it follows.")
        if self.n is None and not (goals and self.epsilon is not None):
            raise ValueError(
                "n is missing: give it, or epsilon together with half_width or power, from which it follows."
            )

    @property
    def answers(self) -> str:
        """Quantity that the design computes: epsilon, n or precision."""
        if self.n is None:
            return "n"
        return "precision" if self.epsilon is not None else "epsilon"


def designs(path: Path) -> dict[str, dict[str, object]]:
    """Blocks of all designs of a file, by their names; ConfigError where one names data."""
    content = read_file(path)
    if KEY not in content:
        raise ConfigError(f"{path} has no block `{KEY}`: write one as in config/design/survival.yaml.")
    blocks = {name: as_block(block, f"{KEY}.{name}") for name, block in as_block(content[KEY], KEY).items()}
    for name in blocks:
        if problem := name_problem(name):
            raise ConfigError(f"{KEY}.{name}: {problem}.")
    return blocks


def checked_block(written: Mapping[str, object], where: str) -> DesignBlock:
    """A block with its keys checked; ConfigError names the first that is wrong."""
    for path, value in _leaves(written, where):
        key = path.rpartition(".")[2]
        if key != "because" and (key in DATA_KEYS or str(value).lower().endswith(DATA_ENDINGS)):
            raise ConfigError(f"{path} is {value!r}: a design is made before data and opens no file; leave it out.")
    return build(DesignBlock, written, where)


def protocol_of(block: DesignBlock, where: str) -> Protocol:
    """The method of a block; ConfigError where there is none, it draws no noise, or it is not designed yet."""
    study, _, name = block.method.partition(".")
    methods = ALONE if not name else load(study).methods if study in available() else {}
    label = name or study
    if label not in methods:
        known = list(load(study).methods) if study in available() else designed_methods()
        raise ConfigError(f"{where}.method is {block.method!r}: {choices(label if known else study, known)}.")
    protocol = methods[label]
    if protocol.release == NO_NOISE:
        raise ConfigError(
            f"{where}.method is {block.method!r}: this method draws no noise, so there is nothing to choose; take "
            f"one of {', '.join(designed_methods())}."
        )
    if protocol.precision is None:
        raise ConfigError(
            f"{where}.method is {block.method!r}: not designed yet{interval_fault(protocol.options)}; take one of "
            f"{', '.join(designed_methods())}."
        )
    return protocol


def designed_methods() -> list[str]:
    """Addresses of all methods that have a design."""
    rows = {f"{study}.{name}": method for study in available() for name, method in load(study).methods.items()}
    return [*(address for address, method in rows.items() if method.precision is not None), *ALONE]


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    """Values of a block that are not blocks, with their paths."""
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        yield from _leaves(inner, f"{path}.{key}") if isinstance(inner, Mapping) else ((f"{path}.{key}", inner),)
