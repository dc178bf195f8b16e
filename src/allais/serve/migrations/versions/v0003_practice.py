"""Checksums, a clock, keys that expire, the choices that a person was fitted to, links to interviews."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add columns, in which rows of older versions have nothing, and a table."""
    op.add_column("people", sa.Column("fitted_in", sa.Text))
    for table in ("experiments", "events", "snapshots"):
        op.add_column(table, sa.Column("checksum", sa.BigInteger))
    op.add_column("decisions", sa.Column("clock", sa.Double))
    op.add_column("keys", sa.Column("expires_at", sa.Double))
    op.add_column("keys", sa.Column("experiments", sa.Text))
    op.create_table(
        "interview_links",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("interview", sa.Text, sa.ForeignKey("interviews.id"), nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("revoked_at", sa.Double),
    )
