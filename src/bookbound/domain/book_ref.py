"""Defines the reference to one edition of one book."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextvars import ContextVar
from typing import NamedTuple, Self

from bookbound.domain.errors import InvalidInputError

ALL_BOOKS = "all"
"""What stands for every book at once."""
_VALID_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class BookRef(NamedTuple):
    """One edition of one book; the only book of an index needs no name, and the only edition of a book none either."""

    book: str = ""
    edition: str = ""

    def __str__(self) -> str:
        return f"{self.book}@{self.edition}" if self.edition else self.book

    @property
    def options(self) -> str:
        """What names it on the command line."""
        named = {"--book": self.book, "--edition": self.edition}
        return " ".join(f"{option} {name}" for option, name in named.items() if name)

    @classmethod
    def named(cls, text: str) -> Self:
        """The volume that `name`, `name@edition` or `@edition` stands for."""
        book, _, edition = text.partition("@")
        return cls(book, edition).checked()

    def checked(self) -> Self:
        """The same, if its names can stand in an address and name a folder."""
        if any(part and not _VALID_NAME.fullmatch(part) for part in self):
            raise InvalidInputError(
                "The name of a book or edition has letters, digits, dots, dashes and underscores, 64 at most, "
                "and begins with a letter or a digit."
            )
        return self

    def holds(self, other: BookRef) -> bool:
        """Whether this name means the other as well: `all` means every volume, and a book each of its editions."""
        return self.book == ALL_BOOKS or (self.book == other.book and self.edition in ("", other.edition))


UNNAMED_EDITION_LABEL = "the one without a name"
"""What an edition is called that has no name."""
UNNAMED_BOOK = BookRef()
"""The book that was indexed without a name."""


def find_newest_edition(volumes: Iterable[BookRef]) -> BookRef | None:
    """The first of them by edition, if there is any."""
    return next(iter(sort_newest_first(volumes)), None)


def sort_newest_first(volumes: Iterable[BookRef]) -> list[BookRef]:
    """The volumes by edition, the highest first by the numbers in its name; one without an edition is the last."""
    return sorted(volumes, key=lambda volume: (bool(volume.edition), _version_sort_key(volume.edition)), reverse=True)


def _version_sort_key(edition: str) -> tuple[tuple[int, int, str], ...]:
    parts = re.split(r"(\d+)", edition)
    found = [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts if part not in ("", ".")]
    return (*found, (0, 1, ""))  # so that 2.0-rc1 comes before 2.0, and 2.0.1 after it


CURRENT_BOOK_REF: ContextVar[BookRef | None] = ContextVar("reading", default=None)
"""The volume that the question being worked on was put to; whoever takes a request in says so here."""
