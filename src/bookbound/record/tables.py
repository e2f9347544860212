"""The tables of the log: the contract's two, and beside them what the author's report needs."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, Float, ForeignKey, Integer, MetaData, String, Table, Text, Uuid

metadata = MetaData()

sessions = Table(
    "query_sessions",
    metadata,
    Column("session_id", Uuid, primary_key=True),
    Column("created_at", DateTime),
    Column("user_ip", String(45)),
    Column("query_count", Integer),
    Column("last_query_at", DateTime),
)

queries = Table(
    "queries",
    metadata,
    Column("query_id", Uuid, primary_key=True),
    Column("session_id", Uuid, ForeignKey("query_sessions.session_id")),
    Column("query_text", Text, nullable=False),
    Column("selected_text_length", Integer),
    Column("mode", String(20), nullable=False),
    Column("status", String(20), nullable=False),
    Column("refusal_reason", Text),
    Column("chunks_retrieved", Integer),
    Column("top_chunk_score", Float),
    Column("processing_time_ms", Integer),
    Column("created_at", DateTime),
)

chapters = Table(
    "query_chapters",
    metadata,
    Column("query_id", Uuid, ForeignKey("queries.query_id", ondelete="CASCADE"), primary_key=True),
    Column("chapter", Text, primary_key=True),
)

volumes = Table(
    "query_volumes",
    metadata,
    Column("query_id", Uuid, ForeignKey("queries.query_id", ondelete="CASCADE"), primary_key=True),
    Column("book", Text, nullable=False),
    Column("edition", Text, nullable=False),
)

losses = Table(
    "query_losses",
    metadata,
    Column("loss_id", Uuid, primary_key=True),
    Column("lost", Integer, nullable=False),
    Column("created_at", DateTime, nullable=False),
)
