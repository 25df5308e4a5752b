"""Everything about the histograms that is public before a record is seen: cells, slots, certificates, noise.

It is computed from settings, declared edges, the number of records and the target, so that every party has the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....core.errors import CertificationError
from ....federation.exchanges.homomorphic.slots import per_cipher, slot_bits
from ....federation.roles import records_together
from ....privacy.accounted_values import AccountedValue, Public
from ....privacy.accounting.calibration import compose_mu, gdp_mu
from ....privacy.statistics.bounded import SensitivityCertificate
from ....privacy.statistics.newton import (
    GRID,
    Cells,
    free_ratio,
    newton_certificate,
    residual_certificate,
    softmax_certificate,
)
from ..leaves import unit_of
from ..model import ColumnGroups, TreeFacts, TreeSpec
from ..options import TablesOptions, TreeTableOptions

# A mask is so many bits longer than what it hides.
MASK_BITS = 40
# The noise of an entry stays below so many deviations: the table of its sampler ends before.
REACH = 15
# Sums with their noise are integers of 64 bits, and noise is drawn up to so many steps.
LARGEST_SLOT, LARGEST_SIGMA = 65, 2.0**56
# The largest second derivative of the logarithmic loss: what ``gbdt`` takes for all records.
QUARTER = 0.25


@dataclass(frozen=True)
class PartyShare:
    """One passive party's part of the histograms.

    party : its name; columns : global numbers; edges : cuts of each column, with where they come from
    cells : of its columns; ratio : noise on hessians over noise on gradients
    missing : whether the cells of a column may be missing, which have a bin of their own, the last
    certificate : of its release; mask_delta : probability with which masks separate neighbours
    """

    party: str
    columns: tuple[int, ...]
    edges: tuple[AccountedValue, ...]
    cells: Cells
    ratio: float
    certificate: SensitivityCertificate
    mask_delta: float
    missing: tuple[bool, ...]


@dataclass(frozen=True)
class HistogramPlan:
    """The public plan of all parties.

    shares : of the passive parties, in their order
    sigma : standard deviation of the noise on gradients, of all parties; 0 without noise
    bound : largest absolute gradient, in the unit; hessian : that of all records, None where it is t (1 - t)
    bits : of a slot; per_margin, per_pair : cells in one ciphertext
    outputs : how many gradients and hessians a record has: one of each, or one for each of more than two classes, whose
        cells follow each other and are one release
    unit : power of 2 in which gradients are released: 1, or what a smaller bound needs; sigma is in it too
    """

    shares: tuple[PartyShare, ...]
    sigma: float
    bound: float
    hessian: float | None
    bits: int
    per_margin: int
    per_pair: int
    outputs: int = 1
    unit: float = 1.0

    def share(self, party: str) -> PartyShare:
        """The part of a party."""
        return next(share for share in self.shares if share.party == party)

    @property
    def pair_bits(self) -> int:
        """Bits of a pair cell: its hessian, and its gradient under a mask."""
        return 2 * self.bits + MASK_BITS + 1

    def units(self, share: PartyShare) -> np.ndarray:
        """(outputs * (margins + count),) what a step of each released sum is worth."""
        return np.tile(share.cells.units(share.ratio), self.outputs)

    def ciphertexts(self, share: PartyShare) -> tuple[int, int]:
        """Number of ciphertexts of margins and of pairs that a party returns, for each output."""
        cells = share.cells
        return -(-cells.margins // self.per_margin), -(-(cells.count - cells.margins) // self.per_pair)


def require_public(facts: TreeFacts, columns: Sequence[int], options: TreeTableOptions) -> None:
    """Check that what certified histograms rest on is declared."""
    for column in columns:
        if facts.columns[column].edges is None:
            raise CertificationError(
                f"edges of column {facts.columns[column].name!r} are not declared: certified tables need public "
                "bins; declare the edges of every passive column, or give the column to the active party."
            )
    regression = facts.criterion == "RegressionMSELoss"
    if regression and options.residual_bound is None:
        raise CertificationError(
            "residual_bound is None: certified histograms of regression clip residuals; give a public bound of them."
        )


def histogram_plan(spec: TreeSpec[TablesOptions], groups: ColumnGroups, n: int, epsilon: float) -> HistogramPlan:
    """The plan from public things alone.

    Formal guarantee: the releases of the parties are Gaussian with mu_k = S_k / sigma, S_k the sensitivity of party k,
    and compose to mu = sqrt(sum S_k^2) / sigma, as a record has features at all of them. Masks add their probability
    to delta, which is taken from it before sigma is computed.  Where persons are protected, both bounds are those of
    all records of one.
    """
    options, facts, delta = spec.options, spec.public, float(spec.study.delta)
    require_public(facts, [column for _, columns in groups for column in columns], options)
    regression = facts.criterion == "RegressionMSELoss"
    declared = float(options.residual_bound) if regression and options.residual_bound is not None else 1.0
    unit = unit_of(declared)
    bound = declared / unit
    # No bound of its size leaves a slot for one record.
    _require_integers(math.log2(bound) + 34, 0.0, declared, n, epsilon)
    hessian = 1.0 if regression else QUARTER if options.algo == "gbdt" else None
    ratios = _ratios([len(columns) for _, columns in groups], bound, hessian, options.hessian_share, facts.classes)
    group = records_together(spec)
    certificates = [
        of_persons(_certificate(len(columns), bound, hessian, ratio, facts.classes), group, spec.study)
        for (_, columns), ratio in zip(groups, ratios, strict=True)
    ]
    # Slots must hold the noise too, and it depends on their masks: half of delta is more than these may need.
    widest = REACH * max(1.0, *ratios) * _sigma(certificates, epsilon, delta / 2)
    bits = slot_bits(n + math.ceil(widest / bound), bound)
    _require_integers(bits, widest / REACH / GRID, declared, n, epsilon)
    shares = tuple(
        # Gradients of more than two classes sum to 2 in absolute value.
        _share(facts, party, columns, ratio, certificate, bound * min(facts.outputs, 2), bits, group)
        for (party, columns), ratio, certificate in zip(groups, ratios, certificates, strict=True)
    )
    masks = math.fsum(share.mask_delta for share in shares)
    if masks > delta / 2:
        raise CertificationError(
            f"delta={delta!r}: masks of {MASK_BITS} bits need {masks:.3g} of it; use a larger delta."
        )
    room = options.key_size - 2
    per = per_cipher(room, 2 * bits), per_cipher(room, 2 * bits + MASK_BITS + 1)
    sigma = _sigma(certificates, epsilon, delta - masks)
    return HistogramPlan(shares, sigma, bound, hessian, bits, *per, outputs=facts.outputs, unit=unit)


def _require_integers(bits: float, sigma: float, bound: float, n: int, epsilon: float) -> None:
    """bits : of a slot; sigma : of the widest noise, in steps."""
    if bits > LARGEST_SLOT or sigma > LARGEST_SIGMA:
        remedy = "units in which residual_bound is smaller, or " if bound > 1 else ""
        raise OverflowError(
            f"residual_bound={bound:g} with epsilon={epsilon:g} and {n} records: sums and their noise exceed 64 bits "
            f"in steps of 2^-32; use {remedy}a larger epsilon."
        )


def _ratios(sizes: Sequence[int], bound: float, hessian: float | None, share: float, classes: int) -> list[float]:
    """Noise on hessians over noise on gradients, for each party: free, or one for all that takes its share of mu^2."""
    if hessian is None:
        return [free_ratio(d, classes) for d in sizes]
    gradients, hessians = 2 * sum(sizes) * bound**2, sum(d * (d + 1) for d in sizes) * hessian**2
    return [math.sqrt(hessians / gradients * (1 - share) / share)] * len(sizes)


def _certificate(d: int, bound: float, hessian: float | None, ratio: float, classes: int) -> SensitivityCertificate:
    if hessian is None:
        return newton_certificate(d, ratio) if classes == 2 else softmax_certificate(d, ratio)
    return residual_certificate(
        d, Public(bound, because="residual_bound is a setting, or labels are 0 and 1"), hessian, ratio
    )


def of_persons(certificate: SensitivityCertificate, group: int, study: object) -> SensitivityCertificate:
    """The certificate of all records of a person, where persons are protected: sums move by each of them in turn."""
    if getattr(study, "unit", None) != "user":
        return certificate
    source = f"{certificate.source}; {group} records of a person at most, one after the other"
    value = group * certificate.value * (1 + (group > 1) * 2.0**-52)
    return replace(certificate, value=value, unit="user", source=source)


def _sigma(certificates: Sequence[SensitivityCertificate], epsilon: float, delta: float) -> float:
    """Noise that makes all releases together (epsilon, delta)-DP; 0 for an infinite epsilon."""
    if math.isinf(epsilon):
        return 0.0
    return float(compose_mu(certificate.value for certificate in certificates) / gdp_mu(epsilon, delta))


def _share(
    facts: TreeFacts,
    party: str,
    columns: tuple[int, ...],
    ratio: float,
    certificate: SensitivityCertificate,
    gradients: float,
    bits: int,
    group: int,
) -> PartyShare:
    """gradients : largest sum of the absolute gradients of a record."""
    edges = tuple(edges for column in columns if (edges := facts.columns[column].edges) is not None)
    missing = tuple(facts.columns[column].missing for column in columns)
    cells = Cells(tuple(len(cuts.value) + 1 + may_miss for cuts, may_miss in zip(edges, missing, strict=True)))
    # A record moves two cells of every pair by its gradient; masks are uniform on 2^(bits + 40) integers.
    moved = group * len(columns) * (len(columns) - 1) * math.ceil(gradients * 2.0**32)
    return PartyShare(party, columns, edges, cells, ratio, certificate, math.ldexp(moved, -bits - MASK_BITS), missing)
