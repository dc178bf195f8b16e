"""Migrations make the tables that the code reads."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from allais.serve import migrations
from allais.serve.store.database import HEAD, Database
from allais.serve.store.tables import metadata

DATA = Path(__file__).parents[1] / "data"


def differences(address: str) -> list[object]:
    there = Database(address)
    there.migrate()
    there.migrate()  # at the next start nothing is left to do
    with there.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), metadata)
    there.dispose()
    return list(found)


def test_a_new_database_has_the_tables_of_this_version(database):
    assert differences(database) == []


def test_a_first_start_that_ends_halfway_leaves_nothing(tmp_path, monkeypatch):
    place = str(tmp_path / "advisor.db")
    with monkeypatch.context() as broken, closing(Database(place)) as first:
        broken.setattr("alembic.command.stamp", interrupted)
        with pytest.raises(KeyboardInterrupt):
            first.migrate()
    assert differences(place) == []


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_migrations_lead_to_the_tables_of_this_version(tmp_path):
    place = tmp_path / "advisor.db"
    with closing(sqlite3.connect(place)) as connection:
        connection.executescript((DATA / "0.2.0" / "advisor.sql").read_text())
    assert differences(str(place)) == differences(str(tmp_path / "new.db")) == []
    assert definitions(place) == definitions(tmp_path / "new.db")


def definitions(place: Path) -> dict[str, set[tuple[str, str, bool]]]:
    """The columns of each table, and its indices, as SQLite says them."""
    with closing(sqlite3.connect(place)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {
            name: {(row[1], row[2], bool(row[3])) for row in connection.execute(f"PRAGMA table_info({name})")}
            for name in names
        }
        indices = connection.execute("SELECT name, sql, 1 FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        return {**columns, "indices": set(indices)}


def test_a_start_knows_the_last_migration():
    config = Config()
    config.set_main_option("script_location", migrations.__path__[0])
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD
