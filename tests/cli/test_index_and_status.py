"""Making an index and saying what it holds."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.models import CONSTANTS_FILE, MODELS_FOLDER

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_indexing_sums_up_and_names_the_next_step(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    done = bookbound("index", str(little_book), "--index", str(tmp_path / "index"))
    assert (done.returncode, done.stderr) == (0, "")
    rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if line)
    assert rows["Pages"] == "2"
    assert rows["Index"] == str(tmp_path / "index")
    assert rows["Next:"] == f'bookbound ask "your question" --index {tmp_path / "index"}'


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
    assert (tmp_path / ".bookbound").is_dir()


def test_a_file_read_with_doubt_is_a_warning_on_standard_error(bookbound: Run, tmp_path: Path) -> None:
    (tmp_path / "odd.md").write_bytes("# Café\n\nThe café opens at nine.\n".encode("latin-1"))
    done = bookbound("index", ".", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: odd.md: ")


def test_a_file_whose_name_has_two_lines_is_warned_of_on_one(bookbound: Run, tmp_path: Path) -> None:
    (tmp_path / "od\nd.md").write_bytes("# Café\n\nThe café opens at nine.\n".encode("latin-1"))
    done = bookbound("index", ".", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: od\\nd.md: ")
    assert done.stderr.count("\n") == 1


def test_status_says_what_is_indexed(bookbound: Run, little_index: Path) -> None:
    done = bookbound("status", "--index", str(little_index))
    assert done.returncode == 0
    for words in ("Pages", "Embedder", "bookbound-MiniLM-L6-int8@", "(1 kept)", "MB", "Chapters", "1 page, 2 chunks"):
        assert words in done.stdout
    assert dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if " " in line)["Writer"] == "quotes"


def test_status_names_the_language_model_and_neither_its_key_nor_its_address(
    bookbound: Run, little_index: Path
) -> None:
    model = {
        "BOOKBOUND_MODEL": "gpt-4o-mini",
        "BOOKBOUND_MODEL_KEY": "sk-a-secret",
        "BOOKBOUND_MODEL_URL": "http://me:secret@models.example/v1",
    }
    for form in ((), ("--json",)):
        done = bookbound("status", "--index", str(little_index), *form, **model)
        assert (done.returncode, "gpt-4o-mini" in done.stdout) == (0, True)
        assert "secret" not in done.stdout + done.stderr
        assert "models.example" not in done.stdout + done.stderr


def test_status_in_json_counts_generations_and_bytes(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    for _ in range(2):
        bookbound("index", str(little_book), "--force", cwd=tmp_path)
    told = json.loads(bookbound("status", "--json", cwd=tmp_path).stdout)
    assert told["pages"] == 2
    assert told["bytes"] > 0
    assert [told["generation"]] == [each["generation"] for each in told["generations"]][:1]
    assert len(told["generations"]) == 2


@pytest.mark.parametrize("content", ["{", "{}", "[]", '{"point": {"answered": "high", "relevant": 0.1}}'])
@pytest.mark.parametrize("command", [("status",), ("ask", "why?")])
def test_a_damaged_model_file_exits_with_2(
    bookbound: Run, little_index: Path, tmp_path: Path, content: str, command: tuple[str, ...]
) -> None:
    # A package in the working directory is found first: all of this one, but for the damaged file.
    shutil.copytree(
        MODELS_FOLDER.parent,
        tmp_path / "bookbound",
        copy_function=os.symlink,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    damaged = tmp_path / "bookbound" / MODELS_FOLDER.name / CONSTANTS_FILE
    damaged.unlink()
    damaged.write_text(content)
    done = bookbound(*command, "--index", str(little_index), cwd=tmp_path)
    told = "Error: The model file reader.json is damaged; install bookbound again.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


@pytest.mark.parametrize("arguments", [("ask", "why?"), ("search", "why"), ("status",)])
def test_without_an_index_every_command_says_how_to_make_one(
    bookbound: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = bookbound(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert "bookbound index SOURCE\n" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [("ask", "why?"), ("search", "why"), ("status",), ("serve", "--port", "0")])
def test_a_folder_without_an_index_is_named_with_the_command_that_makes_one(
    bookbound: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    done = bookbound(*command, "--index", "no such", cwd=tmp_path)
    told = "Error: There is no index in no such yet. Index a book first: bookbound index SOURCE --index 'no such'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


def test_where_only_the_demo_has_an_index_that_is_said(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    assert bookbound("index", str(little_book), "--index", ".bookbound/demo", cwd=tmp_path).returncode == 0
    done = bookbound("ask", "why?", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("Or ask the book of the demo: --index .bookbound/demo\n")


@pytest.mark.parametrize("command", [("ask", "why?"), ("status",), ("index", ".")])
def test_an_index_in_a_file_is_refused_by_its_name(bookbound: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "page.md").write_text("# Words\n\nThat are no index.\n")
    done = bookbound(*command, "--index", "page.md", cwd=tmp_path)
    told = "Error: page.md is no folder, so it can hold no index. Name a folder: --index DIR\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


@pytest.mark.parametrize(
    "command", [("index", ""), ("index", ".", "--index", ""), ("ask", "why?", "--index", ""), ("serve", "--source", "")]
)
def test_an_empty_path_is_not_taken_for_the_working_directory(
    bookbound: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "page.md").write_text("# Words\n\nThat nobody wanted to index.\n")
    done = bookbound(*command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "It is empty." in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_a_working_directory_that_is_gone_is_told(environment: dict[str, str], tmp_path: Path) -> None:
    script = f'cd "{tmp_path}" && mkdir gone && cd gone && rmdir ../gone && "{sys.executable}" -m bookbound status'
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: The working directory was removed. Change to one that is there.\n"


def test_a_missing_source_exits_with_2_and_is_json_where_asked(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("index", "nowhere", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)["error"]
    assert (done.returncode, told["type"]) == (2, "BadSource")
    assert told["message"].startswith("nowhere: There is no such file or folder")


def test_a_damaged_index_exits_with_2(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    bookbound("index", str(little_book), cwd=tmp_path)
    (tmp_path / ".bookbound" / "current").write_text("nonsense")
    done = bookbound("ask", "why?", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["error"]["type"]) == (2, "DamagedIndex")


def test_an_index_of_another_embedder_exits_with_2(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    bookbound("index", str(little_book), cwd=tmp_path)
    (manifest,) = (tmp_path / ".bookbound").glob("generations/*/manifest.json")
    made = manifest.read_bytes()
    other = made.replace(b"bookbound-MiniLM", b"some-other")
    manifest.write_bytes(other)
    current = tmp_path / ".bookbound" / "current"
    before, after = (hashlib.sha256(each).hexdigest() for each in (made, other))
    current.write_text(current.read_text().replace(before, after))
    done = bookbound("ask", "why?", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["error"]["type"]) == (2, "WrongEmbedder")


def test_an_index_that_is_being_written_exits_with_2(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    bookbound("index", str(little_book), cwd=tmp_path)
    with (tmp_path / ".bookbound" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = bookbound("index", str(little_book), "--force", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["error"]["type"]) == (2, "IndexBusy")


def test_a_wrong_setting_exits_with_2(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("status", cwd=tmp_path, BOOKBOUND_THREADS="many")
    assert (done.returncode, done.stderr) == (2, "Error: The setting `threads` must be a whole number.\n")


def test_a_server_that_is_not_there_exits_with_3(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("ask", "why?", "--json", cwd=tmp_path, BOOKBOUND_QDRANT_URL="http://127.0.0.1:9")
    told = json.loads(done.stdout)["error"]
    assert (done.returncode, told["type"]) == (3, "Unreachable")
    assert told["service"]


def test_what_a_library_warns_of_is_one_line_without_its_source(bookbound: Run, tmp_path: Path) -> None:
    server = {"BOOKBOUND_QDRANT_URL": "http://127.0.0.1:9", "BOOKBOUND_QDRANT_KEY": "a-secret"}
    done = bookbound("status", cwd=tmp_path, **server)
    warning, error = done.stderr.splitlines()
    assert warning.startswith("Warning: ")
    assert ".py" not in warning
    assert error.startswith("Error: Qdrant cannot be reached.")
    assert "a-secret" not in done.stderr
