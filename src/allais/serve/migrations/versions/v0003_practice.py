"""What practice asked for: checksums of rows, a clock that does not jump, keys that end, where a person was fitted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add columns; rows of older versions have nothing in them."""
    op.add_column("people", sa.Column("fitted_in", sa.Text))
    for table in ("experiments", "events", "snapshots"):
        op.add_column(table, sa.Column("checksum", sa.BigInteger))
    op.add_column("decisions", sa.Column("clock", sa.Double))
    op.add_column("keys", sa.Column("expires_at", sa.Double))
    op.add_column("keys", sa.Column("experiments", sa.Text))
