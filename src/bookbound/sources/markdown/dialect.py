"""Describes the Markdown dialects of the site generators."""

from __future__ import annotations

from dataclasses import dataclass

from bookbound.sources.slugs import GITHUB_SLUGS, GOLDMARK_SLUGS, MDBOOK_SLUGS, PYTHON_MARKDOWN_SLUGS, SlugRule


@dataclass(frozen=True, slots=True)
class MarkdownDialect:
    """How a site reads its Markdown.

    `has_code_language` says that inline code can name its language. `hidden_pattern` matches what the site does not
    show, apart from groups whose names begin with `kept`. `hidden_prefixes` are the beginnings of hidden code lines, by
    language.
    """

    has_imports: bool = False
    has_expressions: bool = False
    has_indented_code: bool = True
    has_title_anchor: bool = True
    has_templates: bool = True
    has_definition_lists: bool = False
    has_code_language: bool = False
    slug_rule: SlugRule = GITHUB_SLUGS
    hidden_pattern: str = ""
    hidden_prefixes: tuple[tuple[str, str], ...] = ()


# Attributes on a separate line or, if they name a class or an anchor, at the end of a heading.
_ATTRIBUTES = (
    r"(?<=\n)[ \t]*+\{:?[ \t]*+(?:[.\#][\w-]|[\w-]++=)[^{}\n]*+\}[ \t]*$"
    r"|(?<=[ \t])\{:?[ \t]*+[.\#][\w-][^{}\n]*+\}[ \t]*$"
)
_ICONS = r":(?:material|octicons|fontawesome|simple)-[\w-]++:(?:\{[^{}\n]*+\})?"
_KEYBOARD_KEY = r"(?:[\w-]++|\"[^\"\n]*+\")"
_KEYBOARD_KEYS = rf"(?<![\w+])\+\+(?P<kept_keys>{_KEYBOARD_KEY}(?:\+{_KEYBOARD_KEY})*+)\+\+(?!\w)"
# The options of a block between slashes are on the indented lines below its name.
_BLOCK_OPTIONS = r"^(?P<kept_block>[ \t]*+/{3,}[ \t]*+[A-Za-z][^\n]*\n)(?:[ ]{4}[ \t]*+[\w-]++:[^\n]*+\n)++"
_ABBREVIATIONS = r"^\*\[[^\]\n]++\]:[^\n]*+$"
# References that are numbers in the built book, and tables of contents.
_REFERENCES = r":(?:numref|eqref|cite[tp]?):`[^`\n]*+`|^```toc[ \t]*\n(?:(?!```)[^\n]*\n)*```[ \t]*$"
PLAIN_MARKDOWN = MarkdownDialect(hidden_pattern=_REFERENCES)
PLAIN_MDX = MarkdownDialect(has_imports=True, has_indented_code=False)
DOCUSAURUS_MARKDOWN = MarkdownDialect(
    has_imports=True, has_expressions=True, has_indented_code=False, has_title_anchor=False
)
MKDOCS_MARKDOWN = MarkdownDialect(
    slug_rule=PYTHON_MARKDOWN_SLUGS,
    has_definition_lists=True,
    hidden_pattern=rf"^\[TOC\][ \t]*$|{_ABBREVIATIONS}|{_ICONS}|{_KEYBOARD_KEYS}|{_BLOCK_OPTIONS}|{_ATTRIBUTES}",
)
HIDDEN_BY_EXTENSION = {
    "pymdownx.critic": r"\{(?:\+\+|--|~~|==|>>)|(?:\+\+|--|~~|==|<<)\}|~>",
    "pymdownx.mark": r"(?<![=\w])==(?=[^\s=])|(?<=[^\s=])==(?![=\w])",
    "pymdownx.caret": r"(?<!\^)\^(?P<kept_up>[^\s^]++)\^(?!\^)|(?<![\^\w])\^\^(?=[^\s^])|(?<=[^\s^])\^\^(?![\^\w])",
    "pymdownx.tilde": r"(?<!~)~(?P<kept_down>[^\s~]++)~(?!~)",
    "pymdownx.emoji": r"(?<![\w:]):[a-z][a-z0-9_+-]*+:(?![\w:])(?:\{[^{}\n]*+\})?",
}
"""What extensions of Python-Markdown do not show, by their names."""
MDBOOK_MARKDOWN = MarkdownDialect(
    slug_rule=MDBOOK_SLUGS,
    has_templates=False,
    has_definition_lists=True,
    hidden_pattern=_ATTRIBUTES,
    hidden_prefixes=(("rust", "#"),),
)
HUGO_MARKDOWN = MarkdownDialect(slug_rule=GOLDMARK_SLUGS, has_definition_lists=True, hidden_pattern=_ATTRIBUTES)
