"""How the sites read their Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from bookbound.read.headings import GITHUB, GOLDMARK, MDBOOK, PYTHON_MARKDOWN, Rule


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a site reads its Markdown.

    `unseen` is a pattern of what it does not show, `templates` whether it fills in braces, `definitions` whether a
    colon opens one, and `hidden` what begins the lines of code that it hides, by language.
    """

    modules: bool = False
    expressions: bool = False
    indented_code: bool = True
    title_anchor: bool = True
    templates: bool = True
    definitions: bool = False
    rule: Rule = GITHUB
    unseen: str = ""
    hidden: tuple[tuple[str, str], ...] = ()


# Attributes on a line of their own or, if they name a class or an anchor, at the end of a heading.
_ATTRIBUTES = (
    r"(?<=\n)[ \t]*+\{:?[ \t]*+(?:[.\#][\w-]|[\w-]++=)[^{}\n]*+\}[ \t]*$"
    r"|(?<=[ \t])\{:?[ \t]*+[.\#][\w-][^{}\n]*+\}[ \t]*$"
)
_ICONS = r":(?:material|octicons|fontawesome|simple)-[\w-]++:"
_KEYS = r"(?<![\w+])\+\+(?P<kept>[\w\"-]++(?:\+[\w\"-]++)*+)\+\+(?!\w)"
_ABBREVIATIONS = r"^\*\[[^\]\n]++\]:[^\n]*+$"

# References that are numbers in the built book, and tables of contents.
_REFERENCES = r":(?:numref|eqref|cite[tp]?):`[^`\n]*+`|^```toc[ \t]*\n(?:(?!```)[^\n]*\n)*```[ \t]*$"

MARKDOWN = Dialect(unseen=_REFERENCES)
MDX = Dialect(modules=True, indented_code=False)
DOCUSAURUS = Dialect(modules=True, expressions=True, indented_code=False, title_anchor=False)
MKDOCS = Dialect(
    rule=PYTHON_MARKDOWN,
    definitions=True,
    unseen=rf"^\[TOC\][ \t]*$|{_ABBREVIATIONS}|{_ICONS}|{_KEYS}|{_ATTRIBUTES}",
)
MDBOOK_MARKDOWN = Dialect(rule=MDBOOK, templates=False, definitions=True, unseen=_ATTRIBUTES, hidden=(("rust", "#"),))
HUGO = Dialect(rule=GOLDMARK, definitions=True, unseen=_ATTRIBUTES)
