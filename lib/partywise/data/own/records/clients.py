"""Rows of clients, of a file each or of one with a column that names them: complete, and at most so many a person."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from ....core.errors import DataMissing
from ..csv import TextTable, nearest
from ..grammar import twice
from .load import check_count, complete, open_table, record_names, select_rows
from .persons import bounded, one_client_each
from .settings import OwnClients

LOG = logging.getLogger("partywise")


def client_rows(settings: OwnClients, texts: Mapping[str, bytes]) -> list[TextTable]:
    """Complete rows of every client, at most so many a person.

    DataMissing for a file of two clients: at machines of their own they may have files of one name.
    """
    if (file := twice([block.file for block in settings.tables])) is not None:
        raise DataMissing(f"tables has the file {file!r} twice: its records would count at two clients.")
    whole = []
    for block in settings.tables or (None,):
        id = settings.id_of(block)
        table = complete(open_table(settings, block, texts, settings.file), settings.columns_read(id), settings)
        record_names(table, id, several=False)
        whole.append(table)
    clients = whole if settings.tables else _split_by_party(whole[0], settings)
    if settings.user is not None:
        one_client_each([client.column(settings.user) for client in clients], settings.party_names, settings.user)
    return [bounded(client, settings) for client in clients]


def count_rows(clients: Sequence[TextTable], settings: OwnClients) -> None:
    """DataMissing for fewer records of all clients than the settings ask for; the log has their number."""
    total = sum(len(client.rows) for client in clients)
    LOG.info("records: %d of %d clients", total, len(clients))
    check_count(total, settings)


def client_ids(clients: Sequence[TextTable], settings: OwnClients) -> list[str]:
    """Names of the records, after the name of the client if two clients use one name."""
    keys, several = settings.id_names, len(settings.files) > 1
    names = [record_names(client, id, several=several) for client, id in zip(clients, keys, strict=True)]
    ids = [text for part in names for text in part]
    if len(set(ids)) == len(ids):
        return ids
    return [f"{name}: {text}" for name, part in zip(settings.party_names, names, strict=True) for text in part]


def _split_by_party(whole: TextTable, settings: OwnClients) -> list[TextTable]:
    """The rows of each client of one file."""
    assert settings.party is not None
    texts = whole.column(settings.party)
    check_parties(whole, texts, settings)
    return [select_rows(whole, [i for i, text in enumerate(texts) if text == name]) for name in settings.parties]


def check_parties(table: TextTable, texts: Sequence[str], settings: OwnClients) -> None:
    """DataMissing for a row of a client that is not listed."""
    for text, line in zip(texts, table.lines, strict=True):
        if text not in settings.parties:
            raise DataMissing(
                f"{table.file}: {settings.party} is {text!r} in row {line}: "
                f"{nearest(text, settings.parties, 'parties are')}; correct it, or list it under parties."
            )
