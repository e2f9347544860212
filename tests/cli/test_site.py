"""Reading a site on the web from the command line."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sources.web import HOST, folder, serving

Run = Callable[..., subprocess.CompletedProcess[str]]
SITE = Path(__file__).parent.parent / "read" / "sites" / "mdbook"


def test_a_site_is_inspected_if_its_host_may_be_asked(bookbound: Run) -> None:
    with serving(folder(SITE)) as web:
        refused = bookbound("inspect", "--site", web.url)
        assert (refused.returncode, web.asked) == (2, [])
        assert "crawl_hosts" in refused.stderr
        done = bookbound("inspect", "--site", web.url, BOOKBOUND_CRAWL_HOSTS=HOST)
        assert (done.returncode, done.stderr) == (0, "")
        assert "Kind        html (a site on the web)" in done.stdout
        assert f"  Cleaning  {web.url}/care/clean.html" in done.stdout.splitlines()


def test_no_password_of_an_address_is_shown(bookbound: Run) -> None:
    for command in ("inspect", "index"):
        done = bookbound(command, "--site", "https://user:secret@book.example/")
        assert done.returncode == 2
        assert "secret" not in done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [[], ["--site", "https://book.example/", "."]])
def test_there_is_one_source_or_one_site(bookbound: Run, arguments: list[str]) -> None:
    done = bookbound("inspect", *arguments)
    assert done.returncode == 2
    assert "--site URL" in done.stderr
