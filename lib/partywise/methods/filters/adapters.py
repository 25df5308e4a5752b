"""The certified filter as a mod of Flower and as a filter of NVFlare, which are imported when they are asked for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import AccountError, BudgetExceeded
from .certified import CertifiedFilter, require_account
from .updates import public_numbers, reasons

if TYPE_CHECKING:
    from flwr.app import ArrayRecord, Context, Message
    from flwr.clientapp.typing import Mod

    from .dxo import CertifiedDXOFilter

LOG = logging.getLogger("partywise")
Arrays = Mapping[str, np.ndarray]
# Names of the records of a reply by Flower's own conventions, those of its older clients among them.
FLOWER_RECORDS = frozenset(
    {
        *("arrays", "config", "metrics"),
        *("fitres.parameters", "fitres.num_examples", "fitres.metrics", "fitres.status"),
        *("evaluateres.loss", "evaluateres.num_examples", "evaluateres.metrics", "evaluateres.status"),
        *("getparametersres.parameters", "getparametersres.status"),
        *("getpropertiesres.properties", "getpropertiesres.status"),
    }
)


def flower_mod(
    filter: CertifiedFilter | Callable[[Context], CertifiedFilter], public: Mapping[str, str] | None = None
) -> Mod:
    """A mod of Flower: of every reply only the certified sum of model and update leaves, and what is named as public.

    Parameters
    ----------
    filter : CertifiedFilter, or a function of Flower's ``Context`` that makes one
        Of unit ``user``, with an account on disk. Sites that run the same app have their own owner and account: take
        them from ``context.node_config``.
    public : mapping of str to str, optional
        Names of metrics, settings and arrays of replies that pass as they are, each with the argument why they reveal
        nothing of the data; and names of records that are neither received nor `FLOWER_RECORDS`. Metrics and settings
        pass if they are numbers, and texts as empty ones. All others are dropped; so are the codes and texts of errors.

    Returns
    -------
    callable
        For ``ClientApp(mods=[...])``: directly after ``secaggplus_mod``, before every other mod, since the first in the
        list is the last to see a reply. It serves messages of all types.

    Raises
    ------
    ValueError
        If the filter counts in memory, or is of another unit than ``user``, or ``public`` gives no argument.

    Notes
    -----
    The update is the difference of the arrays in the reply and those that were received, under the same names and in
    the same shapes, types and order. A reply with others, and one beyond the budget, becomes an error without data:
    that a client trains and fails is not hidden. Plain strategies of Flower weigh replies by a
    metric ``num-examples``: let the client reply 1, and name it as public. Replies of the older `NumPyClient` need
    ``num_examples``, ``code`` and ``message``. SecAgg+ cuts what it masks to its ``clipping_range``: take one of some
    six ``sigma``.

    Written for Flower 1.42.
    """
    named = reasons(public)
    if isinstance(filter, CertifiedFilter):
        require_account(filter)

    def mod(message: Message, context: Context, call_next: Callable[[Message, Context], Message]) -> Message:
        from flwr.app import Array, ArrayRecord, Error, RecordDict
        from flwr.app import Message as Reply
        from flwr.common.constant import ErrorCode

        def refuse(code: int, reason: str) -> Message:
            return Reply(Error(code, reason), reply_to=message)

        try:
            # Before the app has it: what is read here is what was sent.
            received = [_arrays(record) for record in message.content.array_records.values()]
            record_names = {*message.content, *named, *FLOWER_RECORDS}
            reply = call_next(message, context)
        except Exception:
            LOG.exception("the app of this site failed; the server hears that it did, and nothing else.")
            return refuse(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, "the app failed: see the log of the site")
        if reply.has_error():
            return refuse(
                ErrorCode.CLIENT_APP_RAISED_EXCEPTION, "the app replied with an error: see the log of the site"
            )
        try:
            site_filter = filter if isinstance(filter, CertifiedFilter) else require_account(filter(context))
            content, trained = RecordDict(), len(reply.content.array_records)
            if trained > 1 or (trained and len(received) != 1):
                raise ValueError(f"{len(received)} records of arrays came and {trained} go back: send one for one.")
            if unknown := [key for key in reply.content.array_records if key not in record_names]:
                raise ValueError(f"records {unknown} of arrays are neither received nor named in public.")
            # In one order, whatever the order of the reply is, and refused before a release is paid.
            records = sorted(item for item in reply.content.items() if item[0] in record_names)
            numbers = {
                key: type(record)(public_numbers(record, named, texts=True))
                for key, record in records
                if not isinstance(record, ArrayRecord)
            }
            for key, record in records:
                content[key] = numbers.get(key, record)
                if isinstance(record, ArrayRecord):
                    arrays = _move_model(site_filter, named, received[0], _arrays(record))
                    content[key] = ArrayRecord({name: Array(array) for name, array in arrays.items()})
            return Reply(content, reply_to=message)
        except Exception as error:
            LOG.exception("a reply was not released; the server hears that it was not, and nothing else.")
            detail = (
                type(error).__name__ if isinstance(error, BudgetExceeded | AccountError) else "see the log of the site"
            )
            return refuse(ErrorCode.MOD_FAILED_PRECONDITION, f"not released: {detail}")

    return mod


def dxo_filter(
    filter: CertifiedFilter, model: Mapping[str, ArrayLike], public: Mapping[str, str] | None = None
) -> CertifiedDXOFilter:
    """A filter of NVFlare for task results: of a weight difference only its certified release leaves.

    Parameters
    ----------
    filter : CertifiedFilter
        Of unit ``user``, with an account on disk, whose path is one of the site.
    model : mapping of str to array_like
        Arrays with the names, shapes and types of the model, in its order: those that a result has and no others.
        Their values are not read.
    public : mapping of str to str, optional
        Names of arrays and of properties (``meta``) that pass as they are, each with the argument why they show nothing
        of the data, such as ``NUM_STEPS_CURRENT_ROUND``. All others are dropped. A property that is not a number
        raises.

    Returns
    -------
    CertifiedDXOFilter
        For ``job.to(..., filter_type=FilterType.TASK_RESULT, tasks=["train"])``, or in ``local/privacy.json`` of a site
        under its path and arguments.

    Raises
    ------
    ValueError
        If the filter counts in memory, or is of another unit than ``user``, or ``public`` gives no argument.
    ImportError
        Without NVFlare.

    Notes
    -----
    A result that is not a DXO of kind ``WEIGHT_DIFF``, such as weights, raises: NVFlare then replies that a filter
    failed, and sends nothing. So does a result with other arrays than the model. A result whose return code is not OK
    keeps its code alone, and a code that is not a constant of NVFlare becomes ``EXECUTION_EXCEPTION``. Written for
    NVFlare 2.9.
    """
    from .dxo import CertifiedDXOFilter

    require_account(filter)
    settings = {name: getattr(filter, name) for name in ("clip", "mu", "unit", "epsilon", "delta", "owner")}
    arrays = {name: np.asarray(array) for name, array in model.items()}
    stated = {name: [array.dtype.name, *array.shape] for name, array in arrays.items()}
    return CertifiedDXOFilter(**settings, account=str(filter.account), arrays=stated, public=dict(reasons(public)))


def _arrays(record: ArrayRecord) -> Arrays:
    """The arrays of a record of Flower, by name."""
    return {name: array.numpy() for name, array in record.items()}


def _move_model(
    site_filter: CertifiedFilter, public: Mapping[str, str], old: Arrays, new: Arrays
) -> dict[str, np.ndarray]:
    """Return the received arrays, moved by the released update; ValueError if names, shapes or types differ."""
    if set(old) != set(new):
        raise ValueError(f"arrays {sorted(new)} are sent back where {sorted(old)} were received: keep their names.")
    update = dict[str, np.ndarray]()
    for name, array in old.items():
        if new[name].shape != array.shape:
            raise ValueError(f"array {name!r} of shape {array.shape} is sent back in another one: keep its shape.")
        if name in public and new[name].dtype != array.dtype:
            raise ValueError(f"array {name!r} of type {array.dtype} is sent back in another one: keep its type.")
        difference = name not in public and {array.dtype.kind, new[name].dtype.kind} == {"f"}
        update[name] = np.subtract(new[name], array, dtype=float) if difference else new[name]
    noisy = site_filter.arrays(update, public=public)
    with np.errstate(over="ignore"):
        return {
            name: noisy[name] if name in public else np.asarray(array + noisy[name]).astype(array.dtype)
            for name, array in old.items()
        }
