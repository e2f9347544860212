"""`python -m evals.pictures`: takes the pictures in `docs/pictures` of the page, the widget and the report in Chromium.

Run it after you change what they show. Pictures of the same pages can differ by the fonts of the machine.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Page

from bookbound import bootstrap
from bookbound.settings import Settings
from evals.bench_server import run_server
from evals.chromium import run_chromium
from evals.sets import BOOK

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
SERVICES = "/read/docs/02-ros2/02-services-and-actions.mdx"
DESCRIPTION = "/read/docs/02-ros2/03-robot-description.md"
ANATOMY = "/read/docs/01-foundations/02-anatomy-of-a-humanoid.md"
ANSWERED = "Which URDF joint kinds can't do without a limit element?"
UNSURE = "How do topics, services and actions differ?"
REFUSED = "Who won the 2022 football world cup?"
MAX_BYTES = 150_000
TIMEOUT_MILLISECONDS = 60_000


def ask(question: str, status: str) -> Callable[[Page], None]:
    """Asks in the open panel; a reply of another status is an error, because the picture would show something else."""

    def act(page: Page) -> None:
        page.locator("textarea").fill(question)
        page.locator("textarea").press("Enter")
        page.locator(".turn[aria-busy=false] .reply, .turn:not([aria-busy]) .reply").last.wait_for()
        if not page.locator(f".reply.{status}").count():
            raise SystemExit(f"The picture needs a reply that is {status}. Change the question: {question}")

    return act


def open_and_ask(question: str, status: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        page.locator(".launcher").click()
        ask(question, status)(page)

    return act


def look(page: Page) -> None:
    """Takes the page as it is."""


class Picture(NamedTuple):
    """A view of a page, or only of its element `part`, after an action; a page that the server lacks is left out."""

    name: str
    path: str
    act: Callable[[Page], None] = look
    width: int = 1280
    height: int = 800
    scheme: str = "light"
    part: str = "body"


ONE_BOOK = (
    Picture("page", DESCRIPTION, ask(ANSWERED, "answered"), height=660),
    Picture("answer", DESCRIPTION, open_and_ask(ANSWERED, "answered"), 1000, part=".panel"),
    Picture("unsure", SERVICES, open_and_ask(UNSURE, "unsure"), 1000, part=".panel"),
    Picture("refusal", SERVICES, open_and_ask(REFUSED, "refused"), 1000, part=".panel"),
    Picture("dark", SERVICES, ask(ANSWERED, "answered"), height=660, scheme="dark"),
    Picture("narrow", ANATOMY, look, 390, 760),
    Picture("narrow-answer", ANATOMY, open_and_ask(ANSWERED, "answered"), 390, 760),
    Picture("report", "/report", look, 1100),
)
SEVERAL_BOOKS = (Picture("shelf", "/", look, 1000, 420),)


def take(browser: Browser, address: str, pictures: Sequence[Picture], folder: Path) -> None:
    for picture in pictures:
        context = browser.new_context(
            viewport={"width": picture.width, "height": picture.height},
            color_scheme="dark" if picture.scheme == "dark" else "light",
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MILLISECONDS)
        response = page.goto(address + picture.path, wait_until="networkidle")
        if response and response.ok:
            picture.act(page)
            page.mouse.move(0, 0)
            file = folder / f"{picture.name}.png"
            target = page if picture.part == "body" else page.locator(picture.part)
            target.screenshot(path=file, animations="disabled", caret="hide")
            size = file.stat().st_size
            print(f"{file.name}: {size // 1000} kB{' (too large)' * (size > MAX_BYTES)}")
        else:
            print(f"{picture.name}.png: left out, because the server has no {picture.path}")
        context.close()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to put the pictures")
    parser.add_argument("names", nargs="*", help="take only these")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for pictures, variables in ((ONE_BOOK, {}), (SEVERAL_BOOKS, {"BOOKBOUND_BOOK": "robots"})):
            wanted = [each for each in pictures if not options.names or each.name in options.names]
            if wanted:
                index = Path(folder) / ("books" if variables else "book")
                build_indexes(index, several=bool(variables))
                with run_server(index, **variables) as address, run_chromium() as browser:
                    take(browser, address, wanted, options.folder)


def build_indexes(index: Path, several: bool) -> None:
    """Indexes the example book, alone or as several books and editions."""
    if not several:
        bootstrap.index_book(BOOK, Settings(index=index))
        return
    for book, edition, part in (("robots", "1.0", "docs"), ("robots", "2.0", "docs"), ("handbook", "", "docs/02-ros2")):
        source = index.parent / f"{book} {edition}" / book
        shutil.copytree(BOOK / part, source)
        bootstrap.index_book(source, Settings(index=index, book=book, edition=edition))


if __name__ == "__main__":
    main()
