"""What stands on a Qdrant server under the name of one book: its collections, and the aliases they go by."""

from __future__ import annotations

from collections.abc import Sequence

from bookbound.errors import BadSetup
from bookbound.store.naming import is_id
from bookbound.store.qdrant_line import Line

TAKEN = "Something else on the Qdrant server has this name. Choose another in the setting `qdrant_collection`."


class Names:
    """One alias stands for the book and names the published collection.

    Another, the mark, stays with each collection that was published and not withdrawn.
    """

    def __init__(self, line: Line, book: str) -> None:
        self._line = line
        self._book = book

    def collection(self, generation: str) -> str:
        return f"{self._book}-{generation}"

    async def check_free(self) -> None:
        """Refuse the name of a book that stands for anything else."""
        collections = (await self._line.ask(lambda client: client.get_collections())).collections
        aliases = (await self._line.ask(lambda client: client.get_aliases())).aliases
        foreign = {each.alias_name for each in aliases if not self._generation(each.collection_name)}
        if self._book in foreign | {each.name for each in collections}:
            raise BadSetup(TAKEN)

    async def books(self) -> list[str]:
        """What follows this book's name and a dot in the names of others that are published."""
        aliases = (await self._line.ask(lambda client: client.get_aliases())).aliases
        names = {alias.alias_name for alias in aliases if _stands_for(alias.alias_name, alias.collection_name)}
        before = f"{self._book}."
        return sorted(name.removeprefix(before) for name in names if name.startswith(before))

    async def generations(self) -> list[str]:
        """Every generation that is there, published or not."""
        collections = (await self._line.ask(lambda client: client.get_collections())).collections
        return [generation for each in collections if (generation := self._generation(each.name))]

    async def published(self) -> str:
        """The generation that readers open, or nothing."""
        return (await self._aliases()).get(self._book, "")

    async def kept(self) -> list[str]:
        """The generations that are or were published, the published one first, then newest first."""
        aliases = await self._aliases()
        published = aliases.get(self._book)
        marked = {generation for alias, generation in aliases.items() if alias == self._mark(generation)}
        older = sorted(marked - {published}, reverse=True)
        return [published, *older] if published else older

    async def publish(self, generation: str) -> None:
        """Make a generation the published one, in one step."""
        await self._switch(generation, enter=[self._book, self._mark(generation)])

    async def withdraw(self, generations: Sequence[str], earlier: str) -> None:
        """Make an earlier generation the published one, and these none that were, in one step."""
        await self._switch(earlier, enter=[self._book], leave=[*map(self._mark, generations)])

    async def _switch(self, generation: str, enter: Sequence[str], leave: Sequence[str] = ()) -> None:
        from qdrant_client import models

        held = await self._aliases()
        gone = [models.DeleteAlias(alias_name=alias) for alias in (*enter, *leave) if alias in held]
        name = self.collection(generation)
        new = [models.CreateAlias(collection_name=name, alias_name=alias) for alias in enter]
        steps: list[models.AliasOperations] = [
            *(models.DeleteAliasOperation(delete_alias=each) for each in gone),
            *(models.CreateAliasOperation(create_alias=each) for each in new),
        ]
        await self._line.ask(lambda client: client.update_collection_aliases(steps))

    def _mark(self, generation: str) -> str:
        return f"{self.collection(generation)}-published"

    async def _aliases(self) -> dict[str, str]:
        """Each alias of this book's generations, with the generation it stands for."""
        aliases = (await self._line.ask(lambda client: client.get_aliases())).aliases
        named = {alias.alias_name: self._generation(alias.collection_name) for alias in aliases}
        return {alias: generation for alias, generation in named.items() if generation}

    def _generation(self, collection: str) -> str:
        """The generation in a collection of this book, or nothing."""
        generation = collection.removeprefix(self.collection(""))
        return generation if is_id(generation) and collection == self.collection(generation) else ""


def _stands_for(alias: str, collection: str) -> bool:
    """Whether an alias is the name of a book whose published generation is this collection."""
    return collection.startswith(f"{alias}-") and is_id(collection.removeprefix(f"{alias}-"))
