"""Random generators by address: the names say what a draw may depend on.

Two calls with the same root and the same names give the same stream; leaving an axis of the experiment out of
the names makes every value of that axis share one stream (common random numbers). Simulation only: nothing here
is fit for noise that is really published.
"""

import hashlib
import operator

import numpy as np

__all__ = ["stream"]


def _encoded(name: str | int) -> bytes:
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


def stream(root: int, *names: str | int) -> np.random.Generator:
    """Return the generator that lives at an address.

    Parameters
    ----------
    root : int
        Seed of the whole run, at least 0.
    *names : str or int
        The address, at least one name, for example ``("boosting", "white", "noise", 3)``. The string ``"3"`` and
        the integer ``3`` are different names; Python and NumPy integers are the same.

    Returns
    -------
    numpy.random.Generator
        PCG64DXSM, seeded by ``root`` with the SHA-256 digest of the names as spawn key.

    Raises
    ------
    ValueError
        If ``root`` is negative or no name is given.
    TypeError
        If ``root`` or a name has another type (booleans and floats included).
    """
    if isinstance(root, bool | np.bool_) or not isinstance(root, int | np.integer):
        raise TypeError(f"root={root!r} must be an integer seed; lists and floats are not accepted.")
    if root < 0:
        raise ValueError(f"root={root} is negative; give a seed of at least 0.")
    if not names:
        raise ValueError("a stream needs at least one name besides its root; say what the draw is for.")
    digest = hashlib.sha256(b"".join(_encoded(name) for name in names)).digest()
    key = tuple(int.from_bytes(digest[i : i + 4], "big") for i in range(0, len(digest), 4))
    return np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(int(root), spawn_key=key)))
