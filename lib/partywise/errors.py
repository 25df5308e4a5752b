"""The named errors of the project: each message names the argument, its value and the remedy."""


class ConfigError(ValueError):
    """A configuration key is unknown, missing, mistyped, out of range or contradicts another key."""


class CertificationError(ValueError):
    """A privacy statement was asked for that cannot be proved from what is known."""


class BudgetExceeded(CertificationError):
    """A release would cost more than what is left of a privacy budget; no noise was drawn for it."""


class UnboundedObjectiveError(ValueError):
    """An objective has no minimiser: it falls without end along the direction that the message gives."""


class DataMissing(RuntimeError):
    """A data file is absent, truncated or not the pinned one."""


class CubeError(ValueError):
    """A cell of a result cube is missing, duplicated or unexpected, or a cube file cannot be read."""


class ContractError(RuntimeError):
    """A protocol does what its contract forbids: it tells neighbours apart, or its modes differ."""
