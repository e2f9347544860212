"""The tables match the contract in both databases, and every step can be undone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import inspect, text
from tests.server.query_log.conftest import Rows
from tests.server.query_log.factories import make_entry, make_repository
from tests.servers.backend_servers import Postgres

from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ConfigError
from bookbound.server.query_log import schema
from bookbound.server.query_log.database import QueryLogDatabase

# Copied from the contract.
CONTRACT = """
CREATE TABLE query_sessions (
  session_id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
  created_at TIMESTAMP DEFAULT NOW(),
  user_ip VARCHAR(45),
  query_count INTEGER DEFAULT 0,
  last_query_at TIMESTAMP
);
CREATE TABLE queries (
  query_id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
  session_id UUID REFERENCES query_sessions(session_id),
  query_text TEXT NOT NULL,
  selected_text_length INTEGER,
  mode VARCHAR(20) NOT NULL CHECK (mode IN ('standard_rag', 'selected_text_only')),
  status VARCHAR(20) NOT NULL CHECK (status IN ('success', 'refused', 'error')),
  refusal_reason TEXT,
  chunks_retrieved INTEGER,
  top_chunk_score FLOAT,
  processing_time_ms INTEGER,
  created_at TIMESTAMP DEFAULT NOW()
);
CREATE INDEX idx_sessions_ip_created ON query_sessions(user_ip, created_at);
CREATE INDEX idx_queries_status ON queries(status, created_at);
CREATE INDEX idx_queries_session ON queries(session_id);
"""
CONTRACT_TABLES = ("queries", "query_sessions")
TABLES = str(CONTRACT_TABLES)
CATALOGUE = (
    "SELECT table_name, ordinal_position, column_name, data_type, character_maximum_length, is_nullable, "
    f"column_default FROM information_schema.columns WHERE table_name IN {TABLES} ORDER BY 1, 2",
    f"SELECT indexdef FROM pg_indexes WHERE tablename IN {TABLES} ORDER BY 1",
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN "
    "('queries'::regclass, 'query_sessions'::regclass) ORDER BY 1, 2",
)


def test_the_tables_in_postgresql_match_the_contract_exactly(server: Postgres, tmp_path: Path) -> None:
    expected_url, actual_url = server.database(), server.database()
    server.sql(CONTRACT, expected_url)
    database = QueryLogDatabase(actual_url, tmp_path)
    schema.migrate(database)
    database.close()
    for query in CATALOGUE:
        expected = server.sql(query, expected_url)
        assert expected
        assert server.sql(query, actual_url) == expected


def test_the_tables_in_sqlite_have_the_same_columns_and_indexes(tmp_path: Path) -> None:
    database = QueryLogDatabase(None, tmp_path)
    schema.migrate(database)
    with database.read() as connection:
        tables = inspect(connection)
        assert {
            name: [each["name"] for each in tables.get_columns(name)] for name in ("query_sessions", "queries")
        } == {
            "query_sessions": ["session_id", "created_at", "user_ip", "query_count", "last_query_at"],
            "queries": [
                "query_id",
                "session_id",
                "query_text",
                "selected_text_length",
                "mode",
                "status",
                "refusal_reason",
                "chunks_retrieved",
                "top_chunk_score",
                "processing_time_ms",
                "created_at",
            ],
        }
        indexes = {each["name"]: each["column_names"] for name in CONTRACT_TABLES for each in tables.get_indexes(name)}
        assert indexes == {
            "idx_sessions_ip_created": ["user_ip", "created_at"],
            "idx_queries_status": ["status", "created_at"],
            "idx_queries_session": ["session_id"],
        }
    database.close()


@pytest.mark.parametrize(
    "values", ["'q', 'x', 'success'", "'q', 'standard_rag', 'x'", "NULL, 'standard_rag', 'success'"]
)
def test_invalid_values_are_rejected(database: QueryLogDatabase, values: str) -> None:
    schema.migrate(database)
    with pytest.raises(Exception, match="rejects"), database.begin() as connection:
        connection.execute(text(f"INSERT INTO queries (query_text, mode, status) VALUES ({values})"))


def test_id_and_time_have_defaults(database: QueryLogDatabase, rows: Rows) -> None:
    schema.migrate(database)
    with database.begin() as connection:
        connection.execute(text("INSERT INTO queries (query_text, mode, status) VALUES ('q', 'standard_rag', 'error')"))
    (row,) = rows("SELECT * FROM queries")
    assert row["query_id"]
    assert row["created_at"]


def test_every_step_can_be_undone_and_repeated(database: QueryLogDatabase) -> None:
    def tables() -> set[str]:
        with database.read() as connection:
            return set(inspect(connection).get_table_names()) - {schema.version_table.name}

    assert schema.migrate(database) == schema.NO_TABLES
    everything = tables()
    books_and_votes = {"query_volumes", "query_votes"}
    assert everything == {"queries", "query_sessions", "query_chapters", "query_losses"} | books_and_votes
    assert schema.migrate(database) == schema.LATEST_STEP
    assert schema.migrate(database, "0002") == schema.LATEST_STEP
    assert tables() == everything - books_and_votes
    assert schema.migrate(database, "0001") == "0002"
    assert tables() == {"queries", "query_sessions"}
    assert schema.migrate(database, schema.NO_TABLES) == "0001"
    assert tables() == set()
    assert schema.migrate(database) == schema.NO_TABLES
    assert tables() == everything


def test_a_downgrade_keeps_the_questions(url: str, tmp_path: Path, database: QueryLogDatabase, rows: Rows) -> None:
    repository = make_repository(url, tmp_path)
    repository.write([make_entry(chapters=("Gaits",), book_ref=BookRef("robots"))])
    repository.close()
    schema.migrate(database, "0001")
    schema.migrate(database)
    assert rows("SELECT query_text FROM queries") == [{"query_text": "What is a gait?"}]
    assert rows("SELECT * FROM query_chapters") == rows("SELECT * FROM query_volumes") == []


def test_an_upgrade_keeps_everything(url: str, tmp_path: Path, database: QueryLogDatabase, rows: Rows) -> None:
    schema.migrate(database, "0002")
    with database.begin() as connection:
        query_id = UUID(int=7).hex
        connection.execute(
            text(
                "INSERT INTO queries (query_id, query_text, mode, status) VALUES (:id, 'old', 'standard_rag', 'error')"
            ),
            {"id": query_id},
        )
        connection.execute(text("INSERT INTO query_chapters VALUES (:id, 'Gaits')"), {"id": query_id})
    repository = make_repository(url, tmp_path)
    repository.write([make_entry("new", book_ref=BookRef("robots", "2.0"))])
    repository.close()
    query = "SELECT query_text, book, edition FROM queries LEFT JOIN query_volumes USING (query_id) ORDER BY 1"
    assert rows(query) == [
        {"query_text": "new", "book": "robots", "edition": "2.0"},
        {"query_text": "old", "book": None, "edition": None},
    ]
    assert len(rows("SELECT * FROM query_chapters")) == 1


def test_a_failed_migration_changes_nothing(database: QueryLogDatabase) -> None:
    with database.begin() as connection:
        connection.execute(text("CREATE TABLE query_losses (other INTEGER)"))
    with pytest.raises(Exception, match="log"):
        schema.migrate(database)
    with database.read() as connection:
        assert inspect(connection).get_table_names() == ["query_losses"]


def test_a_log_of_a_newer_version_is_refused(database: QueryLogDatabase, url: str, tmp_path: Path) -> None:
    schema.migrate(database)
    with database.begin() as connection:
        connection.execute(text("UPDATE query_log_version SET version_num = '0999'"))
    repository = make_repository(url, tmp_path)
    for attempt in (lambda: schema.migrate(database), lambda: repository.write([make_entry()])):
        with pytest.raises(ConfigError, match=r"newer version of Bookbound made the query log \(step 0999"):
            attempt()
    repository.close()


def test_tables_of_another_program_are_refused(database: QueryLogDatabase) -> None:
    with database.begin() as connection:
        connection.execute(text("CREATE TABLE queries (other INTEGER)"))
    with pytest.raises(ConfigError, match="does not belong to Bookbound"):
        schema.migrate(database)


def test_an_unknown_step_is_an_error(database: QueryLogDatabase) -> None:
    with pytest.raises(ConfigError, match=r"There is no step 0815\. Choose one of: nothing, 0001, 0002, 0003, 0004"):
        schema.migrate(database, "0815")


def test_processes_that_start_together_migrate_once(url: str, tmp_path: Path, rows: Rows) -> None:
    script = f"""
from pathlib import Path
from bookbound.server.query_log import schema
from bookbound.server.query_log.database import QueryLogDatabase
schema.migrate(QueryLogDatabase({url!r}, Path({str(tmp_path)!r})))
"""
    processes = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(4)]
    assert [process.wait(timeout=60) for process in processes] == [0] * 4
    assert rows("SELECT * FROM query_log_version") == [{"version_num": schema.LATEST_STEP}]
