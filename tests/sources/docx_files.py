"""Builds small DOCX files for tests."""

from __future__ import annotations

import io
import zipfile
from html import escape

NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MAIN_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
CONTENT_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    f'<Override PartName="/word/document.xml" ContentType="{MAIN_TYPE}"/></Types>'
)
STYLES = "".join(
    f'<w:style w:styleId="{style_id}"><w:name w:val="{name}"/>{rest}</w:style>'
    for style_id, name, rest in (
        ("Titel", "Title", ""),
        ("berschrift1", "heading 1", ""),
        ("berschrift2", "heading 2", ""),
        ("Eigene", "My chapter", '<w:basedOn w:val="berschrift1"/>'),
        ("Quelltext", "Source Code", ""),
        ("Verzeichnis1", "toc 1", ""),
        ("Aufzaehlung", "List Bullet", ""),
    )
)
NUMBERING = (
    '<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="3"><w:abstractNumId w:val="7"/></w:num>'
)


def paragraph(text: str, style: str = "", properties: str = "", extra: str = "") -> str:
    styled = f'<w:pStyle w:val="{style}"/>' if style else ""
    run = f"<w:r><w:t>{escape(text)}</w:t></w:r>"
    return f"<w:p><w:pPr>{styled}{properties}</w:pPr>{run}{extra}</w:p>"


def list_item(text: str, depth: int = 0) -> str:
    return paragraph(text, properties=f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="3"/></w:numPr>')


def table(*rows: tuple[str, ...]) -> str:
    cells = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def make_docx(body: str, footnotes: str = "", title: str = "", prologue: str = "", **parts: str) -> bytes:
    """Build a file with this content; `parts` replace others by name, as in `document`."""
    contents = {
        "[Content_Types].xml": CONTENT_TYPES,
        "word/document.xml": f"{prologue}<w:document {NAMESPACE}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": f"<w:styles {NAMESPACE}>{STYLES}</w:styles>",
        "word/numbering.xml": f"<w:numbering {NAMESPACE}>{NUMBERING}</w:numbering>",
        "word/footnotes.xml": f"<w:footnotes {NAMESPACE}>{footnotes}</w:footnotes>",
        "docProps/core.xml": f"<properties><title>{escape(title)}</title></properties>",
    }
    contents |= {f"word/{name}.xml": text for name, text in parts.items()}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
    return data.getvalue()
