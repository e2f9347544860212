"""Makes the anchors of headings as each site generator does."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

# At the end of a heading: {#id}, { #id .class }, {: .class #id }, {/* #id */}, [[id]] or an empty link.
EXPLICIT_ID = re.compile(
    r"(?:\{:?[ \t]*+(?:\.[\w-]++[ \t]++)*+#(?P<plain>[^\s{}]++)[^{}\n]*+\}"
    r"|\{/\*[ \t]*+#(?P<comment>[^\s*]++)[ \t]*+\*/\}"
    r'|<a href="#[^"\n]*+" id="(?P<element>[^"\s]++)"></a>'
    r"|\[\[(?P<double>[\w-]++)\]\])[ \t]*+#*+[ \t]*+$",
    re.MULTILINE,
)
_DROPPED_CATEGORIES = frozenset("No Pe Pf Pi Ps Po Pd Sm Sc Sk So Cc Co Cf Cn Zs Zl Zp".split())
# Symbols that Unicode counts as alphabetic: circled and squared Latin letters.
_LETTER_SYMBOLS = re.compile("[\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]")
_NUMBERED = re.compile(r"(.*)_([0-9]{1,9})", re.DOTALL)
# Letters that Unicode does not decompose, as docutils spells them.
_DOCUTILS_SPELLING = str.maketrans(
    {"ß": "sz", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ħ": "h", "ı": "i", "ł": "l", "ŧ": "t"}
)


def _increment_underscore_suffix(slug: str, taken: str) -> str:
    numbered = _NUMBERED.fullmatch(taken)
    return f"{numbered[1]}_{int(numbered[2]) + 1}" if numbered else f"{taken}_1"


class SlugRule(NamedTuple):
    """How a generator makes a heading's anchor, and keeps two anchors apart.

    `empty_slug` is the anchor of a heading without letters. An id that the author wrote stays free for other headings,
    is taken from there on, or is taken from the start.
    """

    slug: Callable[[str], str]
    reads_images: bool = False
    next_on_clash: Callable[[str, str], str] = lambda slug, taken: f"{slug}-{int(taken[len(slug) + 1 :] or 0) + 1}"
    empty_slug: str = ""
    explicit_ids: Literal["free", "taken", "first"] = "taken"


def find_explicit_id(line: str) -> str:
    """Return the id that the author wrote at the end of a heading's line, or nothing."""
    match = EXPLICIT_ID.search(line)
    return next((name for name in match.groups() if name), "") if match else ""


def github_slug(text: str) -> str:
    """Make a slug as github-slugger does: lower case without punctuation and symbols, hyphens for spaces."""

    def is_kept(letter: str) -> bool:
        dropped = unicodedata.category(letter) in _DROPPED_CATEGORIES
        return letter in " -" or not dropped or bool(_LETTER_SYMBOLS.match(letter))

    return "".join(filter(is_kept, text.lower())).replace(" ", "-")


def mdbook_slug(text: str) -> str:
    """Make a slug as mdBook does: lower-case letters, digits, underscores and hyphens, hyphens for white space."""
    kept = (letter for letter in text.strip().lower() if letter.isalnum() or letter in "_-" or letter.isspace())
    return "".join("-" if letter.isspace() else letter for letter in kept)


def goldmark_slug(text: str) -> str:
    """Make a slug as Goldmark does: like mdBook, but only spaces and decimal digits count."""
    kept = (letter for letter in text.strip() if letter.isalpha() or letter.isdecimal() or letter in "_- ")
    return "".join(kept).lower().replace(" ", "-")


def python_markdown_slug(text: str, separator: str = "-", ascii_only: bool = True) -> str:
    """Make a slug as Python-Markdown does: lower-case words with one separator between them."""
    if ascii_only:
        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.sub(r"[^\w\s-]", "", text).strip().lower()
    return re.sub(rf"[{re.escape(separator)}\s]+", lambda _: separator, words)


def pymdown_slug(text: str, separator: str = "-", case: str = "none") -> str:
    """Make a slug as PyMdown does: the letters as written or in lower case, separators for spaces."""
    words = unicodedata.normalize("NFC", text).strip()
    words = {"lower": words.lower(), "fold": words.casefold()}.get(case, words)
    return re.sub(r"[^\w\- ]", "", words).replace(" ", separator)


def python_markdown_rule(slug: Callable[[str], str] = python_markdown_slug) -> SlugRule:
    """Return the rule of Python-Markdown with the slugs that a site chooses."""
    return SlugRule(slug, next_on_clash=_increment_underscore_suffix, empty_slug="_1", explicit_ids="first")


GITHUB_SLUGS = SlugRule(github_slug, reads_images=True, explicit_ids="free")
MDBOOK_SLUGS = SlugRule(mdbook_slug, empty_slug="section")
GOLDMARK_SLUGS = SlugRule(goldmark_slug, reads_images=True, empty_slug="heading")
PYTHON_MARKDOWN_SLUGS = python_markdown_rule()


class Slugger:
    """Gives each heading of one page a unique anchor; `explicit_ids` are those that its author wrote."""

    def __init__(self, rule: SlugRule = GITHUB_SLUGS, explicit_ids: Iterable[str] = ()) -> None:
        self.rule = rule
        self._taken = set(filter(None, explicit_ids) if rule.explicit_ids == "first" else ())
        self._last: dict[str, str] = {}

    def anchor(self, text: str) -> str:
        slug = self.rule.slug(text) or self.rule.empty_slug
        # Going on from the last one keeps a page of equal headings from taking quadratic time.
        anchor = self._last.get(slug, slug)
        while anchor in self._taken:
            anchor = self.rule.next_on_clash(slug, anchor)
        self._taken.add(anchor)
        self._last[slug] = anchor
        return anchor

    def reserve(self, anchor: str) -> None:
        """Record an id that the author wrote."""
        if self.rule.explicit_ids != "free":
            self._taken.add(anchor)


def docutils_id(text: str) -> str:
    """Make an id as docutils does: lower-case letters and digits, hyphens for everything else."""
    return re.sub(r"[^a-z0-9]+", "-", transliterate_to_ascii(text.lower())).strip("-").lstrip("0123456789-")


def transliterate_to_ascii(text: str) -> str:
    """Spell a text in ASCII as docutils does, and drop what cannot be spelt."""
    return unicodedata.normalize("NFKD", text.translate(_DOCUTILS_SPELLING)).encode("ascii", "ignore").decode()
