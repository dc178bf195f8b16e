"""Moments: what arms felt like after so many outcomes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make their table."""
    op.create_table(
        "moments",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("experiment", sa.Integer, sa.ForeignKey("experiments.id"), nullable=False),
        sa.Column("outcomes", sa.BigInteger, nullable=False),
        sa.Column("sure", sa.Text, nullable=False),
    )
    op.create_index("moments_of_experiment", "moments", ["experiment"])
