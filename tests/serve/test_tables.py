"""Migrations make the tables that the code reads."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from allais.serve.database import Database
from allais.serve.tables import metadata


def test_migrations_lead_to_the_tables_of_this_version(database):
    there = Database(database)
    there.migrate()
    there.migrate()  # at the next start nothing is left to do
    with there.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
    there.dispose()
    assert differences == []
