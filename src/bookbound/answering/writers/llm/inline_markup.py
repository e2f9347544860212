"""Removes the inline Markdown of a language model's text: code marks, styles, links and pictograms."""

from __future__ import annotations

import re

_CODE = re.compile(r"(?P<marks>`{1,2})(?P<words>[^`\n]+)(?P=marks)")
_LINK = re.compile(r"!?\[(?P<words>[^\[\]\n]{1,200})\]\([^()\s]{0,400}\)")
_CODE_OR_LINK = re.compile(rf"`[^`\n]+`|{_LINK.pattern}")
_STYLE = re.compile(r"(?<![\w*])(?P<style>\*{1,3}|__)(?=\S)(?P<words>[^*\n]{1,400}?)(?<=\S)(?P=style)(?![\w*])")
_PICTOGRAM = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u200d]+ ?")
# Private characters stand for the pieces of code while the rest is changed.
_HIDDEN = re.compile("\ue000(\\d+)\ue001")
_PRIVATE = dict.fromkeys(map(ord, "\ue000\ue001"))


def strip_markdown(text: str, book: str = "") -> str:
    """Returns the words of a line without marks that the book does not have; code stays as it is within its marks."""
    codes: list[str] = []

    def hide(found: re.Match[str]) -> str:
        codes.append(_keep_words(found, book))
        return f"\ue000{len(codes) - 1}\ue001"

    text = _CODE.sub(hide, text.translate(_PRIVATE))
    for marked in (_LINK, _STYLE):
        text = marked.sub(lambda found: _keep_words(found, book), text)
    text = _HIDDEN.sub(lambda found: codes[int(found[1])], _PICTOGRAM.sub("", text))
    return " ".join(text.split())


def strip_links(text: str, book: str) -> str:
    """Returns a text with the words of links that the book does not have; a model may invent an address."""
    return _CODE_OR_LINK.sub(lambda found: _keep_words(found, book) if found["words"] else found[0], text)


def _keep_words(found: re.Match[str], book: str) -> str:
    return found[0] if found[0] in book else found["words"]
