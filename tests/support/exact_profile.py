"""The Gaussian privacy profile in as many digits as it takes, for any positive doubles mu and epsilon."""

import mpmath as mp


def sides(mu, epsilon):
    """delta and 1 - delta, each to 40 digits or more."""
    with mp.workdps(1000):
        mu = mp.mpf(float(mu))
        x = mp.mpf(float(epsilon)) / mu - mu / 2
        b = x + mu
        digits = 2 * abs(mp.log10(mu)) + 60
    with mp.workdps(int(min(digits, 1000))):
        if x > 1e6:
            return mp.mpf(0), mp.mpf(1)
        if x < -1e3:
            return mp.mpf(1), mp.mpf(0)
        # exp(epsilon) Phi(-b) = phi(x) R(b), where exp(epsilon) alone has no number.
        second = mp.npdf(x) * mills(b)
        return mp.erfc(x / mp.sqrt(2)) / 2 - second, mp.erfc(-x / mp.sqrt(2)) / 2 + second


def mills(b):
    if b < 1e4:
        return mp.sqrt(mp.pi / 2) * mp.exp(b * b / 2) * mp.erfc(b / mp.sqrt(2))
    term, total = 1 / b, mp.mpf(0)
    for k in range(12):
        total += term
        term *= -(2 * k + 1) / b**2
    return total


def holds(mu, epsilon, delta):
    """Whether a mu-Gaussian mechanism is (epsilon, delta)-DP, compared on the smaller side."""
    below, rest = sides(mu, epsilon)
    delta = mp.mpf(float(delta))
    return below <= delta if delta <= 0.5 else rest >= 1 - delta
