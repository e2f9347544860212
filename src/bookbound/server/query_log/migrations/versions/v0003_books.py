"""Adds the table for the book and edition of each question."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0003", "0002"


def upgrade() -> None:
    query = sa.ForeignKey("queries.query_id", name="query_volumes_query_id_fkey", ondelete="CASCADE")
    op.create_table(
        "query_volumes",
        sa.Column("query_id", sa.Uuid, query, primary_key=True),
        sa.Column("book", sa.Text, nullable=False),
        sa.Column("edition", sa.Text, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("query_volumes")
