"""Making an index and saying what it holds."""

from __future__ import annotations

import fcntl
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_indexing_sums_up_and_names_the_next_step(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    done = bookbound("index", str(little_book), "--index", str(tmp_path / "index"))
    assert (done.returncode, done.stderr) == (0, "")
    rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if line)
    assert rows["Pages"] == "2"
    assert rows["Index"] == str(tmp_path / "index")
    assert rows["Next:"] == f'bookbound ask --index {tmp_path / "index"} "your question"'


def test_indexing_in_json_gives_the_manifest_the_notices_and_the_time(
    bookbound: Run, little_book: Path, tmp_path: Path
) -> None:
    (book := tmp_path / "book").mkdir()
    (book / "fine.md").write_bytes((little_book / "drives.md").read_bytes())
    (book / "odd.md").write_bytes("# Café\n\nThe café opens at nine.\n".encode("latin-1"))
    done = bookbound("index", "book", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert (done.returncode, told["pages"]) == (0, 2)
    assert [notice["file"] for notice in told["notices"]] == ["odd.md"]
    assert told["seconds"] > 0
    assert "vocabulary" not in told
    assert (tmp_path / ".bookbound").is_dir()


def test_a_file_read_with_doubt_is_a_warning_on_standard_error(bookbound: Run, tmp_path: Path) -> None:
    (tmp_path / "odd.md").write_bytes("# Café\n\nThe café opens at nine.\n".encode("latin-1"))
    done = bookbound("index", ".", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: odd.md: ")


def test_status_says_what_is_indexed(bookbound: Run, little_index: Path) -> None:
    done = bookbound("status", "--index", str(little_index))
    assert done.returncode == 0
    for words in ("Pages", "Embedder", "all-MiniLM-L6-v2", "(1 kept)", "MB", "Chapters"):
        assert words in done.stdout


def test_status_in_json_counts_generations_and_bytes(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    for _ in range(2):
        bookbound("index", str(little_book), cwd=tmp_path)
    told = json.loads(bookbound("status", "--json", cwd=tmp_path).stdout)
    assert told["pages"] == 2
    assert told["bytes"] > 0
    assert [told["generation"]] == [each["generation"] for each in told["generations"]][:1]
    assert len(told["generations"]) == 2


@pytest.mark.parametrize("arguments", [("ask", "why?"), ("search", "why"), ("status",)])
def test_without_an_index_every_command_says_how_to_make_one(
    bookbound: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = bookbound(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert "bookbound index SOURCE" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_source_exits_with_2_and_is_json_where_asked(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("index", "nowhere", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["error"]["type"]) == (2, "BadSource")


def test_a_damaged_index_exits_with_2(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    bookbound("index", str(little_book), cwd=tmp_path)
    (tmp_path / ".bookbound" / "current").write_text("nonsense")
    done = bookbound("ask", "why?", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["error"]["type"]) == (2, "DamagedIndex")


def test_an_index_of_another_embedder_exits_with_2(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    bookbound("index", str(little_book), cwd=tmp_path)
    (manifest,) = (tmp_path / ".bookbound").glob("generations/*/manifest.json")
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("all-MiniLM", "some-other"), encoding="utf-8")
    done = bookbound("ask", "why?", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["error"]["type"]) == (2, "WrongEmbedder")


def test_an_index_that_is_being_written_exits_with_2(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    bookbound("index", str(little_book), cwd=tmp_path)
    with (tmp_path / ".bookbound" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = bookbound("index", str(little_book), "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["error"]["type"]) == (2, "IndexBusy")


def test_a_wrong_setting_exits_with_2(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("status", cwd=tmp_path, BOOKBOUND_THREADS="many")
    assert (done.returncode, done.stderr) == (2, "Error: The setting `threads` must be a whole number.\n")


def test_a_server_that_is_not_there_exits_with_3(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("ask", "why?", "--json", cwd=tmp_path, BOOKBOUND_QDRANT_URL="http://127.0.0.1:9")
    told = json.loads(done.stdout)["error"]
    assert (done.returncode, told["type"]) == (3, "Unreachable")
    assert told["service"]
