from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

Run = Callable[..., CompletedProcess[str]]


def test_a_rollback_publishes_the_index_before_and_says_so(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    first = json.loads(bookbound("index", str(little_book), "--json", cwd=tmp_path).stdout)
    second = json.loads(bookbound("index", str(little_book), "--force", "--json", cwd=tmp_path).stdout)
    told = json.loads(bookbound("rollback", "--json", cwd=tmp_path).stdout)
    assert (told["generation"], told["withdrawn"]) == (first["generation"], second["generation"])
    done = bookbound("rollback", cwd=tmp_path)
    assert (done.returncode, "No earlier generation" in done.stderr) == (2, True)


def test_a_rollback_is_the_way_out_where_the_published_index_is_damaged(
    bookbound: Run, little_book: Path, tmp_path: Path
) -> None:
    first, second = (
        json.loads(bookbound("index", str(little_book), *force, "--json", cwd=tmp_path).stdout)["generation"]
        for force in ((), ("--force",))
    )
    (tmp_path / ".bookbound" / "generations" / second / "manifest.json").unlink()
    told = json.loads(bookbound("rollback", "--json", cwd=tmp_path).stdout)
    assert (told["generation"], told["withdrawn"]) == (first, second)


def test_without_an_index_there_is_nothing_to_roll_back(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("rollback", cwd=tmp_path)
    assert done.returncode == 2
    assert "bookbound index SOURCE" in done.stderr
