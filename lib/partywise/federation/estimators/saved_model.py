"""A fitted estimator as a JSON file, and back: what predicts, what it cost, and nothing that makes code run.

The file has what one place holds when the protocol has ended: a fit of which no place has all is refused. It holds
no record, no message, no generator and no division of rows. Numbers are exact to the last bit, infinity and NaN as
text. The digest at its end finds a file that was cut off or changed by accident; it does not identify the writer.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import partial
from math import inf, isclose, isfinite, nan
from pathlib import Path
from sys import modules

# Any: JSON of a model that somebody else wrote, whatever it asks for.
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Union, cast, get_args, get_origin

import numpy as np

from ... import __version__
from ...core.documents import LARGEST, FileProblem, decode_json, digest_of, encode_json
from ...core.errors import ModelError
from ...core.files import replacing
from ...core.verdicts import OF_RECORDS, estimate_verdict
from ...models.intervals import named_reason
from ...privacy.ledger.event import Event
from ...privacy.ledger.ledger import Ledger
from ..roles import UNITS

if TYPE_CHECKING:
    from .estimator import Estimator

FORMAT = "partywise model 1"
KEYS = ("format", "partywise", "estimator", "settings", "parties", "held_by", "columns", "attributes", "model")
ALL_KEYS = (*KEYS, "privacy", "ledger", "digest")
# Settings that steer a fit and no prediction: a seed would undo the noise, rows of clients are their own business, and
# who allows clipping has seen how much of the records is clipped.
NOT_SAVED = ("random_state", "shared_budget", "parties", "clipped")
# Fields of a total that no ledger knows.
SEARCH: Mapping[str, type] = {"fits": int, "epsilon_of_fits": float, "epsilon_of_choice": float}
# What JSON has no word for.
WORDS = {"inf": inf, "-inf": -inf, "nan": nan}
# Where a file may hold a number that is not finite, arrays included, is a matter of the model, which checks it.
KINDS = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}

Refuse = Callable[[str, str], NoReturn]


def save(estimator: Estimator, path: Path) -> None:
    """Write what a place has of a fitted estimator; ModelError where no place has all of it, or it has no JSON."""
    estimate, holder = estimator._fitted_estimate(), estimator._holder()
    settings = {name: value for name, value in estimator.get_params(deep=False).items() if name not in NOT_SAVED}
    content = {
        "format": FORMAT,
        "partywise": __version__,
        "estimator": f"{type(estimator).__module__.split('.')[-2]}.{type(estimator).__name__}",
        "settings": {name: _plain_setting(name, value) for name, value in settings.items()},
        "parties": [
            {"name": name, "role": role, "columns": list(columns)} for name, role, columns in estimator._places
        ],
        "held_by": holder,
        "columns": {
            "count": int(estimator.n_features_in_),
            "names": list(map(str, estimator.feature_names_in_)) if hasattr(estimator, "feature_names_in_") else None,
        },
        "attributes": {
            name: plain(getattr(estimator, name)) for name in estimator._model_attributes if hasattr(estimator, name)
        },
        "model": {name: plain(_without_facts(estimate, name)) for name in _saved_fields(type(estimator))},
        "privacy": _statement(estimator, holder),
        "ledger": [plain(event.to_row()) for event in estimator.ledger_.rows],
    }
    with replacing(path) as temporary:
        temporary.write_bytes(with_digest(content))


def _saved_fields(kind: type[Estimator]) -> tuple[str, ...]:
    """Return the fields of the estimate that a file has: with what the protocol itself states about it."""
    known = {field.name for field in fields(kind._estimate)}
    stated = ("status", "reason", "noise_errors_reason")
    return (*kind._model_fields, *(name for name in stated if name in known and name not in kind._model_fields))


def _without_facts(estimate: object, name: str) -> object:
    """Return a field without what is exact of records: shares of clipped ones, a response that does not vary."""
    value = getattr(estimate, name)
    if isinstance(value, Mapping):
        return {key: entry for key, entry in value.items() if not str(key).endswith("clip_share")}
    if name in ("status", "reason") and getattr(estimate, "status", "ok") in OF_RECORDS:
        return "ok" if name == "status" else ""
    return value


def with_digest(content: Mapping[str, object]) -> bytes:
    """The content of a file, with the digest of what comes before."""
    return encode_json({**content, "digest": digest_of(encode_json(dict(content)))})


def _plain_setting(name: str, value: object) -> object:
    try:
        return plain(value)
    except TypeError as error:
        raise ModelError(
            f"the setting {name} has no JSON form ({error}): give plain numbers, text and arrays."
        ) from None


def _statement(estimator: Estimator, holder: str) -> dict[str, object]:
    """Statement of what the fit cost, and of the holder's own units that the file holds without any protection."""
    spent = estimator.privacy_
    units = next((UNITS.get(role, ("row",)) for name, role, _ in estimator._places if name == holder and role), ())
    return {
        "unit": spent.unit,
        "delta": plain(spent.delta),
        "epsilon_claimed": plain(estimator.epsilon_claimed_),
        "epsilon_certified": plain(spent.epsilon_certified),
        "view": spent.view_worst,
        "trust": spent.trust,
        "unprotected_units": [f"{unit} of {holder}" for unit in units],
        **{name: plain(getattr(spent, name)) for name in SEARCH if spent.fits},
        **({"seed": spent.seed} if spent.seed else {}),
    }


def plain(value: object) -> object:
    """A value as JSON has it; TypeError for what has no such form."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return float(value) if isfinite(value) else repr(float(value))
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, np.ndarray):
        return _plain_array(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple | frozenset):
        return [plain(entry) for entry in value]
    raise TypeError(f"a {type(value).__name__}")


def _plain_array(array: np.ndarray) -> dict[str, object]:
    """Entries in the order in which they lie in memory: the last bit of a product depends on it."""
    kind = array.dtype.kind
    if kind not in KINDS or (array.dtype.itemsize > 8 and kind not in "UO"):
        raise TypeError(f"an array of {array.dtype}")
    if kind == "O" and not all(isinstance(entry, str) for entry in array.ravel().tolist()):
        raise TypeError("an array of objects that are not text")
    order: Literal["F", "C"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    header: dict[str, object] = {"dtype": array.dtype.name if kind not in "UO" else kind, "shape": list(array.shape)}
    return header | {"order": order, "values": [plain(entry) for entry in array.ravel(order).tolist()]}


def read(path: Path, form: str = FORMAT, keys: Collection[str] = ALL_KEYS) -> dict[str, Any]:
    """The content of a file, whose keys, format and digest are right; ModelError otherwise."""
    try:
        size = path.stat().st_size
        data = b"" if size > LARGEST else path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror or error}): name a file that save wrote.") from None
    if size > LARGEST:
        raise ModelError(f"{path} has {size} bytes: more than {LARGEST} are not read; name a file that save wrote.")
    try:
        content = decode_json(str(path), data)
    except FileProblem as error:
        raise ModelError(f"{error}: save the model again.") from None
    if not isinstance(content, dict) or not isinstance(content.get("format"), str):
        raise ModelError(f"{path} is not a saved model: name a file that save wrote.")
    if content["format"] != form:
        raise ModelError(
            f"{path}: format is {content['format'][:40]!r}, of partywise {str(content.get('partywise'))[:20]}, where "
            f"partywise {__version__} reads {form!r}: load it with that version, or fit and save again."
        )
    if set(content) != set(keys):
        odd = sorted(set(content) ^ set(keys))[0]
        raise ModelError(f"{path}: {odd} is {'unknown' if odd in content else 'missing'}: save the model again.")
    digest = digest_of(encode_json({name: value for name, value in content.items() if name != "digest"}))
    if content["digest"] != digest:
        raise ModelError(f"{path}: digest is not that of the content: the file was changed; save the model again.")
    return content


def restore(estimator_type: type[Estimator], content: Mapping[str, Any], path: Path) -> Estimator:
    """The estimator of a file's content; ModelError for what a fit of it cannot have left."""

    def refuse(key: str, why: str) -> NoReturn:
        raise ModelError(f"{path}: {key} {why}: save the model again.")

    settings = _mapping(content["settings"], "settings", refuse)
    try:
        estimator: Estimator = cast(Any, estimator_type)(
            **{name: _setting(form, f"settings.{name}", refuse) for name, form in settings.items()}
        )
        estimator._options()
    except (TypeError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        refuse("settings", f"cannot be those of a {estimator_type.__name__} ({error})")
    estimator._places = _places(content["parties"], refuse)
    if content["held_by"] not in [name for name, *_ in estimator._places]:
        refuse("held_by", f"is {content['held_by']!r}, which is none of the parties")
    columns = _mapping(content["columns"], "columns", refuse)
    if set(columns) != {"count", "names"}:
        refuse("columns", "has other keys than count and names")
    estimator.n_features_in_ = value_of_type(columns["count"], int, "columns.count", refuse)
    names = value_of_type(columns["names"], tuple[str, ...] | None, "columns.names", refuse)
    if names is not None:
        if len(names) != estimator.n_features_in_:
            refuse("columns.names", f"has {len(names)} entries for {estimator.n_features_in_} columns")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    attributes = _mapping(content["attributes"], "attributes", refuse)
    for name, form in attributes.items():
        if name not in estimator._model_attributes:
            refuse(f"attributes.{name}", "is unknown")
        setattr(estimator, name, value_of_type(form, estimator._model_attributes[name], f"attributes.{name}", refuse))
    estimator.estimate_ = _dataclass(
        _with_reasons(content["model"], refuse), estimator._estimate, "model", refuse, _saved_fields(type(estimator))
    )
    try:
        estimator._check_model()
    except ValueError as error:
        refuse("model", f"cannot be that of a {estimator_type.__name__} ({error})")
    _restore_privacy(estimator, content, refuse)
    estimator._derive()
    estimator._state(estimate_verdict(estimator.estimate_))
    return estimator


def _with_reasons(form: object, refuse: Refuse) -> Mapping[str, object]:
    """The model of a file; older ones have ``reason`` among the numbers, and give missing intervals no short name."""
    model = _mapping(form, "model", refuse)
    numbers, intervals = model.get("numbers"), model.get("intervals")
    if isinstance(numbers, Mapping) and "reason" in numbers:
        rest = {name: number for name, number in numbers.items() if name != "reason"}
        model = {"reason": numbers["reason"], **model, "numbers": rest}
    if isinstance(intervals, Mapping) and isinstance(reason := intervals.get("reason"), str) and reason:
        model = {**model, "intervals": {**intervals, "reason": named_reason(reason)}}
    return model


# Protocols whose model is made of the data of its holder alone.
ALONE = ("active_only", "baseline")


def _restore_privacy(estimator: Estimator, content: Mapping[str, Any], refuse: Refuse) -> None:
    """The ledger, and what follows from it, which must be what is stated."""
    stated = _mapping(content["privacy"], "privacy", refuse)
    try:
        estimator.ledger_ = Ledger([Event.from_row(row) for row in content["ledger"]])
        total = estimator.ledger_.worst_total([name for name, *_ in estimator._places], estimator.unit, estimator.delta)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        refuse("ledger", f"is none ({type(error).__name__}: {error})")
    other_keys = {"seed": str, **SEARCH}
    known = {
        name: value_of_type(stated[name], kind, f"privacy.{name}", refuse)
        for name, kind in other_keys.items()
        if name in stated
    }
    # Nobody has signed the file: whoever changes it may have made rows, too.
    estimator.privacy_ = replace(total, verified=False, **known)
    owners = {name for event in estimator.ledger_.rows for name in event.held_by}
    for name, role, _ in estimator._places if estimator.protocol not in ALONE else ():
        if role and name not in (*owners, content["held_by"]):
            refuse("ledger", f"has no row of {name!r}, whose data protocol {estimator.protocol!r} needs")
    estimator.epsilon_claimed_ = value_of_type(stated.get("epsilon_claimed"), float, "privacy.epsilon_claimed", refuse)
    for name, value in _statement(estimator, content["held_by"]).items():
        # The last digits of an epsilon may be those of another version of scipy.
        stated_value, both = stated.get(name), (stated.get(name), value)
        close = all(isinstance(number, float) for number in both) and isclose(*both, rel_tol=1e-9)  # type: ignore[arg-type]
        if stated_value != value and not close:
            refuse(f"privacy.{name}", f"is {stated.get(name)!r} where the ledger has {value!r}")


def _places(form: object, refuse: Refuse) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    if not isinstance(form, list) or not form:
        refuse("parties", "is not a list of parties")
    places = []
    for k, entry in enumerate(form):
        where = f"parties[{k}]"
        if set(_mapping(entry, where, refuse)) != {"name", "role", "columns"}:
            refuse(where, "has other keys than name, role and columns")
        name, role = (value_of_type(entry[key], str, f"{where}.{key}", refuse) for key in ("name", "role"))
        places.append((name, role, value_of_type(entry["columns"], tuple[int, ...], f"{where}.columns", refuse)))
    return tuple(places)


def _mapping(form: object, where: str, refuse: Refuse) -> dict[str, Any]:
    if not isinstance(form, dict):
        refuse(where, "is not a mapping")
    return cast(dict[str, Any], form)


def _setting(form: object, where: str, refuse: Refuse) -> object:
    """A setting, of which the estimator checks what it is."""
    if isinstance(form, dict):
        if set(form) == {"dtype", "shape", "order", "values"}:
            return _array(form, where, refuse)
        return {name: _setting(entry, f"{where}.{name}", refuse) for name, entry in form.items()}
    if isinstance(form, list):
        return tuple(_setting(entry, f"{where}[{k}]", refuse) for k, entry in enumerate(form))
    return WORDS[form] if isinstance(form, str) and form in WORDS else form


def value_of_type(form: object, hint: Any, where: str, refuse: Refuse) -> Any:
    """A value of a type from its JSON; refused unless it is one."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if form is None and type(None) in arguments:
            return None
        rest = [kind for kind in arguments if kind is not type(None)]
        if len(rest) == 1:
            return value_of_type(form, rest[0], where, refuse)
        kinds = {bool: bool, int: int, float: float, str: str}
        hint = kinds.get(type(form))
        hint = float if hint is int and int not in rest else hint
        if hint not in rest:
            refuse(where, f"is {str(form)[:40]!r}, which is none of {', '.join(kind.__name__ for kind in rest)}")
        return form
    if origin is Literal:
        return (
            form if form in arguments else refuse(where, f"is {str(form)[:40]!r}, which is none of {list(arguments)}")
        )
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        if not isinstance(form, list) or len(form) != len(arguments):
            refuse(where, f"is not a list of {len(arguments)} entries")
        both = zip(cast("list[object]", form), arguments, strict=True)
        return tuple(value_of_type(entry, kind, f"{where}[{k}]", refuse) for k, (entry, kind) in enumerate(both))
    if origin is tuple:
        if not isinstance(form, list):
            refuse(where, "is not a list")
        items = cast("list[object]", form)
        return tuple(value_of_type(entry, arguments[0], f"{where}[{k}]", refuse) for k, entry in enumerate(items))
    if origin in (dict, Mapping):
        pairs = _mapping(form, where, refuse).items()
        return {name: value_of_type(entry, arguments[1], f"{where}.{name}", refuse) for name, entry in pairs}
    if hint is np.ndarray:
        return _array(form, where, refuse)
    if hint is float:
        if isinstance(form, str) and form in WORDS:
            return WORDS[form]
        if type(form) not in (float, int):
            refuse(where, f"is {str(form)[:40]!r}, which is not a number")
        return float(cast(float, form))
    if isinstance(hint, type) and is_dataclass(hint):
        return _dataclass(form, hint, where, refuse)
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        if not isinstance(form, list) or len(form) != len(hint._fields):
            refuse(where, f"is not a list of {', '.join(hint._fields)}")
        entries = zip(cast("list[object]", form), hint._fields, strict=True)
        return hint(*(value_of_type(entry, _hint(hint, name), f"{where}.{name}", refuse) for entry, name in entries))
    return form if type(form) is hint else refuse(where, f"is {str(form)[:40]!r}, which is no {hint.__name__}")


def _dataclass(form: object, kind: type, where: str, refuse: Refuse, names: tuple[str, ...] | None = None) -> Any:
    """A dataclass, or the named fields of it, with the defaults of the others."""
    mapping = _mapping(form, where, refuse)
    known = {field.name: field for field in fields(kind) if names is None or field.name in names}
    for name in mapping:
        if name not in known:
            refuse(f"{where}.{name}", "is unknown")
    for name, field in known.items():
        if name not in mapping and (field.default is MISSING and field.default_factory is MISSING):
            refuse(f"{where}.{name}", "is missing")
    values = {
        name: value_of_type(entry, _hint(kind, name), f"{where}.{name}", refuse) for name, entry in mapping.items()
    }
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        refuse(where, f"cannot be a {kind.__name__} ({error})")


def _hint(kind: type, name: str) -> Any:
    """The type of one field: others may name what only checkers of types import."""
    text = kind.__annotations__[name]
    text = getattr(text, "__forward_arg__", text)
    return eval(text, vars(modules[kind.__module__])) if isinstance(text, str) else text


def _array(form: object, where: str, refuse: Refuse) -> np.ndarray:
    mapping = _mapping(form, where, refuse)
    if set(mapping) != {"dtype", "shape", "order", "values"}:
        refuse(where, "is not an array of dtype, shape, order and values")
    dtype, shape, order, values = (mapping[name] for name in ("dtype", "shape", "order", "values"))
    if dtype not in (
        "U",
        "O",
        "bool",
        "float64",
        "float32",
        "float16",
        *(f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)),
    ):
        refuse(f"{where}.dtype", f"is {str(dtype)[:40]!r}, which is none of numbers or text")
    shape = value_of_type(shape, tuple[int, ...], f"{where}.shape", refuse)
    if not isinstance(values, list) or any(n < 0 for n in shape) or len(values) != int(np.prod(shape, dtype=object)):
        refuse(f"{where}.values", f"are not as many as shape {list(shape)} says")
    if order not in ("C", "F"):
        refuse(f"{where}.order", f"is {str(order)[:40]!r}, which is neither C nor F")
    kind = KINDS[np.dtype(dtype).kind]
    check = partial(value_of_type, hint=kind, refuse=refuse)
    entries = [check(entry, where=f"{where}.values[{k}]") for k, entry in enumerate(values)]
    try:
        return np.array(entries, dtype=dtype).reshape(shape, order=order)
    except (OverflowError, ValueError) as error:
        refuse(f"{where}.values", f"do not fit {dtype} ({error})")
