"""The figures count what happened, over all processes, and are those that the page on them lists."""

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

from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import OverloadedError, ServiceUnreachableError
from bookbound.domain.reply import Reply
from bookbound.server.app import create_app
from bookbound.server.middleware.request_log import Telemetry
from bookbound.server.telemetry import QueueStats, RequestRecord, StageTiming
from bookbound.server.telemetry.prometheus import LATENCY_BUCKETS, METRIC_FILE_KINDS, PrometheusMetrics
from bookbound.server.worker_processes import METRICS_FILE_BYTES, METRICS_FOLDER_VARIABLE, share_metrics_folder
from bookbound.settings import Settings
from bookbound.testing import SCRIPTED_MANIFEST, ScriptedBackend, make_answer, make_passage, make_refusal

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
ANSWER = make_answer([("It walks.", make_passage("It walks."))])
ASKED = {"question": "Does it walk?"}
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(page: str) -> Samples:
    found = (sample for family in text_string_to_metric_families(page) for sample in family.samples)
    return {(each.name, tuple(sorted(each.labels.items()))): each.value for each in found}


def value(page: str, name: str, **labels: str) -> float | None:
    return samples(page).get((name, tuple(sorted(labels.items()))))


def client(script: Reply | Exception, metrics: PrometheusMetrics) -> TestClient:
    app = create_app(ScriptedBackend(script), Settings(), watch=Telemetry([metrics.over], metrics))
    return TestClient(app, raise_server_exceptions=False)


def test_questions_are_counted_by_face_and_outcome_and_nothing_else_is_a_question() -> None:
    metrics = PrometheusMetrics(QueueStats)
    asking = client(ANSWER, metrics)
    for path in ("/ask", "/v1/answers", "/v1/answers"):
        asking.post(path, json=ASKED)
    asking.post("/v1/answers", json=ASKED, headers={"Accept": "text/event-stream"})
    client(make_refusal(), metrics).post("/chat", json=ASKED)
    client(OverloadedError("full", retry_after=1.0), metrics).post("/chat", json=ASKED)
    asking.post("/ask", json={"question": " "})
    asking.post("/v1/search", json={"query": "it"})
    asking.get("/health")
    page = asking.get("/metrics").text
    counted = {key[1]: count for key, count in samples(page).items() if key[0] == "bookbound_questions_total"}
    assert counted == {
        (("face", "ask"), ("outcome", "answered")): 1,
        (("face", "bookbound"), ("outcome", "answered")): 3,
        (("face", "chat"), ("outcome", "refused_low_relevance")): 1,
        (("face", "chat"), ("outcome", "busy")): 1,
    }
    assert value(page, "bookbound_request_seconds_count", face="ask", status="4xx") == 1
    assert value(page, "bookbound_request_seconds_count", face="chat", status="5xx") == 1


def test_a_question_that_is_refused_for_a_limit_is_counted_as_such() -> None:
    metrics = PrometheusMetrics(QueueStats)
    metrics.over(RequestRecord("POST", face="query", status=429, outcome="limited"))
    assert value(metrics.page().decode(), "bookbound_questions_total", face="query", outcome="limited") == 1


def test_stations_failures_and_degraded_answers_are_counted_for_what_was_asked() -> None:
    metrics = PrometheusMetrics(QueueStats)
    degraded = replace(ANSWER, trace=replace(ANSWER.trace, degraded=True))
    asked = RequestRecord("POST", face="ask", status=200, outcome="answered", reply=degraded, asked="question")
    asked.stays = {"judge": StageTiming(0.0, 0.3, 2, 0.25)}
    asked.failures = [
        ServiceUnreachableError("gone", service="language model"),
        ServiceUnreachableError("gone", service="reader@host"),
    ]
    probe = RequestRecord(
        "GET", face="health", status=200, outcome="served", stays={"search": StageTiming(0.0, 0.1, 1, 0.1)}
    )
    for visit in (asked, probe):
        metrics.over(visit)
    page = metrics.page().decode()
    assert value(page, "bookbound_stage_seconds_sum", stage="judge") == 0.25
    assert value(page, "bookbound_stage_seconds_count", stage="search") is None
    assert value(page, "bookbound_degraded_answers_total", face="ask") == 1
    assert value(page, "bookbound_service_failures_total", service="language model", kind="unreachable") == 1
    assert value(page, "bookbound_service_failures_total", service="other", kind="unreachable") == 1


def test_how_the_desk_stands_is_shown_as_it_is_now() -> None:
    standing = QueueStats(3, 2, noted=10, written=6, lost=1)
    metrics = PrometheusMetrics(lambda: standing)
    first = client(ANSWER, metrics).get("/metrics").text
    standing = QueueStats(1, 0, noted=12, written=11, lost=1)
    then = client(ANSWER, metrics).get("/metrics").text
    for name, before, after in (
        ("bookbound_questions_in_progress", 3, 1),
        ("bookbound_waiting", 2, 0),
        ("bookbound_log_queue", 3, 0),
    ):
        assert (value(first, name), value(then, name)) == (before, after)
    entries = [value(then, "bookbound_log_entries_total", outcome=outcome) for outcome in ("noted", "written", "lost")]
    assert entries == [12, 11, 1]


def test_each_open_book_is_a_series_and_one_that_is_no_longer_open_is_nought() -> None:
    ants = replace(SCRIPTED_MANIFEST, title="Ants", generation="g9", chunks=3)
    standing = QueueStats(books={BookRef(): SCRIPTED_MANIFEST, BookRef("ants", "2"): ants})
    metrics = PrometheusMetrics(lambda: standing)

    def shown() -> tuple[dict[tuple[str, ...], float], dict[str, float]]:
        metrics.stand()
        found = [(name, dict(labels), on) for (name, labels), on in samples(metrics.page().decode()).items()]
        info = [(labels, on) for name, labels, on in found if name == "bookbound_index_info"]
        chunks = {labels["volume"]: on for name, labels, on in found if name == "bookbound_index_chunks"}
        return {(each["volume"], each["book"], each["generation"]): on for each, on in info}, chunks

    both = {("", "A Book", "g1"): 1.0, ("ants@2", "Ants", "g9"): 1.0}
    assert shown() == (both, {"": 1, "ants@2": 3})
    standing = QueueStats(books={BookRef(): replace(SCRIPTED_MANIFEST, generation="g2", chunks=7)})
    moved = {("", "A Book", "g1"): 0.0, ("", "A Book", "g2"): 1.0, ("ants@2", "Ants", "g9"): 0.0}
    assert shown() == (moved, {"": 7, "ants@2": 0})


def test_figures_are_of_the_service_and_of_no_book_by_its_name() -> None:
    asking = client(ANSWER, PrometheusMetrics(QueueStats))
    assert asking.get("/books/a/metrics").status_code == 404
    assert asking.get("/metrics").headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_without_metrics_there_is_no_page_of_them() -> None:
    assert TestClient(create_app(ScriptedBackend(ANSWER), Settings())).get("/metrics").status_code == 404


def test_the_page_of_documents_lists_every_metric_with_its_labels_and_no_other() -> None:
    rows = re.findall(r"^\| `(bookbound_\w+)(?:\{([\w,]+)\})?` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    made: list[Any] = list(PrometheusMetrics(QueueStats)._registry._collector_to_names)
    assert {name: set(labels.split(",")) - {""} for name, labels in rows} == {
        metric._name + ("_total" if metric._type == "counter" else ""): set(metric._labelnames)
        for metric in made
        if hasattr(metric, "_labelnames")
    }
    assert (LATENCY_BUCKETS[0], LATENCY_BUCKETS[-1]) == (0.001, 30.0)


COUNTING = """
import sys
from bookbound.testing import MANIFEST
from bookbound.domain.book_ref import Volume
from bookbound.server.telemetry.prometheus import Metrics
from bookbound.server.telemetry import Standing
from bookbound.server.telemetry import Visit
metrics = Metrics(lambda: Standing(2, 1, noted=5, written=4, books={Volume(): MANIFEST}))
metrics.over(Visit("POST", face="ask", status=200, asked="question", outcome="answered"))
print("counted", flush=True)
for _ in sys.stdin:
    sys.stdout.write(metrics.page().decode() + "END\\n")
    sys.stdout.flush()
"""


def counting() -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", COUNTING], stdin=pipe, stdout=pipe, text=True)
    assert process.stdout
    assert process.stdout.readline() == "counted\n"
    return process


def shown(process: subprocess.Popen[str]) -> str:
    assert process.stdin
    assert process.stdout
    process.stdin.write("\n")
    process.stdin.flush()
    return "".join(iter(process.stdout.readline, "END\n"))


def test_any_process_shows_the_figures_of_all_and_one_that_died_keeps_its_counts_alone() -> None:
    with share_metrics_folder():
        folder = Path(os.environ[METRICS_FOLDER_VARIABLE])
        assert folder.stat().st_mode & 0o77 == 0
        one, other = counting(), counting()
        together = shown(one)
        other.kill()
        other.communicate()
        alone = shown(one)
        one.communicate()
    assert not folder.exists()
    assert METRICS_FOLDER_VARIABLE not in os.environ
    assert [value(page, "bookbound_questions_in_progress") for page in (together, alone)] == [4, 2]
    assert [value(page, "bookbound_log_queue") for page in (together, alone)] == [2, 1]
    for page in (together, alone):
        assert value(page, "bookbound_questions_total", face="ask", outcome="answered") == 2
        assert value(page, "bookbound_index_chunks", volume="") == 1
        assert value(page, "bookbound_index_info", volume="", generation="g1", book="A Book", embedder="scripted") == 1
    processes = [
        {dict(labels)["pid"] for (name, labels) in samples(page) if name == "process_resident_memory_bytes"}
        for page in (together, alone)
    ]
    assert processes == [{str(one.pid), str(other.pid)}, {str(one.pid)}]


def test_the_figures_of_a_process_have_their_room_from_the_start() -> None:
    with share_metrics_folder():
        folder = Path(os.environ[METRICS_FOLDER_VARIABLE])
        one = counting()
        mine = [file.stat() for file in folder.glob(f"*_{one.pid}.db")]
        one.communicate()
    assert len(mine) == len(METRIC_FILE_KINDS), "each file that the process keeps, and no other"
    assert {each.st_size for each in mine} == {METRICS_FILE_BYTES}, "no figure made a file grow"
    assert all(each.st_blocks * 512 >= each.st_size for each in mine)


def test_where_there_is_no_room_for_figures_the_start_says_what_to_do() -> None:
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
    with share_metrics_folder():
        done = subprocess.run([sys.executable, "-c", limit + COUNTING], capture_output=True, text=True, check=False)
    assert "find no room" in done.stderr
    assert "BOOKBOUND_METRICS=off" in done.stderr
