"""What Alembic runs: the steps that a database lacks, in one transaction."""

from __future__ import annotations

from alembic import context

from allais.serve.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
