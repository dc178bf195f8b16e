"""What practice asked for: where a person's preference was fitted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add what is new."""
    op.add_column("people", sa.Column("fitted_in", sa.Text))
