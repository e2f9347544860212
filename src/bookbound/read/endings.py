"""What the files of each kind of book end in, wherever no generator has rules of its own."""

from __future__ import annotations

MARKDOWN = frozenset((".md", ".mdx", ".markdown"))
TEXT = frozenset((".rst", ".txt"))
NOTEBOOKS = frozenset((".ipynb",))
HTML = frozenset((".html", ".htm", ".xhtml"))
EPUB = frozenset((".epub",))
PDF = frozenset((".pdf",))
