"""TOML is read as it is, and none takes more time or memory than its length allows."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bookbound.sources.safe_config import parse_toml

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from bookbound.sources.safe_config import loads
for text in eval(sys.stdin.read()):
    try:
        loads(text)
    except (ValueError, RecursionError):
        pass
"""


def test_keys_of_many_parts_and_values_of_many_dots_are_read() -> None:
    key = ".".join(["a"] * 50)
    assert parse_toml(f"{key} = '{'.' * 500} www.{'a ' * 500}'")["a"]
    assert parse_toml("".join(f"a.b.c{n} = 1.5\n" for n in range(500)))["a"]["b"]["c499"] == 1.5


@pytest.mark.parametrize("key", ["a." * 200 + "a", '"a" . ' * 200 + "a", "'a'.b . " * 100 + "a"])
def test_a_key_without_end_is_no_toml(key: str) -> None:
    for text in (f"{key} = 1", f"[{key}]", f"x = {{{key} = 1}}"):
        with pytest.raises(ValueError, match="without end"):
            parse_toml(text)


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on processor time here")
def test_time_and_memory_grow_with_length_alone() -> None:
    pieces = ("a.", '"a".', "a", '"', " ", "a ", '"a" ', "[", "[a.", "x = {a.", "'\n", "a.\n", ".")
    texts = repr([piece * (190_000 // len(piece)) for piece in pieces])
    done = subprocess.run([sys.executable, "-c", LIMITED], input=texts, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
