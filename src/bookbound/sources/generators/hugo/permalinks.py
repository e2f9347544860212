"""Computes the URL at which Hugo publishes a page."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from bookbound.sources.generators.hugo.config import HugoSite
from bookbound.sources.generators.hugo.page_source import parse_date_field
from bookbound.sources.markdown.front_matter import FrontMatter

_PERMALINK_TOKEN = re.compile(r":(?P<name>[a-z]+)(?:\[(?P<part>[^\]]*)\])?")
_SECTION_RANGE = re.compile(r"(?P<first>\d{0,4}|last)(?P<range>:(?P<last>\d{0,4}|last))?")
_DEFAULT_DATE = datetime(1, 1, 1, tzinfo=UTC)
_ALLOWED_PUNCTUATION = "./\\_#+~-@"
_UNQUOTED = "/+@"


@dataclass(frozen=True, slots=True)
class PageLocation:
    """A page where it stands: its path below the content, its fields and its title, and the `sections` above it."""

    relative: Path
    front: FrontMatter
    title: str
    sections: tuple[str, ...]

    @property
    def is_section(self) -> bool:
        return self.relative.stem == "_index"

    @property
    def name(self) -> str:
        bundled = self.relative.stem in ("index", "_index")
        return self.relative.parent.name if bundled else self.relative.stem

    def address(self, site: HugoSite) -> str:
        """What its author wrote, what its section's pattern makes of it, or its path."""
        base = site.settings.text("baseurl").rstrip("/") + "/"
        own, lower = self.front.text("url"), site.settings.fields.get("disablepathtolower") is not True
        ugly = _uses_ugly_urls(site.settings, self.sections)
        if own:
            path = self._filled(own, lower) if ":" in own else own
            prefix = "" if own.startswith("/") else site.prefix
            path = path.strip("/") + "/" * (path.endswith("/") or "." not in path.rpartition("/")[2])
            return base + prefix + quote(path.lstrip("/"), safe=_UNQUOTED)
        pattern = _permalink_pattern(site.settings, self.is_section, self.sections)
        path = (self._filled(pattern, lower) if pattern else self._path(lower)).strip("/")
        if ugly:
            path = f"{path}/index.html".lstrip("/") if self.is_section or not path else f"{path}.html"
        return base + site.prefix + quote(path + "/" * bool(path and not ugly), safe=_UNQUOTED)

    def _path(self, lower: bool) -> str:
        """The folders and the name, in lower case with hyphens for spaces."""
        names = [part.strip().replace(" ", "-") for part in self.relative.parts[:-1]]
        if self.relative.stem not in ("index", "_index"):
            names.append(self.relative.stem.replace(" ", "-"))
        slug = self.front.text("slug")
        if slug and names and not self.is_section:
            names[-1] = slug
        return _sanitize_path("/".join(names), lower)

    def _filled(self, pattern: str, lower: bool) -> str:
        """The pattern with what its tokens stand for."""
        date = parse_date_field(self.front, "date") or parse_date_field(self.front, "publishdate") or _DEFAULT_DATE
        name, title = _sanitize_path(self.name.replace(" ", "-"), lower), _sanitize_path(self.title, lower)
        slug = _sanitize_path(self.front.text("slug"), lower)
        sections = [_sanitize_path(section, lower) for section in self.sections]
        known = {
            "year": f"{date.year:04}",
            "month": f"{date.month:02}",
            "monthname": f"{date:%B}".lower(),
            "day": f"{date.day:02}",
            "weekday": f"{date.isoweekday() % 7}",
            "weekdayname": f"{date:%A}".lower(),
            "yearday": f"{date.timetuple().tm_yday}",
            "section": "".join(sections[:1]),
            "title": title,
            "slug": slug or title,
            **dict.fromkeys(("filename", "contentbasename"), name),
            **dict.fromkeys(("slugorfilename", "slugorcontentbasename"), slug or name),
        }

        def filled(found: re.Match[str]) -> str:
            if found["name"] == "sections":
                return "/".join(_select_sections(sections, found["part"]))
            return known.get(found["name"], found[0])

        return re.sub(r"/{2,}", "/", _PERMALINK_TOKEN.sub(filled, pattern))


def _select_sections(sections: list[str], part: str | None) -> list[str]:
    """All sections, or those that a part such as `1:`, `:last` or `0` names."""
    found = _SECTION_RANGE.fullmatch(part) if part else None
    if not found:
        return sections
    first, last = (
        len(sections) - 1 if found[end] == "last" else int(found[end]) if found[end] else None
        for end in ("first", "last")
    )
    return sections[first or 0 : last] if found["range"] else sections[first or 0 :][:1]


def _permalink_pattern(settings: FrontMatter, is_section: bool, sections: tuple[str, ...]) -> str:
    """The pattern of the section for pages of this kind; one that names no kind is for plain pages."""
    patterns = settings.fields.get("permalinks")
    if not isinstance(patterns, dict):
        return ""
    own = patterns.get("section" if is_section else "page")
    section = sections[0].lower() if sections else "/"
    given = FrontMatter(own).text(section) if isinstance(own, dict) else ""
    return given or ("" if is_section else FrontMatter(patterns).text(section))


def _uses_ugly_urls(settings: FrontMatter, sections: tuple[str, ...]) -> bool:
    chosen = settings.fields.get("uglyurls")
    if isinstance(chosen, dict):
        return bool(sections) and chosen.get(sections[0].lower()) is True
    return chosen is True


def _sanitize_path(text: str, lower: bool) -> str:
    """A path of letters, digits and a few marks, with a hyphen for the space between words."""
    kept = "".join(letter for letter in text if letter.isspace() or _is_path_character(letter))
    path = re.sub(r"(?<=-)\s+|\s+(?=-)", "", kept.strip())
    path = re.sub(r"\s+", "-", path)
    return path.lower() if lower else path


def _is_path_character(letter: str) -> bool:
    return (
        letter.isalpha()
        or letter.isdecimal()
        or letter in _ALLOWED_PUNCTUATION
        or unicodedata.category(letter).startswith("M")
    )
