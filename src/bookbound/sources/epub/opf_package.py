"""Reads an EPUB's package file: title, spine, and where its table of contents is."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from bookbound.domain.document import SourceNotice
from bookbound.domain.errors import SourceError
from bookbound.sources.defusedxml import MAX_XML_BYTES, find_elements, parse_xml
from bookbound.sources.epub.zip_archive import UnreadableMemberError, ZipArchive

_DOCUMENT_MEDIA_TYPES = frozenset(
    ("application/xhtml+xml", "text/html", "application/html+xml", "text/x-oeb1-document")
)
# Fonts are scrambled so that they cannot be copied; the words of a book are not.
_FONT_OBFUSCATION = frozenset(("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"))
_NO_PACKAGE = "The file is no EPUB: it does not say where its pages are. Export the book anew."
_ENCRYPTED = "The EPUB is protected: its pages are encrypted. Index a copy without protection."
_SKIPPED_GUIDES = frozenset(("cover", "toc", "title-page", "titlepage"))


class SpineItem(NamedTuple):
    """A document that an EPUB is made of: its name in the archive, and its address from the package on."""

    name: str
    address: str
    linear: bool
    is_nav: bool
    unseen: bool


@dataclass(slots=True)
class EpubPackage:
    """The parts of an EPUB."""

    title: str
    folder: str
    members: list[SpineItem]
    nav: str = ""
    ncx: str = ""
    notices: list[SourceNotice] = field(default_factory=list)


def read_package(archive: ZipArchive) -> EpubPackage:
    """What the package file says; an EPUB without one that can be read is no EPUB."""
    notices: list[SourceNotice] = []
    try:
        if "mimetype" not in archive or archive.read("mimetype", 100).strip() != b"application/epub+zip":
            notices.append(SourceNotice("mimetype", "does not say that this is an EPUB; read as one"))
    except UnreadableMemberError:
        notices.append(SourceNotice("mimetype", "cannot be read; read as an EPUB"))
    name = _find_package_file(archive)
    root = _load_xml(archive, name)
    if root is None:
        raise SourceError(_NO_PACKAGE)
    package = EpubPackage(
        next((_element_text(title) for title in find_elements(root, "title")), ""), posixpath.dirname(name), []
    )
    package.notices = notices
    items = _read_manifest(root, package)
    _reject_encrypted(archive, {items[key].name for key in items})
    guides = {
        _href_path(each.get("href", ""))
        for each in find_elements(root, "reference")
        if each.get("type") in _SKIPPED_GUIDES
    }
    spine = next(find_elements(root, "spine"), None)
    package.members = list(_read_spine(archive, spine, items, guides, package))
    package.nav = next((item.name for item in items.values() if "nav" in item.properties), "")
    listed = items.get(spine.get("toc", "") if spine is not None else "")
    ncx = [item.name for item in items.values() if item.kind == "application/x-dtbncx+xml"]
    package.ncx = listed.name if listed else next(iter(ncx), "")
    return package


class _ManifestItem(NamedTuple):
    """An entry of the manifest."""

    name: str
    address: str
    kind: str
    properties: frozenset[str]


def _find_package_file(archive: ZipArchive) -> str:
    """Where the package file stands: as the container says, else the first that is called like one."""
    roots = find_elements(_load_xml(archive, "META-INF/container.xml"), "rootfile")
    paths = [unquote(each.get("full-path", "")) for each in roots]
    others = [name for name in archive.names if name.lower().endswith(".opf")]
    found = next((path for path in (*paths, *others) if path in archive), None)
    if found is None:
        raise SourceError(_NO_PACKAGE)
    return found


def _read_manifest(root: Element, package: EpubPackage) -> dict[str, _ManifestItem]:
    """The manifest by id; of two with one id the first counts."""
    items: dict[str, _ManifestItem] = {}
    for each in find_elements(next(find_elements(root, "manifest"), None), "item"):
        address = _href_path(each.get("href", ""))
        name = posixpath.normpath(posixpath.join(package.folder, address))
        properties = frozenset(each.get("properties", "").split())
        item = _ManifestItem(name, address, each.get("media-type", "").lower(), properties)
        if items.setdefault(each.get("id", ""), item) is not item:
            package.notices.append(
                SourceNotice(name, "is listed under an id that another file has; left out", lost=True)
            )
    return items


def _read_spine(
    archive: ZipArchive, spine: Element | None, items: dict[str, _ManifestItem], guides: set[str], package: EpubPackage
) -> Iterator[SpineItem]:
    """The documents in the order of the spine, those beside the main text after it."""
    found: dict[str, SpineItem] = {}
    for each in find_elements(spine, "itemref"):
        item = items.get(each.get("idref", ""))
        if item is None:
            package.notices.append(
                SourceNotice("spine", "names a file that is not in the manifest; left out", lost=True)
            )
        elif item.name in found:
            continue
        elif item.name not in archive:
            package.notices.append(SourceNotice(item.name, "is not in the archive; left out", lost=True))
        elif item.kind not in _DOCUMENT_MEDIA_TYPES:
            package.notices.append(SourceNotice(item.name, "is no page of XHTML; left out", lost=True))
        else:
            linear = each.get("linear", "yes").lower() != "no"
            unseen = item.address in guides
            found[item.name] = SpineItem(item.name, item.address, linear, "nav" in item.properties, unseen)
    yield from sorted(found.values(), key=lambda member: not member.linear)


def _reject_encrypted(archive: ZipArchive, names: set[str]) -> None:
    if "META-INF/encryption.xml" not in archive:
        return
    for data in find_elements(_load_xml(archive, "META-INF/encryption.xml"), "EncryptedData"):
        method = next((each.get("Algorithm") for each in find_elements(data, "EncryptionMethod")), "")
        targets = {posixpath.normpath(unquote(each.get("URI", ""))) for each in find_elements(data, "CipherReference")}
        if method not in _FONT_OBFUSCATION and any(_is_page(name) for name in targets & names):
            raise SourceError(_ENCRYPTED)


def _is_page(name: str) -> bool:
    return name.lower().endswith((".xhtml", ".html", ".htm", ".xml"))


def _load_xml(archive: ZipArchive, name: str) -> Element | None:
    try:
        return parse_xml(archive.read(name, MAX_XML_BYTES))
    except UnreadableMemberError:
        return None


def _href_path(href: str) -> str:
    """A link's path as it is written in the archive."""
    return posixpath.normpath(unquote(href.partition("#")[0])) if href else ""


def _element_text(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())
