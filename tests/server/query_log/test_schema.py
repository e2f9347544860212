"""The tables are the contract's, in both databases, and every step has its way back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from evals.load.services import Postgres
from sqlalchemy import inspect, text
from tests.server.query_log.conftest import Rows
from tests.server.query_log.entries import entry, ledger

from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ConfigError
from bookbound.server.query_log import schema
from bookbound.server.query_log.database import QueryLogDatabase

# As the contract has it.
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
TABLES = "('queries', 'query_sessions')"
CATALOGUE = (
    "SELECT table_name, ordinal_position, column_name, data_type, character_maximum_length, is_nullable, "
    f"column_default FROM information_schema.columns WHERE table_name IN {TABLES} ORDER BY 1, 2",
    f"SELECT indexdef FROM pg_indexes WHERE tablename IN {TABLES} ORDER BY 1",
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN "
    "('queries'::regclass, 'query_sessions'::regclass) ORDER BY 1, 2",
)


def test_in_postgresql_the_tables_are_the_contracts_to_the_last_default(server: Postgres, tmp_path: Path) -> None:
    theirs, ours = server.database(), server.database()
    server.sql(CONTRACT, theirs)
    made = QueryLogDatabase(ours, tmp_path)
    schema.migrate(made)
    made.close()
    for query in CATALOGUE:
        wanted = server.sql(query, theirs)
        assert wanted
        assert server.sql(query, ours) == wanted


def test_in_sqlite_the_tables_have_the_same_columns_checks_and_indexes(tmp_path: Path) -> None:
    made = QueryLogDatabase(None, tmp_path)
    schema.migrate(made)
    with made.read() as connection:
        found = inspect(connection)
        assert {name: [each["name"] for each in found.get_columns(name)] for name in ("query_sessions", "queries")} == {
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
        indexes = {
            each["name"]: each["column_names"]
            for name in ("queries", "query_sessions")
            for each in found.get_indexes(name)
        }
        assert indexes == {
            "idx_sessions_ip_created": ["user_ip", "created_at"],
            "idx_queries_status": ["status", "created_at"],
            "idx_queries_session": ["session_id"],
        }
    made.close()


@pytest.mark.parametrize(
    "values", ["'q', 'x', 'success'", "'q', 'standard_rag', 'x'", "NULL, 'standard_rag', 'success'"]
)
def test_the_checks_hold(database: QueryLogDatabase, values: str) -> None:
    schema.migrate(database)
    with pytest.raises(Exception, match="does not take"), database.begin() as connection:
        connection.execute(text(f"INSERT INTO queries (query_text, mode, status) VALUES ({values})"))


def test_rows_made_by_hand_get_an_id_and_a_time(database: QueryLogDatabase, rows: Rows) -> None:
    schema.migrate(database)
    with database.begin() as connection:
        connection.execute(text("INSERT INTO queries (query_text, mode, status) VALUES ('q', 'standard_rag', 'error')"))
    (row,) = rows("SELECT * FROM queries")
    assert row["query_id"]
    assert row["created_at"]


def test_every_step_goes_up_and_down_and_up_again(database: QueryLogDatabase) -> None:
    def tables() -> set[str]:
        with database.read() as connection:
            return set(inspect(connection).get_table_names()) - {schema.VERSION_TABLE}

    assert schema.migrate(database) == schema.NO_TABLES
    everything = tables()
    assert everything == {"queries", "query_sessions", "query_chapters", "query_losses", "query_volumes"}
    assert schema.migrate(database) == schema.LATEST_REVISION
    assert schema.migrate(database, "0002") == schema.LATEST_REVISION
    assert tables() == everything - {"query_volumes"}
    assert schema.migrate(database, "0001") == "0002"
    assert tables() == {"queries", "query_sessions"}
    assert schema.migrate(database, schema.NO_TABLES) == "0001"
    assert tables() == set()
    assert schema.migrate(database) == schema.NO_TABLES
    assert tables() == everything


def test_a_step_back_keeps_the_questions(url: str, tmp_path: Path, database: QueryLogDatabase, rows: Rows) -> None:
    writing = ledger(url, tmp_path)
    writing.write([entry(chapters=("Gaits",), volume=BookRef("robots"))])
    writing.close()
    schema.migrate(database, "0001")
    schema.migrate(database)
    assert rows("SELECT query_text FROM queries") == [{"query_text": "What is a gait?"}]
    assert rows("SELECT * FROM query_chapters") == rows("SELECT * FROM query_volumes") == []


def test_a_log_of_the_version_before_is_brought_up_with_all_that_it_holds(
    url: str, tmp_path: Path, database: QueryLogDatabase, rows: Rows
) -> None:
    schema.migrate(database, "0002")
    with database.begin() as connection:
        one = UUID(int=7).hex
        connection.execute(
            text(
                "INSERT INTO queries (query_id, query_text, mode, status) VALUES (:id, 'old', 'standard_rag', 'error')"
            ),
            {"id": one},
        )
        connection.execute(text("INSERT INTO query_chapters VALUES (:id, 'Gaits')"), {"id": one})
    writing = ledger(url, tmp_path)
    writing.write([entry("new", volume=BookRef("robots", "2.0"))])
    writing.close()
    named = "SELECT query_text, book, edition FROM queries LEFT JOIN query_volumes USING (query_id) ORDER BY 1"
    assert rows(named) == [
        {"query_text": "new", "book": "robots", "edition": "2.0"},
        {"query_text": "old", "book": None, "edition": None},
    ]
    assert len(rows("SELECT * FROM query_chapters")) == 1


def test_a_step_that_fails_half_way_leaves_no_trace(database: QueryLogDatabase) -> None:
    with database.begin() as connection:
        connection.execute(text("CREATE TABLE query_losses (other INTEGER)"))
    with pytest.raises(Exception, match="log"):
        schema.migrate(database)
    with database.read() as connection:
        assert inspect(connection).get_table_names() == ["query_losses"]


def test_the_newest_step_is_the_last_one_there_is() -> None:
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory(str(Path(schema.__file__).parent / "migrations"))
    steps = [step.revision for step in scripts.walk_revisions()]
    assert (schema.NO_TABLES, *reversed(steps)) == schema.REVISIONS


def test_a_log_of_a_newer_version_is_told_and_left_alone(database: QueryLogDatabase, url: str, tmp_path: Path) -> None:
    schema.migrate(database)
    with database.begin() as connection:
        connection.execute(text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '0999'"))
    writing = ledger(url, tmp_path)
    for attempt in (lambda: schema.migrate(database), lambda: writing.write([entry()])):
        with pytest.raises(ConfigError, match=r"newer version of Bookbound \(step 0999"):
            attempt()
    writing.close()


def test_tables_of_somebody_else_are_told_and_left_alone(database: QueryLogDatabase) -> None:
    with database.begin() as connection:
        connection.execute(text("CREATE TABLE queries (other INTEGER)"))
    with pytest.raises(ConfigError, match="not Bookbound's"):
        schema.migrate(database)


def test_there_is_no_other_step(database: QueryLogDatabase) -> None:
    with pytest.raises(ConfigError, match="There is no step 0815; known are nothing, 0001, 0002, 0003"):
        schema.migrate(database, "0815")


def test_processes_that_start_together_make_the_tables_once(url: str, tmp_path: Path, rows: Rows) -> None:
    script = f"""
from pathlib import Path
from bookbound.server.query_log import schema
from bookbound.server.query_log.database import Database
schema.migrate(Database({url!r}, Path({str(tmp_path)!r})))
"""
    started = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(4)]
    assert [each.wait(timeout=60) for each in started] == [0] * 4
    assert rows(f"SELECT * FROM {schema.VERSION_TABLE}") == [{"version_num": schema.LATEST_REVISION}]
