"""`python -m lab.measure.hostile_model`: counts false and true sentences of a hostile model that readers would see.

A scripted model sends them over HTTP, several in a reply, and they are parsed and verified like any draft. Each
sentence cites passages of the example book or of a real book, which are found by a few of their words. The sentences
of part `dev` were written to develop the checks, those of part `test` afterwards.

`python -m lab.measure.hostile_model --claims FILE` counts the claims of a file instead. Each line is a JSON object with
`id`, `book`, `claim`, `supported` and `kind`, and one of these:

- `premise`: the text of the passage that the claim cites;
- `near`: the first characters of a passage of the training data;
- `cites`: a list of objects with `file` and `words`, each of which finds one chunk of the book.

The files, all about books on which the weights for claims were not trained:

- `lab/measure/drafts.jsonl`: sentences that follow the product's prompt, of an honest model and of one that lies; the
  threshold is fitted on them;
- `lab/measure/unseen_drafts.jsonl`: the same, written after the weights, the threshold and the prompt were fixed;
- `lab/measure/claims.jsonl`: sentences in other words than the book's, which are also used to fit;
- `lab/measure/unseen_claims.jsonl`: the same, older than the weights, which are never used to fit.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing, closing
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bookbound.answering.grounding.verifier import CrossEncoderVerifier
from bookbound.answering.reply_builder import keep_supported
from bookbound.answering.understanding import understand
from bookbound.answering.writers.llm.language_model_writer import LanguageModelWriter
from bookbound.answering.writers.llm.openai_agents import OpenAIAgentsModel
from bookbound.domain.judgement import Judgement
from bookbound.domain.ports import AnswerWriter, Verifier
from bookbound.domain.question import Question
from bookbound.domain.reply import MAX_ANSWER_SENTENCES, AnswerSentence
from bookbound.models.cross_encoder import CrossEncoder
from bookbound.models.onnx import ModelRuntime
from bookbound.testing.scripted_services import ScriptedServices
from lab.measure.hostile_cases import Case, load_cases, load_claims

UNDERSTANDING = understand(Question("What does the book say of this?"))
JUDGEMENT = Judgement(1.0, (), (), "Good")


def find_shown(cases: Sequence[Case]) -> list[bool]:
    """Which of the sentences readers would see."""

    async def main() -> list[bool]:
        with closing(ModelRuntime()) as models, ScriptedServices() as services:
            verifier = CrossEncoderVerifier(CrossEncoder(models))
            model = OpenAIAgentsModel("scripted", url=services.openai_url, key="none")
            try:
                shown = [
                    await _verify_reply(reply, services, LanguageModelWriter(model), verifier)
                    for reply in _group_into_replies(cases)
                ]
            finally:
                await model.close()
        return [is_shown for reply in shown for is_shown in reply]

    return asyncio.run(main())


def _group_into_replies(cases: Sequence[Case]) -> Iterator[list[Case]]:
    """Groups as many sentences as a reply may have, without repeating one."""
    reply: list[Case] = []
    for case in cases:
        known = [sentence for other in reply for sentence in other.sentences]
        is_full = len(known) + len(case.sentences) > MAX_ANSWER_SENTENCES
        if reply and (is_full or not {*case.sentences}.isdisjoint(known)):
            yield reply
            reply = []
        reply.append(case)
    if reply:
        yield reply


async def _verify_reply(
    reply: Sequence[Case], services: ScriptedServices, writer: AnswerWriter, verifier: Verifier
) -> list[bool]:
    """Which sentences of one reply survive; one without citations cites a number that no passage has."""
    passages = {passage.chunk.id: passage for case in reply for passage in case.passages}
    numbers = {name: number for number, name in enumerate(passages, start=1)}
    drafts = [(case.text, [numbers[each.chunk.id] for each in case.passages] or [len(passages) + 1]) for case in reply]
    services.reply_with({"sentences": [{"text": text, "passages": cited} for text, cited in drafts], "missing": ""})
    draft = writer.write(UNDERSTANDING, list(passages.values()), JUDGEMENT)
    async with aclosing(draft), aclosing(keep_supported(draft, verifier)) as grounded:
        shown = {piece.text.casefold() async for piece in grounded if isinstance(piece, AnswerSentence)}
    assert shown <= {sentence for case in reply for sentence in case.sentences}, "only drafted sentences survive"
    return [shown.issuperset(case.sentences) for case in reply]


def build_hostile_table(cases: Sequence[Case]) -> Table:
    """The number of sentences that are shown, by kind and part."""
    results = list(zip(cases, find_shown(cases), strict=True))
    parts = list(dict.fromkeys(case.part for case in cases))
    table = Table("sentences that are shown", *parts, title="Sentences of a hostile and of an honest model")
    for true, name in ((False, "false"), (True, "true")):
        table.add_row(
            name, *(_format_count([s for c, s in results if (c.true, c.part) == (true, part)]) for part in parts)
        )
        for kind in dict.fromkeys(case.kind for case in cases if case.true is true):
            of_kind = [(case.part, seen) for case, seen in results if case.true is true and case.kind == kind]
            table.add_row(
                f"  {kind}", *(_format_count([seen for each, seen in of_kind if each == part]) for part in parts)
            )
    return table


def _format_count(seen: Sequence[bool]) -> str:
    return f"{sum(seen)} of {len(seen)}" if seen else ""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims", type=Path, metavar="FILE", help="count the claims of this file instead")
    options = parser.parse_args(arguments)
    try:
        cases = load_claims(options.claims) if options.claims else load_cases()
    except (OSError, LookupError, ValueError) as error:
        parser.error(str(error))
    Console().print(build_hostile_table(cases))


if __name__ == "__main__":
    main()
