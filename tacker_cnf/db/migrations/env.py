"""Run by alembic; the connection comes from db.schema."""

from alembic import context

from tacker_cnf.db import models

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=models.Base.metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
