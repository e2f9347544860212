"""The folder of an index, without any engine: the shard's files are a few bytes made up here."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.book import Manifest
from bookbound.errors import BadSetup, DamagedIndex, IndexBusy, IndexTrouble, NoIndex
from bookbound.store import files
from bookbound.store.generations import Generations, new_id

Write = Callable[[], str]


@pytest.fixture
def generations(folder: Path) -> Generations:
    return Generations(folder)


@pytest.fixture
def write(generations: Generations, blank: Manifest) -> Write:
    """Publishes a generation of two files and returns its id."""

    def writing() -> str:
        with generations.writing() as generation:
            shard = generations.shard(generation)
            (shard / "segment").mkdir()
            (shard / "segment" / "vectors.dat").write_bytes(bytes(200_000) + b"tail" + bytes(200_000))
            (shard / "config.json").write_bytes(b"{}")
            generations.seal(generation, blank)
            generations.publish(generation)
        return generation

    return writing


def opened(generations: Generations) -> dict[str, bytes]:
    """What a reader gets: each file's content, by name."""
    with generations.copied(generations.current()) as (room, _):
        return {path.relative_to(room).as_posix(): path.read_bytes() for path in room.rglob("*") if path.is_file()}


def test_an_empty_folder_has_no_index(generations: Generations) -> None:
    assert generations.kept() == []
    with pytest.raises(NoIndex, match="bookbound index"):
        generations.current()


def test_names_sort_by_time() -> None:
    names = [new_id() for _ in range(50)]
    assert names == sorted(names)
    assert len(set(names)) == 50


def test_the_folder_keeps_itself_out_of_version_control(write: Write, folder: Path) -> None:
    write()
    assert (folder / ".gitignore").read_text() == "*\n"


def test_a_reader_gets_exactly_what_was_sealed(write: Write, generations: Generations) -> None:
    write()
    content = bytes(200_000) + b"tail" + bytes(200_000)
    assert opened(generations) == {"segment/vectors.dat": content, "config.json": b"{}"}


def test_a_copy_leaves_the_holes_of_a_file_empty(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as file:
        file.seek(30_000_000)
        file.write(b"end")
    assert files.fingerprint(source, target) == files.fingerprint(target)
    assert target.read_bytes() == source.read_bytes()
    assert target.stat().st_blocks * 512 < 1_000_000


def test_a_fingerprint_does_not_depend_on_how_holes_are_stored(tmp_path: Path) -> None:
    hollow, full = tmp_path / "hollow", tmp_path / "full"
    with hollow.open("wb") as file:
        file.truncate(1_000_000)
    full.write_bytes(bytes(1_000_000))
    assert files.fingerprint(hollow) == files.fingerprint(full)
    full.write_bytes(bytes(1_000_001))
    assert files.fingerprint(hollow) != files.fingerprint(full)


def test_folders_stand_for_the_length_of_a_block(tmp_path: Path) -> None:
    (tmp_path / "room" / "inner").mkdir(parents=True)
    names = files.folders(tmp_path / "room")
    shutil.rmtree(tmp_path / "room")
    with files.standing(names):
        (tmp_path / "room" / "inner" / "file").write_bytes(b"last word")
    assert list(tmp_path.iterdir()) == []


def test_the_last_three_generations_are_kept_on_disk(write: Write, generations: Generations, folder: Path) -> None:
    written = [write() for _ in range(5)]
    assert generations.kept() == written[:1:-1]
    assert sorted(path.name for path in (folder / "generations").iterdir()) == written[2:]


def test_a_second_writer_is_refused_and_told_what_to_do(generations: Generations, folder: Path) -> None:
    with generations.writing(), pytest.raises(IndexBusy, match="try again"), Generations(folder).writing():
        pass
    with generations.writing():
        pass


def test_a_draft_is_removed_unless_it_was_published(generations: Generations, folder: Path) -> None:
    with generations.writing() as generation:
        assert generations.shard(generation).is_dir()
    assert list((folder / "generations").iterdir()) == []


def test_leftovers_are_removed_by_the_next_writer(write: Write, generations: Generations, folder: Path) -> None:
    published = write()
    left = folder / "generations" / new_id() / "shard"
    left.mkdir(parents=True)
    (left / "half.dat").write_bytes(b"half")
    with generations.writing() as generation:
        assert not left.parent.exists()
        assert {path.name for path in (folder / "generations").iterdir()} == {published, generation}


def test_a_draft_that_was_sealed_but_not_published_does_not_count(
    write: Write, generations: Generations, folder: Path, blank: Manifest
) -> None:
    published = write()
    with generations.writing() as generation:
        generations.seal(generation, blank)
        assert generations.kept() == [published]
    assert not (folder / "generations" / generation).exists()


@pytest.mark.parametrize("harm", ["missing", "cut", "longer", "changed"])
@pytest.mark.parametrize("name", ["segment/vectors.dat", "config.json"])
def test_any_harm_to_a_file_is_noticed(write: Write, generations: Generations, harm: str, name: str) -> None:
    file = generations.shard(write()) / name
    content = file.read_bytes()
    if harm == "missing":
        file.unlink()
    else:
        file.write_bytes({"cut": content[:-1], "longer": content + b"\0", "changed": b"x" + content[1:]}[harm])
    with pytest.raises(DamagedIndex, match="Index the book again"):
        opened(generations)


@pytest.mark.parametrize("content", [b"", b"..", b"../../etc\n", b"\xff\xfe", b"20250101T000000000000Z-abcdef\nx\n"])
def test_a_current_that_names_no_generation_is_damage(
    write: Write, generations: Generations, folder: Path, content: bytes
) -> None:
    write()
    (folder / "current").write_bytes(content)
    with pytest.raises(DamagedIndex, match="current"):
        generations.current()


def test_a_current_that_names_a_missing_generation_is_damage(
    write: Write, generations: Generations, folder: Path
) -> None:
    write()
    (folder / "current").write_text(f"{new_id()}\n")
    with pytest.raises(DamagedIndex, match="Index the book again"):
        opened(generations)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"format": 1}', b'{"format": "1"}', b"\xff"])
def test_a_manifest_that_cannot_be_read_is_damage(write: Write, generations: Generations, content: bytes) -> None:
    (generations.shard(write()).parent / "manifest.json").write_bytes(content)
    with pytest.raises(DamagedIndex, match="Index the book again"):
        opened(generations)


@pytest.mark.parametrize("name", ["/etc/hostname", "../../../../outside"])
def test_a_manifest_that_points_outside_is_damage(write: Write, generations: Generations, name: str) -> None:
    file = generations.shard(write()).parent / "manifest.json"
    content = json.loads(file.read_text())
    content["files"][name] = "0"
    file.write_text(json.dumps(content))
    with pytest.raises(DamagedIndex, match=r"manifest\.json"):
        opened(generations)


@pytest.mark.parametrize(("number", "advice"), [(2, "newer Bookbound"), (0, "older Bookbound")])
def test_another_format_is_told_apart_from_damage(
    write: Write, generations: Generations, number: int, advice: str
) -> None:
    file = generations.shard(write()).parent / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": number, "added later": True}))
    with pytest.raises(IndexTrouble, match=advice) as raised:
        opened(generations)
    assert not isinstance(raised.value, DamagedIndex)


def test_a_damaged_index_can_be_written_anew(write: Write, generations: Generations, folder: Path) -> None:
    write()
    (folder / "current").write_bytes(b"\xff")
    assert write() == generations.current()
    assert len(opened(generations)) == 2
    assert len(list((folder / "generations").iterdir())) == 1


def test_a_reader_that_has_no_room_is_told_to_make_some(
    write: Write, generations: Generations, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write()
    monkeypatch.setenv("TMPDIR", "set")
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path / "nowhere"))
    with pytest.raises(BadSetup, match="TMPDIR"):
        opened(generations)


def test_memory_is_used_where_there_is_enough_and_no_other_place_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(files, "MEMORY", tmp_path)
    assert files.in_memory(1) == tmp_path
    assert files.in_memory(1 << 60) is None
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    assert files.in_memory(1) is None
    monkeypatch.delenv("TMPDIR")
    monkeypatch.setattr(files, "MEMORY", tmp_path / "nowhere")
    assert files.in_memory(1) is None
