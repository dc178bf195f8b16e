"""Notices: what webhooks are told, until they have taken it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make their table."""
    op.create_table(
        "notices",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("experiment", sa.Integer, sa.ForeignKey("experiments.id"), nullable=False),
        sa.Column("hook", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("word", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("due_at", sa.Double),
        sa.Column("error", sa.Text),
    )
    op.create_index("notices_of_experiment", "notices", ["experiment"])
