"""`python -m lab.measure.hostile_model`: counts false and true sentences of a hostile model that readers would see.

A scripted model sends them over HTTP, several in a reply, and they are parsed and verified like any draft. Those that
are supported are shown as they are, and those that are unverified with a mark. Each sentence cites passages of the
example book or of a real book, which are found by a few of their words. The sentences of part `dev` were written to
develop the checks, those of part `test` afterwards.

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bookbound.answering.grounding.verifier import CrossEncoderVerifier
from bookbound.answering.understanding import understand
from bookbound.answering.writers.llm.language_model_writer import LanguageModelWriter
from bookbound.answering.writers.llm.openai_agents import OpenAIAgentsModel
from bookbound.domain.judgement import Judgement, SupportLabel
from bookbound.domain.ports import AnswerWriter, Verifier
from bookbound.domain.question import Question
from bookbound.domain.reply import MAX_ANSWER_SENTENCES, AnswerSentence
from bookbound.models.cross_encoder import CrossEncoder
from bookbound.models.onnx import ModelRuntime
from bookbound.testing.scripted_services import ScriptedServices
from lab.measure.hostile_cases import Case, load_cases, load_claims

UNDERSTANDING = understand(Question("What does the book say of this?"))
JUDGEMENT = Judgement(1.0, (), (), "Good")
LABELS = tuple(SupportLabel)


def find_labels(cases: Sequence[Case]) -> list[SupportLabel]:
    """How each of the texts is labelled; the least sure of its sentences counts."""

    async def main() -> list[SupportLabel]:
        with closing(ModelRuntime()) as models, ScriptedServices() as services:
            verifier = CrossEncoderVerifier(CrossEncoder(models))
            model = OpenAIAgentsModel("scripted", url=services.openai_url, key="none")
            try:
                labelled = [
                    await _verify_reply(reply, services, LanguageModelWriter(model), verifier)
                    for reply in _group_into_replies(cases)
                ]
            finally:
                await model.close()
        return [label for reply in labelled for label in reply]

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
) -> list[SupportLabel]:
    """How the texts of one reply are labelled; one without citations cites a number that no passage has."""
    passages = {passage.chunk.id: passage for case in reply for passage in case.passages}
    numbers = {name: number for number, name in enumerate(passages, start=1)}
    drafts = [(case.text, [numbers[each.chunk.id] for each in case.passages] or [len(passages) + 1]) for case in reply]
    services.reply_with({"sentences": [{"text": text, "passages": cited} for text, cited in drafts], "missing": ""})
    labels: dict[str, SupportLabel] = {}
    async with aclosing(writer.write(UNDERSTANDING, list(passages.values()), JUDGEMENT)) as draft:
        async for piece in draft:
            if isinstance(piece, AnswerSentence):
                labels[piece.text.casefold()] = (await verifier.verify(piece)).label
    return [max((_find_label(each, labels) for each in case.sentences), key=LABELS.index) for case in reply]


def _find_label(sentence: str, labels: Mapping[str, SupportLabel]) -> SupportLabel:
    """The label of a sentence, maybe with the "Yes." before it; what the writer leaves out is not shown."""
    return next((label for text, label in labels.items() if sentence in text), SupportLabel.UNSUPPORTED)


def build_hostile_table(cases: Sequence[Case]) -> Table:
    """The number of sentences that are shown without and with a mark, by kind and part."""
    results = list(zip(cases, find_labels(cases), strict=True))
    parts = list(dict.fromkeys(case.part for case in cases))
    columns = [name for part in parts for name in (part, f"{part}, marked")]
    table = Table("sentences that are shown", *columns, title="Sentences of a hostile and of an honest model")

    def add_row(name: str, found: Sequence[tuple[Case, SupportLabel]]) -> None:
        by_part = [[label for case, label in found if case.part == part] for part in parts]
        shown = (SupportLabel.SUPPORTED, SupportLabel.UNVERIFIED)
        table.add_row(name, *(_format_count(labels, each) for labels in by_part for each in shown))

    for true, name in ((False, "false"), (True, "true")):
        of_truth = [(case, label) for case, label in results if case.true is true]
        add_row(name, of_truth)
        for kind in dict.fromkeys(case.kind for case, _ in of_truth):
            add_row(f"  {kind}", [(case, label) for case, label in of_truth if case.kind == kind])
    return table


def _format_count(labels: Sequence[SupportLabel], counted: SupportLabel) -> str:
    return f"{labels.count(counted)} of {len(labels)}" if labels else ""


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
