"""The named errors of the project: each message names the argument, its value and the remedy."""


class ConfigError(ValueError):
    """A configuration key is unknown, missing, mistyped, out of range or contradicts another key."""


class CertificationError(ValueError):
    """A privacy statement was asked for that cannot be proved from what is known.

    Examples
    --------
    >>> import partywise as pw
    >>> certificate = pw.SensitivityCertificate(float("inf"), "l2", "row", "replace_one", {"features"})
    >>> pw.Gaussian(mu=1.0)(pw.Bounded(3.0, certificate), pw.stream(4, "noise"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    partywise.core.errors.CertificationError: no noise of this shape reaches mu=1.0: the sensitivity is infinite...
    """


class BudgetExceeded(CertificationError):
    """A release would cost more than what is left of a privacy budget; no noise was drawn for it.

    Examples
    --------
    >>> import partywise as pw
    >>> total = pw.record_sum([[0.3, 0.4]], pw.Public(1.0, because="upper limit of the assay"))
    >>> release = pw.Gaussian(mu=1.0)(total, pw.stream(4, "noise"), owner="hospital", release_id="sum")
    >>> pw.PrivacyFilter(epsilon=1.0, delta=1e-5).spend(release.event)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    partywise.core.errors.BudgetExceeded: gaussian 'sum' costs mu squared = 1 ...
    """


class UnboundedObjectiveError(ValueError):
    """An objective has no minimiser: it falls without end along the direction that the message gives."""


class DataMissing(RuntimeError):
    """A data file is absent, truncated or not the pinned one."""


class InputChanged(DataMissing):
    """A file that a job uses is not what it was when the run of the job was planned."""


class ModelError(ValueError):
    """A fit cannot be saved, a saved model cannot be read, or it cannot score what it is given."""


class CubeError(ValueError):
    """A cell of a result cube is missing, duplicated or unexpected, or a cube file cannot be read."""


class ContractError(RuntimeError):
    """A protocol does what its contract forbids: its messages separate neighbours, or its modes differ."""


class PartyError(RuntimeError):
    """A run whose parties are processes of their own has ended for all: a party is missing, silent or refused."""


class StoppedError(KeyboardInterrupt):
    """A signal stopped a party. It is a `KeyboardInterrupt`, so that no `except Exception` on its way swallows it."""


class JobEndedError(PartyError):
    """The framework that runs the job of all parties, such as NVFlare, has ended it for all of them."""


class Unreachable(PartyError):
    """A party does not answer: what was put to it did not reach it."""


class NoRoomError(Unreachable):
    """A party is there and cannot take a frame yet: it has not taken those that came before."""


class RefusalError(PartyError):
    """A message of a party differs from what the program states: a replay, another run, a wrong digest, kind or shape.

    sender, tag : whose frame it was and under which tag it came, where that is known
    """

    def __init__(self, sentence: str, sender: str = "", tag: str = "") -> None:
        super().__init__(sentence)
        self.sender, self.tag = sender, tag


class PolicyError(Exception):
    """The policy of a site forbids it (`site.yaml`): the sentence stays at its party, others hear that it refuses."""


class AccountError(RuntimeError):
    """A party's account on disk was changed, is open elsewhere or belongs to another party, or cannot be written."""
