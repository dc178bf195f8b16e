"""The first tables. No database begins with them any more: a new one gets the tables of this version at once."""

from __future__ import annotations

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Change nothing: whatever is of this version has its tables."""
