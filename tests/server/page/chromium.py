"""Starts Chromium for tests, measurements and pictures."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

CHROMIUM_OPTIONS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --font-render-hinting=none"
).split()


@contextmanager
def run_chromium() -> Iterator[Browser]:
    executable = shutil.which("chromium")
    if executable is None:
        raise SystemExit("Chromium is not installed. On Debian: apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=CHROMIUM_OPTIONS)
        try:
            yield browser
        finally:
            browser.close()
