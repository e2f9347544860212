"""Fixtures for all tests: the folder of real books, and the example book with its index."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from hypothesis import settings
from tests.servers.qdrant_nodes import MISSING_MESSAGE, QdrantCluster, find_executable, run_cluster

from bookbound.testing.scripted_services import ScriptedServices

# A shell that starts the tests in the background ignores Ctrl-C, and so would every process that a test sends one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run: a test that fails on one machine fails on all.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

SLOWEST = (
    "indexing/store/test_kills",
    "test_readme",
    "server/test_faults",
    "server/test_openapi",
    "sources/test_hostile_files",
)
"""The slowest files. They run first, so that no process starts one of them at the end."""

INTEGRATION = (
    "answering/writers/llm/test_language_model_writer",
    "bootstrap/",
    "cli/",
    "contracts/test_grounded_agent",
    "contracts/test_score_thresholds",
    "contracts/test_source_urls",
    "deploy/",
    "docs/test_site",
    "filesystem/test_windows",
    "indexing/embed/",
    "indexing/store/test_all_stores",
    "indexing/store/test_cluster_faults",
    "indexing/store/test_full_disk",
    "indexing/store/test_qdrant",
    "indexing/test_pipeline",
    "integrations/",
    "server/page/test_documentation",
    "server/page/test_report_page",
    "server/page/test_generated_sites",
    "server/page/test_widget_in_browser",
    "server/page/test_widget_is_safe",
    "server/page/test_widget_module",
    "server/page/test_widget_on_any_site",
    "server/query_log/",
    "server/rate_limit/",
    "server/telemetry/test_opentelemetry",
    "server/test_admission",
    "server/test_app",
    "server/test_book_pool",
    "server/test_conversation",
    "server/test_mcp_routes",
    "server/test_real_server",
    "server/test_reindexing",
    "server/test_startup_checks",
    "sources/crawl/",
    "sources/pdf/",
    "testing/",
)
"""Tests of whole commands, processes and servers. `make quick` leaves them out."""

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def shared_networks() -> Iterator[None]:
    """Opens and verifies each shipped network and the tokenizer once per process.

    Every copy of the strong reader takes 450 MB and a second, and every checksum reads the whole file.
    """
    from bookbound.models import MODELS_FOLDER, TOKENIZER_FILE, find_model_file
    from bookbound.models.onnx import ModelRuntime, OnnxNetwork

    opened, lock = dict[tuple[Path, int], OnnxNetwork](), Lock()
    verified, tokenizers = dict[tuple[object, ...], Path](), dict[tuple[object, ...], Any]()
    verify, load_tokenizer = ModelRuntime._verify_file, vars(ModelRuntime)["_loaded_tokenizer"].func

    def open_once(file: Path, *, claim_weights: Path | None = None, threads: int = 1) -> OnnxNetwork:
        if file.parent != MODELS_FOLDER:
            return OnnxNetwork(file, claim_weights=claim_weights, threads=threads)
        with lock:
            if (file, threads) not in opened:
                opened[file, threads] = OnnxNetwork(file, claim_weights=claim_weights, threads=threads)
            return opened[file, threads]

    def identify(models: ModelRuntime, name: str) -> tuple[object, ...]:
        file = find_model_file(name, models.folder)
        try:
            found = file.stat()
        except OSError:
            return ()
        return file, found.st_ino, found.st_size, found.st_mtime_ns, models.digest(name)

    def verify_once(models: ModelRuntime, name: str) -> Path:
        key = identify(models, name)
        if key not in verified:
            file = verify(models, name)
            verified[key] = file
        return verified[key]

    def load_tokenizer_once(models: ModelRuntime) -> Any:
        key = identify(models, TOKENIZER_FILE)
        if key not in tokenizers:
            tokenizers[key] = load_tokenizer(models)
        return tokenizers[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bookbound.models.onnx.OnnxNetwork", open_once)
        patch.setattr(ModelRuntime, "_verify_file", verify_once)
        # The tests of the lab have this fixture too, and wrap this one if they run in the same process.
        shared_tokenizer = cached_property(load_tokenizer_once)
        shared_tokenizer.__set_name__(ModelRuntime, "_loaded_tokenizer")
        patch.setattr(ModelRuntime, "_loaded_tokenizer", shared_tokenizer)
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real books and question sets; without it the test is skipped."""
    folder = Path(os.environ.get("BOOKBOUND_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "data" / "books").is_dir():
        pytest.skip("There are no real books. Set BOOKBOUND_SHARED to the folder that contains data/books.")
    return folder


@pytest.fixture(scope="session")
def example_book() -> Path:
    """The source of the book that the demo indexes."""
    return REPOSITORY / "examples" / "book"


@pytest.fixture(scope="session")
def example_index(example_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of the example book, for tests that only read it.

    The first process of a test run builds it, and each has a copy.
    """
    from bookbound import bootstrap
    from bookbound.filesystem import wait_for_lock
    from bookbound.filesystem.temp_copies import checksum_file
    from bookbound.settings import Settings

    own = tmp_path_factory.mktemp("example")
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    shared = tmp_path_factory.getbasetemp().parent / "example-index" if is_worker else own / "built"
    with wait_for_lock(shared.with_suffix(".lock")):
        if not shared.exists():
            bootstrap.index_book(example_book, Settings(index=own / "new"))
            (own / "new").rename(shared)

    def copy(old: str, new: str) -> None:
        checksum_file(Path(old), Path(new))  # which leaves the holes that most of an index is

    return Path(shutil.copytree(shared, own / "index", copy_function=copy))


@pytest.fixture(scope="session")
def qdrant_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantCluster]:
    """A real Qdrant server of one node; without its executable the test is skipped."""
    yield from _start_qdrant(tmp_path_factory.mktemp("qdrant"), 1)


@pytest.fixture(scope="session")
def qdrant_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantCluster]:
    """Three real Qdrant nodes that know each other; without the executable the test is skipped."""
    yield from _start_qdrant(tmp_path_factory.mktemp("qdrant"), 3)


def _start_qdrant(folder: Path, count: int) -> Iterator[QdrantCluster]:
    if not find_executable():
        pytest.skip(MISSING_MESSAGE)
    with run_cluster(folder, count) as cluster:
        yield cluster


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def position(item: pytest.Item) -> int:
        file = item.nodeid.partition("::")[0]
        return next((n for n, name in enumerate(SLOWEST) if file == f"tests/{name}.py"), len(SLOWEST))

    items.sort(key=position)
    for item in items:
        if item.nodeid.removeprefix("tests/").startswith(INTEGRATION):
            item.add_marker("integration")


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServices]:
    """Paid services that are played by a server of our own; a module may have another server."""
    with ScriptedServices() as server:
        yield server


@pytest.fixture
def services(server: ScriptedServices) -> ScriptedServices:
    server.reset()
    return server
