"""Tests the folder of an index without an engine: the files of a shard are a few bytes."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound import filesystem
from bookbound.domain.errors import BookIndexError, ConfigError, CorruptIndexError, IndexLockedError, IndexNotFoundError
from bookbound.domain.manifest import Manifest
from bookbound.indexing.store.generations import FinishedGeneration, FolderGenerations, is_generation_folder
from bookbound.indexing.store.index_format import new_generation_id

Write = Callable[[], str]


@pytest.fixture
def generations(folder: Path) -> FolderGenerations:
    return FolderGenerations(folder)


@pytest.fixture
def write(generations: FolderGenerations, empty_manifest: Manifest) -> Write:
    """Publishes a generation of two files and returns its id."""

    def write_files() -> str:
        with generations.begin() as folder:
            shard = folder / "shard"
            (shard / "segment").mkdir()
            (shard / "segment" / "vectors.dat").write_bytes(bytes(200_000) + b"tail" + bytes(200_000))
            (shard / "config.json").write_bytes(b"{}")
            generations.publish([FinishedGeneration.finish(folder, empty_manifest), *generations.list_intact()])
        return folder.name

    return write_files


def read_files(generations: FolderGenerations) -> dict[str, bytes]:
    """Returns the files that a reader gets."""
    with generations.published().temp_copy() as (copy, _):
        return read_tree(copy)


def test_an_empty_folder_has_no_index(generations: FolderGenerations) -> None:
    assert generations.list_kept() == []
    with pytest.raises(IndexNotFoundError, match="bookbound index"):
        generations.published()


def test_generation_ids_sort_by_time() -> None:
    names = [new_generation_id() for _ in range(50)]
    assert names == sorted(names)
    assert len(set(names)) == 50


@pytest.mark.parametrize("earlier", ["", "demo-book", "demo/demo-book"])
def test_a_folder_that_bookbound_created_is_ignored_by_version_control(
    write: Write, folder: Path, earlier: str
) -> None:
    if earlier:
        (folder / earlier).parent.mkdir(parents=True)
        (folder / earlier).touch()
    write()
    assert (folder / ".gitignore").read_text() == "*\n"


def test_a_folder_that_the_user_created_gets_no_gitignore(write: Write, folder: Path) -> None:
    folder.mkdir()
    write()
    write()
    assert {path.name for path in folder.iterdir()} == {"generations", "current", "lock"}


def read_tree(folder: Path) -> dict[str, bytes]:
    """Returns the content of all files in a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        ".git/HEAD",
        "generations/precious/work.txt",
        "generations/notes.txt",
        "current/a",
        "lock/a",
        "demo/a",
    ],
)
def test_a_folder_with_other_files_is_refused_and_not_changed(write: Write, folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("precious")
    with pytest.raises(ConfigError, match="--index"):
        write()
    assert read_tree(folder) == {name: b"precious"}


def test_a_folder_that_is_a_file_is_refused(write: Write, folder: Path) -> None:
    folder.write_text("precious")
    with pytest.raises(ConfigError, match="--index"):
        write()
    assert folder.read_text() == "precious"


@pytest.mark.parametrize(
    "name",
    ["lost+found/a", ".DS_Store", "lock", "operating-point.json", ".bookbound-new-0a"],
)
def test_a_folder_without_user_files_is_accepted(write: Write, folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("kept")
    write()
    assert (folder / name).read_text() == "kept"


def test_other_files_next_to_an_index_are_not_removed(
    write: Write, generations: FolderGenerations, folder: Path
) -> None:
    write()
    foreign = ["notes.txt", "generations/precious/work.txt", f"generations/{new_generation_id()}/work.txt"]
    for name in foreign:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("precious")
    write()
    (folder / "current").write_text("damaged")
    assert write() == generations.published().id
    assert {name: read_tree(folder)[name] for name in foreign} == dict.fromkeys(foreign, b"precious")


def test_a_link_with_the_name_of_a_generation_is_not_a_generation(write: Write, folder: Path, tmp_path: Path) -> None:
    write()
    (tmp_path / "elsewhere").mkdir()
    link = folder / "generations" / new_generation_id()
    link.symlink_to(tmp_path / "elsewhere")
    assert not is_generation_folder(link)
    write()
    assert link.exists()


def test_a_reader_gets_exactly_what_was_written(write: Write, generations: FolderGenerations) -> None:
    write()
    content = bytes(200_000) + b"tail" + bytes(200_000)
    assert read_files(generations) == {"segment/vectors.dat": content, "config.json": b"{}"}


def test_the_last_three_generations_are_kept(write: Write, generations: FolderGenerations, folder: Path) -> None:
    written = [write() for _ in range(5)]
    assert [generation.id for generation in generations.list_kept()] == written[:1:-1]
    assert sorted(path.name for path in (folder / "generations").iterdir()) == written[2:]


def test_a_second_writer_is_refused(generations: FolderGenerations, folder: Path) -> None:
    with generations.begin(), pytest.raises(IndexLockedError, match="try again"), FolderGenerations(folder).begin():
        pass
    with generations.begin():
        pass


def test_an_unpublished_generation_is_removed(generations: FolderGenerations, folder: Path) -> None:
    with generations.begin() as generation:
        assert (generation / "shard").is_dir()
    assert list((folder / "generations").iterdir()) == []


def test_the_next_writer_removes_what_a_killed_one_left(
    write: Write, generations: FolderGenerations, folder: Path
) -> None:
    published = write()
    left = folder / "generations" / new_generation_id() / "shard"
    left.mkdir(parents=True)
    (left / "half.dat").write_bytes(b"half")
    with generations.begin() as generation:
        assert not left.parent.exists()
        assert {path.name for path in (folder / "generations").iterdir()} == {published, generation.name}


def test_a_finished_generation_does_not_count_before_it_is_published(
    write: Write, generations: FolderGenerations, folder: Path, empty_manifest: Manifest
) -> None:
    published = write()
    with generations.begin() as generation:
        FinishedGeneration.finish(generation, empty_manifest)
        assert [generation.id for generation in generations.list_kept()] == [published]
    assert not generation.exists()


@pytest.mark.parametrize("damage", ["missing", "cut", "longer", "changed"])
@pytest.mark.parametrize("name", ["segment/vectors.dat", "config.json"])
def test_any_damage_to_a_file_is_detected(
    write: Write, generations: FolderGenerations, folder: Path, damage: str, name: str
) -> None:
    file = folder / "generations" / write() / "shard" / name
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes({"cut": content[:-1], "longer": content + b"\0", "changed": b"x" + content[1:]}[damage])
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        read_files(generations)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"..",
        b"../../etc\n",
        b"\xff\xfe",
        b"20250101T000000000000Z-abcdef\nx\n",
        b"20250101T000000000000Z-abcdef\n",
    ],
)
def test_an_invalid_current_file_is_damage(
    write: Write, generations: FolderGenerations, folder: Path, content: bytes
) -> None:
    write()
    (folder / "current").write_bytes(content)
    with pytest.raises(CorruptIndexError, match="current"):
        generations.published()


def test_a_missing_published_generation_is_damage(write: Write, generations: FolderGenerations, folder: Path) -> None:
    write()
    generations.publish([FinishedGeneration(folder / "generations" / new_generation_id(), 64 * "0")])
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        read_files(generations)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"format": 8}', b'{"format": "3"}', b"\xff"])
def test_an_unreadable_manifest_is_damage(
    write: Write, generations: FolderGenerations, folder: Path, content: bytes
) -> None:
    (folder / "generations" / write() / "manifest.json").write_bytes(content)
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        read_files(generations)


@pytest.mark.parametrize(
    "edit",
    [{"chapters": []}, {"title": "Another"}, {"digest": 64 * "0"}, {"embedder": "another"}, {"files": {}}],
    ids=lambda edit: next(iter(edit)),
)
def test_an_edited_manifest_is_detected(
    write: Write, generations: FolderGenerations, folder: Path, edit: dict[str, object]
) -> None:
    write()
    file = generations.published().folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | edit))
    with pytest.raises(CorruptIndexError, match=r"manifest\.json"):
        read_files(generations)
    with pytest.raises(CorruptIndexError, match=r"manifest\.json"):
        generations.published().read()


def replace_manifest(generations: FolderGenerations, content: bytes) -> None:
    """Replaces the manifest of the published generation, with the right hash."""
    folder = generations.published().folder
    (folder / "manifest.json").write_bytes(content)
    generations.publish([FinishedGeneration(folder, hashlib.sha256(content).hexdigest())])


@pytest.mark.parametrize("name", ["/etc/hostname", "../../../../outside", "..\\up", "C:up", "nu\0ll", "half \ud800"])
def test_a_manifest_that_names_a_file_outside_is_damage(
    write: Write, generations: FolderGenerations, folder: Path, name: str
) -> None:
    content = json.loads((folder / "generations" / write() / "manifest.json").read_text())
    content["files"][name] = "0"
    replace_manifest(generations, json.dumps(content).encode())
    with pytest.raises(CorruptIndexError, match=r"manifest\.json"):
        read_files(generations)


def test_a_generation_with_the_manifest_of_another_is_damage(
    write: Write, generations: FolderGenerations, folder: Path
) -> None:
    first, second = write(), write()
    content = (folder / "generations" / first / "manifest.json").read_bytes()
    replace_manifest(generations, content)
    assert generations.published().id == second
    with pytest.raises(CorruptIndexError, match=r"manifest\.json"):
        read_files(generations)


def test_an_unreadable_generation_is_not_kept(write: Write, generations: FolderGenerations, folder: Path) -> None:
    damaged, intact = write(), write()
    (folder / "generations" / damaged / "manifest.json").write_text("{}")
    assert [generation.id for generation in generations.list_kept()] == [intact, damaged]
    newest = write()
    assert [generation.id for generation in generations.list_kept()] == [newest, intact]


def test_a_damaged_generation_does_not_count_as_kept(
    write: Write, generations: FolderGenerations, folder: Path
) -> None:
    first, second, third = write(), write(), write()
    shutil.rmtree(folder / "generations" / third / "shard" / "segment")
    newest = write()
    assert [generation.id for generation in generations.list_kept()] == [newest, second, first]


@pytest.mark.parametrize(
    ("number", "advice"), [(9, "newer Bookbound"), (7, r"older Bookbound .*\(format 7\)\. Index the book again")]
)
def test_another_format_is_not_reported_as_damage(
    write: Write, generations: FolderGenerations, folder: Path, number: int, advice: str
) -> None:
    file = folder / "generations" / write() / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": number, "added later": True}))
    with pytest.raises(BookIndexError, match=advice) as raised:
        read_files(generations)
    assert not isinstance(raised.value, CorruptIndexError)


def test_a_damaged_index_can_be_written_again(write: Write, generations: FolderGenerations, folder: Path) -> None:
    write()
    (folder / "current").write_bytes(b"\xff")
    assert write() == generations.published().id
    assert len(read_files(generations)) == 2
    assert len(list((folder / "generations").iterdir())) == 1


def test_a_reader_without_disk_space_gets_an_error_that_says_to_make_room(
    write: Write, generations: FolderGenerations, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write()
    monkeypatch.setenv("TMPDIR", "set")
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path / "nowhere"))
    with pytest.raises(BookIndexError, match="TMPDIR"):
        read_files(generations)


def test_a_reader_does_not_use_the_reserved_space(
    write: Write, generations: FolderGenerations, monkeypatch: pytest.MonkeyPatch
) -> None:
    write()
    monkeypatch.setattr(filesystem, "free_bytes", lambda _: filesystem.RESERVED_BYTES + 100)
    with pytest.raises(BookIndexError, match=r"No space left.*Make room.*TMPDIR"):
        read_files(generations)


def fail_with(code: int) -> Callable[..., None]:
    """Returns a system call that fails with this error."""

    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def test_a_disk_that_fills_up_during_a_copy_is_reported(
    write: Write, generations: FolderGenerations, monkeypatch: pytest.MonkeyPatch
) -> None:
    write()
    monkeypatch.setattr(os, "write", fail_with(errno.ENOSPC))
    with pytest.raises(BookIndexError, match=r"No space left.*TMPDIR"):
        read_files(generations)


def test_a_read_error_is_not_reported_as_a_full_disk(
    write: Write, generations: FolderGenerations, monkeypatch: pytest.MonkeyPatch
) -> None:
    write()
    monkeypatch.setattr(os, "read", fail_with(errno.EIO))
    with pytest.raises(BookIndexError, match=r"Input/output error.*Check the permissions and the disk") as raised:
        read_files(generations)
    assert "TMPDIR" not in str(raised.value)


@pytest.mark.parametrize("name", ["current", "manifest.json", "shard/config.json"])
def test_an_unreadable_file_is_named_with_the_reason(
    write: Write, generations: FolderGenerations, folder: Path, name: str
) -> None:
    generation = write()
    file = folder / name if name == "current" else folder / "generations" / generation / name
    file.unlink()
    file.mkdir()
    with pytest.raises(BookIndexError, match=rf"{file.name} \(Is a directory\)"):
        read_files(generations)


def test_an_error_inside_the_block_is_not_translated(write: Write, generations: FolderGenerations) -> None:
    write()
    with pytest.raises(OSError, match="an error of the reader"), generations.published().temp_copy():
        raise OSError("an error of the reader")


def test_a_full_disk_while_finishing_leaves_the_old_generation(
    write: Write, generations: FolderGenerations, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = write()
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", fail_with(errno.ENOSPC))
        with pytest.raises(BookIndexError, match=r"No space left.*try again"):
            write()
    assert generations.published().id == published
