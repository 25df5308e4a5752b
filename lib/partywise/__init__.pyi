"""Public names of ``import partywise as pw``, each once, with the module that defines it."""

from . import plot as plot
from .alignment.align import align as align
from .core.errors import BudgetExceeded as BudgetExceeded
from .core.errors import CertificationError as CertificationError
from .core.randomness import Streams as Streams
from .core.randomness import stream as stream
from .experiment.results.cube import open_cube as open_cube
from .federation.channel import Channel as Channel
from .federation.cipher import Cipher as Cipher
from .federation.estimators.fit_budget import Budget as Budget
from .federation.parties import Party as Party
from .federation.parties import split_columns as split_columns
from .federation.parties import split_rows as split_rows
from .federation.run import Run as Run
from .federation.run import simulate as simulate
from .federation.secure_streams import SecureStreams as SecureStreams
from .methods.filters.certified import CertifiedFilter as CertifiedFilter
from .methods.filters.estimator import FederatedLogistic as FederatedLogistic
from .methods.functional.estimator import FunctionalBoosting as FunctionalBoosting
from .methods.glm.estimator import VerticalGLM as VerticalGLM
from .methods.inverse_regression.estimator import SlicedInverseRegression as SlicedInverseRegression
from .methods.linear.estimator import VerticalLinear as VerticalLinear
from .methods.logistic.estimator import LabelPrivateLogisticRegression as LabelPrivateLogisticRegression
from .methods.pca.estimator import VerticalPCA as VerticalPCA
from .methods.survival.cox import FederatedCox as FederatedCox
from .methods.survival.kaplan_meier import FederatedKaplanMeier as FederatedKaplanMeier
from .methods.trees.estimator import VerticalBoosting as VerticalBoosting
from .privacy.accountants.dp_accounting import from_dp_event as from_dp_event
from .privacy.accountants.dp_accounting import to_dp_event as to_dp_event
from .privacy.accounted_values import Clear as Clear
from .privacy.accounted_values import Public as Public
from .privacy.accounting.calibration import analytic_gaussian_sigma as analytic_gaussian_sigma
from .privacy.accounting.calibration import gaussian_delta as gaussian_delta
from .privacy.accounting.calibration import gaussian_epsilon as gaussian_epsilon
from .privacy.accounting.calibration import gdp_mu as gdp_mu
from .privacy.accounting.compose import cost as cost
from .privacy.audit.sampling import audit as audit
from .privacy.ledger.budget import PrivacyFilter as PrivacyFilter
from .privacy.ledger.event import Event as Event
from .privacy.ledger.ledger import Ledger as Ledger
from .privacy.mechanisms.discrete import DiscreteGaussian as DiscreteGaussian
from .privacy.mechanisms.gaussian import Gaussian as Gaussian
from .privacy.mechanisms.laplace import Geometric as Geometric
from .privacy.mechanisms.laplace import Laplace as Laplace
from .privacy.mechanisms.random import SecureRandom as SecureRandom
from .privacy.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
from .privacy.statistics.bounded import Bounded as Bounded
from .privacy.statistics.bounded import SensitivityCertificate as SensitivityCertificate
from .privacy.statistics.counts import counts as counts
from .privacy.statistics.moments import record_sum as record_sum
from .privacy.statistics.records import clipped_coefficients as clipped_coefficients
from .scoring import load as load

__version__: str

def public_homes() -> dict[str, str]: ...
