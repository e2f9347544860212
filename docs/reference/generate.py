"""Write the pages of docs/ that come from the code and from results: python docs/reference/generate.py"""

from __future__ import annotations

import re
import sys
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

from bookbound.cli import app
from bookbound.settings import ENVIRONMENT_PREFIX, SETTINGS_FILE, Settings

FOLDER = Path(__file__).resolve().parent
DOCS, REPOSITORY = FOLDER.parent, FOLDER.parents[1]
sys.path.insert(0, str(FOLDER))
from library_page import library_page  # noqa: E402

RESULTS = re.compile(r"<!-- summary -->.*?<!-- /summary -->", re.DOTALL)
DECISIONS_INTRODUCTION = """\
# Decisions

Choices that others will question, each with its reasons on half a page. A decision that no longer holds is removed, so
numbers are missing.

| number | decision |
|---|---|
"""
SETTINGS_INTRODUCTION = f"""\
# Settings

Bookbound reads its settings from three places. The last one that sets a value wins:

1. the file `{SETTINGS_FILE}` in the working directory, for example `model_threads = 4`;
2. the environment, in which every setting is a variable in capitals with the prefix `{ENVIRONMENT_PREFIX}`, for
   example `{ENVIRONMENT_PREFIX}MODEL_THREADS=4`; a list has commas between its values;
3. the command line: `--index`, `--book` and `--edition`. `--index FOLDER` also overrides `qdrant_url`.

An unknown name in the file is an error. A variable that looks like a misspelt setting is a warning. Keep keys in the
environment, not in the file. `bookbound status` shows where each value comes from, and never shows a key or an address.

Some settings also accept a variable of another system, in the last column, if they are not set themselves. Of the
keys of language models, only that of the service in `llm_provider` is used, and it is only sent to the service's own
address. With a key of OpenRouter and an `llm_model`, but no `llm_url`, the language model is OpenRouter's.

A rate limit is a number per `second`, `minute`, `hour` or `day`, such as `120/minute`.

| setting | default | meaning | also accepted |
|---|---|---|---|
"""
CLI_NOTES = """\

## Output and exit codes

- Results go to standard output. Progress, warnings and errors go to standard error.
- An error is one line that says what to do next. `BOOKBOUND_DEBUG=1` shows its traceback instead. An unknown option or
  a missing argument shows the usage and what is wrong.
- With `--json`, the result is JSON, and so is an error: `{"error": {"type": ..., "message": ...}}`. Bad use is not. The
  types are in [errors](errors.md).
- On a terminal, text is styled and wrapped, and `NO_COLOR` turns styles off. Elsewhere lines are plain and never
  wrapped, so a link stays whole. Control characters of the book never reach the terminal.
- `-` as the question, the words or the selected text reads them from standard input as UTF-8.
- If the reader of a pipe ends (`| head`), the command ends without a message. Ctrl-C ends it quietly at any moment. A
  closed stream (`>&-`) reads or writes nothing. A result that cannot be written, as to a full disk, is an error.

| exit code | meaning |
|---|---|
| 0 | answered, or done |
| 1 | unsure or refused; `eval`: a requirement is missed; `calibrate`: nothing is written |
| 2 | bad use or configuration, an unreadable book, a full disk, or an index that cannot be used |
| 3 | a service could not be reached, is late, rejects the key, sets a limit or gives an unusable answer |
| 4 | invalid input: a question, selection, number of passages, threshold or question set that breaks a rule |
| 5 | indexed or inspected, but some pages or words could not be read; also if nothing changed since the last time |
| 70 | a bug in Bookbound |
| 130, 141, 143 | interrupted; the reader of a pipe is gone; ended by SIGTERM (a server then exits with 0) |

If a language model fails, `ask` quotes the book and exits with 0 or 1, unless `on_llm_failure` is `error` or
`--contract` is not `canonical`.

## Replies of `ask`

| `--contract` | `-k` | `-t`, default | JSON of a reply | JSON of an error |
|---|---|---|---|---|
| `canonical` | 1 to 20 | 0.0 | that of [`/v1/answers`](contracts.md#post-v1answers) without `request_id` | as above |
| `agent` | 1 to 20 | 0.5 | `AgentResponse`, or `AgentError` (`no_context`, exit code 1) | `AgentError` |
| `grounded-agent` | 3 to 8 | 0.3 | `AgentResponse` with `total_time_ms`, also for a refusal | as above |

`--selected-text` needs `canonical`. [Contracts](contracts.md) describes all three.
"""


def settings_page() -> str:
    return SETTINGS_INTRODUCTION + "".join(map(_settings_row, fields(Settings)))


def _settings_row(field: Field[Any]) -> str:
    default = f"`{field.default}`" if field.default not in (None, ()) else "none"
    meaning = field.metadata["description"]
    if choices := field.metadata.get("choices"):
        meaning += f" One of {', '.join(f'`{each}`' for each in choices)}."
    if limits := field.metadata.get("limits"):
        meaning += f" From {limits[0]} to {limits[1]}."
    fallbacks = ", ".join(f"`{each}`" for each in field.metadata.get("fallbacks", ()))
    return f"| `{field.name}` | {default} | {meaning} | {fallbacks} |\n"


def cli_page() -> str:
    command = get_command(app)
    context = typer.Context(command, info_name="bookbound")
    page = get_docs_for_click(obj=command, ctx=context, name="bookbound", title="Command line")
    return page.rstrip() + "\n" + CLI_NOTES


def decisions_page() -> str:
    """The list of the decisions, from their files."""
    rows = ""
    for file in sorted((DOCS / "internals" / "decisions").glob("0*.md")):
        title = re.sub(r"^# \d+[.:] ", "", file.read_text(encoding="utf-8").partition("\n")[0])
        rows += f"| {int(file.name[:4])} | [{title}]({file.name}) |\n"
    return DECISIONS_INTRODUCTION + rows


def compare_page() -> str:
    """The page as it is, with the summary of the last `make compare` between its marks."""
    page = (DOCS / "compare.md").read_text(encoding="utf-8")
    results = REPOSITORY / "lab" / "compare" / "RESULTS.md"
    if not results.is_file():
        return page
    summary = RESULTS.search(results.read_text(encoding="utf-8"))
    if summary is None:
        raise SystemExit(f"{results} has no part between <!-- summary --> and <!-- /summary -->.")
    return RESULTS.sub(lambda _: summary[0], page)


PAGES = {
    "reference/settings.md": settings_page,
    "reference/cli.md": cli_page,
    "reference/library.md": library_page,
    "internals/decisions/README.md": decisions_page,
    "compare.md": compare_page,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
