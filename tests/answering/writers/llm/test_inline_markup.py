from __future__ import annotations

import pytest

from bookbound.answering.writers.llm.inline_markup import strip_links, strip_markdown


@pytest.mark.parametrize(
    ("drafted", "words"),
    [
        ("Press **stop** and `__init__`, not __start__.", "Press stop and __init__, not start."),
        ("Use `*args` and `**options`, `a[0](b)` and ``x`` ✅.", "Use *args and **options, a[0](b) and x ."),
        ("**Call `__main__` first** 🚀 *now*.", "Call __main__ first now."),
        ("See [the arm](http://a.b/c) and ![a picture](/d.png).", "See the arm and a picture."),
        ("It is 2 * 3 * 4 in snake_case_name.", "It is 2 * 3 * 4 in snake_case_name."),
        ("A \ue0007\ue001 sign of its own.", "A 7 sign of its own."),
    ],
)
def test_only_words_and_code_are_left(drafted: str, words: str) -> None:
    assert strip_markdown(drafted) == words


def test_marks_that_the_book_has_stay() -> None:
    book = "Write __init__ with **kwargs** as [text](url)."
    assert strip_markdown("Write __init__ with **kwargs** as [text](url), __not__ so.", book) == (
        "Write __init__ with **kwargs** as [text](url), not so."
    )


def test_an_address_that_the_book_lacks_is_left_out() -> None:
    book = "See [the page](http://a.b)."
    assert strip_links("See [the page](http://a.b), [other](http://evil.c) and `[x](y)`.", book) == (
        "See [the page](http://a.b), other and `[x](y)`."
    )
