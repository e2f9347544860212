"""Creates the contract's two tables with their checks and indexes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0001", None
RANDOM = {"postgresql": "gen_random_uuid()", "sqlite": "(lower(hex(randomblob(16))))"}


def upgrade() -> None:
    new = sa.text(RANDOM[op.get_context().dialect.name])
    op.create_table(
        "query_sessions",
        sa.Column("session_id", sa.Uuid, primary_key=True, server_default=new),
        sa.Column("created_at", sa.TIMESTAMP, server_default=sa.func.now()),
        sa.Column("user_ip", sa.String(45)),
        sa.Column("query_count", sa.Integer, server_default=sa.text("0")),
        sa.Column("last_query_at", sa.TIMESTAMP),
    )
    op.create_table(
        "queries",
        sa.Column("query_id", sa.Uuid, primary_key=True, server_default=new),
        sa.Column("session_id", sa.Uuid, sa.ForeignKey("query_sessions.session_id", name="queries_session_id_fkey")),
        sa.Column("query_text", sa.Text, nullable=False),
        sa.Column("selected_text_length", sa.Integer),
        sa.Column("mode", sa.String(20), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("refusal_reason", sa.Text),
        sa.Column("chunks_retrieved", sa.Integer),
        sa.Column("top_chunk_score", sa.Float),
        sa.Column("processing_time_ms", sa.Integer),
        sa.Column("created_at", sa.TIMESTAMP, server_default=sa.func.now()),
        sa.CheckConstraint("mode IN ('standard_rag', 'selected_text_only')", name="queries_mode_check"),
        sa.CheckConstraint("status IN ('success', 'refused', 'error')", name="queries_status_check"),
    )
    op.create_index("idx_sessions_ip_created", "query_sessions", ["user_ip", "created_at"])
    op.create_index("idx_queries_status", "queries", ["status", "created_at"])
    op.create_index("idx_queries_session", "queries", ["session_id"])


def downgrade() -> None:
    op.drop_table("queries")
    op.drop_table("query_sessions")
