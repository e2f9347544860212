"""Runs the migrations on the connection and in the transaction of the caller."""

from __future__ import annotations

from alembic import context

given = context.config.attributes
context.configure(connection=given["connection"], version_table=given["version_table"])
context.run_migrations()
