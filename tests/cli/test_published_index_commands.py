"""Status, rollback, export and import of a published index."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.shipped_point import ANSWERED, UNSURE

from bookbound.domain.judgement import ReplyStatus
from bookbound.models import CONSTANTS_FILE, MODELS_FOLDER


def test_status_shows_the_index(bookbound: Run, little_index: Path) -> None:
    done = bookbound("status", "--index", str(little_index))
    assert done.returncode == 0
    for words in ("Pages", "Embedder", "bookbound-gte-small@", "(1 kept)", "MB", "Chapters", "1 page, 2 chunks"):
        assert words in done.stdout
    assert dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if " " in line)["Writer"] == "quotes"


def test_status_shows_the_probabilities_of_each_kind_of_reply_in_the_usual_order(
    bookbound: Run, little_index: Path
) -> None:
    lines = bookbound("status", "--index", str(little_index)).stdout.splitlines()
    found = [line.split(maxsplit=1) for line in lines if line.lower().startswith(tuple(ReplyStatus))]
    assert found == [
        ["Answered", f"from {ANSWERED} (default)"],
        ["Unsure", f"from {UNSURE} to {ANSWERED}"],
        ["Refused", f"below {UNSURE}"],
    ]


def test_status_shows_the_language_model_but_not_its_key_or_address(bookbound: Run, little_index: Path) -> None:
    model = {
        "BOOKBOUND_LLM_MODEL": "gpt-4o-mini",
        "BOOKBOUND_LLM_KEY": "sk-a-secret",
        "BOOKBOUND_LLM_URL": "http://me:secret@models.example/v1",
    }
    for form in ((), ("--json",)):
        done = bookbound("status", "--index", str(little_index), *form, **model)
        assert (done.returncode, "gpt-4o-mini" in done.stdout) == (0, True)
        assert "secret" not in done.stdout + done.stderr
        assert "models.example" not in done.stdout + done.stderr


def test_status_shows_where_each_setting_comes_from_but_no_secret(
    bookbound: Run, little_index: Path, tmp_path: Path
) -> None:
    (tmp_path / "bookbound.toml").write_text(
        'model_threads = 1\nallowed_origins = ["https://a.example", "https://b.example"]\n'
    )
    variables = {
        "BOOKBOUND_MAX_QUEUE": "7",
        "OPENAI_API_KEY": "sk-a-secret",
        "DATABASE_URL": "postgresql://me:secret@h/d",
    }
    command = ("status", "--index", str(little_index))
    text = bookbound(*command, cwd=tmp_path, **variables).stdout
    for line in (
        "model_threads = 1  from bookbound.toml",
        "allowed_origins = https://a.example, https://b.example  from bookbound.toml",
        "max_queue = 7  from BOOKBOUND_MAX_QUEUE",
        f"index = {little_index}  from the command line",
        "llm_key = (hidden)  from OPENAI_API_KEY",
        "query_log_url = (hidden)  from DATABASE_URL",
    ):
        assert f"  {line}\n" in text
    done = bookbound(*command, "--json", cwd=tmp_path, **variables)
    found = json.loads(done.stdout)["settings"]
    assert found["allowed_origins"] == {"origin": "bookbound.toml", "value": ["https://a.example", "https://b.example"]}
    assert found["llm_key"] == found["embedder_key"] == {"origin": "OPENAI_API_KEY"}
    assert "secret" not in text + done.stdout


def test_status_shows_that_only_the_fast_reader_reads(bookbound: Run, little_index: Path) -> None:
    command = ("status", "--index", str(little_index))
    text = bookbound(*command, BOOKBOUND_READER="fast").stdout
    assert "  reader = fast  from BOOKBOUND_READER\n" in text
    assert "(default; it was chosen with the strong reader)\n" in text
    assert "the strong reader" not in bookbound(*command).stdout


def test_status_in_json_counts_generations_and_bytes(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    for _ in range(2):
        bookbound("index", str(little_book), "--force", cwd=tmp_path)
    found = json.loads(bookbound("status", "--json", cwd=tmp_path).stdout)
    assert found["pages"] == 2
    assert found["bytes"] > 0
    assert [found["generation"]] == [each["generation"] for each in found["generations"]][:1]
    assert len(found["generations"]) == 2


@pytest.mark.parametrize("command", [("status",), ("ask", "why?")])
def test_a_damaged_model_file_exits_with_2(
    process: Run, little_index: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    # Python finds a package in the working directory first: this is ours with one damaged file.
    shutil.copytree(
        MODELS_FOLDER.parent,
        tmp_path / "bookbound",
        copy_function=os.symlink,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    damaged = tmp_path / "bookbound" / MODELS_FOLDER.name / CONSTANTS_FILE
    damaged.unlink()
    damaged.write_text("{")
    done = process(*command, "--index", str(little_index), cwd=tmp_path)
    found = "Error: The model file reader.json is damaged. Install bookbound again.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", found)


@pytest.mark.parametrize("arguments", [("ask", "why?"), ("search", "why"), ("status",)])
def test_without_an_index_every_command_shows_how_to_make_one(
    bookbound: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = bookbound(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert "bookbound index SOURCE\n" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [("ask", "why?"), ("search", "why"), ("status",), ("serve", "--port", "0")])
def test_the_error_for_a_missing_index_has_its_folder_and_the_command_that_makes_it(
    bookbound: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    done = bookbound(*command, "--index", "no such", cwd=tmp_path)
    found = "Error: There is no index in no such yet. Index a book first: bookbound index SOURCE --index 'no such'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", found)


def test_without_an_index_the_demo_book_is_suggested(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    assert bookbound("index", str(little_book), "--index", ".bookbound/demo", cwd=tmp_path).returncode == 0
    done = bookbound("ask", "why?", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("Or ask the demo book: --index .bookbound/demo\n")


def test_a_damaged_index_exits_with_2(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    bookbound("index", str(little_book), cwd=tmp_path)
    (tmp_path / ".bookbound" / "current").write_text("nonsense")
    done = bookbound("ask", "why?", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["error"]["type"]) == (2, "CorruptIndexError")


def test_an_index_of_another_embedder_exits_with_2(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    bookbound("index", str(little_book), cwd=tmp_path)
    (manifest,) = (tmp_path / ".bookbound").glob("generations/*/manifest.json")
    made = manifest.read_bytes()
    other = made.replace(b"bookbound-gte-small", b"some-other")
    manifest.write_bytes(other)
    current = tmp_path / ".bookbound" / "current"
    before, after = (hashlib.sha256(each).hexdigest() for each in (made, other))
    current.write_text(current.read_text().replace(before, after))
    done = bookbound("ask", "why?", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["error"]["type"]) == (2, "EmbedderMismatchError")


def test_a_wrong_setting_exits_with_2(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("status", cwd=tmp_path, BOOKBOUND_MODEL_THREADS="many")
    assert (done.returncode, done.stderr) == (2, "Error: The setting `model_threads` must be a whole number.\n")


def test_a_server_that_cannot_be_reached_exits_with_3(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("ask", "why?", "--json", cwd=tmp_path, BOOKBOUND_QDRANT_URL="http://127.0.0.1:9")
    found = json.loads(done.stdout)["error"]
    assert (done.returncode, found["type"]) == (3, "ServiceUnreachableError")
    assert found["service"]


def test_a_warning_of_a_library_is_one_line_without_source_code(bookbound: Run, tmp_path: Path) -> None:
    server = {"BOOKBOUND_QDRANT_URL": "http://127.0.0.1:9", "BOOKBOUND_QDRANT_KEY": "a-secret"}
    done = bookbound("status", cwd=tmp_path, **server)
    warning, error = done.stderr.splitlines()
    assert warning.startswith("Warning: ")
    assert ".py" not in warning
    assert error.startswith("Error: Qdrant could not be reached.")
    assert "a-secret" not in done.stderr


def test_if_every_book_has_a_name_status_lists_them_and_ask_needs_a_name(
    bookbound: Run, book: Path, tmp_path: Path
) -> None:
    for edition in ("1.0", "2.0"):
        bookbound("index", str(book), "--book", "robots", "--edition", edition, cwd=tmp_path)
    found = bookbound("status", cwd=tmp_path)
    assert (found.returncode, found.stdout.count("--book robots --edition ")) == (0, 2)
    assert [each["name"] for each in json.loads(bookbound("status", "--json", cwd=tmp_path).stdout)["books"]] == [
        "robots@1.0",
        "robots@2.0",
    ]
    done = bookbound("ask", "What is it?", cwd=tmp_path)
    assert (done.returncode, "--book robots --edition 2.0" in done.stderr) == (2, True)
    exported = bookbound("export", "robots.bookbound", "--book", "robots", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    assert "robots" in bookbound("status", "--book", "robots", cwd=tmp_path).stdout


def test_status_and_the_error_name_every_book_of_an_index(
    bookbound: Run, book: Path, little_book: Path, tmp_path: Path
) -> None:
    names = [f"book-{number}" for number in range(7)]
    bookbound("index", str(little_book), cwd=tmp_path)
    for name in names:
        bookbound("index", str(book), "--book", name, cwd=tmp_path)
    found = bookbound("status", cwd=tmp_path).stdout
    assert all(f"--book {name}  " in found for name in names)
    assert "(without a name)" in found
    listed = json.loads(bookbound("status", "--json", cwd=tmp_path).stdout)["books"]
    assert {each["name"]: each["title"] for each in listed}.keys() == {"", *names}
    error = bookbound("ask", "What is it?", "--book", "another", cwd=tmp_path)
    assert error.returncode == 2
    assert all(f"--book {name}" in error.stderr for name in names)
    shutil.rmtree(tmp_path / ".bookbound" / "books" / "book-3" / "generations")
    damaged = bookbound("status", cwd=tmp_path)
    assert (damaged.returncode, "--book book-3  The index is damaged" in damaged.stdout) == (0, True)


def test_a_rollback_publishes_the_previous_index(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    first = json.loads(bookbound("index", str(little_book), "--json", cwd=tmp_path).stdout)
    second = json.loads(bookbound("index", str(little_book), "--force", "--json", cwd=tmp_path).stdout)
    found = json.loads(bookbound("rollback", "--json", cwd=tmp_path).stdout)
    assert (found["generation"], found["withdrawn"]) == (first["generation"], second["generation"])
    done = bookbound("rollback", cwd=tmp_path)
    assert (done.returncode, "earlier" in done.stderr) == (2, True)


def test_a_rollback_can_name_an_earlier_generation(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    first, _, third = (
        json.loads(bookbound("index", str(little_book), *force, "--json", cwd=tmp_path).stdout)["generation"]
        for force in ((), ("--force",), ("--force",))
    )
    refused = bookbound("rollback", "--to", third, cwd=tmp_path)
    assert (refused.returncode, "no earlier intact generation with this id" in refused.stderr) == (2, True)
    found = json.loads(bookbound("rollback", "--to", first, "--json", cwd=tmp_path).stdout)
    assert (found["generation"], found["withdrawn"]) == (first, third)


def test_a_rollback_replaces_a_damaged_index(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    first, second = (
        json.loads(bookbound("index", str(little_book), *force, "--json", cwd=tmp_path).stdout)["generation"]
        for force in ((), ("--force",))
    )
    (tmp_path / ".bookbound" / "generations" / second / "manifest.json").unlink()
    found = json.loads(bookbound("rollback", "--json", cwd=tmp_path).stdout)
    assert (found["generation"], found["withdrawn"]) == (first, second)


FALLBACKS = {
    "OPENAI_API_KEY": ("sk-1", ["embedder_key"]),
    "OPENROUTER_API_KEY": ("sk-2", ["llm_key"]),
    "COHERE_API_KEY": ("sk-3", ["cohere_key"]),
    "QDRANT_API_KEY": ("sk-4", ["qdrant_key"]),
    "DATABASE_URL": ("postgresql://me:sk-5@host/log", ["query_log_url"]),
}


@pytest.mark.parametrize("book", [None, "drives"])
def test_status_says_which_variable_of_another_system_a_value_comes_from(
    bookbound: Run, little_book: Path, tmp_path: Path, book: str | None
) -> None:
    named = ["--book", book] if book else []
    assert bookbound("index", str(little_book), *named, cwd=tmp_path).returncode == 0
    variables = {name: value for name, (value, _) in FALLBACKS.items()}
    variables["BOOKBOUND_LLM_URL"] = "https://openrouter.ai/api/v1"
    shown = bookbound("status", cwd=tmp_path, **variables)
    assert shown.returncode == 0, shown.stderr
    for variable, (_, settings) in FALLBACKS.items():
        assert all(f"{setting} = (hidden)  from {variable}" in shown.stdout for setting in settings)
    assert "sk-" not in shown.stdout
    found = json.loads(bookbound("status", "--json", cwd=tmp_path, **variables).stdout)["settings"]
    assert found["cohere_key"] == {"origin": "COHERE_API_KEY"}


def test_a_suggested_command_keeps_the_index_of_the_command_that_failed(
    bookbound: Run, little_index: Path, tmp_path: Path
) -> None:
    shutil.copytree(little_index, tmp_path / "my index")
    for arguments, suggestion in (
        (["rollback"], "bookbound index SOURCE --index 'my index'"),
        (["key", "revoke", "none"], "bookbound key list --index 'my index'"),
        (["key", "list"], "bookbound key new --origin https://book.example --index 'my index'"),
        (["ask", "What", "is", "it?"], "bookbound ask 'What is it?' --index 'my index'"),
    ):
        done = bookbound(*arguments, "--index", "my index", cwd=tmp_path)
        shown = re.sub(r"[\s│]+", " ", done.stdout + done.stderr)
        assert suggestion in shown


def test_a_rollback_needs_an_index(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("rollback", cwd=tmp_path)
    assert done.returncode == 2
    assert "bookbound index SOURCE" in done.stderr


def test_an_index_is_exported_and_imported_through_one_file(bookbound: Run, book: Path, tmp_path: Path) -> None:
    bookbound("index", str(book), cwd=tmp_path)
    file = str(tmp_path / "b.bookbound")
    assert bookbound("export", file, cwd=tmp_path).returncode == 0
    assert bookbound("import", file, "--index", "moved", cwd=tmp_path).returncode == 0
    assert "stays as it is" in bookbound("index", str(book), "--index", "moved", cwd=tmp_path).stdout
    Path(file).write_bytes(b"no such thing")
    done = bookbound("import", file, "--index", "moved", cwd=tmp_path)
    assert (done.returncode, str(done.stderr).startswith(f"Error: {file}: ")) == (2, True)


def test_an_import_warns_if_questions_have_another_embedder(bookbound: Run, little_index: Path, tmp_path: Path) -> None:
    file, other = str(tmp_path / "b.bookbound"), {"BOOKBOUND_EMBEDDER": "openai", "BOOKBOUND_EMBEDDER_KEY": "k"}
    bookbound("export", file, "--index", str(little_index))
    assert bookbound("import", file, "--index", "same", cwd=tmp_path).stderr == ""
    done = bookbound("import", file, "--index", "other", cwd=tmp_path, **other)
    assert (done.returncode, "`embedder` and `embedder_model`" in done.stderr) == (0, True)
