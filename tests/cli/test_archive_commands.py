"""Export and import of an index."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


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
