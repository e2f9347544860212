"""Runs `bookbound` as the documents write it, or checks a command of a program that cannot run: stand_in.py NAME ..."""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BOOKBOUND = [sys.executable, "-u", "-m", "bookbound"]
MAY_REFUSE = {"ask", "calibrate", "eval"}
"""Commands whose exit code 1 is a result: no answer, or figures that miss a requirement."""
NAMES_A_FILE = {"--filename", "--kustomize", "--from-file"}


def run_bookbound(arguments: list[str]) -> int:
    command = arguments[0]
    if command == "serve" or "--http" in arguments:
        return start_server(
            ["0" if before == "--port" else each for before, each in zip(["", *arguments], arguments, strict=False)]
        )
    # There is no Qdrant; the command and its options exist.
    if "BOOKBOUND_QDRANT_URL" in os.environ or "--from-qdrant" in arguments:
        return subprocess.run([*BOOKBOUND, command, "--help"], check=False, capture_output=True).returncode
    if arguments[:2] == ["key", "revoke"]:
        listed = subprocess.run([*BOOKBOUND, "key", "list"], check=True, capture_output=True, text=True).stdout
        arguments[2] = re.findall(r"\b[0-9a-f]{8}\b", listed)[0]
    if command == "demo":
        arguments.append("--no-serve")
    code = subprocess.run([*BOOKBOUND, *arguments], check=False).returncode
    return 0 if code == 1 and command in MAY_REFUSE else code


def start_server(arguments: list[str]) -> int:
    """Starts a server on a free port, asks for its health, and ends it."""
    arguments += [] if "--port" in arguments else ["--port", "0"]
    with subprocess.Popen([*BOOKBOUND, *arguments], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = re.search(r"http://[\d.]+:\d+", server.stdout.readline())
        healthy = address is not None and urllib.request.urlopen(f"{address[0]}/health").status == 200
        server.terminate()
        server.stdout.read()
    return 0 if healthy else 1


def check_command(name: str, arguments: list[str]) -> int:
    if name == "make":
        makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
        targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
        return int(not set(arguments) <= targets)
    if name == "python":
        sys.path.insert(0, str(REPOSITORY))
        return int(importlib.util.find_spec(arguments[1]) is None)
    pairs = itertools.pairwise(arguments)
    missing = [file for option, file in pairs if option in NAMES_A_FILE and file != "-" and not Path(file).exists()]
    return int(bool(missing))


if __name__ == "__main__":
    name, arguments = sys.argv[1], sys.argv[2:]
    raise SystemExit(run_bookbound(arguments) if name == "bookbound" else check_command(name, arguments))
