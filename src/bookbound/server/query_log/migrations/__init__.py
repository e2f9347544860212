"""Contains the Alembic migrations of the query log."""
