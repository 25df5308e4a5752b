"""Renyi DP: divergences of every profile at a grid of orders, summed, and the best order at the end."""

import math

import numpy as np
from scipy.special import gammaln, logsumexp

from ..accounting.compose import Composition
from .base import Accountant

ORDERS = np.array([1 + k / 10 for k in range(1, 100)] + [*range(11, 65), 80, 96, 128, 192, 256, 512, 1024], dtype=float)
# Relative numerical error that is always charged.
SLACK = 1e-11


class RDP(Accountant):
    """The moments accountant (Mironov 2017), with the conversion of Canonne, Kamath and Steinke (2020)."""

    name = "rdp"

    def bound(self, composition: Composition, delta: float) -> float:
        """The least over the orders of ``D + log(1 - 1/order) - log(delta order) / (order - 1)``."""
        if composition == Composition():
            return 0.0
        if delta == 0:
            return math.inf
        divergence = divergences(composition)
        tail = np.log1p(-1 / ORDERS) - (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1)
        return max(0.0, float(np.min(divergence + tail + SLACK * (divergence + np.abs(tail)))))


def divergences(composition: Composition) -> np.ndarray:
    """Renyi divergence of neighbours at each of ``ORDERS``, summed over all profiles.

    A pure profile counts as the binary randomised response that dominates it, a pick as its zCDP where that is less; at
    an order that is not whole a Poisson-sampled Gaussian counts as at the next whole one, which is at least as large.
    """
    divergence = ORDERS * (composition.mu_squared / 2 + composition.rho)
    for epsilon, k, count in composition.finite:
        divergence = divergence + count * _response(epsilon, k or 2)
    for reach, count in composition.picks:
        divergence = divergence + count * np.minimum(ORDERS * (reach * reach / 8), _response(reach, 2))
    for mu, rate, count in composition.sampled_gaussians:
        divergence = divergence + count * np.array(
            [_sampled_gaussian_order(mu, rate, math.ceil(order)) for order in ORDERS]
        )
    return divergence


def _response(epsilon: float, k: int) -> np.ndarray:
    """Divergences of k-ary randomised response: two answers change places, k - 2 are as likely as before."""
    other = -np.logaddexp(epsilon, math.log(k - 1))
    terms = [other + ORDERS * epsilon, other + (1 - ORDERS) * epsilon]
    terms += [np.full_like(ORDERS, other + math.log(k - 2))] if k > 2 else []
    return np.maximum(logsumexp(terms, axis=0), 0.0) / (ORDERS - 1)


def _sampled_gaussian_order(mu: float, rate: float, order: int) -> float:
    """Divergence of a Poisson-sampled Gaussian at a whole order (Mironov, Talwar and Zhang 2019, section 3.3)."""
    k = np.arange(order + 1.0)
    chosen = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    with np.errstate(divide="ignore"):
        weights = chosen + k * math.log(rate) + (order - k) * math.log1p(-rate)
    return max(float(logsumexp(weights + k * (k - 1) * mu * mu / 2)), 0.0) / (order - 1)
