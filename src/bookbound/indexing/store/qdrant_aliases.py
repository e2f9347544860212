"""Manages the aliases that say which generation of a book is a draft, published, or withdrawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qdrant_client import models

from bookbound.domain.errors import BookboundError, ConfigError, ServiceUnreachableError
from bookbound.indexing.store.index_format import is_generation_id
from bookbound.indexing.store.qdrant_client import SERVICE, QdrantConnection


class QdrantAliases:
    """Names the collections of one book.

    One alias, the name of the book, points to the published collection. Another says of each collection whether it is
    a draft, was published, or was withdrawn by a rollback. Publishing renames that alias, so a request that the server
    carries out late or a second time fails and changes nothing.
    """

    def __init__(self, connection: QdrantConnection, book: str) -> None:
        self._connection = connection
        self._book = book

    def collection(self, generation: str) -> str:
        return f"{self._book}-{generation}"

    async def check_name(self) -> None:
        """Refuses the name of a book that something else on the server has."""
        collections = (await self._connection.call(lambda client: client.get_collections())).collections
        foreign = {alias for alias, collection in await self._list_aliases() if not self._generation(collection)}
        if self._book in foreign | {each.name for each in collections}:
            raise ConfigError(
                "Something else on the Qdrant server has this name. Choose another in the setting `qdrant_collection`."
            )

    async def books(self) -> list[str]:
        """Returns the names of other published books, without the prefix of this book's name and a dot."""
        prefix, found = f"{self._book}.", set[str]()
        for alias, collection in await self._list_aliases():
            before, _, generation = collection.partition(f"{alias}-")
            if alias.startswith(prefix) and not before and is_generation_id(generation):
                found.add(alias.removeprefix(prefix))
        return sorted(found)

    async def generations(self) -> list[str]:
        """Returns all generations, published or not."""
        collections = (await self._connection.call(lambda client: client.get_collections())).collections
        return [generation for each in collections if (generation := self._generation(each.name))]

    async def published_generation(self) -> str:
        """Returns the published generation, or an empty string."""
        return (await self._aliases()).get(self._book, "")

    async def list_kept(self) -> list[str]:
        """Returns the kept generations: the published one, then the older ones, newest first."""
        aliases = await self._aliases()
        published = aliases.get(self._book)
        marked = {generation for alias, generation in aliases.items() if alias == self._published(generation)}
        older = sorted(marked - {published}, reverse=True)
        return [published, *older] if published else older

    async def mark_draft(self, generation: str) -> None:
        """Gives a new collection the alias that publishing renames."""
        await self._change([_create_alias(self._draft(generation), self.collection(generation))])

    async def publish(self, generation: str) -> None:
        """Makes a draft the published generation, in one step and at most once."""
        steps: list[models.AliasOperations] = [
            _rename_alias(self._draft(generation), self._published(generation)),
            _create_alias(self._book, self.collection(generation)),
        ]
        try:
            await self._change(steps)
        except BookboundError:
            if await self._is_cancelled(generation):
                raise

    async def roll_back(self, generation: str, newer: Sequence[str]) -> None:
        """Makes an earlier generation the published one and withdraws the newer ones, in one step."""
        withdrawals = [_rename_alias(self._published(each), f"{self.collection(each)}-withdrawn") for each in newer]
        switch = _create_alias(self._book, self.collection(generation))
        steps: list[models.AliasOperations] = [*withdrawals[:1], switch, *withdrawals[1:]]
        await self._change(steps, is_done=lambda aliases: aliases.get(self._book) == generation)

    async def cancel_draft(self, generation: str) -> bool:
        """Takes away the alias that publishing needs; returns whether the draft is not published and never will be."""
        draft = self._draft(generation)
        if draft in await self._aliases():
            deletion = models.DeleteAlias(alias_name=draft)
            await self._change([models.DeleteAliasOperation(delete_alias=deletion)])
        aliases = await self._aliases()
        return not {draft, self._published(generation)} & aliases.keys() and aliases.get(self._book) != generation

    async def _is_cancelled(self, generation: str) -> bool:
        """Cancels a draft whose publishing failed, and returns False if it was published all the same."""
        try:
            is_cancelled = await self.cancel_draft(generation)
            if is_cancelled or await self.published_generation() == generation:
                return is_cancelled
        except BookboundError:
            pass
        raise ServiceUnreachableError(
            "Qdrant did not confirm the new generation, so it may or may not be published. "
            "When the server answers again, `bookbound status` shows which generation is published.",
            service=SERVICE,
        )

    async def _change(
        self,
        steps: Sequence[models.AliasOperations],
        is_done: Callable[[dict[str, str]], bool] = lambda _: False,
    ) -> None:
        try:
            await self._connection.call(lambda client: client.update_collection_aliases(steps))
        except BookboundError:  # the server may have done it at the first attempt, whose reply was lost
            if not is_done(await self._aliases()):
                raise

    def _draft(self, generation: str) -> str:
        return f"{self.collection(generation)}-draft"

    def _published(self, generation: str) -> str:
        return f"{self.collection(generation)}-published"

    async def _aliases(self) -> dict[str, str]:
        """Returns each alias of this book's generations, with the generation it points to."""
        aliases = {alias: self._generation(collection) for alias, collection in await self._list_aliases()}
        return {alias: generation for alias, generation in aliases.items() if generation}

    async def _list_aliases(self) -> list[tuple[str, str]]:
        aliases = (await self._connection.call(lambda client: client.get_aliases())).aliases
        return [(alias.alias_name, alias.collection_name) for alias in aliases]

    def _generation(self, collection: str) -> str:
        """Returns the generation in a collection of this book, or an empty string."""
        generation = collection.removeprefix(self.collection(""))
        return generation if is_generation_id(generation) and collection == self.collection(generation) else ""


def _create_alias(alias: str, collection: str) -> models.CreateAliasOperation:
    """Creates an alias, or points an existing one to another collection."""
    return models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=collection, alias_name=alias))


def _rename_alias(old: str, new: str) -> models.RenameAliasOperation:
    return models.RenameAliasOperation(rename_alias=models.RenameAlias(old_alias_name=old, new_alias_name=new))
