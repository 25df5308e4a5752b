"""Second moments of scaled records: what one noisy matrix of them gives for every model on these columns.

A record is v = (S / sqrt p, z, s (t - t_0)): a constant, its scaled columns clipped to the radii of their parties, its
response statistic clipped to a public range of half-width B, s = S / (2 B). The mean of v v' without its constant entry
is released as isometric vector. From there on everything is post-processing, and free: slopes of any submodel,
correlations, components. Families other than Gaussian rest on approximations by normal linear predictors, whose bias no
epsilon removes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....models.kinds import Kind
from ....models.simulation.base import ReleasedSum, Sample, noise_deviation
from ....privacy.ledger.event import Event
from ....privacy.statistics.isometry import nearest_semidefinite, outer_vectors, to_matrix, to_triangle, to_vector


@dataclass(frozen=True)
class MomentScale:
    """Public facts of the records besides their number.

    radius : S, length of the scaled columns of a record; columns : p
    center, half_width : t_0 and B of the response statistic; B is infinite where it has no public range
    step : of columns that are whole numbers of steps, in which the constant is whole as well; else 0
    blocks : columns of each party and the radius that its records are clipped to; empty where one has all columns
    kinds : (p,) distributions of the scaled columns, as they were declared; None of a column, or empty, where not
    records_per_person : public bound on the records of one person
    """

    radius: float
    columns: int
    center: float
    half_width: float
    step: float = 0.0
    blocks: tuple[tuple[tuple[int, ...], float], ...] = ()
    kinds: tuple[Kind | None, ...] = ()
    records_per_person: int = 1

    @property
    def is_declared(self) -> bool:
        """Whether the kinds of all columns were declared."""
        return bool(self.kinds) and None not in self.kinds

    @property
    def shapes(self) -> tuple[Kind, ...]:
        """(p,) kinds of the scaled columns, normal where none was declared."""
        return tuple(kind or Kind() for kind in self.kinds or (None,) * self.columns)

    @property
    def clips(self) -> tuple[tuple[tuple[int, ...], float], ...]:
        """Columns that are clipped together, and their radius."""
        return self.blocks or ((tuple(range(self.columns)), self.radius),)

    @property
    def constant(self) -> float:
        """The constant entry of a record, S / sqrt p, or the next whole number of steps."""
        constant = self.radius / float(np.sqrt(self.columns))
        return float(np.ceil(constant / self.step)) * self.step if self.step else constant

    @property
    def weight(self) -> float:
        """s, by which the response statistic is multiplied."""
        return self.radius / (2 * self.half_width)

    @property
    def length(self) -> float:
        """Largest length r of a record: r^2 = S^2 / p + S^2 + s^2 B^2."""
        return float(np.sqrt(self.constant**2 + 1.25 * self.radius**2))

    def of_model(self, z: np.ndarray, response: np.ndarray) -> np.ndarray:
        """(m, d) what each record adds to the isometric vector: the clip in floats, without rounding to steps.

        z : (m, p) scaled columns; response : (m,) s (t - t_0)
        """
        v = np.column_stack([self.clip_columns(z), np.clip(response, -self.radius / 2, self.radius / 2)])
        return np.hstack([outer_vectors(v), np.sqrt(2) * self.constant * v])

    def clip_columns(self, z: np.ndarray) -> np.ndarray:
        """Return scaled columns (m, p), those of each block shrunk together to its radius."""
        shrunk = np.empty_like(z)
        for columns, radius in self.clips:
            block = z[:, columns]
            lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
            shrink = np.divide(radius, lengths, out=np.ones_like(lengths), where=lengths > radius)
            shrunk[:, columns] = block * shrink[:, None]
        return shrunk

    def beyond(self, z: np.ndarray) -> np.ndarray:
        """(m, K) whether scaled columns (m, p) of a record are longer than the radius of each block."""
        return np.column_stack([np.sum(z[:, columns] ** 2, axis=1) > radius**2 for columns, radius in self.clips])


@dataclass(frozen=True)
class NoisyMoments:
    """Released second moments of the scaled records.

    mean : (p + 1,) of the scaled columns and of s (t - t_0); second : (p + 1, p + 1) of the same, not centred
    event : row of the release, from which the law of its noise follows
    copies : (p + 1, p + 1) how often an entry has it: twice where each of two parties adds all of it, else once
    location, scale : (p,) of the columns
    """

    mean: np.ndarray
    second: np.ndarray
    n: int
    event: Event
    copies: np.ndarray
    public: MomentScale
    location: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(
        cls,
        vector: np.ndarray,
        n: int,
        event: Event,
        copies: np.ndarray,
        public: MomentScale,
        location: np.ndarray,
        scale: np.ndarray,
    ) -> NoisyMoments:
        """Return the moments that a released isometric vector (d,) holds."""
        size = public.columns + 1
        mean = vector[-size:] / (np.sqrt(2) * public.constant)
        return cls(mean, to_matrix(vector[:-size], size), n, event, copies, public, location, scale)

    @cached_property
    def covariance(self) -> np.ndarray:
        """(p + 1, p + 1) covariance of the scaled columns and of t, the noise in it."""
        unit = np.append(np.ones(self.public.columns), self.public.weight)
        centred = self.second - np.outer(self.mean, self.mean)
        return (centred + centred.T) / 2 / np.outer(unit, unit)

    @property
    def vector(self) -> np.ndarray:
        """(d,) the released isometric vector."""
        return np.concatenate([to_vector(self.second), np.sqrt(2) * self.public.constant * self.mean])

    @property
    def sd(self) -> float:
        """Standard deviation of the noise of an entry of the isometric vector; 0 without noise."""
        return noise_deviation(self.event)

    def sum(self, of_records: Callable[[Sample], np.ndarray]) -> ReleasedSum:
        """Return the isometric vector as a sum over records whose law gives the same vectors of drawn records."""
        size, public = len(self.mean), self.public
        products = np.repeat([1.0, 2.0], [size, size * (size - 1) // 2])
        # Means are multiplied by a constant, which is a whole number of steps as well.
        constants = np.full(size, np.sqrt(2) * public.constant)
        units = np.append(np.sqrt(products) * public.step**2, constants * public.step) / self.n
        copies = np.concatenate([to_triangle(self.copies), np.ones(size)])
        return ReleasedSum.from_release(self.vector, (self.event,), units, of_records, self.n, copies)

    @property
    def response(self) -> float:
        """Mean of the response statistic t."""
        return self.public.center + float(self.mean[-1]) / self.public.weight

    def block(self, columns: Sequence[int]) -> np.ndarray:
        """Covariance of some scaled columns, made positive semi-definite."""
        return nearest_semidefinite(self.covariance[np.ix_(columns, columns)])

    @property
    def is_indefinite(self) -> bool:
        """Whether noise has made the covariance of all columns indefinite, so that its negative eigenvalues are cut."""
        columns = slice(self.public.columns)
        return bool(np.linalg.eigvalsh(self.covariance[columns, columns])[0] < 0)

    def ridge(self, columns: Sequence[int]) -> float:
        """sd sqrt(p / 2): about half the largest eigenvalue of the noise of a matrix of these columns.

        Of entries with noise of several variances it is that of their mean.
        """
        if not len(columns):
            return 0.0
        copies = float(np.mean(self.copies[np.ix_(columns, columns)]))
        return self.sd * float(np.sqrt(copies * len(columns) / 2))

    def matrix(self, columns: Sequence[int]) -> np.ndarray:
        """Covariance of some scaled columns with the ridge on it."""
        return self.block(columns) + self.ridge(columns) * np.eye(len(columns))

    @cached_property
    def correlation(self) -> np.ndarray:
        """(p, p) correlations of all columns."""
        matrix = self.matrix(range(self.public.columns))
        root = np.sqrt(np.diagonal(matrix))
        # A column without spread, which only a release without noise can show, correlates with nothing.
        root[root == 0] = np.inf
        correlations = matrix / np.outer(root, root)
        np.fill_diagonal(correlations, 1.0)
        return correlations
