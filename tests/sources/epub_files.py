"""Builds small EPUB files for tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from html import escape

CONTAINER = (
    '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
MIMETYPE = "application/epub+zip"
LINEAR_NO = " linear='no'"
TocItem = tuple[int, str, str]
"""Depth, label and target of an entry of the table of contents."""


def make_document(body: str, title: str = "", attributes: str = "") -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n'
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
        f"<head><title>{escape(title)}</title><script/></head>\n<body {attributes}>\n{body}\n</body></html>"
    )


def make_nav(listed: Sequence[TocItem], pages: Sequence[tuple[str, str]] = ()) -> str:
    """Build an EPUB 3 table of contents."""
    printed = "".join(f'<li><a href="{target}">{escape(label)}</a></li>' for label, target in pages)
    lists = f'<nav epub:type="toc"><h1>Contents</h1>{_make_ordered_list(listed)}</nav>'
    return make_document(lists + (f'<nav epub:type="page-list" hidden=""><ol>{printed}</ol></nav>' if pages else ""))


def _make_ordered_list(listed: Sequence[TocItem]) -> str:
    out, open_ = "", 0
    for i, (depth, label, target) in enumerate(listed):
        while open_ <= depth:
            out, open_ = out + "<ol>", open_ + 1
        out += f'<li><a href="{target}">{escape(label)}</a>'
        after = listed[i + 1][0] if i + 1 < len(listed) else -1
        if after <= depth:
            out += "</li>"
        while open_ > after + 1:
            open_ -= 1
            out += "</ol>" + "</li>" * (open_ > 0)
    return out


def make_ncx(listed: Sequence[TocItem], pages: Sequence[tuple[str, str]] = ()) -> str:
    """Build an EPUB 2 table of contents."""
    points, open_ = "", 0
    for depth, label, target in listed:
        points += "</navPoint>" * (open_ - depth)
        points += f'<navPoint><navLabel><text>{escape(label)}</text></navLabel><content src="{target}"/>'
        open_ = depth + 1
    points += "</navPoint>" * open_
    printed = "".join(
        f'<pageTarget type="normal"><navLabel><text>{label}</text></navLabel><content src="{target}"/></pageTarget>'
        for label, target in pages
    )
    return (
        '<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN"'
        ' "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">'
        f'<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1"><navMap>{points}</navMap>'
        + (f"<pageList>{printed}</pageList>" if printed else "")
        + "</ncx>"
    )


def make_package(
    documents: Sequence[str],
    title: str = "A Book",
    version: str = "3.0",
    extra: str = "",
    nonlinear: Sequence[str] = (),
) -> str:
    """Build a package file with these documents as its spine; those in `nonlinear` are not linear."""
    items = "".join(
        f'<item id="d{i}" href="{escape(name)}" media-type="application/xhtml+xml"/>'
        for i, name in enumerate(documents)
    )
    spine = "".join(
        f'<itemref idref="d{i}"{LINEAR_NO if name in nonlinear else ""}/>' for i, name in enumerate(documents)
    )
    items += '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>' * (version > "3")
    items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>' * (version < "3")
    return (
        f'<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="{version}">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(title)}</dc:title></metadata>'
        f'<manifest>{items}</manifest><spine toc="ncx">{spine}</spine>{extra}</package>'
    )


def make_epub(files: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Build an EPUB of these files; a name that begins with a slash is relative to the root, others to OEBPS."""
    parts: dict[str, str | bytes] = {"mimetype": MIMETYPE, "META-INF/container.xml": CONTAINER}
    parts |= {name[1:] if name.startswith("/") else f"OEBPS/{name}": content for name, content in files.items()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()
