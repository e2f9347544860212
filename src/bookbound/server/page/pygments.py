"""Highlights code with Pygments."""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

LANGUAGES = frozenset(
    "bash batch c c++ cmake console cpp cs csharp css dart diff docker dockerfile doscon elixir fish go groovy haskell"
    " hcl html html+jinja http ini java javascript jinja js json json5 jsx julia kotlin lua make makefile markdown"
    " matlab md nginx objective-c perl php powershell proto ps1 py pycon python python3 r rb rst ruby rust scala"
    " scss sh shell shell-session sql swift tex toml ts tsx typescript xml yaml yml zsh".split()
)
"""Only these are highlighted; a lexer for a rare language could take very long for a hostile text."""
MAX_CHARS = 20_000
_ALIASES = {"jsonc": "json5", "mdx": "markdown", "rest": "rst"}
_STYLES = {
    "c": ("Token.Comment", "Token.Generic.Prompt"),
    "s": ("Token.Literal.String", "Token.Generic.Inserted"),
    "n": ("Token.Literal.Number",),
    "k": ("Token.Keyword", "Token.Operator.Word", "Token.Name.Tag"),
    "f": ("Token.Name.Function", "Token.Name.Class", "Token.Name.Decorator", "Token.Name.Attribute"),
    "b": ("Token.Name.Builtin", "Token.Name.Variable"),
    "d": ("Token.Generic.Deleted",),
}
"""CSS classes and the beginnings of the names of their tokens; other tokens look like the text around them."""


class StyledCode(NamedTuple):
    """A piece of code, and its CSS class if it is highlighted."""

    text: str
    style: str = ""


@lru_cache(maxsize=1_024)
def highlight_code(text: str, language: str) -> tuple[StyledCode, ...]:
    """Returns the code in pieces, without its last line end; long code, or of an unknown language, is one piece."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")  # as a lexer and a browser read it
    language = _ALIASES.get(language, language)
    if language not in LANGUAGES or len(text) > MAX_CHARS:
        return (StyledCode(text),)
    from pygments.lexers import get_lexer_by_name

    tokens = [*get_lexer_by_name(language, stripnl=False).get_tokens(text)]
    if "".join(value for _, value in tokens) != f"{text}\n":
        return (StyledCode(text),)  # a lexer may drop or change characters, and the book's words come first
    grouped = groupby(tokens, key=lambda token: _find_style(str(token[0])))
    pieces = [StyledCode("".join(value for _, value in group), style) for style, group in grouped]
    return (*pieces[:-1], pieces[-1]._replace(text=pieces[-1].text.removesuffix("\n")))


def _find_style(token: str) -> str:
    return next((style for style, names in _STYLES.items() if token.startswith(names)), "")
