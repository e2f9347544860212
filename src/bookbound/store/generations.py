"""The folder of an index: generations side by side, and one small file that says which is published.

    generations/<id>/shard/          the engine's own files
    generations/<id>/manifest.json   what the index says of itself, and a fingerprint of each of those files
    current                          the ids of the generations kept, the published one first
    lock                             held by whoever writes

Only what `current` names counts. It changes in one step, after all it names is on the disk, so a kill at any moment
leaves the old generation published or the new one; whatever else lies in `generations` is the next writer's to remove.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from bookbound.book import Manifest
from bookbound.errors import BadSetup, DamagedIndex, IndexBusy, NoIndex
from bookbound.store import files, records

KEPT = 3
NOTHING_YET = "Nothing has been indexed here yet. Index a book first: bookbound index SOURCE"
_ID = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{6}")


def new_id(age: timedelta = timedelta()) -> str:
    """A name for a generation that sorts by the time it was begun: now, or `age` ago."""
    return f"{datetime.now(UTC) - age:%Y%m%dT%H%M%S%fZ}-{os.urandom(3).hex()}"


def is_id(name: str) -> bool:
    """Whether `new_id` could have given this name."""
    return _ID.fullmatch(name) is not None


class Generations:
    """The generations in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._all = folder / "generations"
        self._current = folder / "current"

    def kept(self) -> list[str]:
        """The ids of the generations that are kept, the published one first."""
        try:
            names = self._current.read_text(encoding="ascii").split()
        except FileNotFoundError:
            return []
        except UnicodeDecodeError:
            names = []
        if not names or not all(map(is_id, names)):
            raise _damaged("current")
        return names

    def current(self) -> str:
        """The id of the published generation."""
        if names := self.kept():
            return names[0]
        raise NoIndex(NOTHING_YET)

    def shard(self, generation: str) -> Path:
        """Where the engine's files of a generation lie."""
        return self._all / generation / "shard"

    def manifest(self, generation: str) -> Manifest:
        """What a generation says of itself."""
        return self._sealed(generation)[0]

    @contextmanager
    def writing(self) -> Iterator[str]:
        """Be the only writer and begin a generation, which is gone again at the end unless it was published."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if not (unwatched := self._folder / ".gitignore").exists():
            unwatched.write_text("*\n")
        with (self._folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise IndexBusy(
                    "Another process is writing this index. Wait until it has finished, or stop it, and try again."
                ) from None
            self._sweep()
            generation = new_id()
            self.shard(generation).mkdir(parents=True)
            try:
                yield generation
            finally:
                self._sweep()

    def seal(self, generation: str, manifest: Manifest) -> Manifest:
        """Bring a finished generation to the disk, with a manifest that tells each of its files by its content."""
        shard = self.shard(generation)
        files.settle_tree(shard)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        sealed = replace(manifest, generation=generation, created=created)
        prints = {
            path.relative_to(shard).as_posix(): files.fingerprint(path)
            for path in sorted(shard.rglob("*"))
            if path.is_file()
        }
        content = json.dumps(records.dump(sealed) | {"files": prints}, ensure_ascii=False, indent=1)
        files.replace(shard.parent / "manifest.json", content.encode())
        files.settle(self._all)
        return sealed

    def publish(self, generation: str) -> None:
        """Make a sealed generation, in one step, the one that readers open."""
        names = [generation, *(name for name in self._still_kept() or [] if name != generation)]
        files.replace(self._current, "".join(f"{name}\n" for name in names[:KEPT]).encode())

    @contextmanager
    def copied(self, generation: str) -> Iterator[tuple[Path, Manifest]]:
        """A copy of a generation's files for the length of a block, each of them found as it was sealed."""
        manifest, prints = self._sealed(generation)
        plenty = manifest.chunks * (8 * manifest.dimension + 8192)
        try:
            with TemporaryDirectory(prefix="bookbound-", dir=files.in_memory(plenty)) as room:
                for name, expected in prints.items():
                    self._copy(self.shard(generation) / name, Path(room) / name, expected)
                yield Path(room), manifest
        except OSError as trouble:
            raise BadSetup(
                f"The index could not be copied for reading ({trouble.strerror}). "
                "Make room in the folder for temporary files, or name another in TMPDIR."
            ) from trouble

    def _copy(self, source: Path, target: Path, expected: str) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            found = files.fingerprint(source, target)
        except FileNotFoundError:
            found = ""
        if found != expected:
            raise _damaged(source.name)

    def _sealed(self, generation: str) -> tuple[Manifest, dict[str, str]]:
        try:
            manifest, rest = records.load((self._all / generation / "manifest.json").read_bytes())
        except FileNotFoundError:
            raise _damaged("manifest.json") from None
        prints = rest.get("files")
        if not isinstance(prints, dict) or not all(map(_inside, prints)) or manifest.generation != generation:
            raise _damaged("manifest.json")
        return manifest, prints

    def _still_kept(self) -> list[str] | None:
        """What `current` names, for a writer, who may well be here because that file is damaged."""
        try:
            return self.kept()
        except DamagedIndex:
            return None

    def _sweep(self) -> None:
        """Remove what no `current` will name again: the drafts of dead writers, and generations past their time."""
        kept = self._still_kept()
        if kept is None or not self._all.is_dir():
            return
        for folder in self._all.iterdir():
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _damaged(name: str) -> DamagedIndex:
    return DamagedIndex(f"The index is damaged: {name} is missing or not as it was written. Index the book again.")
