"""Tests the process that computes the networks for several workers: equal results, restarts, and its end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.server.server_process import process_tree, run_server_process
from tests.server.test_shutdown import wait_until, worker_pids

from bookbound.domain.errors import ConfigError, ServiceUnreachableError
from bookbound.models import EMBEDDER_FILE, FAST_READER_FILE, STRONG_READER_FILE
from bookbound.models.networks import SOCKET_VARIABLE, RemoteNetwork
from bookbound.models.onnx import ModelRuntime
from bookbound.server.network_process import share_networks
from bookbound.settings import Settings

IDS = [101, *range(2000, 2030), 102]
TYPES = [0] * 10 + [1] * (len(IDS) - 10)
SETTINGS = Settings(model_threads=1)
QUESTION = {"question": "What is a URDF?"}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has one worker")


def network_processes(parent: int) -> list[int]:
    def is_network_process(pid: int) -> bool:
        return b"bookbound.server.network_process" in Path(f"/proc/{pid}/cmdline").read_bytes()

    return [pid for pid in process_tree(parent) if is_network_process(pid)]


def test_readings_of_another_process_are_equal_to_the_bit() -> None:
    local = ModelRuntime(threads=1)
    with share_networks(2, SETTINGS):
        remote = ModelRuntime(threads=1, socket=os.environ[SOCKET_VARIABLE])
        for name in (EMBEDDER_FILE, FAST_READER_FILE, STRONG_READER_FILE):
            inputs = {} if name == EMBEDDER_FILE else {"token_type_ids": TYPES}
            expected, found = (models.network(name).read(IDS, **inputs) for models in (local, remote))
            assert found.keys() == expected.keys()
            assert all(np.array_equal(found[each], expected[each]) for each in expected)
    assert SOCKET_VARIABLE not in os.environ


def test_readings_of_several_threads_do_not_mix() -> None:
    with share_networks(2, SETTINGS), ThreadPoolExecutor(4) as threads:
        network = RemoteNetwork(os.environ[SOCKET_VARIABLE], EMBEDDER_FILE)
        rows = [IDS[:length] for length in range(4, 20)]
        alone = [network.read(row)["embedding"] for row in rows]
        together = threads.map(lambda row: network.read(row)["embedding"], rows)
        assert all(np.array_equal(*pair) for pair in zip(alone, together, strict=True))


def test_a_reading_is_not_lost_when_the_process_is_killed() -> None:
    with share_networks(2, SETTINGS) as ensure_running, ThreadPoolExecutor(1) as thread:
        network = RemoteNetwork(os.environ[SOCKET_VARIABLE], EMBEDDER_FILE)
        before = network.read(IDS)["embedding"]
        (process,) = network_processes(os.getpid())
        os.kill(process, signal.SIGSTOP)  # so that the reading is waiting when the process dies
        after = thread.submit(network.read, IDS)
        os.kill(process, signal.SIGKILL)
        wait_until(lambda: ensure_running() or after.done())
        assert np.array_equal(after.result()["embedding"], before)
        assert network_processes(os.getpid()) != [process]


def test_a_reading_that_fails_ends_its_connection_alone() -> None:
    with share_networks(2, SETTINGS):
        address = os.environ[SOCKET_VARIABLE]
        network = RemoteNetwork(address, EMBEDDER_FILE)
        with pytest.raises(ServiceUnreachableError, match="does not answer"):
            RemoteNetwork(address, "missing.onnx")
        with pytest.raises(ServiceUnreachableError):
            network.read(IDS, unknown_input=IDS)
        assert network.read(IDS)["embedding"].shape == (384,)


def close_every_connection(listener: socket.socket) -> None:
    while True:
        listener.accept()[0].close()


def refuse(_: socket.socket) -> None:
    """Nobody accepts."""


@pytest.mark.parametrize("behaviour", [close_every_connection, refuse])
def test_a_process_that_does_not_answer_is_a_503_with_the_time_to_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: Callable[[socket.socket], None]
) -> None:
    monkeypatch.setattr("bookbound.models.networks.TIMEOUT_SECONDS", 0.0 if behaviour is refuse else 60.0)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "networks"))
        listener.listen()
        threading.Thread(target=behaviour, args=(listener,), daemon=True).start()
        with pytest.raises(ServiceUnreachableError, match="Try again in 5 seconds") as error:
            RemoteNetwork(str(tmp_path / "networks"), EMBEDDER_FILE)
    assert (error.value.service, error.value.retry_after) == ("networks", 5)


def test_a_temporary_folder_with_a_long_path_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with pytest.raises(ConfigError, match="Set TMPDIR to another folder"), share_networks(2, SETTINGS):
        pass
    assert not list(folder.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_workers_have_no_networks_of_their_own_and_answer_after_those_were_killed(
    example_index: Path, tmp_path: Path
) -> None:
    settings = {"index": example_index, "query_log": "off"}
    with run_server_process(settings, tmp_path / "output", "--workers", "2") as server:

        def ask() -> httpx.Response:
            return server.client.post("/v1/answers", json=QUESTION)

        supervisor = server.process.pid
        first = ask()
        (networks,) = network_processes(supervisor)
        workers = worker_pids(supervisor)
        assert len(workers) == 2
        for worker in workers:
            assert "onnxruntime" not in Path(f"/proc/{worker}/maps").read_text()
        os.kill(networks, signal.SIGTERM)  # as a service manager does to all processes: running questions need it
        assert ask().json()["answer"] == first.json()["answer"]
        assert network_processes(supervisor) == [networks]
        os.kill(networks, signal.SIGKILL)
        assert ask().json()["answer"] == first.json()["answer"]
        (restarted,) = network_processes(supervisor)
        assert restarted != networks
        assert worker_pids(supervisor) == workers
    assert not [pid for pid in (restarted, *workers) if Path(f"/proc/{pid}").exists()]
    assert "the process of the networks died (-9)" in (tmp_path / "output").read_text()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_networks_end_with_a_supervisor_that_is_killed(example_index: Path, tmp_path: Path) -> None:
    settings = {"index": example_index, "query_log": "off"}
    with run_server_process(settings, tmp_path / "output", "--workers", "2") as server:
        assert server.client.post("/v1/answers", json=QUESTION).status_code == 200
        (networks,) = network_processes(server.process.pid)
        os.kill(server.process.pid, signal.SIGKILL)
        wait_until(lambda: not _runs(networks))


def _runs(pid: int) -> bool:
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return bool(found) and not found.startswith("Z")
