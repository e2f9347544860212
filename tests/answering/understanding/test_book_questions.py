"""Which questions are about the book itself, and which only mention a book or a chapter."""

from __future__ import annotations

import pytest

from bookbound.answering.understanding.book_questions import parse_book_question
from bookbound.domain.understanding import BookQuestion, BookTopic

TITLE = "A Byte of Python"
ABOUT_THE_BOOK: dict[BookTopic, list[str]] = {
    "subject": [
        "what is this book about",
        "What's this book about?",
        "What is the book about?",
        "what is this book",
        "What is A Byte of Python about?",
        "Please summarise this book.",
        "Can you summarize the book?",
        "Give me a short summary of this book",
        "an overview of the book",
        "What does this book cover?",
        "what will I learn from this book",
        "Tell me about this book",
        "hi, what is this guide about?",
        "What are the main topics of this book?",
    ],
    "audience": [
        "Who is this book for?",
        "who is the book written for",
        "Who should read this book?",
        "For whom is this book?",
        "Who is the target audience?",
        "Is this book for beginners?",
    ],
    "author": ["who wrote this", "Who wrote this book?", "who is the author", "Who are the authors of this book?"],
    "citation": [
        "How do I cite this book?",
        "how should we cite A Byte of Python",
        "cite this book",
        "What is the BibTeX entry for this book?",
    ],
    "contents": [
        "list the chapters",
        "List all chapters of this book.",
        "table of contents",
        "show me the table of contents please",
        "What are the chapters?",
        "Which chapters are there?",
        "how many chapters are there",
        "How many chapters does this book have?",
        "how many chapters are in the book?",
        "What topics does this book cover?",
        "How is this book organised?",
        "toc",
    ],
    "questions": [
        "what can I ask",
        "What can I ask you?",
        "what questions can I ask here?",
        "What questions can you answer?",
    ],
}
CHAPTERS = {
    "summarise chapter 3": BookQuestion("chapter", number=3),
    "Summarize chapter three, please": BookQuestion("chapter", number=3),
    "what does chapter 4 cover": BookQuestion("chapter", number=4),
    "What is chapter 2 about?": BookQuestion("chapter", number=2),
    "what's in ch. 7?": BookQuestion("chapter", number=7),
    "chapter 12": BookQuestion("chapter", number=12),
    "What is module 2 about?": BookQuestion("chapter", "module", 2),
    "What does the last chapter discuss?": BookQuestion("chapter", number=-1),
    "Tell me about the second chapter": BookQuestion("chapter", number=2),
    "what is in the chapter on quaternions": BookQuestion("chapter", name="quaternions"),
    "Summarise the chapter about data structures.": BookQuestion("chapter", name="data structures"),
    "what does the Functions chapter cover?": BookQuestion("chapter", name="Functions"),
    "list the sections of chapter 5": BookQuestion("chapter", number=5),
}
ORDINARY = [
    "What does the chapter say about lambda?",
    "what is a phone book example?",
    "What is an address book?",
    "How do I write an address book program?",
    "What does chapter 3 say about loops?",
    "Which chapter explains decorators?",
    "In which chapter are classes explained?",
    "What does the book say about exceptions?",
    "What does this book recommend for Windows users?",
    "Does this book cover Python 2?",
    "What editor does the author recommend?",
    "Who wrote Python?",
    "Who created Python?",
    "Who is Guido van Rossum?",
    "What is a chapter directive?",
    "How do I number chapters in mdBook?",
    "How many chapters can a SUMMARY.md have?",
    "How do I list the chapters in SUMMARY.md?",
    "What is the table of contents directive?",
    "How do I add a table of contents to my page?",
    "What is a book.toml file?",
    "How is the book built?",
    "What does mdbook build do?",
    "What is the contents of a list?",
    "What are the contents of sys.path?",
    "What are the parts of a strain wave gear?",
    "list the modules",
    "What topics does the node subscribe to?",
    "How many topics can a node publish?",
    "What is section 3.2 of the license?",
    "Summarise the difference between lists and tuples",
    "What is this?",
    "What is it about?",
    "Tell me about functions",
    "What can I do with a dictionary?",
    "What can I ask the user for?",
    "Who is a robot for?",
    "Explain the chapter 3 example with the while loop",
    "What does the first chapter of the Zen of Python mean?",
    "What is the author's opinion on goto, and why?",
    "Is Python for beginners?",
    "A Byte of Python",
    "What is Python?",
    "bibtex",
    "How do I cite a paper?",
]


@pytest.mark.parametrize(("text", "kind"), [(text, kind) for kind, texts in ABOUT_THE_BOOK.items() for text in texts])
def test_a_question_about_the_book_is_recognized(text: str, kind: BookTopic) -> None:
    assert parse_book_question(text, TITLE) == BookQuestion(kind)


@pytest.mark.parametrize(("text", "asked"), CHAPTERS.items())
def test_a_question_about_a_chapter_names_it(text: str, asked: BookQuestion) -> None:
    assert parse_book_question(text, TITLE) == asked


@pytest.mark.parametrize("text", ORDINARY)
def test_a_question_that_only_mentions_a_book_is_ordinary(text: str) -> None:
    assert parse_book_question(text, TITLE) is None


@pytest.mark.parametrize("title", ["Book", "Guide", "The Book", ""])
def test_a_book_with_a_plain_title_is_asked_about_as_any_other(title: str) -> None:
    assert parse_book_question("What is this book about?", title) == BookQuestion("subject")
    assert parse_book_question("How many chapters does the book have?", title) == BookQuestion("contents")
