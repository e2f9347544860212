"""What an EPUB says of itself: its title, its documents in reading order, and where its table of contents stands."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from bookbound.book import Notice
from bookbound.errors import BadSource
from bookbound.read.defusedxml import LARGEST, named, parse_xml
from bookbound.read.epub.archive import Archive, Unreadable

_DOCUMENTS = frozenset(("application/xhtml+xml", "text/html", "application/html+xml", "text/x-oeb1-document"))
# Fonts are scrambled so that they cannot be copied; the words of a book are not.
_SCRAMBLED = frozenset(("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"))
_NO_PACKAGE = "The file is no EPUB: it does not say where its pages are. Export the book anew."
_PROTECTED = "The EPUB is protected: its pages are encrypted. Index a copy without protection."
_UNSEEN_GUIDES = frozenset(("cover", "toc", "title-page", "titlepage"))


class Member(NamedTuple):
    """A document that an EPUB is made of: its name in the archive, and its address from the package on."""

    name: str
    address: str
    linear: bool
    is_nav: bool
    unseen: bool


@dataclass(slots=True)
class Package:
    """The parts of an EPUB."""

    title: str
    folder: str
    members: list[Member]
    nav: str = ""
    ncx: str = ""
    notices: list[Notice] = field(default_factory=list)


def read_package(archive: Archive) -> Package:
    """What the package file says; an EPUB without one that can be read is no EPUB."""
    notices: list[Notice] = []
    try:
        if "mimetype" not in archive or archive.read("mimetype", 100).strip() != b"application/epub+zip":
            notices.append(Notice("mimetype", "does not say that this is an EPUB; read as one"))
    except Unreadable:
        notices.append(Notice("mimetype", "cannot be read; read as an EPUB"))
    name = _package_name(archive)
    root = _xml(archive, name)
    if root is None:
        raise BadSource(_NO_PACKAGE)
    package = Package(next((_text(title) for title in named(root, "title")), ""), posixpath.dirname(name), [])
    package.notices = notices
    items = _items(root, package)
    _refuse_protected(archive, {items[key].name for key in items})
    guides = {_address(each.get("href", "")) for each in named(root, "reference") if each.get("type") in _UNSEEN_GUIDES}
    spine = next(named(root, "spine"), None)
    package.members = list(_members(archive, spine, items, guides, package))
    package.nav = next((item.name for item in items.values() if "nav" in item.properties), "")
    listed = items.get(spine.get("toc", "") if spine is not None else "")
    ncx = [item.name for item in items.values() if item.kind == "application/x-dtbncx+xml"]
    package.ncx = listed.name if listed else next(iter(ncx), "")
    return package


class _Item(NamedTuple):
    """An entry of the manifest."""

    name: str
    address: str
    kind: str
    properties: frozenset[str]


def _package_name(archive: Archive) -> str:
    """Where the package file stands: as the container says, else the first that is called like one."""
    roots = named(_xml(archive, "META-INF/container.xml"), "rootfile")
    paths = [unquote(each.get("full-path", "")) for each in roots]
    others = [name for name in archive.names if name.lower().endswith(".opf")]
    found = next((path for path in (*paths, *others) if path in archive), None)
    if found is None:
        raise BadSource(_NO_PACKAGE)
    return found


def _items(root: Element, package: Package) -> dict[str, _Item]:
    """The manifest by id; of two with one id the first counts."""
    items: dict[str, _Item] = {}
    for each in named(next(named(root, "manifest"), None), "item"):
        address = _address(each.get("href", ""))
        name = posixpath.normpath(posixpath.join(package.folder, address))
        properties = frozenset(each.get("properties", "").split())
        item = _Item(name, address, each.get("media-type", "").lower(), properties)
        if items.setdefault(each.get("id", ""), item) is not item:
            package.notices.append(Notice(name, "is listed under an id that another file has; left out", lost=True))
    return items


def _members(
    archive: Archive, spine: Element | None, items: dict[str, _Item], guides: set[str], package: Package
) -> Iterator[Member]:
    """The documents in the order of the spine, those beside the main text after it."""
    found: dict[str, Member] = {}
    for each in named(spine, "itemref"):
        item = items.get(each.get("idref", ""))
        if item is None:
            package.notices.append(Notice("spine", "names a file that is not in the manifest; left out", lost=True))
        elif item.name in found:
            continue
        elif item.name not in archive:
            package.notices.append(Notice(item.name, "is not in the archive; left out", lost=True))
        elif item.kind not in _DOCUMENTS:
            package.notices.append(Notice(item.name, "is no page of XHTML; left out", lost=True))
        else:
            linear = each.get("linear", "yes").lower() != "no"
            unseen = item.address in guides
            found[item.name] = Member(item.name, item.address, linear, "nav" in item.properties, unseen)
    yield from sorted(found.values(), key=lambda member: not member.linear)


def _refuse_protected(archive: Archive, names: set[str]) -> None:
    if "META-INF/encryption.xml" not in archive:
        return
    for data in named(_xml(archive, "META-INF/encryption.xml"), "EncryptedData"):
        method = next((each.get("Algorithm") for each in named(data, "EncryptionMethod")), "")
        targets = {posixpath.normpath(unquote(each.get("URI", ""))) for each in named(data, "CipherReference")}
        if method not in _SCRAMBLED and any(_is_page(name) for name in targets & names):
            raise BadSource(_PROTECTED)


def _is_page(name: str) -> bool:
    return name.lower().endswith((".xhtml", ".html", ".htm", ".xml"))


def _xml(archive: Archive, name: str) -> Element | None:
    try:
        return parse_xml(archive.read(name, LARGEST))
    except Unreadable:
        return None


def _address(href: str) -> str:
    """A link's path as it is written in the archive."""
    return posixpath.normpath(unquote(href.partition("#")[0])) if href else ""


def _text(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())
