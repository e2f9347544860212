"""The folder of an index, without any engine: the shard's files are a few bytes made up here."""

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
from bookbound.filesystem import temp_copies
from bookbound.indexing.store import new_generation_id
from bookbound.indexing.store.checksums import GenerationChecksum
from bookbound.indexing.store.generations import FolderGenerations, is_generation_folder

Write = Callable[[], str]


@pytest.fixture
def generations(folder: Path) -> FolderGenerations:
    return FolderGenerations(folder)


@pytest.fixture
def write(generations: FolderGenerations, blank: Manifest) -> Write:
    """Publishes a generation of two files and returns its id."""

    def writing() -> str:
        with generations.writing() as generation:
            shard = generations.shard(generation)
            (shard / "segment").mkdir()
            (shard / "segment" / "vectors.dat").write_bytes(bytes(200_000) + b"tail" + bytes(200_000))
            (shard / "config.json").write_bytes(b"{}")
            generations.publish(generations.seal(generation, blank), generations.whole())
        return generation

    return writing


def opened(generations: FolderGenerations) -> dict[str, bytes]:
    """What a reader gets: each file's content, by name."""
    with generations.copied(generations.current()) as (room, _):
        return {path.relative_to(room).as_posix(): path.read_bytes() for path in room.rglob("*") if path.is_file()}


def test_an_empty_folder_has_no_index(generations: FolderGenerations) -> None:
    assert generations.kept() == []
    with pytest.raises(IndexNotFoundError, match="bookbound index"):
        generations.current()


def test_names_sort_by_time() -> None:
    names = [new_generation_id() for _ in range(50)]
    assert names == sorted(names)
    assert len(set(names)) == 50


@pytest.mark.parametrize("earlier", ["", "demo-book", "demo/demo-book"])
def test_a_folder_that_bookbound_made_keeps_itself_out_of_version_control(
    write: Write, folder: Path, earlier: str
) -> None:
    if earlier:
        (folder / earlier).parent.mkdir(parents=True)
        (folder / earlier).touch()
    write()
    assert (folder / ".gitignore").read_text() == "*\n"


def test_nothing_is_said_to_version_control_in_a_folder_of_the_readers(write: Write, folder: Path) -> None:
    folder.mkdir()
    write()
    write()
    assert {path.name for path in folder.iterdir()} == {"generations", "current", "lock"}


def tree(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by name."""
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
def test_a_folder_with_other_things_in_it_is_refused_and_left_as_it_is(write: Write, folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("precious")
    with pytest.raises(ConfigError, match="--index"):
        write()
    assert tree(folder) == {name: b"precious"}


def test_a_folder_that_is_a_file_is_refused(write: Write, folder: Path) -> None:
    folder.write_text("precious")
    with pytest.raises(ConfigError, match="--index"):
        write()
    assert folder.read_text() == "precious"


@pytest.mark.parametrize(
    "name",
    ["lost+found/a", ".DS_Store", "lock", "operating-point.json", ".bookbound-new-0a"],
)
def test_a_folder_with_nothing_of_anybodys_in_it_is_taken(write: Write, folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("kept")
    write()
    assert (folder / name).read_text() == "kept"


def test_what_stands_beside_an_index_stays_there(write: Write, generations: FolderGenerations, folder: Path) -> None:
    write()
    foreign = ["notes.txt", "generations/precious/work.txt", f"generations/{new_generation_id()}/work.txt"]
    for name in foreign:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("precious")
    write()
    (folder / "current").write_text("damaged")
    assert write() == generations.current().generation
    assert {name: tree(folder)[name] for name in foreign} == dict.fromkeys(foreign, b"precious")


def test_a_link_with_the_name_of_a_generation_is_none(write: Write, folder: Path, tmp_path: Path) -> None:
    write()
    (tmp_path / "elsewhere").mkdir()
    link = folder / "generations" / new_generation_id()
    link.symlink_to(tmp_path / "elsewhere")
    assert not is_generation_folder(link)
    write()
    assert link.exists()


def test_a_reader_gets_exactly_what_was_sealed(write: Write, generations: FolderGenerations) -> None:
    write()
    content = bytes(200_000) + b"tail" + bytes(200_000)
    assert opened(generations) == {"segment/vectors.dat": content, "config.json": b"{}"}


def test_a_copy_leaves_the_holes_of_a_file_empty(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as file:
        file.seek(30_000_000)
        file.write(b"end")
    assert temp_copies.checksum_file(source, target) == temp_copies.checksum_file(target)
    assert target.read_bytes() == source.read_bytes()
    assert filesystem.disk_usage(tmp_path) < 1_000_000


def test_a_copy_of_a_small_file_has_no_holes(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "room" / "target"
    with source.open("wb") as file:
        file.truncate(4_000_000)
    temp_copies.checksum_file(source, target)
    assert target.read_bytes() == bytes(4_000_000)
    assert filesystem.disk_usage(target.parent) >= 4_000_000


def test_a_fingerprint_does_not_depend_on_how_holes_are_stored(tmp_path: Path) -> None:
    hollow, full = tmp_path / "hollow", tmp_path / "full"
    with hollow.open("wb") as file:
        file.truncate(1_000_000)
    full.write_bytes(bytes(1_000_000))
    assert temp_copies.checksum_file(hollow) == temp_copies.checksum_file(full)
    full.write_bytes(bytes(1_000_001))
    assert temp_copies.checksum_file(hollow) != temp_copies.checksum_file(full)


def test_folders_stand_for_the_length_of_a_block(tmp_path: Path) -> None:
    (tmp_path / "room" / "inner").mkdir(parents=True)
    names = temp_copies.list_folders(tmp_path / "room")
    shutil.rmtree(tmp_path / "room")
    with temp_copies.recreate_folders(names):
        (tmp_path / "room" / "inner" / "file").write_bytes(b"last word")
    assert list(tmp_path.iterdir()) == []


def test_the_last_three_generations_are_kept_on_disk(
    write: Write, generations: FolderGenerations, folder: Path
) -> None:
    written = [write() for _ in range(5)]
    assert [seal.generation for seal in generations.kept()] == written[:1:-1]
    assert sorted(path.name for path in (folder / "generations").iterdir()) == written[2:]


def test_a_second_writer_is_refused_and_told_what_to_do(generations: FolderGenerations, folder: Path) -> None:
    with generations.writing(), pytest.raises(IndexLockedError, match="try again"), FolderGenerations(folder).writing():
        pass
    with generations.writing():
        pass


def test_a_draft_is_removed_unless_it_was_published(generations: FolderGenerations, folder: Path) -> None:
    with generations.writing() as generation:
        assert generations.shard(generation).is_dir()
    assert list((folder / "generations").iterdir()) == []


def test_leftovers_are_removed_by_the_next_writer(write: Write, generations: FolderGenerations, folder: Path) -> None:
    published = write()
    left = folder / "generations" / new_generation_id() / "shard"
    left.mkdir(parents=True)
    (left / "half.dat").write_bytes(b"half")
    with generations.writing() as generation:
        assert not left.parent.exists()
        assert {path.name for path in (folder / "generations").iterdir()} == {published, generation}


def test_a_draft_that_was_sealed_but_not_published_does_not_count(
    write: Write, generations: FolderGenerations, folder: Path, blank: Manifest
) -> None:
    published = write()
    with generations.writing() as generation:
        generations.seal(generation, blank)
        assert [seal.generation for seal in generations.kept()] == [published]
    assert not (folder / "generations" / generation).exists()


@pytest.mark.parametrize("harm", ["missing", "cut", "longer", "changed"])
@pytest.mark.parametrize("name", ["segment/vectors.dat", "config.json"])
def test_any_harm_to_a_file_is_noticed(write: Write, generations: FolderGenerations, harm: str, name: str) -> None:
    file = generations.shard(write()) / name
    content = file.read_bytes()
    if harm == "missing":
        file.unlink()
    else:
        file.write_bytes({"cut": content[:-1], "longer": content + b"\0", "changed": b"x" + content[1:]}[harm])
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        opened(generations)


@pytest.mark.parametrize("content", [b"", b"..", b"../../etc\n", b"\xff\xfe", b"20250101T000000000000Z-abcdef\nx\n"])
def test_a_current_that_names_no_generation_is_damage(
    write: Write, generations: FolderGenerations, folder: Path, content: bytes
) -> None:
    write()
    (folder / "current").write_bytes(content)
    with pytest.raises(CorruptIndexError, match="current"):
        generations.current()


def test_a_current_that_names_a_missing_generation_is_damage(
    write: Write, generations: FolderGenerations, folder: Path
) -> None:
    write()
    (folder / "current").write_text(f"{GenerationChecksum(new_generation_id(), 64 * '0')}\n")
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        opened(generations)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"format": 5}', b'{"format": "3"}', b"\xff"])
def test_a_manifest_that_cannot_be_read_is_damage(write: Write, generations: FolderGenerations, content: bytes) -> None:
    (generations.shard(write()).parent / "manifest.json").write_bytes(content)
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        opened(generations)


@pytest.mark.parametrize(
    "edit",
    [{"chapters": []}, {"title": "Another"}, {"digest": 64 * "0"}, {"embedder": "another"}, {"files": {}}],
    ids=lambda edit: next(iter(edit)),
)
def test_an_edit_of_the_manifest_is_noticed(
    write: Write, generations: FolderGenerations, edit: dict[str, object]
) -> None:
    write()
    file = generations.shard(generations.current().generation).parent / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | edit))
    with pytest.raises(CorruptIndexError, match=r"manifest\.json"):
        opened(generations)
    with pytest.raises(CorruptIndexError, match=r"manifest\.json"):
        generations.manifest(generations.current())


def resealed(generations: FolderGenerations, folder: Path, content: bytes) -> None:
    """Put another manifest in place of the published one, as if it had been sealed like this."""
    generation = generations.current().generation
    (generations.shard(generation).parent / "manifest.json").write_bytes(content)
    (folder / "current").write_text(f"{GenerationChecksum(generation, hashlib.sha256(content).hexdigest())}\n")


@pytest.mark.parametrize("name", ["/etc/hostname", "../../../../outside", "nu\0ll", "half \ud800"])
def test_a_manifest_that_names_no_file_within_is_damage(
    write: Write, generations: FolderGenerations, folder: Path, name: str
) -> None:
    content = json.loads((generations.shard(write()).parent / "manifest.json").read_text())
    content["files"][name] = "0"
    resealed(generations, folder, json.dumps(content).encode())
    with pytest.raises(CorruptIndexError, match=r"manifest\.json"):
        opened(generations)


def test_a_generation_under_the_name_of_another_is_damage(
    write: Write, generations: FolderGenerations, folder: Path
) -> None:
    first, second = write(), write()
    content = (generations.shard(first).parent / "manifest.json").read_bytes()
    resealed(generations, folder, content)
    assert generations.current().generation == second
    with pytest.raises(CorruptIndexError, match=r"manifest\.json"):
        opened(generations)


def test_an_index_from_before_manifests_had_a_hash_is_told_by_its_format(
    write: Write, generations: FolderGenerations, folder: Path
) -> None:
    generation = write()
    file = generations.shard(generation).parent / "manifest.json"
    (folder / "current").write_text(f"{generation}\n")
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        opened(generations)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 1}))
    with pytest.raises(BookIndexError, match="older Bookbound"):
        opened(generations)


def test_a_generation_that_cannot_be_read_any_more_is_not_kept(write: Write, generations: FolderGenerations) -> None:
    harmed, whole = write(), write()
    (generations.shard(harmed).parent / "manifest.json").write_text("{}")
    assert [seal.generation for seal in generations.kept()] == [whole, harmed]
    newest = write()
    assert [seal.generation for seal in generations.kept()] == [newest, whole]


def test_a_generation_that_lacks_a_file_takes_no_place_among_those_that_are_kept(
    write: Write, generations: FolderGenerations
) -> None:
    first, second, third = write(), write(), write()
    shutil.rmtree(generations.shard(third) / "segment")
    newest = write()
    assert [seal.generation for seal in generations.kept()] == [newest, second, first]


@pytest.mark.parametrize(("number", "advice"), [(6, "newer Bookbound"), (4, "older Bookbound.*Index the book again")])
def test_another_format_is_told_apart_from_damage(
    write: Write, generations: FolderGenerations, number: int, advice: str
) -> None:
    file = generations.shard(write()).parent / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": number, "added later": True}))
    with pytest.raises(BookIndexError, match=advice) as raised:
        opened(generations)
    assert not isinstance(raised.value, CorruptIndexError)


def test_a_damaged_index_can_be_written_anew(write: Write, generations: FolderGenerations, folder: Path) -> None:
    write()
    (folder / "current").write_bytes(b"\xff")
    assert write() == generations.current().generation
    assert len(opened(generations)) == 2
    assert len(list((folder / "generations").iterdir())) == 1


def test_a_reader_that_has_no_room_is_told_to_make_some(
    write: Write, generations: FolderGenerations, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write()
    monkeypatch.setenv("TMPDIR", "set")
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path / "nowhere"))
    with pytest.raises(BookIndexError, match="TMPDIR"):
        opened(generations)


def test_a_reader_takes_nothing_of_what_is_to_be_left_free(
    write: Write, generations: FolderGenerations, monkeypatch: pytest.MonkeyPatch
) -> None:
    write()
    monkeypatch.setattr(filesystem, "free_bytes", lambda _: filesystem.RESERVED_BYTES + 100)
    with pytest.raises(BookIndexError, match=r"No space left.*Make room.*TMPDIR"):
        opened(generations)


def failing(code: int) -> Callable[..., None]:
    """A call of the system as it is on a disk that fails."""

    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def test_a_disk_that_is_full_in_the_middle_of_a_copy_is_told_so(
    write: Write, generations: FolderGenerations, monkeypatch: pytest.MonkeyPatch
) -> None:
    write()
    monkeypatch.setattr(os, "pwrite", failing(errno.ENOSPC))
    with pytest.raises(BookIndexError, match=r"No space left.*TMPDIR"):
        opened(generations)


def test_an_index_on_a_disk_that_fails_is_told_so_and_not_to_make_room(
    write: Write, generations: FolderGenerations, monkeypatch: pytest.MonkeyPatch
) -> None:
    write()
    monkeypatch.setattr(os, "pread", failing(errno.EIO))
    with pytest.raises(BookIndexError, match=r"Input/output error.*Check the rights and the disk") as raised:
        opened(generations)
    assert "TMPDIR" not in str(raised.value)


@pytest.mark.parametrize("name", ["current", "manifest.json", "shard/config.json"])
def test_a_file_of_the_index_that_cannot_be_read_is_named_with_the_reason(
    write: Write, generations: FolderGenerations, folder: Path, name: str
) -> None:
    generation = write()
    file = folder / name if name == "current" else folder / "generations" / generation / name
    file.unlink()
    file.mkdir()
    with pytest.raises(BookIndexError, match=rf"{file.name} \(Is a directory\)"):
        opened(generations)


def test_trouble_of_whoever_reads_a_copy_is_left_as_it_is(write: Write, generations: FolderGenerations) -> None:
    write()
    with pytest.raises(OSError, match="the reader's own"), generations.copied(generations.current()):
        raise OSError("the reader's own")


def test_a_disk_that_is_full_while_sealing_leaves_the_old_generation(
    write: Write, generations: FolderGenerations, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = write()
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", failing(errno.ENOSPC))
        with pytest.raises(BookIndexError, match=r"No space left.*try again"):
            write()
    assert generations.current().generation == published
