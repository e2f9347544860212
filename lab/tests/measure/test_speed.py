"""The benchmark names the machine, prints each bar next to its figure, and counts failures; no test checks a time."""

from __future__ import annotations

import json
import platform
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread

import pytest

from bookbound import bootstrap
from bookbound.models import DIGESTS_FILE, MODELS_FOLDER
from bookbound.settings import Settings
from lab.measure import indexing_speed, network_speed, process_costs, server_speed, speed
from lab.measure.server_speed import ask_all
from lab.measure.timing import describe_machine, median_seconds

CPU_INFO = "processor\t: 0\nmodel name\t: Some CPU @ 2.00GHz\nflags\t\t: fpu sse2 avx2 avx512f avx512_vbmi\n"
WORK_MS = {"embed": 1.0, "search": 2.0, "retrieve": 3.0, "judge": 4.0, "answer": 5.0}
LIGHTHOUSE = "# Lighthouse\n\n## The fog horn\n\nIn fog the horn sounds for four seconds in every minute.\n"
QUESTIONS = ["For how many seconds does the horn sound?", "Who built the lighthouse?"]


class ScriptedHandler(BaseHTTPRequestHandler):
    """Fails each question that says so, and reports fixed timings for the others."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["question"]
        body = json.dumps({"trace": {"milliseconds": WORK_MS}}).encode()
        self.send_response(503 if question == "fail" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), ScriptedHandler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "lighthouse.md").write_text(LIGHTHOUSE, encoding="utf-8")
    return tmp_path / "book"


def test_the_machine_is_described_with_each_instruction_set_that_it_has_or_lacks() -> None:
    assert describe_machine(CPU_INFO).startswith("Some CPU @ 2.00GHz (avx2, avx512f, no avx512_vnni), ")


def test_a_cpu_without_a_model_name_is_described_by_its_architecture() -> None:
    described = describe_machine("processor\t: 0\nFeatures\t: fp asimd\n")
    assert described.startswith(f"{platform.machine()} (no avx2, no avx512f, no avx512_vnni), ")


def test_a_median_time_leaves_out_the_first_run() -> None:
    runs: list[int] = []
    median_seconds(lambda: runs.append(1), 3)
    assert len(runs) == 4


def test_failed_questions_are_counted_and_the_others_are_timed(address: str) -> None:
    found = ask_all(address, ["ask", "fail", "ask", "fail", "ask"], 2)
    assert len(found.total_ms) == 3
    assert found.failures == ["HTTPException: /v1/answers replies with status 503"] * 2


def test_the_wait_in_the_queue_is_the_time_without_the_work_that_the_reply_reports(address: str) -> None:
    found = ask_all(address, ["ask"], 1)
    assert found.total_ms[0] - found.wait_ms[0] == pytest.approx(3 + 4 + 5)


def test_each_table_has_the_machine_and_the_note_in_its_title(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "index_book", lambda *_: None)
    monkeypatch.setattr(speed, "describe_machine", lambda _: "Some CPU")
    figures = {"reader=strong: p50, ms (at most 800 ms)": 900.0}
    monkeypatch.setattr(
        speed, "SECTIONS", {name: (f"Title of {name}", lambda *_: figures) for name in ("one", "two", "three")}
    )
    speed.main(["three", "one", "--note", "at night"])
    output = capsys.readouterr().out
    stored = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert stored == [{"title": f"Title of {name}: Some CPU at night", **figures} for name in ("one", "three")]
    assert re.search(r"p50, ms \(at most 800 ms\) +│ +900 ", output)


def test_the_memory_of_a_worker_is_told_with_and_without_what_all_share(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    processes = {"1": {1: 800.0}, "2": {1: 100.0, 2: 570.0, 3: 10.0, 4: 110.0, 5: 105.0}}
    running: list[dict[int, float]] = []

    @contextmanager
    def run_server(index: Path, option: str, workers: str) -> Iterator[str]:
        running.append(processes[workers])
        yield "http://127.0.0.1:1"

    monkeypatch.setattr(speed, "run_server", run_server)
    monkeypatch.setattr(server_speed, "ask_all", lambda *_: None)
    monkeypatch.setattr(process_costs, "child_processes", lambda: list(running[-1]))
    monkeypatch.setattr(process_costs, "memory", lambda some, kind="Pss": sum(running[-1][each] for each in some))
    assert list(speed.measure_memory(tmp_path, QUESTIONS).values()) == [800.0, 110.0, 570.0, 100.0, 95.0]


def test_the_polite_client_asks_each_question_once_and_the_other_until_it_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    others_ask, lock, asked = Event(), Lock(), Counter[str]()

    def ask(address: str, question: str, source: str) -> None:
        with lock:
            asked[source] += 1
            number = asked[source]
        if source == server_speed.POLITE_CLIENT:
            others_ask.wait(60)
        elif number > server_speed.GREEDY_CONNECTIONS:
            others_ask.set()
            raise OSError("refused")

    @contextmanager
    def run_server(index: Path) -> Iterator[str]:
        yield "http://127.0.0.1:1"

    monkeypatch.setattr(server_speed, "run_server", run_server)
    monkeypatch.setattr(server_speed, "ask_all", lambda *_: None)
    monkeypatch.setattr(server_speed, "ask", ask)
    figures = server_speed.measure_fairness(tmp_path, QUESTIONS)
    assert asked[server_speed.POLITE_CLIENT] == figures["answers of the client with 1 connection"] == len(QUESTIONS)
    assert figures["failures with 1 connection (none)"] == 0
    assert figures["the same / those of one of 15 connections"] == len(QUESTIONS)


def test_a_question_is_measured_with_each_reader(book: Path, tmp_path: Path) -> None:
    bootstrap.index_book(book, Settings(index=tmp_path / "index"))
    figures = speed.measure_questions(tmp_path / "index", QUESTIONS)
    bars = [found[1] for name in figures if (found := re.search(r"\((.*)\)", name))]
    assert bars == ["at most 800 ms", "at most 1,600 ms", "at most 250 ms", "at most 350 ms"]
    assert figures["off-topic messages not answered, of 2"] == 2
    assert all(value > 0 for value in figures.values())


def test_every_file_of_the_networks_is_weighed() -> None:
    figures = network_speed.measure_files()
    names = json.loads((MODELS_FOLDER / DIGESTS_FILE).read_text())
    assert figures["all files, MB (at most 200 MB)"] == pytest.approx(sum(figures[f"{name}, MB"] for name in names))
    assert figures["largest file, MB (at most 95 MB)"] == figures["strong-reader.onnx, MB"]


def test_embedding_is_measured_per_thousand_chunks(book: Path, tmp_path: Path) -> None:
    figures = indexing_speed.measure_indexing(book, bootstrap.build_embedder(Settings()), tmp_path / "indexes")
    assert figures["chunks of the book"] == 1
    assert figures["embedding 1,000 chunks, s"] > 0
