"""`python -m docs.screenshots`: takes the pictures of page, widget and report in `docs/pictures` with Chromium.

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
from tests.server.page.chromium import run_chromium
from tests.server.server_process import run_server

from bookbound import bootstrap
from bookbound.server import api_keys
from bookbound.server.api_keys import ApiKey, KeyKind
from bookbound.settings import Settings

DOCS = Path(__file__).resolve().parent
FOLDER, BOOK = DOCS / "pictures", DOCS.parent / "examples" / "book"
SERVICES = "/read/docs/02-ros2/02-services-and-actions.mdx"
DESCRIPTION = "/read/docs/02-ros2/03-robot-description.md"
ANATOMY = "/read/docs/01-foundations/02-anatomy-of-a-humanoid.md"
ANSWERED = "Which URDF joint kinds can't do without a limit element?"
UNSURE = "When should I use an action instead of a service?"
REFUSED = "Who won the 2022 football world cup?"
LOGGED = (
    *(ANSWERED, UNSURE, UNSURE, "What is a service in ROS 2?", "What are the three parts of a strain wave gear?"),
    *("How much does a humanoid cost?", "How much does a humanoid robot cost?", "What does a humanoid cost?"),
    *("Why do legs have two actuators?", "How do I call a service from the command line?", REFUSED),
)
"""The questions of readers in the picture of the report."""
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
    """A view of a page, or only of its element `part`, after an action."""

    name: str
    path: str
    act: Callable[[Page], None] = look
    width: int = 1280
    height: int = 800
    scheme: str = "light"
    part: str = "body"


def show_report(admin_key: str) -> Callable[[Page], None]:
    """Asks as readers do, waits until the questions are logged, and signs in."""

    def act(page: Page) -> None:
        server, client = page.url.removesuffix("/report"), page.request
        for question in LOGGED:
            client.post(f"{server}/v1/answers", data={"question": question}, timeout=TIMEOUT_MILLISECONDS)
        headers = {"X-API-Key": admin_key}
        while client.get(f"{server}/v1/report", headers=headers).json()["questions"]["asked"] < len(LOGGED):
            page.wait_for_timeout(200)
        page.get_by_label("Admin key").fill(admin_key)
        page.get_by_label("Admin key").press("Enter")
        page.locator("#bb-signed-in").wait_for()
        page.get_by_text("Reading the log").wait_for(state="hidden")

    return act


def list_pictures(admin_key: str) -> tuple[Picture, ...]:
    """The pictures of a server with one book."""
    return (
        Picture("page", DESCRIPTION, ask(ANSWERED, "answered"), height=620),
        Picture("answer", DESCRIPTION, open_and_ask(ANSWERED, "answered"), 1000, part=".panel"),
        Picture("unsure", SERVICES, open_and_ask(UNSURE, "unsure"), 1000, part=".panel"),
        Picture("refusal", SERVICES, open_and_ask(REFUSED, "refused"), 1000, part=".panel"),
        Picture("dark", SERVICES, ask(ANSWERED, "answered"), height=640, scheme="dark"),
        Picture("narrow", ANATOMY, look, 390, 760),
        Picture("narrow-answer", ANATOMY, open_and_ask(ANSWERED, "answered"), 390, 760),
        Picture("report", "/report", show_report(admin_key), 1100, 1000),
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
        page.goto(address + picture.path, wait_until="networkidle")
        picture.act(page)
        page.mouse.move(0, 0)
        file = folder / f"{picture.name}.png"
        target = page if picture.part == "body" else page.locator(picture.part)
        target.screenshot(path=file, animations="disabled", caret="hide")
        size = file.stat().st_size
        print(f"{file.name}: {size // 1000} kB{' (too large)' * (size > MAX_BYTES)}")
        context.close()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to put the pictures")
    parser.add_argument("names", nargs="*", help="take only these")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        one, several = Path(folder) / "one", Path(folder) / "several"
        admin_key, secret = ApiKey.new(KeyKind.ADMIN, "pictures", [])
        api_keys.add_key(api_keys.key_file_path(Settings(index=one)), admin_key)
        for index, pictures, variables in (
            (one, list_pictures(secret), {"BOOKBOUND_SOURCE": str(BOOK)}),
            (several, SEVERAL_BOOKS, {"BOOKBOUND_BOOK": "robots"}),
        ):
            wanted = [each for each in pictures if not options.names or each.name in options.names]
            if wanted:
                build_indexes(index, several=index == several)
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
