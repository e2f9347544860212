"""`python -m lab.compare.written_answers INDEXES`: asks Bookbound, LangChain and LlamaIndex with one language model.

`INDEXES` has one index a book. All get the replies of the same model: prompts without a reply go to `prompts.jsonl`,
`python -m lab.compare.write_replies` writes the replies, and the next run goes on from there. The frameworks get the
passages that Bookbound ranks first, as many as a reply has by default, in the prompts that come with their packages
(LangChain's `RetrievalQA`, LlamaIndex's `CHAT_TEXT_QA_PROMPT`); Bookbound's model reads more if Bookbound is unsure.
Once all replies are there, `answers.jsonl` has the answers in random order and without the names of the systems, for
readers who judge them, `systems.json` has the names, and `run.json` the versions.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bookbound.answering.writers.llm.language_model_writer import LanguageModelWriter
from bookbound.bootstrap import open_book
from bookbound.domain.chunk import Passage
from bookbound.domain.reply import Answer, Reply
from bookbound.library import Book
from bookbound.settings import load_settings
from lab.compare.machine import describe_run
from lab.compare.recorded_model import MissingReplyError, PromptFile, RecordedModel
from lab.compare.weights import OUT

QUESTIONS = Path(__file__).parent / "written_questions.jsonl"
RECORDED = Path(__file__).parent / "written_replies.jsonl"
"""Replies that were written before, each with the digest of its prompt: writing them takes hours without a GPU."""
FOLDER = OUT / "written"
MODEL = "Qwen2.5-Coder-1.5B-Instruct"
QUOTES, WRITTEN, LANGCHAIN, LLAMA_INDEX = "Bookbound, quotes", f"Bookbound, {MODEL}", "LangChain", "LlamaIndex"
MAX_ANSWER_SECONDS = 300
SEED = 11
Row = dict[str, Any]
Ask = Callable[[str, Sequence[Passage]], str]


def ask_langchain(prompts: PromptFile, question: str, passages: Sequence[Passage]) -> str:
    """The answer with the prompt of LangChain's `RetrievalQA` for chat models."""
    from langchain_classic.chains.question_answering.stuff_prompt import CHAT_PROMPT

    context = "\n\n".join(passage.chunk.text for passage in passages)
    system, human = CHAT_PROMPT.format_messages(context=context, question=question)
    return prompts.find_reply(str(system.content), str(human.content))


def ask_llama_index(prompts: PromptFile, question: str, passages: Sequence[Passage]) -> str:
    """The answer with the prompt of LlamaIndex's query engines for chat models."""
    from llama_index.core.prompts.chat_prompts import CHAT_TEXT_QA_PROMPT

    context = "\n\n".join(passage.chunk.text for passage in passages)
    system, human = CHAT_TEXT_QA_PROMPT.format_messages(context_str=context, query_str=question)
    return prompts.find_reply(str(system.content), str(human.content))


def describe_reply(reply: Reply) -> str:
    """What a reader sees of a reply, without its citations."""
    if isinstance(reply, Answer):
        return "\n\n".join(filter(None, (reply.text, reply.reservation)))
    closest = [f"> {piece.text}" for piece in getattr(reply, "closest", ()) if hasattr(piece, "text")]
    return "\n\n".join((reply.text, *closest))


def ask_bookbound(book: Book, question: str, _: Sequence[Passage]) -> str:
    """What a reader sees of Bookbound's reply with the language model."""
    return describe_reply(book.ask(question, allow_fallback=False))


def give_model(book: Book, model: RecordedModel) -> None:
    """Lets a book that was opened without a language model answer with this one."""
    pipeline = book.pipeline
    engine = replace(pipeline.engine, model=LanguageModelWriter(model), quotes_on_failure=False)
    book.pipeline = replace(pipeline, engine=engine)


def answer_all(book: Book, prompts: PromptFile, questions: Sequence[Row], *, repairs: bool = True) -> Iterator[Row]:
    """The answers of all systems to the questions about a book, as far as their replies are there."""
    quoted = {row["id"]: book.ask(row["question"]) for row in questions}
    give_model(book, RecordedModel(MODEL, prompts, repairs=repairs))
    systems: dict[str, Ask] = {
        WRITTEN: partial(ask_bookbound, book),
        LANGCHAIN: partial(ask_langchain, prompts),
        LLAMA_INDEX: partial(ask_llama_index, prompts),
    }
    for row in questions:
        reply = quoted[row["id"]]
        yield row | {"system": QUOTES, "answer": describe_reply(reply)}
        for name, ask in systems.items():
            try:
                yield row | {"system": name, "answer": ask(row["question"], reply.trace.retrieval.passages)}
            except MissingReplyError:
                yield row | {"system": name, "answer": None}


def write_blind(answers: list[Row], folder: Path) -> None:
    """Writes the answers without their systems, and which system each is from."""
    random.Random(SEED).shuffle(answers)
    names = {f"a{number:04}": row for number, row in enumerate(answers, 1)}
    shown = ("book", "question", "answerable", "expected", "answer")
    lines = (
        json.dumps({"id": name} | {k: row.get(k) for k in shown}, ensure_ascii=False) for name, row in names.items()
    )
    (folder / "answers.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    systems = {name: {"system": row["system"], "question": row["id"]} for name, row in names.items()}
    (folder / "systems.json").write_text(json.dumps(systems, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indexes", type=Path, help="the folder with the indexes of the books")
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--without-repairs", action="store_true", help="do not ask the model to say sentences again")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    prompts = PromptFile(options.out / "prompts.jsonl", RECORDED, options.out / "replies.jsonl")
    questions = [json.loads(line) for line in options.questions.read_text(encoding="utf-8").splitlines()]
    answers: list[Row] = []
    for name in dict.fromkeys(row["book"] for row in questions):
        settings = replace(load_settings(index=options.indexes / name), answer_timeout_seconds=MAX_ANSWER_SECONDS)
        with closing(open_book(settings)) as book:
            asked = [row for row in questions if row["book"] == name]
            answers += answer_all(book, prompts, asked, repairs=not options.without_repairs)
        missing = sum(row["answer"] is None for row in answers)
        print(f"{name}: {len(answers)} answers so far, {missing} need a reply", flush=True)
    if not any(row["answer"] is None for row in answers):
        write_blind(answers, options.out)
        (options.out / "run.json").write_text(
            json.dumps(describe_run() | {"repairs": not options.without_repairs}, indent=1) + "\n", encoding="utf-8"
        )
        print(f"{options.out / 'answers.jsonl'} is ready to be judged.")


if __name__ == "__main__":
    main()
