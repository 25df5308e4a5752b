"""All described tables by name; standard library only."""

from __future__ import annotations

from . import adult, azpro, doctor_visits, hmda, injury, nhefs, nmes

TABLES = {
    table.name: table
    for table in (
        injury.TABLE,
        injury.WITH_COSTS,
        hmda.TABLE,
        nmes.TABLE,
        doctor_visits.TABLE,
        nhefs.TABLE,
        azpro.TABLE,
        adult.TABLE,
    )
}
