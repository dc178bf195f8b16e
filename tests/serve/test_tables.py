"""A database has the tables that the code reads, whichever version made it."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from sqlalchemy import inspect, text

from allais.serve.store.database import HEAD, Database
from allais.serve.store.tables import metadata

DATA = Path(__file__).parents[1] / "data" / "0.2.0"


def shape(database):
    """Every column's type and whether it may be empty, and every index, by table."""
    there = inspect(database.engine)
    found = {}
    for table in there.get_table_names():
        columns = {one["name"]: (str(one["type"]), one["nullable"]) for one in there.get_columns(table)}
        indexes = {one["name"]: (one["column_names"], bool(one["unique"])) for one in there.get_indexes(table)}
        found[table] = columns, indexes, there.get_pk_constraint(table)["constrained_columns"]
    return found


def test_a_new_database_has_the_tables_of_this_version(database):
    with closing(Database(database)) as there:
        there.migrate()
        there.migrate()  # at the next start nothing is left to do
        found = shape(there)
        assert there.version() == HEAD
    assert found.keys() - {"alembic_version"} == metadata.tables.keys()
    for table in metadata.sorted_tables:
        columns, indexes, _ = found[table.name]
        assert list(columns) == table.c.keys()
        assert {name: may for name, (_, may) in columns.items()} == {one.name: one.nullable for one in table.c}
        assert {one.name for one in table.indexes} <= indexes.keys()


def test_an_old_database_becomes_what_a_new_one_is(tmp_path):
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.executescript((DATA / "advisor.sql").read_text())
    with closing(Database(str(tmp_path / "old.db"))) as old, closing(Database(str(tmp_path / "new.db"))) as new:
        assert old.version() < HEAD
        old.migrate()
        new.migrate()
        assert shape(old) == shape(new)
        assert old.version() == HEAD


def test_a_start_that_was_cut_off_is_finished_by_the_next(database):
    with closing(Database(database)) as there:
        there.migrate()
        with there.connect() as connection:
            for statement in (
                "DROP TABLE notices", "ALTER TABLE keys DROP COLUMN expires_at",
                "UPDATE alembic_version SET version_num = '0002'",
            ):  # fmt: skip
                connection.execute(text(statement))
            connection.commit()
        there.migrate()
        found = shape(there)
    assert "notices_of_experiment" in found["notices"][1]
    assert "expires_at" in found["keys"][0]


def test_two_processes_may_make_a_database_at_once(database):
    several = [Database(database) for _ in range(4)]
    with ThreadPoolExecutor(len(several)) as pool:
        list(pool.map(Database.migrate, several))
    for one in several:
        assert one.version() == HEAD
        one.dispose()
