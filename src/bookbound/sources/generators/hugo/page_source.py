"""Parses a Hugo page's front matter, expands Hugo's built-in shortcodes and computes the page's URL."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from urllib.parse import quote

from bookbound.sources.generators.hugo.config import HugoSite, lowercase_keys
from bookbound.sources.includes import Substitution
from bookbound.sources.page_loader import FrontMatter, parse_front_matter
from bookbound.sources.safe_config import ConfigFields, parse_config, sanitize

_TOML_BLOCK = re.compile(r"\+\+\+[ \t]*\n(?P<body>.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MAX_FRONT_MATTER_LENGTH = 100_000
_SHORTCODE = re.compile(
    r"^[ \t>]*(?P<fence>`{3,}|~{3,})"
    r"|\{\{(?P<mark>[<%])/\*(?P<escaped>[^\n]{0,1000}?)\*/[>%]\}\}"
    r"|\{\{[<%]\s*+(?P<end>/?)\s*+(?P<name>highlight|comment|param)\b\s*+(?P<arguments>[^{}]*?)/?[>%]\}\}",
    re.MULTILINE,
)
_MAX_LINE_LENGTH = 1_000


def parse_hugo_front_matter(source: str) -> FrontMatter:
    """Parse TOML between `+++` lines, a JSON object, or YAML between `---` lines; names become lower case."""
    block = _TOML_BLOCK.match(source)
    if block:
        fields = parse_config(block["body"], ".toml") if len(block["body"]) <= _MAX_FRONT_MATTER_LENGTH else None
        return FrontMatter(lowercase_keys(fields), block.end(), is_broken=fields is None)
    if source.startswith("{"):
        try:
            fields, end = json.JSONDecoder().raw_decode(source[:_MAX_FRONT_MATTER_LENGTH])
            return FrontMatter(lowercase_keys(sanitize(fields)), end)
        except (ValueError, RecursionError):
            return FrontMatter()
    front = parse_front_matter(source)
    return FrontMatter(lowercase_keys(front.fields), front.end, front.is_broken)


def parse_date_field(front: FrontMatter, name: str) -> datetime | None:
    """Return a field as a time; a day begins at midnight UTC."""
    value = front.get(name)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime.combine(value, time(), UTC) if isinstance(value, date) else None


def expand_shortcodes(source: str, front: FrontMatter, site: ConfigFields) -> Iterator[Substitution]:
    """Expand `highlight` and `param`, remove `comment`, and unescape escaped shortcodes."""
    fence, comment_start = "", -1
    for match in _SHORTCODE.finditer(source, front.end):
        name = match["name"]
        if comment_start >= 0:
            if name == "comment" and match["end"]:
                yield Substitution(comment_start, match.end(), "")
                comment_start = -1
        elif match["fence"]:
            closes = fence and match["fence"].startswith(fence)
            fence = "" if closes else fence or match["fence"]
        elif match["mark"]:
            near = max(0, match.start() - _MAX_LINE_LENGTH)
            line_start = max(near, source.rfind("\n", near, match.start()) + 1)
            is_code = fence or source.count("`", line_start, match.start()) % 2 == 1
            backslash = "" if is_code else "\\"
            start, end = match.span("escaped")
            yield Substitution(match.start(), start, f"{backslash}{{{backslash}{{{match['mark']}")
            yield Substitution(end, end + 2, "")
        elif name == "highlight":
            fence = ""
            language = match["arguments"].partition(" ")[0].strip("\"'")
            yield Substitution(*match.span(), "```" if match["end"] else f"```{language}")
        elif name == "comment" and not match["end"]:
            comment_start = match.start()
        elif name == "param":
            key = match["arguments"].strip().strip("\"'").lower()
            yield Substitution(*match.span(), _param_value(key, front, site))


def _param_value(name: str, front: FrontMatter, site: ConfigFields) -> str:
    """Return a parameter of the page, else of the site."""
    *sections, last = name.split(".")
    values = []
    for fields in (front.section("params"), front, site.section("params")):
        for section in sections:
            fields = fields.section(section)
        values.append(fields.text(last))
    return next(filter(None, values), "")


_PERMALINK_TOKEN = re.compile(r":(?P<name>[a-z]+)(?:\[(?P<part>[^\]]*)\])?")
_SECTION_RANGE = re.compile(r"(?P<first>\d{0,4}|last)(?P<range>:(?P<last>\d{0,4}|last))?")
_DEFAULT_DATE = datetime(1, 1, 1, tzinfo=UTC)
_ALLOWED_PUNCTUATION = "./\\_#+~-@"
_UNQUOTED = "/+@"


@dataclass(frozen=True, slots=True)
class PageLocation:
    """A page's path below the content folder, its front matter, its title and the sections that contain it."""

    relative: Path
    front: FrontMatter
    title: str
    sections: tuple[str, ...]

    @property
    def is_section(self) -> bool:
        return self.relative.stem == "_index"

    @property
    def name(self) -> str:
        is_index = self.relative.stem in ("index", "_index")
        return self.relative.parent.name if is_index else self.relative.stem

    def url(self, site: HugoSite) -> str:
        """Return the URL that the page, the pattern of its section or its path gives."""
        base = site.settings.text("baseurl").rstrip("/") + "/"
        own, lower = self.front.text("url"), site.settings.get("disablepathtolower") is not True
        if own:
            path = self._fill_pattern(own, lower) if ":" in own else own
            prefix = "" if own.startswith("/") else site.url_prefix
            path = path.strip("/") + "/" * (path.endswith("/") or "." not in path.rpartition("/")[2])
            return base + prefix + quote(path.lstrip("/"), safe=_UNQUOTED)
        pattern = self._permalink_pattern(site.settings)
        path = (self._fill_pattern(pattern, lower) if pattern else self._path(lower)).strip("/")
        # The setting is one flag, or a flag for each section.
        section = self.sections[0].lower() if self.sections else ""
        is_ugly = site.settings.flag("uglyurls") or site.settings.section("uglyurls").flag(section)
        if is_ugly:
            path = f"{path}/index.html".lstrip("/") if self.is_section or not path else f"{path}.html"
        return base + site.url_prefix + quote(path + "/" * bool(path and not is_ugly), safe=_UNQUOTED)

    def _path(self, lower: bool) -> str:
        names = [part.strip().replace(" ", "-") for part in self.relative.parts[:-1]]
        if self.relative.stem not in ("index", "_index"):
            names.append(self.relative.stem.replace(" ", "-"))
        slug = self.front.text("slug")
        if slug and names and not self.is_section:
            names[-1] = slug
        return _sanitize_path("/".join(names), lower)

    def _permalink_pattern(self, settings: ConfigFields) -> str:
        """Return the pattern of the section for this kind of page; one without a kind is for plain pages."""
        patterns = settings.section("permalinks")
        section = self.sections[0].lower() if self.sections else "/"
        own = patterns.section("section" if self.is_section else "page").text(section)
        return own or ("" if self.is_section else patterns.text(section))

    def _fill_pattern(self, pattern: str, lower: bool) -> str:
        date = parse_date_field(self.front, "date") or parse_date_field(self.front, "publishdate") or _DEFAULT_DATE
        name, title = _sanitize_path(self.name.replace(" ", "-"), lower), _sanitize_path(self.title, lower)
        slug = _sanitize_path(self.front.text("slug"), lower)
        sections = [_sanitize_path(section, lower) for section in self.sections]
        values = {
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

        def fill(match: re.Match[str]) -> str:
            if match["name"] == "sections":
                return "/".join(_select_sections(sections, match["part"]))
            return values.get(match["name"], match[0])

        return re.sub(r"/{2,}", "/", _PERMALINK_TOKEN.sub(fill, pattern))


def _select_sections(sections: list[str], part: str | None) -> list[str]:
    """Select sections by an index or a range such as `0`, `1:` or `:last`."""
    match = _SECTION_RANGE.fullmatch(part) if part else None
    if not match:
        return sections
    ends = [str(len(sections) - 1) if end == "last" else end for end in match.group("first", "last")]
    first, last = (int(end) if end else None for end in ends)
    return sections[first or 0 : last] if match["range"] else sections[first or 0 :][:1]


def _sanitize_path(text: str, lower: bool) -> str:
    """Keep letters, digits and a few marks, with a hyphen for the space between words."""

    def is_kept(letter: str) -> bool:
        is_mark = unicodedata.category(letter).startswith("M")
        return letter.isspace() or letter.isalpha() or letter.isdecimal() or letter in _ALLOWED_PUNCTUATION or is_mark

    path = re.sub(r"(?<=-)\s+|\s+(?=-)", "", "".join(filter(is_kept, text)).strip())
    path = re.sub(r"\s+", "-", path)
    return path.lower() if lower else path
