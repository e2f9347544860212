"""Reads an EPUB's package file: title, spine, and where its table of contents is."""

from __future__ import annotations

import posixpath
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from bookbound.domain.document import SourceNotice
from bookbound.domain.errors import SourceError
from bookbound.sources.defusedxml import MAX_XML_BYTES, find_elements, parse_xml
from bookbound.sources.zip_archive import UnreadableMemberError, ZipArchive

_DOCUMENT_MEDIA_TYPES = frozenset(
    ("application/xhtml+xml", "text/html", "application/html+xml", "text/x-oeb1-document")
)
_NCX_MEDIA_TYPE = "application/x-dtbncx+xml"
_PAGE_SUFFIXES = (".xhtml", ".html", ".htm", ".xml")
_ENCRYPTION_FILE = "META-INF/encryption.xml"
# Publishers scramble fonts so that they cannot be copied; the text stays readable.
_FONT_OBFUSCATION = frozenset(("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"))
_SKIPPED_GUIDES = frozenset(("cover", "toc", "title-page", "titlepage"))
_NO_PACKAGE = "The file is not an EPUB: it does not say where its pages are. Export the book again."
_ENCRYPTED = "The EPUB is protected: its pages are encrypted. Index a copy without protection."


class ManifestItem(NamedTuple):
    """A file of an EPUB: its name in the archive, and its path relative to the package file."""

    name: str
    path: str
    media_type: str
    properties: frozenset[str]


class EpubPackage(NamedTuple):
    """The title and the parts of an EPUB; `nav` and `ncx` name its tables of contents.

    `skipped_paths` are documents that the package calls a cover, title page or table of contents.
    """

    title: str
    spine: list[ManifestItem]
    skipped_paths: set[str]
    nav: str
    ncx: str
    notices: list[SourceNotice]


def read_package(archive: ZipArchive) -> EpubPackage:
    """Read the package file, or raise if the archive has none."""
    notices = _check_mimetype(archive)
    name = _find_package_file(archive)
    root = _load_xml(archive, name)
    if root is None:
        raise SourceError(_NO_PACKAGE)
    title = next((" ".join("".join(element.itertext()).split()) for element in find_elements(root, "title")), "")
    items = _read_manifest(root, posixpath.dirname(name), notices)
    _reject_encrypted(archive, {item.name for item in items.values()})
    references = find_elements(root, "reference")
    skipped = {_href_path(each.get("href", "")) for each in references if each.get("type") in _SKIPPED_GUIDES}
    nav = next((item.name for item in items.values() if "nav" in item.properties), "")
    spine_toc = next((element.get("toc", "") for element in find_elements(root, "spine")), "")
    # The spine names the table, but many files only have one of its type.
    tables = [items[spine_toc]] if spine_toc in items else []
    tables += [item for item in items.values() if item.media_type == _NCX_MEDIA_TYPE]
    spine = _read_spine(archive, root, items, notices)
    return EpubPackage(title, spine, skipped, nav, tables[0].name if tables else "", notices)


def _check_mimetype(archive: ZipArchive) -> list[SourceNotice]:
    try:
        if archive.read("mimetype", 100).strip() == b"application/epub+zip":
            return []
    except UnreadableMemberError:
        pass
    return [SourceNotice("mimetype", "does not say that this is an EPUB; read as one")]


def _find_package_file(archive: ZipArchive) -> str:
    """Find the package file that the container names, else the first with its extension."""
    roots = find_elements(_load_xml(archive, "META-INF/container.xml"), "rootfile")
    named = [unquote(element.get("full-path", "")) for element in roots]
    others = [name for name in archive.names if name.lower().endswith(".opf")]
    for path in (*named, *others):
        if path in archive:
            return path
    raise SourceError(_NO_PACKAGE)


def _read_manifest(root: Element, folder: str, notices: list[SourceNotice]) -> dict[str, ManifestItem]:
    """Read the manifest by id; the first item of an id counts."""
    items: dict[str, ManifestItem] = {}
    for element in find_elements(next(find_elements(root, "manifest"), None), "item"):
        path = _href_path(element.get("href", ""))
        name = posixpath.normpath(posixpath.join(folder, path))
        properties = frozenset(element.get("properties", "").split())
        item = ManifestItem(name, path, element.get("media-type", "").lower(), properties)
        if items.setdefault(element.get("id", ""), item) is not item:
            notices.append(SourceNotice(name, "has the same id as another file; left out", lost=True))
    return items


def _read_spine(
    archive: ZipArchive, root: Element, items: dict[str, ManifestItem], notices: list[SourceNotice]
) -> list[ManifestItem]:
    """Read the documents in the order of the spine, those outside of the main text last."""
    found: dict[str, tuple[ManifestItem, bool]] = {}
    for element in find_elements(next(find_elements(root, "spine"), None), "itemref"):
        item = items.get(element.get("idref", ""))
        if item is None:
            notices.append(SourceNotice("spine", "names a file that is not in the manifest; left out", lost=True))
        elif item.name not in archive:
            notices.append(SourceNotice(item.name, "is not in the archive; left out", lost=True))
        elif item.media_type not in _DOCUMENT_MEDIA_TYPES:
            notices.append(SourceNotice(item.name, "is not an XHTML page; left out", lost=True))
        else:
            found.setdefault(item.name, (item, element.get("linear", "yes").lower() != "no"))
    return [item for item, _ in sorted(found.values(), key=lambda pair: not pair[1])]


def _reject_encrypted(archive: ZipArchive, names: set[str]) -> None:
    for data in find_elements(_load_xml(archive, _ENCRYPTION_FILE), "EncryptedData"):
        method = next((each.get("Algorithm") for each in find_elements(data, "EncryptionMethod")), "")
        targets = {posixpath.normpath(unquote(each.get("URI", ""))) for each in find_elements(data, "CipherReference")}
        if method not in _FONT_OBFUSCATION and any(name.lower().endswith(_PAGE_SUFFIXES) for name in targets & names):
            raise SourceError(_ENCRYPTED)


def _load_xml(archive: ZipArchive, name: str) -> Element | None:
    try:
        return parse_xml(archive.read(name, MAX_XML_BYTES))
    except UnreadableMemberError:
        return None


def _href_path(href: str) -> str:
    return posixpath.normpath(unquote(href.partition("#")[0])) if href else ""
