"""Defines the reference to one edition of one book."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, Self

from bookbound.domain.errors import InvalidInputError

ALL_BOOKS = "all"
"""The name that means every book at once."""
_VALID_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class BookRef(NamedTuple):
    """One edition of one book; a single book needs no name, and a single edition needs none either."""

    book: str = ""
    edition: str = ""

    def __str__(self) -> str:
        return f"{self.book}@{self.edition}" if self.edition else self.book

    @property
    def cli_options(self) -> str:
        """The options that name it on the command line."""
        options = {"--book": self.book, "--edition": self.edition}
        return " ".join(f"{option} {name}" for option, name in options.items() if name)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses `name`, `name@edition` or `@edition`."""
        book, _, edition = text.partition("@")
        return cls(book, edition).validated()

    def validated(self) -> Self:
        """Returns the same reference if its names are valid in URLs and as folder names, else raises an error."""
        if any(name and not _VALID_NAME.fullmatch(name) for name in self):
            rule = "must begin with a letter or digit and have at most 64 letters, digits, dots, dashes and underscores"
            raise InvalidInputError(f"The name of a book or edition {rule}.")
        return self

    def includes(self, other: BookRef) -> bool:
        """Returns whether this reference also means the other: `all` means every book, and a book all its editions."""
        return self.book == ALL_BOOKS or (self.book == other.book and self.edition in ("", other.edition))


UNNAMED_EDITION_LABEL = "the unnamed edition"
"""Shown in place of the name of an edition without one."""
UNNAMED_BOOK = BookRef()
"""The book that was indexed without a name."""


def find_newest_edition(books: Iterable[BookRef]) -> BookRef | None:
    return next(iter(sort_newest_first(books)), None)


def sort_newest_first(books: Iterable[BookRef]) -> list[BookRef]:
    """Returns the books by the numbers in their editions, highest first; one without an edition is last."""
    return sorted(books, key=lambda book: (bool(book.edition), _version_sort_key(book.edition)), reverse=True)


def _version_sort_key(edition: str) -> tuple[tuple[int, int, str], ...]:
    parts = [part for part in re.split(r"(\d+)", edition) if part not in ("", ".")]
    numbers = [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]
    return (*numbers, (0, 1, ""))  # so that 2.0-rc1 comes before 2.0, and 2.0.1 after it
