"""Renders judged replies as one page, next to what their readers should get."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lab.measure.replies.reply_questions import KINDS
from lab.measure.replies.reply_rules import JudgedReply

TEMPLATE = "replies.html.j2"
SAFE_LINKS = ("http://", "https://")
"""Other links are relative to a site that the page does not know, so they are shown as text."""


def render_reply_page(replies: Sequence[JudgedReply]) -> str:
    """A self-contained page without scripts; all text is escaped."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    by_kind = {kind: some for kind in KINDS if (some := [each for each in replies if each.question.kind == kind])}
    return environment.get_template(TEMPLATE).render(
        by_kind=by_kind,
        passed={kind: sum(each.has_passed for each in some) for kind, some in by_kind.items()},
        asked=sum(each.was_asked for each in replies),
        all_passed=sum(each.has_passed for each in replies),
        all_replies=len(replies),
        is_link=lambda link: link.startswith(SAFE_LINKS),
    )
