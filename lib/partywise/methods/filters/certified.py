"""Clip, noise and account as one object: what leaves a site through it is certified, and stops when its budget ends."""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import NoReturn, Unpack

import numpy as np
from numpy.typing import ArrayLike

from ...core.checks import check_numbers
from ...core.errors import AccountError, CertificationError
from ...federation.account.reading import opened_account, paid_events
from ...federation.account.spending import AccountBudget, Spending
from ...privacy.accounted_values import Public
from ...privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from ...privacy.ledger.event import Event
from ...privacy.mechanisms.integer import IntegerGaussian
from ...privacy.mechanisms.random import RandomSource, SecureRandom, charge_to, sampler_of
from ...privacy.mechanisms.release import Release, Terms
from ...privacy.payer import Payer, payer_of
from ...privacy.statistics.clips import BallClip
from ...privacy.statistics.whole import MOST_BITS, Whole, least_deviation, whole
from .updates import finite_rows, flat_update, reasons, with_released

UNITS = ("row", "user")
# Of a clip: within, squares of what is clipped are floats with all their digits.
SIZES = 1e-100, 1e100
# Beyond, noise is less than 16 steps wide, and an epsilon above a billion protects nobody.
LARGEST_MU = 2.0**17
# Shares of a budget are smaller by this, so that as many as there are rounds fit into it whatever was rounded.
SHARE = 1 - 1e-12
# Seconds for which a release waits while another process draws from the same account.
WAIT = 1.0


class CertifiedFilter:
    """Clips every contribution, adds exact integer noise to the sum, and stops when the budget is spent.

    Parameters
    ----------
    clip : float
        Largest length (l2) of one contribution; longer ones are scaled down. Public: choose it without the data.
    mu : float
        Gaussian-DP parameter of one release.
    unit : {"row", "user"}
        What one contribution is of: one record, or everything that one client holds.
    budget : tuple of two floats
        Epsilon and delta of everything that is released together.
    owner : str
        Whose data it is.
    rng : SecureRandom or numpy.random.Generator, optional
        Source of the noise, by default the operating system's. A source that can be made again from a seed or a key is
        refused with an account on disk, which goes on in other processes.
    stratum : str, optional
        Cell of a public partition that holds all of its units, such as ``"clients/north"``: a ledger of several owners
        then adds up those of one cell only.
    account : str or Path, optional
        File of the account, as `partywise.federation.account` writes it for parties; made where there is none. Without
        one the sum is kept in this process, and is lost with it. The path is absolute: a relative one would be another
        budget in every working directory. It is open during a release only, so that several processes of a site may
        take turns; one waits a second for another. The budget that an account was begun with binds every later filter.

    Attributes
    ----------
    sigma, grid : float
        Standard deviation of the noise, ``2 clip / mu``, and the step of which everything that is released is a
        multiple, ``clip / 2^20``: rounding moves a contribution of a million entries by a thousandth of the clip at
        most. Both are public.

    Raises
    ------
    ValueError
        If an argument is out of range, the account is a relative path, or a source that can be made again is to pay
        from an account on disk.
    TypeError
        If ``rng`` is not a random source.

    Notes
    -----
    Formal guarantee: all releases together are (epsilon, delta)-DP for one unit under ``replace_one``: one contribution
    becomes any other, and their number is public. Against an observer who sees all releases and the clip, with any
    knowledge of all other contributions.

    Proof sketch. (1) A contribution is rounded to whole steps as a function of its unit alone: one that holds NaN or
    infinity becomes zero, every other one is clipped, and rounded so that in integers it is no longer than ``clip``.
    Replacing it moves the integer sum by at most ``2 clip``, in any order of summation; opposite contributions reach
    it. (2) Rounded Gaussian noise in whole steps is a Gaussian release of that sum, rounded once more: it is
    mu-Gaussian-DP for every mu with ``sigma mu >= 2 clip``, compared in exact arithmetic; noise has no floating-point
    part, and delta has no numerical part. (3) Contributions may be chosen after all earlier releases were seen, which
    are drawn while the sum of mu squared stays below ``gdp_mu(epsilon, delta)`` squared: a rule that holds for
    adaptive releases (Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023). (4) Clip, noise and refusal depend
    on public numbers only, and a payment is counted, on disk where there is an account, before its noise is drawn.

    What it does not cover: what else the site sends (weights, metrics, files), how many contributions and rounds there
    are, how long a release takes, and readers of the memory of the process. A contribution that is computed from
    other units' records (a batch-normalised gradient) is not a contribution of one unit.

    Examples
    --------
    >>> import partywise as pw
    >>> made = pw.CertifiedFilter(
    ...     1.0, mu=0.1, unit="row", budget=(1.0, 1e-5), owner="north", rng=pw.stream(4, "noise")
    ... )
    >>> made.sigma, made.grid == 1.0 / 2**20
    (20.0, True)
    >>> gradients = pw.stream(4, "gradients").normal(size=(300, 2))  # a record each
    >>> made.release(gradients).value.round(2)
    array([17.95, -1.85])
    >>> print(f"epsilon {made.epsilon_spent:.3f} of {made.epsilon:g} at delta {made.delta:g}, for one {made.unit}")
    epsilon 0.341 of 1 at delta 1e-05, for one row
    """

    def __init__(
        self,
        clip: float,
        *,
        mu: float,
        unit: str,
        budget: tuple[float, float],
        owner: str,
        rng: RandomSource | None = None,
        stratum: str = "*",
        account: Path | str | None = None,
    ) -> None:
        check_numbers(clip=clip, mu=mu)
        for name, value, least, most in (("clip", clip, *SIZES), ("mu", mu, 1 / LARGEST_MU, LARGEST_MU)):
            if not least <= value <= most:
                raise ValueError(f"{name}={value!r} of a certified filter must lie between {least:g} and {most:g}.")
        if unit not in UNITS:
            raise ValueError(f"unit={unit!r} of a certified filter is unknown; use one of {UNITS}.")
        if not owner or not isinstance(owner, str):
            raise ValueError(f"owner={owner!r} of a certified filter must name whose data it is.")
        if rng is not None and sampler_of(rng) and type(rng) is not SecureRandom and account is not None:
            raise ValueError(
                f"account={str(account)!r} with rng={type(rng).__name__}: another process could draw the same noise "
                "again, for other data; leave out rng for a release, or account for a simulation."
            )
        if account is not None and not Path(account).is_absolute():
            raise ValueError(
                f"account={str(account)!r} of a certified filter is a relative path, which is another budget in every "
                f"working directory: give an absolute one, such as {str(Path(account).resolve())!r}."
            )
        if account is not None and Path(account).is_dir():
            raise ValueError(f"account={str(account)!r} of a certified filter is a folder; name a file in it.")
        self.clip, self.mu, self.unit, self.owner, self.stratum = float(clip), float(mu), unit, owner, stratum
        self.account, self._rng = None if account is None else Path(account), rng
        self._ball = BallClip(Public(self.clip, because="a setting of the filter"))
        self._noise = IntegerGaussian(mu=self.mu)
        self.grid = self._ball.step(MOST_BITS)
        self.sigma = least_deviation(self._squares, self.mu) * self.grid
        self._budget = AccountBudget(*budget, unit=unit)
        self._lock, self._process = Lock(), os.getpid()
        self._memory = _MemoryAccount(self._budget, owner)

    @classmethod
    def for_rounds(
        cls,
        clip: float,
        epsilon: float,
        delta: float,
        rounds: int,
        unit: str,
        *,
        owner: str,
        rng: RandomSource | None = None,
        stratum: str = "*",
        account: Path | str | None = None,
    ) -> CertifiedFilter:
        """The filter whose budget is spent, in equal shares, by as many releases as there are rounds.

        Parameters
        ----------
        clip : float
            As of the class.
        epsilon, delta : float
            Of all rounds together.
        rounds : int
            From 1; each has ``mu = gdp_mu(epsilon, delta) / sqrt(rounds)``.
        unit, owner, rng, stratum, account
            As of the class.

        Returns
        -------
        CertifiedFilter

        Raises
        ------
        ValueError
            If an argument is out of range.

        Examples
        --------
        >>> import partywise as pw
        >>> made = pw.CertifiedFilter.for_rounds(
        ...     clip=1.0, epsilon=1.0, delta=1e-5, rounds=20, unit="row", owner="north", rng=pw.stream(4, "noise")
        ... )
        >>> print(f"{made.mu:.4f} a round: noise of {made.sigma:.1f}")
        0.0599 a round: noise of 33.4
        >>> for _ in range(20):
        ...     release = made.release([[0.3, 0.4]])
        >>> print(f"{made.epsilon_spent:.9f}")
        1.000000000
        >>> made.release([[0.3, 0.4]])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        partywise.core.errors.BudgetExceeded: rounded_gaussian 'rounded_gaussian' costs mu squared = 0.00359...
        """
        if rounds != int(rounds) or rounds < 1:
            raise ValueError(f"rounds={rounds!r} of a certified filter must be a whole number from 1.")
        whole = float(gdp_mu(epsilon, delta))
        if not 0 < whole < math.inf:
            raise ValueError(
                f"epsilon={epsilon!r}, delta={delta!r} of a certified filter: epsilon must be finite and delta "
                "positive, or no Gaussian noise keeps them."
            )
        share = whole / math.sqrt(rounds) * SHARE
        return cls(
            clip, mu=share, unit=unit, budget=(epsilon, delta), owner=owner, rng=rng, stratum=stratum, account=account
        )

    def release(self, contributions: ArrayLike, **terms: Unpack[Terms]) -> Release:
        """The noisy sum of contributions, one row each protected unit.

        Parameters
        ----------
        contributions : array_like of shape (n, D)
            One row per record (unit ``row``) or per client (unit ``user``), in real numbers. A row with an entry that
            is not finite counts as zero: to refuse it would reveal it. Never sum rows, or average them, before this.
        **terms
            See `partywise.privacy.mechanisms.release.Terms`.

        Returns
        -------
        Release
            Value of shape (D,), multiples of ``grid``; the event states ``mu``.

        Raises
        ------
        TypeError
            If ``contributions`` holds anything but real numbers; no value is read for it.
        ValueError
            If it does not have two axes.
        BudgetExceeded
            Before noise is drawn, if the release does not fit. Nothing leaves.
        AccountError
            If the account cannot be read or written, another process has it open for longer than a second, or it was
            begun with another budget. Nothing leaves.
        CertificationError
            If the filter counts in memory, and this is another process than the one that made it.

        Examples
        --------
        >>> import partywise as pw
        >>> budget, noise = (1.0, 1e-5), pw.stream(4, "noise")
        >>> made = pw.CertifiedFilter(1.0, mu=0.2, unit="user", budget=budget, owner="north", rng=noise)
        >>> release = made.release([[30.0, 40.0], [0.1, float("nan")]], release_id="round 1")  # of two clients
        >>> release.value.shape, release.event.mu, release.event.sensitivity, release.event.unit
        ((2,), 0.2, 2.0, 'user')
        """
        total = self._sum(finite_rows(contributions))
        return self._pay_and_draw(lambda rng: self._noise(total, rng, owner=self.owner, **terms))

    def arrays(
        self, update: Mapping[str, ArrayLike], *, public: Mapping[str, str] | None = None
    ) -> dict[str, np.ndarray]:
        """A whole update, clipped and noised as the one contribution of a client.

        Parameters
        ----------
        update : mapping of str to array_like
            Floating-point arrays of any shape, those without an axis included: one clip for all, in the order of
            their names.
        public : mapping of str to str, optional
            Names of arrays that pass as they are, each with the argument why it reveals nothing of the data.

        Returns
        -------
        dict of str to ndarray
            Names, order, shapes and types of ``update``.

        Raises
        ------
        TypeError
            If an array that is not named in ``public`` does not hold floating-point numbers (a counter, an object):
            by its type alone.
        ValueError
            If the unit is not ``user``, nothing is left to release, or ``public`` gives no argument.
        BudgetExceeded, AccountError, CertificationError
            As of `release`.

        Examples
        --------
        >>> import partywise as pw
        >>> budget, noise = (1.0, 1e-5), pw.stream(4, "noise")
        >>> made = pw.CertifiedFilter(1.0, mu=0.2, unit="user", budget=budget, owner="north", rng=noise)
        >>> import numpy as np
        >>> update = {"weights": np.ones((2, 2)), "intercept": np.array(3.0), "step": np.array(7)}
        >>> noisy = made.arrays(update, public={"step": "the number of batches is a setting"})
        >>> {name: (array.shape, array.dtype.str) for name, array in noisy.items()}
        {'weights': ((2, 2), '<f8'), 'intercept': ((), '<f8'), 'step': ((), '<i8')}
        """
        self.require_whole_updates()
        named = reasons(public)
        values = {name: np.asarray(value) for name, value in update.items()}
        flat, private = flat_update(values, named)
        return with_released(values, private, self.release(flat[None]).value)

    def require_whole_updates(self) -> None:
        """Check that the filter takes whole updates.

        Raises
        ------
        ValueError
            If the unit is not ``user``: a single record moves the whole update as far as a client does.

        Examples
        --------
        >>> import partywise as pw
        >>> made = pw.CertifiedFilter.for_rounds(1.0, 1.0, 1e-5, 20, "row", owner="north")
        >>> made.require_whole_updates()  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: unit='row' of a filter for whole updates...
        """
        if self.unit != "user":
            raise ValueError(
                f"unit={self.unit!r} of a filter for whole updates: one record moves an update as far as all of them "
                "do, so that it is one contribution of unit 'user', which protects each record as well. For unit 'row' "
                "give release one gradient per record, within the training step."
            )

    @property
    def epsilon(self) -> float:
        """Epsilon of the budget."""
        return self._budget.epsilon

    @property
    def delta(self) -> float:
        """Delta of the budget, at which epsilons are stated."""
        return self._budget.delta

    @property
    def epsilon_spent(self) -> float:
        """Epsilon of everything that was paid so far, at ``delta``: of an account, by all who paid from it."""
        if self.account is None:
            spending = self._memory.spending
        else:
            paid = paid_events(opened_account(self.account).rows) if self.account.exists() else ()
            spending = Spending(self._budget, paid, party=self.owner)
        return float(gaussian_epsilon(math.sqrt(spending.amount_spent), self.delta))

    def __repr__(self) -> str:
        place = "in memory" if self.account is None else f"in {self.account}"
        return (
            f"CertifiedFilter(clip={self.clip:g}, mu={self.mu:.6g}, unit={self.unit!r}, owner={self.owner!r}; budget "
            f"epsilon {self.epsilon:g} at delta {self.delta:g}, counted {place})"
        )

    def __reduce__(self) -> tuple[object, ...]:
        if self.account is None or self._rng is not None:
            self._refuse_copy()
        settings = {name: getattr(self, name) for name in ("mu", "unit", "owner", "stratum", "account")}
        return _again, (self.clip, settings | {"budget": (self.epsilon, self.delta)})

    def _refuse_copy(self) -> NoReturn:
        raise CertificationError(
            "a certified filter that counts in memory has one account in one process, and a copy would count on its "
            "own: give it an account on disk, account='ledger.jsonl', and no rng."
        )

    @property
    def _squares(self) -> Fraction:
        """The largest squared move of the sum, in steps: of two clips, for any number of entries."""
        return Fraction(4 * self._ball.squares(1, MOST_BITS))

    def _sum(self, rows: np.ndarray) -> Whole:
        """The sum of rows (n, D), each clipped and rounded by itself, in whole numbers."""
        clipped = self._ball.steps(rows, MOST_BITS)
        return whole(
            clipped.records.astype(np.int64).sum(axis=0),
            self._squares,
            self.grid,
            "no contribution is longer than the clip, in integers: 2 clip",
            unit=self.unit,
            stratum=self.stratum,
            clip_share=clipped.share,
        )

    def _pay_and_draw(self, draw: Callable[[RandomSource], Release]) -> Release:
        """Draw once from a source that asks the payer; an account on disk is open, here alone, until that ends."""
        with self._lock:
            if self.account is None:
                if os.getpid() != self._process:
                    self._refuse_copy()
                return draw(self._paying(self._memory))
            # It locks its file by what Windows has not; the rest of this module works there.
            from ...federation.account.account import Account

            with Account(self.account, party=self.owner, budget=self._budget, wait=WAIT) as account:
                if (first := account.first_budget) not in (None, self._budget):
                    raise AccountError(
                        f"{self.account} was begun with the budget {first}, and this filter has {self._budget}: the "
                        "first one binds; give the same one, or another account for other data."
                    )
                account.began(secrets.token_hex(16), self._digest)
                outcome = ""
                try:
                    release = draw(self._paying(account))
                    outcome = release.event.noise_digest
                    return release
                finally:
                    account.record_end(outcome)

    def _paying(self, payer: Payer) -> RandomSource:
        """The generator, which asks its own payer as well, if it has one."""
        if self._rng is None:
            return SecureRandom(payer=payer)
        inner = payer_of(self._rng)
        return charge_to(self._rng, payer if inner is None else _All((inner, payer)))

    @property
    def _digest(self) -> str:
        """Digest of the filter that paid, in the rows of an account."""
        fields = [self.clip, self.mu, self.unit, self.owner, self.epsilon, self.delta]
        return hashlib.sha256(json.dumps(["certified_filter", *fields]).encode()).hexdigest()


class _MemoryAccount:
    """The account of one process."""

    def __init__(self, budget: AccountBudget, owner: str) -> None:
        self.spending = Spending(budget, party=owner)

    def charge(self, *events: Event) -> None:
        """Charge events to the account, as `partywise.privacy.payer.Payer` does."""
        self.spending.require("", events)


class _All:
    """All payers of one draw, one after the other: those before one that refuses have paid."""

    def __init__(self, payers: tuple[Payer, ...]) -> None:
        self._payers = payers

    def charge(self, *events: Event) -> None:
        """Charge events to every payer, as `partywise.privacy.payer.Payer` does."""
        for payer in self._payers:
            payer.charge(*events)


def require_account(filter: CertifiedFilter) -> CertifiedFilter:
    """The filter, if a framework may run it in any process: of whole updates, counted on disk."""
    filter.require_whole_updates()
    if filter.account is None:
        raise ValueError(
            "account=None of a filter within a framework, which runs a site in several processes, one after the other "
            "or at once: give an account on disk, on which all of them count."
        )
    return filter


def _again(clip: float, settings: dict[str, object]) -> CertifiedFilter:
    return CertifiedFilter(clip, **settings)  # type: ignore[arg-type]
