"""How the sites read their Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from bookbound.read.headings import GITHUB, GOLDMARK, MDBOOK, PYTHON_MARKDOWN, Rule


@dataclass(frozen=True, slots=True)
class Dialect:
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
    rule: Rule = GITHUB
    unseen: str = ""
    hidden: tuple[tuple[str, str], ...] = ()


# Attributes on a line of their own or, if they name a class or an anchor, at the end of a heading.
_ATTRIBUTES = (
    r"(?<=\n)[ \t]*+\{:?[ \t]*+(?:[.\#][\w-]|[\w-]++=)[^{}\n]*+\}[ \t]*$"
    r"|(?<=[ \t])\{:?[ \t]*+[.\#][\w-][^{}\n]*+\}[ \t]*$"
)
_ICONS = r":(?:material|octicons|fontawesome|simple)-[\w-]++:(?:\{[^{}\n]*+\})?"
_KEY = r"(?:[\w-]++|\"[^\"\n]*+\")"
_KEYS = rf"(?<![\w+])\+\+(?P<kept_keys>{_KEY}(?:\+{_KEY})*+)\+\+(?!\w)"
# The options of a block between slashes stand on the indented lines below its name.
_OPTIONS = r"^(?P<kept_block>[ \t]*+/{3,}[ \t]*+[A-Za-z][^\n]*\n)(?:[ ]{4}[ \t]*+[\w-]++:[^\n]*+\n)++"
_ABBREVIATIONS = r"^\*\[[^\]\n]++\]:[^\n]*+$"

# References that are numbers in the built book, and tables of contents.
_REFERENCES = r":(?:numref|eqref|cite[tp]?):`[^`\n]*+`|^```toc[ \t]*\n(?:(?!```)[^\n]*\n)*```[ \t]*$"

MARKDOWN = Dialect(unseen=_REFERENCES)
MDX = Dialect(modules=True, indented_code=False)
DOCUSAURUS = Dialect(modules=True, expressions=True, indented_code=False, title_anchor=False)
MKDOCS = Dialect(
    rule=PYTHON_MARKDOWN,
    definitions=True,
    unseen=rf"^\[TOC\][ \t]*$|{_ABBREVIATIONS}|{_ICONS}|{_KEYS}|{_OPTIONS}|{_ATTRIBUTES}",
)
# What extensions of Python-Markdown do not show, by their names.
EXTENSIONS = {
    "pymdownx.critic": r"\{(?:\+\+|--|~~|==|>>)|(?:\+\+|--|~~|==|<<)\}|~>",
    "pymdownx.mark": r"(?<![=\w])==(?=[^\s=])|(?<=[^\s=])==(?![=\w])",
    "pymdownx.caret": r"(?<!\^)\^(?P<kept_up>[^\s^]++)\^(?!\^)|(?<![\^\w])\^\^(?=[^\s^])|(?<=[^\s^])\^\^(?![\^\w])",
    "pymdownx.tilde": r"(?<!~)~(?P<kept_down>[^\s~]++)~(?!~)",
    "pymdownx.emoji": r"(?<![\w:]):[a-z][a-z0-9_+-]*+:(?![\w:])(?:\{[^{}\n]*+\})?",
}
MDBOOK_MARKDOWN = Dialect(rule=MDBOOK, templates=False, definitions=True, unseen=_ATTRIBUTES, hidden=(("rust", "#"),))
HUGO = Dialect(rule=GOLDMARK, definitions=True, unseen=_ATTRIBUTES)
