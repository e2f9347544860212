"""Measures the first view of the page of the book in Chromium, on a processor as slow as that of a phone."""

from __future__ import annotations

import statistics
from pathlib import Path

from tests.server.page.chromium import run_chromium
from tests.server.server_process import run_server

SLOWDOWN, RUNS = 4, 5
LONG_PAGE = "/read/docs/02-ros2/02-services-and-actions.mdx"
READ_TIMES = """() => {
  const [navigation] = performance.getEntriesByType("navigation");
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  const resources = [navigation, ...performance.getEntriesByType("resource")];
  const bytes = resources.reduce((sum, each) => sum + each.transferSize, 0);
  return [paint.startTime, navigation.domContentLoadedEventEnd, bytes];
}"""


def measure(index: Path) -> dict[str, float]:
    """Milliseconds until words are shown and until search and assistant work, and the bytes that were sent."""
    with run_server(index) as address, run_chromium() as browser:

        def load(path: str) -> tuple[float, float, float]:
            context = browser.new_context(viewport={"width": 390, "height": 844})
            page = context.new_page()
            context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
            page.goto(address + path, wait_until="networkidle")
            paint, usable, size = page.evaluate(READ_TIMES)
            context.close()
            return paint, usable, size

        load("/")  # the server reads the outline once
        first, long = ([load(path) for _ in range(RUNS)] for path in ("/", LONG_PAGE))
    return {
        "first page: words shown, ms": statistics.median(each[0] for each in first),
        "first page: usable, ms (at most 1,000 ms)": statistics.median(each[1] for each in first),
        "first page: kB (at most 300 kB)": max(each[2] for each in first) / 1000,
        "long page with code: words shown, ms": statistics.median(each[0] for each in long),
        "long page with code: usable, ms": statistics.median(each[1] for each in long),
        "long page with code: kB": max(each[2] for each in long) / 1000,
    }
