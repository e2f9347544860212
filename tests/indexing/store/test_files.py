from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bookbound import filesystem


def test_of_many_writers_at_once_each_succeeds_and_one_content_stays_whole(tmp_path: Path) -> None:
    file = tmp_path / "current"
    contents = [bytes([65 + i]) * (100_000 + i) for i in range(8)]
    for _ in range(5):
        with ThreadPoolExecutor(len(contents)) as writers:
            list(writers.map(lambda content: filesystem.write_atomically(file, content), contents))
        assert file.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [file]


def test_a_failure_names_the_target_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "current" / "full").mkdir(parents=True)
    with pytest.raises(IsADirectoryError) as trouble:
        filesystem.write_atomically(tmp_path / "current", b"new")
    assert trouble.value.filename == str(tmp_path / "current")
    assert [path.name for path in tmp_path.iterdir()] == ["current"]
