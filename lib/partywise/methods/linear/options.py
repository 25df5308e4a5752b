"""Options of the protocols of vertical linear models; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, final

from ...core.checks import Count, KeySize, NotNegative, OneOfCiphers, Positive, Range, check_fields, check_key_size

Model = Literal["logistic", "linear"]


@dataclass(frozen=True)
class StepOptions:
    """Options of gradient steps.

    batch_size : rows of a step, from shuffled passes over the training rows; None for all rows in every step
    total_round_num : steps
    learning_rate : length of a step along the mean gradient of the batch
    eval_freq : the loss along the rounds is kept every so many rounds
    """

    batch_size: Count | None = 50
    total_round_num: Annotated[int, Range(1, 1_000_000)] = 30
    learning_rate: Positive = 0.05
    eval_freq: Count = 3

    uses_epsilon = False

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class ModelOptions(StepOptions):
    """Options of the fitted model.

    model : ``logistic`` (labels 0 and 1, residual by Taylor's formula: a quarter of eta minus half the sign of the
        label) or ``linear`` (residual eta minus y)
    ridge : half of it times the squared length of the coefficients, without the intercept, is added to the mean loss
    intercept : of the active party
    """

    model: Model = "logistic"
    ridge: NotNegative = 0.0
    intercept: bool = True


@final
@dataclass(frozen=True)
class LinearPooledOptions(ModelOptions):
    """Options of the reference: the same steps on all columns in one place, without privacy."""


@final
@dataclass(frozen=True)
class LinearExactOptions:
    """The minimum of the loss itself on all columns in one place: no privacy, and no formula of Taylor.

    model, ridge, intercept : as of the steps; a logistic fit of separable labels needs a ridge
    """

    model: Model = "logistic"
    ridge: NotNegative = 0.0
    intercept: bool = True

    uses_epsilon = False

    def __post_init__(self) -> None:
        check_fields(self)


@final
@dataclass(frozen=True)
class LinearPublishedOptions(StepOptions):
    """Options of the published method: logistic, no intercept or ridge, row-wise gradients, encryption in name only."""


@final
@dataclass(frozen=True)
class LinearCertifiedOptions(ModelOptions):
    """Sums over the batch alone are opened, under masks that the key holder does not know.

    cipher : ``paillier``; ``sized`` (the same integers computed openly, the same bytes, for large grids); or the name
        of a cipher that another package registers
    key_size : bits of the Paillier modulus
    full_exponents : random exponents as long as the modulus, which rests on fewer assumptions and is slower
    """

    cipher: Annotated[str, OneOfCiphers(("paillier", "sized"))] = "paillier"
    key_size: KeySize = 2048
    full_exponents: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_key_size(self.key_size)
