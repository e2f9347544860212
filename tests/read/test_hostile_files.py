"""Three hundred hostile sources: each is read, or refused with a message, within bounds; and no index breaks over them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.read.hostile_files import sources

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no limits on memory and processor time here")
ROOT = Path(__file__).resolve().parent.parent.parent
GROUPS = 8
READER = """
import json, resource, signal, sys, traceback
from pathlib import Path
from bookbound.errors import BadSource
from bookbound.read import read
from bookbound.read.prints import mark

MEMORY, SECONDS, PATIENCE = 3 << 30, 20, 300
resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
for line in sys.stdin:
    name, source = json.loads(line)
    print(json.dumps({"begun": name}), flush=True)
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + SECONDS, resource.RLIM_INFINITY))
    signal.alarm(PATIENCE)
    said = {"name": name, "pages": 0, "message": "", "trouble": ""}
    try:
        mark(Path(source))
        book = read(Path(source))
        said |= {"pages": len(book.pages), "text": "".join(page.text for page in book.pages)[:100_000]}
        said["message"] = " ".join(notice.message for notice in book.notices)
    except BadSource as trouble:
        said["message"] = str(trouble)
    except BaseException:
        said["trouble"] = traceback.format_exc()
    print(json.dumps(said), flush=True)
"""


def _read(group: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """What became of some sources that one limited process read."""
    asked = "".join(json.dumps(each) + "\n" for each in group)
    done = subprocess.run([sys.executable, "-c", READER], input=asked, capture_output=True, text=True, check=False)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, ""), (said[-1:], done.stderr[-2000:])
    return [each for each in said if "begun" not in each]


@pytest.fixture(scope="module")
def became(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, Any]]]:
    """What became of every hostile source."""
    folder = tmp_path_factory.mktemp("hostile")
    made = [(name, str(build(folder / f"{number:03}"))) for number, (name, build) in enumerate(sources())]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        groups = list(threads.map(_read, [made[at::GROUPS] for at in range(GROUPS)]))
    yield [each for group in groups for each in group]


def test_every_hostile_source_is_read_or_refused_with_a_message(became: list[dict[str, Any]]) -> None:
    assert len(became) >= 300
    assert {each["name"]: each["trouble"] for each in became if each["trouble"]} == {}
    assert [each["name"] for each in became if not each["pages"] and not each["message"]] == []
