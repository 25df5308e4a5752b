"""Accounts that their owner wrote anew, with all digests right: ten lines that use the library's own functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from partywise.federation.account.chain import GENESIS, Row, line_of

Fields = dict[str, Any]


def rewritten(rows: Sequence[Row], edit: Callable[[Row, Fields], Fields], *, heads: bool = True) -> bytes:
    """The lines of an account, or of a run in it, after an edit; ``heads``: with the own head made anew as well."""
    lines, digest = b"", GENESIS
    for row in rows:
        fields = edit(row, dict(row.fields))
        if row.kind == "heads" and heads:
            party = rows[0].fields["party"]
            own = {**fields["heads"][party], "digest": digest}
            fields = {"heads": {**fields["heads"], party: own}}
        line, again = line_of(row.number, digest, row.kind, row.run, fields)
        lines, digest = lines + line, again.digest
    return lines


def cheaper(event: Mapping[str, Any], factor: float = 0.1) -> Fields:
    """An event that costs a tenth."""
    distributions = {name: factor * event[name] for name in ("mu", "epsilon", "rho") if event[name] is not None}
    return {**event, **distributions}


def paid_less(row: Row, fields: Fields) -> Fields:
    """Every payment costs a tenth."""
    return {"event": cheaper(fields["event"])} if row.kind == "paid" else fields


def sent_less(row: Row, fields: Fields) -> Fields:
    """Every release that was sent costs a tenth."""
    return fields | {"payload": _cheaper_form(fields["payload"])} if row.kind == "sent" else fields


def _cheaper_form(form: Fields) -> Fields:
    parts = [_cheaper_form(part) for part in form["made_of"]] if form.get("made_of") else form.get("made_of")
    made = form if parts is None else form | {"made_of": parts}
    return made | {"event": cheaper(form["event"])} if "event" in form else made


def both_less(row: Row, fields: Fields) -> Fields:
    """Payments and messages agree on a tenth of their cost."""
    return sent_less(row, paid_less(row, fields))


def sent_as_public(row: Row, fields: Fields) -> Fields:
    """No release was sent, and what was paid was for nothing."""
    if row.kind != "sent" or "event" not in fields["payload"]:
        return fields
    public = {"kind": "Public", "value": None, "made_of": [], "because": "a setting"}
    return fields | {"payload": public}
