"""Makes the anchors of headings as each site generator does."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

# Written at the end of a heading: {#id}, { #id .class }, {: .class #id }, {/* #id */}, [[id]] or an empty link.
EXPLICIT_ID = re.compile(
    r"(?:\{:?[ \t]*+(?:\.[\w-]++[ \t]++)*+#(?P<plain>[^\s{}]++)[^{}\n]*+\}"
    r"|\{/\*[ \t]*+#(?P<comment>[^\s*]++)[ \t]*+\*/\}"
    r'|<a href="#[^"\n]*+" id="(?P<element>[^"\s]++)"></a>'
    r"|\[\[(?P<double>[\w-]++)\]\])[ \t]*+#*+[ \t]*+$",
    re.MULTILINE,
)
_DROPPED_CATEGORIES = {
    "No",
    "Pe",
    "Pf",
    "Pi",
    "Ps",
    "Po",
    "Pd",
    "Sm",
    "Sc",
    "Sk",
    "So",
    "Cc",
    "Co",
    "Cf",
    "Cn",
    "Zs",
    "Zl",
    "Zp",
}
# Symbols that Unicode counts as alphabetic: circled and squared Latin letters.
_LETTER_SYMBOLS = re.compile("[\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]")
_NUMBERED = re.compile(r"(.*)_([0-9]{1,9})", re.DOTALL)
# Letters that no accent tells apart from plain ones, as docutils spells them.
_DOCUTILS_SPELLING = str.maketrans(
    {"ß": "sz", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ħ": "h", "ı": "i", "ł": "l", "ŧ": "t"}
)


def _increment_hyphen_suffix(wanted: str, found: str) -> str:
    return f"{wanted}-{int(found[len(wanted) + 1 :] or 0) + 1}"


def _increment_underscore_suffix(wanted: str, found: str) -> str:
    counted = _NUMBERED.fullmatch(found)
    return f"{counted[1]}_{int(counted[2]) + 1}" if counted else f"{found}_1"


class SlugRule(NamedTuple):
    """How a generator makes anchors: what of a heading it reads, what becomes of that, and what tells two apart.

    It reads all words, or those outside of pictures. `without` is the anchor of a heading that has no letters. One that
    an author wrote is free for others, taken from there on, or from the start.
    """

    slug: Callable[[str], str]
    reads: Literal["words", "letters"] = "letters"
    after: Callable[[str, str], str] = _increment_hyphen_suffix
    without: str = ""
    explicit: Literal["free", "taken", "first"] = "taken"


def find_explicit_id(line: str) -> str:
    """The anchor that an author wrote at the end of a heading's line, or nothing."""
    found = EXPLICIT_ID.search(line)
    return next((name for name in found.groups() if name), "") if found else ""


def github_slug(text: str) -> str:
    """Lower case, without punctuation and symbols, each space a hyphen: the rule of github-slugger."""
    return "".join(filter(_is_kept, text.lower())).replace(" ", "-")


def mdbook_slug(text: str) -> str:
    """Lower case; letters, digits, underscores and hyphens stay, each space becomes a hyphen."""
    kept = (letter for letter in text.strip().lower() if letter.isalnum() or letter in "_-" or letter.isspace())
    return "".join("-" if letter.isspace() else letter for letter in kept)


def goldmark_slug(text: str) -> str:
    """The same, but of white space only the space counts, and other numbers than decimal digits go."""
    kept = (letter for letter in text.strip() if letter.isalpha() or letter.isdecimal() or letter in "_- ")
    return "".join(kept).lower().replace(" ", "-")


def python_markdown_slug(text: str, separator: str = "-", ascii_only: bool = True) -> str:
    """Lower case words with one separator between them, as Python-Markdown makes them."""
    if ascii_only:
        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.sub(r"[^\w\s-]", "", text).strip().lower()
    return re.sub(rf"[{re.escape(separator)}\s]+", lambda _: separator, words)


def pymdown_slug(text: str, separator: str = "-", case: str = "none") -> str:
    """The letters as they are written, or in lower case, each space a separator."""
    words = unicodedata.normalize("NFC", text).strip()
    words = {"lower": words.lower(), "fold": words.casefold()}.get(case, words)
    return re.sub(r"[^\w\- ]", "", words).replace(" ", separator)


def _is_kept(character: str) -> bool:
    return (
        character in " -"
        or unicodedata.category(character) not in _DROPPED_CATEGORIES
        or bool(_LETTER_SYMBOLS.match(character))
    )


def python_markdown_rule(slug: Callable[[str], str] = python_markdown_slug) -> SlugRule:
    """The rule of Python-Markdown with the slugs that a site chose."""
    return SlugRule(slug, after=_increment_underscore_suffix, without="_1", explicit="first")


GITHUB_SLUGS = SlugRule(github_slug, "words", explicit="free")
MDBOOK_SLUGS = SlugRule(mdbook_slug, without="section")
GOLDMARK_SLUGS = SlugRule(goldmark_slug, "words", without="heading")
PYTHON_MARKDOWN_SLUGS = python_markdown_rule()


class Slugger:
    """Gives each heading of one page an anchor of its own; `written` are those that its author gave."""

    def __init__(self, rule: SlugRule = GITHUB_SLUGS, written: Iterable[str] = ()) -> None:
        self.rule = rule
        self._taken = set(filter(None, written) if rule.explicit == "first" else ())
        self._last: dict[str, str] = {}

    def anchor(self, text: str) -> str:
        wanted = self.rule.slug(text) or self.rule.without
        found = self._last.get(wanted, wanted)
        while found in self._taken:
            found = self.rule.after(wanted, found)
        self._taken.add(found)
        self._last[wanted] = found
        return found

    def take(self, anchor: str) -> None:
        """Tell of an anchor that an author wrote."""
        if self.rule.explicit != "free":
            self._taken.add(anchor)


def docutils_id(text: str) -> str:
    """Lower-case letters and digits, all else a hyphen, trimmed: the rule of docutils."""
    return re.sub(r"[^a-z0-9]+", "-", transliterate_to_ascii(text.lower())).strip("-").lstrip("0123456789-")


def transliterate_to_ascii(text: str) -> str:
    """A text as docutils spells it without accents; what cannot be spelt so goes."""
    return unicodedata.normalize("NFKD", text.translate(_DOCUTILS_SPELLING)).encode("ascii", "ignore").decode()
