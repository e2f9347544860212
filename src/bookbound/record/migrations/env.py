"""Runs migrations over the connection, and inside the transaction, that it is given."""

from alembic import context

given = context.config.attributes
context.configure(connection=given["connection"], version_table=given["version_table"])
context.run_migrations()
