"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "experiments",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.create_table(
        "events",
        _of_experiment(),
        sa.Column("seq", sa.BigInteger, primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "snapshots",
        _of_experiment(),
        sa.Column("seq", sa.BigInteger, primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "arms",
        _of_experiment(),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("in_play", sa.Boolean, nullable=False),
        sa.Column("changed_at", sa.Double, nullable=False),
    )
    op.create_table(
        "decisions",
        _of_experiment(),
        sa.Column("number", sa.BigInteger, primary_key=True),
        sa.Column("arm", sa.Text, nullable=False),
        sa.Column("person", sa.Text),
        sa.Column("key", sa.Text),
        sa.Column("asked_at", sa.Double, nullable=False),
        sa.Column("propensity", sa.Double),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("outcome", sa.Double),
        sa.Column("closed_at", sa.Double),
        sa.Column("closing_key", sa.Text),
        sa.Column("detail", sa.Text),
        sqlite_with_rowid=False,
    )
    _partial("decisions_by_key", ["experiment", "key"], "key IS NOT NULL", unique=True)
    _partial("decisions_that_are_open", ["experiment", "number"], "state = 'open'", unique=False)
    op.create_table(
        "imports",
        _of_experiment(),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("outcomes", sa.Integer, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_table(
        "preferences",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False, unique=True),
        sa.Column("document", sa.Text, nullable=False),
    )
    op.create_table(
        "people",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("preference", sa.Integer, sa.ForeignKey("preferences.id"), nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("changed_at", sa.Double, nullable=False),
    )
    op.create_table(
        "interviews",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("person", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("events", sa.Text, nullable=False),
        sa.Column("changed_at", sa.Double, nullable=False),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("revoked_at", sa.Double),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )


def _of_experiment() -> sa.Column[int]:
    return sa.Column("experiment", sa.Integer, sa.ForeignKey("experiments.id"), primary_key=True)


def _partial(name: str, columns: list[str], where: str, *, unique: bool) -> None:
    some = sa.text(where)
    op.create_index(name, "decisions", columns, unique=unique, sqlite_where=some, postgresql_where=some)
