"""The metrics count requests over all processes, and the documentation lists every one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from bookbound.contracts.request_context import RequestRecord
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import OverloadedError, ServiceUnreachableError
from bookbound.domain.reply import Reply
from bookbound.domain.trace import StageTiming
from bookbound.server.app import create_app
from bookbound.server.telemetry import QueueStats, Telemetry
from bookbound.server.telemetry.prometheus import LATENCY_BUCKETS, METRIC_FILE_KINDS, BookMetrics, PrometheusMetrics
from bookbound.server.worker_processes import METRICS_FILE_BYTES, METRICS_FOLDER_VARIABLE, share_metrics_folder
from bookbound.settings import Settings
from bookbound.testing import SCRIPTED_MANIFEST, ScriptedBackend, make_answer, make_passage, make_refusal

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "metrics-logs-traces.md"
ANSWER = make_answer([("It walks.", make_passage("It walks."))])
ASKED = {"question": "Does it walk?"}
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(page: str) -> Samples:
    found = (sample for family in text_string_to_metric_families(page) for sample in family.samples)
    return {(each.name, tuple(sorted(each.labels.items()))): each.value for each in found}


def value(page: str, name: str, **labels: str) -> float | None:
    return samples(page).get((name, tuple(sorted(labels.items()))))


def make_client(script: Reply | Exception, metrics: PrometheusMetrics) -> TestClient:
    app = create_app(ScriptedBackend(script), Settings(), telemetry=Telemetry([metrics.record], metrics))
    return TestClient(app, raise_server_exceptions=False)


def test_questions_are_counted_by_contract_and_outcome() -> None:
    metrics = PrometheusMetrics(QueueStats)
    client = make_client(ANSWER, metrics)
    for path in ("/ask", "/v1/answers", "/v1/answers"):
        client.post(path, json=ASKED)
    client.post("/v1/answers", json=ASKED, headers={"Accept": "text/event-stream"})
    make_client(make_refusal(), metrics).post("/chat", json=ASKED)
    make_client(OverloadedError("full", retry_after=1.0), metrics).post("/chat", json=ASKED)
    client.post("/ask", json={"question": " "})
    client.post("/v1/search", json={"query": "it"})
    client.get("/health")
    page = client.get("/metrics").text
    counted = {key[1]: count for key, count in samples(page).items() if key[0] == "bookbound_questions_total"}
    assert counted == {
        (("contract", "ask"), ("outcome", "answered")): 1,
        (("contract", "bookbound"), ("outcome", "answered")): 3,
        (("contract", "chat"), ("outcome", "refused_low_relevance")): 1,
        (("contract", "chat"), ("outcome", "busy")): 1,
    }
    assert value(page, "bookbound_request_seconds_count", contract="ask", status="4xx") == 1
    assert value(page, "bookbound_request_seconds_count", contract="chat", status="5xx") == 1


def test_a_question_over_a_rate_limit_is_counted_as_limited() -> None:
    metrics = PrometheusMetrics(QueueStats)
    metrics.record(RequestRecord(contract="query", status=429, outcome="limited"))
    assert value(metrics.page().decode(), "bookbound_questions_total", contract="query", outcome="limited") == 1


def test_stages_failures_and_degraded_answers_of_questions_are_counted() -> None:
    metrics = PrometheusMetrics(QueueStats)
    degraded = replace(ANSWER, trace=replace(ANSWER.trace, degraded=True))
    question = RequestRecord(contract="ask", status=200, outcome="answered", reply=degraded, kind="question")
    question.clock.stages["judge"] = StageTiming(calls=2, seconds=0.25)
    question.clock.failures = [
        ServiceUnreachableError("gone", service="language model"),
        ServiceUnreachableError("gone", service="reader@host"),
    ]
    probe = RequestRecord(contract="health", status=200, outcome="served")
    probe.clock.stages["search"] = StageTiming(calls=1, seconds=0.1)
    for record in (question, probe):
        metrics.record(record)
    page = metrics.page().decode()
    assert value(page, "bookbound_stage_seconds_sum", stage="judge") == 0.25
    assert value(page, "bookbound_stage_seconds_count", stage="search") is None
    assert value(page, "bookbound_degraded_answers_total", contract="ask") == 1
    assert value(page, "bookbound_service_failures_total", service="language model", kind="unreachable") == 1
    assert value(page, "bookbound_service_failures_total", service="other", kind="unreachable") == 1


def test_gauges_show_the_current_load() -> None:
    stats = QueueStats(3, 2, log_added=10, log_written=6, log_lost=1)
    metrics = PrometheusMetrics(lambda: stats)
    first = make_client(ANSWER, metrics).get("/metrics").text
    stats = QueueStats(1, 0, log_added=12, log_written=11, log_lost=1)
    then = make_client(ANSWER, metrics).get("/metrics").text
    for name, before, after in (
        ("bookbound_questions_in_progress", 3, 1),
        ("bookbound_waiting", 2, 0),
        ("bookbound_log_queue", 3, 0),
    ):
        assert (value(first, name), value(then, name)) == (before, after)
    entries = [value(then, "bookbound_log_entries_total", outcome=outcome) for outcome in ("added", "written", "lost")]
    assert entries == [12, 11, 1]


def test_each_open_book_is_a_series_and_a_closed_generation_has_none() -> None:
    ants = replace(SCRIPTED_MANIFEST, title="Ants", generation="g9", chunks=3)
    stats = QueueStats(books={BookRef(): SCRIPTED_MANIFEST, BookRef("ants", "2"): ants})
    metrics = PrometheusMetrics(lambda: stats)

    def read_series() -> tuple[dict[tuple[str, ...], float], dict[str, float]]:
        metrics.refresh()
        found = [(name, dict(labels), on) for (name, labels), on in samples(metrics.page().decode()).items()]
        info = [(labels, on) for name, labels, on in found if name == "bookbound_index_info"]
        chunks = {labels["book"]: on for name, labels, on in found if name == "bookbound_index_chunks"}
        return {(each["book"], each["title"], each["generation"]): on for each, on in info}, chunks

    both = {("", "A Book", "g1"): 1.0, ("ants@2", "Ants", "g9"): 1.0}
    assert read_series() == (both, {"": 1, "ants@2": 3})
    stats = QueueStats(books={BookRef(): replace(SCRIPTED_MANIFEST, generation="g2", chunks=7)})
    assert read_series() == ({("", "A Book", "g2"): 1.0}, {"": 7})


def test_metrics_exist_for_the_service_and_not_for_single_books() -> None:
    client = make_client(ANSWER, PrometheusMetrics(QueueStats))
    assert client.get("/books/a/metrics").status_code == 404
    assert client.get("/metrics").headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_without_metrics_there_is_no_metrics_endpoint() -> None:
    assert TestClient(create_app(ScriptedBackend(ANSWER), Settings())).get("/metrics").status_code == 404


def test_the_documentation_lists_every_metric_with_its_labels() -> None:
    rows = re.findall(r"^\| `(bookbound_\w+)(?:\{([\w,]+)\})?` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    made: list[Any] = list(PrometheusMetrics(QueueStats)._registry._collector_to_names)
    books = {family.name: set(family._labelnames) for family in BookMetrics(None).collect()}  # type: ignore[attr-defined]
    assert {name: set(labels.split(",")) - {""} for name, labels in rows} == books | {
        metric._name + ("_total" if metric._type == "counter" else ""): set(metric._labelnames)
        for metric in made
        if hasattr(metric, "_labelnames")
    }
    assert (LATENCY_BUCKETS[0], LATENCY_BUCKETS[-1]) == (0.001, 30.0)


SCRIPT = """
import sys
from bookbound.testing import SCRIPTED_MANIFEST
from bookbound.contracts.request_context import RequestRecord
from bookbound.domain.book_ref import BookRef
from bookbound.server.telemetry.prometheus import PrometheusMetrics
from bookbound.server.telemetry import QueueStats
books = {BookRef(): SCRIPTED_MANIFEST}
metrics = PrometheusMetrics(lambda: QueueStats(2, 1, log_added=5, log_written=4, books=books))
metrics.record(RequestRecord(contract="ask", status=200, kind="question", outcome="answered"))
print("counted", flush=True)
for _ in sys.stdin:
    sys.stdout.write(metrics.page().decode() + "END\\n")
    sys.stdout.flush()
"""


def start_process() -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stdin=pipe, stdout=pipe, text=True)
    assert process.stdout
    assert process.stdout.readline() == "counted\n"
    return process


def read_page(process: subprocess.Popen[str]) -> str:
    assert process.stdin
    assert process.stdout
    process.stdin.write("\n")
    process.stdin.flush()
    return "".join(iter(process.stdout.readline, "END\n"))


def test_any_process_shows_the_metrics_of_all_and_a_dead_one_keeps_only_its_counters() -> None:
    with share_metrics_folder():
        folder = Path(os.environ[METRICS_FOLDER_VARIABLE])
        assert folder.stat().st_mode & 0o77 == 0
        one, other = start_process(), start_process()
        together = read_page(one)
        other.kill()
        other.communicate()
        alone = read_page(one)
        one.communicate()
    assert not folder.exists()
    assert METRICS_FOLDER_VARIABLE not in os.environ
    assert [value(page, "bookbound_questions_in_progress") for page in (together, alone)] == [4, 2]
    assert [value(page, "bookbound_log_queue") for page in (together, alone)] == [2, 1]
    for page in (together, alone):
        assert value(page, "bookbound_questions_total", contract="ask", outcome="answered") == 2
        assert value(page, "bookbound_index_chunks", book="") == 1
        assert value(page, "bookbound_index_info", book="", generation="g1", title="A Book", embedder="scripted") == 1
    processes = [
        {dict(labels)["pid"] for (name, labels) in samples(page) if name == "process_resident_memory_bytes"}
        for page in (together, alone)
    ]
    assert processes == [{str(one.pid), str(other.pid)}, {str(one.pid)}]


def test_the_metrics_files_of_a_process_have_their_size_from_the_start() -> None:
    with share_metrics_folder():
        folder = Path(os.environ[METRICS_FOLDER_VARIABLE])
        one = start_process()
        mine = [file.stat() for file in folder.glob(f"*_{one.pid}.db")]
        one.communicate()
    assert len(mine) == len(METRIC_FILE_KINDS), "every file of the process, and no other"
    assert {each.st_size for each in mine} == {METRICS_FILE_BYTES}, "no metric made a file grow"
    assert all(each.st_blocks * 512 >= each.st_size for each in mine)


def test_without_disk_space_for_metrics_the_error_says_what_to_do() -> None:
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
    with share_metrics_folder():
        done = subprocess.run([sys.executable, "-c", limit + SCRIPT], capture_output=True, text=True, check=False)
    assert "There is no disk space" in done.stderr
    assert "BOOKBOUND_METRICS=off" in done.stderr


def test_a_new_process_continues_the_counters_of_a_dead_one_in_the_same_files() -> None:
    with share_metrics_folder():
        folder = Path(os.environ[METRICS_FOLDER_VARIABLE])
        for _ in range(3):
            dead = start_process()
            dead.kill()
            dead.communicate()
        last = start_process()
        page = read_page(last)
        files = sorted(file.name for file in folder.glob("*.db"))
        last.communicate()
    assert value(page, "bookbound_questions_total", contract="ask", outcome="answered") == 4
    assert files == sorted(f"{kind}_{last.pid}.db" for kind in METRIC_FILE_KINDS)


def test_a_process_starts_if_the_folder_for_metrics_was_removed() -> None:
    with share_metrics_folder():
        folder = Path(os.environ[METRICS_FOLDER_VARIABLE])
        folder.rmdir()
        process = start_process()
        assert value(read_page(process), "bookbound_questions_total", contract="ask", outcome="answered") == 1
        process.communicate()
