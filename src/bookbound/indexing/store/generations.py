"""Manages the folder of an index: its generations, the published one, and the lock of the only writer.

    generations/<id>/shard/          the engine's files
    generations/<id>/manifest.json   the manifest with a checksum of each of those files
    current                          the kept generations with the hashes of their manifests, the published one first
    lock                             locked by the process that writes
    books/<name>/                    the same layout for another book

Only generations listed in `current` count. It is replaced atomically after everything it lists is on the disk, so a
kill at any moment leaves either the old or the new generation published. The next writer removes everything else."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from bookbound import filesystem
from bookbound.domain.errors import BookIndexError, ConfigError, CorruptIndexError, IndexLockedError, IndexNotFoundError
from bookbound.domain.manifest import Manifest, utc_now
from bookbound.filesystem import temp_copies
from bookbound.indexing.store import index_format
from bookbound.indexing.store.index_format import KEPT_GENERATIONS, is_generation_id

MANIFEST_FILE, SHARD_FOLDER = "manifest.json", "shard"
INDEX_NAMES = {"books/", "generations/", "current", "lock", ".gitignore", "operating-point.json"}
DEMO_FILES = {"demo-book": "demo-book", "demo/": "demo/demo-book"}
"""What Bookbound may have put into a folder before its first index, and the file that proves it."""
SYSTEM_NAMES = {"lost+found/", ".DS_Store"}
"""What operating systems put into otherwise empty folders."""
_CURRENT_LINE = re.compile(r"(\S+) ([0-9a-f]{64})")


class FinishedGeneration(NamedTuple):
    """The folder of a generation, and the hash of its manifest, which contains a checksum of every other file."""

    folder: Path
    hash: str

    @classmethod
    def finish(cls, folder: Path, manifest: Manifest) -> FinishedGeneration:
        """Writes the manifest of the files in the folder, and waits until everything is on the disk."""
        shard = folder / SHARD_FOLDER
        created = utc_now()
        manifest = replace(manifest, generation=folder.name, created=created)
        with index_format.report_write_errors():
            filesystem.sync_tree(shard)
            checksums = {
                path.relative_to(shard).as_posix(): temp_copies.checksum_file(path)
                for path in sorted(shard.rglob("*"))
                if path.is_file()
            }
            values = index_format.dump_manifest(manifest) | {"files": checksums}
            content = json.dumps(values, ensure_ascii=False, indent=1).encode()
            filesystem.write_atomically(folder / MANIFEST_FILE, content)
            filesystem.sync_path(folder.parent)
        return cls(folder, hashlib.sha256(content).hexdigest())

    @property
    def id(self) -> str:
        return self.folder.name

    def is_intact(self) -> bool:
        """Whether this version can read the generation and no file has changed."""
        try:
            self._verify_files(self.read()[1])
        except BookIndexError:
            return False
        return True

    @contextmanager
    def temp_copy(self) -> Iterator[tuple[Path, Manifest]]:
        """Yields a temporary copy of the files, which have all been verified, and the manifest."""
        manifest, checksums = self.read()
        with temp_copies.make_temp_copy(lambda copy: self._verify_files(checksums, copy)) as copy:
            yield copy, manifest

    def read(self) -> tuple[Manifest, dict[str, str]]:
        """Returns the manifest and the checksums of the files."""
        with index_format.report_read_errors(MANIFEST_FILE):
            content = (self.folder / MANIFEST_FILE).read_bytes()
        # Parsed before the hash is compared, so that another format is not reported as damage.
        manifest, rest = index_format.load_manifest(content)
        checksums = rest.get("files")
        if (
            hashlib.sha256(content).hexdigest() != self.hash
            or manifest.generation != self.id
            or not isinstance(checksums, dict)
            or not all(map(_is_safe_name, checksums))
        ):
            raise index_format.damaged_file_error(MANIFEST_FILE)
        return manifest, checksums

    def _verify_files(self, checksums: dict[str, str], copy: Path | None = None) -> None:
        for name, expected in checksums.items():
            with index_format.report_read_errors(name):
                found = temp_copies.checksum_file(self.folder / SHARD_FOLDER / name, copy / name if copy else None)
            if found != expected:
                raise index_format.damaged_file_error(name)


class FolderGenerations:
    """The generations in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._generations, self._current = folder, folder / "generations", folder / "current"

    def books(self) -> list[str]:
        """Returns the names of the other books in this folder."""
        return sorted(path.parent.name for path in self._folder.glob("books/*/current"))

    def list_kept(self) -> list[FinishedGeneration]:
        """Returns the kept generations, the published one first."""
        with index_format.report_read_errors("current"):
            if not self._current.exists():
                return []
            lines = self._current.read_bytes().decode("ascii", "replace").splitlines()
        found = [match for line in lines if (match := _CURRENT_LINE.fullmatch(line)) and is_generation_id(match[1])]
        if not lines or len(found) < len(lines):
            raise index_format.damaged_file_error("current")
        return [FinishedGeneration(self._generations / match[1], match[2]) for match in found]

    def published(self) -> FinishedGeneration:
        """Returns the published generation."""
        if kept := self.list_kept():
            return kept[0]
        raise IndexNotFoundError(index_format.NO_INDEX_MESSAGE)

    def manifests(self) -> list[Manifest]:
        """Returns the manifests of the kept generations, without older ones that cannot be read."""
        found: list[Manifest] = []
        for generation in self.list_kept():
            with suppress(BookIndexError) if found else nullcontext():
                found.append(generation.read()[0])
        return found

    def list_intact(self) -> list[FinishedGeneration]:
        """Returns the newest undamaged generations, as many as are kept next to a new one."""
        return [*islice((each for each in self._readable() or [] if each.is_intact()), KEPT_GENERATIONS - 1)]

    @contextmanager
    def begin(self) -> Iterator[Path]:
        """Locks the index and yields the folder of a new generation, which is removed unless it is published."""
        with self.lock():
            self._remove_unlisted()
            folder = self._generations / index_format.new_generation_id()
            with index_format.report_write_errors():
                (folder / SHARD_FOLDER).mkdir(parents=True)
            try:
                yield folder
            finally:
                self._remove_unlisted()

    def publish(self, generations: Sequence[FinishedGeneration]) -> None:
        """Keeps these generations and publishes the first of them, in one step."""
        lines = (f"{generation.id} {generation.hash}\n" for generation in generations)
        with index_format.report_write_errors():
            filesystem.write_atomically(self._current, "".join(lines).encode())

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Makes this process the only writer in a folder that is new, empty, or already an index."""
        try:
            _prepare_folder(self._folder)
            file = (self._folder / "lock").open("a")
        except OSError as error:
            raise ConfigError(
                f"The folder for the index cannot be used ({error.strerror}). Choose another one: --index FOLDER"
            ) from error
        with file:
            if not filesystem.try_lock(file.fileno()):
                raise IndexLockedError(
                    "Another process is writing this index. Wait until it has finished, or stop it, and try again."
                )
            yield

    def _readable(self) -> list[FinishedGeneration] | None:
        """Returns what `current` lists, or nothing if it is damaged, which a new generation repairs."""
        try:
            return self.list_kept()
        except CorruptIndexError:
            return None

    def _remove_unlisted(self) -> None:
        """Removes the drafts of killed writers and generations that are no longer kept."""
        kept = self._readable()
        if kept is None or not self._generations.is_dir():
            return
        for folder in {*self._generations.iterdir()} - {generation.folder for generation in kept}:
            if is_generation_folder(folder):
                shutil.rmtree(folder, ignore_errors=True)


def is_generation_folder(folder: Path) -> bool:
    """Whether a folder has the name of a generation and contains only the files of one."""
    return (
        is_generation_id(folder.name)
        and folder.is_dir()
        and not folder.is_symlink()
        and _list_names(folder) <= {f"{SHARD_FOLDER}/", MANIFEST_FILE} | SYSTEM_NAMES
    )


def _prepare_folder(folder: Path) -> None:
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    names = _list_names(folder)
    demo = {name for name, proof in DEMO_FILES.items() if (folder / proof).is_file()}
    generations = [is_generation_folder(path) for path in (folder / "generations").glob("*")]
    if not any(generations) and (generations or names - INDEX_NAMES - SYSTEM_NAMES - demo):
        raise ConfigError("The folder for the index contains other files. Choose a new or empty one: --index FOLDER")
    if is_new or (names and names <= demo):
        (folder / ".gitignore").write_text("*\n")


def _list_names(folder: Path) -> set[str]:
    """Returns the names in a folder, with a slash after folders, without files that a kill left half written."""
    names = {f"{path.name}/" if path.is_dir() else path.name for path in folder.iterdir()}
    return {name for name in names if name.endswith("/") or not name.startswith(filesystem.TEMP_PREFIX)}


def _is_safe_name(name: str) -> bool:
    """Whether a relative path cannot leave its folder, also on Windows."""
    is_plain = name.isascii() and name.isprintable() and not {*name} & {*"\\:"}
    return is_plain and not name.startswith("/") and ".." not in name.split("/")
