"""Replies to messages that are no questions, with one line that says what can be asked."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate

from bookbound.answering.reply_builder import Findings
from bookbound.domain.judgement import Judgement, RefusalReason
from bookbound.domain.manifest import Manifest
from bookbound.domain.question import Retrieval
from bookbound.domain.understanding import SmallTalk

OFF_TOPIC = Judgement(0.0, (), (), "Poor", RefusalReason.LOW_RELEVANCE)
OPENINGS: dict[SmallTalk, str] = {
    "greeting": "Hello! ",
    "thanks": "You are welcome! ",
    "farewell": "Goodbye! ",
    "other": "I only answer from the book. ",
}


def reply_to_small_talk(kind: SmallTalk, manifest: Manifest, found: Retrieval, k: int) -> Findings:
    """Refuses small talk; the first of the passages that a search found are reported as for any refusal."""
    note = f"{OPENINGS[kind]}{write_invitation(manifest)}"
    return Findings(replace(found, passages=found.passages[:k]), OFF_TOPIC, note=note)


def write_invitation(manifest: Manifest) -> str:
    """Returns one line that says what can be asked, with the chapter in the middle of the text as an example."""
    ends = [*accumulate(chapter.chunks for chapter in manifest.chapters)]
    example = "What is this book about?"
    if len(ends) > 1 and ends[-1]:
        middle = manifest.chapters[bisect_right(ends, ends[-1] // 2)]
        example = f"What is in the chapter on {middle.title}?"
    return f"Ask me anything that {manifest.title} covers, for example: “{example}”"
