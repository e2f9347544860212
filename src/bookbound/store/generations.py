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

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import islice
from pathlib import Path

from bookbound.errors import DamagedIndex, IndexTrouble, NoIndex
from bookbound.manifest import Manifest
from bookbound.store import files
from bookbound.store.claim import claimed, is_generation
from bookbound.store.naming import KEPT, NOTHING_YET, is_id, new_id
from bookbound.store.seal import SHARD, Seal, copied, damaged, is_whole, opened, reading, sealed

_LINE = re.compile(r"(\S+)(?: ([0-9a-f]{64}))?")


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
        with reading("current"):
            if not self._current.exists():
                return []
            lines = self._current.read_bytes().decode("ascii", "replace").splitlines()
        found = [match for line in lines if (match := _LINE.fullmatch(line)) and is_id(match[1])]
        if not lines or len(found) < len(lines):
            raise damaged("current")
        return [Seal(match[1], match[2] or "") for match in found]

    def current(self) -> Seal:
        """The published generation."""
        if seals := self.kept():
            return seals[0]
        raise NoIndex(NOTHING_YET)

    def shard(self, generation: str) -> Path:
        """Where the engine's files of a generation lie."""
        return self._all / generation / SHARD

    def manifest(self, seal: Seal) -> Manifest:
        """What a generation says of itself."""
        return opened(self._all / seal.generation, seal)[0]

    def manifests(self) -> list[Manifest]:
        """What the kept generations say of themselves; older ones that cannot be read are passed over."""
        found: list[Manifest] = []
        for seal in self.kept():
            with suppress(IndexTrouble) if found else nullcontext():
                found.append(self.manifest(seal))
        return found

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
        return sealed(self._all / generation, manifest)

    def whole(self) -> list[Seal]:
        """The newest of the kept generations whose files are as they were sealed, as many as stay beside a new one."""
        whole = (seal for seal in self._still_kept() or [] if is_whole(self._all / seal.generation, seal))
        return [*islice(whole, KEPT - 1)]

    def publish(self, seal: Seal, older: Sequence[Seal]) -> None:
        """Make a sealed generation, in one step, the one that readers open, and keep the older ones."""
        self._name([seal, *older])

    @contextmanager
    def withdrawing(self) -> Iterator[list[Seal]]:
        """Be the only writer, given the generations that were published before the one that is, newest first."""
        self.current()
        with claimed(self._folder):
            yield self.kept()[1:]

    def go_back(self, seal: Seal) -> None:
        """Make an earlier generation, in one step, the one that readers open; those after it are withdrawn."""
        kept = self.kept()
        self._name(kept[kept.index(seal) :])

    def copied(self, seal: Seal) -> AbstractContextManager[tuple[Path, Manifest]]:
        """A copy of a generation's files for the length of a block, each of them found as it was sealed."""
        return copied(self._all / seal.generation, seal)

    def _name(self, seals: Sequence[Seal]) -> None:
        with files.writing():
            files.replace(self._current, "".join(f"{seal}\n" for seal in seals).encode())

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
