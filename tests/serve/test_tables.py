"""Migrations make the tables that the code reads."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from allais.serve import migrations
from allais.serve.store.database import HEAD, Database
from allais.serve.store.tables import metadata


def test_migrations_lead_to_the_tables_of_this_version(database):
    there = Database(database)
    there.migrate()
    there.migrate()  # at the next start nothing is left to do
    with there.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
    there.dispose()
    assert differences == []


def test_a_start_knows_the_last_migration():
    config = Config()
    config.set_main_option("script_location", migrations.__path__[0])
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD
