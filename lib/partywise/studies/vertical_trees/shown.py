"""What the example fits show of tables: functions of single columns, with the noise of one step."""

from __future__ import annotations

import numpy as np

from ...trees.model import Ensemble

Arrays = dict[str, tuple[tuple[str, ...], np.ndarray]]


def shown_tables(ensemble: Ensemble) -> Arrays:
    """Columns, cuts, values and noise of the tables of a model, padded by NaN; nothing where it has none.

    table_column : (table,); table_edges, table_values, table_noise : (table, bucket), an edge is the right end of its
        bucket
    """
    if not ensemble.tables:
        return {}
    shape = len(ensemble.tables), max(len(table.values) for table in ensemble.tables)
    edges, values, noise = np.full((3, *shape), np.nan)
    for row, table in enumerate(ensemble.tables):
        edges[row, : len(table.edges)] = table.edges
        values[row, : len(table.values)] = table.values
        if table.noise is not None:
            noise[row, : len(table.noise)] = table.noise
    columns = np.array([table.feature for table in ensemble.tables], dtype=float)
    both = ("table", "bucket")
    found: Arrays = {"table_edges": (both, edges), "table_values": (both, values), "table_noise": (both, noise)}
    return {"table_column": (("table",), columns)} | found
