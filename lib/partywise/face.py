"""The names of ``import partywise as pw``, imported when first asked for.

Library code imports from the modules themselves: reruns follow import statements, and would miss what comes through
here. The file is apart from the package's own, which every job loads, so that a new name reruns nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import plot
    from .alignment.align import align
    from .errors import BudgetExceeded, CertificationError
    from .experiment.results.cube import open_cube
    from .federation.account.fit_budget import Budget
    from .federation.channel import Channel
    from .federation.cipher import Cipher
    from .federation.parties import Party, split_columns, split_rows
    from .federation.run import Run, simulate
    from .federation.secure_streams import SecureStreams
    from .filters.certified import CertifiedFilter
    from .filters.estimator import FederatedLogistic
    from .functional.estimator import FunctionalBoosting
    from .glm.estimator import VerticalGLM
    from .inverse_regression.estimator import SlicedInverseRegression
    from .linear.estimator import VerticalLinear
    from .logistic.estimator import LabelPrivateLogisticRegression
    from .pca.estimator import VerticalPCA
    from .privacy.accountants.dp_accounting import from_dp_event, to_dp_event
    from .privacy.accounted_values import Clear, Public
    from .privacy.accounting.calibration import analytic_gaussian_sigma, gaussian_delta, gaussian_epsilon, gdp_mu
    from .privacy.accounting.compose import cost
    from .privacy.audit.sampling import audit
    from .privacy.ledger.budget import PrivacyFilter
    from .privacy.ledger.event import Event
    from .privacy.ledger.ledger import Ledger
    from .privacy.mechanisms.discrete import DiscreteGaussian
    from .privacy.mechanisms.gaussian import Gaussian
    from .privacy.mechanisms.laplace import Geometric, Laplace
    from .privacy.mechanisms.random import SecureRandom
    from .privacy.mechanisms.randomized_response import RandomizedResponse
    from .privacy.statistics.bounded import Bounded, SensitivityCertificate
    from .privacy.statistics.counts import counts
    from .privacy.statistics.moments import record_sum
    from .privacy.statistics.records import clipped_coefficients
    from .randomness import Streams, stream
    from .scoring import load
    from .survival.estimator import FederatedCox, FederatedKaplanMeier
    from .trees.estimator import VerticalBoosting

__all__ = [
    "Bounded",
    "Budget",
    "BudgetExceeded",
    "CertificationError",
    "CertifiedFilter",
    "Channel",
    "Cipher",
    "Clear",
    "DiscreteGaussian",
    "Event",
    "FederatedCox",
    "FederatedKaplanMeier",
    "FederatedLogistic",
    "FunctionalBoosting",
    "Gaussian",
    "Geometric",
    "LabelPrivateLogisticRegression",
    "Laplace",
    "Ledger",
    "Party",
    "PrivacyFilter",
    "Public",
    "RandomizedResponse",
    "Run",
    "SecureRandom",
    "SecureStreams",
    "SensitivityCertificate",
    "SlicedInverseRegression",
    "Streams",
    "VerticalBoosting",
    "VerticalGLM",
    "VerticalLinear",
    "VerticalPCA",
    "align",
    "analytic_gaussian_sigma",
    "audit",
    "clipped_coefficients",
    "cost",
    "counts",
    "from_dp_event",
    "gaussian_delta",
    "gaussian_epsilon",
    "gdp_mu",
    "load",
    "open_cube",
    "plot",
    "record_sum",
    "simulate",
    "split_columns",
    "split_rows",
    "stream",
    "to_dp_event",
]

HOMES = {
    "alignment.align": ("align",),
    "errors": ("BudgetExceeded", "CertificationError"),
    "experiment.results.cube": ("open_cube",),
    "federation.channel": ("Channel",),
    "federation.cipher": ("Cipher",),
    "federation.account.fit_budget": ("Budget",),
    "federation.parties": ("Party", "split_columns", "split_rows"),
    "federation.run": ("Run", "simulate"),
    "federation.secure_streams": ("SecureStreams",),
    "filters.certified": ("CertifiedFilter",),
    "filters.estimator": ("FederatedLogistic",),
    "functional.estimator": ("FunctionalBoosting",),
    "glm.estimator": ("VerticalGLM",),
    "inverse_regression.estimator": ("SlicedInverseRegression",),
    "linear.estimator": ("VerticalLinear",),
    "logistic.estimator": ("LabelPrivateLogisticRegression",),
    "pca.estimator": ("VerticalPCA",),
    "plot": ("plot",),
    "privacy.accountants.dp_accounting": ("from_dp_event", "to_dp_event"),
    "privacy.accounted_values": ("Clear", "Public"),
    "privacy.accounting.calibration": ("analytic_gaussian_sigma", "gaussian_delta", "gaussian_epsilon", "gdp_mu"),
    "privacy.accounting.compose": ("cost",),
    "privacy.audit.sampling": ("audit",),
    "privacy.ledger.budget": ("PrivacyFilter",),
    "privacy.ledger.event": ("Event",),
    "privacy.ledger.ledger": ("Ledger",),
    "privacy.mechanisms.gaussian": ("Gaussian",),
    "privacy.mechanisms.laplace": ("Geometric", "Laplace"),
    "privacy.mechanisms.random": ("SecureRandom",),
    "privacy.mechanisms.randomized_response": ("RandomizedResponse",),
    "privacy.mechanisms.discrete": ("DiscreteGaussian",),
    "privacy.statistics.bounded": ("Bounded", "SensitivityCertificate"),
    "privacy.statistics.counts": ("counts",),
    "privacy.statistics.moments": ("record_sum",),
    "privacy.statistics.records": ("clipped_coefficients",),
    "randomness": ("Streams", "stream"),
    "scoring": ("load",),
    "survival.estimator": ("FederatedCox", "FederatedKaplanMeier"),
    "trees.estimator": ("VerticalBoosting",),
}
HOME = {name: home for home, names in HOMES.items() for name in names}


def find(name: str) -> Any:
    """The object behind a name of the face; a module where the name is its own home."""
    home = HOME[name]
    try:
        module = import_module(f"{__package__}.{home}")
    except ModuleNotFoundError as error:
        raise ImportError(f"pw.{name} needs the package {error.name}: pip install 'partywise[figures]'.") from None
    return module if home == name else getattr(module, name)
