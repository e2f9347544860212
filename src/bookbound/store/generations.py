"""The folder of an index: generations side by side, and one small file that says which is published.

    generations/<id>/shard/          the engine's own files
    generations/<id>/manifest.json   what the index says of itself, and a fingerprint of each of those files
    current                          the seals of the generations kept, the published one first
    lock                             held by whoever writes
    books/<name>/                    the same again for another book

Only what `current` names counts. It changes in one step, after all it names is on the disk, so a kill at any moment
leaves the old generation published or the new one; whatever else lies in `generations` is the next writer's to remove.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from bookbound.errors import DamagedIndex, IndexTrouble, NoIndex
from bookbound.manifest import Manifest
from bookbound.store import files, records
from bookbound.store.claim import claimed, is_generation
from bookbound.store.naming import KEPT, NO_EARLIER, NOTHING_YET, is_id, new_id
from bookbound.store.rooms import filled

_LINE = re.compile(r"(\S+)(?: ([0-9a-f]{64}))?")


class Seal(NamedTuple):
    """A finished generation: its id, and the hash of its manifest, which has a fingerprint of every other file."""

    generation: str
    hash: str

    def __str__(self) -> str:
        return f"{self.generation} {self.hash}".rstrip()


class Generations:
    """The generations in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._all = folder / "generations"
        self._current = folder / "current"

    def books(self) -> list[str]:
        """The names of the books whose folders stand in this one."""
        return sorted(path.parent.name for path in self._folder.glob("books/*/current"))

    def kept(self) -> list[Seal]:
        """The generations that are kept, the published one first."""
        with _reading("current"):
            if not self._current.exists():
                return []
            lines = self._current.read_bytes().decode("ascii", "replace").splitlines()
        found = [match for line in lines if (match := _LINE.fullmatch(line)) and is_id(match[1])]
        if not lines or len(found) < len(lines):
            raise _damaged("current")
        return [Seal(match[1], match[2] or "") for match in found]

    def current(self) -> Seal:
        """The published generation."""
        if seals := self.kept():
            return seals[0]
        raise NoIndex(NOTHING_YET)

    def shard(self, generation: str) -> Path:
        """Where the engine's files of a generation lie."""
        return self._all / generation / "shard"

    def manifest(self, seal: Seal) -> Manifest:
        """What a generation says of itself."""
        return self._sealed(seal)[0]

    @contextmanager
    def writing(self) -> Iterator[str]:
        """Be the only writer and begin a generation, which is gone again at the end unless it was published."""
        with claimed(self._folder):
            self._sweep()
            generation = new_id()
            with files.writing():
                self.shard(generation).mkdir(parents=True)
            try:
                yield generation
            finally:
                self._sweep()

    def seal(self, generation: str, manifest: Manifest) -> Seal:
        """Bring a finished generation to the disk, with a manifest that tells each of its files by its content."""
        shard = self.shard(generation)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        sealed = replace(manifest, generation=generation, created=created)
        with files.writing():
            files.settle_tree(shard)
            prints = {
                path.relative_to(shard).as_posix(): files.fingerprint(path)
                for path in sorted(shard.rglob("*"))
                if path.is_file()
            }
            content = json.dumps(records.dump(sealed) | {"files": prints}, ensure_ascii=False, indent=1).encode()
            files.replace(shard.parent / "manifest.json", content)
            files.settle(self._all)
        return Seal(generation, hashlib.sha256(content).hexdigest())

    def publish(self, seal: Seal) -> None:
        """Make a sealed generation, in one step, the one that readers open."""
        older = [each for each in self._still_kept() or [] if each != seal and self._is_whole(each)]
        self._name([seal, *older][:KEPT])

    def roll_back(self) -> Seal:
        """Withdraw the published generation, in one step, for the last one before it that is whole."""
        self.current()
        with claimed(self._folder):
            older = [each for each in self.kept()[1:] if self._is_whole(each)]
            if not older:
                raise IndexTrouble(NO_EARLIER)
            self._name(older)
            return older[0]

    @contextmanager
    def copied(self, seal: Seal) -> Iterator[tuple[Path, Manifest]]:
        """A copy of a generation's files for the length of a block, each of them found as it was sealed."""
        manifest, prints = self._sealed(seal)

        def fill(room: Path) -> None:
            for name, expected in prints.items():
                with _reading(name):
                    if files.fingerprint(self.shard(seal.generation) / name, room / name) != expected:
                        raise _damaged(name)

        with filled(fill) as room:
            yield room, manifest

    def _sealed(self, seal: Seal) -> tuple[Manifest, dict[str, str]]:
        with _reading("manifest.json"):
            content = (self._all / seal.generation / "manifest.json").read_bytes()
        # Read before its hash is compared: an index of another format is told as such, and not as damage.
        manifest, rest = records.load(content)
        prints = rest.get("files")
        if (
            hashlib.sha256(content).hexdigest() != seal.hash
            or manifest.generation != seal.generation
            or not isinstance(prints, dict)
            or not all(map(_inside, prints))
        ):
            raise _damaged("manifest.json")
        return manifest, prints

    def _name(self, seals: Sequence[Seal]) -> None:
        with files.writing():
            files.replace(self._current, "".join(f"{seal}\n" for seal in seals).encode())

    def _is_whole(self, seal: Seal) -> bool:
        """Whether a generation's manifest is as it was sealed, in the format of this version."""
        try:
            return bool(self._sealed(seal))
        except IndexTrouble:
            return False

    def _still_kept(self) -> list[Seal] | None:
        """What `current` names, for a writer, who may well be here because that file is damaged."""
        try:
            return self.kept()
        except DamagedIndex:
            return None

    def _sweep(self) -> None:
        """Remove what no `current` will name again: the drafts of dead writers, and generations past their time."""
        seals = self._still_kept()
        if seals is None or not self._all.is_dir():
            return
        kept = {seal.generation for seal in seals}
        for folder in self._all.iterdir():
            if folder.name not in kept and is_generation(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _inside(name: str) -> bool:
    """Whether a file of this name can only lie in the folder it is looked for in."""
    path = PurePosixPath(name)
    return name.isascii() and name.isprintable() and not path.is_absolute() and ".." not in path.parts


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Within this block a file that is gone is damage, and one that cannot be read is told with the reason."""
    try:
        yield
    except FileNotFoundError:
        raise _damaged(name) from None
    except OSError as trouble:
        raise IndexTrouble(
            f"The index cannot be read: {name} ({trouble.strerror}). Check the rights and the disk of its folder."
        ) from trouble


def _damaged(name: str) -> DamagedIndex:
    return DamagedIndex(f"The index is damaged: {name} is missing or not as it was written. Index the book again.")
