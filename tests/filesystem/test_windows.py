"""What is different on Windows, tried on another system: a process in which what Windows lacks is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Other packages choose their code for this system when they are imported, so they come first.
LIKE_WINDOWS = """
import concurrent.futures.thread, fcntl, multiprocessing.context, os, signal, shutil, socket, sys, tempfile, types
import fastapi, httpcore, numpy, onnxruntime, prometheus_client, pypdfium2, qdrant_edge, sqlalchemy, tokenizers
import typer, uvicorn, uvicorn.protocols.http.httptools_impl, rich.console, watchfiles

flock, open_file = fcntl.flock, os.open

def lock_bytes(handle, mode, count):
    try:
        flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise PermissionError(13, "Permission denied") from error

def open_unless_folder(path, flags, *more, **names):
    if not names and os.path.isdir(path):
        raise PermissionError(13, "Permission denied")
    return open_file(path, flags, *more, **names)

POSIX_NAMES = "O_CLOEXEC O_DIRECTORY O_NOFOLLOW SEEK_DATA geteuid getuid nice pread pwrite statvfs"
for name in POSIX_NAMES.split():
    delattr(os, name)
del signal.pthread_sigmask
os.open = open_unless_folder
shutil.disk_usage = lambda folder: types.SimpleNamespace(free=1 << 40)
socket.SO_EXCLUSIVEADDRUSE = socket.SO_REUSEADDR
sys.modules |= {"fcntl": None, "resource": None, "msvcrt": types.SimpleNamespace(locking=lock_bytes, LK_NBLCK=2)}
sys.platform = "win32"
"""


def run(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", LIKE_WINDOWS + code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def book(tmp_path: Path) -> Path:
    folder = tmp_path / "book"
    folder.mkdir()
    (folder / "lamp.md").write_text("# Lamps\n\nThe wick of a signal lamp is trimmed every 12 hours.\n")
    return folder


def test_a_book_is_indexed_read_and_asked(book: Path, tmp_path: Path) -> None:
    code = """
import bookbound
bookbound.index(sys.argv[1], sys.argv[2])
with bookbound.open(sys.argv[2]) as book:
    print(book.ask("How often is the wick of a signal lamp trimmed?").text)
"""
    assert "every 12 hours" in run(code, str(book), str(tmp_path / "index"))
    assert not [*tmp_path.rglob(".bookbound-new-*")]


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    code = """
from pathlib import Path
from bookbound.domain.errors import IndexLockedError
from bookbound.indexing.store.generations import FolderGenerations
with FolderGenerations(Path(sys.argv[1])).lock():
    try:
        with FolderGenerations(Path(sys.argv[1])).lock():
            print("locked twice")
    except IndexLockedError:
        print("refused")
with FolderGenerations(Path(sys.argv[1])).lock():
    print("free again")
"""
    assert run(code, str(tmp_path / "index")).split("\n")[:2] == ["refused", "free again"]


def test_a_lock_is_waited_for_and_leaves_the_position_in_the_file(tmp_path: Path) -> None:
    code = """
import threading
from pathlib import Path
from bookbound import filesystem
file = Path(sys.argv[1])
file.write_bytes(b"content")
order = []
def wait():
    with filesystem.wait_for_lock(file):
        order.append("second")
with file.open("r+b", buffering=0) as opened:
    opened.read(3)
    assert filesystem.try_lock(opened.fileno())
    thread = threading.Thread(target=wait)
    thread.start()
    order += ["first", opened.read().decode()]
thread.join()
print(*order)
"""
    assert run(code, str(tmp_path / "lock")) == "first tent second\n"


def test_a_file_that_is_being_read_is_replaced_when_it_is_free(tmp_path: Path) -> None:
    code = """
from pathlib import Path
from bookbound import filesystem
replace, refusals = Path.replace, [True] * 3
def refuse(path, target):
    if refusals:
        refusals.pop()
        raise PermissionError(13, "Permission denied")
    return replace(path, target)
Path.replace = refuse
filesystem.write_atomically(Path(sys.argv[1]), b"new")
print(Path(sys.argv[1]).read_text(), len(refusals))
"""
    assert run(code, str(tmp_path / "current")) == "new 0\n"


def test_several_workers_and_indexing_from_the_server_are_refused_with_what_to_do_instead(tmp_path: Path) -> None:
    code = """
import asyncio
from bookbound.bootstrap.reindex_process import build_reindexing
from bookbound.contracts.http_contract import ProblemError
from bookbound.domain.errors import ConfigError
from bookbound.server import uvicorn_server
from bookbound.settings import load_settings
settings = load_settings(index=sys.argv[1], metrics="off")
try:
    with uvicorn_server.bind_socket("127.0.0.1", 0) as listener:
        uvicorn_server.serve(listener, 2, settings)
except ConfigError as error:
    print(error)
try:
    asyncio.run(build_reindexing(settings).begin(None))
except ProblemError as error:
    print(error.problem.message)
"""
    assert run(code, str(tmp_path / "index")) == (
        "Windows has one worker process: leave out --workers.\n"
        "On Windows the server cannot index the book. Run: bookbound index\n"
    )
