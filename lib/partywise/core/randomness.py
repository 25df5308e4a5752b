"""Random generators by address: the names state what a draw may depend on.

Two calls with the same root and the same names give the same stream; leaving an axis of the experiment out of
the names makes every value of that axis share one stream (common random numbers). Simulation only: nothing here
is fit for noise that is really published; that comes from
`partywise.privacy.mechanisms.random.SecureRandom`, with which nothing here shares a class.
"""

import hashlib
import operator
import struct
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, NoReturn, TypeVar, cast

import numpy as np

Rng = Callable[..., np.random.Generator]
# Roots that one stream draws for others.
ROOTS = 2**62
F = TypeVar("F", bound=Callable[..., Any])
NAMELESS = "a stream needs at least one name besides its root; say what the draw is for."


def _encode(name: str | int) -> bytes:
    """One name as a tagged, length-prefixed record, so that no two lists of names share an encoding."""
    if isinstance(name, str):
        tag, body = b"s", name.encode()
    elif isinstance(name, bool | np.bool_) or not isinstance(name, int | np.integer):
        raise TypeError(
            f"names of a stream are strings or integers, got {name!r} ({type(name).__name__}); "
            "convert it to one of them."
        )
    else:
        tag, body = b"i", str(operator.index(name)).encode()
    return tag + len(body).to_bytes(8, "big") + body


class SimulationRandom(np.random.Generator):
    """The generator that lives at an address: PCG64DXSM, repeatable by design.

    Parameters
    ----------
    root : int
        Seed of the whole run, at least 0.
    *names : str or int
        The address, at least one name, for example ``("boosting", "white", "noise", 3)``. The string ``"3"`` and
        the integer ``3`` are different names; Python and NumPy integers are the same.

    Raises
    ------
    ValueError
        If ``root`` is negative or no name is given.
    TypeError
        If ``root`` or a name has another type (booleans and floats included).

    Notes
    -----
    ``root`` is the entropy of a ``SeedSequence`` and the SHA-256 digest of the names its spawn key. A copy, pickled
    or not, goes on from the state of the original.
    """

    def __init__(self, root: int, *names: str | int) -> None:
        super().__init__(_bit_generator(root, names))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.bit_generator)

    def spawn(self, n_children: int) -> NoReturn:
        """Refused: a child would have no address."""
        raise TypeError(f"spawn({n_children!r}) makes generators without an address; call stream with one more name.")


def stream(root: int, *names: str | int) -> SimulationRandom:
    """Return the generator that lives at an address: ``SimulationRandom(root, *names)``.

    Parameters
    ----------
    root : int
        Seed of the whole run, at least 0.
    *names : str or int
        The address, at least one name; they state what the draws may depend on.

    Returns
    -------
    SimulationRandom
        A numpy generator.

    Raises
    ------
    ValueError
        If ``root`` is negative or no name is given.
    TypeError
        If ``root`` or a name has another type (booleans and floats included).

    Examples
    --------
    >>> import partywise as pw
    >>> first, again, other = (pw.stream(1, "noise", client).normal() for client in ("north", "north", "south"))
    >>> first == again, first == other
    (True, False)
    """
    return SimulationRandom(root, *names)


class Streams:
    """All streams below one address: ``Streams(root, *names)(*more)`` is ``stream(root, *names, *more)``.

    What is computed from such streams alone, and from values that never change, is a pure function of them: it may be
    computed once and used again wherever the same is asked for (`once`).

    Parameters
    ----------
    root : int
        As in `SimulationRandom`.
    *names : str or int
        Beginning of the address; may be empty.

    Raises
    ------
    ValueError, TypeError
        As in `SimulationRandom`.

    Examples
    --------
    >>> import partywise as pw
    >>> streams = pw.Streams(1, "replicate", 3)
    >>> streams("noise").normal() == pw.stream(1, "replicate", 3, "noise").normal()
    True
    >>> streams.address == pw.Streams(1, "replicate", 4).address  # of another replicate
    False
    """

    def __init__(self, root: int, *names: str | int) -> None:
        self._root = _check(root)
        self._prefix = hashlib.sha256(b"".join(map(_encode, names)))
        self._named = bool(names)
        self.known: dict[Hashable, Any] = {}

    @property
    def address(self) -> str:
        """Digest of the root and the names, which differs between these streams and others."""
        state = self._prefix.copy()
        state.update(_encode(self._root))
        return state.hexdigest()

    def __call__(self, *names: str | int) -> SimulationRandom:
        """The generator at ``names`` below the address, from its beginning."""
        if not names and not self._named:
            raise ValueError(NAMELESS)
        state = self._prefix.copy()
        state.update(b"".join(map(_encode, names)))
        return _restore(SimulationRandom, _seed(self._root, state.digest()))


# What a person gives for randomness: a seed, or what draws one.
Seed = int | np.integer | np.random.Generator | Streams


def draw_root(rng: np.random.Generator) -> int:
    """Return the root of further streams."""
    return int(rng.integers(ROOTS))


def streams_of(rng: Seed, *names: str | int, argument: str = "rng") -> Streams:
    """Generators by address from a seed, or from a numpy generator that draws the seed; `Streams` stay as they are."""
    if isinstance(rng, Streams):
        return rng
    if isinstance(rng, np.random.Generator):
        return Streams(int(rng.integers(2**63)), *names)
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        return Streams(int(rng), *names)
    raise TypeError(
        f"{argument}={rng!r} must be an integer seed, a numpy.random.Generator or a pw.Streams: give {argument}=7."
    )


def once(function: F) -> F:
    """A function whose last argument is ``rng_for``, computed once for all fits that share it.

    Its other arguments are hashable, or arrays; together with the streams they decide the result, which must
    not be changed. It is kept as long as the `Streams`; with any other source of generators, which may have a state,
    the function is computed at every call.
    """

    @wraps(function)
    def remembering(*arguments: Any) -> Any:
        streams = arguments[-1]
        if not isinstance(streams, Streams):
            return function(*arguments)
        key = (function, *map(_hashable, arguments[:-1]))
        try:
            return streams.known[key]
        except KeyError:
            result = streams.known[key] = function(*arguments)
            return result

    return cast(F, remembering)


def _hashable(value: Any) -> Hashable:
    return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


def _restore(kind: type[SimulationRandom], bit_generator: np.random.BitGenerator) -> SimulationRandom:
    generator = kind.__new__(kind)
    np.random.Generator.__init__(generator, bit_generator)
    return generator


def _bit_generator(root: int, names: tuple[str | int, ...]) -> np.random.PCG64DXSM:
    root = _check(root)
    if not names:
        raise ValueError(NAMELESS)
    return _seed(root, hashlib.sha256(b"".join(map(_encode, names))).digest())


def _check(root: int) -> int:
    if isinstance(root, bool | np.bool_) or not isinstance(root, int | np.integer):
        raise TypeError(f"root={root!r} must be an integer seed; lists and floats are not accepted.")
    if root < 0:
        raise ValueError(f"root={root} is negative; give a seed of at least 0.")
    return int(root)


def _seed(root: int, digest: bytes) -> np.random.PCG64DXSM:
    return np.random.PCG64DXSM(np.random.SeedSequence(root, spawn_key=struct.unpack(">8I", digest)))


def mersenne_twister(seed: int) -> np.random.RandomState:
    """Generator of published code that fixes the seed of numpy's old generator: public, so that it hides nothing."""
    return np.random.RandomState(seed)
