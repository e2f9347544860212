"""Adds the tables for cited chapters and for lost entries."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0002", "0001"


def upgrade() -> None:
    query = sa.ForeignKey("queries.query_id", name="query_chapters_query_id_fkey", ondelete="CASCADE")
    op.create_table(
        "query_chapters",
        sa.Column("query_id", sa.Uuid, query, primary_key=True),
        sa.Column("chapter", sa.Text, primary_key=True),
    )
    op.create_table(
        "query_losses",
        sa.Column("loss_id", sa.Uuid, primary_key=True),
        sa.Column("lost", sa.Integer, nullable=False),
        sa.Column("created_at", sa.TIMESTAMP, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("query_losses")
    op.drop_table("query_chapters")
