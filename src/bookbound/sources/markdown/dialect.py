"""Describes the Markdown dialects of the site generators."""

from __future__ import annotations

from dataclasses import dataclass

from bookbound.sources.slugs import GITHUB_SLUGS, GOLDMARK_SLUGS, MDBOOK_SLUGS, PYTHON_MARKDOWN_SLUGS, SlugRule


@dataclass(frozen=True, slots=True)
class MarkdownDialect:
    """How a site reads its Markdown.

    `unseen` is a pattern of what it does not show but for its groups `kept`, `templates` whether it fills in braces,
    `definitions` whether a colon opens one, `languages` whether code in a line may name its own, and `hidden` what
    begins the lines of code that it hides, by language.
    """

    modules: bool = False
    expressions: bool = False
    indented_code: bool = True
    title_anchor: bool = True
    templates: bool = True
    definitions: bool = False
    languages: bool = False
    rule: SlugRule = GITHUB_SLUGS
    unseen: str = ""
    hidden: tuple[tuple[str, str], ...] = ()


# Attributes on a line of their own or, if they name a class or an anchor, at the end of a heading.
_ATTRIBUTES = (
    r"(?<=\n)[ \t]*+\{:?[ \t]*+(?:[.\#][\w-]|[\w-]++=)[^{}\n]*+\}[ \t]*$"
    r"|(?<=[ \t])\{:?[ \t]*+[.\#][\w-][^{}\n]*+\}[ \t]*$"
)
_ICONS = r":(?:material|octicons|fontawesome|simple)-[\w-]++:(?:\{[^{}\n]*+\})?"
_KEYBOARD_KEY = r"(?:[\w-]++|\"[^\"\n]*+\")"
_KEYBOARD_KEYS = rf"(?<![\w+])\+\+(?P<kept_keys>{_KEYBOARD_KEY}(?:\+{_KEYBOARD_KEY})*+)\+\+(?!\w)"
# The options of a block between slashes stand on the indented lines below its name.
_BLOCK_OPTIONS = r"^(?P<kept_block>[ \t]*+/{3,}[ \t]*+[A-Za-z][^\n]*\n)(?:[ ]{4}[ \t]*+[\w-]++:[^\n]*+\n)++"
_ABBREVIATIONS = r"^\*\[[^\]\n]++\]:[^\n]*+$"
# References that are numbers in the built book, and tables of contents.
_REFERENCES = r":(?:numref|eqref|cite[tp]?):`[^`\n]*+`|^```toc[ \t]*\n(?:(?!```)[^\n]*\n)*```[ \t]*$"
PLAIN_MARKDOWN = MarkdownDialect(unseen=_REFERENCES)
PLAIN_MDX = MarkdownDialect(modules=True, indented_code=False)
DOCUSAURUS_MARKDOWN = MarkdownDialect(modules=True, expressions=True, indented_code=False, title_anchor=False)
MKDOCS_MARKDOWN = MarkdownDialect(
    rule=PYTHON_MARKDOWN_SLUGS,
    definitions=True,
    unseen=rf"^\[TOC\][ \t]*$|{_ABBREVIATIONS}|{_ICONS}|{_KEYBOARD_KEYS}|{_BLOCK_OPTIONS}|{_ATTRIBUTES}",
)
# What extensions of Python-Markdown do not show, by their names.
HIDDEN_BY_EXTENSION = {
    "pymdownx.critic": r"\{(?:\+\+|--|~~|==|>>)|(?:\+\+|--|~~|==|<<)\}|~>",
    "pymdownx.mark": r"(?<![=\w])==(?=[^\s=])|(?<=[^\s=])==(?![=\w])",
    "pymdownx.caret": r"(?<!\^)\^(?P<kept_up>[^\s^]++)\^(?!\^)|(?<![\^\w])\^\^(?=[^\s^])|(?<=[^\s^])\^\^(?![\^\w])",
    "pymdownx.tilde": r"(?<!~)~(?P<kept_down>[^\s~]++)~(?!~)",
    "pymdownx.emoji": r"(?<![\w:]):[a-z][a-z0-9_+-]*+:(?![\w:])(?:\{[^{}\n]*+\})?",
}
MDBOOK_MARKDOWN = MarkdownDialect(
    rule=MDBOOK_SLUGS, templates=False, definitions=True, unseen=_ATTRIBUTES, hidden=(("rust", "#"),)
)
HUGO_MARKDOWN = MarkdownDialect(rule=GOLDMARK_SLUGS, definitions=True, unseen=_ATTRIBUTES)
