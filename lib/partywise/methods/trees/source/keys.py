"""Keys of a foreign configuration, read one by one with their types; a key that was not read is refused by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

# Any: keys of a configuration from another program.
from typing import Any, TypeVar, cast, overload

V = TypeVar("V")
D = TypeVar("D")
REQUIRED: object = object()
KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


class Keys:
    """A parsed configuration as nested mappings; ``where`` is the path of the block, for messages.

    ``notes`` are sentences on what reads otherwise than in the other program.
    """

    def __init__(self, block: object, where: str = "") -> None:
        if not isinstance(block, Mapping):
            raise ValueError(f"{where or 'mapping'} is {block!r}: a block of keys is needed here.")
        self._block, self._where, self._read = block, where, set[str]()
        self.notes = list[str]()

    def path(self, name: str) -> str:
        """A key as messages name it."""
        return f"{self._where}.{name}" if self._where else name

    def __contains__(self, name: str) -> bool:
        return self._find(name) is not REQUIRED

    @overload
    def take(self, name: str, kind: type[V], *, allowed: Sequence[object] | None = None) -> V: ...
    @overload
    def take(self, name: str, kind: type[V], default: D, allowed: Sequence[object] | None = None) -> V | D: ...
    def take(
        self, name: str, kind: type, default: object = REQUIRED, allowed: Sequence[object] | None = None
    ) -> object:
        """The value of a key such as ``federate.mode``, read once; ValueError names key, value and what is allowed."""
        value = self._raw(name, default)
        if name not in self:
            return value
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise ValueError(f"{self.path(name)} is {value!r}: it must be {KINDS[kind]}.")
        if allowed is not None and value not in allowed:
            words = " or ".join(map(repr, allowed))
            raise ValueError(f"{self.path(name)} is {value!r}: it must be {words} here.")
        return value

    def whole(self, name: str, least: int, default: object = REQUIRED) -> int:
        """A whole number that is at least ``least``."""
        value = cast("int", self.take(name, int, default))
        if value < least:
            raise ValueError(f"{self.path(name)} is {value}: it must be at least {least}.")
        return value

    def options(self, rows: Mapping[str, tuple[str, type]]) -> dict[str, Any]:
        """Values of options whose keys are present, by their names; rows have the key of each and its type."""
        return {option: self.take(key, kind) for option, (key, kind) in rows.items() if key in self}

    def numbers(self, name: str, kind: type[V], default: object = REQUIRED) -> Sequence[V]:
        """A list of numbers of one kind."""
        value: Sequence[V] = self._raw(name, default)
        if name in self and not (isinstance(value, list | tuple) and all(_is(item, kind) for item in value)):
            raise ValueError(f"{self.path(name)} is {value!r}: it must be a list, each {KINDS[kind]}.")
        return value

    def inner(self, name: str) -> Keys:
        """The only block of a list of blocks."""
        value = self._raw(name, REQUIRED)
        if not isinstance(value, list | tuple) or len(value) != 1:
            raise ValueError(f"{self.path(name)} is {value!r}: it must be a list of one block of keys.")
        return Keys(value[0], f"{self.path(name)}[0]")

    def nothing(self, name: str) -> bool:
        """Whether a key is absent or null, which YAML also writes as the word None; it counts as read where it is."""
        if self._find(name) in (REQUIRED, None, "None"):
            self._read.add(name)
            return True
        return False

    def take_rest(self, block: str) -> list[str]:
        """Keys below a block that nothing has read; they count as read from now on."""
        names = [name for name in _leaves(self._block) if name.startswith(f"{block}.") and name not in self._read]
        self._read.update(names)
        return names

    def refuse_rest(self, readers: Mapping[str, str]) -> None:
        """`ValueError` for the first key that was not read."""
        for name in _leaves(self._block):
            if name in self._read:
                continue
            if name in readers:
                raise ValueError(
                    f"{self.path(name)} is {self._find(name)!r}: it is read with {readers[name]} only; leave it out."
                )
            near = difflib.get_close_matches(name, [*self._read, *readers], 1)
            advice = f"did you mean {self.path(near[0])}?" if near else "leave it out."
            raise ValueError(f"{self.path(name)} is unknown: {advice}")

    def _raw(self, name: str, default: object) -> Any:
        self._read.add(name)
        value = self._find(name)
        if value is not REQUIRED:
            return value
        if default is REQUIRED:
            raise ValueError(f"{self.path(name)} is missing: the configuration must give it.")
        return default

    def _find(self, name: str) -> Any:
        block: Any = self._block
        for part in name.split("."):
            if not isinstance(block, Mapping) or part not in block:
                return REQUIRED
            block = block[part]
        return block


def _is(value: object, kind: type) -> bool:
    kinds = (int, float) if kind is float else (kind,)
    return isinstance(value, kinds) and not isinstance(value, bool)


def _leaves(block: Mapping[str, object], above: str = "") -> Iterator[str]:
    """Paths of all values that are not blocks."""
    for key, value in block.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{name}.")
        else:
            yield name
