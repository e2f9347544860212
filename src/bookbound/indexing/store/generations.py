"""Manages the folder of an index: its generations, the published one, and the lock of the only writer.

    generations/<id>/shard/          the engine's files
    generations/<id>/manifest.json   the manifest with a checksum of each of those files
    current                          the kept generations with their checksums, the published one first
    lock                             locked by the process that writes
    books/<name>/                    the same layout for another book

Only generations listed in `current` count. It is replaced atomically after everything it lists is on the disk, so a
kill at any moment leaves either the old or the new generation published. The next writer removes everything else."""

from __future__ import annotations

import fcntl
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import islice
from pathlib import Path

from bookbound import filesystem
from bookbound.domain.errors import BookIndexError, ConfigError, CorruptIndexError, IndexLockedError, IndexNotFoundError
from bookbound.domain.manifest import Manifest
from bookbound.filesystem import TEMP_PREFIX
from bookbound.indexing.store import KEPT_GENERATIONS, NO_INDEX_MESSAGE, is_generation_id, new_generation_id
from bookbound.indexing.store.checksums import (
    SHARD_FOLDER,
    GenerationChecksum,
    copy_generation,
    damaged_file_error,
    finish_generation,
    is_intact,
    read_manifest,
    report_read_errors,
)

_CURRENT_LINE = re.compile(r"(\S+)(?: ([0-9a-f]{64}))?")


class FolderGenerations:
    """The generations in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._all = folder / "generations"
        self._current = folder / "current"

    def books(self) -> list[str]:
        """The names of the books whose folders stand in this one."""
        return sorted(path.parent.name for path in self._folder.glob("books/*/current"))

    def kept(self) -> list[GenerationChecksum]:
        """The generations that are kept, the published one first."""
        with report_read_errors("current"):
            if not self._current.exists():
                return []
            lines = self._current.read_bytes().decode("ascii", "replace").splitlines()
        found = [match for line in lines if (match := _CURRENT_LINE.fullmatch(line)) and is_generation_id(match[1])]
        if not lines or len(found) < len(lines):
            raise damaged_file_error("current")
        return [GenerationChecksum(match[1], match[2] or "") for match in found]

    def current(self) -> GenerationChecksum:
        """The published generation."""
        if seals := self.kept():
            return seals[0]
        raise IndexNotFoundError(NO_INDEX_MESSAGE)

    def shard(self, generation: str) -> Path:
        """Where the engine's files of a generation lie."""
        return self._all / generation / SHARD_FOLDER

    def manifest(self, seal: GenerationChecksum) -> Manifest:
        """What a generation says of itself."""
        return read_manifest(self._all / seal.generation, seal)[0]

    def manifests(self) -> list[Manifest]:
        """What the kept generations say of themselves; older ones that cannot be read are passed over."""
        found: list[Manifest] = []
        for seal in self.kept():
            with suppress(BookIndexError) if found else nullcontext():
                found.append(self.manifest(seal))
        return found

    @contextmanager
    def writing(self) -> Iterator[str]:
        """Be the only writer and begin a generation, which is gone again at the end unless it was published."""
        with lock_for_writing(self._folder):
            self._sweep()
            generation = new_generation_id()
            with filesystem.report_write_errors():
                self.shard(generation).mkdir(parents=True)
            try:
                yield generation
            finally:
                self._sweep()

    def seal(self, generation: str, manifest: Manifest) -> GenerationChecksum:
        """Bring a finished generation to the disk, with a manifest that tells each of its files by its content."""
        return finish_generation(self._all / generation, manifest)

    def whole(self) -> list[GenerationChecksum]:
        """The newest of the kept generations whose files are as they were sealed, as many as stay beside a new one."""
        whole = (seal for seal in self._still_kept() or [] if is_intact(self._all / seal.generation, seal))
        return [*islice(whole, KEPT_GENERATIONS - 1)]

    def publish(self, seal: GenerationChecksum, older: Sequence[GenerationChecksum]) -> None:
        """Make a sealed generation, in one step, the one that readers open, and keep the older ones."""
        self._name([seal, *older])

    @contextmanager
    def withdrawing(self) -> Iterator[list[GenerationChecksum]]:
        """Be the only writer, given the generations that were published before the one that is, newest first."""
        self.current()
        with lock_for_writing(self._folder):
            yield self.kept()[1:]

    def go_back(self, seal: GenerationChecksum) -> None:
        """Make an earlier generation, in one step, the one that readers open; those after it are withdrawn."""
        kept = self.kept()
        self._name(kept[kept.index(seal) :])

    def copied(self, seal: GenerationChecksum) -> AbstractContextManager[tuple[Path, Manifest]]:
        """A copy of a generation's files for the length of a block, each of them found as it was sealed."""
        return copy_generation(self._all / seal.generation, seal)

    def _name(self, seals: Sequence[GenerationChecksum]) -> None:
        with filesystem.report_write_errors():
            filesystem.write_atomically(self._current, "".join(f"{seal}\n" for seal in seals).encode())

    def _still_kept(self) -> list[GenerationChecksum] | None:
        """What `current` names, for a writer, who may well be here because that file is damaged."""
        try:
            return self.kept()
        except CorruptIndexError:
            return None

    def _sweep(self) -> None:
        """Remove what no `current` will name again: the drafts of dead writers, and generations past their time."""
        seals = self._still_kept()
        if seals is None or not self._all.is_dir():
            return
        kept = {seal.generation for seal in seals}
        for folder in self._all.iterdir():
            if folder.name not in kept and is_generation_folder(folder):
                shutil.rmtree(folder, ignore_errors=True)


INDEX_NAMES = {"books/", "generations/", "current", "lock", ".gitignore", "operating-point.json"}
DEMO_FILES = {"demo-book": "demo-book", "demo/": "demo/demo-book"}
"""What Bookbound may have laid into a folder before the first index comes there, and the file to tell it by."""
SYSTEM_NAMES = {"lost+found/", ".DS_Store"}
"""What systems lay into folders that are otherwise empty."""
GENERATION_NAMES = {"shard/", "manifest.json"}


@contextmanager
def lock_for_writing(folder: Path) -> Iterator[None]:
    """Be the only writer in a folder that is new, empty, or an index already."""
    try:
        _prepare_folder(folder)
        lock = (folder / "lock").open("a")
    except OSError as trouble:
        raise ConfigError(
            f"The folder for the index cannot be used ({trouble.strerror}). Choose another one: --index DIR"
        ) from trouble
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise IndexLockedError(
                "Another process is writing this index. Wait until it has finished, or stop it, and try again."
            ) from None
        yield


def is_generation_folder(folder: Path) -> bool:
    """Whether a folder has the name of a generation and holds nothing that none would hold."""
    return (
        is_generation_id(folder.name)
        and folder.is_dir()
        and not folder.is_symlink()
        and _list_names(folder) <= GENERATION_NAMES | SYSTEM_NAMES
    )


def _prepare_folder(folder: Path) -> None:
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    names = _list_names(folder)
    earlier = {name for name, sign in DEMO_FILES.items() if (folder / sign).is_file()}
    generations = [is_generation_folder(path) for path in (folder / "generations").glob("*")]
    if not any(generations) and (generations or names - INDEX_NAMES - SYSTEM_NAMES - earlier):
        raise ConfigError("The folder for the index holds other things. Choose one that is new or empty: --index DIR")
    if new or (names and names <= earlier):
        (folder / ".gitignore").write_text("*\n")


def _list_names(folder: Path) -> set[str]:
    """What is in a folder, with a slash after the names of folders, but for files that a kill left half written."""
    names = {f"{path.name}/" if path.is_dir() else path.name for path in folder.iterdir()}
    return {name for name in names if name.endswith("/") or not name.startswith(TEMP_PREFIX)}
